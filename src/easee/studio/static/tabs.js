// The tabs: arrow keys move between them, and the page remembers the last one.

import { byId } from "./dom.js";
import { keep, kept, tell } from "./store.js";

const tabs = [...document.querySelectorAll("[role=tab]")];

export function startTabs() {
  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -i, End: tabs.length - 1 - i };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const next = tabs[(i + steps[event.key] + tabs.length) % tabs.length];
      select(next);
      next.focus();
    });
  }
  select(tabs.find((tab) => tab.getAttribute("aria-controls") === kept.tab) ?? tabs[0]);
}

function select(chosen) {
  for (const tab of tabs) {
    const isChosen = tab === chosen;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !isChosen;
  }
  const name = chosen.getAttribute("aria-controls");
  keep({ tab: name });
  tell("tab", name);
}
