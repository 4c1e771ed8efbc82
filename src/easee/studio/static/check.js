// Checks against an environment: verify, discover and tune, as cards that survive a reload.

import { follow, get, post, run, stop } from "./api.js";
import { byId, count, duration, make, share } from "./dom.js";
import { choose } from "./depth.js";
import { replaceText } from "./editor.js";
import { keep, kept, on } from "./store.js";

const TITLES = { verify: "Verification", discover: "Discovery", tune: "How deep?" };
const FIELDS = ["env", "states", "state", "rename", "options", "max-length", "usually", "steps", "seed"];
let prior = null;
let listed = false;

export async function startCheck() {
  on("prior", (read) => { prior = read; });
  on("tab", (tab) => tab === "check" && listEnvironments());
  for (const id of FIELDS) {
    byId(id).value = kept.fields[id] ?? byId(id).value;
    byId(id).addEventListener("change", keepFields);
  }
  byId("check-form").addEventListener("submit", submit);
  const { jobs } = await get("jobs");
  for (const job of jobs.filter(({ kind }) => kind in TITLES)) byId("jobs").append(card(job));
}

function keepFields() {
  keep({ fields: Object.fromEntries(FIELDS.map((id) => [id, byId(id).value])) });
}

async function listEnvironments() {
  if (listed) return;
  listed = true;
  try {
    const { ids } = await run("environments", {});
    byId("env-ids").replaceChildren(...ids.map((id) => make("option", { value: id })));
  } catch {
    listed = false; // the field works without suggestions
  }
}

function settings(kind) {
  const number = (id) => Number(byId(id).value);
  const text = (id) => byId(id).value.trim();
  const common = { env: text("env"), state: text("state"), options: text("options"), seed: number("seed") };
  if (kind === "discover") {
    return { ...common, states: number("states"), max_length: number("max-length"), usually: number("usually") };
  }
  if (kind === "tune") return { ...common, text: prior.text, steps: number("steps") };
  return { ...common, text: prior.text, states: number("states"), rename: text("rename") };
}

async function submit(event) {
  event.preventDefault();
  keepFields();
  const kind = event.submitter?.value ?? "verify";
  const problem = byId("check-error");
  problem.textContent = "";
  if (!prior && kind !== "discover") {
    problem.textContent = "The prior has errors: correct them first.";
    return;
  }
  try {
    const job = await post("jobs", { kind, arguments: settings(kind) });
    byId("jobs").prepend(card(job));
  } catch (error) {
    problem.textContent = error.message;
  }
}

// A card that follows its job and then shows the result.
function card(job) {
  const bar = make("progress", { "aria-label": "Progress" });
  const words = make("span", { class: "quiet" });
  const halt = make("button", { type: "button", onclick: () => { halt.disabled = true; stop(job.id); } }, "Stop");
  const top = make("div", { class: "row between" },
    make("h3", {}, `${TITLES[job.kind]} · ${job.env}`), make("div", { class: "row" }, words, halt));
  const element = make("article", { class: "job", "data-kind": job.kind, "data-state": job.state }, top, bar);
  const showProgress = (now) => {
    const of = now.expected ? ` of about ${count(now.expected)} steps` : "";
    words.textContent = now.done ? `${now.part}: ${count(now.done)}${of} · ${duration(now.seconds)}`
      : `${now.part} · ${duration(now.seconds)}`;
    if (now.expected) [bar.max, bar.value] = [now.expected, now.done];
  };
  const finish = (ended) => {
    bar.remove();
    halt.remove();
    element.dataset.state = ended.state;
    words.textContent = `${ended.state === "done" ? "" : `${ended.state} after `}${duration(ended.seconds)}`;
    element.append(...outcome(ended));
  };
  const first = job.state === "running" ? job : { ...job, state: "running" }; // to get its result
  follow(first, showProgress).then(finish).catch((error) =>
    finish({ ...job, state: "failed", message: error.message }));
  return element;
}

function outcome(job) {
  if (job.state === "failed") return [make("p", { class: "errors", role: "alert" }, job.message)];
  if (job.state === "stopped") return [make("p", { class: "quiet" }, "Stopped before there was a result.")];
  return { verify: verification, discover: discovery, tune: tuning }[job.kind](job.result);
}

function verification(result) {
  const use = make("button", {
    type: "button", class: "primary", disabled: result.holds,
    onclick: () => replaceText(result.measured, "the measured rates"),
  }, "Use measured rates");
  return [
    make("p", {}, result.holds ? "No relation failed." : "Some relations fail in some states."),
    table(result.relations, true), ...examples(result.relations), make("div", {}, use), notes(result),
  ];
}

function discovery(result) {
  const found = result.relations.length;
  return [
    make("p", {}, `${found} ${found === 1 ? "relation" : "relations"}${result.finished ? "" : ", so far"}.`),
    found ? table(result.relations, false) : "",
    make("div", {}, make("button", {
      type: "button", class: "primary", disabled: !found,
      onclick: () => replaceText(result.prior, "the discovered prior"),
    }, "Use this prior")),
    notes(result),
  ];
}

function tuning(result) {
  const head = make("tr", {}, ...result.columns.map((name) => make("th", { scope: "col" }, name)));
  const rows = result.rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))));
  return [
    make("p", {}, result.reason),
    make("div", { class: "results scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))),
    result.depth ? make("div", {}, make("button", {
      type: "button", class: "primary", onclick: () => choose(result.depth),
    }, `Use depth ${result.depth}`)) : "",
    notes(result),
  ];
}

function table(relations, rates) {
  const names = ["relation", "", "fails in", "share [95%]", ...(rates ? ["rate"] : [])];
  const rows = relations.map((check) => {
    const [low, high] = check.interval;
    const cells = [
      `${count(check.violations)} of ${count(check.trials)}`,
      `${share(check.rate)} [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`,
      ...(rates ? [check.violations ? String(check.prior_rate) : "0"] : []),
    ];
    return make("tr", {}, make("td", {}, check.relation),
      make("td", { class: `text ${verdictClass(check.verdict)}` }, check.verdict),
      ...cells.map((cell) => make("td", {}, cell)));
  });
  const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)));
  return make("div", { class: "results scroll" },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function verdictClass(verdict) {
  if (verdict === "holds") return "verdict-holds";
  return verdict === "usually holds" ? "verdict-usually" : "verdict-fails";
}

function examples(relations) {
  return relations.filter((check) => check.pictures).map((check, i) => {
    const names = ["before", `after ${check.left || "nothing"}`, `after ${check.right || "nothing"}`];
    const { images, texts } = check.pictures;
    const figures = names.map((name, j) => make("figure", {},
      images ? make("img", { src: images[j], alt: name }) : make("pre", {}, texts[j]),
      make("figcaption", {}, name)));
    return make("details", { open: i === 0 },
      make("summary", {}, `A state in which ${check.relation} fails`), make("div", { class: "example" }, ...figures));
  });
}

function notes(result) {
  return make("ul", { class: "notes" }, ...result.notes.map((note) => make("li", {}, note)));
}
