// A matrix as a real table: rows and columns with their labels, drawn as needed where there are many.

import { button, h, scrolling } from "./dom.js";
import { kind, nearly, shown, spoken } from "./values.js";

const DRAWN = 48; // rows that are drawn without windowing, and columns that are drawn at once
const JUMPS = 8; // rows whose largest entries can be jumped to
const SPARE = 8; // rows drawn above and below what is seen, and at a time
const STAYING = 128; // rows of a table that stay once they are drawn: what is there already scrolls most smoothly
const PAUSE = 150; // milliseconds before the next rows of such a table are drawn ahead
const COMPACT = 5; // columns beyond which a table has smaller letters
const NARROW = 8; // columns beyond which a table shows but few digits of each number
const SMALLEST = 0.72; // to which letters shrink, so that a table fits
const FADE = 48; // pixels at the right that fade where a table goes on
const HEIGHT = 37; // pixels of a row and the gap below it, where rows are drawn as needed

/** options: { head, caption, note, role, heat, only, transposed, picked: [row of each position], open(index), lit(index), changed(index), selected } */
export class Matrix {
  constructor(book, step, options) {
    Object.assign(this, { book, step, options });
    const shape = step.shape.length === 1 ? [1, step.shape[0]] : step.shape.slice(-2);
    [this.rows, this.columns] = options.transposed ? shape.reverse() : shape;
    const last = step.shape.length - 1;
    [this.down, this.across] = options.transposed ? [last, last - 1] : [last - 1, last]; // axes of the step
    this.narrow = this.columns > NARROW && this.columns <= DRAWN;
    this.winners = this.columns > DRAWN ? book.winners(step) : [];
    this.left = this.leftOf(this.winners[options.row ?? this.rows - 1] ?? 0);
    this.alone = options.only ?? null; // the one row that is shown, where not all are
    this.windowed = this.rows > DRAWN && this.alone === null;
    [this.above, this.below] = [spacer(), spacer()];
    this.body = h("tbody", {}, this.above, this.below);
    this.head = h("thead");
    this.table = h(
      "table",
      {
        class: `matrix ${options.role}${options.heat ? " heat" : ""}${this.columns > 3 ? " dense" : ""}${this.columns > COMPACT ? " compact" : ""}${this.narrow ? " narrow" : ""}`,
        "aria-rowcount": this.windowed ? this.rows + 1 : undefined,
      },
      h("caption", {}, h("div", {}, options.caption)),
      this.head,
      this.body,
    );
    this.scroller = scrolling(h("div", { class: `scroll${this.windowed ? " windowed" : ""}` }, this.table), options.label);
    this.element = h("div", { class: "matrix-box" }, this.scroller, this.columns > DRAWN ? this.pager() : null);
    this.table.addEventListener("click", (event) => this.clicked(event));
    this.table.addEventListener("keydown", (event) => this.moved(event));
    if (this.windowed)
      this.scroller.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()), { passive: true });
    this.focus = [this.alone ?? 0, this.left];
    this.lines = new Map();
    this.draw(true);
    if (this.columns > COMPACT && !this.windowed) this.fitted();
  }

  /** A table that is but a little too wide for its place gets smaller letters, now and whenever the place changes. */
  fitted() {
    let width = 0;
    const fit = () => {
      const room = this.element.parentElement?.clientWidth;
      if (!room || room === width || matchMedia("(max-width: 760px)").matches) return;
      width = room;
      this.table.style.setProperty("--shrink", 1);
      const share = this.scroller.clientWidth / this.scroller.scrollWidth;
      if (share < 1 && share * 0.985 >= SMALLEST) this.table.style.setProperty("--shrink", (share * 0.985).toFixed(3));
    };
    new ResizeObserver(() => requestAnimationFrame(fit)).observe(this.element);
  }

  index(i, j) {
    const rank = this.step.shape.length;
    const at = this.options.transposed ? [j, i] : [i, j];
    return rank === 1 ? [j] : rank === 2 ? at : [this.options.head, ...at];
  }

  /** The rows in sight, and some more. */
  get seen() {
    if (this.alone !== null) return [this.alone, this.alone + 1];
    if (!this.windowed) return [0, this.rows];
    const first = Math.floor(this.scroller.scrollTop / HEIGHT / SPARE) * SPARE;
    const count = Math.ceil((this.scroller.clientHeight || 500) / HEIGHT);
    return [Math.max(0, first - SPARE), Math.min(this.rows, first + count + 2 * SPARE)];
  }

  /** Draw more rows ahead, a few at a time, while nothing else is to do; their numbers are fetched when they are in sight. */
  grow() {
    clearTimeout(this.growing);
    if (!this.windowed || this.rows > STAYING || this.span[1] - this.span[0] === this.rows) return;
    this.growing = setTimeout(() => {
      if (!this.element.isConnected) return;
      const [top, bottom] = this.span;
      this.span = [Math.max(0, bottom < this.rows ? top : top - SPARE), Math.min(this.rows, bottom + SPARE)];
      this.draw();
    }, PAUSE);
  }

  /** Draw what is seen; what is not here yet is fetched, and drawn when it comes. */
  draw(force = false) {
    const seen = this.seen;
    const stays = this.rows <= STAYING && this.span;
    const [top, bottom] = stays ? [Math.min(seen[0], this.span[0]), Math.max(seen[1], this.span[1])] : seen;
    const [left, right] = [this.left, Math.min(this.left + DRAWN, this.columns)];
    const drawn = `${seen} ${top} ${bottom} ${left}`;
    if (!force && this.drawn === drawn) return;
    this.drawn = drawn;
    this.span = [top, bottom];
    if (force || this.head.dataset.left !== String(left)) this.drawHead(left, right);
    this.drawRows(top, bottom, left, right, seen);
    let absent = false;
    for (let i = seen[0]; i < seen[1]; i++) absent ||= this.lines.get(i).classList.contains("partial");
    if (!absent) this.grow();
    else if (!this.fetching) this.fetch(seen, [left, right]);
  }

  /** Fetch what is seen, drawing it as it comes; then look whether something else is seen by now. */
  async fetch(rows, columns) {
    const arrived = () => this.element.isConnected && this.draw(true);
    const asked = this.drawn;
    this.fetching = true;
    try {
      const [top, left] = this.options.transposed ? [columns, rows] : [rows, columns];
      await this.book.needBlocks(this.step.name, top, left, arrived);
    } catch (error) {
      this.failed(error);
      return;
    } finally {
      this.fetching = false;
    }
    if (this.drawn !== asked) arrived();
  }

  /** Rows that are drawn already stay as they are, but for numbers in sight that were missing. */
  drawRows(top, bottom, left, right, seen) {
    for (const [i, line] of this.lines) {
      if (i < top || i >= bottom || line.dataset.left !== String(left)) {
        this.lines.delete(i);
        line.remove();
      } else if (i >= seen[0] && i < seen[1] && line.classList.contains("partial")) this.fill(line, i, left);
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
    this.above.hidden = top === 0 || !this.windowed;
    this.below.hidden = bottom === this.rows || !this.windowed;
  }

  /** Put the numbers that have come since into a row. */
  fill(line, i, left) {
    for (const place of line.querySelectorAll(".absent")) {
      const old = place.parentElement;
      const cell = this.cell(i, left + old.cellIndex - 1);
      if (!cell.firstChild.classList.contains("absent")) old.replaceWith(cell);
    }
    line.classList.toggle("partial", line.querySelector(".absent") !== null);
    this.light({}, line);
  }

  failed(error) {
    if (error.name !== "AbortError" && !this.trouble) this.element.append((this.trouble = h("p", { class: "note" }, error.message)));
  }

  drawHead(left, right) {
    const labels = [];
    for (let j = left; j < right; j++) {
      const name = this.book.label(this.step, this.across, j, this.options.head);
      labels.push(name === "" ? h("td") : h("th", { scope: "col" }, h("span", {}, name)));
    }
    this.head.dataset.left = left;
    this.head.replaceChildren(h("tr", {}, h("td", { class: "corner" }), labels));
  }

  row(i, left, right) {
    const cells = [];
    for (let j = left; j < right; j++) cells.push(this.cell(i, j));
    const axis = this.down;
    const name = axis < 0 ? "" : this.book.label(this.step, axis, i, this.options.head);
    const positions = axis >= 0 && this.step.axes[axis] === "position";
    const picked = this.options.picked?.flatMap((row, position) => (row === i ? [position] : [])) ?? [];
    const label = positions
      ? [h("small", { class: "at" }, String(i)), " ", name]
      : [name, picked.length ? h("small", { class: "at" }, ` → ${picked.slice(0, 4).join(", ")}${picked.length > 4 ? " …" : ""}`) : null];
    const partial = cells.some((cell) => cell.firstChild.classList.contains("absent"));
    return h(
      "tr",
      {
        "aria-rowindex": this.windowed ? i + 2 : undefined,
        "data-left": left,
        class: [partial ? "partial" : "", picked.length ? "picked" : ""].join(" ").trim() || undefined,
      },
      name === "" && !positions ? h("td") : h("th", { scope: "row" }, label), // a vector has no name at its side
      cells,
    );
  }

  cell(i, j) {
    const index = this.index(i, j);
    const value = this.book.at(this.step.name, index);
    if (value === undefined || value === null)
      return h("td", { class: "cell" }, h("span", { class: "n absent" }, value === null ? "" : "…"));
    const { main, more } = shown(value, this.narrow);
    const cell = h(
      "td",
      { class: this.winners[i] === j ? "cell winner" : "cell" },
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
      const position = this.options.transposed ? j : i;
      cell.classList.toggle("of-row", row === position && this.step.axes.at(-2) === "position");
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
    if (i < 0 || i !== (this.alone ?? i) || j < this.left || i >= this.rows || j >= Math.min(this.left + DRAWN, this.columns)) return;
    this.focus = [i, j];
    if (this.windowed && !this.body.querySelector(`[data-at="${i} ${j}"]`)) {
      this.scroller.scrollTop = i * HEIGHT;
      this.draw();
    }
    this.light();
    this.body.querySelector(`[data-at="${i} ${j}"]`)?.focus();
  }

  /** Bring an entry, or a row or column of which an index is null, into the part that is drawn and seen. */
  reveal(index) {
    const [row, column] = [index[this.down] ?? null, index[this.across] ?? null];
    if (column !== null && (column < this.left || column >= this.left + DRAWN)) this.showColumns(this.leftOf(column), row ?? this.focus[0], column);
    if (row !== null && this.windowed && (row * HEIGHT < this.scroller.scrollTop || (row + 2) * HEIGHT > this.scroller.scrollTop + this.scroller.clientHeight)) {
      this.scroller.scrollTop = Math.max(0, row * HEIGHT - this.scroller.clientHeight / 2);
      this.draw();
    }
    const cell = this.body.querySelector(`[data-at="${row ?? 0} ${column ?? this.left}"]`)?.parentElement;
    if (!cell || column === null) return;
    const [left, right] = [cell.offsetLeft - (cell.parentElement.firstChild.offsetWidth ?? 0), cell.offsetLeft + cell.offsetWidth];
    if (left < this.scroller.scrollLeft) this.scroller.scrollLeft = left;
    else if (right + FADE > this.scroller.scrollLeft + this.scroller.clientWidth) this.scroller.scrollLeft = right + FADE - this.scroller.clientWidth;
  }

  showColumns(left, row, column = null) {
    this.left = Math.max(0, Math.min(left, this.columns - 1));
    this.focus = [row, column ?? this.left];
    this.draw(true);
    this.tell?.();
  }

  /** Where to begin, so that a column is seen. */
  leftOf(column) {
    return Math.max(0, Math.min(column - 1, this.columns - DRAWN));
  }

  pager() {
    const range = h("span", {}, "");
    const show = (left, row, column) => this.showColumns(left, row, column);
    this.tell = () => {
      const [first, last, all] = [this.left, Math.min(this.left + DRAWN, this.columns) - 1, this.columns].map(grouped);
      range.textContent = `columns ${first}–${last} of ${all}`;
    };
    this.tell();
    return h(
      "div",
      { class: "pager" },
      button("← columns", () => show(this.left - DRAWN, this.focus[0])),
      range,
      button("columns →", () => show(this.left + DRAWN, this.focus[0])),
      this.jumps(show),
    );
  }

  /** To the largest entry of each of the last rows. */
  jumps(show) {
    const rows = [...this.winners.keys()].filter((i) => this.winners[i] !== null).slice(-JUMPS);
    if (!rows.length) return null;
    const jump = async (i) => {
      const column = this.winners[i];
      show(this.leftOf(column), i, column);
      if (this.windowed) this.scroller.scrollTop = i * HEIGHT;
      await this.fetch([i, i + 1], [this.left, this.left + DRAWN]);
      this.light();
      this.body.querySelector(`[data-at="${i} ${column}"]`)?.focus();
    };
    return h(
      "span",
      { class: "jumps", role: "group", "aria-label": "Go to the largest" },
      h("span", {}, "largest"),
      rows.map((i) => button([h("small", { class: "at" }, String(i)), " ", this.book.output[i].token], () => jump(i))),
    );
  }
}

function grouped(n) {
  return n.toLocaleString("en");
}

/** Stands for the rows that are not drawn. */
function spacer() {
  return h("tr", { class: "spacer", "aria-hidden": "true", hidden: true }, h("td", {}));
}
