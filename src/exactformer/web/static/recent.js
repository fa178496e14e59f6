// What was opened before, and users' own worksheets, kept in this browser alone.

const KEY = "exactformer.recent",
  MOST = 8,
  LARGEST = 400_000;

export function recent() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found)
      ? found.filter((entry) => typeof entry?.source === "string" && typeof entry?.title === "string")
      : [];
  } catch {
    return [];
  }
}

export function remember(entry) {
  const others = recent().filter(({ source }) => source !== entry.source);
  try {
    localStorage.setItem(KEY, JSON.stringify([entry, ...others].slice(0, MOST)));
  } catch {
    // a browser that keeps nothing: then nothing is remembered
  }
}

/** Keep the text of a worksheet; the name that it has in addresses. */
export function keep(name, text) {
  if (text.length > LARGEST)
    throw new Error(
      `${name} has ${text.length.toLocaleString("en")} characters; the page takes ${LARGEST.toLocaleString("en")}`,
    );
  let hash = 5381;
  for (const letter of text) hash = (hash * 33 + letter.codePointAt(0)) >>> 0;
  const source = `own:${hash.toString(36)}`;
  remember({ source, name, text, title: name });
  return source;
}

/** A worksheet of the user's own; null where the source is none that is kept here. */
export function kept(source) {
  return recent().find((entry) => entry.source === source && typeof entry.text === "string") ?? null;
}
