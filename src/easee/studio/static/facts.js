// What describes the policy: facts at the side, and the chart and table of its layers.

import { byId, count, duration, make, makeSvg, viewWidth } from "./dom.js";
import { on } from "./store.js";

const HIDDEN = ["actions", "depth", "layers", "entropy J"];

export function startFacts() {
  let layers = [];
  on("compiled", (policy) => {
    ({ layers } = policy);
    showFacts(policy);
    showChart(layers);
    showTable(layers);
  });
  addEventListener("resize", () => layers.length && showChart(layers));
}

export function setStale(isStale) {
  for (const id of ["facts", "drawing", "layer-chart", "layer-table"]) {
    byId(id).classList.toggle("stale", isStale);
  }
}

function showFacts(policy) {
  const rows = policy.rows.filter(([name]) => !HIDDEN.includes(name));
  const [build, balance] = policy.seconds;
  const ratio = policy.bound > 0 ? policy.entropy / policy.bound : 1;
  byId("facts").replaceChildren(
    ...pair("nodes", make("span", {}, `${count(policy.nodes)} `, badge(policy))),
    ...pair("entropy", make("div", {},
      `${policy.entropy.toFixed(4)} of at most ${policy.bound.toFixed(4)}`, meter(ratio))),
    ...rows.filter(([name]) => name !== "nodes").flatMap(([name, value]) => pair(name, value)),
    ...pair("time", `${duration(build)} to build, ${duration(balance)} to balance`),
  );
  byId("warnings").replaceChildren(...policy.warnings.map((text) => make("li", {}, `${text}.`)));
}

function pair(name, value) {
  return [make("dt", {}, name), make("dd", {}, value)];
}

function badge(policy) {
  const text = policy.exact ? "exact" : policy.stable ? "closure, stable" : "closure, not stable";
  const title = policy.exact ? "The nodes are proved to be the true classes of words."
    : "Words that are equal by long derivations may be different nodes.";
  return make("span", { class: "badge", title }, text);
}

function meter(ratio) {
  const bar = make("i");
  bar.style.width = `${100 * Math.min(ratio, 1)}%`;
  return make("div", { class: "meter", title: `${(100 * ratio).toFixed(1)}% of the bound` }, bar);
}

// Sizes of the layers as bars on a logarithmic axis.
function showChart(layers) {
  const [width, height, left, bottom] = [viewWidth(), 210, 52, 26];
  const most = Math.max(...layers.map((layer) => layer.size), 10);
  const top = Math.ceil(Math.log10(most));
  const step = (width - left) / layers.length;
  const y = (size) => 16 + (height - bottom - 16) * (1 - Math.log10(Math.max(size, 1)) / top);
  const svg = makeSvg("svg", {
    class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Sizes of ${layers.length} layers, from ${count(layers[0].size)} to ${count(layers.at(-1).size)} nodes`,
  });
  for (let power = 0; power <= top; power++) {
    svg.append(makeSvg("line", { class: "axis", x1: left, x2: width, y1: y(10 ** power), y2: y(10 ** power) }));
    svg.append(text(count(10 ** power), left - 6, y(10 ** power) + 4, "end"));
  }
  svg.append(text("nodes in each layer", left, 9, "start"));
  const every = Math.ceil(layers.length / 25);
  for (const { depth, size } of layers) {
    const x = left + (depth - 1) * step;
    const bar = makeSvg("rect", {
      class: "bar", x: x + step * 0.12, width: step * 0.76, y: size ? y(size) - 1 : y(1),
      height: size ? y(1) - y(size) + 1 : 0, rx: Math.min(2, step / 8),
    });
    bar.append(makeSvg("title", {}, `layer ${depth}: ${count(size)} nodes`));
    svg.append(bar);
    if (depth % every === 0 || layers.length <= 25) {
      svg.append(text(depth, x + step / 2, height - 8, "middle"));
    }
  }
  byId("layer-chart").replaceChildren(svg);
}

function text(content, x, y, anchor) {
  return makeSvg("text", { x, y, "text-anchor": anchor }, String(content));
}

function showTable(layers) {
  const names = ["layer", "nodes", "dead ends", "growth", "entropy", "bound", "visits min/max"];
  const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)));
  const rows = layers.map((layer, i) => {
    const previous = i ? layers[i - 1].size : 1;
    const cells = [
      layer.depth,
      count(layer.size),
      layer.dead_ends === null ? "–" : count(layer.dead_ends),
      previous ? `× ${(layer.size / previous).toFixed(2)}` : "–",
      layer.entropy.toFixed(4),
      layer.bound.toFixed(4),
      layer.evenness === null ? "–" : layer.evenness.toFixed(3),
    ];
    return make("tr", {}, ...cells.map((cell) => make("td", {}, String(cell))));
  });
  byId("layer-table").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}
