// A lesson: prose in a readable column, with the steps and numbers of its passes in it as they are on the page of a pass.

import { button, h, problem, scrolling, speak } from "./dom.js";
import { Book, short } from "./book.js";
import { about, explained, learn, term } from "./glossary.js";
import { math } from "./math.js";
import { numberPanel } from "./number.js";
import { keep, kept, unpack } from "./recent.js";
import { address, go, writeNumber } from "./route.js";
import { Matrix } from "./table.js";
import { KINDS, differ } from "./values.js";

const PLAIN = new Set("p ul ol li blockquote em s thead tbody tr th td hr br h2 h3 h4 code span".split(" "));

/** The whole page of a lesson. */
export async function lessonView(store, { view: slug, language = "en" }) {
  const [data] = await Promise.all([fetched(store, slug, language), learn(store, language)]);
  return new LessonPage(store, data, language).element;
}

/** A lesson of the page; or one that was dropped on it, which this browser or the address has kept. */
async function fetched(store, slug, language) {
  if (slug.includes(":")) await unpack(slug);
  const own = kept(slug);
  if (own) return store.ask("draw", { text: own.text, name: own.name });
  return store.get(`lesson/${encodeURIComponent(slug)}?language=${encodeURIComponent(language)}`);
}

class LessonPage {
  constructor(store, data, language) {
    Object.assign(this, { store, data, language, say: data.words.page });
    this.books = new Map();
    this.turn = Promise.resolve();
    speak({ ...data.texts, ...kindsSaid(data.words.kinds) });
    const [first, ...rest] = data.tree;
    const titled = first?.[0] === "h1";
    this.element = h(
      "main",
      { class: "lesson", id: "main", tabindex: -1, lang: data.language },
      h(
        "header",
        {},
        h("p", { class: "eyebrow" }, h("a", { href: "#" }, this.say.all_lessons), this.languages()),
        h("h1", {}, titled ? this.inside(first) : data.title),
        data.summary ? h("p", { class: "lead" }, data.summary) : null,
      ),
      this.problems(data.problems ?? []),
      h("div", { class: "prose" }, (titled ? rest : data.tree).map((node) => this.node(node))),
      this.around(),
    );
    document.title = `${data.title} · exactformer`;
  }

  /** What is not right in a lesson of the teacher's own. */
  problems(lines) {
    return lines.length ? h("div", { class: "problem", role: "alert" }, h("p", {}, this.say.not_right), h("ul", {}, lines.map((line) => h("li", {}, line)))) : null;
  }

  languages() {
    const others = Object.entries(this.data.languages).filter(([language]) => language !== this.data.language);
    return others.map(([language, name]) => [
      " · ",
      h("a", { href: address({ source: "lesson", view: this.data.slug, language }), lang: language, hreflang: language }, name),
    ]);
  }

  around() {
    const link = (to, label, sign) =>
      to &&
      h(
        "a",
        { class: `card ${sign}`, href: address({ source: "lesson", view: to.slug, language: this.spoken() }) },
        h("span", { class: "eyebrow" }, label),
        h("span", { class: "to" }, to.title),
      );
    const { previous, next } = this.data;
    return h("nav", { class: "around", "aria-label": this.say.lessons }, link(previous, this.say.previous, "back"), link(next, this.say.next, "on"));
  }

  spoken() {
    return this.language === "en" ? undefined : this.language;
  }

  // -- the tree of the text
  inside([, , ...children]) {
    return children.map((child) => this.node(child));
  }

  /** Known tags alone: what is not known is shown as its text. */
  node(node) {
    if (typeof node === "string") return node;
    const [tag, attributes] = node;
    switch (tag) {
      case "view":
        return this.view(this.data.views[attributes.n]);
      case "number":
        return this.bound(this.data.numbers[attributes.n], node[2]);
      case "math":
        return math(node[2]);
      case "a":
        return this.link(node);
      case "strong":
        return h("strong", {}, this.strong(node));
      case "pre":
        return scrolling(h("pre", {}, this.inside(node)), "Code");
      case "table":
        return scrolling(h("div", { class: "table" }, h("table", {}, this.inside(node))), "Table");
      case "ol":
        return h("ol", { start: attributes.start }, this.inside(node));
      default:
        return PLAIN.has(tag) ? h(tag, {}, this.inside(node)) : h("span", {}, this.inside(node));
    }
  }

  /** A term of the glossary is bold where it is explained. */
  strong(node) {
    const text = node.length === 3 && typeof node[2] === "string" ? node[2] : "";
    const entry = text && explained(text);
    return entry ? term(text, entry) : this.inside(node);
  }

  link(node) {
    const { lesson, href } = node[1];
    if (lesson) return h("a", { href: address({ source: "lesson", view: lesson, language: this.spoken() }) }, this.inside(node));
    if (/^https?:\/\//.test(href ?? "")) return h("a", { href, rel: "noopener noreferrer" }, this.inside(node));
    return h("span", {}, this.inside(node));
  }

  // -- passes
  async book(n, step = "") {
    const source = this.data.passes[n];
    const key = JSON.stringify(source);
    if (!this.books.has(key)) this.books.set(key, this.store.ask("pass", { source }).then((outline) => new Book(this.store, source, outline)));
    const book = await this.books.get(key);
    if (step.startsWith("grad.") && !book.gradients.length) book.withGradient(await this.store.ask("gradient", { source }));
    if (!book.has(step)) throw new Error(`${step}: there is no such step here`);
    return book;
  }

  /** A broken pass beside the one that it is of. */
  broken(book, mistake) {
    const source = { ...book.source, breaks: [...book.source.breaks, mistake] };
    const key = JSON.stringify(source);
    if (!this.books.has(key)) this.books.set(key, this.store.ask("pass", { source }).then((outline) => new Book(this.store, source, outline)));
    return this.books.get(key);
  }

  /** Where a step is shown among all others. */
  async whole({ source }, step, rest = {}) {
    const from = source.example ?? (await keep(source.name, source.worksheet, false));
    const view = step.startsWith("grad.") ? "backward" : undefined;
    return { source: from, view, edit: source.edits, break: source.breaks, target: source.target, step, ...rest };
  }

  // -- views
  view(view) {
    const box = h("div", { class: `view view-${view.kind}` });
    if (view.kind === "claim") {
      box.append(this.claim(view));
      return box;
    }
    box.append(h("p", { class: "working" }, this.say.loading));
    const fill = () => this.filled(box, view).catch((error) => error.name !== "AbortError" && box.replaceChildren(problem(error.message)));
    this.turn = this.turn.then(fill); // one after the other: the process that knows a pass answers all questions about it
    return box;
  }

  claim({ claim, verdict = "right" }) {
    const [mark, said] = { right: ["✓", this.say.checked], undecided: ["?", this.say.undecided] }[verdict] ?? ["✗", this.say.refuted];
    return h("p", { class: verdict === "right" ? "claim" : "claim not-proved" }, h("span", { class: "tick", "aria-hidden": "true" }, `${mark} `), h("code", {}, shortened(claim)), ` ${said}`);
  }

  async filled(box, view) {
    const book = await this.book(view.pass, view.step);
    const step = book.step(view.step);
    if (view.kind !== "exercise") await book.need([step.name]);
    const made = { step: this.step, picture: this.picture, number: this.number, break: this.breaking, exercise: this.exercise }[view.kind];
    box.replaceChildren(...(await made.call(this, box, book, step, view)));
  }

  async step(box, book, step, view) {
    return [...this.heading(step), h("div", { class: "matrices" }, this.matrices(box, book, step, view)), await this.onwards(book, step, view)];
  }

  heading(step) {
    const { titles, abouts, words } = this.data;
    const title = step.op === "gradient" ? words.views.gradient.replace("{of}", short(step.name.slice(5))) : (titles[step.op] ?? step.title);
    return [
      h("p", { class: "view-title" }, title[0].toUpperCase() + title.slice(1)),
      about(step, abouts[step.op] ?? step.about) ?? "",
      step.formula ? scrolling(h("div", { class: "formula" }, math(`${short(step.name)} = ${step.formula}`)), "Formula") : "",
    ];
  }

  matrices(box, book, step, { position = null, head = null }, options = {}) {
    const all = step.shape.length === 3 ? step.shape[0] : 1;
    const heads = head === null ? Array.from({ length: all }, (_, n) => n) : [head];
    return heads.map((n) => {
      const name = heads.length > 1 || head !== null ? `${short(step.name)}, ${this.data.words.views.head} ${n}` : short(step.name);
      return new Matrix(book, step, {
        role: "writes",
        head: n,
        only: position,
        label: name,
        heat: step.heat && step.shape.at(-1) > 1,
        caption: h("span", { class: "caption-name" }, name),
        open: (index) => this.open(box, book, { name: step.name, index }),
        ...options,
      }).element;
    });
  }

  async onwards(book, step, { position, head }) {
    const to = await this.whole(book, step.name, { position: position ?? undefined, head: head || undefined });
    return h("p", { class: "onwards" }, h("a", { href: address(to) }, this.say.open_pass));
  }

  async number(box, book, step, view) {
    const index = entire(step, view.index);
    const found = await book.store.ask("number", { source: book.source, step: step.name, index, digits: view.digits });
    const name = `${short(step.name)}[${index.join(", ")}]`;
    return [
      scrolling(h("div", { class: "form" }, math(found.where.length ? name : `${name} = ${found.simplified}`)), name),
      found.digits ? h("p", { class: "decimal" }, found.value.status === "exact" ? found.digits : `≈ ${found.digits}…`) : "",
      this.opener(box, book, { name: step.name, index }),
    ];
  }

  opener(box, book, number) {
    return h("p", { class: "onwards" }, button(this.say.how, () => this.open(box, book, number), { class: "link" }));
  }

  async picture(box, book, step, view) {
    const drawn = await import("./picture.js").catch(() => null);
    if (!drawn || (drawn.drawable && !drawn.drawable(step))) return this.step(box, book, step, view);
    const all = step.shape.length === 3 ? step.shape[0] : 1;
    const heads = view.head === null ? Array.from({ length: all }, (_, n) => n) : [view.head];
    const { part, place } = rowOf(step, view.position ?? null);
    const pictures = heads.map((head) =>
      drawn.picture(part, {
        at: (index) => book.at(step.name, place(index)),
        label: (axis, n) => book.label(step, axis, axis === step.shape.length - 2 ? place([n, 0])[0] : n, head),
        tokens: book.tokens,
        vocabulary: book.model.vocabulary,
        head,
        caption: heads.length > 1 ? `${short(step.name)}, ${this.data.words.views.head} ${head}` : short(step.name),
        open: (index) => this.open(box, book, { name: step.name, index: place(index) }),
      }),
    );
    return [...this.heading(step), h("div", { class: "matrices" }, pictures), await this.onwards(book, step, view)];
  }

  async breaking(box, book, step, view) {
    const wrong = await this.broken(book, view.mistake);
    const has = wrong.has(step.name);
    if (has) await wrong.need([step.name]);
    const { correct, broken, no_such_step: none } = this.data.words.views;
    const what = this.data.mistakes[view.mistake] ?? book.breaks.find(({ name }) => name === view.mistake)?.what ?? "";
    const changed = (index) => differ(wrong.at(step.name, index), book.at(step.name, index));
    return [
      h(
        "div",
        { class: "two" },
        h("section", {}, h("p", { class: "view-title" }, correct), this.matrices(box, book, step, view)),
        h(
          "section",
          {},
          h("p", { class: "view-title" }, `${broken}: `, h("code", {}, view.mistake), ` ${what}`),
          has ? this.matrices(box, wrong, wrong.step(step.name), view, { changed }) : h("p", {}, none),
        ),
      ),
    ];
  }

  async exercise(box, book, step, view) {
    const made = await import("./answer.js").catch(() => null);
    if (!made) return [h("p", { class: "note" }, this.say.answer_elsewhere)];
    const cell = `${view.sum ? "sum " : ""}${step.name}[${entire(step, view.index, view.sum).join(", ")}]`;
    const ask = async ({ answer, hints }) => {
      const own = view.hints.slice(0, hints); // the author's own come first
      const more = Math.max(0, hints - view.hints.length);
      const found = await book.store.ask("answer", { source: book.source, cell, answer, hints: more });
      return { ...found, hints: [...own, ...found.hints], last: hints >= view.hints.length && found.last };
    };
    return [made.answerBox(ask, { question: shortened(`${cell} = ?`), label: this.say.your_turn })];
  }

  // -- numbers
  /** A number in the prose opens below its paragraph. */
  bound(number, text) {
    if (!number?.step || number.step === "loss") return text;
    const toggle = async () => {
      const place = control.closest("p, li, td, h2, h3") ?? control.parentElement;
      if (control.getAttribute("aria-expanded") === "true") return this.shut();
      try {
        const book = await this.book(number.pass, number.step);
        const step = book.step(number.step);
        await book.need([step.name]);
        await this.open(place, book, { name: step.name, index: entire(step, number.index) }, control);
      } catch (error) {
        if (error.name !== "AbortError") place.append(problem(error.message));
      }
    };
    const pressed = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    };
    // a real button would part from the full stop that follows it
    const control = h("span", { class: text.includes(",") ? "bound several" : "bound", role: "button", tabindex: 0, "aria-expanded": "false", onclick: toggle, onkeydown: pressed }, text);
    return control;
  }

  /** Show how a number was computed, below `place`; one is open at a time. */
  async open(place, book, number, control = null, trail = []) {
    const step = book.step(number.name);
    if (number.index.length !== step.shape.length) return go(await this.whole(book, number.name));
    const panel = await numberPanel(book, number, {
      open: (next) => this.open(place, book, next, control, [...trail, number]),
      go: async (name) => book.has(name) && go(await this.whole(book, name, { number: writeNumber(number) })),
      back: trail.length ? () => this.open(place, book, trail.at(-1), control, trail.slice(0, -1)) : null,
      close: () => this.shut(),
      edit: null,
    });
    const before = control ?? (place.contains(document.activeElement) ? document.activeElement : null);
    const returning = this.opened?.place === place && !control ? this.opened.before : before;
    this.shut(false);
    const box = h("aside", { class: "opened", "aria-label": panel.querySelector("h2").textContent }, panel);
    place.classList.contains("view") ? place.append(box) : place.after(box);
    control?.setAttribute("aria-expanded", "true");
    this.opened = { box, place, control, before: returning };
    panel.querySelector("h2").focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest" });
  }

  shut(back = true) {
    if (!this.opened) return;
    const { box, control, before } = this.opened;
    box.remove();
    control?.setAttribute("aria-expanded", "false");
    this.opened = null;
    if (back) before?.focus();
  }
}

/** One row of a step as a step of its own, which is drawn alone; and the place in the step of a place in it. */
function rowOf(step, position) {
  if (position === null || step.shape.length < 2) return { part: step, place: (index) => index };
  const part = { ...step, shape: [...step.shape.slice(0, -2), 1, step.shape.at(-1)], axes: step.axes?.with(-2, "") };
  return { part, place: (index) => index.with(-2, position) };
}

/** What kinds of numbers are called, by their English. */
function kindsSaid(kinds) {
  return Object.fromEntries(Object.entries(KINDS).map(([kind, { meaning }]) => [meaning, kinds[kind] ?? meaning]));
}

/** Names of steps as people say them. */
function shortened(text) {
  return text.replaceAll(/\bblocks\.\d+\.[\w.]+/g, (name) => short(name));
}

/** An index with the axes of one entry that were left out. */
function entire({ shape }, index, sum = false) {
  const wanted = shape.length - (sum ? 1 : 0);
  const rest = shape.slice(index.length, wanted);
  return rest.every((n) => n === 1) ? [...index, ...rest.map(() => 0)] : index;
}
