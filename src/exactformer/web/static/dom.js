// Elements from plain data. Text is always text: nothing here, or anywhere, turns a string into markup.

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";

/** An element: h("p", { class: "about" }, "text", child, …). Names that start with "on" are listeners. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function m(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(MATH, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  const there = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...there.map((child) => (typeof child === "string" ? seen(child) : child)));
  return element;
}

/** Characters that would turn the text around them round are escapes: a token may not rearrange the page. */
function seen(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16)}`);
}

export function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

export function select(label, options, value, onchange, attributes = {}) {
  const chosen = h(
    "select",
    { onchange: (event) => onchange(event.target.value), ...attributes },
    options.map((option) => h("option", { value: option, selected: option === value }, option)),
  );
  return h("label", { class: "field" }, h("span", {}, label), chosen);
}

// keys that go from step to step elsewhere
const SCROLLED_BY = { ArrowLeft: "Width", ArrowRight: "Width", Home: "Height", End: "Height" };

/**
 * A box that scrolls what does not fit into it, which depends on the visitor's fonts. While something does not fit, Tab reaches the
 * box, it has a name (its own label, or the one given here), and the keys that scroll it do nothing else.
 */
export function scrolling(box, label) {
  const over = (side) => box[`scroll${side}`] > box[`client${side}`];
  const attributes = { tabindex: 0, ...(label && { role: "group", "aria-label": label }) };
  const sizes = new ResizeObserver(() => {
    const set = over("Width") || over("Height");
    for (const [name, value] of Object.entries(attributes)) set ? box.setAttribute(name, value) : box.removeAttribute(name);
  });
  const watch = () => {
    sizes.disconnect();
    for (const each of [box, ...box.children]) sizes.observe(each);
  };
  new MutationObserver(watch).observe(box, { childList: true });
  watch();
  box.addEventListener("keydown", (event) => {
    if (event.target === box && event.key in SCROLLED_BY && over(SCROLLED_BY[event.key])) event.stopPropagation();
  });
  return box;
}

/** What opens below its summary; Escape closes it. */
export function menuOf(attributes, summary) {
  const menu = h("details", attributes, summary);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  return menu;
}

let said = {};

/** The texts of another language, by the English ones; without them the page speaks English. */
export function speak(texts = {}) {
  said = texts;
}

export function say(english) {
  return said[english] ?? english;
}

/** Say something to those who listen instead of looking. */
export function announce(text) {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}

/** One clear line about what went wrong. */
export function problem(text) {
  return h("p", { class: "problem", role: "alert" }, text);
}

/** A page that cannot be shown: it has a heading like all others, and one clear line. */
export function failed(text) {
  return [h("h1", {}, "This cannot be shown"), problem(text)];
}

export function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
