// What the page hands out: the pass in other forms, the picture, a printed page.

import { button, h, menuOf, save } from "./dom.js";
import { diagramText } from "./diagram.js";
import { address, go, read } from "./route.js";

const FORMS = [
  ["json", "JSON"],
  ["latex", "LaTeX"],
  ["markdown", "Markdown"],
  ["html", "One HTML file"],
  ["worksheet", "Worksheet"],
];

/** A pass as a file of some form. */
export async function downloaded(book, form, at = "") {
  const { name, type, text } = await book.store.ask("export", { source: book.source, form, at }, "export");
  save(name, type, text);
}

export function exportMenu(book, route, tell) {
  const menu = menuOf({ class: "menu" }, h("summary", {}, "Export"));
  const done = (work) => async () => {
    menu.open = false;
    try {
      await work();
    } catch (error) {
      tell(error.message);
    }
  };
  const here = () => {
    const { step, position, head, number } = read();
    return address({ source: "", step, position, head, number });
  };
  const download = (form) => done(() => downloaded(book, form, form === "html" ? here() : ""));
  const picture = done(() => save("pipeline.svg", "image/svg+xml", diagramText(document.querySelector("svg.diagram"))));
  menu.append(
    h(
      "div",
      { class: "items" },
      book.store.live ? FORMS.map(([form, label]) => button(label, download(form))) : null,
      button("Diagram (SVG)", picture),
      button(
        "Handout of the whole pass",
        done(() => go({ source: route.source, edit: route.edit, break: route.break, arithmetic: route.arithmetic, view: "handout" })),
      ),
      button(
        "Print this step",
        done(() => print()),
      ),
    ),
  );
  return menu;
}
