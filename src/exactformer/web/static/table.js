// A matrix as a real table: rows and columns with their labels, drawn as needed where there are many.

import { h } from "./dom.js";
import { kind, nearly, shown, spoken } from "./values.js";

const DRAWN = 48; // rows that are drawn without windowing, and columns that are drawn at once
const SPARE = 8; // rows drawn above and below what is seen
const HEIGHT = 34; // pixels of a row, where rows are drawn as needed

/** options: { head, caption, note, role, heat, open(index), lit(index), changed(index), selected } */
export class Matrix {
  constructor(book, step, options) {
    Object.assign(this, { book, step, options });
    const shape = step.shape.length === 1 ? [1, step.shape[0]] : step.shape.slice(-2);
    [this.rows, this.columns] = shape;
    this.left = 0;
    this.windowed = this.rows > DRAWN;
    [this.above, this.below] = [spacer(), spacer()];
    this.body = h("tbody", {}, this.above, this.below);
    this.head = h("thead");
    this.table = h(
      "table",
      {
        class: `matrix ${options.role}${options.heat ? " heat" : ""}${this.columns > 3 ? " dense" : ""}`,
        "aria-rowcount": this.windowed ? this.rows + 1 : undefined,
      },
      h("caption", {}, options.caption),
      this.head,
      this.body,
    );
    this.scroller = h(
      "div",
      { class: `scroll${this.windowed ? " windowed" : ""}`, tabindex: 0, role: "region", "aria-label": options.label },
      this.table,
    );
    this.element = h("div", { class: "matrix-box" }, this.scroller, this.columns > DRAWN ? this.pager() : null);
    this.table.addEventListener("click", (event) => this.clicked(event));
    this.table.addEventListener("keydown", (event) => this.moved(event));
    if (this.windowed)
      this.scroller.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()), { passive: true });
    this.focus = [0, 0];
    this.lines = new Map();
    this.draw(true);
  }

  index(i, j) {
    const rank = this.step.shape.length;
    return rank === 1 ? [j] : rank === 2 ? [i, j] : [this.options.head, i, j];
  }

  get range() {
    if (!this.windowed) return [0, this.rows];
    const top = Math.floor(this.scroller.scrollTop / HEIGHT);
    const seen = Math.ceil((this.scroller.clientHeight || 500) / HEIGHT);
    return [Math.max(0, top - SPARE), Math.min(this.rows, top + seen + SPARE)];
  }

  /** Draw what is seen; what is not here yet is fetched, and drawn when it comes. */
  draw(force = false) {
    const [top, bottom] = this.range;
    const [left, right] = [this.left, Math.min(this.left + DRAWN, this.columns)];
    if (!force && this.drawn === `${top} ${bottom} ${left}`) return;
    this.drawn = `${top} ${bottom} ${left}`;
    if (force || this.head.dataset.left !== String(left)) this.drawHead(left, right);
    this.drawRows(top, bottom, left, right, force);
    const absent = [...this.lines.values()].some((line) => line.classList.contains("partial"));
    if (absent && !this.fetching) this.fetch([top, bottom], [left, right]);
  }

  /** Fetch what is seen, drawing it as it comes; then look whether something else is seen by now. */
  async fetch(rows, columns) {
    const arrived = () => this.element.isConnected && this.draw(true);
    this.fetching = true;
    try {
      await this.book.needBlocks(this.step.name, rows, columns, arrived);
    } catch (error) {
      this.failed(error);
      return;
    } finally {
      this.fetching = false;
    }
    arrived();
  }

  /** Rows that are drawn already stay as they are, unless some of their numbers were missing. */
  drawRows(top, bottom, left, right, force) {
    const stays = (i, line) =>
      i >= top && i < bottom && line.dataset.left === String(left) && !(force && line.classList.contains("partial"));
    for (const [i, line] of this.lines) {
      if (!stays(i, line)) {
        this.lines.delete(i);
        line.remove();
      }
    }
    let last = this.above;
    for (let i = top; i < bottom; i++) {
      if (!this.lines.has(i)) {
        const line = this.row(i, left, right);
        this.lines.set(i, line);
        last.after(line);
        this.light({}, line);
      }
      last = this.lines.get(i);
    }
    this.above.style.height = `${top * HEIGHT}px`;
    this.below.style.height = `${(this.rows - bottom) * HEIGHT}px`;
    this.above.hidden = top === 0;
    this.below.hidden = bottom === this.rows;
  }

  failed(error) {
    if (error.name !== "AbortError" && !this.told) this.element.append((this.told = h("p", { class: "note" }, error.message)));
  }

  drawHead(left, right) {
    const axis = this.step.shape.length - 1;
    const labels = [];
    for (let j = left; j < right; j++)
      labels.push(h("th", { scope: "col" }, this.book.label(this.step, axis, j, this.options.head)));
    this.head.dataset.left = left;
    this.head.replaceChildren(h("tr", {}, h("td", { class: "corner" }), labels));
  }

  row(i, left, right) {
    const cells = [];
    for (let j = left; j < right; j++) cells.push(this.cell(i, j));
    const axis = this.step.shape.length - 2;
    const name = axis < 0 ? "" : this.book.label(this.step, axis, i, this.options.head);
    const positions = axis >= 0 && this.step.axes[axis] === "position";
    const label = positions ? [h("small", { class: "at" }, String(i)), " ", name] : name;
    const partial = cells.some((cell) => cell.firstChild.classList.contains("absent"));
    return h(
      "tr",
      { "aria-rowindex": this.windowed ? i + 2 : undefined, "data-left": left, class: partial ? "partial" : undefined },
      h("th", { scope: "row" }, label),
      cells,
    );
  }

  cell(i, j) {
    const index = this.index(i, j);
    const value = this.book.at(this.step.name, index);
    if (value === undefined || value === null)
      return h("td", { class: "cell" }, h("span", { class: "n absent" }, value === null ? "" : "…"));
    const { main, more } = shown(value);
    const cell = h(
      "td",
      { class: "cell" },
      h(
        "button",
        { type: "button", class: `n ${kind(value)}`, tabindex: -1, "data-at": `${i} ${j}`, "aria-label": spoken(value) },
        h("span", { class: "main" }, main),
        more ? h("small", {}, more) : null,
      ),
    );
    if (this.options.heat) {
      const weight = nearly(value);
      if (weight !== null) cell.style.setProperty("--weight", Math.max(0, Math.min(1, weight)).toFixed(3));
    }
    return cell;
  }

  /** Mark what is lit, what is open and what has changed, without drawing anew. */
  light(options = {}, within = this.body) {
    Object.assign(this.options, options);
    const { lit, changed, selected, row } = this.options;
    for (const button of within.querySelectorAll("button.n")) {
      const [i, j] = button.dataset.at.split(" ").map(Number);
      const index = this.index(i, j);
      const cell = button.parentElement;
      cell.classList.toggle("lit", Boolean(lit?.(index)));
      cell.classList.toggle("changed", Boolean(changed?.(index)));
      cell.classList.toggle("of-row", row === i && this.step.axes.at(-2) === "position");
      const open = Boolean(selected && String(selected) === String(index));
      cell.classList.toggle("open", open);
      button.setAttribute("aria-pressed", String(open));
      button.tabIndex = i === this.focus[0] && j === this.focus[1] ? 0 : -1;
    }
  }

  clicked(event) {
    const button = event.target.closest("button.n");
    if (!button) return;
    this.focus = button.dataset.at.split(" ").map(Number);
    this.options.open(this.index(...this.focus));
  }

  /** The arrow keys walk from cell to cell. */
  moved(event) {
    const [di, dj] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (di === undefined || !event.target.closest("button.n")) return;
    event.preventDefault();
    event.stopPropagation();
    const [i, j] = [this.focus[0] + di, this.focus[1] + dj];
    if (i < 0 || j < this.left || i >= this.rows || j >= Math.min(this.left + DRAWN, this.columns)) return;
    this.focus = [i, j];
    if (this.windowed && !this.body.querySelector(`[data-at="${i} ${j}"]`)) {
      this.scroller.scrollTop = i * HEIGHT;
      this.draw();
    }
    this.light();
    this.body.querySelector(`[data-at="${i} ${j}"]`)?.focus();
  }

  pager() {
    const told = h("span", {}, "");
    const turn = (by) => {
      this.left = Math.max(0, Math.min(this.left + by, this.columns - 1));
      this.focus = [this.focus[0], this.left];
      this.draw(true);
      tell();
    };
    const tell = () => {
      told.textContent = `columns ${this.left}–${Math.min(this.left + DRAWN, this.columns) - 1} of ${this.columns}`;
    };
    tell();
    return h(
      "p",
      { class: "pager" },
      h("button", { type: "button", onclick: () => turn(-DRAWN) }, "← columns"),
      told,
      h("button", { type: "button", onclick: () => turn(DRAWN) }, "columns →"),
    );
  }
}

/** Stands for the rows that are not drawn. */
function spacer() {
  return h("tr", { class: "spacer", "aria-hidden": "true", hidden: true }, h("td", {}));
}
