// One step: its formula, the matrices that it reads, and the one that it computes.

import { button, h, scrolling } from "./dom.js";
import { about } from "./glossary.js";
import { short } from "./book.js";
import { copied, copyMenu } from "./copy.js";
import { distributionBox } from "./distribution.js";
import { origins, within } from "./links.js";
import { math } from "./math.js";
import { Pictured, formChoice, shownAs } from "./pictured.js";
import { Matrix } from "./table.js";
import { differ } from "./values.js";

const FIRST_REMARKS = 2;

/** options: { head, position, as, open(number), pick({ head }), base } */
export class StepView {
  constructor(book, step, options) {
    Object.assign(this, { book, step, options });
    const reads = step.reads.filter((name) => book.has(name));
    this.as = shownAs(book, step, options.as);
    this.chooses = book.store.live && ["logits", "probs"].includes(step.name);
    const parts = reads.flatMap((name, n) => [n ? sign(step, n) : null, this.matrix(book.step(name), "reads", step.reads.indexOf(name))]);
    const result = this.matrix(step, "writes");
    this.matrices = [...parts.filter((part) => part?.step), result];
    const elements = parts.filter(Boolean).map((part) => part.element ?? part);
    this.element = h(
      "article",
      { class: "step" },
      h(
        "header",
        {},
        h("p", { class: "eyebrow" }, where(step)),
        h("h2", { id: "step-title" }, sentence(step)),
        about(step),
        scrolling(h("div", { class: "formula" }, math(`${short(step.name)} = ${step.formula}`)), "Formula of the step"),
      ),
      remarks(step, options),
      h(
        "div",
        { class: "choices" },
        heads(
          step,
          reads.map((name) => book.step(name)),
          options,
        ),
        formChoice(step, this.as, options.pick),
      ),
      h(
        "div",
        { class: "equation" },
        result.element,
        elements.length ? h("span", { class: "sign", "aria-hidden": "true" }, relation(book, step)) : null,
        elements,
      ),
      this.chooses ? this.choosing(options.position) : null,
      ending(book, step),
    );
  }

  /** The `n`th thing that the step reads, or what it computes. */
  matrix(step, role, n = null) {
    const { book, options } = this;
    const drawn = n === null ? {} : reading(book, this.step, n);
    const head = Math.min(options.head, step.shape.length === 3 ? step.shape[0] - 1 : 0);
    const Shown = this.as === "picture" && shownAs(book, step, "picture") === "picture" ? Pictured : Matrix;
    return new Shown(book, step, {
      role,
      head,
      row: options.position,
      label: `${step.name}, ${role === "writes" ? "computed in this step" : "read in this step"}`,
      heat: step.heat && step.shape.at(-1) > 1,
      ...drawn,
      caption: [
        h("span", { class: "caption-name" }, short(step.name), drawn.transposed ? "ᵀ" : ""),
        " ",
        h("span", { class: "caption-role" }, drawn.caption ?? (role === "writes" ? "computed now" : step.op === "weight" ? "weight" : "read")),
        role === "writes" ? copyMenu(`${short(step.name)} as`, (form) => copied(book, this.step, head, form)) : null,
      ],
      open: (index) => options.open({ name: step.name, index }),
      changed:
        options.base &&
        ((index) =>
          differ(book.at(step.name, index), options.base.has(step.name) ? options.base.at(step.name, index) : undefined)),
    });
  }

  /** Temperature, top-k and top-p at a position; at the last one, unless another is chosen. */
  choosing(position) {
    this.chosen = position;
    this.choice = h("div", {}, distributionBox(this.book, position ?? this.book.tokens.length - 1));
    return this.choice;
  }

  /** Light what an open number reads: a row here, a column there. */
  light(number, position) {
    if (this.chooses && position !== this.chosen) {
      const before = this.choice;
      before.replaceWith(this.choosing(position));
    }
    const step = number && this.book.step(number.name);
    const slices = step ? origins(this.book, step, number.index) : [];
    for (const matrix of this.matrices) {
      const { name } = matrix.step;
      matrix.light({
        row: position,
        selected: number?.name === name ? number.index : null,
        lit: slices.length ? (index) => within(slices, name, index) : null,
      });
      const place = number?.name === name ? number.index : slices.find((slice) => slice.name === name)?.index;
      if (place) matrix.reveal(place);
    }
  }

  /** The number that is open, where it can be seen. */
  seek() {
    this.element.querySelector("td.open")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

/** A formula of sums and products is spelt out by its matrices; of others, they are what it is made from. */
function relation(book, step) {
  if (!step.equation) return "←";
  return step.op === "merge" && book.step(step.reads[0]).shape[0] > 1 ? "= sum over heads of" : "=";
}

/** How a thing that is read stands in the equation: transposed, as a table of rows to pick from, added to every row. */
function reading(book, step, n) {
  const [, out, at] = step.links[n] ?? [];
  const caption = (text) => ({ caption: `${book.step(step.reads[n]).op === "weight" ? "weight" : "read"}, ${text}` });
  if (step.equation && step.sign === "·") {
    if (n === 1 && at?.at(-1) !== out.at(-1) && at?.at(-2) === out.at(-1)) return { transposed: true, ...caption("transposed") };
    if (n === 2) return caption("added to every row");
  }
  if (step.op === "lookup") return { picked: book.ids, ...caption("one row for each token") };
  if (step.op === "table") return { picked: book.ids.map((_, position) => position), ...caption("one row for each position") };
  return {};
}

function sign(step, n) {
  const text = n === 1 ? step.sign : n === 2 && step.sign === "·" ? "+" : "";
  return h("span", { class: "sign", "aria-hidden": "true" }, text || ",");
}

function where(step) {
  const parts = step.name.replace(/^grad\./, "").split(".");
  return parts[0] === "blocks" ? `block ${parts[1]} · ${step.name}` : step.name;
}

function sentence(step) {
  const title = step.op === "gradient" ? `gradient of ${short(step.name.slice(5))}` : step.title;
  return title[0].toUpperCase() + title.slice(1);
}

function heads(step, reads, { head, pick }) {
  const count = Math.max(...[step, ...reads].map(({ shape }) => (shape.length === 3 ? shape[0] : 1)));
  if (count < 2) return null;
  const label = step.shape.length === 3 ? "head" : "head shown";
  return h(
    "div",
    { class: "heads", role: "group", "aria-label": "Head" },
    h("span", {}, label),
    Array.from({ length: count }, (_, n) =>
      button(String(n), () => pick({ head: n }), { "aria-pressed": String(n === head), class: "pill" }),
    ),
  );
}

/** What is to be said of the step, above its numbers: of the head that is shown, and of the position that is chosen. */
function remarks(step, { position, head }) {
  const ofHead = (text) => Number(/^head (\d+) of /.exec(text)?.[1] ?? head) === head;
  const chosen = step.remarks.filter(([at, text]) => (position === null || at === position) && ofHead(text));
  if (!chosen.length) return null;
  const list = (some) => h("ul", {}, some.map(([, text]) => h("li", {}, text)));
  const rest = chosen.slice(FIRST_REMARKS);
  return h(
    "div",
    { class: "remarks" },
    list(chosen.slice(0, FIRST_REMARKS)),
    rest.length ? h("details", {}, h("summary", {}, `${rest.length} more`), list(rest)) : null,
  );
}

function ending(book, step) {
  if (step.op !== "argmax") return null;
  return h(
    "ul",
    { class: "output" },
    book.output.map((out, n) => nextToken(`After “${book.tokens[n]}” (position ${n}):`, out)),
  );
}

/** What is said somewhere, and the verdict on it: a line of a list of class output. */
export function nextToken(where, { token, verdict }) {
  return h(
    "li",
    {},
    h("span", { class: "at" }, where),
    token === null ? " " : " next token ",
    h("strong", {}, token ?? "no token"),
    h("span", { class: "how" }, `${token === null ? ": " : ", "}${verdict}`),
  );
}
