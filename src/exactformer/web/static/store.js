// Where passes come from: the server, or the page itself where it was written as a single file.

const TIMEOUT = 90000;
export const ROWS = 16; // of a block of a large table
export const COLUMNS = 32;

export class ServerError extends Error {}

class Server {
  constructor() {
    this.live = true;
    this.pending = new Map();
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

/** What the file holds: one pass with its numbers, some of them opened. */
class Kept {
  constructor(held) {
    this.live = false;
    this.held = held;
  }

  async get(path) {
    if (path.startsWith("glossary")) return this.held.glossary;
    throw new ServerError("this needs the server: exactformer serve");
  }

  async ask(task, body) {
    if (task === "pass") return this.held.pass;
    if (task === "number") {
      const place = this.held.numbers[`${body.step}[${body.index.join(",")}]`];
      if (place !== undefined) return this.held.opened[place];
      const value = body.index.reduce((part, n) => part?.[n], this.held.pass.values[body.step]) ?? this.inBlock(body);
      if (value) return plainly(value);
    }
    if (task === "values") {
      const [name] = body.steps;
      const block = this.block(name, body.start, body.left);
      if (block) return { values: { [name]: block }, words: this.held.words };
    }
    throw new ServerError("this needs the server: exactformer serve");
  }

  /** Of a large table, some parts are held. */
  block(name, row, column) {
    return this.held.blocks[`${name} ${Math.floor(row / ROWS)} ${Math.floor(column / COLUMNS)}`];
  }

  inBlock({ step, index: [row, column] }) {
    return this.block(step, row, column)?.[row % ROWS]?.[column % COLUMNS];
  }

  cancel() {}
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
  return held ? new Kept(JSON.parse(held.textContent)) : new Server();
}
