// Small helpers for elements, numbers and files.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

// Replace the children of an element; those that are null are left out.
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child != null));
}

export function makeSvg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// The width of the views, also of those that are hidden, for charts whose text is never scaled.
export const viewWidth = () => Math.max(byId("graph").parentElement.clientWidth - 34, 360);

export const count = (number) => Math.round(number).toLocaleString("en");

export function share(number) {
  const percent = 100 * number;
  if (percent === 0 || percent >= 99.95) return `${percent.toFixed(0)}%`;
  return percent >= 1 ? `${percent.toFixed(1)}%` : `${Number(percent.toPrecision(2))}%`;
}

export function duration(seconds) {
  if (seconds < 1) return `${(1000 * seconds).toFixed(seconds < 0.1 ? 1 : 0)} ms`;
  return seconds < 100 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`;
}

export function save(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
