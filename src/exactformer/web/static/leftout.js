// Parts of a model that are left out: which, and what they write instead.

import { button, h } from "./dom.js";

const FROM = "from ";
const HOW = [
  ["zero", "nothing"],
  ["mean", "its mean over prompts"],
  ["from", "what it wrote in another prompt"],
];

/**
 * Rows of fields, one for each part. Options: { ways: may a part write something else than nothing?, least: rows that are always there,
 * changed() }. `value` are lines as on the command line, blocks.0.attn.head.0=zero; without ways, the names of the parts.
 */
export class LeftOut {
  constructor(names, { ways = false, least = 0, changed = () => {} } = {}) {
    Object.assign(this, { names, ways, least, changed });
    this.rows = [];
    this.list = h("div", { class: "parts", role: "group", "aria-label": "Parts that are left out" });
    this.adder = button("", () => {
      this.add();
      this.rows.at(-1).part.focus();
      this.changed();
    });
    this.fill([]);
  }

  get value() {
    return this.rows.map(({ part, how, text }) => {
      if (!this.ways) return part.value;
      return `${part.value}=${how.value === "from" ? FROM + text.value.trim() : how.value}`;
    });
  }

  /** Does a part write its mean over prompts? */
  get means() {
    return this.rows.some(({ how }) => how?.value === "mean");
  }

  /** Show these lines. */
  fill(lines) {
    const missing = Math.max(0, this.least - lines.length);
    this.rows = [];
    this.list.replaceChildren();
    for (const line of [...lines, ...Array(missing).fill("")]) this.add(line);
    this.count();
  }

  add(line = "") {
    const [, name, said] = /^([^=]*)(?:=(.*))?$/s.exec(line);
    const given = name.trim() || this.names.find((each) => !this.rows.some(({ part }) => part.value === each)) || this.names[0];
    const row = { part: choice("part", offered(this.names, given), given) };
    row.fields = [h("label", { class: "field" }, h("span", {}, "part"), row.part)];
    if (this.ways) this.instead(row, said?.trim() ?? "zero");
    row.away = button("Put back", () => this.remove(row), { class: "quiet", "aria-label": `Put back ${given}` });
    row.part.addEventListener("change", () => {
      row.away.setAttribute("aria-label", `Put back ${row.part.value}`);
      this.changed();
    });
    row.element = h("div", { class: "part" }, row.fields, row.away);
    this.rows.push(row);
    this.list.append(row.element);
    this.count();
  }

  instead(row, said) {
    const from = said.startsWith(FROM);
    row.how = choice("writes", offered(HOW, from ? "from" : said), from ? "from" : said);
    row.text = h("input", { type: "text", value: from ? said.slice(FROM.length) : "", maxlength: 9000, autocomplete: "off", spellcheck: "false" });
    const other = h("label", { class: "field grows" }, h("span", {}, "the other prompt, of as many tokens"), row.text);
    const draw = () => (other.hidden = row.how.value !== "from");
    row.how.addEventListener("change", () => {
      draw();
      this.changed();
    });
    draw();
    row.fields.push(h("label", { class: "field" }, h("span", {}, "writes instead"), row.how), other);
  }

  remove(row) {
    this.rows = this.rows.filter((each) => each !== row);
    row.element.remove();
    this.count();
    this.adder.focus();
    this.changed();
  }

  count() {
    this.adder.textContent = this.rows.length ? "Leave out another part" : "Leave out a part";
    for (const { away } of this.rows) away.hidden = this.rows.length <= this.least;
  }

  /** Mark the fields that a refusal names, or none. */
  blame(line) {
    for (const { part, how, text } of this.rows) {
      const bad = Boolean(line) && line.replace(/^'/, "").startsWith(part.value);
      (how?.value === "from" ? text : part).setAttribute("aria-invalid", String(bad));
      if (how?.value === "from") part.setAttribute("aria-invalid", "false");
    }
  }
}

/** Options, and what an address names besides. */
function offered(options, chosen) {
  const pairs = options.map((each) => (Array.isArray(each) ? each : [each, each]));
  return pairs.some(([value]) => value === chosen) ? pairs : [...pairs, [chosen, chosen]];
}

export function choice(label, options, chosen, attributes = {}) {
  const list = offered(options, chosen).map(([value, text]) => h("option", { value, selected: value === chosen }, text));
  return h("select", { "aria-label": label, ...attributes }, list);
}
