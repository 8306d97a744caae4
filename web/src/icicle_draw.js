// SPDX-License-Identifier: MIT
// The graph: where boxes lie, and how they look. A box is as wide as its estimate; its right end fades
// from the lower limit to the upper one, with a tick at the estimate. What of the fade lies over the
// next box is a thin strip along its foot. Hatched: the lower limit is under a fifth of the estimate,
// so that it is hardly established that anything is there. A dashed border: the intervals of a box
// and the next sibling overlap, their order is not established.

import { shorter_forms } from './names.js';
import { estimate_text, has_estimate } from './quantity.js';

export const ROW = 23;
const GAP = 1.5;
const NARROWEST = 1; // pixels; what is narrower is drawn together with its smaller siblings
const WITH_INTERVAL = 3; // pixels; from there on boxes show their intervals
const STRIP = 4;
const HARDLY = 0.2;
const NARROWEST_TEXT = 18; // pixels
const UNMATCHED = 0.28; // alpha, of what is not searched for

// Where the boxes are: arrays by number of a box, row by row from the top, each row from left to right.
class Layout {
  constructor() {
    this.count = 0;
    this.capacity = 1024;
    this.node = new Int32Array(this.capacity);
    this.row = new Int32Array(this.capacity);
    this.sibling = new Uint8Array(this.capacity); // 1: the box behind it is its next sibling
    this.x = new Float64Array(this.capacity);
    this.width = new Float64Array(this.capacity);
    this.end = new Float64Array(this.capacity); // how far a fade may reach at full height
    this.row_begin = []; // the first box of each row, and behind them the count
    this.above = 0; // rows above the one that is zoomed to
    this.smaller = []; // {x, width, row}: what lies beside the boxes and is too narrow for one
    this.scale = 0;
  }

  put(node, x, width, row) {
    if (this.count === this.capacity) this.grow();
    const box = this.count++;
    this.node[box] = node;
    this.row[box] = row;
    this.x[box] = x;
    this.width[box] = width;
    return box;
  }

  grow() {
    this.capacity *= 4;
    for (const field of ['node', 'row', 'sibling', 'x', 'width', 'end']) {
      const larger = new this[field].constructor(this.capacity);
      larger.set(this[field]);
      this[field] = larger;
    }
  }

  // Of rows that are full: what the fades need to know.
  finish(width) {
    this.rows = this.row_begin.length;
    this.row_begin.push(this.count);
    this.height = Math.max(this.rows, 1) * ROW;
    // What is hardly wider than a line is drawn over a fade.
    for (let row = 0; row < this.rows; row++) {
      let end = width;
      for (let box = this.row_begin[row + 1] - 1; box >= this.row_begin[row]; box--) {
        this.end[box] = end;
        if (this.width[box] >= WITH_INTERVAL) end = this.x[box];
      }
    }
    return this;
  }

  is_above(box) {
    return box < this.above;
  }

  wants_figures(box) {
    return this.width[box] >= WITH_INTERVAL;
  }

  // The box of a node; -1: it has none.
  find(node) {
    const box = this.node.indexOf(node);
    return box < this.count ? box : -1;
  }

  // The first box of a row that begins right of x; the end of the row, if none does.
  behind(row, x) {
    let low = this.row_begin[row];
    let high = this.row_begin[row + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.x[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  at(x, y) {
    const row = Math.floor(y / ROW);
    if (!(row >= 0 && row < this.rows)) return -1;
    const box = this.behind(row, x) - 1;
    return box >= this.row_begin[row] && x < this.x[box] + Math.max(this.width[box], 1) ? box : -1;
  }
}

export function lay_out(weighted, zoom, width) {
  const layout = new Layout();
  const { tree } = weighted;
  const whole = weighted.figures(zoom)[weighted.unit];
  // Room on the right for the upper limit of the widest box.
  const spare = has_estimate(whole) && whole.estimate > 0 ? Math.min(whole.high / whole.estimate, 1.3) : 1;
  const all = weighted.weight[zoom];
  const scale = all > 0 ? width / spare / all : 0;
  const above = zoom === 0 ? [] : [0, ...tree.path_to(tree.parent[zoom])];
  above.forEach((node, row) => layout.row_begin.push(layout.put(node, 0, width / spare, row)));
  layout.above = layout.count;
  if (!(scale > 0)) return layout.finish(width);
  layout.scale = scale;
  layout.row_begin.push(layout.put(zoom, 0, all * scale, layout.above));
  for (;;) {
    const row = layout.row_begin.length - 1;
    const end = layout.count;
    for (let box = layout.row_begin[row]; box < end; box++) put_children(layout, weighted, box, row + 1);
    if (layout.count === end) return layout.finish(width);
    layout.row_begin.push(end);
  }
}

// Children of a box side by side, the widest first, of two as wide the older one.
function put_children(layout, weighted, box, row) {
  const { scale } = layout;
  const { tree } = weighted;
  const { weight } = weighted;
  const begin = layout.count;
  let narrow = 0;
  for (let child = tree.first[layout.node[box]]; child !== 0; child = tree.next[child]) {
    const width = weight[child] * scale;
    if (width >= NARROWEST) insert(layout, begin, child, width, row);
    else narrow += width;
  }
  let x = layout.x[box];
  for (let at = begin; at < layout.count; at++) {
    layout.x[at] = x;
    x += layout.width[at];
    layout.sibling[at] = +(at + 1 < layout.count);
  }
  if (narrow >= NARROWEST) layout.smaller.push({ x, width: narrow, row });
}

function insert(layout, begin, node, width, row) {
  let at = layout.put(node, 0, width, row);
  for (; at > begin && (layout.width[at - 1] < width || (layout.width[at - 1] === width && layout.node[at - 1] > node)); at--) {
    layout.width[at] = layout.width[at - 1];
    layout.node[at] = layout.node[at - 1];
  }
  layout.width[at] = width;
  layout.node[at] = node;
}

function hash(text) {
  let value = 7;
  for (let i = 0; i < text.length && i < 64; i++) value = (Math.imul(value, 31) + text.charCodeAt(i)) | 0;
  return value >>> 0;
}

// Of functions by their names, from one palette for light and one for dark.
const HUES = 32;
const SHADES = 10;

class Palette {
  constructor(profile, dark) {
    this.profile = profile;
    this.dark = dark;
    this.of_key = new Uint16Array(profile.key_count + 1); // number of a colour and 1; 0: not known yet
    this.colours = [];
  }

  // Of a key (the root's is -1).
  number_of(key) {
    const known = this.of_key[key + 1];
    if (known !== 0) return known - 1;
    const value = hash(key < 0 ? 'all' : this.profile.raw_names[key]);
    const number = (value % HUES) * SHADES + ((value >>> 8) % (this.dark ? 8 : SHADES));
    this.of_key[key + 1] = 1 + number;
    return number;
  }

  colour(number) {
    const hue = 16 + Math.floor(number / SHADES);
    const light = (this.dark ? 40 : 66) + (number % SHADES);
    return (this.colours[number] ??= 'hsl(' + hue + ' ' + (this.dark ? 52 : 74) + '% ' + light + '%)');
  }

  colour_of(key) {
    return this.colour(this.number_of(key));
  }
}

const palettes = new WeakMap(); // of profiles: [light, dark]

function palette_of(profile, dark) {
  if (!palettes.has(profile)) palettes.set(profile, []);
  const both = palettes.get(profile);
  both[+dark] ??= new Palette(profile, dark);
  return both[+dark];
}

// What of a text fits, ending in an ellipsis where it was cut; '': nothing worth it.
function cut_to(painter, text, room) {
  const with_ellipsis = room - painter.measure('…');
  let width = 0;
  let at = 0;
  let fits = 0;
  for (const character of text) {
    width += painter.measure_one(character);
    if (width > room) return fits < 2 ? '' : text.slice(0, fits) + '…';
    at += character.length;
    if (width <= with_ellipsis) fits = at;
  }
  return text;
}

const known_forms = new Map();

function forms_of(name) {
  let known = known_forms.get(name);
  if (known === undefined) known_forms.set(name, (known = shorter_forms(name)));
  return known;
}

// The longest form of a name that fits; of the shortest one as much as fits.
function fitting(painter, name, room) {
  if (room < NARROWEST_TEXT) return '';
  const text = cut_to(painter, name, room);
  if (text === name) return name;
  const forms = forms_of(name);
  if (forms.length === 1) return text;
  for (let i = 1; i < forms.length; i++) if (painter.measure(forms[i]) <= room) return forms[i];
  return cut_to(painter, forms[forms.length - 1], room);
}

function is_hatched(figure) {
  return !has_estimate(figure) || figure.low < HARDLY * figure.estimate;
}

export function order_is_open(weighted, layout, box) {
  if (layout.sibling[box] === 0) return false;
  const figure = weighted.known_figure(layout.node[box]);
  const next = weighted.known_figure(layout.node[box + 1]);
  return figure !== null && next !== null && figure.low < next.high;
}

const HEIGHT = ROW - GAP;

const drawn_width = (width) => Math.max(width - (width > 2 ? 0.5 : 0), 0.5);

function draw_interval(painter, layout, box, figure, colour, look, alpha) {
  const x = layout.x[box];
  const y = layout.row[box] * ROW;
  const width = drawn_width(layout.width[box]);
  if (is_hatched(figure)) {
    painter.hatch(x, y, width, HEIGHT, colour, look.ground, alpha);
    painter.frame(x, y, width, HEIGHT, colour, 1);
    return;
  }
  // (A whole pixel, or a seam shows where the two fills meet.)
  const low = Math.max(Math.min(Math.round(x + figure.low * layout.scale) - x, width), 0);
  const high = figure.high * layout.scale;
  const middle = high > low ? (1 - ((width - low) / (high - low)) * 0.9) * alpha : alpha;
  painter.rect(x, y, low, HEIGHT, colour, alpha);
  if (width > low + 0.3) painter.fade(x + low, y, width - low, HEIGHT, colour, alpha, middle);
  const free = Math.min(x + high, layout.end[box]) - x - width;
  if (free > 0.7) {
    const end = middle * (1 - free / (high - width));
    painter.fade(x + width, y, free, HEIGHT, colour, middle, Math.max(end, 0.03));
  }
}

function draw_limits(painter, weighted, layout, box, figure, colour, look) {
  const x = layout.x[box];
  const y = layout.row[box] * ROW;
  const width = layout.width[box];
  const open = order_is_open(weighted, layout, box);
  if (!figure.exact && !is_hatched(figure)) {
    const right = x + figure.high * layout.scale;
    const from = Math.max(x + width, layout.end[box]);
    if (right > from + 1) {
      painter.rect(from, y + HEIGHT - STRIP, right - from, STRIP, look.ground, 0.55);
      painter.fade(from, y + HEIGHT - STRIP, right - from, STRIP, colour, 0.95, 0.1);
    }
    if (!open && (figure.high - figure.low) * layout.scale > 2)
      painter.line(x + width, y + 3, y + HEIGHT - 3, look.tick, 1.3, false);
  }
  if (open && width > 6) {
    painter.line(x + width, y, y + HEIGHT, look.ground, 2.4, false);
    painter.line(x + width, y, y + HEIGHT, look.tick, 1.6, true);
  }
}

function draw_label(painter, weighted, layout, box, look, alpha) {
  const room = layout.width[box] - 9;
  const x = layout.x[box];
  const y = layout.row[box] * ROW + HEIGHT / 2;
  const figure = weighted.known_figure(layout.node[box]);
  const name = fitting(painter, weighted.tree.name(layout.node[box]), room);
  if (name === '') return;
  const hatched = figure !== null && !layout.is_above(box) && is_hatched(figure);
  const width = painter.measure(name);
  if (hatched) painter.rect(x + 3, y - 8, width + 4, 16, look.ground, 0.8);
  const ink = hatched || layout.is_above(box) ? look.ink : look.label;
  painter.text(name, x + 5, y, ink, alpha);
  if (figure === null || room - width - 14 < NARROWEST_TEXT / 2) return;
  const amount = estimate_text(figure, weighted.unit);
  if (painter.measure(amount) + width + 14 < room) painter.text(amount, x + 5 + width + 10, y, ink, alpha * 0.72);
}

// What of the boxes is one plain rectangle, colour by colour: setting a colour takes as long as filling
// some boxes. A list of these, of numbers of boxes, by colour and by whether it matches a search.
class Plain {
  constructor(most) {
    this.of_box = new Uint16Array(most); // number of the class and 1; 0: not plain
    this.counts = new Int32Array(2 * HUES * SHADES + 1);
  }

  add(box, colour, matches) {
    const number = 2 * colour + matches;
    this.of_box[box] = number + 1;
    this.counts[number]++;
  }

  draw(painter, layout, palette) {
    const { counts, of_box } = this;
    let sum = 0;
    for (let i = 0; i < counts.length; i++) {
      sum += counts[i];
      counts[i] = sum - counts[i];
    }
    const sorted = new Int32Array(sum);
    for (let box = 0; box < layout.count; box++) if (of_box[box] !== 0) sorted[counts[of_box[box] - 1]++] = box;
    let last = 0;
    for (let i = 0; i < sum; i++) {
      const box = sorted[i];
      if (of_box[box] !== last) {
        last = of_box[box];
        painter.fill(palette.colour((last - 1) >> 1), (last - 1) & 1 ? 1 : UNMATCHED);
      }
      painter.filled(layout.x[box], layout.row[box] * ROW, drawn_width(layout.width[box]), HEIGHT);
    }
  }
}

// `matched`: by node, 1: it is what is searched for or chosen; null: nothing is.
export function draw(painter, weighted, layout, look, matched) {
  const { tree } = weighted;
  const palette = palette_of(tree.profile, look.dark);
  const { node, width } = layout;
  const matches = (box) => matched === null || matched[node[box]] === 1;
  for (const { x, width: narrow, row } of layout.smaller) painter.rect(x, row * ROW, narrow, HEIGHT, look.above, 0.7);
  for (let box = 0; box < layout.above; box++)
    painter.rect(layout.x[box], layout.row[box] * ROW, drawn_width(width[box]), HEIGHT, look.above, matches(box) ? 1 : UNMATCHED);
  const plain = new Plain(layout.count);
  const with_figures = [];
  for (let box = layout.above; box < layout.count; box++) {
    const key = tree.key[node[box]];
    const figure = width[box] >= WITH_INTERVAL ? weighted.known_figure(node[box]) : null;
    if (figure !== null) with_figures.push(box);
    if (figure === null || figure.exact) plain.add(box, palette.number_of(key), matches(box) ? 1 : 0);
    else draw_interval(painter, layout, box, figure, palette.colour_of(key), look, matches(box) ? 1 : UNMATCHED);
  }
  plain.draw(painter, layout, palette);
  for (const box of with_figures)
    if (matches(box))
      draw_limits(painter, weighted, layout, box, weighted.known_figure(node[box]), palette.colour_of(tree.key[node[box]]), look);
  for (let box = 0; box < layout.count; box++)
    if (width[box] >= 9 + NARROWEST_TEXT) draw_label(painter, weighted, layout, box, look, matches(box) ? 1 : 0.55);
}
