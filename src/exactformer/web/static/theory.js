// Circuits of heads as exact matrices, and theorems over all inputs.

import { button, h, problem, scrolling } from "./dom.js";
import { Book } from "./book.js";
import { Matrix } from "./table.js";

export async function circuits(book) {
  const { heads } = await book.store.ask("circuits", { source: book.source }, "circuits");
  return h(
    "div",
    { class: "theory" },
    heads.map(({ block, head, sentence, tables }) =>
      h(
        "section",
        {},
        h("h2", {}, `Block ${block}, head ${head}`),
        sentence ? h("p", { class: "sentence" }, `It ${sentence}.`) : null,
        h(
          "div",
          { class: "equation" },
          tables.map((table, n) => circuitTable(table, `${block}.${head}.${n}`)),
        ),
      ),
    ),
  );
}

/** A table of its own, drawn as a step of a pass is. */
function circuitTable(table, name) {
  const step = {
    name,
    shape: [table.rows.length, table.columns.length],
    axes: ["", ""],
    labels: [],
    links: [],
    op: "weight",
    kinds: [],
  };
  const book = new Book(null, null, { steps: [], weights: [step], values: { [name]: table.values }, tokens: [], model: {} });
  book.label = (_, axis, n) => (axis ? table.columns[n] : table.rows[n]);
  const what = table.title.split(": ").at(-1);
  const matrix = new Matrix(book, step, {
    role: "reads",
    head: 0,
    label: `${table.title}, ${table.meaning}`,
    open() {},
    caption: [h("span", { class: "caption-name" }, what), " ", h("span", { class: "caption-role" }, table.meaning)],
  });
  return matrix.element;
}

export function theorem(book) {
  const length = h("input", {
    type: "number",
    min: 1,
    max: 8,
    value: Math.min(5, book.model.length ?? 5),
    id: "theorem-length",
  });
  const result = h("div", { class: "result", "aria-live": "polite" });
  const cancel = button("Cancel", () => book.store.cancel("theorem"), { hidden: true });
  const prove = async (event) => {
    event?.preventDefault();
    cancel.hidden = false;
    result.replaceChildren(h("p", { class: "working" }, "Proving: every sequence is computed without rounding …"));
    try {
      result.replaceChildren(
        report(await book.store.ask("theorem", { source: book.source, length: Number(length.value) }, "theorem")),
      );
    } catch (error) {
      result.replaceChildren(error.name === "AbortError" ? h("p", {}, "Cancelled.") : problem(error.message));
    }
    cancel.hidden = true;
  };
  const view = h(
    "div",
    { class: "theory" },
    h(
      "form",
      { class: "prove", onsubmit: prove },
      h("label", { for: "theorem-length" }, "Every sequence of up to"),
      length,
      h("span", {}, "tokens"),
      h("button", { type: "submit", class: "primary" }, "Prove"),
      cancel,
    ),
    result,
  );
  prove();
  return view;
}

function report(found) {
  const rows = Object.entries(found.kinds).sort();
  return h(
    "article",
    { class: `report ${found.verdict}` },
    h(
      "p",
      { class: "verdict-line" },
      h("span", { class: "stamp" }, { proved: "✓ proved", refuted: "✗ refuted", undecided: "? undecided" }[found.verdict]),
    ),
    h("h2", {}, "Theorem"),
    h("p", { class: "statement" }, `${found.statement[0].toUpperCase()}${found.statement.slice(1)}.`),
    h(
      "p",
      {},
      `${found.cases.toLocaleString("en")} cases computed, which stand for ${found.sequences.toLocaleString("en")} sequences`,
      found.interchangeable.length
        ? ` (interchangeable, proved: ${found.interchangeable.map((group) => group.join(" ")).join("; ")})`
        : "",
      `, in ${found.seconds.toFixed(1)} s.`,
    ),
    scrolling(
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "kinds" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["", "sequences", "least lead, proved", "at"].map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))),
            ),
          ),
          h(
            "tbody",
            {},
            rows.map(([name, kind]) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, name),
                h("td", {}, kind.sequences.toLocaleString("en")),
                h("td", {}, kind.least_lead ?? "–"),
                h("td", {}, h("code", {}, kind.at.join(" "))),
              ),
            ),
          ),
        ),
      ),
      "Kinds of sequences",
    ),
    found.failures.length
      ? h(
          "section",
          {},
          h("h3", {}, "Where it fails"),
          h(
            "ul",
            {},
            found.failures.map((failure) =>
              h(
                "li",
                {},
                "after ",
                h("code", {}, failure.tokens.join(" ")),
                ` it says ${failure.token ?? "nothing"}, where ${failure.right.join(" or ") || "a tie of all"} is demanded`,
              ),
            ),
          ),
        )
      : null,
  );
}
