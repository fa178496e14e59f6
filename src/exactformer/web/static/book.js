// A pass as the page knows it: steps by name, and the numbers that were fetched so far, whole or by blocks.

import { COLUMNS, ROWS } from "./store.js";

const WHOLE = 2500; // numbers of a step that are fetched at once; else blocks of it
const MOST_FLYING = 2;
const SMALL = 200; // numbers of a pass that are held against those of another, whatever step is shown

export class Book {
  constructor(store, source, outline, base = null) {
    Object.assign(this, { store, source, base, ...outline });
    this.forward = outline.steps;
    this.gradients = [];
    this.kept = new Map(Object.entries(outline.values ?? {}));
    this.blocks = new Map();
    this.words = {}; // tokens by their number, where the vocabulary is large
    this.waiting = new Map();
    this.queue = [];
    this.flying = 0;
    this.index();
  }

  index() {
    this.steps = [...this.forward, ...this.gradients];
    this.byName = new Map([...this.steps, ...this.weights].map((step) => [step.name, step]));
  }

  withGradient(outline) {
    this.gradients = outline.steps;
    this.loss = outline.loss;
    this.targets = outline.targets;
    this.index();
  }

  has(name) {
    return this.byName.has(name);
  }

  step(name) {
    return this.byName.get(name);
  }

  isWhole(name) {
    return this.step(name).shape.reduce((a, b) => a * b, 1) <= WHOLE;
  }

  /** A number that is here already, or undefined. */
  at(name, index) {
    const whole = this.kept.get(name);
    if (whole) return index.reduce((part, n) => part?.[n], whole);
    const [row, column] = index.slice(-2);
    const block = this.blocks.get(`${name} ${Math.floor(row / ROWS)} ${Math.floor(column / COLUMNS)}`);
    return block && [...index.slice(0, -2), row % ROWS, column % COLUMNS].reduce((part, n) => part?.[n], block);
  }

  /** Fetch steps that are small enough to be fetched whole. */
  async need(names) {
    const missing = [...new Set(names)].filter((name) => this.has(name) && this.isWhole(name) && !this.kept.has(name));
    if (missing.length) await this.once(missing.join(" "), () => this.fetchWhole(missing));
  }

  /** The pass that this one is a change of: of small ones, all results are fetched, so that what the change reaches can be marked. */
  async compareWith(base) {
    this.base = base;
    const size = (book) => book.forward.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
    if (base && size(this) <= SMALL && size(base) <= SMALL)
      await Promise.all([this, base].map((book) => book.need(book.forward.map(({ name }) => name))));
  }

  async fetchWhole(names) {
    const { values } = await this.store.ask("values", { source: this.source, steps: names });
    for (const [name, rows] of Object.entries(values)) this.kept.set(name, rows);
  }

  /** Fetch the blocks that cover some rows and columns of a step; `arrived` is called whenever one is there. */
  async needBlocks(name, [top, bottom], [left, right], arrived = () => {}) {
    if (this.isWhole(name)) return this.need([name]).then(arrived);
    const jobs = [];
    for (let r = Math.floor(top / ROWS); r * ROWS < bottom; r++) {
      for (let c = Math.floor(left / COLUMNS); c * COLUMNS < right; c++) {
        const key = `${name} ${r} ${c}`;
        if (this.blocks.has(key)) continue;
        jobs.push(this.once(key, () => this.queued(() => this.fetchBlock(name, key, r, c))).then(arrived));
      }
    }
    return Promise.all(jobs);
  }

  async fetchBlock(name, key, r, c) {
    const window = { start: r * ROWS, end: (r + 1) * ROWS, left: c * COLUMNS, right: (c + 1) * COLUMNS };
    const { values, words } = await this.store.ask("values", { source: this.source, steps: [name], ...window });
    this.blocks.set(key, values[name]);
    Object.assign(this.words, words);
  }

  /** Two blocks are on their way at once; of those that wait, the last that was asked for comes first. */
  queued(job) {
    return new Promise((resolve, reject) => {
      this.queue.push({ job, resolve, reject });
      this.next();
    });
  }

  next() {
    while (this.flying < MOST_FLYING && this.queue.length) {
      const { job, resolve, reject } = this.queue.pop();
      this.flying++;
      job()
        .then(resolve, reject)
        .finally(() => {
          this.flying--;
          this.next();
        });
    }
  }

  once(key, job) {
    if (!this.waiting.has(key))
      this.waiting.set(
        key,
        job().finally(() => this.waiting.delete(key)),
      );
    return this.waiting.get(key);
  }

  /** The columns of the largest entries of a step over the vocabulary, by position; null where a position has none. */
  winners(step) {
    return ["logits", "probs"].includes(step.name) ? this.output.map(({ id }) => id ?? null) : [];
  }

  /** The names of rows or columns along an axis of a step. */
  label(step, axis, n, head = 0) {
    const last = axis === step.shape.length - 1;
    const named = last && (step.labels[head] ?? step.labels[0]);
    if (named?.[n]) return named[n];
    switch (step.axes[axis]) {
      case "position":
        return this.tokens[n] ?? String(n);
      case "token":
        return this.model.vocabulary?.[n] ?? this.words[n] ?? String(n);
      case "output": // of a model that says other tokens than it reads
        return this.model.outputs?.[n] ?? String(n);
      case "":
        return "";
      default:
        return String(n);
    }
  }

  async number(name, index, digits) {
    return this.store.ask("number", { source: this.source, step: name, index, digits }, "number");
  }
}

/** blocks.0.attn.pattern as attn.pattern: what people say. */
export function short(name) {
  const gradient = name.startsWith("grad.");
  const bare = gradient ? name.slice(5) : name;
  const parts = bare.split(".");
  return (gradient ? "∂" : "") + (parts[0] === "blocks" ? parts.slice(2).join(".") : bare);
}
