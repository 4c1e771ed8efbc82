// Where the marks of a drawing are: layers from left to right.

const ROOM = 20; // height of a labelled node
const READABLE = 0.62; // of their size, to which labels may be scaled down
const GAP = 84; // between two layers with labels
const WIDEST = 11; // of an edge, if there is room

// Give each mark its place (x, y), its size and whether it has a label. Small graphs take the room
// that their labels need; large ones fill the stage, and have labels where there is room for them.
// Return the size of the drawing, and the width of its widest edge.
export function place(marks, room) {
  const columns = [];
  for (const mark of marks) (columns[mark.layer] ??= []).push(mark);
  const widths = columns.map((column) => 18 + 9 * Math.max(...column.map((mark) => [...mark.label].length)));
  const wanted = {
    width: widths.reduce((sum, width) => sum + width, GAP * (columns.length - 1)),
    height: Math.max(380, Math.max(...columns.map((column) => column.length)) * (ROOM + 8)),
  };
  const sparse = scaleThatFits(wanted, room) >= READABLE;
  const height = sparse ? wanted.height : Math.max(room.height - 110, 200);
  const step = Math.max(room.width - 80, 200) / Math.max(columns.length - 1, 1);
  let x = 0;
  for (const [i, column] of columns.entries()) {
    const spacing = height / column.length;
    const width = widths[i];
    const labelled = spacing >= ROOM + 2 && (sparse || width <= step - 22);
    const radius = Math.min(Math.max(spacing * 0.38, 0.7), 6, 0.3 * step);
    if (sparse) x += width / 2;
    for (const mark of column) {
      Object.assign(mark, {
        x, y: mark.place * height, labelled, half: labelled ? width / 2 : radius, radius,
      });
    }
    x += sparse ? width / 2 + GAP : step;
  }
  return {
    width: x - (sparse ? GAP : step),
    height,
    widest: sparse ? WIDEST : Math.min(WIDEST, 0.4 * step),
  };
}

// The scale at which a drawing fits into the room, with its titles and the legend.
export function scaleThatFits(size, room) {
  return Math.min((room.width - 60) / size.width, (room.height - 104) / size.height, 1.5);
}
