// What the page remembers in this browser, and who wants to know when it changes.

const KEY = "easee-studio";
const listeners = new Map();

function load() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

export const kept = { text: null, depth: 3, tab: "graph", fields: {}, ...load() };

export function keep(values) {
  Object.assign(kept, values);
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // Storage is full or forbidden: a reload will forget the text, nothing else.
  }
}

export function on(event, listener) {
  listeners.set(event, [...(listeners.get(event) ?? []), listener]);
}

export function tell(event, value) {
  for (const listener of listeners.get(event) ?? []) listener(value);
}
