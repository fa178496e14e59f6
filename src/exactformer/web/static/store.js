// Where passes come from: the server; files beside the page, where it is a site; or the page itself, where it is a single file.
// A store is `live` where it can compute what nobody asked for before; it has `pages` where there is more than one pass.

const TIMEOUT = 90000;
export const ROWS = 16; // of a block of a large table
export const COLUMNS = 32;

export class ServerError extends Error {}

class Server {
  constructor() {
    this.live = this.pages = true;
    this.pending = new Map();
  }

  offers(view, book) {
    if (view === "explain") return book.forward.some(({ name }) => name === "logits");
    return !["circuits", "theorem"].includes(view) || Boolean(book.model.vocabulary);
  }

  async get(path) {
    return answer(await fetch(`api/${path}`, { signal: AbortSignal.timeout(TIMEOUT) }));
  }

  /** Ask for something; with a `topic`, what was asked about it before and has not come yet is called off. */
  async ask(task, body, topic = null) {
    const controller = new AbortController();
    if (topic) {
      this.pending.get(topic)?.abort();
      this.pending.set(topic, controller);
    }
    const headers = { "content-type": "application/json" };
    try {
      return await answer(
        await fetch(`api/${task}`, { method: "POST", headers, body: JSON.stringify(body), signal: controller.signal }),
      );
    } finally {
      if (topic && this.pending.get(topic) === controller) this.pending.delete(topic);
    }
  }

  cancel(topic) {
    this.pending.get(topic)?.abort();
  }
}

async function answer(response) {
  const text = await response.text();
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new ServerError(`the server answered ${response.status}`);
  }
  if (!response.ok) throw new ServerError(found.error ?? `the server answered ${response.status}`);
  return found;
}

export const NEEDS_SERVER = "changing it, and all that was not computed beforehand, needs the program: exactformer serve";

/** What a file holds of one pass: its numbers, some of them opened, and answers to what is asked of it. */
class Kept {
  constructor(held) {
    this.live = this.pages = false;
    this.held = held;
    this.tables = { ...held.pass.values, ...held.gradient?.values };
  }

  offers() {
    return false;
  }

  async get(path) {
    if (path.startsWith("glossary")) return this.held.glossary;
    throw new ServerError(NEEDS_SERVER);
  }

  async ask(task, body) {
    const answer = ["number", "values", "theorem", "answer"].includes(task) ? await this[task](body) : this.held[task];
    if (!answer) throw new ServerError(NEEDS_SERVER);
    return answer;
  }

  number({ step, index }) {
    const place = this.held.numbers[`${step}[${index.join(",")}]`];
    if (place !== undefined) return this.held.opened[place];
    const value = index.reduce((part, n) => part?.[n], this.tables[step]) ?? this.inBlock(step, index);
    return value && plainly(value);
  }

  values({ steps, start, left }) {
    if (steps.every((name) => this.tables[name]))
      return { values: Object.fromEntries(steps.map((name) => [name, this.tables[name]])) };
    const block = start === undefined ? null : this.block(steps[0], start, left);
    return block && { values: { [steps[0]]: block }, words: this.held.words };
  }

  /** What is said of an answer, where the exercise is in the file; of a fraction, also where it is not. */
  async answer({ cell, answer, hints }) {
    const [, step, index] = /^([\w.]+)\[([\d, ]*)\]$/.exec(cell) ?? [];
    const value = step && this.number({ step, index: index.split(",").map(Number) })?.value;
    const kept = this.held.exercises?.[cell] ?? (value?.status === "exact" && fraction(cell, value.text));
    return kept && (await import("./exactly.js")).asker(kept)({ answer, hints });
  }

  theorem({ length, claim, omitted }) {
    return claim || omitted ? undefined : this.held.theorem?.[length];
  }

  /** Of a large table, some parts are held: whole blocks, and some columns from top to bottom. */
  block(name, row, column) {
    const [r, c] = [Math.floor(row / ROWS), Math.floor(column / COLUMNS)];
    return this.held.blocks[`${name} ${r} ${c}`] ?? this.columns(name, r * ROWS, c * COLUMNS);
  }

  columns(name, top, left) {
    const held = this.held.cells?.[name];
    if (!held) return undefined;
    const column = (n) => held[left + n] ?? [];
    return Array.from({ length: ROWS }, (_, i) => Array.from({ length: COLUMNS }, (_, n) => column(n)[top + i]));
  }

  inBlock(step, [row, column]) {
    return this.block(step, row, column)?.[row % ROWS]?.[column % COLUMNS];
  }

  cancel() {}
}

/** Files beside the page, each a script that hands its data over: so they open from disk, where nothing can be fetched. */
class Site {
  constructor() {
    this.live = false;
    this.pages = true;
    this.files = new Map();
    this.arriving = new Map();
    globalThis.exactformer = { hold: (name, data) => this.arriving.get(name)?.(data), later: (name) => this.later(name) };
  }

  file(name) {
    if (!this.files.has(name)) this.files.set(name, this.read(name));
    return this.files.get(name);
  }

  /** A module that is not there from the beginning. */
  async later(name) {
    const found = (await this.file("modules"))[name];
    if (!found) throw new ServerError(NEEDS_SERVER);
    return found;
  }

  read(name) {
    return new Promise((resolve, reject) => {
      this.arriving.set(name, resolve);
      const script = document.createElement("script");
      script.src = `data/${encodeURIComponent(name)}.js`;
      script.onerror = () => {
        this.files.delete(name);
        reject(new ServerError(`data/${name}.js cannot be read`));
      };
      document.head.append(script);
    });
  }

  async get(path) {
    if (path === "about") return { model: null, arithmetics: ["exact"] };
    return this.file(path === "examples" ? "index" : path.replaceAll(/\W+/g, "-"));
  }

  offers(view, book) {
    return book.views.includes(view);
  }

  async ask(task, body) {
    const { passes } = await this.file("index");
    const { example, worksheet, edits = [], breaks = [], arithmetic = "exact", target = "" } = body.source ?? {};
    const name = passes[JSON.stringify([example || worksheet, target, ...edits, "|", ...breaks])];
    if (!name || arithmetic !== "exact") throw new ServerError(NEEDS_SERVER);
    return new Kept(await this.file(name)).ask(task, body);
  }

  cancel() {}
}

/** An exercise that asks for a fraction. */
function fraction(cell, exact) {
  return { question: `${cell} = ?`, plain: { exact, decimals: 3, hints: [], derivation: [] } };
}

/** An exact number says all of itself; of others, what the table says. */
function plainly(value) {
  return {
    value,
    simplified: value.text ?? "none",
    written: value.written ?? "",
    where: [],
    digits: value.low ?? "",
    low: value.low,
    high: value.high,
  };
}

export function openStore() {
  const held = document.getElementById("held");
  if (held) return new Kept(JSON.parse(held.textContent));
  return "site" in document.documentElement.dataset ? new Site() : new Server();
}
