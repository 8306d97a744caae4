// SPDX-License-Identifier: MIT
// The graph: where boxes lie, and how they look. A box is as wide as its estimate; its right end fades
// from the lower limit to the upper one, with a tick at the estimate. What of the fade lies over the
// next box is a thin strip along its foot. Hatched: the lower limit is under a fifth of the estimate,
// so that it is hardly established that anything is there. A dashed border: the intervals of a box
// and the next sibling overlap, their order is not established.

import { estimate_text, has_estimate } from './quantity.js';

export const ROW = 23;
const GAP = 1.5;
const NARROWEST = 1; // pixels; what is narrower is drawn together with its smaller siblings
const WITH_INTERVAL = 3; // pixels; from there on boxes show their intervals
const STRIP = 4;
const HARDLY = 0.2;

// {boxes, rows: boxes by row sorted by x, smaller, height}; a box is {node, x, width, row, next, above}.
export function lay_out(weighted, zoom, width) {
  const { tree, weight } = weighted;
  const rows = [];
  const boxes = [];
  const smaller = []; // what lies beside the boxes and is too narrow for one
  const put = (node, x, box_width, row, above) => {
    const box = { node, x, width: box_width, row, next: null, above, end: width };
    (rows[row] ??= []).push(box);
    boxes.push(box);
    return box;
  };
  const above = zoom === 0 ? [] : [0, ...tree.path(tree.parent[zoom])];
  const whole = weighted.figures(zoom)[weighted.unit];
  // Room on the right for the upper limit of the widest box.
  const spare = has_estimate(whole) && whole.estimate > 0 ? Math.min(whole.high / whole.estimate, 1.3) : 1;
  const scale = weight[zoom] > 0 ? width / spare / weight[zoom] : 0;
  above.forEach((node, row) => put(node, 0, width / spare, row, true));
  if (!(scale > 0)) return { boxes, rows, smaller, scale: 0, height: Math.max(rows.length, 1) * ROW };
  const pending = [put(zoom, 0, weight[zoom] * scale, above.length, false)];
  while (pending.length > 0) {
    const parent = pending.pop();
    let x = parent.x;
    let before = null;
    const children = weighted.children(parent.node);
    for (let i = 0; i < children.length; i++) {
      const child = children[i];
      const box_width = weight[child] * scale;
      if (box_width < NARROWEST) {
        const rest = children.slice(i).reduce((sum, other) => sum + weight[other], 0) * scale;
        if (rest >= NARROWEST) smaller.push({ x, width: rest, row: parent.row + 1 });
        break;
      }
      const box = put(child, x, box_width, parent.row + 1, false);
      if (before !== null) before.next = box;
      before = box;
      x += box_width;
      pending.push(box);
    }
  }
  for (const row of rows) {
    row.sort((a, b) => a.x - b.x);
    // How far a fade may reach at full height; what is hardly wider than a line is drawn over it.
    for (let i = row.length - 2; i >= 0; i--) row[i].end = wants_figures(row[i + 1]) ? row[i + 1].x : row[i + 1].end;
  }
  return { boxes, rows, smaller, scale, height: rows.length * ROW };
}

export function box_at(layout, x, y) {
  const row = layout.rows[Math.floor(y / ROW)];
  if (row === undefined) return null;
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].x <= x) low = middle + 1;
    else high = middle;
  }
  const box = row[low - 1];
  return box !== undefined && x < box.x + Math.max(box.width, 1) ? box : null;
}

export function wants_figures(box) {
  return box.width >= WITH_INTERVAL;
}

function hash(text) {
  let value = 7;
  for (let i = 0; i < text.length && i < 64; i++) value = (Math.imul(value, 31) + text.charCodeAt(i)) | 0;
  return value >>> 0;
}

// By key of the function; one list for light and one for dark.
const colours = [[], []];

function colour_of(tree, node, dark) {
  const key = node === 0 ? 0 : tree.key[node] + 1;
  const known = colours[+dark];
  if (known[key] === undefined) {
    const value = hash(tree.name(node));
    const hue = 16 + (value % 32);
    const light = dark ? 40 + ((value >>> 8) % 8) : 66 + ((value >>> 8) % 10);
    known[key] = 'hsl(' + hue + ' ' + (dark ? 52 : 74) + '% ' + light + '%)';
  }
  return known[key];
}

function fitting(painter, text, room) {
  if (room < 18) return '';
  if (painter.measure(text) <= room) return text;
  let low = 0;
  let high = Math.min(text.length, Math.ceil(room / 3));
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (painter.measure(text.slice(0, middle) + '…') <= room) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? '' : text.slice(0, low) + '…';
}

function is_hatched(figure) {
  return !has_estimate(figure) || figure.low < HARDLY * figure.estimate;
}

export function order_is_open(weighted, box) {
  if (box.next === null || !weighted.has_figures(box.node) || !weighted.has_figures(box.next.node)) return false;
  return weighted.figures(box.node)[weighted.unit].low < weighted.figures(box.next.node)[weighted.unit].high;
}

function draw_body(painter, weighted, layout, box, look, alpha) {
  const y = box.row * ROW;
  const height = ROW - GAP;
  const width = Math.max(box.width - (box.width > 2 ? 0.5 : 0), 0.5);
  const colour = box.above ? look.above : colour_of(weighted.tree, box.node, look.dark);
  const figure = wants_figures(box) && weighted.has_figures(box.node) ? weighted.figures(box.node)[weighted.unit] : null;
  if (figure === null || box.above || figure.exact) {
    painter.rect(box.x, y, width, height, colour, alpha);
    return;
  }
  if (is_hatched(figure)) {
    painter.hatch(box.x, y, width, height, colour, look.ground, alpha);
    painter.frame(box.x, y, width, height, colour, 1);
    return;
  }
  // (A whole pixel, or a seam shows where the two fills meet.)
  const low = Math.max(Math.min(Math.round(box.x + figure.low * layout.scale) - box.x, width), 0);
  const high = figure.high * layout.scale;
  const middle = high > low ? (1 - ((width - low) / (high - low)) * 0.9) * alpha : alpha;
  painter.rect(box.x, y, low, height, colour, alpha);
  if (width > low + 0.3) painter.fade(box.x + low, y, width - low, height, colour, alpha, middle);
  const free = Math.min(box.x + high, box.end) - box.x - width;
  if (free > 0.7) {
    const end = middle * (1 - free / (high - width));
    painter.fade(box.x + width, y, free, height, colour, middle, Math.max(end, 0.03));
  }
}

function draw_limits(painter, weighted, layout, box, look) {
  if (box.above || !wants_figures(box) || !weighted.has_figures(box.node)) return;
  const figure = weighted.figures(box.node)[weighted.unit];
  const y = box.row * ROW;
  const open = order_is_open(weighted, box);
  if (!figure.exact && !is_hatched(figure)) {
    const right = box.x + figure.high * layout.scale;
    const from = Math.max(box.x + box.width, box.end);
    const colour = colour_of(weighted.tree, box.node, look.dark);
    if (right > from + 1) {
      painter.rect(from, y + ROW - GAP - STRIP, right - from, STRIP, look.ground, 0.55);
      painter.fade(from, y + ROW - GAP - STRIP, right - from, STRIP, colour, 0.95, 0.1);
    }
    if (!open && (figure.high - figure.low) * layout.scale > 2)
      painter.line(box.x + box.width, y + 3, y + ROW - GAP - 3, look.tick, 1.3, false);
  }
  if (open && box.width > 6) {
    painter.line(box.x + box.width, y, y + ROW - GAP, look.ground, 2.4, false);
    painter.line(box.x + box.width, y, y + ROW - GAP, look.tick, 1.6, true);
  }
}

function draw_label(painter, weighted, box, look, alpha) {
  const room = box.width - 9;
  if (room < 18) return;
  const y = box.row * ROW + (ROW - GAP) / 2;
  const figure = weighted.has_figures(box.node) ? weighted.figures(box.node)[weighted.unit] : null;
  const name = fitting(painter, weighted.tree.name(box.node), room);
  if (name === '') return;
  const hatched = figure !== null && !box.above && is_hatched(figure);
  const width = painter.measure(name);
  if (hatched) painter.rect(box.x + 3, y - 8, width + 4, 16, look.ground, 0.8);
  painter.text(name, box.x + 5, y, hatched || box.above ? look.ink : look.label, alpha);
  if (figure === null) return;
  const amount = estimate_text(figure, weighted.unit);
  if (painter.measure(amount) + width + 14 < room)
    painter.text(amount, box.x + 5 + width + 10, y, hatched || box.above ? look.ink : look.label, alpha * 0.72);
}

// `marks`: {matched: node -> 0 | 1 or null, hover, focus}.
export function draw(painter, weighted, layout, look, marks) {
  for (const { x, width, row } of layout.smaller) painter.rect(x, row * ROW, width, ROW - GAP, look.above, 0.7);
  for (const box of layout.boxes) {
    const alpha = marks.matched !== null && !marks.matched[box.node] ? 0.28 : 1;
    draw_body(painter, weighted, layout, box, look, alpha);
  }
  for (const box of layout.boxes)
    if (marks.matched === null || marks.matched[box.node]) draw_limits(painter, weighted, layout, box, look);
  for (const box of layout.boxes) {
    const alpha = marks.matched !== null && !marks.matched[box.node] ? 0.55 : 1;
    draw_label(painter, weighted, box, look, alpha);
  }
}

// Outlines of the box under the pointer and of the one with the keyboard's focus.
export function draw_marks(painter, layout, look, hover, focus) {
  for (const [node, thick, ink] of [[hover, 1.4, look.ink], [focus, 2.4, look.accent]]) {
    const box = node === null ? undefined : layout.boxes.find((b) => b.node === node);
    if (box !== undefined) painter.frame(box.x, box.row * ROW, Math.max(box.width, 2), ROW - GAP, ink, thick);
  }
}
