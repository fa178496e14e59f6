// Where an answer comes from: a logit, or the lead of one over another, as a sum of bars, proved to add up; and what becomes of a lead
// without a part of the model. What is asked stands in the address.

import { button, h, problem, scrolling } from "./dom.js";
import { LeftOut, choice } from "./leftout.js";
import { go } from "./route.js";
import { nextToken } from "./step.js";
import { kind, known, spoken } from "./values.js";

const MOST = 200; // tokens that are offered by name
const LEADS = ["before", "after", "change"];

/** The view of a pass. */
export class Explaining {
  constructor(book) {
    this.book = book;
    this.answer = h("div", { class: "answer", "aria-live": "polite" });
    this.lens = h("div", { "aria-live": "polite" });
    this.last = book.tokens.length - 1;
    const tokens = (book.model.outputs ?? book.model.vocabulary ?? []).slice(0, MOST).map((token) => [token, token]);
    this.offers = {
      position: book.tokens.map((token, n) => [String(n), `${n}: ${token}`]),
      token: [["", "the token it says"], ...tokens],
      over: [["", "nothing"], ...tokens],
    };
    this.fields = { position: field("position"), token: field("logit of"), over: field("less that of") };
    this.element = h(
      "section",
      { class: "theory choosing explaining" },
      h("h2", {}, "Where the answer comes from"),
      h("p", { class: "asked" }, Object.values(this.fields)),
      this.answer,
      h("h3", {}, "What it would say after each block"),
      this.lens,
      this.ablating(),
    );
  }

  /** Show what an address asks. */
  async show(route) {
    this.route = route;
    const { position, token = "", over = "", ablate, mean } = route;
    const chosen = { position: position ?? String(this.last), token, over };
    for (const [name, value] of Object.entries(chosen)) this.choose(name, value);
    this.asked = { position: Number(chosen.position), ...(token && { token }), ...(over && { over }) };
    this.withoutParts(ablate, mean);
    if (this.explained === JSON.stringify(this.asked)) return;
    this.explained = JSON.stringify(this.asked);
    await this.ask("explain", this.asked, this.answer, told);
    const { position: place } = this.asked;
    if (this.looked === place) return;
    this.looked = place; // after it, so that one process has computed the pass for both; the bars do not wait for it
    this.lens.replaceChildren(h("p", { class: "working" }, "Looking at the stream …"));
    this.ask("lens", { position: place }, this.lens, looks);
  }

  choose(name, value) {
    const attributes = { onchange: ({ target }) => this.go({ [name]: name === "position" && target.value === String(this.last) ? "" : target.value }, true) };
    const label = this.fields[name];
    const shown = label.lastElementChild;
    if (shown.value === value && shown.tagName === "SELECT") return;
    shown.replaceWith(choice(label.firstElementChild.textContent, this.offers[name], value, attributes));
  }

  go(change, replace = false) {
    go({ ...this.route, ...change }, replace);
  }

  async ask(task, question, box, show) {
    try {
      box.replaceChildren(...show(await this.book.store.ask(task, { source: this.book.source, ...question }, task)));
    } catch (error) {
      if (error.name !== "AbortError") box.replaceChildren(problem(error.message));
    }
  }

  /** The form that leaves parts out. */
  ablating() {
    this.left = new LeftOut(this.book.model.parts, { ways: true, least: 1, changed: () => this.drawMeans() });
    this.prompts = h("textarea", { rows: 3, maxlength: 100_000, spellcheck: "false", autocomplete: "off" });
    this.over = h("label", { class: "field prompts" }, h("span", {}, "prompts of the mean, one a line"), this.prompts);
    this.cancel = button("Cancel", () => this.book.store.cancel("ablate"), { hidden: true });
    this.trouble = h("div", {});
    this.result = h("div", { "aria-live": "polite" });
    this.drawMeans();
    return h(
      "section",
      { class: "ablating", "aria-labelledby": "ablating" },
      h("h3", { id: "ablating" }, "Without a part of the model"),
      h(
        "p",
        { class: "note" },
        "The pass is computed again without a head or an MLP, or with something else in its place, and the lead of a token over another is compared: " +
          "of the two tokens chosen above, or else of the token that it says over the next.",
      ),
      h(
        "form",
        { class: "leaving", novalidate: true, onsubmit: (event) => this.submitted(event) },
        this.left.list,
        this.over,
        h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Compute without it"), this.left.adder, this.cancel),
        this.trouble,
      ),
      this.result,
    );
  }

  drawMeans() {
    this.over.hidden = !this.left.means;
    this.complain("");
  }

  submitted(event) {
    event.preventDefault();
    const lines = this.prompts.value.split("\n").filter((line) => line.trim());
    const before = location.hash;
    this.go({ ablate: this.left.value, mean: this.left.means ? lines : [] });
    if (location.hash === before) this.leave();
  }

  /** Fill the form as an address says, and ask, where it says something else than before. */
  withoutParts(parts, prompts) {
    const question = JSON.stringify([this.asked, parts, prompts]);
    if (this.ablated === question) return;
    this.ablated = question;
    if (JSON.stringify(this.left.value) !== JSON.stringify(parts)) this.left.fill(parts);
    if (prompts.length) this.prompts.value = prompts.join("\n");
    this.drawMeans();
    if (parts.length) this.leave();
    else this.result.replaceChildren();
  }

  async leave() {
    const run = (this.run = {});
    const { ablate, mean } = this.route;
    const question = { source: this.book.source, ...this.asked, parts: ablate, ...(mean.length && { prompts: mean }) };
    this.complain("");
    this.cancel.hidden = false;
    this.result.replaceChildren(h("p", { class: "working" }, "Computing the pass again …"));
    try {
      const found = await this.book.store.ask("ablate", question, "ablate");
      if (this.run === run) this.result.replaceChildren(...changed(found));
    } catch (error) {
      if (this.run !== run) return;
      this.result.replaceChildren(...(error.name === "AbortError" ? [h("p", {}, "Cancelled.")] : []));
      if (error.name !== "AbortError") this.complain(error.message);
    } finally {
      if (this.run === run) this.cancel.hidden = true;
    }
  }

  /** One line about what is wrong, and the field that it names marked. */
  complain(line) {
    this.trouble.replaceChildren(...(line ? [problem(line)] : []));
    this.left.blame(line);
    this.prompts.setAttribute("aria-invalid", String(line.startsWith("prompts")));
    this.fields.over.lastElementChild.setAttribute("aria-invalid", String(line.startsWith("over")));
  }
}

function field(label) {
  return h("label", { class: "field" }, h("span", {}, label), h("span", {}));
}

function told({ token, over, value, told: proof, step, norms, contributions, tokens }) {
  const what = over === null ? `the logit of ${token}` : `the lead of ${token} over ${over}`;
  const longest = largestOf(contributions.flatMap((each) => [each.size, ...drawn(each).map((part) => part.size)]));
  const rows = contributions.flatMap((each) => [bar(each, longest, each.name), ...drawn(each).map((part) => bar(part, longest, titled(part, tokens)))]);
  return [
    h("p", { class: "told" }, `${what} is `, number(value), ` (${proof})`),
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

/** A lead without parts: the sentence of the command line, the lead before and after as bars, and the token before and after. */
function changed(found) {
  const longest = largestOf(Object.values(found.sizes));
  const rows = LEADS.map((name) => bar({ value: found[name], size: found.sizes[name] }, longest, name));
  return [
    h("p", { class: "told" }, found.told),
    scrolling(h("div", { class: "bars" }, h("ol", {}, rows)), `The lead of ${found.token} over ${found.over}`),
    h("ul", { class: "output" }, found.output.map((output, n) => nextToken(`${n ? "After" : "Before"}:`, output))),
  ];
}

/** The largest of the source positions of a head, or of the units of an MLP, and the sum of the others. */
function drawn({ parts = [], shown = [], others }) {
  const largest = parts.filter(({ name }) => shown.includes(name));
  return others ? [...largest, others] : largest;
}

function titled({ name }, tokens) {
  const [what, n] = name.split(" ");
  return what === "position" ? `· ${name} ${tokens[Number(n)]}` : `· ${name}`;
}

function largestOf(sizes) {
  return Math.max(...sizes.map(Math.abs));
}

function bar({ value, size }, longest, name) {
  const fill = h("span", { class: size < 0 ? "fill less" : "fill" });
  fill.style.width = `${((100 * Math.abs(size)) / (longest || 1)).toFixed(2)}%`;
  return h("li", {}, h("span", { class: "token" }, name), h("span", { class: "track", "aria-hidden": "true" }, fill), number(value));
}

function number(value) {
  const text = value.low && value.status !== "exact" ? known(value, 8) : (value.text ?? "undefined");
  return h("span", { class: `n ${kind(value)}`, "aria-label": spoken(value) }, text);
}
