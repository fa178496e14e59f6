// A matrix of a pass as a picture, in the place of its table: the numbers are fetched as they are needed.

import { button, h } from "./dom.js";
import { drawable, picture } from "./picture.js";

const MANY = 8; // tokens, from which on attention is first seen as a picture
const AT_ONCE = 16000; // numbers that are asked for at once

/** What a step is shown as where the address does not say: `picture` or `numbers`. */
export function shownAs(book, step, asked) {
  if (!drawable(step)) return "numbers";
  if (["picture", "numbers"].includes(asked)) return asked;
  const square = step.axes.at(-1) === "position" && step.axes.at(-2) === "position";
  return square && book.tokens.length >= MANY ? "picture" : "numbers";
}

/** The choice between them; null where there is none. */
export function formChoice(step, as, pick) {
  if (!drawable(step)) return null;
  const pill = (form, label) =>
    button(label, () => pick({ as: form }), { class: "pill", "aria-pressed": String(as === form) });
  return h(
    "div",
    { class: "shown-as", role: "group", "aria-label": "Shown as" },
    h("span", {}, "shown as"),
    pill("numbers", "Numbers"),
    pill("picture", "Picture"),
  );
}

/** Stands where a Matrix of table.js stands, with the same options. */
export class Pictured {
  constructor(book, step, options) {
    Object.assign(this, { book, step, options });
    const mask = step.heat && step.reads.find((name) => book.has(name) && String(book.step(name).shape) === String(step.shape));
    this.rows = new Map(); // numbers of a large step, fetched for this picture: by head and row
    this.element = picture(step, {
      at: (index) => this.at(index),
      label: (axis, n) => book.label(step, axis, n, options.head),
      hidden: mask ? (index) => book.at(mask, index)?.status === "masked" : null,
      head: options.head,
      row: options.row,
      caption: options.caption,
      compact: options.role === "reads",
      changed: options.changed,
      form: Pictured.form,
      formed: (form) => (Pictured.form = form),
      open: options.open,
      closed: async (index) => (await book.number(step.name, index, 12)).simplified,
    });
    this.element.classList.add(options.role);
    this.fetch();
  }

  at(index) {
    const whole = this.book.at(this.step.name, index);
    if (whole !== undefined) return whole;
    const [head, row] = index.length === 3 ? index : [0, index.at(-2)];
    return this.rows.get(`${head} ${row}`)?.[index.at(-1)];
  }

  light(marks) {
    this.element.picture.light(marks);
  }

  /** What is not here yet, many rows at once; it is drawn as it comes. */
  async fetch() {
    const { book, step } = this;
    const { name, shape } = step;
    try {
      if (book.isWhole(name)) {
        if (!book.kept.has(name)) await book.need([name]).then(() => this.element.picture.refresh());
        return;
      }
      const [count, columns] = shape.slice(-2);
      const each = Math.max(1, Math.floor(AT_ONCE / (columns * (shape.length === 3 ? shape[0] : 1))));
      for (let start = 0; start < count; start += each) {
        const window = { start, end: Math.min(start + each, count), left: 0, right: columns };
        const { values, words } = await book.store.ask("values", { source: book.source, steps: [name], ...window });
        Object.assign(book.words, words);
        (shape.length === 3 ? values[name] : [values[name]]).forEach((rows, head) =>
          rows.forEach((row, n) => this.rows.set(`${head} ${start + n}`, row)),
        );
        if (start && !this.element.isConnected) return;
        this.element.picture.refresh();
      }
    } catch (error) {
      if (error.name !== "AbortError") this.element.append(h("p", { class: "note" }, error.message));
    }
  }
}

Pictured.form = "heat"; // the last form that was chosen, from step to step
