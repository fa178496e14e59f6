// One number as it stands in a table: what it is, how it is marked, and whether it is proved to have changed.

import { h } from "./dom.js";

const LONGEST = 14; // characters of a closed form that stands in a cell
const DECIMALS = 5;

export const KINDS = {
  exact: { mark: "", meaning: "exact: a fraction" },
  named: { mark: "~", meaning: "formula (not a fraction)" },
  recovered: { mark: "*", meaning: "simplifies back to a fraction" },
  masked: { mark: "−∞", meaning: "hidden by the mask" },
  undefined: { mark: "⊘", meaning: "undefined (division by zero)" },
  ball: { mark: "±", meaning: "decimal with guaranteed digits" },
  float: { mark: "≈", meaning: "a float: rounded" },
  token: { mark: "", meaning: "a token" },
};

const SPOKEN = {
  named: "formula",
  recovered: "simplifies back to a fraction",
  masked: "hidden by the mask",
  undefined: "undefined",
  ball: "decimal with guaranteed digits",
  float: "rounded",
};

export function kind(value) {
  return value.recovered ? "recovered" : value.status;
}

/** The digits in which both ends of the enclosure agree, rounded down to a few. */
export function digits(value, count = DECIMALS, ofPower = 3) {
  if (!value.low) return value.text;
  const [low, high] = [value.low, value.high];
  let same = 0;
  while (same < low.length && low[same] === high[same]) same++;
  const exponent = /e.*$/.exec(low)?.[0] ?? "";
  if (exponent !== (/e.*$/.exec(high)?.[0] ?? "")) return round(low, high, count) ?? brief(low);
  const shared = low.slice(0, Math.min(same, low.length - exponent.length));
  const significant = shared.replace(/^-?[0.]*/, "").replace(".", "").length;
  if (significant < 2) return low === high ? low : (round(low, high, count) ?? `${brief(low)}…`);
  const wanted = exponent ? ofPower : count;
  const kept = shared.slice(0, Math.max(shared.length - Math.max(significant - wanted, 0), shared.indexOf(".") + 1));
  return `${kept}${kept === shared && low === high ? "" : "…"}${exponent}`;
}

/** What both ends are when they are rounded: 99.9999999999 and 100.000000000 have no digit in common. */
function round(low, high, count) {
  const [below, above] = [low, high].map((end) => Number(Number(end).toPrecision(count)));
  return below === above ? `≈ ${below}` : null;
}

/** What stands for a number that is not written out: what it is next to, 1 − 7.44e-44, or else its digits. */
export function known(value, count = DECIMALS) {
  return next(value.near ?? value.text) ?? digits(value, count);
}

function brief(text, length = DECIMALS + 3) {
  const [mantissa, exponent] = text.split("e");
  return mantissa.slice(0, length) + (exponent ? `e${exponent}` : "");
}

/** A float near the value, for shades; null where there is none. */
export function nearly(value) {
  if (value.status === "masked") return 0;
  const text = value.low ?? value.text ?? "";
  const [above, below] = text.split("/");
  const number = below === undefined ? Number(above) : Number(above) / Number(below);
  return Number.isFinite(number) ? number : null;
}

/** The first digit or two, cut off: what is very small is 0.0…, and what is written with a power has its first digit. */
function few(value) {
  const { low, high } = value;
  if (/e-\d+$/.test(low) && /e-\d+$/.test(high)) return `${low.startsWith("-") ? "-" : ""}0.0…`;
  if (/e/.test(low + high)) return digits(value, 1, 1);
  const [first] = /^-?\d+(\.\d)?/.exec(low.startsWith("-") ? high : low);
  return first === low && low === high ? first : `${first}…`;
}

/** What stands in the cell: the closed form where it is short, else its digits; few of them where a table is wide. */
export function shown(value, narrow = false) {
  if (narrow && value.low && (value.status === "named" || value.status === "ball")) return { main: few(value), more: "" };
  if (narrow && value.status === "float") return { main: brief(value.text, 4), more: "" };
  switch (value.status) {
    case "masked":
      return { main: "−∞", more: "" };
    case "undefined":
      return { main: "⊘", more: "" };
    case "token":
      return { main: value.text ?? "none", more: "" };
    case "float":
      return { main: brief(value.text), more: "" };
    case "ball":
      return { main: digits(value), more: "" };
    case "named": {
      const readable = !value.text.startsWith("≈") && value.text.length <= LONGEST;
      return readable ? { main: value.text, more: known(value) } : { main: known(value), more: "" };
    }
    default:
      return { main: value.text.length > LONGEST + 6 ? `${value.text.slice(0, LONGEST)}…` : value.text, more: "" };
  }
}

/** 1 - 7.44015e-44 as 1 − 7.44e-44: what a number is next to. */
function next(text) {
  const match = /^(?:≈ )?(\S+) ([-+]) (\d+(?:\.\d{1,2})?)\d*(e-?\d+)?$/.exec(text);
  return match && `${match[1]} ${match[2] === "-" ? "−" : "+"} ${match[3]}${match[4] ?? ""}`;
}

/** The words for those who listen. */
export function spoken(value) {
  const name = kind(value);
  const text = value.status === "masked" ? "minus infinity" : (value.text ?? "none");
  return name === "exact" || name === "token" ? text : `${text}, ${SPOKEN[name]}`;
}

/** Is it proved that two numbers differ? Closed forms that merely look different do not. */
export function differ(one, other) {
  if (!one || !other) return false;
  const [mine, theirs] = [bounds(one), bounds(other)];
  if (one.status === other.status && !mine === !theirs && !one.low) return one.text !== other.text;
  if (!mine || !theirs) return one.status !== other.status;
  return mine[1] < theirs[0] || theirs[1] < mine[0];
}

/** Floats around a number; null where there is none, or where it is no number. */
function bounds(value) {
  if (value.low) return [Number(value.low), Number(value.high)];
  const near = value.status === "exact" || value.status === "float" ? nearly(value) : null;
  return near === null ? null : [near - 1e-12 * Math.abs(near), near + 1e-12 * Math.abs(near)];
}

/** The legend: every mark with its meaning. */
export function legend() {
  const shown = ["exact", "named", "recovered", "ball", "masked", "undefined"];
  const sample = { exact: "1/2", named: "e/2", recovered: "1", ball: "0.73…", masked: "−∞", undefined: "⊘" };
  return h(
    "dl",
    { class: "legend" },
    shown.map((name) => [h("dt", { class: `n ${name}` }, sample[name]), h("dd", {}, KINDS[name].meaning)]),
  );
}
