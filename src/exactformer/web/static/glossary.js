// The glossary: a term or sign that is explained in a sentence on hover, focus and tap.

import { h } from "./dom.js";

let known = new Map(); // by the form in which a term is met
let signs = [];
let met = null;
let tips = 0;
let heard = null; // the language that was asked for last, and its answer

/** Fetch the terms of a language, once. Without them the page goes on, and explains nothing. */
export function learn(store, language = "en") {
  if (heard?.language !== language) heard = { language, answer: fetched(store, language) };
  return heard.answer;
}

async function fetched(store, language) {
  try {
    const { terms } = await store.get(`glossary?language=${encodeURIComponent(language)}`);
    known = new Map(terms.flatMap(([term, also, text]) => [term, ...also].map((form) => [form.toLowerCase(), { term, text }])));
    const forms = [...known.keys()];
    signs = forms.filter((form) => !/[\p{L}\d]/u.test(form) || ["ᵀ", "ε", "θ"].includes(form));
    const words = forms.filter((form) => form.length > 1 && !signs.includes(form)).sort((a, b) => b.length - a.length);
    met = words.length ? new RegExp(`(?<![\\p{L}\\d_])(?:${words.map(escaped).join("|")})(?![\\p{L}\\d_])`, "giu") : null;
  } catch {
    heard = null;
  }
}

function escaped(text) {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

export function explained(word) {
  return known.get(word.trim().toLowerCase());
}

/** A word that says what it means. */
export function term(label, entry) {
  const id = `tip-${++tips}`;
  const tip = h("span", { class: "tip", role: "tooltip", id, hidden: true }, entry.text);
  const word = h("span", { class: "term", role: "button", tabindex: 0, "aria-describedby": id }, label); // a button would part from its full stop
  const box = h("span", { class: "term-box" }, word, tip);
  const show = () => {
    tip.hidden = false;
    tip.style.left = "0px";
    const over = tip.getBoundingClientRect().right - document.documentElement.clientWidth + 8;
    if (over > 0) tip.style.left = `${-over}px`;
  };
  const hide = () => (tip.hidden = true);
  box.addEventListener("mouseenter", show);
  box.addEventListener("mouseleave", () => document.activeElement !== word && hide());
  word.addEventListener("focus", show);
  word.addEventListener("blur", hide);
  word.addEventListener("click", show);
  word.addEventListener("keydown", (event) => {
    if (event.key === "Escape" ? tip.hidden : event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    event.key === "Escape" ? hide() : show();
  });
  return box;
}

/** A sentence with its terms, each where it stands first. */
export function glossed(text) {
  if (!met) return [text];
  const parts = [];
  const seen = new Set();
  let at = 0;
  for (const match of text.matchAll(met)) {
    const entry = explained(match[0]);
    if (seen.has(entry.term)) continue;
    seen.add(entry.term);
    parts.push(text.slice(at, match.index), term(match[0], entry));
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)];
}

/** What the worksheet says of a step, the sentence of its operation, and the signs of its formula. */
export function about({ about: text, note, formula }, said = text) {
  if (!said) return null;
  const shown = signs.filter((sign) => formula?.includes(sign));
  return h(
    "p",
    { class: "explains" },
    note ? h("span", { class: "own-note" }, `${note[0].toUpperCase()}${note.slice(1)} `) : null,
    glossed(said),
    shown.length ? [" ", h("span", { class: "signs" }, shown.map((sign) => term(known.get(sign).term, known.get(sign))))] : null,
  );
}
