// One proved token: its lead, the largest logits, and what the proof took.

import { h, scrolling } from "./dom.js";
import { beyond, layerTable, radiusPlot } from "./radius.js";

/** A token as a box, in which a space is seen. */
export function tokenBox({ id, text }, kind = "") {
  return h("span", { class: `token ${kind}`, title: text === `#${id}` ? undefined : `token ${id}` }, text || "∅");
}

export function claimItem(claim, open, question) {
  const status = claim.token === null ? "undecided" : claim.ties.length ? "tied" : "proved";
  return h(
    "li",
    {},
    h(
      "details",
      { class: `claim ${status}`, open },
      h(
        "summary",
        {},
        h("span", { class: "count" }, String(claim.number)),
        claim.token ? tokenBox(claim.token, status) : h("span", { class: "token undecided" }, "?"),
        h("span", { class: "status" }, { proved: "✓ proved", tied: "= tie, proved", undecided: "? undecided" }[status]),
        h("span", { class: "lead-over" }, lead(claim)),
        claim.short ? h("span", { class: "short" }, unknown(question)) : null,
      ),
      h(
        "div",
        { class: "proof" },
        claim.token ? null : h("p", { class: "why" }, givenUp(claim)),
        claim.top.length ? logits(claim) : null,
        claim.layers.length > 1 ? figure(claim) : null,
      ),
    ),
  );
}

function lead({ margin, ties, runner_up: runnerUp, why }) {
  if (why) return why.replace(/^undecided: /, "");
  if (ties.length) return ["the same logit as ", ties.map((token) => tokenBox(token))];
  if (!margin) return "the only token";
  return ["ahead of ", tokenBox(runnerUp), " by ", h("span", { class: "n" }, margin.digits)];
}

/** What is said to those who listen. */
export function spoken(claim, question) {
  const over = claim.margin && !claim.ties.length ? `, ahead of ${claim.runner_up.text} by ${claim.margin.digits}` : "";
  return `Token ${claim.number}: ${claim.verdict}${over}${claim.short ? `; ${unknown(question)}` : ""}`;
}

function unknown({ digits, cap }) {
  return `its logits are not known to ${digits} decimals with ${cap} limbs`;
}

function givenUp({ schedule, attempts }) {
  const limbs = Math.max(...schedule);
  return `Given up at ${limbs} limbs, after ${attempts} ${attempts === 1 ? "pass" : "passes"}: nothing is claimed of this token.`;
}

function logits({ number, top }) {
  return h(
    "div",
    { class: "logits" },
    h("h2", {}, "Largest logits"),
    scrolling(
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "figures" },
          h("caption", { class: "visually-hidden" }, "The largest logits, with proved digits"),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["token", "id", "proved digits"].map((name) => h("th", { scope: "col" }, name)),
            ),
          ),
          h(
            "tbody",
            {},
            top.map(({ token, digits, low, high }) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, tokenBox(token)),
                h("td", {}, String(token.id)),
                h("td", { class: digits.startsWith("between") ? "wide" : undefined, title: `between ${low} and ${high}` }, digits),
              ),
            ),
          ),
        ),
      ),
      `Largest logits of token ${number}`,
    ),
  );
}

function figure(claim) {
  const passes = claim.attempts === 1 ? "One pass" : `${claim.attempts} passes`;
  return h(
    "figure",
    {},
    h("h2", {}, "Error bound by layer"),
    radiusPlot(claim.layers),
    h("figcaption", {}, `The largest proved error of a token; dashed, the unit of its bits. ${beyond(claim.layers)}${passes}.`),
    h("details", { class: "by-layer" }, h("summary", {}, "Limbs, bits and error bounds as a table"), layerTable(claim)),
  );
}
