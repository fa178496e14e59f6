// Where a number came from and what it feeds, from the letters of its step: see links.py for what they mean.

/** The slices that entry `index` of `step` reads: [{ name, index, via }], null standing for a whole axis. */
export function origins(book, step, index) {
  const found = new Map();
  for (const [read, out, at, via] of step.links) {
    if (!book.has(read)) continue;
    for (const place of places(bound(out, index, book.ids), at, book.ids, step)) {
      const key = `${read} ${place}`;
      if (!found.has(key)) found.set(key, { name: read, index: place, via });
    }
  }
  return [...found.values()];
}

/** The slices of other steps that read entry `index` of `name`. */
export function feeds(book, name, index) {
  const found = new Map();
  for (const step of book.steps) {
    for (const [read, out, at] of step.links) {
      if (read !== name) continue;
      const letters = bound(at, index, book.ids);
      if (letters === null) continue;
      for (const place of places(letters, out, book.ids, step)) found.set(`${step.name} ${place}`, { name: step.name, index: place });
    }
  }
  return [...found.values()];
}

/** Is this entry part of one of the slices? */
export function within(slices, name, index) {
  return slices.some((slice) => slice.name === name && slice.index.every((n, axis) => n === null || n === index[axis]));
}

/** What each letter stands for; null where a fixed index is not met. */
function bound(letters, index, ids) {
  const values = {};
  for (const [axis, letter] of [...letters].entries()) {
    if (/\d/.test(letter)) {
      if (index[axis] !== Number(letter)) return null;
    } else values[letter] = index[axis];
  }
  if (values.i !== undefined && values.t === undefined) values.t = ids[values.i];
  return values;
}

/** The indices that letters take, of which those not bound run over their axis; a token stands at several positions. */
function places(values, letters, ids, step) {
  if (values === null) return [];
  const each =
    values.t !== undefined && values.i === undefined && letters.includes("i")
      ? ids.flatMap((id, i) => (id === values.t ? [i] : [])).map((i) => ({ ...values, i }))
      : sharing(values, letters, step);
  return each.map((one) => [...letters].map((letter) => (/\d/.test(letter) ? Number(letter) : (one[letter] ?? null))));
}

/** Head g of keys serves several heads h of queries: which one a head reads, and which read it. */
function sharing(values, letters, step) {
  const times = Number(step.known?.times);
  if (!times) return [values];
  const serves = step.known.sharing === "mixed" ? (h) => h % (step.shape[0] / times) : (h) => Math.floor(h / times);
  if (letters.includes("g")) return [{ ...values, g: serves(values.h) }];
  const heads = Array.from({ length: step.shape[0] }, (_, h) => h);
  return letters.includes("h") ? heads.filter((h) => serves(h) === values.g).map((h) => ({ ...values, h })) : [values];
}
