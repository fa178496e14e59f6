// A pass: its title, what may be changed, and the views of it. It is computed anew only when what it is computed from changes.

import { announce, button, failed, h, problem } from "./dom.js";
import { Book } from "./book.js";
import { changeBox } from "./change.js";
import { downloaded, exportMenu } from "./exports.js";
import { math } from "./math.js";
import { handout } from "./handout.js";
import { kept, remember, unpack } from "./recent.js";
import { address, go, readNumber } from "./route.js";
import { NEEDS_SERVER } from "./store.js";
import { Walk } from "./walk.js";

// views that not every store offers: a file that offers none of them does without their modules
const VIEWS = {
  break: () => import("./breaking.js"),
  explain: () => import("./explain.js"),
  circuits: () => import("./theory.js"),
  theorem: () => import("./theory.js"),
};

// what is asked in a view, and stays there
const ASKED = {
  explain: ["position", "token", "over", "ablate", "mean"],
  theorem: ["length", "claim", "without", "pattern", "upto"],
};

export class Pass {
  constructor(store) {
    this.store = store;
    this.books = new Map();
    this.places = {}; // where each view was left
    this.element = h("main", { class: "pass", id: "main", tabindex: -1 });
  }

  sourceOf({ source, view, edit, break: breaks, arithmetic, target }) {
    const own = kept(source);
    if (source.startsWith("own:") && !own)
      throw new Error("this worksheet was opened in another browser: open it again from its file");
    const what = own ? { worksheet: own.text, name: own.name } : { example: source };
    return {
      ...what,
      edits: edit,
      breaks: view === "break" ? [] : breaks,
      arithmetic: arithmetic ?? "exact",
      target: target ?? "",
    };
  }

  async book(source) {
    const key = JSON.stringify({ ...source, target: "" });
    if (!this.books.has(key)) {
      const outline = await this.store.ask("pass", { source }, "pass");
      if (this.books.size > 12) this.books.clear();
      this.books.set(key, new Book(this.store, source, outline));
    }
    return this.books.get(key);
  }

  /** Draw what the address says. */
  async show(route) {
    this.route = route;
    this.places[route.view] = route;
    document.documentElement.classList.toggle("presenting", Boolean(route.present && ["", "backward"].includes(route.view)));
    document.documentElement.classList.toggle("embedded", Boolean(route.embed) && !this.store.live);
    let source;
    try {
      if (this.store.pages) await unpack(route.source);
      source = this.store.pages ? this.sourceOf(route) : {};
      await this.drawn(route, source);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.frame = null;
      this.element.replaceChildren(
        ...failed(error.message),
        h(
          "p",
          {},
          h(
            "a",
            { href: route.edit.length ? address({ source: route.source }) : "#" },
            route.edit.length ? "Open it without changes" : "Home",
          ),
        ),
      );
    }
  }

  async drawn(route, source) {
    const frame = JSON.stringify([source, route.view, route.view === "break" ? [route.break, route.step] : null]);
    if (this.frame !== frame) {
      this.frame = frame;
      const notice = this.waiting();
      const timer = setTimeout(() => this.element.append(notice), 400);
      this.element.classList.add("busy");
      try {
        const book = await this.book(source);
        await book.compareWith(
          source.edits?.length || source.breaks?.length ? await this.book({ ...source, edits: [], breaks: [] }) : null,
        );
        if (this.frame !== frame) return;
        await this.drawFrame(book, route, frame);
      } finally {
        clearTimeout(timer);
        notice.remove();
        if (this.frame === frame) this.element.classList.remove("busy");
      }
    }
    if (this.frame !== frame) return;
    await this.asking?.show(route);
    if (!this.walk) return;
    this.tell(this.walk.missing(route));
    await this.walk.show(route);
  }

  async drawFrame(book, route, frame) {
    const body = await this.body(book, route, await VIEWS[route.view]?.(), frame);
    if (this.store.live) this.arithmetics ??= (await this.store.get("about")).arithmetics;
    if (this.frame !== frame) return;
    if (this.store.pages) remember({ ...(kept(route.source) ?? {}), source: route.source, title: book.title || route.source });
    document.title = `${book.title || "A pass"} · exactformer`;
    this.trouble = h("div", { class: "trouble" });
    this.element.replaceChildren(this.header(book, route), this.trouble, body, ...(route.embed ? [this.whole(route)] : []));
  }

  async body(book, route, view, frame) {
    if (this.frame !== frame) return null;
    this.walk = this.asking = null;
    switch (route.view) {
      case "break":
        return view.breaking(book, route);
      case "explain":
        this.asking = new view.Explaining(book);
        return this.asking.element;
      case "circuits":
        return view.circuits(book);
      case "theorem":
        this.asking = new view.Theorems(book);
        return this.asking.element;
      case "handout":
        return handout(book, route);
      case "backward": {
        book.source = this.sourceOf(route);
        book.withGradient(await this.store.ask("gradient", { source: book.source }, "gradient"));
        for (const name of [...book.kept.keys()]) if (name.startsWith("grad.")) book.kept.delete(name);
        this.walk = new Walk(book, book.gradients, { backward: true, edit: (...what) => this.setWeight(...what) });
        return h("div", {}, this.loss(book, route), this.walk.element);
      }
      default:
        if (readNumber(route.number)?.name.startsWith("grad.")) delete route.number;
        this.walk = new Walk(book, book.forward, { edit: this.store.live ? (...what) => this.setWeight(...what) : null });
        return this.walk.element;
    }
  }

  header(book, route) {
    const live = this.store.live;
    const change =
      live &&
      changeBox(book, {
        edits: route.edit,
        change: (line) => this.change(line),
        undo: () => this.undo(),
        reset: () => go({ ...this.route, edit: [] }),
        download: () => downloaded(book, "worksheet").catch((error) => this.tell(error.message)),
      });
    const made = live && route.edit.length ? this.made(route) : null;
    return h(
      "header",
      { class: "pass-head" },
      h(
        "div",
        { class: "titles" },
        h("h1", {}, book.title || "A pass"),
        h(
          "p",
          { class: "summary" },
          book.about ? h("span", { class: "about" }, book.about, " ") : null,
          h("span", { class: "config" }, book.summary),
        ),
      ),
      h(
        "div",
        { class: "tools" },
        this.tabs(book, route),
        live ? this.arithmetic(route) : null,
        exportMenu(book, this.route, (line) => this.tell(line)),
        this.walk ? button("Present", () => this.present(), { class: "present", title: "One step a screen, in large letters: the arrow keys walk, Escape ends it" }) : null,
        change ? this.changer(change, made, route) : null,
        this.store.pages && !live ? button("Change it", () => this.tell(NEEDS_SERVER), { class: "drops" }) : null,
      ),
      route.break.length && route.view !== "break" ? this.broken(route) : null,
      made,
      change || null,
    );
  }

  /** What was changed last, and how to take it back, while the fields are hidden. */
  made(route) {
    return h(
      "p",
      { class: "made", role: "status" },
      `${route.edit.length === 1 ? "Changed" : `${route.edit.length} changes, the last`}: `,
      h("code", {}, route.edit.at(-1)),
      " ",
      button("Undo", () => this.undo(), { title: "Undo (Ctrl+Z)" }),
    );
  }

  /** Take the last change back; was there one? */
  undo() {
    const { edit } = this.route;
    if (!edit.length || !this.store.live) return false;
    announce(`Undone: ${edit.at(-1)}`);
    go({ ...this.route, edit: edit.slice(0, -1) });
    return true;
  }

  /** One step a screen, in large letters. */
  present() {
    document.documentElement.requestFullscreen?.().catch(() => {});
    go({ ...this.route, present: "1", number: undefined });
  }

  /** Another page is shown. */
  left() {
    this.walk?.stop();
    document.documentElement.classList.remove("presenting");
  }

  /** In somebody's page: the way to the whole pass. */
  whole(route) {
    return h("p", { class: "whole" }, h("a", { href: address({ ...route, embed: undefined }), target: "_blank", rel: "noopener" }, "Open the whole pass"));
  }

  /** A pass that was broken on purpose says so. */
  broken(route) {
    return h(
      "p",
      { class: "broken" },
      "Broken on purpose: ",
      route.break.map((name) => h("code", {}, name)),
      " ",
      h("a", { href: address({ ...route, break: [], number: undefined }) }, "correct"),
    );
  }

  /** The button that shows and hides what may be changed. */
  changer(change, made, route) {
    this.changing ??= route.edit.length > 0;
    const draw = () => {
      change.hidden = !this.changing;
      if (made) made.hidden = this.changing;
    };
    draw();
    return button(
      "Change it",
      (event) => {
        this.changing = !this.changing;
        draw();
        event.target.setAttribute("aria-expanded", String(this.changing));
      },
      { "aria-expanded": String(this.changing), class: "drops" },
    );
  }

  tabs(book, route) {
    const views = [
      ["", "Forward"],
      ["backward", "Backward"],
      ["break", "Break it"],
      ["explain", "Explain"],
      ["circuits", "Circuits"],
      ["theorem", "Theorem"],
    ].filter(
      ([view]) =>
        view === "" || this.store.offers(view, book),
    );
    if (views.length < 2) return null;
    const kept = { source: route.source, edit: route.edit, arithmetic: route.arithmetic };
    return h(
      "nav",
      { class: "tabs", "aria-label": "Views" },
      views.map(([view, label]) =>
        h("a", { href: address({ ...kept, ...this.place(book, view, route), view }), "aria-current": route.view === view ? "page" : undefined }, label),
      ),
    );
  }

  /** Where a view of this pass was left: what was asked there; its step, its position and its head, where it has them still. */
  place(book, view, route) {
    const left = this.places[view] ?? {};
    const { source, step, position, head, target } = left;
    if (source !== route.source) return {};
    if (view in ASKED) return Object.fromEntries(ASKED[view].map((name) => [name, left[name]]));
    const gone = view === "" ? !book.forward.some(({ name }) => name === step) : view !== "backward";
    return gone ? {} : { step, position, head, target };
  }

  arithmetic(route) {
    const chosen = route.arithmetic ?? "exact";
    return h(
      "label",
      { class: "field arithmetic" },
      h("span", {}, "arithmetic"),
      h(
        "select",
        {
          "aria-label": "Arithmetic",
          onchange: (event) =>
            go({ ...this.route, arithmetic: event.target.value === "exact" ? undefined : event.target.value }),
        },
        this.arithmetics.map((name) => h("option", { value: name, selected: name === chosen }, name)),
      ),
    );
  }

  loss(book, route) {
    if (!book.targets.length)
      return h("p", { class: "loss" }, "The gradient of the last step is given: ones at the last position.");
    const field = h("input", { type: "text", value: book.targets.join(" "), autocomplete: "off", spellcheck: "false" });
    field.addEventListener("change", () => go({ ...this.route, target: field.value.trim() }));
    const { text, low } = book.loss;
    return h(
      "p",
      { class: "loss" },
      h("label", {}, "target tokens ", field),
      " loss ",
      math(text),
      low && !text.startsWith("≈") ? ` ≈ ${low.slice(0, 10)}…` : "",
      ", the mean cross-entropy",
    );
  }

  /** Try a change; the address takes it up only when the pass can be computed with it. */
  async change(line) {
    const edit = [...this.route.edit, line];
    this.element.classList.add("busy");
    try {
      await this.book(this.sourceOf({ ...this.route, edit }));
      go({ ...this.route, edit, number: line.startsWith("tokens") ? undefined : this.route.number });
      return "";
    } catch (error) {
      return error.name === "AbortError" ? "" : error.message;
    } finally {
      this.element.classList.remove("busy");
    }
  }

  async setWeight(name, index, value) {
    this.tell(await this.change(`${name}[${index.join(",")}]=${value}`));
  }

  /** One line about what went wrong, or nothing. */
  tell(line) {
    this.trouble.replaceChildren(...(line ? [problem(line)] : []));
  }

  waiting() {
    return h(
      "p",
      { class: "notice", role: "status" },
      "Computing without rounding … ",
      button(
        "Cancel",
        () => {
          this.store.cancel("pass");
          history.back();
        },
        { class: "quiet" },
      ),
    );
  }
}
