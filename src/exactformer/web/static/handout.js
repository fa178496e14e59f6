// The whole pass on paper: what is given, then every step with its formula, its numbers and what is said of them.

import { button, h, scrolling } from "./dom.js";
import { short } from "./book.js";
import { math } from "./math.js";
import { address } from "./route.js";
import { Matrix } from "./table.js";
import { legend } from "./values.js";

const AT_ONCE = 12; // steps whose numbers are asked for together

export async function handout(book, route) {
  const steps = [...book.weights, ...book.forward];
  const whole = steps.filter(({ name }) => book.isWhole(name)).map(({ name }) => name);
  for (let n = 0; n < whole.length; n += AT_ONCE) await book.need(whole.slice(n, n + AT_ONCE));
  return h(
    "div",
    { class: "handout" },
    h("p", { class: "buttons" }, button("Print", () => print(), { class: "primary" }), h("a", { href: address({ ...route, view: "" }) }, "Back to the steps")),
    legend(),
    h("section", {}, h("h2", {}, "Given"), h("p", {}, `Tokens: ${book.tokens.join(" ")}`), h("div", { class: "givens" }, book.weights.map((step) => tables(book, step)))),
    h("section", {}, h("h2", {}, "Step by step"), h("div", { class: "lines" }, book.forward.map((step, n) => entry(book, step, n)))),
    book.output.length ? h("section", {}, h("h2", {}, "Next tokens"), outputs(book)) : null,
  );
}

function entry(book, step, n) {
  return h(
    "article",
    { class: "line" },
    h("h3", {}, `${n + 1}. ${step.title[0].toUpperCase()}${step.title.slice(1)} `, h("code", {}, step.name)),
    scrolling(h("div", { class: "formula" }, math(`${short(step.name)} = ${step.formula}`)), `Formula of ${step.name}`),
    tables(book, step),
    step.remarks.length ? h("ul", { class: "said" }, step.remarks.map(([, text]) => h("li", {}, text))) : null,
  );
}

/** A table for each head. */
function tables(book, step) {
  if (!book.isWhole(step.name)) return h("p", { class: "note" }, `${step.name}: ${step.shape.join(" × ")} numbers, too many to print`);
  const heads = step.shape.length === 3 ? step.shape[0] : 1;
  return h(
    "div",
    { class: "of-heads" },
    Array.from({ length: heads }, (_, head) => {
      const caption = h("span", { class: "caption-name" }, short(step.name), heads > 1 ? `, head ${head}` : "");
      return new Matrix(book, step, { role: "reads", head, heat: step.heat, caption, label: `${step.name}, head ${head}`, open: () => {} }).element;
    }),
  );
}

function outputs(book) {
  return h(
    "ul",
    {},
    book.output.map((out, n) =>
      h("li", {}, `After “${book.tokens[n]}” (position ${n}): `, out.token === null ? out.verdict : `next token ${out.token}, ${out.verdict}`),
    ),
  );
}
