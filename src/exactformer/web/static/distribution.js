// Temperature, top-k and top-p on a row of logits: the probabilities that come of them, exact, and what is cut off, proved.

import { button, h, problem, scrolling } from "./dom.js";
import { math } from "./math.js";
import { digits, kind, known, nearly, spoken } from "./values.js";

const PAUSE = 120; // milliseconds after the last move of a slider
const FIRST = 12; // tokens that are shown at once
const LONGEST = 40; // characters of a closed form that stands in a line
const chosen = { temperature: 20, k: null, p: 100 }; // as the sliders stand, from step to step; k null: all

/** The box for a position of the logits or of the probabilities. */
export function distributionBox(book, position) {
  const box = new Box(book, position ?? book.tokens.length - 1);
  box.ask();
  return box.element;
}

class Box {
  constructor(book, position) {
    Object.assign(this, { book, position, all: false });
    const size = book.step("logits").shape.at(-1);
    this.most = Math.min(size, 100);
    this.answer = h("div", { class: "answer", "aria-live": "polite" });
    this.element = h(
      "section",
      { class: "choosing", "aria-labelledby": "choosing" },
      h("h3", { id: "choosing" }, `Choosing the token after “${book.tokens[position]}” (position ${position})`),
      h(
        "div",
        { class: "sliders" },
        slider("temperature", 0, 60, chosen.temperature, (n) => this.set("temperature", n), (n) => (n === 0 ? "0: the largest" : String(n / 20))),
        slider("top-k", 1, this.most + 1, chosen.k ?? this.most + 1, (n) => this.set("k", n > this.most ? null : n), (n) =>
          n > this.most ? "all" : String(n),
        ),
        slider("top-p", 1, 100, chosen.p, (n) => this.set("p", n), (n) => (n === 100 ? "1: all" : (n / 100).toFixed(2))),
        button("Reset", () => this.reset(), { class: "quiet" }),
      ),
      this.answer,
    );
  }

  set(name, value) {
    chosen[name] = value;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  reset() {
    Object.assign(chosen, { temperature: 20, k: null, p: 100 });
    this.element.replaceWith(distributionBox(this.book, this.position));
  }

  async ask() {
    const question = { source: this.book.source, position: this.position, temperature: `${chosen.temperature}/20` };
    if (chosen.k !== null && chosen.k <= this.most) question.top_k = chosen.k;
    if (chosen.p < 100) question.top_p = `${chosen.p}/100`;
    try {
      this.found = await this.book.store.ask("distribution", question, "distribution");
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") this.answer.replaceChildren(problem(error.message));
    }
  }

  draw() {
    const { tokens, kept, size, proved, ordered, why } = this.found;
    const many = (n) => n.toLocaleString("en");
    const line = why
      ? ["? undecided: ", why]
      : [`${many(kept)} of ${many(size)} token${size === 1 ? "" : "s"} may be drawn`, proved ? " (proved)" : " (in floats, not proved)"];
    const shown = tokens.slice(0, this.all ? tokens.length : FIRST);
    this.answer.replaceChildren(
      h("p", { class: why ? "told why" : "told" }, line),
      scrolling(
        h(
          "div",
          { class: "bars" },
          h(
            "ol",
            {},
            shown.map((token) => this.bar(token)),
          ),
        ),
        "Tokens by their probabilities",
      ),
      tokens.length > shown.length
        ? button(`the largest ${tokens.length} of ${many(size)}`, () => {
            this.all = true;
            this.draw();
          })
        : size > tokens.length
          ? h("p", { class: "note" }, `The largest ${tokens.length} of ${many(size)} logits.`)
          : "",
      ordered ? "" : h("p", { class: "note" }, "In which order these tokens stand is not proved."),
    );
  }

  bar({ token, logit, probability }) {
    const share = probability ? Math.max(0, Math.min(1, nearly(probability) ?? 0)) : 0;
    const fill = h("span", { class: "fill" });
    fill.style.width = `${(share * 100).toFixed(2)}%`;
    return h(
      "li",
      { class: probability ? "kept" : "cut" },
      h("span", { class: "token" }, token),
      h("span", { class: "track", "aria-hidden": "true" }, fill),
      probability
        ? h("span", { class: `n ${kind(probability)}`, "aria-label": spoken(probability) }, ...written(probability))
        : h("span", { class: "note" }, "cut off"),
      h("span", { class: "note logit" }, "logit ", h("span", { class: "n" }, logit.low ? known(logit) : logit.text)),
    );
  }
}

/** The closed form where it is short, with its digits. */
export function written(value) {
  if (value.status !== "named") return [value.status === "ball" ? digits(value, 6) : value.text];
  const readable = !value.text.startsWith("≈") && value.text.length <= LONGEST;
  return readable ? [math(value.text), h("small", {}, ` ${known(value)}`)] : [known(value, 8)];
}

function slider(label, min, max, value, change, text) {
  const said = h("output", {}, text(value));
  const input = h("input", {
    type: "range",
    min,
    max,
    step: 1,
    value: String(value),
    "aria-label": label,
    "aria-valuetext": text(value),
    oninput: ({ target }) => {
      said.textContent = text(Number(target.value));
      target.setAttribute("aria-valuetext", said.textContent);
      change(Number(target.value));
    },
  });
  input.value = String(value); // once its ends are known
  return h("label", { class: "slider" }, h("span", {}, label, " ", said), input);
}
