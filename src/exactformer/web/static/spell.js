// The formula of one entry with its actual numbers put in, as text that math.js draws.

const MOST = 16; // terms that are written out

/** `parts` are the slices that the entry reads, each { name, entries: [{ index, value }] }. */
export function spelled(book, step, index, parts, result) {
  const values = parts.map((part) => part.entries.map(({ value }) => value));
  if (values.some((list) => list.some((value) => value === undefined))) return null;
  if (unknown(step, values)) return null;
  const text = step.op === "gradient" ? gradient(book, parts) : step.entry ? filled(book, step, index, values) : null;
  if (text === null) return null;
  const known = result.status === "undefined" || result.status === "token" ? null : plain(result);
  const near = [result, ...values.flat()].some(({ status, text }) => status === "float" || status === "ball" || text?.startsWith("≈"));
  return { ...text, result: known, relation: near ? "≈" : "=" };
}

/** Does its formula speak of a slice that is not here, such as a row of a table of 50,257? */
function unknown({ op, entry }, values) {
  return op !== "gradient" && [...(entry ?? "").matchAll(/\{(?:\+(?:exp )?|turn )?(\d)/g)].some(([, n]) => !values[n]);
}

// What stands in the braces of a template, for the slices that are read: {0} is a number, {0*} a factor, {0=} plain, {0@} the one
// of a row at this very place; {0,} a list and {0:} one with tokens; {+0}, {+0²} and {+exp 0} are sums, {0·1} a sum of products;
// {turn 0} one of a pair that is turned by the position.
const BRACES = {
  "": (row) => ({ text: term(row[0]) }),
  "*": (row) => ({ text: factor(row[0]) }),
  "=": (row) => ({ text: plain(row[0]) }),
  "@": (row, { index }) => ({ text: plain(row[index.at(-1)]) }),
  ",": (row) => ({ text: row.filter(visible).map(plain).join(", ") }),
  ":": (row, { book }) => ({
    text: row
      .slice(0, MOST)
      .map((value, n) => `${(book.model.outputs ?? book.model.vocabulary)?.[n] ?? n}: ${plain(value)}`)
      .join(", "),
  }),
  "+": (row) => sum(row.map((value) => [value])),
  "+²": (row) => limited(row.map((value) => `${factor(value)}^2`)),
  "+exp": (row) => limited(row.filter(visible).map((value) => `exp(${plain(value)})`)),
  "·": ([x, w, b]) =>
    sum(
      x.map((value, k) => [value, w[k]]),
      b?.[0],
    ),
};

/** The template of an operation, such as `{0*} · {factor*}`, with numbers put in; a note may follow it after a bar. */
function filled(book, step, index, values) {
  const at = { book, index };
  if (step.entry.includes("@") && !visible(values[0][index.at(-1)])) return { text: "0", note: "what the mask hides has no weight" };
  const notes = [];
  const place = (_, inside) => {
    if (inside === "0·1") return put(BRACES["·"](values));
    if (inside === "turn 0") return turned(values[0], index, step.known);
    const [, plus, n, way] = inside.match(/^(\+(?:exp )?)?(\d)(.?)$/) ?? [];
    if (n !== undefined) return put(BRACES[`${plus?.trim() ?? ""}${way}`](values[n], at));
    const known = { ...step.known, n: values[0]?.length, row: index.at(-2), column: index.at(-1) };
    return inside.endsWith("*") ? bracketed(String(known[inside.slice(0, -1)])) : known[inside];
  };
  const put = ({ text, note }) => {
    if (note) notes.push(note);
    return text;
  };
  const [text, note] = step.entry.replace(/\{([^}]*)\}/g, place).split(" | ");
  return { text, note: note ?? notes.join("; ") };
}

/** x · cos θ − y · sin θ, or y · cos θ + x · sin θ for the second of a pair, the angle being the position times a frequency. */
function turned(row, index, { pairs, width, start, frequencies }) {
  const [position, j] = [Number(start) + index.at(-2), index.at(-1)];
  if (j >= Number(width)) return plain(row[j]);
  const half = Number(width) / 2;
  const [pair, other] =
    pairs === "neighbours" ? [Math.floor(j / 2), j % 2 ? j - 1 : j + 1] : [j % half, j < half ? j + half : j - half];
  const frequency = frequencies.split("; ")[pair];
  const angle = frequency === "1" ? String(position) : `${position} · ${bracketed(frequency)}`;
  return `${factor(row[j])} · cos(${angle}) ${other > j ? "-" : "+"} ${factor(row[other])} · sin(${angle})`;
}

/** Gradients of sums and products: what each reader hands back, added up. */
function gradient(book, parts) {
  const readers = [...new Set(parts.map((part) => part.via))];
  if (!readers.length || !readers.every((via) => book.step(via)?.multilinear)) return null;
  const pairs = readers.flatMap((via) => {
    const own = parts.filter((part) => part.via === via);
    const back = own.find((part) => part.name === `grad.${via}`);
    const other = own.find((part) => part !== back && !part.name.startsWith("grad."));
    if (!back || (other && other.entries.length !== back.entries.length)) return [null];
    return back.entries.map(({ value }, k) => (other ? [value, other.entries[k].value] : [value]));
  });
  return pairs.includes(null) ? null : sum(pairs);
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
