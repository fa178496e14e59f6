// What was opened before, and users' own worksheets, kept in this browser alone.

const KEY = "exactformer.recent",
  MOST = 8,
  LARGEST = 400_000,
  LONGEST_ADDRESS = 6_000, // characters of a worksheet that an address carries
  CARRIED = "sheet:";

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

/**
 * Keep the text of a worksheet or lesson; the name that it has in addresses: the text itself where it is short enough to be passed on.
 * What was not opened by the user is not listed among what was, and is kept by the address or for this visit alone.
 */
export async function keep(name, text, listed = true) {
  if (text.length > LARGEST)
    throw new Error(
      `${name} has ${text.length.toLocaleString("en")} characters; the page takes ${LARGEST.toLocaleString("en")}`,
    );
  const packed = await pack(JSON.stringify([name, text]));
  const source = packed.length <= LONGEST_ADDRESS ? `${CARRIED}${packed}` : `own:${hashed(text)}`;
  if (listed) remember({ source, name, text, title: name });
  else carried.set(source, { name, text });
  return source;
}

function hashed(text) {
  let hash = 5381;
  for (const letter of text) hash = (hash * 33 + letter.codePointAt(0)) >>> 0;
  return hash.toString(36);
}

/** A worksheet of the user's own; null where the source is none that is kept here, or that was unpacked. */
export function kept(source) {
  return recent().find((entry) => entry.source === source && typeof entry.text === "string") ?? carried.get(source) ?? null;
}

const carried = new Map(); // worksheets that came with an address, or with a lesson

/** Read the worksheet that an address carries, if it carries one. */
export async function unpack(source) {
  if (!source.startsWith(CARRIED) || kept(source)) return;
  try {
    const [name, text] = JSON.parse(await unpacked(source.slice(CARRIED.length)));
    if (typeof name !== "string" || typeof text !== "string" || !text) throw new TypeError();
    carried.set(source, { name, text });
  } catch {
    throw new Error("the worksheet in this address cannot be read: the address was cut off, or changed");
  }
}

async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The text again; what grows beyond all worksheets is given up. */
async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > 2 * LARGEST) throw new RangeError();
  }
}
