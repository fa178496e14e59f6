// The pipeline as a picture: stages from top to bottom, positions as columns, the current stage lit.

import { svg } from "./dom.js";
import { changed, done } from "./flow.js";
import { nearly } from "./values.js";

const LABEL = 100,
  ROW = 40,
  TOP = 46,
  HALF = 11;
const LETTER = 9.1; // pixels of a letter of a token
const MOST = 8; // columns that are drawn at once

/** `to({ stage, position })` is the address of a stage at a position. */
export function diagram(book, found, { lit, position, backward, to }) {
  const [first, last] = shownPositions(book.tokens.length, position);
  const columns = book.tokens.slice(first, last);
  const rows = collapsed(found, lit);
  const COLUMN = columns.length > 6 ? 36 : columns.length > 4 ? 46 : 60;
  const NODE = [COLUMN - (COLUMN < 40 ? 10 : 16), 2 * HALF];
  const x = (n) => LABEL + COLUMN * (n - first) + COLUMN / 2;
  const y = (n) => TOP + ROW * n + ROW / 2;
  const width = LABEL + COLUMN * columns.length + 16;
  const height = TOP + ROW * rows.length + 44;
  const root = svg("svg", {
    class: `diagram${backward ? " backward" : ""}`,
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "group",
    "aria-label": "The pipeline, from tokens to the next token",
  });
  const now = rows.findIndex((row) => row.stages.includes(lit));
  if (now >= 0) root.append(svg("rect", { class: "lit-band", x: 2, y: TOP + ROW * now, width: width - 4, height: ROW, rx: 8 }));
  if (position !== null && position >= first && position < last) {
    root.append(
      svg("rect", {
        class: "column-band",
        x: x(position) - COLUMN / 2 + 3,
        y: 4,
        width: COLUMN - 6,
        height: height - 8,
        rx: 8,
      }),
    );
  }
  const [start, end] = [TOP - 8, y(rows.length - 1) + ROW / 2 + 4];
  for (let p = first; p < last; p++) {
    root.append(flow(x(p), start, end));
    if (now >= 0) root.append(backward ? done(x(p), y(now), end) : done(x(p), start, y(now)));
  }
  rows.forEach((row, n) => {
    if (row.stages.length === 1) joins(root, book, row.stages[0], n, rows, { first, last, x, y, NODE, lit: n === now });
  });
  rows.forEach((row, n) =>
    root.append(drawnRow(book, row, n, row.stages.includes(lit), { first, last, x, y, to, NODE, before: rows[n - 1] })),
  );
  for (let p = first; p < last; p++) root.append(ends(book, p, x(p), height, Math.floor((COLUMN - 5) / LETTER)));
  if (first > 0 || last < book.tokens.length) {
    root.append(svg("text", { class: "more", x: 12, y: height - 14 }, `${first}–${last - 1} of ${book.tokens.length}`));
  }
  return root;
}

function shownPositions(length, position) {
  if (length <= MOST) return [0, length];
  const first = Math.max(0, Math.min((position ?? 0) - MOST / 2, length - MOST));
  return [first, first + MOST];
}

/** Blocks other than the current one take one row each, where there are many stages. */
function collapsed(found, lit) {
  const many = found.length > 16;
  const rows = [];
  for (const stage of found) {
    const folded = many && stage.block !== null && stage.block !== lit?.block;
    if (folded && rows.at(-1)?.block === stage.block) rows.at(-1).stages.push(stage);
    else
      rows.push({ label: folded ? `block ${stage.block}` : stage.label, block: folded ? stage.block : null, stages: [stage] });
  }
  return rows;
}

function flow(x, top, bottom) {
  return svg("line", { class: "flow", x1: x, y1: top, x2: x, y2: bottom });
}

/** Attention looks from column to column; a residual passes by its sub-layer. */
function joins(root, book, stage, n, rows, { first, last, x, y, NODE, lit }) {
  if (stage.label === "attention") {
    const pattern = stage.steps.find((name) => name.endsWith(".pattern"));
    const shape = pattern && book.step(pattern).shape;
    for (let i = first; i < last; i++) {
      for (let j = first; j < last; j++) {
        if (i === j || !shape) continue;
        const weights = Array.from({ length: shape[0] }, (_, head) => book.at(pattern, [head, i, j])).map((value) =>
          value ? nearly(value) : 0,
        );
        const weight = Math.max(...weights);
        if (!(weight > 0.004)) continue;
        const path = `M ${x(j)} ${y(n) - ROW + 14} C ${x(j)} ${y(n) - 12}, ${x(i)} ${y(n) - 28}, ${x(i)} ${y(n) - NODE[1] / 2}`;
        root.append(svg("path", { class: lit ? "look lit" : "look", d: path, "stroke-opacity": (0.15 + 0.85 * Math.min(weight, 1)).toFixed(2) }));
      }
    }
  }
  if (stage.label === "+ residual") {
    const from = rows.findLastIndex((row, k) => k < n && !/^(attention|MLP|layernorm|RMSNorm)$/.test(row.label) && k >= n - 3);
    const start = from < 0 ? n - 2 : from;
    if (start < -1 || rows[start + 1] === undefined || !book.model.residual) return;
    for (let p = first; p < last; p++) {
      const side = x(p) + NODE[0] / 2 + 5;
      root.append(
        svg("path", {
          class: "skip",
          d: [
            `M ${x(p)} ${y(start) + 16}`,
            `C ${side + 4} ${y(start) + 18}, ${side} ${y(start) + 22}, ${side} ${y(start) + 30}`,
            `L ${side} ${y(n) - 10} Q ${side} ${y(n)} ${x(p) + NODE[0] / 2} ${y(n)}`,
          ].join(" "),
        }),
      );
    }
  }
}

function drawnRow(book, row, n, isLit, { first, last, x, y, to, NODE, before }) {
  const stage = row.stages[0];
  const group = svg("g", { class: isLit ? "stage lit" : "stage" });
  group.append(
    svg(
      "a",
      {
        href: to({ stage }),
        "aria-label": `${row.label}${stage.block === null ? "" : `, block ${stage.block}`}`,
        "aria-current": isLit ? "step" : undefined,
      },
      svg("rect", { class: "hit", x: 4, y: y(n) - ROW / 2 + 3, width: LABEL - 10, height: ROW - 6, rx: 6 }),
      svg("text", { class: "label", x: 12, y: y(n) + 5 }, row.label),
    ),
  );
  const resultOf = ({ stages }) => book.step(stages.at(-1).steps.at(-1));
  const result = resultOf(row);
  for (let p = first; p < last; p++) {
    const kind = result.kinds[p] ?? "exact";
    const turned = before && (resultOf(before).kinds[p] ?? "exact") !== kind;
    group.append(
      svg(
        "a",
        { href: to({ stage, position: p }), tabindex: -1, "aria-hidden": "true" },
        svg("rect", {
          class: `node ${kind}${turned ? " turned" : ""}`,
          x: x(p) - NODE[0] / 2,
          y: y(n) - NODE[1] / 2,
          width: NODE[0],
          height: NODE[1],
          rx: 11,
        }),
        svg(
          "text",
          { class: `mark ${kind}`, x: x(p), y: y(n) + 5 },
          { named: "~", recovered: "*", ball: "±", float: "≈", undefined: "⊘" }[kind] ?? "",
        ),
        changed(book, result, p) ? svg("text", { class: "delta", x: x(p) - NODE[0] / 2 - 1, y: y(n) - 5 }, "△") : null,
      ),
    );
  }
  return group;
}

function ends(book, position, x, height, letters) {
  const output = book.output[position];
  const below = output ? (output.token ?? "·") : "";
  return svg(
    "g",
    { class: "ends" },
    svg("text", { class: "token", x, y: 26 }, clipped(book.tokens[position], letters)),
    svg("text", { class: "token out", x, y: height - 14 }, clipped(below, letters)),
  );
}

/** A token in so many letters: what does not fit would run into the one beside it. */
function clipped(text, most) {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}

const COPIED = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "opacity",
];

/** The picture as a file of its own, with the colours that it has now. */
export function diagramText(root) {
  const copy = root.cloneNode(true);
  const [from, to] = [root.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((element, n) => {
    const style = getComputedStyle(element);
    for (const name of COPIED) to[n].setAttribute(name, style.getPropertyValue(name));
  });
  copy.querySelectorAll("a").forEach((link) => link.removeAttribute("href"));
  copy.insertBefore(
    svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor }),
    copy.firstChild,
  );
  return new XMLSerializer().serializeToString(copy);
}
