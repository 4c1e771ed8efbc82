// What is taken home: the prior, the policy, two pictures, and Python.

import { post, run } from "./api.js";
import { byId, save } from "./dom.js";
import { pictureText } from "./graph.js";
import { on } from "./store.js";

let policy = null; // text and depth of the compiled prior

export function startExport() {
  on("compiled", async (compiled) => {
    policy = { text: compiled.text, depth: compiled.depth };
    byId("python").textContent = (await post("python", policy)).text;
  });
  offer("save-prior", async () => save("prior.txt", `${policy.text.trimEnd()}\n`, "text/plain"));
  offer("save-picture", async () => save("graph.svg", pictureText(), "image/svg+xml"));
  offer("save-figure", async () => {
    const { name, text } = await run("figure", policy);
    save(name, text, "image/svg+xml");
  });
  offer("save-policy", async () => {
    const { name, base64 } = await run("policy-file", policy);
    save(name, Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)), "application/octet-stream");
  });
  offer("copy-python", () => navigator.clipboard.writeText(byId("python").textContent), "copied");
}

function offer(id, act, done = "saved") {
  const button = byId(id);
  button.addEventListener("click", async () => {
    const note = byId("export-note");
    if (!policy) {
      note.textContent = "There is no policy yet: correct the prior, or lower the depth.";
      return;
    }
    button.disabled = true;
    note.textContent = "working…";
    try {
      await act();
      note.textContent = `${done === "saved" ? `${button.textContent.replace("Save ", "")} is` : "The program is"} ${done}.`;
    } catch (error) {
      note.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
}
