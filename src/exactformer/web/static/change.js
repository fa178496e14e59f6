// Change it: tokens, scale, mask, norm, activation and ε; weights are changed where they are opened.
// The list of changes is what undo takes the last of.

import { button, h, problem, select } from "./dom.js";

const MASKS = ["causal", "strict", "none"],
  NORMS = ["none", "pre", "post"];

/** options: { edits, change(line), undo(), reset(), download() }. `change` answers with a line about what is wrong, or with nothing. */
export function changeBox(book, { edits, change, undo, reset, download }) {
  const trouble = h("div", { class: "trouble", "aria-live": "polite" });
  const tell = async (line) => {
    const wrong = await change(line);
    trouble.replaceChildren(...(wrong ? [problem(wrong)] : []));
  };
  const { model } = book;
  return h(
    "section",
    { class: "change", "aria-label": "Change it" },
    h(
      "div",
      { class: "fields" },
      tokens(book, tell),
      select("mask", MASKS, model.mask, (value) => tell(`mask=${value}`)),
      text("scale", model.scale_given, (value) => tell(`scale=${value}`), "none, sqrt, or a number"),
      select("norm", NORMS, model.norm, (value) => tell(`norm=${value}`)),
      model.epsilon === null ? null : text("ε", model.epsilon, (value) => tell(`epsilon=${value}`), "a number"),
      model.mlp ? select("activation", model.activations, model.activation, (value) => tell(`activation=${value}`)) : null,
    ),
    h(
      "div",
      { class: "changes" },
      edits.length
        ? h(
            "p",
            { class: "list" },
            `${edits.length} ${edits.length === 1 ? "change" : "changes"}: `,
            edits.map((edit) => h("code", {}, edit)),
          )
        : h("p", { class: "list" }, "To change a weight, open it: click any number in a matrix marked “weight”."),
      h(
        "div",
        { class: "buttons" },
        button("Undo", undo, { disabled: !edits.length }),
        button("Reset", reset, { disabled: !edits.length }),
        button("Download worksheet", download),
      ),
    ),
    trouble,
  );
}

/** The line that changes the tokens. */
export function tokensLine(list) {
  return `tokens=${list.every((token) => !/\s/.test(token) && !token.startsWith("[")) ? list.join(" ") : JSON.stringify(list)}`;
}

function tokens(book, tell) {
  const { vocabulary, length } = book.model;
  const set = (list) => tell(tokensLine(list));
  if (!vocabulary || vocabulary.length > 200)
    return text("tokens", book.tokens.join(" "), (value) => tell(`tokens=${value}`), "tokens with spaces between them");
  const chosen = book.tokens.map((token, n) =>
    h(
      "select",
      { "aria-label": `Token ${n}`, onchange: (event) => set(book.tokens.with(n, event.target.value)) },
      vocabulary.map((word) => h("option", { value: word, selected: word === token }, word)),
    ),
  );
  return h(
    "div",
    { class: "field tokens", role: "group", "aria-label": "Tokens" },
    h("span", {}, "tokens"),
    h(
      "div",
      { class: "token-row" },
      chosen,
      button("+", () => set([...book.tokens, vocabulary[0]]), {
        "aria-label": "Add a token",
        disabled: length !== null && book.tokens.length >= length,
      }),
      button("−", () => set(book.tokens.slice(0, -1)), {
        "aria-label": "Remove the last token",
        disabled: book.tokens.length < 2,
      }),
    ),
  );
}

function text(label, value, set, hint) {
  const field = h("input", {
    type: "text",
    value,
    title: hint,
    size: Math.max(5, Math.min(value.length + 1, 30)),
    autocomplete: "off",
    spellcheck: "false",
  });
  field.addEventListener("change", () => set(field.value.trim()));
  return h("label", { class: "field" }, h("span", {}, label), field);
}
