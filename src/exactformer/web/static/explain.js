// Where an answer comes from: a logit, or the lead of one over another, as a sum of bars, proved to add up.

import { h, problem, scrolling } from "./dom.js";
import { nextToken } from "./step.js";
import { digits, kind, spoken } from "./values.js";

const PROOFS = {
  equal: "proved: the contributions add up to it exactly",
  enclosed: "proved: each contribution lies in its enclosure, and the enclosure of their sum holds it",
  undecided: "undecided: whether they add up to it exactly was neither proved nor refuted",
  rounded: "not proved: floats are rounded",
};
const MOST = 200; // tokens that are offered by name

/** The view of a pass. */
export async function explanation(book) {
  const asked = { position: book.tokens.length - 1, token: "", over: "" };
  const answer = h("div", { class: "answer", "aria-live": "polite" });
  const lens = h("div", { "aria-live": "polite" }, h("p", { class: "working" }, "Looking at the stream …"));
  const ask = async (task, question, box, show) => {
    try {
      box.replaceChildren(...show(await book.store.ask(task, { source: book.source, position: asked.position, ...question }, task)));
    } catch (error) {
      if (error.name !== "AbortError") box.replaceChildren(problem(error.message));
    }
  };
  const explain = () => {
    const { token, over } = asked;
    return ask("explain", { ...(token && { token }), ...(token && over && { over }) }, answer, told);
  };
  const look = () => ask("lens", {}, lens, looks);
  const change = (name) => async (event) => {
    asked[name] = name === "position" ? Number(event.target.value) : event.target.value;
    await explain();
    if (name === "position") await look();
  };
  const tokens = (book.model.outputs ?? book.model.vocabulary ?? []).slice(0, MOST).map((token) => [token, token]);
  await explain();
  look(); // after it, so that one process has computed the pass for both; the bars do not wait for it
  return h(
    "section",
    { class: "theory choosing explaining" },
    h("h2", {}, "Where the answer comes from"),
    h(
      "p",
      { class: "asked" },
      choice("position", book.tokens.map((token, n) => [String(n), `${n}: ${token}`]), String(asked.position), change("position")),
      choice("logit of", [["", "the token it says"], ...tokens], "", change("token")),
      choice("less that of", [["", "nothing"], ...tokens], "", change("over")),
    ),
    answer,
    h("h3", {}, "What it would say after each block"),
    lens,
  );
}

function choice(label, options, chosen, onchange) {
  const list = options.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
  return h("label", { class: "field" }, h("span", {}, label), h("select", { "aria-label": label, onchange }, list));
}

function told({ token, over, value, proof, step, norms, contributions, tokens }) {
  const what = over === null ? `the logit of ${token}` : `the lead of ${token} over ${over}`;
  const longest = Math.max(...contributions.flatMap(({ size, parts = [] }) => [size, ...parts.map((part) => part.size)]).map(Math.abs));
  const rows = contributions.flatMap((each) => [bar(each, longest, each.name), ...largest(each, longest, tokens)]);
  return [
    h("p", { class: "told" }, `${what} is `, number(value), ` (${PROOFS[proof]})`),
    scrolling(h("div", { class: "bars" }, h("ol", {}, rows)), "Contributions"),
    norms.length ? h("p", { class: "note" }, "Norms are divided by their true scales, which are those of this pass.") : "",
    step === "uncapped" ? h("p", { class: "note" }, "A soft cap follows: what is explained is the value before it.") : "",
  ];
}

/** The lens: the token at each place of the stream, in the words of the command line. */
function looks({ looks }) {
  const where = (n) => (n ? `After block ${n - 1}` : "Before block 0");
  return [
    h("ol", { class: "output" }, looks.map((look, n) => nextToken([`${where(n)} `, h("code", {}, look.step), ":"], look))),
    h("p", { class: "note" }, "It is what the final norm and the unembedding make of the stream there."),
  ];
}

/** The largest of the source positions of a head, or of the units of an MLP. */
function largest({ parts = [] }, longest, tokens) {
  const sorted = [...parts].sort((a, b) => Math.abs(b.size) - Math.abs(a.size)).slice(0, 5);
  return parts
    .filter((part) => sorted.includes(part))
    .map((part) => {
      const [what, n] = part.name.split(" ");
      return bar(part, longest, what === "position" ? `· ${part.name} ${tokens[Number(n)]}` : `· ${part.name}`);
    });
}

function bar({ value, size }, longest, name) {
  const fill = h("span", { class: size < 0 ? "fill less" : "fill" });
  fill.style.width = `${((100 * Math.abs(size)) / (longest || 1)).toFixed(2)}%`;
  return h("li", {}, h("span", { class: "token" }, name), h("span", { class: "track", "aria-hidden": "true" }, fill), number(value));
}

function number(value) {
  const text = value.low && value.status !== "exact" ? digits(value, 8) : value.text;
  return h("span", { class: `n ${kind(value)}`, "aria-label": spoken(value) }, text);
}
