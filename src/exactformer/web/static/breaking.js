// Break it: the pass as it is and the pass with mistakes made on purpose, side by side.

import { button, h, problem, scrolling } from "./dom.js";
import { Book, short } from "./book.js";
import { go, writeNumber } from "./route.js";
import { Matrix } from "./table.js";
import { differ } from "./values.js";

const WORDS = new Map([
  [true, "the same"],
  [false, "differs"],
  [null, "undecided"],
]);

const MARKS = { "the same": "=", differs: "≠", undecided: "?", missing: "−", added: "+" };

export async function breaking(book, route) {
  const chosen = route.break.filter((name) => book.breaks.some((each) => each.name === name));
  const choice = h(
    "fieldset",
    { class: "mistakes" },
    h("legend", {}, "Choose a mistake"),
    book.breaks.map(({ name, what }) =>
      h(
        "label",
        {},
        h("input", {
          type: "checkbox",
          checked: chosen.includes(name),
          onchange: (event) =>
            go({
              ...route,
              step: undefined,
              number: undefined,
              break: event.target.checked ? [...chosen, name] : chosen.filter((each) => each !== name),
            }),
        }),
        h("code", {}, name),
        " ",
        what,
      ),
    ),
  );
  const unknown = route.break.filter((name) => !chosen.includes(name));
  if (unknown.length) return h("div", { class: "break" }, choice, problem(`${unknown[0]}: there is no such mistake`));
  if (!chosen.length)
    return h(
      "div",
      { class: "break" },
      choice,
      h("p", { class: "hint" }, "Choose a mistake: both passes are then computed, and every step is compared."),
    );
  try {
    return h("div", { class: "break" }, choice, ...(await compared(book, chosen, route)));
  } catch (error) {
    return h("div", { class: "break" }, choice, problem(error.message));
  }
}

async function compared(book, chosen, route) {
  const source = { ...book.source, breaks: chosen };
  const [outline, result] = await Promise.all([
    book.store.ask("pass", { source }, "break"),
    book.store.ask("compare", { source }, "compare"),
  ]);
  const wrong = new Book(book.store, source, outline);
  const sides = [result.pass, result.gradient].filter(Boolean);
  if (route.step && !sides.some((side) => side.steps.some(({ name }) => name === route.step)))
    throw new Error(`${route.step}: there is no such step here`);
  if (result.gradient) {
    const [left, right] = await Promise.all([book.source, source].map((each) => book.store.ask("gradient", { source: each })));
    book.withGradient(left);
    wrong.withGradient(right);
  }
  const step = route.step ?? result.pass.first ?? result.pass.steps[0].name;
  return [
    h(
      "ul",
      { class: "effects" },
      book.breaks
        .filter(({ name }) => chosen.includes(name))
        .map(({ name, effect }) => h("li", {}, h("code", {}, name), ` ${effect}`)),
    ),
    h(
      "div",
      { class: "compare" },
      scrolling(
        h(
          "nav",
          { class: "verdicts", "aria-label": "Steps compared" },
          h("p", { class: "note" }, legend(sides.flatMap((side) => side.steps.map(wordOf)))),
          sides.map((side, n) => [
            h("h2", {}, n ? "The gradient" : "The pass"),
            h("p", { class: "first" }, side.first ? ["first to differ: ", h("code", {}, side.first)] : "no step differs"),
            h(
              "ol",
              {},
              side.steps.map((each) => h("li", {}, verdict(each, each.name === step, route))),
            ),
          ]),
        ),
      ),
      await pair(book, wrong, step, { ...route, break: chosen }),
    ),
  ];
}

function wordOf({ equal, left, right }) {
  return left && right ? WORDS.get(equal) : left ? "missing" : "added";
}

function markOf(word) {
  return h("span", { class: `verdict ${word.replace(" ", "-")}` }, MARKS[word]);
}

/** What the marks that there are stand for. */
function legend(words) {
  return Object.keys(MARKS)
    .filter((word) => words.includes(word))
    .map((word) => h("span", { class: "of-legend" }, markOf(word), ` ${word} `));
}

function verdict(compared, current, route) {
  const { name } = compared;
  const word = wordOf(compared);
  return button(
    [
      markOf(word),
      " ",
      short(name),
      h("span", { class: "visually-hidden" }, `: ${word}`),
    ],
    () => go({ ...route, step: name }, true),
    { class: "quiet", "aria-current": current ? "step" : undefined },
  );
}

async function pair(right, wrong, name, route) {
  const books = [right, wrong];
  await Promise.all(books.map((book) => book.has(name) && book.need([name])));
  const matrices = books.map((book, n) => {
    if (!book.has(name))
      return h("p", { class: "hint" }, n ? "The broken pass has no such step." : "Only the broken pass has this step.");
    const other = books[1 - n];
    const step = book.step(name);
    return Array.from(
      { length: step.shape.length === 3 ? step.shape[0] : 1 },
      (_, head) =>
        new Matrix(book, step, {
          role: "writes",
          head,
          label: `${name}, ${n ? "broken" : "correct"}`,
          heat: name.endsWith("pattern"),
          caption: h("span", { class: "caption-name" }, short(name)),
          open: (index) =>
            go({
              ...route,
              view: name.startsWith("grad.") ? "backward" : undefined,
              break: n ? route.break : [],
              step: name,
              number: writeNumber({ name, index }),
            }),
          changed: (index) => n === 1 && other.has(name) && differ(book.at(name, index), other.at(name, index)),
        }).element,
    );
  });
  const step = (right.has(name) ? right : wrong).step(name);
  return h(
    "div",
    { class: "pair" },
    h(
      "h2",
      {},
      step.op === "gradient" ? `Gradient of ${short(name.slice(5))}` : `${step.title[0].toUpperCase()}${step.title.slice(1)}`,
    ),
    h("p", { class: "pair-name" }, h("code", {}, name), " = ", h("code", {}, step.formula)),
    h(
      "div",
      { class: "two" },
      h("section", {}, h("h3", {}, "Correct"), matrices[0]),
      h("section", {}, h("h3", {}, "Broken"), matrices[1]),
    ),
  );
}
