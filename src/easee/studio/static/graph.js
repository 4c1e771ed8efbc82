// The drawing of the graph: layers from left to right, flow as width, visits as colour.

import { byId, count, make, makeSvg, share } from "./dom.js";
import { place, scaleThatFits } from "./layout.js";
import { picture } from "./picture.js";
import { on, tell } from "./store.js";

const LEVELS = 24; // of widths: edges of a level are one path
const PRUNED_MARKS = 400; // drawings with more marks do not show pruned edges

const svg = byId("drawing");
const stage = byId("stage");
const tip = byId("tip");
let policy = null;
let drawing = null; // its marks, edges and pruned edges
let view = { x: 0, y: 0, scale: 1 };
let world = { width: 1, height: 1, widest: 1 }; // the size of the drawing
let layer = null; // the group that is moved and zoomed
let nodes = []; // the elements of the marks
let trail = [0];

export function startGraph() {
  on("compiled", show);
  on("walked", ({ path }) => showTrail(path));
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
  }, { passive: false });
  svg.addEventListener("pointerdown", startPan);
  svg.addEventListener("pointerover", hover);
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("keydown", pressKey);
  byId("zoom-in").addEventListener("click", () => zoom(1.4));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.4));
  byId("zoom-fit").addEventListener("click", fit);
  byId("show-pruned").addEventListener("change", drawPruned);
  new ResizeObserver(() => requestAnimationFrame(render)).observe(stage);
}

// The drawing as the text of a file.
export function pictureText() {
  return picture(svg, world, getComputedStyle(stage).backgroundColor);
}

function show(compiled) {
  policy = compiled;
  drawing = policy.drawing;
  trail = [0];
  describe();
  render();
}

function render() {
  if (!drawing) return;
  world = place(drawing.marks, room());
  layer = makeSvg("g");
  svg.replaceChildren(layer);
  layer.append(
    columnTitles(), makeSvg("g", { class: "pruned" }), edgePaths(),
    makeSvg("g", { class: "near" }), makeSvg("g", { class: "trail" }), markShapes(), markLabels(),
  );
  drawPruned();
  showTrail(trail);
  hideTip();
  fit();
}

function columnTitles() {
  const group = makeSvg("g", { class: "columns" });
  const first = [];
  for (const mark of drawing.marks) first[mark.layer] ??= mark;
  const step = world.width / Math.max(first.length - 1, 1);
  const every = Math.ceil(50 / step);
  for (const { layer: number, x } of first.filter((mark) => mark.layer % every === 0)) {
    const size = number ? policy.layers[number - 1].size : 1;
    group.append(
      makeSvg("text", { x, y: -26 }, `layer ${number}`),
      makeSvg("text", { x, y: -12 }, count(size)),
    );
  }
  return group;
}

function curve(tail, head) {
  const [x1, x2] = [tail.x + tail.half, head.x - head.half];
  const bend = (x2 - x1) * 0.45;
  return `M${x1.toFixed(1)} ${tail.y.toFixed(1)}C${(x1 + bend).toFixed(1)} ${tail.y.toFixed(1)} `
    + `${(x2 - bend).toFixed(1)} ${head.y.toFixed(1)} ${x2.toFixed(1)} ${head.y.toFixed(1)}`;
}

function edgeWidth(flow) {
  const most = drawing.mostFlow ??= Math.max(...drawing.edges.map((edge) => edge[2]), 1e-12);
  return 0.5 + world.widest * flow / most;
}

function edgePaths() {
  const levels = new Map();
  for (const [tail, head, flow] of drawing.edges) {
    const level = Math.round((edgeWidth(flow) - 0.5) / world.widest * LEVELS);
    const path = curve(drawing.marks[tail], drawing.marks[head]);
    levels.set(level, [...(levels.get(level) ?? []), path]);
  }
  const paths = [...levels].map(([level, parts]) =>
    makeSvg("path", { d: parts.join(""), "stroke-width": 0.5 + world.widest * level / LEVELS }));
  return makeSvg("g", { class: "edges" }, ...paths);
}

function drawPruned() {
  const group = layer?.querySelector(".pruned");
  const box = byId("show-pruned");
  if (!group) return;
  box.disabled = drawing.marks.length > PRUNED_MARKS || !drawing.pruned.length;
  group.replaceChildren();
  if (!box.checked || box.disabled) return;
  const parts = drawing.pruned.map(([tail, head]) => backCurve(drawing.marks[tail], drawing.marks[head]));
  group.append(makeSvg("path", { d: parts.join("") }));
}

// An edge back, within a layer, or to the node itself.
function backCurve(tail, head) {
  if (tail === head) {
    const top = tail.y - (tail.labelled ? 10 : tail.radius);
    return `M${tail.x - 5} ${top}c-9 -20 19 -20 10 0`;
  }
  const bend = tail.layer === head.layer ? 46 : 0.3 * Math.abs(tail.x - head.x);
  const x = (tail.x + head.x) / 2 + (tail.layer === head.layer ? bend : 0);
  const y = (tail.y + head.y) / 2 + (tail.layer === head.layer ? 0 : bend);
  return `M${tail.x} ${tail.y}Q${x} ${y} ${head.x} ${head.y}`;
}

function depthOfColour(mark) {
  return Math.min(mark.relative / Math.max(2, drawing.largest_visits), 1);
}

function markShapes() {
  nodes = drawing.marks.map((mark, i) => {
    const shape = mark.labelled
      ? makeSvg("rect", { x: mark.x - mark.half, y: mark.y - 10, width: 2 * mark.half, height: 20, rx: 5 })
      : makeSvg("circle", { cx: mark.x, cy: mark.y, r: mark.radius });
    const small = mark.labelled || mark.radius > 2 ? "" : " small";
    shape.setAttribute("class", `node${mark.count ? " group" : ""}${small}`);
    shape.dataset.mark = i;
    const percent = (100 * depthOfColour(mark)).toFixed(0);
    shape.style.fill = `color-mix(in oklab, var(--visits-high) ${percent}%, var(--visits-low))`;
    return shape;
  });
  return makeSvg("g", { class: "nodes" }, ...nodes);
}

function markLabels() {
  const labels = drawing.marks.filter((mark) => mark.labelled).map((mark) => {
    const name = mark.count ? `${count(mark.count)} nodes` : mark.label;
    const text = makeSvg("text", { x: mark.x, y: mark.y + 0.5 }, name);
    if (depthOfColour(mark) > 0.6) text.setAttribute("class", "strong");
    return text;
  });
  return makeSvg("g", { class: "labels" }, ...labels);
}

function describe() {
  const grouped = drawing.grouped_layers;
  const marks = count(drawing.marks.length);
  byId("graph-note").textContent = grouped.length
    ? `${count(policy.nodes)} nodes, drawn as ${marks} marks: layers ${ranges(grouped)} are in groups of neighbours.`
    : `${count(policy.nodes)} nodes. Hover for words and probabilities, click to walk, scroll to zoom.`;
  svg.setAttribute("aria-label",
    `Local-dynamics graph with ${count(policy.nodes)} nodes in ${policy.depth + 1} layers`
    + `${grouped.length ? ", large layers in groups" : ""}. Plus and minus zoom, arrow keys move, 0 fits. `
    + "Walk with the buttons beside it.");
  const largest = Math.max(2, drawing.largest_visits);
  byId("legend").replaceChildren(
    make("span", {}, make("i", { class: "thick" }), "width: flow"),
    make("span", {}, "visits 0", make("i", { class: "ramp" }),
      `${Number(largest.toPrecision(2))} × the layer's average`),
  );
}

function ranges(numbers) {
  const [first, last] = [numbers[0], numbers.at(-1)];
  return first === last ? String(first) : `${first} to ${last}`;
}

// --- the walk -----------------------------------------------------------------------------------

function showTrail(path) {
  for (const mark of trail) nodes[mark]?.classList.remove("here");
  trail = path;
  nodes[path.at(-1)]?.classList.add("here");
  const parts = path.slice(1).map((head, i) => {
    const [tail, end] = [drawing.marks[path[i]], drawing.marks[head]];
    return end.layer > tail.layer ? curve(tail, end) : backCurve(tail, end);
  });
  const shown = parts.length ? [makeSvg("path", { d: parts.join(""), "stroke-width": 3.5 })] : [];
  layer.querySelector(".trail").replaceChildren(...shown);
}

// --- hovering -----------------------------------------------------------------------------------

function hover(event) {
  const index = event.target.dataset?.mark;
  if (index === undefined || svg.classList.contains("panning")) return hideTip();
  const mark = drawing.marks[index];
  const near = drawing.edges.filter(([tail, head]) => tail === Number(index) || head === Number(index));
  layer.querySelector(".near").replaceChildren(...near.map(([tail, head, flow]) =>
    makeSvg("path", {
      d: curve(drawing.marks[tail], drawing.marks[head]), "stroke-width": Math.max(edgeWidth(flow), 1.5),
    })));
  tip.replaceChildren(...(mark.count ? groupTip(mark) : nodeTip(mark)));
  tip.hidden = false;
  const x = view.x + view.scale * (mark.x + mark.half) + 12;
  const y = view.y + view.scale * mark.y;
  tip.style.left = `${Math.max(4, x + tip.offsetWidth > stage.clientWidth ? x - tip.offsetWidth - 2 * view.scale * mark.half - 24 : x)}px`;
  tip.style.top = `${Math.min(Math.max(y - tip.offsetHeight / 2, 4), stage.clientHeight - tip.offsetHeight - 4)}px`;
}

function hideTip() {
  tip.hidden = true;
  layer?.querySelector(".near").replaceChildren();
}

function nodeTip(mark) {
  const rows = mark.probabilities.map((p, i) => [p, policy.symbols[i]]).filter(([p]) => p > 0)
    .sort((a, b) => b[0] - a[0]).slice(0, 8)
    .map(([p, name]) => make("tr", {}, make("td", {}, name), make("td", {}, share(p))));
  const more = mark.merged_count - mark.merged.length;
  return [
    make("b", {}, mark.word.join(" ") || "Λ, the empty word"),
    make("div", {}, `visited by ${share(mark.visits)} of walks, ${mark.relative.toFixed(2)} × the layer's average`),
    rows.length ? make("table", {}, ...rows) : make("div", {}, "no action leads deeper"),
    mark.merged_count
      ? make("div", { class: "quiet" }, `merged: ${mark.merged.join(", ")}${more > 0 ? ` and ${more} more` : ""}`)
      : "",
  ];
}

function groupTip(mark) {
  return [
    make("b", {}, `${count(mark.count)} nodes of layer ${mark.layer}`),
    make("div", {}, `visited by ${share(mark.visits)} of walks together; each ${mark.least.toFixed(2)} to `
      + `${mark.most.toFixed(2)} × the layer's average`),
    make("div", { class: "quiet" }, `the first: ${mark.label}`),
  ];
}

// --- moving and zooming -------------------------------------------------------------------------

function apply() {
  layer.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
}

// The size of the stage; while its tab is hidden, a usual one, so that the picture can be saved.
function room() {
  return { width: stage.clientWidth || 900, height: stage.clientHeight || 600 };
}

function fit() {
  if (!layer) return;
  const { width, height } = room();
  const scale = scaleThatFits(world, room());
  view = { scale, x: (width - scale * world.width) / 2, y: 54 + (height - 104 - scale * world.height) / 2 };
  apply();
}

function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
  if (!layer) return;
  const scale = Math.min(Math.max(view.scale * factor, 0.03), 12);
  const ratio = scale / view.scale;
  view = { scale, x: x - ratio * (x - view.x), y: y - ratio * (y - view.y) };
  hideTip();
  apply();
}

function startPan(event) {
  const start = { x: event.clientX, y: event.clientY, view };
  const mark = event.target.dataset?.mark;
  let moved = false;
  const move = (now) => {
    const [dx, dy] = [now.clientX - start.x, now.clientY - start.y];
    if (!moved && Math.hypot(dx, dy) < 4) return;
    moved = true;
    svg.classList.add("panning");
    hideTip();
    view = { ...start.view, x: start.view.x + dx, y: start.view.y + dy };
    apply();
  };
  const end = () => {
    window.removeEventListener("pointermove", move);
    svg.classList.remove("panning");
    if (!moved && mark !== undefined) tell("walk-to", drawing.marks[mark].word);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end, { once: true });
}

function pressKey(event) {
  const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  if (event.key === "+" || event.key === "=") zoom(1.3);
  else if (event.key === "-") zoom(1 / 1.3);
  else if (event.key === "0") fit();
  else if (moves[event.key]) {
    const [dx, dy] = moves[event.key];
    view = { ...view, x: view.x + dx, y: view.y + dy };
    apply();
  } else return;
  event.preventDefault();
}
