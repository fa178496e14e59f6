// A step as a picture: a heat map, strips of colour or ribbons, from the JSON of the step and of its numbers. Nothing is fetched here.

import { button, h, scrolling, svg } from "./dom.js";
import { math } from "./math.js";
import { KINDS, digits, kind, known, nearly, shown } from "./values.js";

const LEVELS = 24; // shades on either side of zero; one path draws all cells of a shade, so that large pictures stay quick
const WIDTH = 560; // pixels, until the page says how much room there is
const LARGEST = { square: 46, few: 64, wide: 34, high: 24 }; // pixels of a cell
const NARROW = 290; // pixels of a compact picture
const LETTER = 7.2; // pixels
const THINNEST = 0.35; // pixels of a ribbon that is drawn
const PAUSE = 150; // milliseconds at a cell before its closed form is asked for
const MOST_LIT = 20000; // cells that are asked one by one whether they are lit

let pictures = 0;

/**
 * `step` is as in the JSON of a pass: { name, shape, axes, heat, labels }. Options: `values`, its numbers as nested lists (or
 * `at(index)`, one of them), `tokens` and `vocabulary` or `label(axis, n)`, `head`, `form` ("heat" or "ribbons"),
 * `hidden(index)` (is it hidden by the mask?), `near(index)` (a float by which a number is drawn that is not here itself; null:
 * undefined), `open(index)` (on click and Enter), `look(index)` (a promise of { value, simplified }, of a number that is not here,
 * or is by its digits alone), `changed(index)`, `caption`, `compact` (no legend, no numbers below).
 * The answer is a figure; `figure.picture` has `refresh()`, when more numbers have come, and `light({ row, selected, lit })`.
 */
export function picture(step, options = {}) {
  const drawn = new Picture(step, options);
  drawn.element.picture = drawn;
  return drawn.element;
}

/** Can this step be drawn? Of very wide ones, such as logits over a large vocabulary, nothing would be seen. */
export function drawable({ shape, op }) {
  const [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape.slice(-2);
  return op !== "argmax" && columns > 1 && columns <= 4096 && rows * columns <= 200000;
}

class Picture {
  constructor(step, options) {
    Object.assign(this, { step, options, id: `picture-${++pictures}` });
    [this.rows, this.columns] = step.shape.length === 1 ? [1, step.shape[0]] : step.shape.slice(-2);
    this.square = step.axes?.at(-1) === "position" && step.axes?.at(-2) === "position";
    this.ribboned = this.square && Boolean(step.heat);
    this.form = this.ribboned && options.form === "ribbons" ? "ribbons" : "heat";
    this.focus = null;
    this.marks = {};
    this.width = options.width ?? (options.compact ? NARROW : WIDTH);
    this.board = h("div", { class: "board" });
    this.sight = h("div", {
      class: "sight",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "picture of numbers",
      "aria-label": `${step.name}: ${this.rows} rows, ${this.columns} columns; arrow keys go from number to number`,
    });
    this.sight.append(this.board);
    this.readout = h("div", { class: "readout", "aria-live": "polite" });
    this.key = h("div", { class: "key" });
    this.element = h(
      "figure",
      { class: `picture-of${options.compact ? " compact" : ""}` },
      options.caption || this.ribboned
        ? h("figcaption", {}, h("span", {}, options.caption), this.ribboned && !options.compact ? this.forms() : null)
        : null,
      this.sight,
      this.readout,
      options.compact ? null : this.key,
    );
    this.listen();
    this.refresh();
    this.tell();
  }

  at(i, j) {
    const index = this.index(i, j);
    if (this.options.at) return this.options.at(index);
    return index.reduce((part, n) => part?.[n], this.options.values ?? this.step.values);
  }

  index(i, j) {
    const rank = this.step.shape.length;
    return rank === 1 ? [j] : rank === 2 ? [i, j] : [this.options.head ?? 0, i, j];
  }

  label(axis, n) {
    const { label, tokens, vocabulary } = this.options;
    if (axis < 0) return "";
    if (label) return label(axis, n);
    const word = this.step.axes?.[axis];
    return String((word === "position" ? tokens?.[n] : word === "token" ? vocabulary?.[n] : null) ?? n);
  }

  row(i) {
    return this.label(this.step.shape.length - 2, i);
  }

  column(j) {
    return this.label(this.step.shape.length - 1, j);
  }

  /** Read the numbers again, and draw. */
  refresh() {
    this.near = new Float64Array(this.rows * this.columns);
    this.kinds = new Uint8Array(this.rows * this.columns); // one of KIND
    this.largest = null;
    let most = 0;
    for (let i = 0, n = 0; i < this.rows; i++) {
      for (let j = 0; j < this.columns; j++, n++) {
        const value = this.at(i, j);
        const near = value ? nearly(value) : this.options.near?.(this.index(i, j));
        if (value?.status === "masked" || this.options.hidden?.(this.index(i, j))) this.kinds[n] = KIND.hidden;
        else if (near === undefined) this.kinds[n] = KIND.absent;
        else if (near === null || value?.status === "undefined") this.kinds[n] = KIND.undefined;
        this.near[n] = this.kinds[n] === KIND.number ? near : 0;
        if (Math.abs(this.near[n]) > most) [most, this.largest] = [Math.abs(this.near[n]), value ?? near];
      }
    }
    this.most = most || 1;
    this.signed = !this.step.heat;
    this.draw();
  }

  draw() {
    const drawn = this.form === "ribbons" ? this.ribbons() : this.grid();
    this.over = svg("svg", { class: "over", width: drawn.width, height: drawn.height, "aria-hidden": "true" });
    this.board.replaceChildren(drawn.element, this.over);
    this.board.style.width = `${drawn.width}px`;
    // a compact one asks for the room that it would like to have, and takes what it gets
    if (this.options.compact && this.width === NARROW) {
      this.liked = drawn.width;
      this.element.style.flexBasis = `${Math.ceil(drawn.width)}px`;
    }
    this.key.replaceChildren(...this.legend(drawn.unseen ?? 0));
    this.mark();
  }

  /** Rows and columns of cells: square for what positions are to each other, else a strip of colour for every vector. */
  grid() {
    const names = Array.from({ length: this.rows }, (_, i) => clipped(this.row(i)));
    const left = Math.min(this.width * 0.3, 14 + LETTER * Math.max(0, ...names.map((name) => [...name].length)));
    const heads = Array.from({ length: this.columns }, (_, j) => clipped(this.column(j)));
    const longest = Math.max(0, ...heads.map((name) => [...name].length));
    const room = (this.width - left - 4) / this.columns;
    const turned = longest * LETTER > Math.min(room, this.largestCell) - 4;
    const spare = turned ? Math.min(44, 8 + [...(heads.at(-1) ?? "")].length * LETTER * 0.6) : 4;
    const wide = Math.min((this.width - left - spare) / this.columns, this.largestCell);
    const high = this.square ? wide : Math.max(3, Math.min(LARGEST.high, 480 / this.rows));
    const gap = this.square ? (wide >= 12 ? 1.5 : 0) : high >= 10 ? 4 : high >= 5 ? 1 : 0;
    const top = !longest ? 6 : turned ? Math.min(70, 14 + longest * LETTER * 0.8) : 22;
    const high_ = high + (this.square ? 0 : gap);
    this.place = { left, top, wide, high, pitch: high_, inset: this.square ? gap : wide >= 12 ? 1 : 0, gap: this.square ? gap : 0 };
    const size = [left + wide * this.columns + spare, top + high_ * this.rows + 2];
    const root = svg("svg", { width: size[0], height: size[1], "aria-hidden": "true" });
    root.append(svg("defs", {}, hatch(this.id)), ...this.cells());
    root.append(this.names(names, 0, left, high_), this.names(heads, 1, top, wide, turned));
    if (wide >= 40 && high >= 22) root.append(...this.written());
    return { element: root, width: size[0], height: size[1] };
  }

  get largestCell() {
    if (!this.square) return LARGEST.wide;
    return this.columns <= 6 && !this.options.compact ? LARGEST.few : LARGEST.square;
  }

  box(i, j) {
    const { left, top, wide, pitch, high, inset, gap } = this.place;
    return [left + j * wide, top + i * pitch, wide - inset, high - gap];
  }

  /** One path for each shade. */
  cells() {
    const paths = new Map();
    const { inset } = this.place;
    for (let i = 0; i < this.rows; i++) {
      let run = null;
      for (let j = 0; j < this.columns; j++) {
        const shade = this.shade(i * this.columns + j);
        const [x, y, wide, high] = this.box(i, j);
        if (run && run.shade === shade && !inset) run.wide += wide;
        else {
          if (run) add(paths, run);
          run = { shade, x, y, wide, high };
        }
      }
      if (run) add(paths, run);
    }
    return [...paths].map(([shade, parts]) => this.shaded(shade, svg("path", { d: parts.join("") })));
  }

  shade(n) {
    if (this.kinds[n] !== KIND.number) return NAMES[this.kinds[n]];
    return Math.round((this.near[n] / this.most) * LEVELS);
  }

  shaded(shade, element) {
    if (typeof shade === "number") coloured(element, shade / LEVELS);
    else element.setAttribute("class", shade);
    if (shade === "hidden") element.setAttribute("fill", `url(#${this.id})`);
    return element;
  }

  /** Names along an axis: of those that have no room, every second, third, … */
  names(names, axis, before, size, turned = false) {
    const every = Math.ceil(13 / size);
    const { left, top, high, gap, wide } = this.place;
    const middle = axis ? (wide - this.place.inset) / 2 : (high - gap) / 2;
    return svg(
      "g",
      { class: "names" },
      names.map((name, n) => {
        if (n % every || !name) return null;
        const at = (axis ? left : top) + n * size + middle;
        if (!axis) return svg("text", { x: before - 7, y: at, dy: ".35em", "text-anchor": "end" }, name);
        if (!turned) return svg("text", { x: at, y: before - 7, "text-anchor": "middle" }, name);
        return svg("text", { x: 0, y: 0, transform: `translate(${at + 3} ${before - 5}) rotate(-55)` }, name);
      }),
    );
  }

  /** The numbers themselves, where they fit. */
  written() {
    const texts = [];
    for (let i = 0, n = 0; i < this.rows; i++) {
      for (let j = 0; j < this.columns; j++, n++) {
        if (this.kinds[n] !== KIND.number) continue;
        const [x, y, wide, high] = this.box(i, j);
        const text = shown(this.at(i, j)).main;
        const short = [...text].length * 7 <= wide ? text : digits(this.at(i, j), 2).replace(/\.?…/, "");
        if ([...short].length * 7 > wide) return []; // all of them or none
        const strong = Math.abs(this.near[n]) / this.most > 0.6;
        texts.push(
          svg("text", { class: strong ? "written strong" : "written", x: x + wide / 2, y: y + high / 2, dy: ".35em" }, short),
        );
      }
    }
    return texts;
  }

  /** Who looks at whom: from each token on the left as wide a ribbon to each on the right as it gives weight to it. */
  ribbons() {
    const names = Array.from({ length: this.rows }, (_, i) => clipped(this.row(i)));
    const ends = Array.from({ length: this.columns }, (_, j) => clipped(this.column(j)));
    const longest = Math.max(...names.concat(ends).map((name) => [...name].length));
    const side = Math.min(this.width * 0.25, 16 + LETTER * longest);
    const fitting = (name) => clipped(name, Math.max(2, Math.floor((side - 12) / LETTER)));
    const width = Math.min(this.width, 620);
    const high = Math.max(2.2, Math.min(30, 440 / this.rows));
    const gap = high >= 14 ? 8 : high >= 6 ? 3 : 0.4;
    const [x0, x1, xm] = [side, width - side, width / 2];
    const tops = Array.from({ length: this.rows }, (_, i) => 4 + i * (high + gap));
    const sums = Array.from({ length: this.columns }, (_, j) => {
      let sum = 0;
      for (let i = 0; i < this.rows; i++) sum += Math.max(0, this.near[i * this.columns + j]);
      return sum * high;
    });
    const starts = [];
    sums.reduce((y, sum, j) => ((starts[j] = y), y + sum + gap), 4);
    const height = Math.max(tops.at(-1) + high, starts.at(-1) + sums.at(-1)) + 6;
    const root = svg("svg", { class: "ribbons", width, height, "aria-hidden": "true" });
    this.bands = new Map();
    const filled = [...starts];
    let unseen = 0;
    for (let i = 0; i < this.rows; i++) {
      let y = tops[i];
      for (let j = 0; j < this.columns; j++) {
        const thick = Math.max(0, this.near[i * this.columns + j]) * high;
        if (thick === 0) continue;
        const [to, from] = [filled[j], y];
        filled[j] += thick;
        y += thick;
        if (thick < THINNEST) {
          unseen++;
          continue;
        }
        const d =
          `M${x0} ${r(from)}C${xm} ${r(from)} ${xm} ${r(to)} ${x1} ${r(to)}v${r(thick)}` +
          `C${xm} ${r(to + thick)} ${xm} ${r(from + thick)} ${x0} ${r(from + thick)}z`;
        this.bands.set(`${i} ${j}`, d);
        root.append(svg("path", { class: "ribbon", d, "data-at": `${i} ${j}` }));
      }
    }
    const every = Math.ceil(12 / (high + gap));
    names.forEach((name, i) => {
      root.append(svg("rect", { class: "end", x: x0 - 4, y: tops[i], width: 4, height: high, "data-row": i }));
      if (i % every === 0)
        root.append(svg("text", { x: x0 - 10, y: tops[i] + high / 2, dy: ".35em", "text-anchor": "end", "data-row": i }, fitting(name)));
    });
    let last = -99;
    ends.forEach((name, j) => {
      const middle = starts[j] + sums[j] / 2;
      root.append(svg("rect", { class: "end", x: x1, y: starts[j], width: 4, height: Math.max(sums[j], 0.5), "data-column": j }));
      if (middle - last < 12) return;
      last = middle;
      root.append(svg("text", { x: x1 + 10, y: middle, dy: ".35em", "data-column": j }, fitting(name)));
    });
    return { element: root, width, height, unseen };
  }

  // -- what is looked at

  listen() {
    const { sight } = this;
    sight.addEventListener("pointermove", (event) => this.look(this.under(event)));
    sight.addEventListener("pointerleave", () => document.activeElement !== sight && this.look(null));
    sight.addEventListener("click", (event) => {
      const found = this.under(event);
      if (!found) return;
      this.look(found);
      this.options.open?.(this.index(...found));
    });
    sight.addEventListener("focus", () => this.focus ?? this.look(this.options.row != null ? [this.options.row, 0] : [0, 0]));
    sight.addEventListener("keydown", (event) => this.pressed(event));
    new ResizeObserver(([{ contentRect }]) => {
      const wide = Math.floor(contentRect.width);
      const width = this.options.compact && wide >= this.liked - 2 ? NARROW : wide;
      if (width < 40 || Math.abs(width - this.width) < 6) return;
      this.width = width;
      this.draw();
    }).observe(this.element);
  }

  /** The cell under the pointer. */
  under(event) {
    if (this.form === "ribbons") {
      const { at, row, column } = event.target.dataset ?? {};
      if (at) return at.split(" ").map(Number);
      if (row !== undefined) return [Number(row), this.strongest((n) => this.near[Number(row) * this.columns + n], this.columns)];
      if (column !== undefined) return [this.strongest((n) => this.near[n * this.columns + Number(column)], this.rows), Number(column)];
      return null;
    }
    const { x, y } = this.board.getBoundingClientRect();
    const { left, top, wide, pitch } = this.place;
    const [i, j] = [Math.floor((event.clientY - y - top) / pitch), Math.floor((event.clientX - x - left) / wide)];
    return i >= 0 && j >= 0 && i < this.rows && j < this.columns ? [i, j] : null;
  }

  strongest(weight, count) {
    let best = 0;
    for (let n = 1; n < count; n++) if (weight(n) > weight(best)) best = n;
    return best;
  }

  pressed(event) {
    const [i, j] = this.focus ?? [0, 0];
    const to = {
      ArrowUp: [i - 1, j],
      ArrowDown: [i + 1, j],
      ArrowLeft: [i, j - 1],
      ArrowRight: [i, j + 1],
      Home: [i, 0],
      End: [i, this.columns - 1],
      PageUp: [Math.max(0, i - 10), j],
      PageDown: [Math.min(this.rows - 1, i + 10), j],
    }[event.key];
    if (event.key === "Enter" && this.focus) this.options.open?.(this.index(i, j));
    else if (!to) return;
    else if (to[0] >= 0 && to[1] >= 0 && to[0] < this.rows && to[1] < this.columns) this.look(to);
    event.preventDefault();
    event.stopPropagation();
  }

  look(place) {
    if (String(place) === String(this.focus)) return;
    this.focus = place;
    this.mark();
    this.tell();
    clearTimeout(this.timer);
    if (place && this.options.look) this.timer = setTimeout(() => this.open(place), PAUSE);
  }

  /** Ask for the number that is looked at, where it is not here, or for its closed form. */
  async open([i, j]) {
    const value = this.at(i, j);
    const here = value && (value.status !== "named" || !value.text.startsWith("≈"));
    if (here || this.kinds[i * this.columns + j] === KIND.hidden) return;
    try {
      const found = await this.options.look(this.index(i, j));
      if (String(this.focus) === `${i},${j}`) this.tell(found);
    } catch {
      // its digits stand there
    }
  }

  light(marks = {}) {
    Object.assign(this.marks, marks);
    this.mark();
  }

  /** What lies over the cells: the one that is looked at with its row and column, the open one, those that it reads, those that changed. */
  mark() {
    const parts = [];
    if (this.form === "ribbons") {
      const [fi, fj] = this.focus ?? [];
      for (const [at, d] of this.focus ? this.bands : []) {
        const [i, j] = at.split(" ").map(Number);
        if (i === fi || j === fj) parts.push(svg("path", { class: i === fi && j === fj ? "band now" : "band", d }));
      }
      this.over.replaceChildren(...parts);
      this.board.classList.toggle("looking", Boolean(this.focus));
      return;
    }
    const { left, top, wide, pitch } = this.place;
    const { lit, selected, row } = this.marks;
    const every = this.rows * this.columns <= MOST_LIT;
    for (const [name, asked] of Object.entries({ changed: this.options.changed, lit })) {
      if (!asked || !every) continue;
      let d = "";
      for (let i = 0; i < this.rows; i++)
        for (let j = 0; j < this.columns; j++) if (asked(this.index(i, j))) d += name === "lit" ? rectangle(...this.box(i, j)) : corner(...this.box(i, j));
      if (d) parts.push(svg("path", { class: name, d }));
    }
    if (row !== null && row !== undefined && row < this.rows && this.step.axes?.at(-2) === "position")
      parts.push(svg("rect", { class: "of-row", x: left - 1, y: top + row * pitch - 1, width: wide * this.columns + 1, height: this.place.high + 1, rx: 3 }));
    const chosen = selected && [selected.length > 1 ? selected.at(-2) : 0, selected.at(-1)];
    if (chosen && String(this.index(...chosen)) === String(selected)) parts.push(outlined("open", this.box(...chosen)));
    if (this.focus) {
      const [i, j] = this.focus;
      const [x, y, w, high] = this.box(i, j);
      parts.push(
        svg("rect", { class: "cross", x: left, y, width: wide * this.columns, height: high }),
        svg("rect", { class: "cross", x, y: top, width: w, height: pitch * this.rows }),
        outlined("now", [x, y, w, high]),
      );
    }
    this.over.replaceChildren(...parts);
  }

  /** The number that is looked at, below: where it stands, its closed form, its digits. */
  tell(found = null) {
    if (!this.focus) {
      this.readout.replaceChildren(
        this.options.compact ? "" : h("span", { class: "note" }, "Point at the picture, or go through it with Tab and the arrow keys."),
      );
      return;
    }
    const [i, j] = this.focus;
    const value = found?.value ?? this.at(i, j);
    const form = found?.value?.status === "named" ? found.simplified : null;
    const [row, column] = [this.row(i).trim(), this.column(j).trim()];
    const where = this.square
      ? `“${row}” (${i}) ${this.step.heat ? "looks at" : "and"} “${column}” (${j})`
      : [this.step.shape.length > 1 ? (this.step.axes?.at(-2) === "position" ? `“${row}” (${i})` : row || i) : "", column || j]
          .filter((part) => part !== "")
          .join(", ");
    this.readout.replaceChildren(h("span", { class: "at" }, where), " ", ...this.number(value, form, i, j));
  }

  number(value, form, i, j) {
    const hidden = this.kinds[i * this.columns + j] === KIND.hidden;
    if (!value) return [h("span", { class: "note" }, hidden ? KINDS.masked.meaning : "…")];
    const name = hidden ? "masked" : kind(value);
    const { mark, meaning } = KINDS[name] ?? KINDS.exact;
    const spelled = form || !value.text?.startsWith("≈"); // and not its digits alone
    const given = value.low && value.status !== "exact" && spelled ? known(value, 8) : "";
    const text = form ?? (value.status === "masked" ? "−∞" : (value.text ?? "none").replace(/^≈ /, ""));
    const readable = value.status !== "ball" && text.length <= 60;
    return [
      scrolling(
        h("span", { class: `n ${name} form` }, value.status === "named" && readable && spelled ? math(text) : readable ? text : known(value, 12)),
        "The number",
      ),
      given && readable && given !== text ? h("span", { class: "n digits" }, given.startsWith("≈") ? ` ${given}` : ` = ${given}`) : null,
      h("span", { class: "note" }, ` ${mark && !"−∞⊘".includes(mark) ? `${mark} ` : ""}${meaning}`),
    ].filter(Boolean);
  }

  forms() {
    const pill = (form, label) =>
      button(
        label,
        (event) => {
          this.form = form;
          this.focus = null;
          for (const each of event.target.parentElement.children) each.setAttribute("aria-pressed", String(each === event.target));
          this.draw();
          this.tell();
          this.options.formed?.(form);
        },
        { class: "pill", "aria-pressed": String(this.form === form) },
      );
    return h("span", { class: "forms-of", role: "group", "aria-label": "Form of the picture" }, pill("heat", "Heat map"), pill("ribbons", "Ribbons"));
  }

  /** What the strongest colour stands for: an exact number as it is, others in a few digits. */
  strongestShade() {
    const exact = ["exact", "float"].includes(this.largest.status) && [...this.largest.text].length <= 12;
    return exact ? this.largest.text.replace(/^[-−]/, "") : `about ${Number(this.most.toPrecision(4))}`;
  }

  /** What the colours mean. */
  legend(unseen) {
    if (this.form === "ribbons") {
      const thin = unseen ? ` ${unseen.toLocaleString("en")} thinner than a third of a pixel are not drawn.` : "";
      return [h("span", { class: "note" }, `On the left who looks, on the right what is looked at; a ribbon is as wide as its weight.${thin}`)];
    }
    const from = this.signed ? -LEVELS : 0;
    const most = this.largest === null ? "0" : this.strongestShade();
    const bar = svg("svg", { class: "bar", width: 132, height: 12, "aria-hidden": "true" });
    const count = LEVELS - from + 1;
    for (let shade = from; shade <= LEVELS; shade++)
      bar.append(coloured(svg("rect", { x: ((shade - from) * 132) / count, y: 0, width: 132 / count + 0.5, height: 12 }), shade / LEVELS));
    const parts = [h("span", { class: "scale" }, this.signed ? h("span", { class: "n" }, `−${most}`) : h("span", { class: "n" }, "0"), bar, h("span", { class: "n" }, most))];
    if (this.signed) parts[0].append(h("span", { class: "note" }, "(0 in the middle)"));
    const swatch = (name, words) => {
      const box = svg("svg", { class: "swatch", width: 16, height: 12, "aria-hidden": "true" });
      box.append(this.shaded(name, svg("rect", { x: 0.5, y: 0.5, width: 15, height: 11 })));
      return h("span", {}, box, ` ${words}`);
    };
    if (this.kinds.includes(KIND.hidden)) parts.push(swatch("hidden", "hidden by the mask"));
    if (this.kinds.includes(KIND.undefined)) parts.push(swatch("undefined", "⊘ undefined"));
    return parts;
  }
}

const KIND = { number: 0, absent: 1, hidden: 2, undefined: 3 };
const NAMES = ["", "absent", "hidden", "undefined"];

/** A colour of the scale: `share` from −1 to 1. */
function coloured(element, share) {
  element.setAttribute("class", share < 0 ? "below" : "above");
  element.style.setProperty("--share", Math.abs(share).toFixed(3));
  return element;
}

function add(paths, { shade, x, y, wide, high }) {
  if (!paths.has(shade)) paths.set(shade, []);
  paths.get(shade).push(rectangle(x, y, wide, high));
}

function rectangle(x, y, wide, high) {
  return `M${r(x)} ${r(y)}h${r(wide)}v${r(high)}h${r(-wide)}z`;
}

function corner(x, y, wide, high) {
  const side = Math.min(7, wide, high);
  return `M${r(x)} ${r(y)}h${r(side)}l${r(-side)} ${r(side)}z`;
}

function outlined(name, [x, y, width, height]) {
  return svg("rect", { class: name, x: x - 1, y: y - 1, width: width + 2, height: height + 2, rx: Math.min(3, width / 4) });
}

function hatch(id) {
  return svg(
    "pattern",
    { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { class: "hatch-ground", width: 5, height: 5 }),
    svg("line", { class: "hatch-line", x1: 0, y1: 0, x2: 0, y2: 5 }),
  );
}

function clipped(text, most = 9) {
  const letters = [...String(text).trim()];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}

function r(number) {
  return Math.round(number * 100) / 100;
}
