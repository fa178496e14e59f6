// Your turn: a box for an answer, the verdict on it, hints one at a time, and then the derivation.

import { announce, button, h, problem, say, scrolling } from "./dom.js";
import { math } from "./math.js";

const MARKS = { good: "✓", bad: "✗", open: "?" };
const OPEN = new Set(["undecided", "unreadable", "few"]);
let boxes = 0;

/**
 * A box that asks. `ask({ answer, hints })` tells what is to be said, as POST /api/answer does: { question, judgement, hints, last,
 * derivation }. Options: { question, label, onright() }: what is asked where it is known already, and what follows a right answer.
 */
export function answerBox(ask, { question = "", label = say("Your answer"), onright = null } = {}) {
  const id = `answer-${++boxes}`;
  let taken = 0; // hints
  const asked = h("p", { class: "question" }, question);
  const field = h("textarea", {
    id,
    rows: 1,
    maxlength: 4000,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    "aria-describedby": `${id}-note`,
  });
  const said = h("div", { role: "status" });
  const hints = h("ol", { class: "hints" });
  const derivation = h("div", { class: "derivation" });
  const check = h("button", { type: "submit", class: "primary" }, say("Check"));
  const help = button(say("Hint"), () => run({ hints: taken + 1 }));

  const run = async (body) => {
    for (const each of [check, help]) each.setAttribute("aria-disabled", "true");
    try {
      show(await ask({ hints: taken, answer: "", ...body }), body);
    } catch (error) {
      if (error.name !== "AbortError") said.replaceChildren(problem(error.message));
    } finally {
      for (const each of [check, help]) each.removeAttribute("aria-disabled");
    }
  };

  const show = (found, body) => {
    if (!asked.textContent) asked.textContent = found.question;
    if (found.judgement) {
      said.replaceChildren(verdict(found.judgement));
      said.scrollIntoView({ block: "nearest" });
    }
    if (body.hints !== undefined) helped(found, body.hints);
    if (found.judgement?.right) onright?.();
  };

  const helped = (found, count) => {
    taken = Math.min(count, found.hints.length + 1);
    hints.replaceChildren(...found.hints.map((hint) => h("li", {}, hint)));
    derivation.replaceChildren(...derived(found.derivation));
    const complete = found.derivation.length > 0;
    help.textContent = say(complete ? "That is all" : found.last ? "Show the derivation" : "Next hint");
    help.disabled = complete;
    (complete ? derivation.lastElementChild : hints.lastElementChild)?.scrollIntoView({ block: "nearest" });
    announce(complete ? `The derivation: ${found.derivation.join(", ")}` : (found.hints.at(-1) ?? ""));
  };

  const submit = (event) => {
    event.preventDefault();
    if (check.getAttribute("aria-disabled")) return;
    if (field.value.trim()) run({ answer: field.value });
    else field.focus();
  };
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    submit(event);
  });
  field.addEventListener("input", () => (field.rows = Math.min(8, field.value.split("\n").length)));
  const form = h(
    "form",
    { class: "answer", onsubmit: submit },
    asked,
    h("label", { for: id }, label),
    field,
    h("p", { class: "note", id: `${id}-note` }, say("A fraction, a formula or a decimal: 3/2, e/(1+e), √2/2, 0.731. Shift+Enter: one more line of a derivation.")),
    h("div", { class: "buttons" }, check, help),
    said,
    hints,
    derivation,
  );
  if (!question) run({});
  return form;
}

function verdict({ kind, right, message, good, lines }) {
  const mood = right ? "good" : OPEN.has(kind) ? "open" : "bad";
  const credit = !right && good > 0 ? ` Lines 1 to ${good} of ${lines} are right.` : "";
  return h(
    "p",
    { class: `said ${mood}`, "data-kind": kind },
    h("span", { class: "mark", "aria-hidden": "true" }, MARKS[mood]),
    sentence(message) + credit,
  );
}

function sentence(text) {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

function derived(lines) {
  return lines.map((line) => scrolling(h("div", { class: "line" }, math(line)), "A line of the derivation"));
}

/** Hide the open cell of the tables; what is hidden is not read out either. Returns what shows it again. */
export function blank(cells) {
  const hidden = [...cells].map((cell) => {
    const shown = cell.querySelector("button.n");
    const label = shown?.getAttribute("aria-label");
    cell.classList.add("blanked");
    shown?.setAttribute("aria-label", "hidden: your turn");
    return () => {
      cell.classList.remove("blanked");
      if (label) shown.setAttribute("aria-label", label);
    };
  });
  return () => hidden.forEach((show) => show());
}
