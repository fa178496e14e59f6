// A number, a matrix or a step on the clipboard, as LaTeX, as Markdown or for NumPy. Formulas are read from how they are drawn.

import { announce, button, h, menuOf } from "./dom.js";
import { short } from "./book.js";
import { math } from "./math.js";
import { digits, known } from "./values.js";

const FORMS = [
  ["latex", "LaTeX"],
  ["markdown", "Markdown"],
  ["numpy", "NumPy"],
];

/** A small menu; `write(form)` gives the text. */
export function copyMenu(label, write) {
  const menu = menuOf({ class: "menu copy" }, h("summary", { "aria-label": `Copy ${label}`, title: `Copy ${label} …` }, "copy"));
  const copy = async (form, name) => {
    menu.open = false;
    const outcome = await written(await write(form)).then(
      () => `Copied as ${name}`,
      () => "The browser does not allow copying here",
    );
    announce(outcome);
    menu.querySelector("summary").textContent = outcome.startsWith("Copied") ? "copied ✓" : "not allowed";
    setTimeout(() => (menu.querySelector("summary").textContent = "copy"), 1600);
  };
  menu.append(
    h(
      "div",
      { class: "items" },
      FORMS.map(([form, name]) => button(name, () => copy(form, name))),
    ),
  );
  return menu;
}

/** Put a text on the clipboard; pages that came over plain HTTP from another machine have only the old way. */
async function written(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea", { value: text, class: "visually-hidden", "aria-hidden": "true" });
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("not copied");
}

/** One number with its name: { value, simplified } as the server opens it. */
export function copiedNumber(name, index, { value, simplified, digits: proved }, form) {
  const at = `${name}[${index.join(", ")}]`;
  const text = value.status === "exact" || value.status === "named" ? simplified : plain(value);
  const near = value.status === "named" && proved ? proved : "";
  if (form === "latex") return `${nameInLatex(name, index)} = ${latex(text)}${near ? ` \\approx ${latex(near)}` : ""}`;
  if (form === "markdown") return `\`${at}\` = ${code(text)}${near ? ` ≈ ${near}` : ""}`;
  return python(value, text);
}

/** The matrix that a step computes, with the formula of the step: of one head, where there are several. */
export async function copied(book, step, head, form) {
  if (!book.isWhole(step.name)) return `${step.name}: ${step.shape.join(" × ")} numbers; export the pass instead`;
  await book.need([step.name]);
  const rows = rowsOf(book, step, head);
  const name = short(step.name);
  if (form === "numpy") return `${identifier(step.name)} = np.array([${rows.map((row) => `[${row.map((value) => python(value)).join(", ")}]`).join(", ")}])  # ${name} = ${step.formula}`;
  if (form === "latex") {
    const body = rows.map((row) => row.map((value) => latex(plain(value))).join(" & ")).join(" \\\\\n");
    return `${nameInLatex(step.name)} = ${latex(step.formula)} =\n\\begin{pmatrix}\n${body}\n\\end{pmatrix}`;
  }
  const last = step.shape.length - 1;
  const labels = rows[0].map((_, j) => book.label(step, last, j, head));
  const side = rows.map((_, i) => (last > 0 ? book.label(step, last - 1, i, head) : ""));
  return [
    `**${step.title}**: ${code(`${name} = ${step.formula}`)}`,
    "",
    `| ${["", ...labels].map(cell).join(" | ")} |`,
    `|${"---|".repeat(labels.length + 1)}`,
    ...rows.map((row, i) => `| ${cell(side[i])} | ${row.map((value) => code(plain(value)).replaceAll("|", "\\|")).join(" | ")} |`),
  ].join("\n");
}

function rowsOf(book, step, head) {
  const [rows, columns] = step.shape.length === 1 ? [1, step.shape[0]] : step.shape.slice(-2);
  const at = (i, j) => (step.shape.length === 1 ? [j] : step.shape.length === 2 ? [i, j] : [head, i, j]);
  return Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => book.at(step.name, at(i, j))));
}

/** A number in a matrix as text: its closed form, else its digits. */
function plain(value) {
  if (value.status === "masked") return "-∞";
  if (value.status === "undefined") return "undefined";
  if (value.status === "ball") return digits(value, 12);
  return value.text?.startsWith("≈") ? known(value, 12) : (value.text ?? "none");
}

function code(text) {
  const most = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const ticks = "`".repeat(most + 1);
  return /^[`\s]|[`\s]$/.test(text) ? `${ticks} ${text} ${ticks}` : `${ticks}${text}${ticks}`;
}

function cell(text) {
  return text === "" ? "" : code(text).replaceAll("|", "\\|");
}

function identifier(name) {
  return name.replace(/^blocks\.(\d+)\./, "block$1_").replaceAll(/[^\w]/g, "_");
}

function nameInLatex(name, index = null) {
  const typeset = `\\mathtt{${short(name).replaceAll("_", "\\_")}}`;
  return index ? `${typeset}_{${index.join(",")}}` : typeset;
}

/** A number as an expression: floats are as near as floats are. */
function python(value, text = plain(value)) {
  if (value.status === "masked") return "-np.inf";
  if (value.status === "undefined") return "np.nan";
  if (value.status === "token") return JSON.stringify(value.text ?? "");
  const found = read(math(text));
  const unknown = /[^\x20-\x7e]|…/.test(found.python) || found.foreign;
  return unknown ? (value.low ?? value.text).replace("…", "") : found.python;
}

/** What is drawn as mathematics, as LaTeX. */
export function latex(text) {
  return read(math(text)).latex;
}

const SIGNS = { "·": ["\\cdot ", "*"], "×": ["\\times ", "*"], "−": ["-", "-"], "∞": ["\\infty ", "np.inf"], π: ["\\pi ", "np.pi"], "…": ["\\ldots ", "…"], ε: ["\\varepsilon ", "ε"], "→": ["\\to ", "→"], "≥": ["\\ge ", ">="], "≤": ["\\le ", "<="], "≈": ["\\approx ", "≈"], "⊘": ["\\varnothing ", "np.nan"] };
const KNOWN = { exp: "np.exp", log: "np.log", sin: "np.sin", cos: "np.cos", tanh: "np.tanh" };
const FUNCTION_NAMES = new Set(["exp", "log", "sin", "cos", "tanh", "max"]);

/** An element of MathML as LaTeX and as an expression; `foreign` where there is something that NumPy does not know. */
function read(element) {
  const parts = [...element.children].map(read);
  const foreign = parts.some((part) => part.foreign);
  const [a, b] = parts;
  const text = element.textContent;
  switch (element.localName) {
    case "mfrac":
      return { latex: `\\frac{${a.latex}}{${b.latex}}`, python: `(${a.python})/(${b.python})`, foreign };
    case "msup":
      return {
        latex: `${/^\w$/.test(a.latex) ? a.latex : `{${a.latex}}`}^{${b.latex}}`,
        python: a.python === "np.e" ? `np.exp(${b.python})` : `(${a.python})**(${b.python})`,
        foreign: foreign || element.children[1].textContent === "T",
      };
    case "msub":
      return { latex: `${a.latex}_{${b.latex}}`, python: text, foreign: true };
    case "msqrt":
      return { latex: `\\sqrt{${parts.map((part) => part.latex).join("")}}`, python: `np.sqrt(${parts.map((part) => part.python).join("")})`, foreign };
    case "mn":
      return { latex: text, python: text, foreign: false };
    case "mspace":
      return { latex: "\\,", python: "", foreign: false };
    case "mtext":
      return { latex: `\\mathtt{${text.replaceAll(/[\\{}$&#%_^~]/g, (sign) => (sign === "\\" ? "\\backslash " : `\\${sign}`))}}`, python: text, foreign: true };
    case "mi":
      if (text === "e") return { latex: "e", python: "np.e", foreign: false };
      if (FUNCTION_NAMES.has(text)) return { latex: `\\${text}`, python: KNOWN[text] ?? text, foreign: !(text in KNOWN) };
      if ([...text].length > 1) return { latex: `\\operatorname{${text.replace("′", "'")}}`, python: text, foreign: true };
  }
  if (parts.length) return { latex: parts.map((part) => part.latex).join(""), python: parts.map((part) => part.python).join(""), foreign };
  const [inLatex, inPython] = SIGNS[text] ?? [text, text];
  return { latex: inLatex, python: inPython, foreign: /\p{L}/u.test(text) && !(text in SIGNS) };
}
