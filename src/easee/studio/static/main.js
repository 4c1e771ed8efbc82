// The page: each change of prior or depth compiles the policy, which all views show.

import { run, Stopped } from "./api.js";
import { startCheck } from "./check.js";
import { hideExplosion, startDepth, warnOfSize } from "./depth.js";
import { byId, count, duration } from "./dom.js";
import { startEditor } from "./editor.js";
import { startExport } from "./export.js";
import { setStale, startFacts } from "./facts.js";
import { startGraph } from "./graph.js";
import { startRace } from "./race.js";
import { kept, on, tell } from "./store.js";
import { startTabs } from "./tabs.js";
import { startWalk } from "./walk.js";

let prior = null; // the last one that was read without errors
let reading = true; // whether the text has changed since
let job = new AbortController();

async function compile(confirmed = false) {
  job.abort();
  hideExplosion();
  setStale(true);
  if (reading) return say("Reading the prior…"); // and then it is compiled
  if (!prior) return say("The prior has errors.");
  job = new AbortController();
  const { signal } = job;
  const values = { text: prior.text, depth: kept.depth, confirmed };
  say("Compiling…");
  try {
    const result = await run("compile", values, {
      signal, onProgress: ({ seconds }) => seconds > 1 && say(`Compiling… ${duration(seconds)}`),
    });
    if (!result.drawing) {
      say("This depth is not compiled.");
      return warnOfSize(result, () => compile(true));
    }
    setStale(false);
    say(`Compiled ${count(result.nodes)} nodes at depth ${result.depth}.`);
    tell("compiled", { ...result, text: values.text });
  } catch (error) {
    if (!(error instanceof Stopped)) say(error.message);
  }
}

function say(text) {
  byId("status").textContent = text;
}

on("typing", () => { reading = true; compile(); });
on("prior", (read) => { [prior, reading] = [read, false]; compile(); });
on("depth", () => compile());
startGraph();
startFacts();
startWalk();
startRace();
startExport();
const checked = startCheck();
startTabs();
try {
  startDepth(await startEditor());
  await checked;
} catch (error) {
  say(error.message);
}
