// The address: which example, with what changes, at which step, with which number open.

const LISTS = ["edit", "break", "ablate", "mean", "without"]; // what may be named several times

/** { source, view, step, number, position, head, edit: [], break: [], … } */
export function read() {
  const [path, query] = location.hash.slice(1).split("?");
  const [source, view] = path.split("/").map(decoded);
  const given = new URLSearchParams(query ?? "");
  const route = { source: source ?? "", view: view ?? "" };
  for (const name of new Set(given.keys())) if (!LISTS.includes(name)) route[name] = given.get(name);
  for (const name of LISTS) route[name] = given.getAll(name);
  return route;
}

/** What is not an encoded text stands for itself: then there is nothing of that name, and the page says so. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function address({ source, view, ...rest }) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) {
    if (Array.isArray(value)) value.forEach((item) => query.append(name, item));
    else if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  const path = [source, view].filter(Boolean).map(encodeURIComponent).join("/");
  return `#${path}${query.size ? `?${query}` : ""}`;
}

/** Go somewhere: a new entry of the history, unless it is but another step of the same walk. */
export function go(route, replace = false) {
  const to = address(route);
  if (to === location.hash || (to === "#" && !location.hash)) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  dispatchEvent(new Event("address"));
}

/** The name and the index of a number: blocks.0.attn.pattern[0,1,0]. */
export function readNumber(text) {
  const match = /^([\w.]+)\[([\d,]*)\]$/.exec(text ?? "");
  return match ? { name: match[1], index: match[2].split(",").map(Number) } : null;
}

/** A count from 0 up to below a limit; null where a text is none. */
export function readCount(text, limit) {
  return /^\d{1,9}$/.test(text ?? "") && Number(text) < limit ? Number(text) : null;
}

export function writeNumber(number) {
  return number ? `${number.name}[${number.index.join(",")}]` : "";
}
