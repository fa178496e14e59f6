// A matrix of a pass as a picture, in the place of its table: the numbers are fetched as they are needed.

import { button, h } from "./dom.js";
import { drawable, picture } from "./picture.js";

const MANY = 8; // tokens, from which on attention is first seen as a picture

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
    this.mask = step.heat && step.reads.find((name) => book.has(name) && String(book.step(name).shape) === String(step.shape));
    this.shades = {}; // of a large step, and of its mask: floats near their numbers, by rows
    this.element = picture(step, {
      at: (index) => book.at(step.name, index),
      near: (index) => shade(this.shades[step.name], index),
      hidden: (index) => this.hidden(index),
      label: (axis, n) => book.label(step, axis, n, options.head),
      head: options.head,
      row: options.row,
      caption: options.caption,
      compact: options.role === "reads",
      changed: options.changed,
      form: Pictured.form,
      formed: (form) => (Pictured.form = form),
      open: options.open,
      look: (index) => book.store.ask("number", { source: book.source, step: step.name, index, digits: 12 }, "look"),
    });
    this.element.classList.add(options.role);
    this.fetch();
  }

  hidden(index) {
    if (shade(this.shades[this.step.name], index) === HIDDEN) return true;
    return Boolean(this.mask) && (this.book.at(this.mask, index)?.status === "masked" || shade(this.shades[this.mask], index) === HIDDEN);
  }

  /** As a table does: but of a picture all is in sight. */
  reveal() {}

  light(marks) {
    this.element.picture.light(marks);
  }

  /** What is not here yet: a small step whole, of a large one the shades of this head; its numbers where they are looked at. */
  async fetch() {
    const { book, step } = this;
    try {
      for (const name of [step.name, this.mask].filter(Boolean)) {
        if (book.kept.has(name)) continue;
        if (book.isWhole(name)) await book.need([name]);
        else
          this.shades[name] = (
            await book.store.ask("shades", { source: book.source, step: name, head: this.options.head })
          ).shades;
        this.element.picture.refresh();
      }
    } catch (error) {
      if (error.name !== "AbortError") this.element.append(h("p", { class: "note" }, error.message));
    }
  }
}

const HIDDEN = "hidden";

function shade(rows, index) {
  return rows?.[index.length > 1 ? index.at(-2) : 0]?.[index.at(-1)];
}

Pictured.form = "heat"; // the last form that was chosen, from step to step
