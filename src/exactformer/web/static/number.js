// One number, opened: its closed form, its proved digits, how it was computed, where it came from and what it feeds.

import { answerBox, blank } from "./answer.js";
import { button, h, problem, say, scrolling } from "./dom.js";
import { short } from "./book.js";
import { copiedNumber, copyMenu } from "./copy.js";
import { feeds, origins } from "./links.js";
import { math } from "./math.js";
import { spelled } from "./spell.js";
import { KINDS, kind, shown } from "./values.js";

const CHIPS = 24;
const ASKED = new Set(["exact", "named", "masked", "token", "undefined"]); // what an answer can be compared with
let unblank = () => {};

/** options: { open(number), go(step name), back, close, edit(name, index, text) } */
export async function numberPanel(book, { name, index }, options) {
  const step = book.step(name);
  const slices = origins(book, step, index);
  const [found, parts] = await Promise.all([
    book.number(name, index, 30),
    gathered(book, slices),
    gathered(book, [{ name, index }]),
  ]);
  const value = found.value;
  const heading = h("h2", { tabindex: -1 }, title(book, step, index));
  unblank(); // of the number that was open before
  const asked = book.store.live && step.op !== "weight" && ASKED.has(value.status);
  const panel = h(
    "div",
    { class: "number" },
    h(
      "div",
      { class: "bar" },
      options.back ? button(say("← back"), options.back, { class: "quiet" }) : h("span", { class: "eyebrow" }, say("selected number")),
      copyMenu(say("the number as"), (form) => copiedNumber(name, index, found, form)),
      button("✕", options.close, { class: "quiet", "aria-label": say("Close the number") }),
    ),
    heading,
    h(
      "p",
      { class: "where-from" },
      button(name, () => options.go(name), { class: "link" }),
    ),
    asked ? button(say("Hide it and let me try"), () => letMeTry(book, { name, index }, panel, heading), { class: "try" }) : null,
    h(
      "p",
      { class: `badge n ${kind(value)}` },
      h("span", { "aria-hidden": "true" }, KINDS[kind(value)].mark),
      ` ${say(KINDS[kind(value)].meaning)}`,
    ),
    forms(found),
    value.why ? h("p", { class: "why" }, value.why) : null,
    value.status === "exact" && !value.text.includes("/")
      ? null
      : book.store.live && found.digits
        ? digitsBox(book, name, index, found)
        : fixedDigits(found),
    computed(book, step, index, parts, value),
    step.op === "weight" && options.edit ? editBox(name, index, value, options) : null,
    cameFrom(book, parts, options),
    feedsWhat(book, name, index, options),
  );
  return panel;
}

/** The number is hidden, here and in the tables, until it is shown again. */
function letMeTry(book, { name, index }, panel, heading) {
  const cell = `${name}[${index.join(", ")}]`;
  const before = [...panel.children];
  unblank = blank(document.querySelectorAll(".cell.open"));
  const show = button(say("Show the number"), () => {
    unblank();
    panel.replaceChildren(...before);
    panel.querySelector(".try").focus();
  });
  const box = answerBox((body) => book.store.ask("answer", { source: book.source, cell, ...body }, "answer"), { onright: () => unblank() });
  panel.replaceChildren(before[0], heading, box, show);
  box.querySelector("textarea").focus();
}

export function title(book, step, index) {
  const axes = step.axes.length === index.length ? step.axes : index.map(() => "");
  const places = index.flatMap((n, axis) => {
    if (axes[axis] === "head") return step.shape[0] > 1 ? [`head ${n}`] : [];
    if (axes[axis] === "") return [];
    return [
      axes[axis] === "position"
        ? `${n} “${book.tokens[n] ?? n}”`
        : book.label(step, axis, n, index.length === 3 ? index[0] : 0),
    ];
  });
  return `${short(step.name)} at ${places.join(", ") || "0"}`;
}

function forms(found) {
  const lines = [scrolling(h("div", { class: "form" }, math(found.simplified, true)), say("Closed form"))];
  if (found.written && found.written !== found.simplified) {
    lines.push(
      h("p", { class: "eyebrow" }, say("as it was computed")),
      scrolling(h("div", { class: "form written" }, math(found.written, true)), "The form as it was computed"),
    );
  }
  if (found.where.length) {
    lines.push(
      h("p", { class: "eyebrow" }, say("where")),
      h(
        "ul",
        { class: "where" },
        found.where.map(([symbol, text]) => h("li", {}, math(`${symbol} = ${text}`))),
      ),
    );
  }
  return h("div", { class: "forms" }, lines);
}

function fixedDigits(found) {
  return found.digits ? h("div", { class: "digits" }, h("p", { class: "eyebrow" }, say("proved digits")), proved(found)) : null;
}

function digitsBox(book, name, index, found) {
  const box = h("div", { class: "box" }, proved(found));
  const count = h("input", { type: "number", min: 1, max: 1000, value: 30, id: "digit-count" });
  count.addEventListener("change", async () => {
    const wanted = Math.max(1, Math.min(1000, Math.round(Number(count.value)) || 30));
    count.value = wanted;
    try {
      box.replaceChildren(proved(await book.number(name, index, wanted)));
    } catch (error) {
      if (error.name !== "AbortError") box.replaceChildren(problem(error.message));
    }
  });
  return h(
    "div",
    { class: "digits" },
    h("p", { class: "eyebrow" }, h("label", { for: "digit-count" }, say("proved digits")), " ", count),
    box,
  );
}

function proved(found) {
  return h(
    "div",
    {},
    h("p", { class: "decimal" }, found.digits),
    found.low && found.low !== found.high
      ? h("p", { class: "enclosure" }, "in [", h("span", {}, found.low), ", ", h("span", {}, found.high), "]")
      : null,
    found.why ? h("p", { class: "why" }, found.why) : null,
  );
}

function computed(book, step, index, parts, value) {
  if (step.op === "weight") return null;
  const spelt = spelled(book, step, index, parts, value);
  const lines = [
    h("p", { class: "eyebrow" }, say("how it is computed")),
    scrolling(h("div", { class: "form rule" }, math(`${short(step.name)} = ${step.formula}`)), "Rule"),
  ];
  if (spelt?.text) {
    const ending = spelt.result === null ? "" : ` ${spelt.relation} ${spelt.result}`;
    const text = spelt.text + (spelt.text === spelt.result ? "" : ending);
    lines.push(scrolling(h("div", { class: "form spelt" }, math(text)), "The rule with its numbers"));
  }
  if (spelt?.note) lines.push(h("p", { class: "note" }, spelt.note));
  return h("div", { class: "computed" }, lines);
}

function editBox(name, index, value, options) {
  const field = h("input", { type: "text", value: value.text, id: "new-weight", autocomplete: "off", spellcheck: "false" });
  const submit = (event) => {
    event.preventDefault();
    if (field.value.trim() && field.value.trim() !== value.text) options.edit(name, index, field.value.trim());
  };
  return h(
    "form",
    { class: "edit-weight", onsubmit: submit },
    h("label", { for: "new-weight" }, "Change this weight"),
    field,
    h("button", { type: "submit" }, "Set"),
    h("p", { class: "note" }, "An integer, a decimal or a fraction: 3, 0.25, −1/3."),
  );
}

function cameFrom(book, parts, options) {
  if (!parts.length) return null;
  return h(
    "section",
    { class: "links" },
    h("h3", {}, say("Came from")),
    parts.map((part) =>
      h(
        "div",
        { class: "origin" },
        h(
          "p",
          {},
          button(short(part.name), () => options.go(part.name), { class: "link" }),
          ` ${place(book, part)}`,
        ),
        chips(book, part, options),
      ),
    ),
  );
}

function chips(book, part, options) {
  const entries = part.entries.filter(({ value }) => value);
  const list = h("div", { class: "chips" });
  const draw = (count) => {
    list.replaceChildren(
      ...entries.slice(0, count).map(({ index, value }) =>
        button(shown(value).main, () => options.open({ name: part.name, index }), {
          class: `chip n ${kind(value)}`,
          "aria-label": `${title(book, book.step(part.name), index)}: ${value.text}`,
        }),
      ),
    );
    if (entries.length > count) list.append(button(`all ${entries.length}`, () => draw(entries.length), { class: "quiet" }));
  };
  draw(CHIPS);
  return list;
}

function place(book, { name, index }) {
  const step = book.step(name);
  const free = index.filter((n) => n === null).length;
  if (!free) return "";
  const named = index.flatMap((n, axis) =>
    n === null || step.axes[axis] === "head" || step.axes[axis] === ""
      ? []
      : [`${step.axes[axis]} ${step.axes[axis] === "position" ? n : book.label(step, axis, n)}`],
  );
  return named.length ? `(${named.join(", ")})` : say("(all of it)");
}

function feedsWhat(book, name, index, options) {
  const found = feeds(book, name, index);
  if (!found.length) return null;
  return h(
    "section",
    { class: "links" },
    h("h3", {}, say("Used by")),
    h(
      "ul",
      { class: "feeds" },
      found.slice(0, CHIPS).map((slice) => {
        const step = book.step(slice.name);
        const at = slice.index.map((n) => n ?? 0);
        return h(
          "li",
          {},
          button(
            short(step.name),
            () => (slice.index.includes(null) ? options.go(step.name) : options.open({ name: step.name, index: at })),
            { class: "link" },
          ),
          ` ${place(book, slice)}`,
        );
      }),
    ),
  );
}

/** The slices with their numbers, fetched where they are not here. */
async function gathered(book, slices) {
  await Promise.all(slices.map((slice) => fetched(book, slice)));
  return slices.map((slice) => ({ ...slice, entries: entries(book, slice) }));
}

function fetched(book, { name, index }) {
  const step = book.step(name);
  const range = (axis) =>
    axis < 0 ? [0, 1] : index[axis] === null ? [0, Math.min(step.shape[axis], 256)] : [index[axis], index[axis] + 1];
  return book.needBlocks(name, range(index.length - 2), range(index.length - 1));
}

function entries(book, { name, index }) {
  const { shape } = book.step(name);
  let all = [[]];
  index.forEach((n, axis) => {
    const along = n === null ? Array.from({ length: Math.min(shape[axis], 256) }, (_, k) => k) : [n];
    all = all.flatMap((start) => along.map((k) => [...start, k]));
  });
  return all.map((at) => ({ index: at, value: book.at(name, at) }));
}
