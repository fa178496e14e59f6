// The formula of one entry with its actual numbers put in, as text that math.js draws.

const MOST = 16; // terms that are written out

/** `parts` are the slices that the entry reads, each { name, entries: [{ index, value }] }. */
export function spelled(book, step, index, parts, result) {
  const values = parts.map((part) => part.entries.map(({ value }) => value));
  const write = WAYS[step.op] ?? (step.op === "gradient" ? gradientWay(book, step, parts) : null);
  if (!write || values.some((list) => list.some((value) => value === undefined))) return null;
  const text = write(values, { book, step, index });
  if (text === null) return null;
  const known = result.status === "undefined" || result.status === "token" ? null : plain(result);
  const near = [result, ...values.flat()].some((value) => value.text?.startsWith("≈"));
  return { ...text, result: known, relation: near ? "≈" : "=" };
}

const first = ([[value]]) => ({ text: term(value) });
const dot = ([x, w, b]) =>
  sum(
    x.map((value, k) => [value, w[k]]),
    b?.[0],
  );

const WAYS = {
  same: first,
  identity: first,
  table: first,
  lookup: ([, row]) => ({ text: term(row[0]) }),
  add: ([[x], [y]]) => ({ text: `${term(x)} + ${term(y)}` }),
  linear: dot,
  unembed: dot,
  project: dot,
  merge: dot,
  scores: dot,
  mix: dot,
  scale: ([[x]], { book }) => ({ text: `${factor(x)} · ${bracketed(book.model.scale)}` }),
  mask: ([[x]], { index }) => ({ text: term(x), note: `row ${index.at(-2)}, column ${index.at(-1)}` }),
  erase: first,
  shift: ([row]) => ({ text: `${"x"} - max(${row.filter(visible).map(term).join(", ")})` }),
  softmax: ([row], { index }) => softmax(row, index.at(-1)),
  hardmax: ([row]) => ({ text: "", note: `the largest of ${row.filter(visible).map(plain).join(", ")}` }),
  mean: ([row]) => fraction(sum(row.map((value) => [value])), row.length),
  variance: ([row]) => fraction({ text: limited(row.map((value) => `${factor(value)}^2`)).text }, row.length),
  center: ([[x], [mean]]) => ({ text: `${term(x)} - ${factor(mean)}` }),
  deviation: ([[variance]], { book }) => ({
    text: book.model.epsilon === "0" ? `√(${plain(variance)})` : `√(${plain(variance)} + ${book.model.epsilon})`,
  }),
  normalise: ([[x], [s], [w], [b]]) => ({ text: `${factor(w)} · (${plain(x)})/(${plain(s)}) + ${term(b)}` }),
  relu: ([[x]]) => ({ text: `max(0, ${plain(x)})` }),
  gelu: ([[x]]) => ({ text: `${factor(x)}/2 · (1 + erf(${plain(x)}/√2))` }),
  gelu_tanh: ([[x]]) => ({ text: `${factor(x)}/2 · (1 + tanh(√(2/π) · (${plain(x)} + 0.044715 · ${factor(x)}^3)))` }),
  argmax: ([row], { book }) => ({
    text: "",
    note: `the largest of ${row
      .slice(0, MOST)
      .map((value, n) => `${book.model.vocabulary?.[n] ?? n}: ${plain(value)}`)
      .join(", ")}`,
  }),
};

/** Gradients of sums and products: what each reader hands back, added up. */
function gradientWay(book, step, parts) {
  const readers = [...new Set(parts.map((part) => part.via))];
  const products = ["linear", "unembed", "project", "merge", "scores", "mix", "add", "same", "identity", "mask"];
  if (!readers.length || !readers.every((via) => products.includes(book.step(via)?.op))) return null;
  return () => {
    const pairs = readers.flatMap((via) => {
      const own = parts.filter((part) => part.via === via);
      const back = own.find((part) => part.name === `grad.${via}`);
      const other = own.find((part) => part !== back && !part.name.startsWith("grad."));
      if (!back || (other && other.entries.length !== back.entries.length)) return [null];
      return back.entries.map(({ value }, k) => (other ? [value, other.entries[k].value] : [value]));
    });
    return pairs.includes(null) ? null : sum(pairs);
  };
}

function softmax(row, place) {
  if (!visible(row[place])) return { text: "0", note: "what is masked has no weight" };
  const powers = row.filter(visible).map((value) => `exp(${plain(value)})`);
  return { text: `exp(${plain(row[place])})/(${limited(powers).text})` };
}

/** A sum of products, without the terms that are 0 where there are many. */
function sum(pairs, bias) {
  const zero = (pair) => pair.some((value) => value.text === "0");
  const kept = pairs.length > 3 ? pairs.filter((pair) => !zero(pair)) : pairs;
  const terms = kept.map((pair) => (pair.length === 1 ? term(pair[0]) : pair.map(factor).join("·")));
  if (bias) terms.push(term(bias));
  const { text, left } = limited(terms);
  const gone = pairs.length - kept.length;
  return {
    text: text || "0",
    note: [gone && `${gone} ${gone === 1 ? "term is" : "terms are"} 0`, left && `${left} more terms`]
      .filter(Boolean)
      .join("; "),
  };
}

function limited(terms) {
  const shown = terms.slice(0, MOST);
  const left = terms.length - shown.length;
  return { text: shown.join(" + ") + (left ? " + …" : ""), left };
}

function fraction({ text, note }, below) {
  return { text: `(${text})/${below}`, note };
}

const visible = (value) => value.status !== "masked";

/** A number in text: its closed form where that is short, else digits. */
export function plain(value) {
  if (value.status === "masked") return "-∞";
  if (value.status === "undefined") return "⊘";
  if (value.text === null) return "none";
  return value.text.startsWith("≈ ") ? value.text.slice(2) : value.text;
}

function term(value) {
  const text = plain(value);
  return text.startsWith("-") ? `(${text})` : text;
}

function factor(value) {
  return bracketed(plain(value));
}

function bracketed(text) {
  return /^[\d.πe]+$/.test(text) ? text : `(${text})`;
}
