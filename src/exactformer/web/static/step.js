// One step: its formula, the matrices that it reads, and the one that it computes.

import { button, h, scrolling } from "./dom.js";
import { about } from "./glossary.js";
import { short } from "./book.js";
import { origins, within } from "./links.js";
import { math } from "./math.js";
import { Matrix } from "./table.js";
import { differ } from "./values.js";

const MOST_REMARKS = 8;

/** options: { head, position, open(number), pick({ head }), base } */
export class StepView {
  constructor(book, step, options) {
    Object.assign(this, { book, step, options });
    const reads = step.reads.filter((name) => book.has(name));
    const parts = reads.flatMap((name, n) => [n ? sign(step, n) : null, this.matrix(book.step(name), "reads")]);
    const result = this.matrix(step, "writes");
    this.matrices = [...parts.filter((part) => part instanceof Matrix), result];
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
      heads(
        step,
        reads.map((name) => book.step(name)),
        options,
      ),
      h(
        "div",
        { class: "equation" },
        result.element,
        elements.length ? h("span", { class: "sign", "aria-hidden": "true" }, relation(step)) : null,
        elements,
      ),
      remarks(step, options.position),
      ending(book, step),
    );
  }

  matrix(step, role) {
    const { book, options } = this;
    const head = Math.min(options.head, step.shape.length === 3 ? step.shape[0] - 1 : 0);
    return new Matrix(book, step, {
      role,
      head,
      row: options.position,
      label: `${step.name}, ${role === "writes" ? "computed in this step" : "read in this step"}`,
      heat: step.heat && step.shape.at(-1) > 1,
      caption: [
        h("span", { class: "caption-name" }, short(step.name)),
        " ",
        h("span", { class: "caption-role" }, role === "writes" ? "computed now" : step.op === "weight" ? "weight" : "read"),
      ],
      open: (index) => options.open({ name: step.name, index }),
      changed:
        options.base &&
        ((index) =>
          differ(book.at(step.name, index), options.base.has(step.name) ? options.base.at(step.name, index) : undefined)),
    });
  }

  /** Light what an open number reads: a row here, a column there. */
  light(number, position) {
    const step = number && this.book.step(number.name);
    const slices = step ? origins(this.book, step, number.index) : [];
    for (const matrix of this.matrices) {
      const { name } = matrix.step;
      matrix.light({
        row: position,
        selected: number?.name === name ? number.index : null,
        lit: slices.length ? (index) => within(slices, name, index) : null,
      });
    }
  }
}

/** A formula of sums and products is spelt out by its matrices; of others, they are what it is made from. */
function relation(step) {
  return step.equation ? "=" : "←";
}

function sign(step, n) {
  const text = n === 1 ? step.sign : n === 2 && step.sign === "·" ? "+" : "";
  return h("span", { class: "sign", "aria-hidden": "true" }, text || ",");
}

function where(step) {
  const parts = step.name.replace(/^grad\./, "").split(".");
  const gradient = step.name.startsWith("grad.") ? "gradient of " : "";
  return parts[0] === "blocks" ? `${gradient}block ${parts[1]} · ${step.name}` : `${gradient}${step.name}`;
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

function remarks(step, position) {
  const chosen = step.remarks.filter(([at]) => position === null || at === position);
  if (!chosen.length) return null;
  return h(
    "ul",
    { class: "remarks" },
    chosen.slice(0, MOST_REMARKS).map(([, text]) => h("li", {}, text)),
  );
}

function ending(book, step) {
  if (step.op !== "argmax") return null;
  return h(
    "ul",
    { class: "output" },
    book.output.map((out, n) =>
      h(
        "li",
        {},
        h("span", { class: "at" }, `After “${book.tokens[n]}” (position ${n}):`),
        out.token === null ? " " : " next token ",
        h("strong", {}, out.token ?? "no token"),
        h("span", { class: "verdict" }, `${out.token === null ? ": " : ", "}${out.verdict}`),
      ),
    ),
  );
}
