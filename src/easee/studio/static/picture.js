// The drawing of the graph as a picture that leaves the page.

import { make, makeSvg } from "./dom.js";

// The drawing as a file of its own, for any program: styles are attributes, and colours are hex.
export function picture(svg, size, background) {
  const copy = svg.cloneNode(true);
  const originals = svg.querySelectorAll("*");
  const hex = colourReader();
  copy.querySelectorAll("*").forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of ["fill", "stroke"]) element.setAttribute(name, hex(style.getPropertyValue(name)));
    for (const name of ["stroke-width", "stroke-opacity", "stroke-dasharray", "font-family", "font-size",
      "text-anchor", "dominant-baseline"]) {
      element.setAttribute(name, style.getPropertyValue(name));
    }
    for (const name of ["class", "style", "data-mark"]) element.removeAttribute(name);
  });
  copy.querySelector("g").removeAttribute("transform");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `-40 -44 ${size.width + 80} ${size.height + 64}`);
  copy.setAttribute("width", size.width + 80);
  copy.setAttribute("height", size.height + 64);
  for (const name of ["id", "tabindex", "role", "class", "aria-label"]) copy.removeAttribute(name);
  copy.prepend(makeSvg("rect", {
    x: -40, y: -44, width: size.width + 80, height: size.height + 64,
    fill: hex(background),
  }));
  return new XMLSerializer().serializeToString(copy);
}

// Return a function from any colour of a style sheet to #rrggbb, or none.
function colourReader() {
  const canvas = make("canvas", { width: 1, height: 1 });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map([["none", "none"]]);
  return (colour) => {
    if (!known.has(colour)) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const values = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
      known.set(colour, `#${values.map((value) => value.toString(16).padStart(2, "0")).join("")}`);
    }
    return known.get(colour);
  };
}
