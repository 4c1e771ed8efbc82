// Requests to the server. Everything that takes time is a job there, which this waits for.

import { byId } from "./dom.js";

const PAUSE = 300; // milliseconds between two looks at a job
const RETRY = 1500; // and between two attempts to reach a server that does not answer

export class Stopped extends Error {}

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function request(path, content) {
  const options = content === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  };
  let response;
  try {
    response = await fetch(`api/${path}`, options);
  } catch {
    lost(true);
    throw new TypeError("the studio does not answer: is 'easee studio' still running?");
  }
  lost(false);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function lost(isLost) {
  const banner = byId("connection");
  if (banner.hidden !== isLost) return;
  banner.hidden = !isLost;
  banner.textContent = isLost
    ? "The connection to the studio is lost. Your text is safe in this browser; trying again…" : "";
}

export const get = (path) => request(path);
export const post = (path, content = {}) => request(path, content);
export const stop = (id) => post(`jobs/${id}/stop`);

// Wait for a job that was started earlier; a lost connection is tried again until it is back.
export async function follow(job, onProgress = () => {}) {
  while (job.state === "running") {
    onProgress(job);
    await sleep(PAUSE);
    try {
      job = await get(`jobs/${job.id}`);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await sleep(RETRY);
    }
  }
  return job;
}

// Start a job and return its result; an AbortSignal stops it.
export async function run(kind, values, { signal, onProgress } = {}) {
  if (signal?.aborted) throw new Stopped();
  const started = await post("jobs", { kind, arguments: values, wait: 0.4 });
  signal?.addEventListener("abort", () => stop(started.id).catch(() => {}));
  if (signal?.aborted) stop(started.id).catch(() => {});
  const job = await follow(started, onProgress);
  if (signal?.aborted || job.state === "stopped") throw new Stopped();
  if (job.state === "failed") throw new Error(job.message);
  return job.result;
}
