// The radius after each layer, on a logarithmic scale: a plot for the eye, and a table with the same numbers.

import { h, svg } from "./dom.js";

const [WIDE, NARROW, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [560, 330, 230, 58, 14, 14, 34];
const LABEL = 80; // pixels of the name of a layer
const DEEPEST = 600; // powers of 2 that a plot spans at most

let plots = 0; // titles are referred to by their ids

/** Layers: { name, bits, radius, log2 }; log2 is null where the radius is as small as can be, and where it is infinite. */
export function radiusPlot(layers) {
  const width = innerWidth < 620 ? NARROW : WIDE;
  const known = layers.flatMap(({ log2, bits }) => [log2 ?? -bits, -bits]);
  const high = Math.ceil(Math.max(...known)),
    low = Math.max(Math.floor(Math.min(...known)), high - DEEPEST);
  const x = (n) => LEFT + ((width - LEFT - RIGHT) * n) / Math.max(layers.length - 1, 1);
  const y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - Math.max(low, Math.min(high, value)))) / Math.max(high - low, 1);
  const height = ({ log2, radius }) => y(log2 ?? (radius === "inf" ? high : low));
  const line = (at) => layers.map((layer, n) => `${x(n).toFixed(1)},${at(layer).toFixed(1)}`).join(" ");
  const id = `radius-${++plots}`;
  return svg(
    "svg",
    { class: "radius", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-labelledby": `${id} ${id}-described` },
    svg("title", { id }, "Error bound by layer"),
    svg("desc", { id: `${id}-described` }, described(layers)),
    ticks(low, high).map((power) => [
      svg("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(power), y2: y(power) }),
      svg("text", { class: "power", x: LEFT - 8, y: y(power) + 4 }, powerOfTwo(power)),
    ]),
    layers.map(({ name }, n) =>
      shownAt(n, layers.length, width)
        ? svg("text", { class: n && n === layers.length - 1 ? "layer last" : "layer", x: x(n), y: HEIGHT - 10 }, layerName(name))
        : null,
    ),
    svg("polyline", { class: "unit", points: line(({ bits }) => y(-bits)) }),
    svg("polyline", { class: "curve", points: line(height) }),
    layers.map((layer, n) =>
      svg(
        "circle",
        { class: layer.log2 === null ? "point extreme" : "point", cx: x(n), cy: height(layer), r: 4 },
        svg("title", {}, `${layerName(layer.name)}: radius ${layer.radius}, ${layer.bits} bits`),
      ),
    ),
  );
}

export function layerTable({ layers, schedule }) {
  return h(
    "table",
    { class: "figures" },
    h("caption", { class: "visually-hidden" }, "Bits and error bound by layer"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["after", "limbs", "bits", "radius"].map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h(
      "tbody",
      {},
      layers.map(({ name, bits, radius }) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, layerName(name)),
          h("td", {}, limbs(name, schedule)),
          h("td", {}, String(bits)),
          h("td", {}, radius),
        ),
      ),
    ),
  );
}

/** Those of attention and of the MLP of a block, or of what follows the blocks; 0 of them stand for float64. */
function limbs(name, schedule) {
  if (name.endsWith("resid_pre")) return "";
  const block = Number(name.split(".")[1]);
  const found = name === "logits" ? schedule.slice(-1) : schedule.slice(2 * block, 2 * block + 2);
  return [...new Set(found)].map((count) => (count === 0 ? "float64" : String(count))).join(", ");
}

function layerName(name) {
  return name === "logits" ? name : name.endsWith("resid_pre") ? "embedding" : `block ${name.split(".")[1]}`;
}

function described(layers) {
  const [first, last] = [layers[0], layers.at(-1)];
  return (
    `From ${first.radius} after the ${layerName(first.name)} to ${last.radius} after ${layerName(last.name)}; ` +
    "dashed, the unit of the bits that were computed with. The table below the plot has every number."
  );
}

/** What hollow points mean, where there are any. */
export function beyond(layers) {
  const hollow = layers.filter(({ log2 }) => log2 === null);
  const above = hollow.filter(({ radius }) => radius === "inf");
  const sides = [hollow.length > above.length ? "below" : [], above.length ? "above" : []].flat();
  return sides.length ? `A hollow point is ${sides.join(" or ")} the axis. ` : "";
}

/** The first and the last layer, and as many between as there is room for. */
function shownAt(n, count, width) {
  const every = Math.ceil((count * LABEL) / width);
  return n === 0 || n === count - 1 || (n % every === 0 && n < count - every);
}

function ticks(low, high) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200].find((size) => (high - low) / size <= 5) ?? 200;
  const found = [];
  for (let power = Math.floor(high / step) * step; power >= low; power -= step) found.push(power);
  return found;
}

function powerOfTwo(power) {
  return power === 0 ? "1" : ["2", svg("tspan", { dy: -5, class: "exponent" }, String(power).replace("-", "−"))];
}
