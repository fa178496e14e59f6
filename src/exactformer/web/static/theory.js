// Circuits of heads as exact matrices, and theorems over all inputs: what a circuit says, and where a head looks.

import { button, h, problem, scrolling } from "./dom.js";
import { Book } from "./book.js";
import { tokensLine } from "./change.js";
import { written } from "./distribution.js";
import { LeftOut, choice } from "./leftout.js";
import { address, go } from "./route.js";
import { Matrix } from "./table.js";
import { kind, spoken } from "./values.js";

export async function circuits(book) {
  const { heads } = await book.store.ask("circuits", { source: book.source }, "circuits");
  return h(
    "div",
    { class: "theory" },
    heads.map(({ block, head, sentence, tables }) =>
      h(
        "section",
        {},
        h("h2", {}, `Block ${block}, head ${head}`),
        sentence ? h("p", { class: "sentence" }, `It ${sentence}.`) : null,
        h(
          "div",
          { class: "equation" },
          tables.map((table, n) => circuitTable(table, `${block}.${head}.${n}`)),
        ),
      ),
    ),
  );
}

/** A table of its own, drawn as a step of a pass is. */
function circuitTable(table, name) {
  const step = {
    name,
    shape: [table.rows.length, table.columns.length],
    axes: ["", ""],
    labels: [],
    links: [],
    op: "weight",
    kinds: [],
  };
  const book = new Book(null, null, { steps: [], weights: [step], values: { [name]: table.values }, tokens: [], model: {} });
  book.label = (_, axis, n) => (axis ? table.columns[n] : table.rows[n]);
  const what = table.title.split(": ").at(-1);
  const matrix = new Matrix(book, step, {
    role: "reads",
    head: 0,
    label: `${table.title}, ${table.meaning}`,
    open() {},
    caption: [h("span", { class: "caption-name" }, what), " ", h("span", { class: "caption-role" }, table.meaning)],
  });
  return h("div", { class: "circuit" }, matrix.element, table.sizes ? sizesOf(table) : null);
}

/** The largest and the smallest entries of a circuit, and its norms. */
function sizesOf({ title, sizes }) {
  const entries = (name) =>
    sizes[name].map(({ row, column, value }, n) =>
      h("tr", { class: n ? undefined : "first" }, n ? null : h("th", { scope: "rowgroup", rowspan: sizes[name].length }, name), h("td", {}, row), h("td", {}, column), h("td", {}, number(value))),
    );
  const norm = ([name, value], n) => h("tr", { class: n ? undefined : "first" }, h("th", { scope: "row", colspan: 3 }, name), h("td", {}, number(value)));
  return h(
    "details",
    { class: "sizes" },
    h("summary", {}, "Largest entries and norms, proved"),
    scrolling(
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "figures" },
          h("caption", { class: "visually-hidden" }, `${title}: largest and smallest entries, and norms`),
          h("thead", {}, h("tr", {}, h("td"), ["row", "column", "value"].map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, entries("largest"), entries("smallest"), sizes.norms.map(norm)),
        ),
      ),
      `${title}: sizes`,
    ),
  );
}

function number(value) {
  return h("span", { class: `n ${kind(value)}`, "aria-label": spoken(value) }, ...written(value));
}

const SIDES = [
  [">=", "at least"],
  ["<=", "at most"],
];
const CLAIM = /^\s*(\S+)\s+(previous|itself|first|\d+ back)\s*(>=|<=)\s*(.*?)\s*$/;
const USUAL = { length: 5, upto: 4 }; // tokens
const FARTHEST = 8; // tokens back that are offered

/** Theorems over all inputs, of the model as it is or without parts. What is asked stands in the address. */
export class Theorems {
  constructor(book) {
    this.book = book;
    this.live = book.store.live;
    this.asked = {};
    this.runs = {};
    this.left = new LeftOut(book.model.parts ?? []);
    this.element = h(
      "div",
      { class: "theory theorems" },
      this.live
        ? h(
            "section",
            { class: "leaving", "aria-label": "The model" },
            h("p", { class: "note" }, "Theorems are about the model as it is, or without parts of it."),
            this.left.list,
            h("div", { class: "buttons" }, this.left.adder),
          )
        : null,
      book.circuit ? this.ruling() : null,
      this.live ? this.looking() : null,
    );
  }

  /** Show what an address asks. */
  async show(route) {
    this.route = route;
    const { without: omitted, pattern, claim } = route;
    if (JSON.stringify(this.left.value) !== JSON.stringify(omitted)) this.left.fill(omitted);
    const less = omitted.length ? { omitted } : {};
    if (this.book.circuit) {
      this.length.value = route.length ?? this.usual("length");
      if (claim) this.claim.value = claim;
      else if (this.live) this.claim.value = "everywhere";
      this.ask("theorem", { length: Number(this.length.value), ...(claim && { claim }), ...less }, this.ruled, ruled);
    }
    if (!this.live) return;
    this.upto.value = route.upto ?? this.usual("upto");
    const [, head, place, side, bound] = CLAIM.exec(pattern ?? "0.0 previous >= 0.99") ?? [];
    if (head && [...this.head.options].some(({ value }) => value === head)) this.head.value = head;
    if (place) this.place.value = place;
    if (side) [this.side.value, this.bound.value] = [side, bound];
    if (pattern) this.ask("pattern", { claim: pattern, length: Number(this.upto.value), ...less }, this.looked, looked);
  }

  usual(name) {
    return String(Math.min(USUAL[name], this.book.model.length ?? USUAL[name]));
  }

  ruling() {
    const claims = Object.entries(this.book.claims ?? {});
    this.claim = choice("claim", claims.length ? claims : ["everywhere"], "everywhere");
    this.length = count(8);
    this.ruled = new Result(() => this.book.store.cancel("theorem"));
    return h(
      "section",
      { class: "ruling", "aria-labelledby": "ruling" },
      h("h2", { id: "ruling" }, "What the circuit says"),
      this.form(
        [
          this.live ? h("label", { class: "field" }, h("span", {}, "claim"), this.claim) : null,
          h("label", { class: "field" }, h("span", {}, "up to how many tokens"), this.length),
        ],
        this.ruled,
        () => ({
          length: this.length.value === this.usual("length") ? undefined : this.length.value,
          claim: this.claim.value === "everywhere" ? undefined : this.claim.value,
        }),
      ),
      this.ruled.element,
    );
  }

  looking() {
    const { blocks, heads, length } = this.book.model;
    const names = Array.from({ length: blocks }, (_, n) => Array.from({ length: heads }, (_, m) => `${n}.${m}`)).flat();
    const back = Array.from({ length: Math.max(0, Math.min(FARTHEST, (length ?? FARTHEST) - 1) - 1) }, (_, n) => `${n + 2} back`);
    const places = [["previous", "the token before"], ["itself", "its own token"], ["first", "the first token"], ...back.map((text) => [text, `the token ${text}`])];
    this.head = choice("head", names, "0.0");
    this.place = choice("on", places, "previous");
    this.side = choice("puts", SIDES, ">=");
    this.bound = h("input", { type: "text", size: 8, maxlength: 60, autocomplete: "off", spellcheck: "false" });
    this.upto = count(64);
    this.looked = new Result(() => this.book.store.cancel("pattern"));
    return h(
      "section",
      { class: "looking-at", "aria-labelledby": "looking" },
      h("h2", { id: "looking" }, "Where a head looks"),
      h("p", { class: "note" }, "In every sequence, wherever there is such a token."),
      this.form(
        [
          h("label", { class: "field" }, h("span", {}, "head"), this.head),
          h("label", { class: "field" }, h("span", {}, "puts"), this.side),
          h("label", { class: "field" }, h("span", {}, "weight"), this.bound),
          h("label", { class: "field" }, h("span", {}, "on"), this.place),
          h("label", { class: "field" }, h("span", {}, "up to how many tokens"), this.upto),
        ],
        this.looked,
        () => ({
          pattern: `${this.head.value} ${this.place.value} ${this.side.value} ${this.bound.value.trim()}`,
          upto: this.upto.value,
        }),
      ),
      this.looked.element,
    );
  }

  /** A form whose fields go to the address, by which the proof begins; or begins again, where the address says so already. */
  form(fields, result, said) {
    const submitted = (event) => {
      event.preventDefault();
      const before = location.hash;
      go({ ...this.route, without: this.left.value, ...said() });
      if (location.hash !== before) return;
      this.asked = {};
      this.show(this.route);
    };
    const start = h("button", { type: "submit", class: "primary" }, "Prove");
    return h("form", { class: "prove", novalidate: true, onsubmit: submitted }, fields, start, result.cancel);
  }

  async ask(task, question, result, report) {
    const key = JSON.stringify(question);
    if (this.asked[task] === key) return;
    this.asked[task] = key;
    const run = (this.runs[task] = {});
    result.working(true);
    this.complain(task, "");
    try {
      const found = await this.book.store.ask(task, { source: this.book.source, ...question }, task);
      if (this.runs[task] === run) result.show(report(found, question.omitted ?? [], this));
    } catch (error) {
      if (this.runs[task] !== run) return;
      result.show(error.name === "AbortError" ? h("p", {}, "Cancelled.") : problem(error.message));
      if (error.name !== "AbortError") this.complain(task, error.message);
    } finally {
      if (this.runs[task] === run) result.working(false);
    }
  }

  /** Mark the field that a refusal names. */
  complain(task, line) {
    const [length, claim] = task === "pattern" ? [this.upto, this.bound] : [this.length, this.claim];
    length.setAttribute("aria-invalid", String(line.startsWith("length")));
    claim.setAttribute("aria-invalid", String(line.startsWith("claim")));
    this.left.blame(line);
  }
}

/** Where the result of a proof stands, and the button that ends it. */
class Result {
  constructor(cancel) {
    this.element = h("div", { class: "result", "aria-live": "polite" });
    this.cancel = button("Cancel", cancel, { hidden: true });
  }

  working(is) {
    this.cancel.hidden = !is;
    if (is) this.show(h("p", { class: "working" }, "Proving: every sequence is computed without rounding …"));
  }

  show(what) {
    this.element.replaceChildren(what);
  }
}

function count(max) {
  return h("input", { type: "number", min: 1, max });
}

function stamp(verdict) {
  const marks = { proved: "✓ proved", refuted: "✗ refuted", undecided: "? undecided" };
  return h("p", { class: "verdict-line" }, h("span", { class: "stamp" }, marks[verdict]));
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function many(number) {
  return number.toLocaleString("en");
}

/** Verdicts and how many there are of each: 12 sequences proved, 3 sequences refuted. */
function counted(counts, what) {
  const there = Object.entries(counts).filter(([, number]) => number);
  return `${there.map(([verdict, number]) => `${many(number)} ${number === 1 ? what.one : what.many} ${verdict}`).join(", ")}.`;
}

function of(omitted) {
  return omitted.length ? h("p", {}, "Of the model without ", omitted.map((name, n) => [n ? ", " : "", h("code", {}, name)]), ".") : null;
}

/** A link to the pass over some tokens, of the model without parts; where there can be none, the text alone. */
function passOver({ book, route }, tokens, omitted, place, text = h("code", {}, tokens.join(" "))) {
  if (!book.store.live || tokens.length > (book.model.length ?? tokens.length)) return text;
  const { source, edit, arithmetic } = route;
  const edits = [...edit.filter((line) => !/^\s*tokens\s*=/.test(line)), ...omitted.map((name) => `${name}=zero`), tokensLine(tokens)];
  return h("a", { href: address({ source, edit: edits, arithmetic, ...place }) }, text);
}

function failed(failures, counts, line) {
  if (!failures.length) return null;
  const all = counts.refuted + counts.undecided;
  const which = counts.undecided ? "Not proved" : "Where it fails";
  return h(
    "section",
    {},
    h("h4", {}, all > failures.length ? `${which}: the first ${failures.length} of ${many(all)}` : which),
    h("ul", {}, failures.map((failure, n) => h("li", {}, line(failure, n)))),
  );
}

/** A theorem about where a head looks. */
function looked(found, omitted, view) {
  const { nearest, step, head, counts } = found;
  const place = { step, head: String(head), as: "numbers" };
  const there = nearest && { ...place, position: String(nearest.position), number: `${step}[${head},${nearest.position},${nearest.read}]` };
  return h(
    "article",
    { class: `report ${found.verdict}` },
    stamp(found.verdict),
    h("h3", {}, "Theorem"),
    h("p", { class: "statement" }, sentence(found.statement)),
    of(omitted),
    h("p", {}, sentence(found.told)),
    found.verdict === "proved" ? null : h("p", {}, counted(counts, { one: "pass", many: "passes" })),
    nearest
      ? h(
          "p",
          { class: "nearest" },
          found.verdict === "refuted" ? "Farthest beyond the bound: " : "Nearest to the bound: ",
          h("span", { class: "n" }, nearest.weight),
          `, at position ${nearest.position} of `,
          passOver(view, nearest.tokens, omitted, there),
          ".",
        )
      : null,
    failed(found.failures, counts, ({ tokens, position }, n) =>
      passOver(view, tokens, omitted, position === undefined ? place : { ...place, position: String(position) }, found.lines[n]),
    ),
  );
}

/** A theorem about what a circuit says: that its rule holds, or fails somewhere, or holds nowhere. */
function ruled(found, omitted, view) {
  const rows = Object.entries(found.kinds).sort();
  const verdict = found.answer ?? found.verdict;
  return h(
    "article",
    { class: `report ${verdict}` },
    stamp(verdict),
    h("h3", {}, "Theorem"),
    found.claim ? h("p", { class: "statement" }, sentence(found.claim)) : null,
    h("p", { class: found.claim ? "rule" : "statement" }, found.claim ? `The rule: ${found.statement}.` : sentence(found.statement)),
    of(omitted),
    h(
      "p",
      {},
      `${many(found.cases)} cases computed, which stand for ${many(found.sequences)} sequences`,
      found.interchangeable.length
        ? ` (interchangeable, proved: ${found.interchangeable.map((group) => group.join(" ")).join("; ")})`
        : "",
      `, in ${found.seconds.toFixed(1)} s.`,
    ),
    found.verdict === "proved" ? null : h("p", {}, counted(found.counts, { one: "sequence", many: "sequences" })),
    scrolling(
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "kinds" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["", "sequences", "least lead, proved", "at"].map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))),
            ),
          ),
          h(
            "tbody",
            {},
            rows.map(([name, kind]) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, name),
                h("td", {}, many(kind.sequences)),
                h("td", {}, kind.least_lead ?? "–"),
                h("td", {}, h("code", {}, kind.at.join(" "))),
              ),
            ),
          ),
        ),
      ),
      "Kinds of sequences",
    ),
    failed(found.failures, found.counts, ({ tokens }, n) => passOver(view, tokens, omitted, { step: "logits" }, found.lines[n])),
  );
}
