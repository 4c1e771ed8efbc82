// The coverage race: three explorers on the same grid, their counts rising side by side.

import { run, Stopped } from "./api.js";
import { byId, count, make, makeSvg, viewWidth } from "./dom.js";
import { on } from "./store.js";

const FRAMES = 12; // steps in a second
let policy = null; // text and depth of the compiled prior
let shownFor = null; // the policy of the race on the page
let race = null;
let step = 0;
let seed = 0;
let playing = false;
let last = 0;
let job = new AbortController();

export function startRace() {
  on("compiled", (compiled) => {
    policy = { text: compiled.text, depth: compiled.depth };
    if (!byId("race").hidden) begin();
  });
  on("tab", (tab) => {
    if (tab === "race" && policy && shownFor !== policy) begin();
    if (tab !== "race") playing = false;
  });
  byId("race-new").addEventListener("click", () => { seed += 1; begin(); });
  byId("race-play").addEventListener("click", togglePlay);
  for (const id of ["race-walkers", "race-steps"]) byId(id).addEventListener("change", begin);
  addEventListener("resize", () => race && draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => race && draw());
}

async function begin() {
  job.abort();
  job = new AbortController();
  const values = {
    ...policy, seed, walkers: Number(byId("race-walkers").value), steps: Number(byId("race-steps").value),
  };
  shownFor = policy;
  try {
    race = await run("race", values, { signal: job.signal });
  } catch (error) {
    if (error instanceof Stopped) return;
    race = null;
    playing = false;
    byId("runners").replaceChildren();
    byId("race-chart").replaceChildren();
    byId("race-note").textContent = error.message;
    return;
  }
  setUp();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  step = still ? race.steps : 0;
  playing = !still;
  draw();
  requestAnimationFrame(tick);
}

function setUp() {
  byId("race-note").textContent = `${race.walkers} ${race.walkers === 1 ? "walker" : "walkers"} from the middle of a ${race.size} × ${race.size} `
    + `grid with ${race.moves}; the numbers are the different cells that they have seen. `
    + "Temporally extended actions have µ = 2.";
  byId("runners").replaceChildren(...race.runners.map((runner) => {
    runner.canvas = make("canvas", {
      width: race.size, height: race.size, role: "img", "aria-label": `Cells seen by ${runner.name}`,
    });
    runner.number = make("b", {}, "0");
    return make("figure", { class: runner.method },
      make("figcaption", {}, make("span", {}, runner.name), runner.number), runner.canvas);
  }));
}

function togglePlay() {
  if (!race) return;
  if (!playing && step >= race.steps) step = 0;
  playing = !playing;
  draw();
  if (playing) requestAnimationFrame(tick);
}

function tick(now) {
  if (!playing || !race) return;
  if (now - last > 1000 / FRAMES) {
    last = now;
    step = Math.min(step + Math.max(1, Math.round(race.steps / 100)), race.steps);
    if (step === race.steps) playing = false;
    draw();
  }
  requestAnimationFrame(tick);
}

function draw() {
  byId("race-play").textContent = playing ? "Pause" : step >= race.steps ? "Replay" : "Play";
  for (const runner of race.runners) {
    drawCells(runner);
    runner.number.textContent = count(runner.counts[step]);
  }
  drawChart();
}

function drawCells(runner) {
  const style = getComputedStyle(document.documentElement);
  const context = runner.canvas.getContext("2d");
  const visits = new Map();
  for (let t = 0; t <= step; t++) {
    for (const cell of runner.cells[t]) visits.set(cell, (visits.get(cell) ?? 0) + 1);
  }
  const fill = (cell) => context.fillRect(cell % race.size, race.size - 1 - Math.floor(cell / race.size), 1, 1);
  context.clearRect(0, 0, race.size, race.size);
  context.fillStyle = style.getPropertyValue(`--${runner.method}`);
  for (const [cell, times] of visits) {
    context.globalAlpha = Math.min(0.22 + 0.2 * Math.log2(1 + times), 0.9);
    fill(cell);
  }
  context.globalAlpha = 1;
  context.fillStyle = style.getPropertyValue("--ink");
  for (const cell of runner.cells[step]) fill(cell);
}

function drawChart() {
  const [width, height, left, right, bottom] = [viewWidth(), 220, 44, 160, 26];
  const most = Math.max(...race.runners.map((runner) => runner.counts.at(-1)), 1);
  const x = (t) => left + (width - left - right) * t / race.steps;
  const y = (cells) => 12 + (height - bottom - 12) * (1 - cells / most);
  const chart = makeSvg("svg", {
    class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": race.runners.map((r) => `${r.name}: ${r.counts[step]} cells`).join(", "),
  });
  for (const tick of [0, 0.5, 1]) {
    const value = Math.round(most * tick);
    chart.append(makeSvg("line", { class: "axis", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    chart.append(makeSvg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, count(value)));
  }
  for (const t of [0, race.steps / 2, race.steps]) {
    chart.append(makeSvg("text", { x: x(t), y: height - 8, "text-anchor": "middle" }, t ? `step ${t}` : "0"));
  }
  const ends = spread(race.runners.map((runner) => y(runner.counts[step])));
  race.runners.forEach(({ method, name, counts }, i) => {
    const points = counts.slice(0, step + 1).map((cells, t) => `${x(t).toFixed(1)},${y(cells).toFixed(1)}`);
    chart.append(makeSvg("polyline", { class: `line ${method}`, points: points.join(" ") }));
    chart.append(makeSvg("text", { class: method, x: x(step) + 8, y: ends[i] + 4 }, name));
  });
  byId("race-chart").replaceChildren(chart);
}

// Move labels apart that would cover each other.
function spread(heights) {
  const order = heights.map((height, i) => [height, i]).sort((a, b) => b[0] - a[0]);
  const places = [...heights];
  for (let i = 1; i < order.length; i++) {
    const [, below] = order[i - 1];
    const [, own] = order[i];
    places[own] = Math.min(places[own], places[below] - 15);
  }
  return places;
}
