// The depth: a slider, how large the graph of each depth is, and what fits.

import { run, Stopped } from "./api.js";
import { byId, count, fill, make } from "./dom.js";
import { keep, kept, on, tell } from "./store.js";

const slider = byId("depth");
const number = byId("depth-number");
const START = 20; // depths on the slider before it is known what fits
let totals = []; // nodes up to each depth
let deepest = 0; // the largest depth that fits; 0 while it is unknown
let limited = false;
let limits;
let job = new AbortController();

export function startDepth(known) {
  limits = known;
  number.max = limits.depth;
  show(kept.depth);
  slider.addEventListener("input", () => show(Number(slider.value)));
  slider.addEventListener("change", () => choose(Number(slider.value)));
  number.addEventListener("change", () => choose(Number(number.value)));
  slider.disabled = number.disabled = false;
  on("prior", forecast);
  on("compiled", hideExplosion);
}

export function choose(depth) {
  const within = Math.min(Math.max(Math.round(depth) || 1, 1), limits.depth);
  keep({ depth: within });
  show(within);
  tell("depth", within);
}

async function forecast(prior) {
  job.abort();
  [totals, deepest] = [[], 0];
  describe(Number(slider.value));
  if (!prior) return;
  job = new AbortController();
  try {
    const found = await run("growth", { text: prior.text }, { signal: job.signal });
    [totals, deepest, limited] = [found.totals, found.deepest, found.limited_by_nodes];
  } catch (error) {
    if (error instanceof Stopped) return;
  }
  describe(Number(slider.value)); // which the user may just be moving
}

function show(depth) {
  slider.max = Math.max(slider.max, depth);
  slider.value = number.value = depth;
  describe(depth);
}

function describe(depth) {
  slider.max = Math.max(deepest || START, depth);
  slider.setAttribute("aria-valuetext", `depth ${depth}${size(depth)}`);
  const fits = !deepest ? "" : limited
    ? ` Depth ${deepest} is the largest that fits (${count(totals[deepest])} nodes).`
    : ` All depths up to ${deepest} fit.`;
  const text = size(depth).slice(2);
  byId("forecast").textContent = text ? `${text[0].toUpperCase()}${text.slice(1)}.${fits}` : "";
}

function size(depth) {
  if (!deepest) return "";
  if (depth > deepest) return `, more than ${count(limits.nodes)} nodes`;
  const nodes = totals[Math.min(depth, totals.length - 1)];
  return `, ${count(nodes)} nodes${nodes > limits.drawn ? ", drawn in groups" : ""}`;
}

export function warnOfSize(result, confirm) {
  const box = byId("explosion");
  box.hidden = false;
  if (result.needs_confirmation) {
    box.replaceChildren(
      make("span", {}, `This graph has ${count(result.nodes)} nodes. It may take a while.`),
      make("button", { type: "button", onclick: confirm }, "Compile it anyway"),
    );
  } else {
    const way = result.fits > 0
      ? make("button", { type: "button", onclick: () => choose(result.fits) },
        `Use depth ${result.fits}`) : null;
    fill(box, make("span", {}, `Too large: ${result.too_large}.`), way);
  }
}

export function hideExplosion() {
  byId("explosion").hidden = true;
}
