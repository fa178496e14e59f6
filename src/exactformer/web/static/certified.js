// Certified: a prompt, and the tokens that are proved to follow it, one after the other.

import { announce, button, h, problem, save, scrolling } from "./dom.js";
import { claimItem, spoken, tokenBox } from "./claim.js";
import { address, go } from "./route.js";

const POLL = 700; // milliseconds between two looks at a model that is being prepared
const PATIENCE = 1500; // milliseconds after which a token takes long
const LIMITS = { tokens: [1, 20, 3], top: [1, 50, 5], cap: [4, 25, 25], digits: [0, 80, 0] }; // least, most, usual

export class Certified {
  constructor(store) {
    this.store = store;
    this.element = h("main", { class: "certified", id: "main", tabindex: -1 });
  }

  async show(route) {
    if (!this.model) {
      this.model = (await this.store.get("about")).model;
      if (!this.model) {
        const line = "No model was given when the server was started: exactformer serve MODEL_DIR";
        this.element.replaceChildren(h("h1", {}, "The next token, proved"), problem(line));
        return;
      }
      this.draw();
    }
    this.watch();
    this.fill(route);
    this.clear();
    if (!this.refused() && route.prompt) await this.prove();
  }

  draw() {
    this.prompt = h("textarea", { id: "certified-prompt", rows: 2, spellcheck: "false", autocomplete: "off", maxlength: 20000 });
    this.numbers = {
      tokens: number("tokens", "tokens"),
      top: number("top", "logits shown"),
      cap: number("cap", "precision limit", "in limbs of 21 bits, the first for the whole part"),
      digits: number("digits", "decimals", "0 for as many as the token needs"),
    };
    this.label = h("label", { for: "certified-prompt" });
    this.start = h("button", { type: "submit", class: "primary" }, "Prove");
    this.stopper = button("Cancel", () => this.stop(), { hidden: true });
    this.facts = h("p", { class: "facts" });
    this.state = h("div", { class: "state", role: "status" });
    this.result = h("div", { class: "result" });
    this.prompt.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.submitted();
      }
    });
    this.element.replaceChildren(
      h("h1", {}, "The next token, proved"),
      h(
        "p",
        { class: "lead" },
        "Each token is the argmax of the exact network: we take the file's floats as exact fractions, " +
          "and softmax, LayerNorm and activations are those of the real numbers.",
      ),
      this.facts,
      this.state,
      h(
        "form",
        {
          class: "ask",
          novalidate: true,
          onsubmit: (event) => {
            event.preventDefault();
            this.submitted();
          },
        },
        this.label,
        this.prompt,
        h(
          "div",
          { class: "buttons" },
          Object.values(this.numbers).map(({ field }) => field),
          h("span", { class: "actions" }, this.start, this.stopper),
        ),
        h(
          "div",
          { class: "note" },
          Object.values(this.numbers).map(({ help }) => help),
        ),
      ),
      this.result,
    );
  }

  /** Follow the model until it is ready. */
  async watch() {
    this.tell();
    if (this.watching) return;
    this.watching = true;
    try {
      while (!["ready", "failed"].includes(this.model.state) && this.element.isConnected) {
        await new Promise((wake) => setTimeout(wake, POLL));
        await this.look();
      }
    } finally {
      this.watching = false;
    }
  }

  async look() {
    this.model = (await this.store.get("about")).model ?? this.model;
    this.tell();
  }

  tell() {
    const { state, step, share, line, text, input } = this.model;
    this.facts.replaceChildren(...facts(this.model));
    this.label.textContent = text === false ? "The ids of the tokens to continue" : "The text to continue";
    this.prompt.placeholder = text === false ? "31373 616 1438 318" : input || "hello my name is";
    if (this.model.built_in && input && !this.filled && !this.prompt.value) [this.filled, this.prompt.value] = [true, input];
    if (state === "ready") this.state.replaceChildren();
    else if (state === "failed") this.state.replaceChildren(problem(line));
    else if (this.bar?.isConnected) [this.bar.value, this.step.textContent] = [share, preparing(state, step)];
    else {
      this.bar = h("progress", { max: 1, "aria-label": "Preparation of the model" });
      this.bar.value = share;
      this.step = h("span", { "aria-hidden": "true" }, preparing(state, step));
      this.state.replaceChildren(h("p", {}, "The model is prepared once, then it answers. "), this.bar, this.step);
    }
    this.start.disabled = state === "failed" || !this.stopper.hidden;
  }

  fill(route) {
    if (route.prompt) this.prompt.value = route.prompt;
    for (const [name, [, , usual]] of Object.entries(LIMITS)) this.numbers[name].input.value = route[name] ?? usual;
  }

  /** Are there numbers out of their range? Then that is said, and nothing is asked. */
  refused() {
    const wrong = Object.values(this.numbers).filter(({ input, within }) => {
      const is = !within(input.valueAsNumber);
      input.setAttribute("aria-invalid", String(is));
      return is;
    });
    if (!wrong.length) return false;
    this.clear();
    this.result.append(h("div", { class: "end" }, problem(wrong.map(({ range }) => range).join("; "))));
    return true;
  }

  get question() {
    const given = this.model.text === false ? "ids" : "prompt";
    const numbers = Object.entries(this.numbers).map(([name, { input }]) => [name, Number(input.value)]);
    return { [given]: this.prompt.value, ...Object.fromEntries(numbers) };
  }

  /** The address takes up what is asked; that starts the proof. */
  submitted() {
    if (this.model.state === "failed" || this.refused()) return;
    const { prompt, ids, ...numbers } = this.question;
    const before = location.hash;
    for (const [name, [, , usual]] of Object.entries(LIMITS)) if (numbers[name] === usual) delete numbers[name];
    go({ source: "certified", prompt: prompt ?? ids, ...numbers });
    if (location.hash === before || !(prompt ?? ids)) this.prove();
  }

  clear() {
    this.stop();
    this.result.replaceChildren();
  }

  stop() {
    this.run = null;
    this.store.cancel("certified");
  }

  /** Ask for one token after the other, and show each when it comes. */
  async prove() {
    this.stop();
    const run = (this.run = { question: this.question, claims: [] });
    const text = scrolling(h("div", { class: "continued" }), "The text with what follows");
    const list = h("ol", { class: "claims" });
    const end = h("div", { class: "end" });
    this.result.replaceChildren(text, list, end);
    this.busy(true);
    try {
      await this.described(run);
      text.classList.toggle("words", !this.model.tokenizer);
      for (let next = 1; next <= run.question.tokens; next++) {
        end.replaceChildren(h("p", { class: "proving" }, `Proving token ${next} …`));
        const claim = await this.asked({ ...run.question, number: next });
        if (this.run !== run) return;
        run.claims.push(claim);
        list.append(claimItem(claim, next === 1 || claim.token === null, run.question));
        text.replaceChildren(...continued(run.claims));
        announce(spoken(claim, run.question));
        if (claim.token === null) break;
      }
      end.replaceChildren(this.ending(run));
    } catch (error) {
      if (error.name === "AbortError") {
        end.replaceChildren(h("p", {}, "Cancelled."), run.claims.length ? this.ending(run) : "");
        if (!this.run) announce("Cancelled");
      } else end.replaceChildren(problem(error.message), run.claims.length ? this.ending(run) : "");
    } finally {
      if (this.run === run || this.run === null) this.busy(false);
    }
  }

  /** Wait until the model says whether it takes a text or ids: an address can be opened before it does. */
  async described(run) {
    while (this.model.text === undefined && this.model.state !== "failed") {
      await new Promise((wake) => setTimeout(wake, POLL));
      await this.look();
      if (this.run !== run) throw new DOMException("cancelled", "AbortError");
    }
    const { prompt, ids = prompt, ...numbers } = run.question;
    if (this.model.text === false) run.question = { ids, ...numbers };
  }

  /** One token. Where it takes a while, perhaps the model is being prepared again. */
  async asked(question) {
    const timer = setTimeout(() => this.look().then(() => this.watch()), PATIENCE);
    try {
      return await this.store.ask("certify", question, "certified");
    } finally {
      clearTimeout(timer);
    }
  }

  busy(is) {
    this.stopper.hidden = !is;
    this.start.disabled = is || this.model.state === "failed";
    this.result.setAttribute("aria-busy", String(is));
  }

  ending(run) {
    const tell = h("div");
    const download = async () => {
      try {
        const { name, type, text } = await this.store.ask("certificate", { ...run.question, tokens: run.claims.length });
        save(name, type, text);
        tell.replaceChildren();
      } catch (error) {
        tell.replaceChildren(problem(error.message));
      }
    };
    return h(
      "div",
      {},
      h(
        "p",
        { class: "buttons" },
        button("Download the certificate", download),
        h("a", { href: address({ source: "certified", view: "walk", prompt: run.question.prompt ?? run.question.ids }) }, "Walk through the pass"),
        h(
          "span",
          { class: "note" },
          "Check it again with ",
          h("code", {}, "exactformer certify MODEL --verify certificate.json"),
          ", or with Python alone: ",
          h("code", {}, "exactformer certify MODEL --verify certificate.json --independent"),
        ),
      ),
      tell,
    );
  }
}

function number(name, label, help) {
  const [min, max] = LIMITS[name];
  const id = `certified-${name}`;
  const described = help && `${id}-help`;
  const input = h("input", { type: "number", min, max, step: 1, id, required: true, "aria-describedby": described });
  return {
    input,
    field: h("label", { class: "field" }, h("span", {}, label), input),
    help: help ? h("span", { id: described }, `${label}: ${help}`) : null,
    range: `${label}: ${min} to ${max}`,
    within: (given) => Number.isInteger(given) && given >= min && given <= max,
  };
}

function facts({ name, blocks, dim, weights, vocabulary, positions }) {
  const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  const sizes = blocks
    ? [count(blocks, "block"), `${dim} wide`, count(weights, "weight"), count(vocabulary, "token")]
        .concat(positions ? count(positions, "position") : [])
        .join(" · ")
    : "";
  return [h("strong", {}, name), sizes ? ` ${sizes}` : ""];
}

function preparing(state, step) {
  return `${state === "loading" ? "reading" : "norms of"} ${step ?? "the weights"}`;
}

/** What was given, and what is proved to follow. */
function continued(claims) {
  const [{ given }] = claims;
  const follow = claims.map((claim) =>
    claim.token ? tokenBox(claim.token, "proved") : h("span", { class: "token undecided" }, "?"),
  );
  return [...given.map((token) => tokenBox(token, "given")), ...follow];
}
