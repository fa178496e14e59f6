// Answers checked in the page itself, without a server. Fractions and decimals are compared by exact integers; other closed forms are
// computed with 90 decimals and compared with the 60 digits that were proved when the page was made: "agrees to 60 digits" is then
// said where the server would say "equal (proved)". Nothing that is typed is ever run as a program.

export const DIGITS = 60;
const PLACES = 90n; // decimals of the numbers computed with
const ONE = 10n ** PLACES;
const TINY = 10n ** (PLACES - 80n); // what is smaller could be 0
const LONGEST = 500;
const DEEPEST = 40;
const MOST_FUNCTIONS = 30;
const LARGEST = 10n ** 3000n;
const LARGEST_POWER = 1000n;
const FARTHEST = 60n * ONE; // arguments of exp

export class Unreadable extends Error {}

// -- numbers: { n, d } is a fraction in lowest terms, { v } a real number times 10^90
const absolute = (a) => (a < 0n ? -a : a);

function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return absolute(a);
}

function fraction(n, d = 1n) {
  if (d === 0n) throw new Unreadable("this divides by zero");
  const common = gcd(n, d) || 1n;
  const result = d < 0n ? { n: -n / common, d: -d / common } : { n: n / common, d: d / common };
  if (absolute(result.n) > LARGEST || result.d > LARGEST) throw new Unreadable("a number on the way is too long to be computed");
  return result;
}

const isFraction = (x) => x.d !== undefined;
const rounded = (n, d) => (n >= 0n === d > 0n ? (2n * absolute(n) + absolute(d)) / (2n * absolute(d)) : -((2n * absolute(n) + absolute(d)) / (2n * absolute(d))));
const real = (x) => (isFraction(x) ? rounded(x.n * ONE, x.d) : x.v);

function fixed(v) {
  if (absolute(v) > LARGEST * ONE) throw new Unreadable("a number on the way is too large to be computed here");
  return { v };
}

function add(a, b) {
  return isFraction(a) && isFraction(b) ? fraction(a.n * b.d + b.n * a.d, a.d * b.d) : fixed(real(a) + real(b));
}

const negative = (a) => (isFraction(a) ? { n: -a.n, d: a.d } : { v: -a.v });

function times(a, b) {
  return isFraction(a) && isFraction(b) ? fraction(a.n * b.n, a.d * b.d) : fixed(rounded(real(a) * real(b), ONE));
}

function over(a, b) {
  if (isFraction(a) && isFraction(b)) return fraction(a.n * b.d, a.d * b.n);
  if (absolute(real(b)) <= TINY) throw new Unreadable("this divides by zero");
  return fixed(rounded(real(a) * ONE, real(b)));
}

function rootOf(n) {
  if (n < 2n) return n;
  let x = 1n << BigInt(Math.ceil(n.toString(2).length / 2));
  for (;;) {
    const next = (x + n / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}

function sqrt(x) {
  if (isFraction(x)) {
    if (x.n < 0n) throw new Unreadable("the root of a negative number is no real number");
    const [n, d] = [rootOf(x.n), rootOf(x.d)];
    if (n * n === x.n && d * d === x.d) return fraction(n, d);
  }
  const v = real(x);
  if (v < -TINY) throw new Unreadable("the root of a negative number is no real number");
  return fixed(v <= 0n ? 0n : rootOf(v * ONE));
}

/** The sum of a series whose terms are given one by one, until they are 0. */
function series(first, next) {
  let [sum, term, n] = [first, first, 0n];
  while (term !== 0n && n < 2000n) {
    n += 1n;
    term = next(term, n);
    sum += term;
  }
  return sum;
}

/** 2·atanh(n/d) = log((d + n)/(d − n)) */
function logarithm(n, d) {
  const [z, square] = [(n * ONE) / d, (n * n * ONE) / (d * d)];
  let [power, sum] = [z, z];
  for (let k = 3n; power !== 0n; k += 2n) {
    power = (power * square) / ONE;
    sum += power / k;
  }
  return 2n * sum;
}

const lazy = (make) => {
  let kept;
  return () => (kept ??= make());
};
const LOG2 = lazy(() => logarithm(1n, 3n));
const arctan = (n) => {
  let [power, sum] = [ONE / n, ONE / n];
  for (let k = 3n, sign = -1n; power !== 0n; k += 2n, sign = -sign) {
    power /= n * n;
    sum += (sign * power) / k;
  }
  return sum;
};
const PI = lazy(() => 16n * arctan(5n) - 4n * arctan(239n));

function expOf(v) {
  if (absolute(v) > FARTHEST) throw new Unreadable("a power of e beyond 60 is not computed here");
  const k = rounded(v, LOG2());
  const r = v - k * LOG2();
  const small = series(ONE, (term, n) => (term * r) / (ONE * n));
  return k >= 0n ? small << k : small >> -k;
}

function logOf(v) {
  if (v <= TINY) throw new Unreadable("there is no logarithm of 0 or of a negative number");
  let [m, k] = [v, 0n];
  while (m > (3n * ONE) / 2n) [m, k] = [m >> 1n, k + 1n];
  if (k === 0n) while (m < (3n * ONE) / 4n) [m, k] = [m << 1n, k - 1n];
  else m = (v + (1n << (k - 1n))) >> k;
  return logarithm(m - ONE, m + ONE) + k * LOG2();
}

function sinOf(v) {
  const turn = 2n * PI();
  const r = v - rounded(v, turn) * turn;
  const square = (r * r) / ONE;
  return series(r, (term, n) => (-term * square) / (ONE * 2n * n * (2n * n + 1n)));
}

function tanhOf(v) {
  if (absolute(v) > FARTHEST) throw new Unreadable("tanh of so large a number is not computed here");
  const square = expOf(-2n * absolute(v) < -FARTHEST ? -FARTHEST : -2n * absolute(v));
  const size = ((ONE - square) * ONE) / (ONE + square);
  return v < 0n ? -size : size;
}

function erfOf(v) {
  if (absolute(v) > 6n * ONE) throw new Unreadable("erf of so large a number is not computed here");
  const square = (v * v) / ONE;
  let [power, sum] = [v, v];
  for (let n = 1n; power !== 0n && n < 2000n; n += 1n) {
    power = (-power * square) / (ONE * n);
    sum += power / (2n * n + 1n);
  }
  return (2n * sum * ONE) / rootOf(PI() * ONE);
}

const FUNCTIONS = {
  exp: (x) => (isFraction(x) && x.n === 0n ? fraction(1n) : fixed(expOf(real(x)))),
  log: (x) => (isFraction(x) && x.n === x.d ? fraction(0n) : fixed(logOf(real(x)))),
  sqrt,
  sin: (x) => fixed(sinOf(real(x))),
  cos: (x) => fixed(sinOf(real(x) + PI() / 2n)),
  tanh: (x) => fixed(tanhOf(real(x))),
  erf: (x) => fixed(erfOf(real(x))),
  erfc: (x) => fixed(ONE - erfOf(real(x))),
};
FUNCTIONS.ln = FUNCTIONS.log;

function power(a, b) {
  if (isFraction(b) && b.d === 1n) {
    const size = absolute(b.n);
    if (size > (isFraction(a) ? 10000n : LARGEST_POWER)) throw new Unreadable("a power that large is not computed here");
    let [result, base] = [fraction(1n), a];
    for (let left = size; left > 0n; left >>= 1n) {
      if (left & 1n) result = times(result, base);
      if (left > 1n) base = times(base, base);
    }
    return b.n < 0n ? over(fraction(1n), result) : result;
  }
  if (isFraction(b) && b.d === 2n && absolute(b.n) <= LARGEST_POWER) return power(sqrt(a), fraction(b.n));
  if (isFraction(a) && a.n === 0n) return fraction(0n);
  return fixed(expOf(real(times(b, fixed(logOf(real(a)))))));
}

// -- the grammar, the same as that of numbers/expression.py
const SAME = { "−": "-", "–": "-", "·": "*", "⋅": "*", "∙": "*", "×": "*", "÷": "/", "∕": "/", "⁄": "/" };
const RAISED = { "⁰": "0", "¹": "1", "²": "2", "³": "3", "⁴": "4", "⁵": "5", "⁶": "6", "⁷": "7", "⁸": "8", "⁹": "9", "⁻": "-" };
const TOKEN = /((?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|([A-Za-zπ]+)|(\*\*|[-+*/^()√])|([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(\S)/gu;
const LITERAL = /^([+-]?)([0-9]+(?:_[0-9]+)*)?(?:\.([0-9]+)?)?(?:[eE]([+-]?[0-9]+))?$/;

const plain = (text) => text.replace(/[−–·⋅∙×÷∕⁄]/gu, (sign) => SAME[sign]).trim();

/** A decimal as { value, place }; null where it is none. */
export function decimal(text) {
  const match = LITERAL.exec(plain(text));
  if (!match || !(match[2] || match[3])) return null;
  const [, sign, whole = "", part = "", exponent = "0"] = match;
  const place = Number(exponent) - part.length;
  if (Math.abs(place) > 2000) throw new Unreadable("a decimal that long is not read");
  const digits = BigInt(whole.replaceAll("_", "") + part) * (sign === "-" ? -1n : 1n);
  return { value: place < 0 ? fraction(digits, 10n ** BigInt(-place)) : fraction(digits * 10n ** BigInt(place)), place };
}

/** How many numbers, names and signs stand in a text, brackets and products not counted. */
export function size(text) {
  return [...plain(text).matchAll(TOKEN)].reduce(
    (sum, [, number, name, sign, raised]) => sum + (raised ? 2 : number || name || (sign && !"()*".includes(sign)) ? 1 : 0),
    0,
  );
}

/** The number that a text is: a fraction { n, d }, or { v }, a real number with 90 decimals. */
export function value(text) {
  if (text.length > LONGEST) throw new Unreadable(`an answer of ${text.length} characters is longer than ${LONGEST}`);
  const literal = decimal(text);
  if (literal) return literal.value;
  if (/[0-9.]e[+-]?[0-9]/.test(text)) throw new Unreadable("an e between digits can be read in two ways: write a * before it");
  const reader = new Reader(text);
  const result = reader.sum();
  if (reader.next !== undefined) throw new Unreadable(`'${reader.next}' is not expected there`);
  return result;
}

class Reader {
  constructor(text) {
    this.tokens = [];
    for (const [, number, name, sign, raised, other] of plain(text).matchAll(TOKEN)) {
      if (other) throw new Unreadable(`'${other}' is not part of a number here${other === "," ? ": write a decimal point" : ""}`);
      if (raised) this.tokens.push("^", "(", ...[...raised].map((c) => RAISED[c]).join("").match(/-|[0-9]+/g), ")");
      else this.tokens.push(sign === "**" ? "^" : (sign ?? number ?? name));
    }
    if (!this.tokens.length) throw new Unreadable("there is nothing to read: type a number such as 3/2, 0.731 or e/(1+e)");
    this.at = this.depth = this.functions = 0;
  }

  get next() {
    return this.tokens[this.at];
  }

  take(...wanted) {
    return wanted.includes(this.next) ? this.tokens[this.at++] : null;
  }

  deeper(read) {
    this.depth += 1;
    if (this.depth > DEEPEST) throw new Unreadable(`an answer nested more than ${DEEPEST} deep is not read`);
    const result = read();
    this.depth -= 1;
    return result;
  }

  sum() {
    let result = this.product();
    for (let sign; (sign = this.take("+", "-"));) {
      const term = this.product();
      result = add(result, sign === "+" ? term : negative(term));
    }
    return result;
  }

  product() {
    let [result, divided] = [this.signed(), false];
    while (this.next !== undefined && !["+", "-", ")"].includes(this.next)) {
      if (this.take("/")) [result, divided] = [over(result, this.signed()), true];
      else if (this.take("*")) [result, divided] = [times(result, this.signed()), false];
      else if (divided) throw new Unreadable(`this can be read in two ways: put brackets or a * before '${this.next}'`);
      else if (/^[0-9.^]/.test(this.next)) throw new Unreadable(`'${this.next}' follows another number: write a sign between them`);
      else result = times(result, this.power());
    }
    return result;
  }

  signed() {
    let minus = false;
    for (let sign; (sign = this.take("+", "-"));) minus = minus !== (sign === "-");
    const result = this.power();
    return minus ? negative(result) : result;
  }

  power() {
    const base = this.atom();
    return this.take("^") ? this.costly(() => power(base, this.deeper(() => this.signed()))) : base;
  }

  costly(work) {
    this.functions += 1;
    if (this.functions > MOST_FUNCTIONS) throw new Unreadable(`an answer of more than ${MOST_FUNCTIONS} functions is not read`);
    return work();
  }

  atom() {
    const token = this.tokens[this.at++];
    if (token === undefined) throw new Unreadable("the answer ends too early");
    if (/^[0-9.]/.test(token)) return decimal(token).value;
    if (token === "(") return this.bracketed();
    if (token === "√") return this.costly(() => sqrt(this.deeper(() => this.atom())));
    if (token === "e") return fixed(expOf(ONE));
    if (["pi", "Pi", "PI", "π"].includes(token)) return fixed(PI());
    if (Object.hasOwn(FUNCTIONS, token)) {
      if (!this.take("(")) throw new Unreadable(`${token} needs brackets, ${token}(…)`);
      return this.costly(() => FUNCTIONS[token](this.bracketed()));
    }
    throw new Unreadable(/^[A-Za-z]/.test(token) ? `'${token.slice(0, 20)}' is not known here` : `'${token}' is not expected there`);
  }

  bracketed() {
    const result = this.deeper(() => this.sum());
    if (!this.take(")")) throw new Unreadable("a bracket is not closed");
    return result;
  }
}

// -- judging
const compare = (a, b) => {
  const difference = a.n * b.d - b.n * a.d;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
};

/** Do the decimals agree with a fraction: "rounded", "cut off" or ""? */
function agreement(printed, truth) {
  const unit = printed.place < 0 ? fraction(1n, 10n ** BigInt(-printed.place)) : fraction(10n ** BigInt(printed.place));
  const off = add(truth, negative(printed.value));
  const size = { n: absolute(off.n), d: off.d };
  if (compare(times(size, fraction(2n)), unit) <= 0) return "rounded";
  const side = printed.value.n || truth.n;
  const outwards = off.n === 0n || off.n > 0n === side > 0n;
  return outwards && compare(size, unit) < 0 ? "cut off" : "";
}

/** Is it a fraction like 2/4? */
function reducible(text) {
  const match = /^-?\s*([0-9]{1,400})\s*\/\s*([0-9]{1,400})$/.exec(plain(text));
  return match !== null && gcd(BigInt(match[1]), BigInt(match[2])) > 1n;
}

/** One line, held against what is kept: { exact } or { low, high } or { word }. */
function judgedLine(text, kept, decimals) {
  if (kept.word !== undefined) {
    const typed = text.replace(/^["'“`]+|["'”`]+$/gu, "").trim();
    const masked = kept.word === "-inf" && ["-inf", "-infinity", "-oo", "-∞", "masked", "hidden"].includes(plain(typed).toLowerCase());
    return masked || typed === kept.word ? { kind: "equal", message: "right" } : { kind: "wrong", message: "wrong" };
  }
  if (/^[+-]?[0-9.]+e[+-][0-9]+$/.test(plain(text))) throw new Unreadable("an e between digits can be read in two ways: write a * before it");
  const answer = value(text);
  const printed = decimal(text);
  const ends = kept.exact !== undefined ? [value(kept.exact)] : [decimal(kept.low).value, decimal(kept.high).value];
  const simplest = kept.exact ?? kept.simplest;
  const simpler = !printed && simplest && (size(text) > size(simplest) || reducible(text));
  const also = simpler ? `, and could be simpler: ${simplest}` : "";
  if (isFraction(answer)) {
    if (kept.exact !== undefined && compare(answer, ends[0]) === 0) return { kind: simpler ? "simpler" : "equal", message: `equal${also}` };
  } else {
    const [low, high] = [real(ends[0]), real(ends.at(-1))];
    const near = absolute(low) / 10n ** BigInt(DIGITS);
    if (answer.v >= low - near - TINY && answer.v <= high + near + TINY)
      return { kind: simpler ? "simpler" : "equal", message: `agrees to ${DIGITS} digits${also}` };
  }
  if (printed && printed.place < 0) {
    const [one, other] = [agreement(printed, ends[0]), agreement(printed, ends.at(-1))];
    if (one !== other) return { kind: "undecided", message: "undecided: too close to tell here" };
    if (one) {
      const places = `${-printed.place} decimal${printed.place < -1 ? "s" : ""}`;
      if (-printed.place < decimals || printed.value.n === 0n)
        return { kind: "few", message: `right as far as it goes: ${places}, but ${decimals} decimals count` };
      return { kind: "decimals", message: `right to the decimals given (${places}${one === "cut off" ? ", cut off" : ""})` };
    }
  }
  return { kind: "wrong", message: "wrong" };
}

const RIGHT = new Set(["equal", "simpler", "decimals"]);

/** An answer of one line, or a derivation whose lines are all to be equal. `kept` is what `revealed` gives. */
export function judge(answer, kept) {
  const lines = answer.slice(0, 4000).split(/[=\n]|(?=≈)/u).map((line) => line.trim()).filter(Boolean);
  const about = { answer, slip: "", lines: lines.length || 1 };
  if (!lines.length || lines.length > 30) return { ...about, kind: "unreadable", right: false, good: 0, message: "there is no answer to read" };
  let said;
  for (const [n, line] of lines.entries()) {
    const last = n === lines.length - 1;
    try {
      said = judgedLine(line.replace(/^≈/u, "").trim(), kept, line.startsWith("≈") && !last ? 1 : kept.decimals);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      said = { kind: "unreadable", message: error.message };
    }
    if (!RIGHT.has(said.kind)) {
      const place = lines.length > 1 ? `line ${n + 1}: ` : "";
      return { ...about, kind: said.kind, right: false, good: n, message: place + said.message };
    }
  }
  return { ...about, ...said, right: true, good: lines.length };
}

// -- what does not stand in the page in plain text (exercises/hidden.py); this is no secrecy
export function revealed({ cell, held }) {
  let state = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(cell)) state = Math.imul(state ^ byte, 0x01000193) >>> 0;
  state ||= 1;
  const bytes = Uint8Array.from(atob(held), (c) => c.charCodeAt(0)).map((byte) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return byte ^ (state & 0xff);
  });
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** What answerBox asks, answered in the page: `kept` is an exercise as hidden.py writes it. */
export function asker(kept) {
  return async ({ answer, hints }) => {
    const held = kept.plain ?? revealed(kept);
    return {
      question: kept.question,
      judgement: answer.trim() ? judge(answer, held) : null,
      hints: held.hints.slice(0, hints),
      last: hints >= held.hints.length,
      derivation: hints > held.hints.length ? held.derivation : [],
    };
  };
}
