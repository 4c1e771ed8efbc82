// The editor of the prior: coloured text, line numbers, and errors at their lines.

import { get, post } from "./api.js";
import { byId, count, make } from "./dom.js";
import { keep, kept, tell } from "./store.js";

const DELAY = 250; // milliseconds without typing until the text is read
const LONG = 20_000; // characters
const LINE = 20; // pixels, as in the style sheet
const area = byId("prior");
const backdrop = byId("backdrop");
const gutter = byId("gutter");
let errors = [];
let before = null; // the text that "Undo" brings back
let timer = 0;
let reading = 0;

export async function startEditor() {
  const { version, priors, limits } = await get("start");
  byId("version").textContent = `easee ${version}`;
  fillReadyMade(priors);
  area.value = kept.text ?? priors.find((prior) => prior.name === "rotation-grid").text;
  area.addEventListener("input", () => changed(DELAY));
  area.addEventListener("scroll", paint);
  area.addEventListener("paste", pasteLong);
  byId("undo").addEventListener("click", () => replaceText(before, null));
  area.disabled = false;
  changed(0);
  return limits;
}

// Replace the text; `what` says by what, and "Undo" brings the old one back.
export function replaceText(text, what) {
  before = what === null ? null : area.value;
  area.value = text;
  const undo = byId("undo");
  undo.hidden = before === null;
  undo.setAttribute("aria-label", `Undo: back to the text before ${what}`);
  changed(0);
}

// Browsers take seconds to paste thousands of lines into a text area; setting its text is fast.
function pasteLong(event) {
  const pasted = event.clipboardData.getData("text/plain");
  if (pasted.length < LONG) return;
  event.preventDefault();
  const { value, selectionStart, selectionEnd } = area;
  replaceText(value.slice(0, selectionStart) + pasted + value.slice(selectionEnd), "the paste");
}

function fillReadyMade(priors) {
  const select = byId("ready-made");
  for (const { name, description } of priors) {
    select.append(make("option", { value: name, title: description }, name));
  }
  select.addEventListener("change", () => {
    const chosen = priors.find((prior) => prior.name === select.value);
    select.value = "";
    if (chosen) replaceText(`${comment(chosen.description)}${chosen.text}`, chosen.name);
  });
}

// A description as comments, in lines that fit into the editor.
function comment(description) {
  return description.replace(/(.{1,34})(?:\s+|$)/g, "# $1\n");
}

function changed(delay) {
  errors = [];
  paint();
  keep({ text: area.value });
  tell("typing");
  reading += 1; // an answer about the text before comes too late
  clearTimeout(timer);
  timer = setTimeout(read, delay);
}

async function read() {
  const number = ++reading;
  const text = area.value;
  let answer;
  try {
    answer = await post("parse", { text });
  } catch (error) {
    answer = { errors: [{ line: 0, message: error.message }] };
    if (error instanceof TypeError) setTimeout(read, 2000); // the connection is lost
  }
  if (number !== reading) return;
  errors = answer.errors;
  paint();
  listErrors();
  const { actions, relations } = answer;
  byId("counted").textContent = errors.length
    ? `${count(errors.length)} ${errors.length === 1 ? "error" : "errors"}`
    : `${actions.length} actions · ${count(relations)} relations`;
  tell("prior", errors.length ? null : { text, actions });
}

// Only the lines that can be seen are painted: a long text stays as fast as a short one.
function paint() {
  const wrong = new Set(errors.map((error) => error.line));
  const lines = area.value.split("\n");
  const first = Math.floor(area.scrollTop / LINE);
  const last = Math.min(first + Math.ceil(area.clientHeight / LINE) + 1, lines.length);
  const seen = lines.slice(first, last);
  backdrop.replaceChildren(...seen.map((line, i) => paintLine(line, wrong.has(first + i + 1))));
  gutter.replaceChildren(...seen.map((_, i) =>
    make("span", { class: wrong.has(first + i + 1) ? "wrong" : "" }, `${first + i + 1}\n`)));
  const up = first * LINE - area.scrollTop;
  backdrop.style.transform = `translate(${-area.scrollLeft}px, ${up}px)`;
  gutter.style.transform = `translateY(${up}px)`;
  area.setAttribute("aria-invalid", String(wrong.size > 0));
}

function paintLine(line, isWrong) {
  const parts = line.match(/#.*|~|@[^#]*|^\s*actions:|[^#~@]+/g) ?? [];
  const spans = parts.map((part) => make("span", { class: kindOf(part) }, part));
  return make("span", { class: isWrong ? "wrong" : "" }, ...spans, "\n");
}

function kindOf(part) {
  if (part.startsWith("#")) return "comment";
  if (part.startsWith("@")) return "rate";
  return part === "~" || part.trim() === "actions:" ? "mark" : "";
}

function listErrors() {
  byId("errors").replaceChildren(...errors.map(({ line, message }) => {
    const text = line ? [make("b", {}, `Line ${line}: `), message] : [message];
    return make("li", {}, make("button", { type: "button", onclick: () => goTo(line) }, ...text));
  }));
}

function goTo(line) {
  const lines = area.value.split("\n").slice(0, Math.max(line - 1, 0));
  const start = lines.join("\n").length + (lines.length ? 1 : 0);
  const end = area.value.indexOf("\n", start);
  area.focus();
  area.setSelectionRange(start, end < 0 ? area.value.length : end);
  area.scrollTop = Math.max(LINE * (line - 4), 0);
}
