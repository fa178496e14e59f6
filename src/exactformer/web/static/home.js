// Home: the examples as cards, a place to drop a worksheet, and what was opened before.

import { button, h, problem, svg } from "./dom.js";
import { keep, recent } from "./recent.js";
import { address, go } from "./route.js";

const TOKENS = 8; // of an example that its card shows

export async function homeView(store) {
  const trouble = h("div", { "aria-live": "polite" });
  const [{ examples, networks = [] }, { model }, { lessons, languages }] = await Promise.all([
    store.get("examples"),
    store.get("about"),
    store.get("lessons"),
  ]);
  const before = recent();
  return h(
    "main",
    { class: "home", id: "main", tabindex: -1 },
    h(
      "header",
      { class: "hero" },
      h("h1", {}, "The whole transformer, by hand"),
      h(
        "p",
        { class: "lead" },
        "Every number is exact: a fraction, or a formula like e/(1+e). Walk through a pass one step at a time, " +
          "open any number, and follow it back to the weights.",
      ),
    ),
    model ? certifiedSection(model) : null,
    lessons.length ? lessonSection(lessons, languages) : null,
    h(
      "section",
      { "aria-labelledby": "examples" },
      h("h2", { id: "examples" }, "Examples"),
      h("ul", { class: "cards" }, examples.map((each) => card(each))),
    ),
    networks.length ? networkSection(networks) : null,
    h("section", { class: "own", "aria-labelledby": "own" }, h("h2", { id: "own" }, "Your own"), dropArea(trouble), trouble),
    before.length
      ? h(
          "section",
          { "aria-labelledby": "recent" },
          h("h2", { id: "recent" }, "Recently opened"),
          h(
            "ul",
            { class: "recent" },
            before.map((entry) => h("li", {}, h("a", { href: address(opened(entry)) }, entry.title))),
          ),
        )
      : null,
  );
}

/** The lessons in the order in which they are read. */
function lessonSection(lessons, languages) {
  const others = Object.keys(languages).filter((language) => language !== "en" && lessons.some((each) => language in each.languages));
  const to = (view, language) => address({ source: "lesson", view, language });
  return h(
    "section",
    { "aria-labelledby": "lessons" },
    h("h2", { id: "lessons" }, "Lessons"),
    h(
      "ol",
      { class: "lesson-list" },
      lessons.map(({ slug, title, summary }) => h("li", {}, h("a", { class: "card", href: to(slug) }, h("h3", {}, title), h("p", {}, summary)))),
    ),
    others.map((language) =>
      h(
        "p",
        { class: "lesson-languages", lang: language },
        `${languages[language]}: `,
        lessons
          .filter((each) => language in each.languages)
          .flatMap((each, n) => [n ? " · " : "", h("a", { href: to(each.slug, language), hreflang: language }, each.languages[language])]),
      ),
    ),
  );
}

/** Small trained models, which open in balls: exact numbers of theirs are long formulas. */
function networkSection(networks) {
  return h(
    "section",
    { "aria-labelledby": "networks" },
    h("h2", { id: "networks" }, "Trained networks"),
    h(
      "p",
      { class: "note" },
      "Small models, each trained for one task. The program proves on how many of all inputs one is right: ",
      h("code", {}, `exactformer prove ${networks[0].name} --count`),
    ),
    h("ul", { class: "cards" }, networks.map((each) => card(each, "arb"))),
  );
}

function card(example, arithmetic) {
  return h(
    "li",
    {},
    h(
      "a",
      { class: "card", href: address({ source: example.name, arithmetic }) },
      picture(example),
      h("h3", {}, example.title),
      h("p", {}, example.about),
      h(
        "p",
        { class: "meta" },
        `${example.tokens.slice(0, TOKENS).join(" ")} · ${count(example.blocks, "block")} · ${count(example.heads, "head")}`,
      ),
    ),
  );
}

/** The model that the server was started with. */
function certifiedSection({ name, built_in: builtIn }) {
  const heights = [92, 74, 60, 52, 40, 33, 22, 15];
  const points = heights.map((y, n) => [24 + n * 32, y]);
  return h(
    "section",
    { "aria-labelledby": "certified" },
    h("h2", { id: "certified" }, builtIn ? "The built-in model" : "Your model"),
    h(
      "a",
      { class: "card wide", href: "#certified" },
      svg(
        "svg",
        { class: "mini", viewBox: "0 0 272 108", "aria-hidden": "true" },
        svg("polyline", { class: "growth", points: points.join(" ") }),
        points.map(([cx, cy], n) =>
          svg("circle", { class: `dot ${n === heights.length - 1 ? "out" : "attention"}`, cx, cy, r: 5 }),
        ),
      ),
      h(
        "div",
        {},
        h("h3", {}, `${name}: the next token, proved`),
        h(
          "p",
          {},
          "Give a prompt. Each token that follows is proved to be the argmax of the exact network, with its margin, " +
            "proved digits of the largest logits, and a certificate to check again; the pass itself can be walked through.",
        ),
      ),
    ),
  );
}

function count(n, noun) {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** A small picture: tokens as columns, what each block does as rows. */
function picture({ tokens, blocks, mlp, mask, logits }) {
  const columns = Math.max(1, Math.min(tokens.length, TOKENS));
  const rows = Array.from({ length: Math.min(blocks, 2) }, () => ["attention", ...(mlp ? ["mlp"] : [])])
    .flat()
    .concat(logits ? ["out"] : []);
  const x = (n) => 18 + n * 30,
    y = (n) => 16 + (n + 1) * 20;
  const parts = [];
  for (let i = 0; i < columns; i++)
    parts.push(svg("line", { class: "flow", x1: x(i), y1: 14, x2: x(i), y2: y(rows.length - 1) }));
  rows.forEach((row, n) => {
    for (let i = 0; i < columns; i++) {
      if (row === "attention") {
        for (let j = 0; j < columns; j++)
          if (j < i || (mask === "none" && j !== i))
            parts.push(svg("line", { class: "look", x1: x(j), y1: y(n) - 14, x2: x(i), y2: y(n) }));
      }
      parts.push(svg("circle", { class: `dot ${row}`, cx: x(i), cy: y(n), r: 5 }));
    }
  });
  for (let i = 0; i < columns; i++) parts.push(svg("circle", { class: "dot token", cx: x(i), cy: 14, r: 5 }));
  return svg(
    "svg",
    { class: "mini", viewBox: `0 0 ${x(columns - 1) + 18} ${Math.max(y(rows.length - 1) + 14, 76)}`, "aria-hidden": "true" },
    parts,
  );
}

/** Where a file of the user's own is shown: a lesson, or the pass of a worksheet. */
function opened({ name = "", source }) {
  return /\.md$/i.test(name) ? { source: "lesson", view: source } : { source };
}

function dropArea(trouble) {
  const file = h("input", { type: "file", accept: ".toml,.md,text/plain", id: "worksheet-file", class: "visually-hidden" });
  const take = async (given) => {
    if (!given) return;
    try {
      go(opened({ name: given.name, source: await keep(given.name, await given.text()) }));
    } catch (error) {
      trouble.replaceChildren(problem(error.message));
    }
  };
  const area = h(
    "div",
    { class: "drop" },
    h(
      "p",
      {},
      "Drop a worksheet or a lesson here, or ",
      button("choose a file", () => file.click(), { class: "link" }),
      ".",
    ),
    h(
      "p",
      { class: "note" },
      "A worksheet is a text file with a model and its tokens. Start from one of the examples: open it, then “Download worksheet”. " +
        "A lesson (.md) that uses files beside it is opened by the program: exactformer serve LESSON.md.",
    ),
    file,
  );
  file.addEventListener("change", () => take(file.files[0]));
  area.addEventListener("dragover", (event) => {
    event.preventDefault();
    area.classList.add("over");
  });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
  file.setAttribute("aria-label", "A worksheet or a lesson");
  return area;
}
