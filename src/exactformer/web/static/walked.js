// A pass of the model over a prompt, step by step: its numbers are decimals with guaranteed digits.

import { failed, h, problem } from "./dom.js";
import { Book } from "./book.js";
import { address } from "./route.js";
import { Walk } from "./walk.js";

const POLL = 700; // milliseconds between two looks at a model that is being prepared

export class ModelWalk {
  constructor(store) {
    this.store = store;
    this.element = h("main", { class: "pass walked", id: "main", tabindex: -1 });
    // what a book asks of an example, asked of the model and its prompt
    this.asked = {
      live: true,
      ask: (task, { source, ...body }, topic) => store.ask(`model_${task}`, { ...source, ...body }, topic && `model ${topic}`),
    };
  }

  async show(route) {
    const asked = (this.now = route.prompt ?? "");
    try {
      if (this.prompt !== asked) await this.draw(asked);
      if (this.now !== asked || !this.walk) return;
      this.trouble.replaceChildren(...[this.walk.missing(route)].filter(Boolean).map(problem));
      await this.walk.show(route);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.prompt = null;
      this.element.replaceChildren(...failed(error.message), back(asked));
    }
  }

  async draw(prompt) {
    this.walk = null;
    this.element.replaceChildren(h("p", { class: "working", role: "status" }, "Computing every step of the pass, with proved bounds …"));
    const model = await this.described();
    const given = { [model.text === false ? "ids" : "prompt"]: prompt };
    const outline = await this.store.ask("model_pass", given, "model pass");
    if (this.now !== prompt) return;
    this.book = new Book(this.asked, given, outline);
    this.walk = new Walk(this.book, this.book.forward, {});
    this.prompt = prompt;
    this.trouble = h("div", { class: "trouble" });
    document.title = `${this.book.title || "A pass"} · exactformer`;
    this.element.replaceChildren(
      h(
        "header",
        { class: "pass-head" },
        h(
          "div",
          { class: "titles" },
          h("h1", {}, this.book.title || "A pass"),
          h(
            "p",
            { class: "summary" },
            h("span", { class: "about" }, "Every number is a decimal whose digits are proved."),
            h("span", { class: "config" }, this.book.summary),
          ),
        ),
        back(prompt),
      ),
      this.trouble,
      this.walk.element,
    );
  }

  /** The model, once it says whether it takes a text or ids. */
  async described() {
    for (;;) {
      const { model } = await this.store.get("about");
      if (!model) throw new Error("No model was given when the server was started: exactformer serve MODEL_DIR");
      if (model.state === "failed") throw new Error(model.line);
      if (model.text !== undefined) return model;
      await new Promise((wake) => setTimeout(wake, POLL));
    }
  }
}

function back(prompt) {
  return h("p", { class: "back" }, h("a", { href: address({ source: "certified", prompt }) }, "← the proved tokens"));
}
