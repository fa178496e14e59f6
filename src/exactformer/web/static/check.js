// Check: the printed numbers of a worksheet or of a lesson, with the verdicts in place.

import { button, h, problem, save, scrolling } from "./dom.js";

const MARKS = { right: "✓", truncated: "⊣", "last digit off": "≈", wrong: "✗", undecided: "?" };

export function checkView(store) {
  const name = h("input", { type: "text", value: "lesson.md", id: "check-name", autocomplete: "off" });
  const text = h("textarea", {
    rows: 14,
    id: "check-text",
    spellcheck: "false",
    placeholder: "Paste a worksheet with claims, or a Markdown lesson with fenced worksheet blocks.",
  });
  const result = h("div", { class: "result", "aria-live": "polite" });
  const check = async (event) => {
    event?.preventDefault();
    result.replaceChildren(h("p", { class: "working" }, "Checking …"));
    try {
      result.replaceChildren(
        report(
          await store.ask("check", { text: text.value, name: name.value || "lesson.md" }, "check"),
          text.value,
          name.value,
        ),
      );
    } catch (error) {
      if (error.name !== "AbortError") result.replaceChildren(problem(error.message));
    }
  };
  const lesson = async () => {
    const found = await store.ask("lesson", { name: "attention" });
    [text.value, name.value] = [found.text, found.name];
    await check();
  };
  return h(
    "main",
    { class: "check", id: "main", tabindex: -1 },
    h("h1", {}, "Check printed numbers"),
    h(
      "p",
      { class: "lead" },
      "Every number that a lesson prints is computed without rounding and judged: right, cut off, last digit off, or wrong; " +
        "and a wrong one is either a new error or follows from an error before it.",
    ),
    h(
      "form",
      { onsubmit: check },
      h("label", { for: "check-text" }, "The worksheet or lesson"),
      text,
      h(
        "div",
        { class: "buttons" },
        h("label", { for: "check-name" }, "File name"),
        name,
        h("button", { type: "submit", class: "primary" }, "Check"),
        button("Try the built-in lesson", lesson),
      ),
    ),
    result,
  );
}

function report(found, text, name) {
  const counts = Object.entries(found.counts).filter(([, count]) => count);
  const problems = found.findings.filter(({ verdict }) => verdict !== "right");
  return h(
    "article",
    { class: "checked" },
    h(
      "p",
      { class: "counts" },
      counts.map(([verdict, count]) =>
        h("span", { class: `pill ${verdict.replaceAll(" ", "-")}` }, `${MARKS[verdict]} ${count} ${verdict}`),
      ),
      counts.length ? null : "No claims.",
    ),
    found.first_wrong
      ? h(
          "p",
          {},
          "First wrong: ",
          h("code", {}, `${found.first_wrong.subject}[${found.first_wrong.index.join(", ")}]`),
          `, line ${found.first_wrong.line}.`,
        )
      : null,
    found.fixed ? button("Download corrected version", () => save(name, "text/plain", found.fixed)) : null,
    scrolling(h("pre", { class: "marked" }, marked(text, found.findings)), "The text with its verdicts"),
    problems.length
      ? h(
          "ul",
          { class: "findings" },
          problems.map((finding) =>
            h(
              "li",
              { class: finding.verdict.replaceAll(" ", "-") },
              h("span", { class: "mark" }, MARKS[finding.verdict]),
              ` line ${finding.line}, `,
              h("code", {}, `${finding.subject}[${finding.index.join(", ")}]`),
              ": ",
              h("s", {}, finding.printed),
              " ",
              h("strong", {}, finding.true),
              ` (${finding.more})`,
              finding.verdict === "wrong" || finding.verdict === "last digit off"
                ? finding.carried_on
                  ? ", follows from an error before it"
                  : ", a new error"
                : "",
            ),
          ),
        )
      : null,
  );
}

/** The text with a mark around every number that was judged. Offsets count code points. */
function marked(text, findings) {
  const letters = [...text];
  const pieces = [];
  let at = 0;
  for (const finding of [...findings].sort((a, b) => a.span[0] - b.span[0])) {
    const [start, end] = finding.span;
    if (start < at) continue;
    const verdict = finding.verdict === "right" ? "right" : `${finding.verdict}: ${finding.true}`;
    pieces.push(
      letters.slice(at, start).join(""),
      h(
        "mark",
        { class: finding.verdict.replaceAll(" ", "-"), title: verdict },
        letters.slice(start, end).join(""),
        finding.verdict === "right" ? null : h("span", { class: "truth" }, ` ${finding.true}`),
      ),
    );
    at = end;
  }
  return [...pieces, letters.slice(at).join("")];
}
