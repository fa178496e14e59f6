// Closed forms and formulas as they are written in text, e^2/(e^1+e^2), drawn as MathML.

import { m } from "./dom.js";

const TOKEN = /\s*(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|((?:∂)?(?!ᵀ)[\p{L}_](?:(?!ᵀ)[\p{L}\d_.])*′?)|([ᵀ²³])|(\S))/uy;
const FUNCTIONS = new Set("exp log sin cos tanh erf erfc softmax hardmax max mean argmax sum diag GELU GELU′".split(" "));
const RAISED = { ᵀ: "T", "²": "2", "³": "3" };
const BETWEEN = new Set([",", "=", "≈", "<", ">", "≥", "≤", ":", "→", "|"]);

/** The text as a <math> element; what is not understood stands there as plain text. */
export function math(text, display = false) {
  const root = m("math", { display: display ? "block" : "inline" });
  try {
    const reader = new Reader(text);
    root.append(reader.all());
  } catch (error) {
    if (!(error instanceof NotMath)) throw error;
    root.append(m("mtext", {}, text));
  }
  return root;
}

class NotMath extends Error {}

class Reader {
  constructor(text) {
    this.tokens = [];
    TOKEN.lastIndex = 0;
    for (let match; TOKEN.lastIndex < text.trimEnd().length && (match = TOKEN.exec(text));) {
      const [whole, number, name, raised, sign] = match;
      this.tokens.push({ number, name, raised, sign, text: number ?? name ?? raised ?? sign, spaced: /^\s/.test(whole) });
    }
    this.at = 0;
  }

  get next() {
    return this.tokens[this.at];
  }

  sees(...signs) {
    return this.next !== undefined && signs.includes(this.next.sign);
  }

  all() {
    const row = m("mrow");
    while (this.next) {
      if (BETWEEN.has(this.next.sign)) row.append(operator(this.tokens[this.at++].text));
      else if (this.sees(")", "]")) throw new NotMath();
      else row.append(this.sum());
    }
    return row;
  }

  sum() {
    const row = m("mrow");
    if (this.sees("-", "−", "+")) row.append(operator(this.tokens[this.at++].text, "prefix"));
    row.append(this.product());
    while (this.sees("+", "-", "−")) row.append(operator(this.tokens[this.at++].text), this.product());
    return row.childNodes.length === 1 ? row.firstChild : row;
  }

  product() {
    let left = this.power();
    for (;;) {
      if (this.sees("·")) {
        this.at++;
        left = m("mrow", {}, bare(left, false), operator("·"), this.power());
      } else if (this.sees("/")) {
        this.at++;
        left = m("mfrac", {}, bare(left), bare(this.power()));
      } else if (this.next && (this.next.number || this.next.name || this.sees("(", "√"))) {
        left = m("mrow", {}, left, m("mspace", { width: "0.3em" }), this.power());
      } else return left;
    }
  }

  power() {
    let base = this.atom();
    for (;;) {
      if (this.sees("^")) {
        this.at++;
        const minus = this.sees("-") ? [operator(this.tokens[this.at++].text, "prefix")] : [];
        base = m("msup", {}, base, m("mrow", {}, minus, bare(this.atom())));
      } else if (this.next?.raised) {
        base = m(
          "msup",
          {},
          base,
          m(this.next.raised === "ᵀ" ? "mi" : "mn", { mathvariant: "normal" }, RAISED[this.next.raised]),
        );
        this.at++;
      } else return base;
    }
  }

  atom() {
    const token = this.tokens[this.at++];
    if (!token) throw new NotMath();
    if (token.number) return number(token.number);
    if (token.name) return this.named(token.name);
    if (token.sign === "√") return m("msqrt", {}, bare(this.atom()));
    if (token.sign === "(" || token.sign === "[") return this.group(token.sign);
    if ("∞…πε*⊘-−".includes(token.text)) return m("mi", {}, token.text);
    throw new NotMath();
  }

  group(open) {
    const close = open === "(" ? ")" : "]";
    const inside = m("mrow");
    while (!this.sees(close)) {
      if (!this.next) throw new NotMath();
      inside.append(BETWEEN.has(this.next.sign) ? operator(this.tokens[this.at++].text) : this.sum());
    }
    this.at++;
    const tall = inside.querySelector("mfrac, msup mfrac, msqrt") !== null;
    return m("mrow", { "data-group": "yes" }, bracket(open, tall), inside, bracket(close, tall));
  }

  named(name) {
    if (name === "exp" && this.sees("(")) return m("msup", {}, m("mi", {}, "e"), bare(this.atom()));
    if (FUNCTIONS.has(name) && this.sees("("))
      return m("mrow", {}, m("mi", {}, name), m("mspace", { width: "0.1em" }), this.atom());
    if (name === "inf") return m("mi", {}, "∞");
    const symbol = /^x(\d+)$/.exec(name);
    if (symbol) return m("msub", {}, m("mi", {}, "x"), m("mn", {}, symbol[1]));
    return [...name].length === 1 ? m("mi", {}, name) : m("mtext", { class: "name" }, name);
  }
}

function number(text) {
  const [digits, exponent] = text.split("e");
  if (exponent === undefined) return m("mn", {}, digits);
  return m(
    "mrow",
    {},
    m("mn", {}, digits),
    operator("×"),
    m("msup", {}, m("mn", {}, "10"), m("mn", {}, exponent.replace("-", "−"))),
  );
}

function operator(sign, form) {
  const tight = form === "prefix" ? { lspace: "0em", rspace: "0em" } : {};
  return m("mo", { form, ...tight }, sign === "-" ? "−" : sign);
}

/** Brackets as high as a fraction that they hold; else as plain as a letter. */
function bracket(sign, tall) {
  return tall ? m("mo", { stretchy: "true", lspace: "0em", rspace: "0em" }, sign) : m("mi", { mathvariant: "normal" }, sign);
}

/** What a bar or a root holds together needs no brackets. */
function bare(element, strip = true) {
  return strip && element.getAttribute("data-group") ? element.childNodes[1] : element;
}
