// A walk on the graph: where it is, what was merged there, and where each action leads.

import { run, Stopped } from "./api.js";
import { byId, count, fill, make, share } from "./dom.js";
import { on, tell } from "./store.js";

const KINDS = {
  deeper: "to", back: "back to", "same layer": "aside to", nothing: "changes nothing:",
};
const panel = byId("walk");
let policy = null; // text and depth of the compiled prior
let word = [];
let seed = 0;
let walking = new AbortController();

export function startWalk() {
  on("compiled", (compiled) => {
    policy = { text: compiled.text, depth: compiled.depth };
    walkTo([]);
  });
  on("walk-to", walkTo);
}

async function walkTo(next, focus) {
  walking.abort();
  walking = new AbortController();
  const { signal } = walking;
  word = next; // at once: the next click may come before the answer
  try {
    const node = await run("node", { ...policy, word: next }, { signal });
    show(node);
    tell("walked", node);
    if (focus) panel.querySelector(focus)?.focus();
  } catch (error) {
    if (!(error instanceof Stopped)) panel.append(make("p", { class: "errors" }, error.message));
  }
}

function show(node) {
  const more = node.merged_count - node.merged.length;
  const ends = {
    depth: "The end of the graph: an explorer starts again from Λ.",
    "dead end": "A dead end: every action leads back. An explorer starts again from Λ.",
  };
  fill(
    panel,
    make("h3", {}, `Walk · layer ${node.layer}`),
    make("p", { class: "word", id: "walk-word" }, node.names || node.label),
    make("p", {}, `Visited by ${share(node.visits)} of walks, ${node.relative.toFixed(2)} × the average of its layer.`),
    make("div", { class: "row" },
      button("Back", () => walkTo(word.slice(0, -1)), !word.length),
      button("Restart", () => walkTo([]), !word.length),
      button("Let it walk", letItWalk)),
    node.end ? make("p", { class: "quiet" }, ends[node.end]) : null,
    make("div", { class: "actions" }, ...node.actions.map(actionButton)),
    node.merged_count ? make("p", {}, "Also reached by ",
      make("span", { class: "merged" }, node.merged.join(", ")),
      more > 0 ? ` and ${count(more)} more` : "", ".") : null,
  );
}

function button(name, onclick, disabled = false) {
  return make("button", { type: "button", onclick, disabled }, name);
}

function actionButton(action) {
  const bar = make("i");
  bar.style.width = `${100 * action.probability}%`;
  const disabled = action.kind === "unknown";
  const where = disabled ? "" : `${KINDS[action.kind]} ${action.leads_to}`;
  const id = `act-${action.name}`;
  return make("button", {
    type: "button", disabled, id,
    "aria-label": `${action.name}, probability ${share(action.probability)}, ${where}`,
    onclick: () => walkTo([...word, action.name], `#${CSS.escape(id)}`),
  }, bar, make("span", {}, action.name), make("span", {}, share(action.probability)),
  where ? make("small", {}, where) : null);
}

// A real explorer walks to the end of the graph; show its way step by step.
async function letItWalk() {
  const { word: whole } = await run("walk", { ...policy, seed: seed++ });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches || whole.length > 30;
  for (let length = still ? whole.length : 1; length <= whole.length; length++) {
    const part = whole.slice(0, length);
    await walkTo(part);
    if (length < whole.length) await new Promise((resolve) => setTimeout(resolve, 350));
    if (word !== part) return; // the user went elsewhere
  }
}
