// The way of the numbers through the pipeline, from step to step: how far they have come, and what the step changes.

import { svg } from "./dom.js";
import { differ } from "./values.js";

const TIME = 420; // milliseconds from one stage to the next

/** The part of a column that is computed: from the tokens down to the lit stage, or, backwards, from the loss up to it. */
export function done(x, top, bottom) {
  return svg("line", { class: "done", x1: x, y1: top, x2: x, y2: Math.max(top, bottom) });
}

/** Is a stage proved to give other numbers at a position than the pass without changes? Asked of what is here already. */
export function changed(book, step, position) {
  const [mine, other] = [book.kept.get(step.name), book.base?.kept.get(step.name)];
  if (!mine || !other) return false;
  const rows = (values) => (step.shape.length === 3 ? values.map((head) => head[position]) : [values[position]]).flat();
  const [left, right] = [rows(mine), rows(other)];
  return left.length === right.length && left.some((value, n) => value && right[n] && differ(value, right[n]));
}

/** Move from the picture as it was to the picture as it is, for those who want motion. */
export function moved(before, after) {
  const [from, to] = [before, after].map((root) => root?.querySelector(".lit-band")?.y.baseVal.value);
  if (from === undefined || to === undefined || from === to || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const gliding = { duration: TIME, easing: "cubic-bezier(.3, 0, .2, 1)" };
  after.querySelector(".lit-band").animate([{ transform: `translateY(${from - to}px)` }, { transform: "none" }], gliding);
  for (const line of after.querySelectorAll(".done")) {
    const drop = svg("circle", { class: "drop", cx: line.x1.baseVal.value, cy: to + 20, r: 4 });
    after.append(drop);
    drop.animate([{ transform: `translateY(${from - to}px)`, opacity: 1 }, { transform: "none", opacity: 0.2 }], gliding).onfinish = () =>
      drop.remove();
  }
  for (const node of after.querySelectorAll(".stage.lit .node.turned"))
    node.animate([{ strokeWidth: "7px" }, { strokeWidth: "2.2px" }], { duration: 2 * TIME, easing: "ease-out" });
}
