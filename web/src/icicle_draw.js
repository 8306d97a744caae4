// SPDX-License-Identifier: MIT
// How the graph looks. A box is as wide as its estimate; its right end fades
// from the lower limit to the upper one, with a tick at the estimate. What of the fade lies over the
// next box is a thin strip along its foot. Hatched: the lower limit is under a fifth of the estimate,
// which few samples say that anything is there. Whether the order of a box and the next sibling is
// established (their intervals do not overlap) is shown under the pointer alone.

import { NARROWEST_TEXT, fitting, fitting_chain } from './labels.js';
import { HEIGHT, ROW, UNMATCHED, WITH_INTERVAL, drawn_width, is_matched, nodes_of } from './layout.js';
import { estimate_text, has_estimate } from './quantity.js';

const STRIP = 4;
export const FEW = 0.2; // a lower limit below this part of the estimate is of few samples

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

function is_hatched(figure) {
  return !has_estimate(figure) || figure.low < FEW * figure.estimate;
}

export function order_is_open(weighted, layout, box) {
  if (layout.sibling[box] === 0) return false;
  const figure = weighted.known_figure(layout.node[box]);
  const next = weighted.known_figure(layout.node[box + 1]);
  return figure !== null && next !== null && figure.low < next.high;
}

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

function draw_limits(painter, layout, box, figure, colour, look) {
  const x = layout.x[box];
  const y = layout.row[box] * ROW;
  const width = layout.width[box];
  if (figure.exact || is_hatched(figure)) return;
  const right = x + figure.high * layout.scale;
  const from = Math.max(x + width, layout.end[box]);
  if (right > from + 1) {
    painter.rect(from, y + HEIGHT - STRIP, right - from, STRIP, look.ground, 0.55);
    painter.fade(from, y + HEIGHT - STRIP, right - from, STRIP, colour, 0.95, 0.1);
  }
  if ((figure.high - figure.low) * layout.scale > 2) painter.line(x + width, y + 3, y + HEIGHT - 3, look.tick, 1.3);
}

function draw_label(painter, weighted, layout, box, look, alpha) {
  const room = layout.width[box] - 9;
  const x = layout.x[box];
  const y = layout.row[box] * ROW + HEIGHT / 2;
  const figure = weighted.known_figure(layout.node[box]);
  const { tree } = weighted;
  const name = layout.is_chain(box)
    ? fitting_chain(painter, tree.chain_names(nodes_of(layout, tree, box)), room)
    : fitting(painter, tree.name(layout.node[box]), room);
  if (name === '') return;
  const hatched = figure !== null && is_hatched(figure);
  const width = painter.measure(name);
  if (hatched) painter.rect(x + 3, y - 8, width + 4, 16, look.ground, 0.8);
  const ink = hatched ? look.ink : look.label;
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
  const matches = (box) => is_matched(layout, tree, matched, box);
  for (const { x, width: narrow, row } of layout.smaller) painter.rect(x, row * ROW, narrow, HEIGHT, look.above, 0.7);
  const plain = new Plain(layout.count);
  const with_figures = [];
  for (let box = 0; box < layout.count; box++) {
    const key = tree.key[node[box]];
    const figure = width[box] >= WITH_INTERVAL ? weighted.known_figure(node[box]) : null;
    if (figure !== null) with_figures.push(box);
    if (figure === null || figure.exact) plain.add(box, palette.number_of(key), matches(box) ? 1 : 0);
    else draw_interval(painter, layout, box, figure, palette.colour_of(key), look, matches(box) ? 1 : UNMATCHED);
  }
  plain.draw(painter, layout, palette);
  for (const box of with_figures)
    if (matches(box))
      draw_limits(painter, layout, box, weighted.known_figure(node[box]), palette.colour_of(tree.key[node[box]]), look);
  for (let box = 0; box < layout.count; box++)
    if (width[box] >= 9 + NARROWEST_TEXT) draw_label(painter, weighted, layout, box, look, matches(box) ? 1 : 0.55);
}
