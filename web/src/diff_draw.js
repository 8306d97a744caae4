// SPDX-License-Identifier: MIT
// How the graph of a difference looks: red what grew, blue what shrank, the fuller the larger the part
// that changed; grey what is not established; pale where too little was sampled for any verdict. A
// coloured box says its change with its sign, so that nothing depends on telling colours apart.

import { NARROWEST_TEXT, fitting, fitting_chain } from './labels.js';
import { HEIGHT, ROW, UNMATCHED, drawn_width, is_matched, nodes_of } from './layout.js';
import { part_changed } from './diff_tree.js';
import { change_estimate_text } from './quantity.js';

const FULL = 4; // shades
const HUES = { grew: 6, new: 6, shrank: 214, gone: 214 };

export function colour_of(row, unit, dark) {
  const hue = HUES[row.verdict];
  if (hue === undefined) {
    if (!row.tested) return dark ? 'hsl(215 8% 22%)' : 'hsl(40 12% 92%)';
    return dark ? 'hsl(215 6% 34%)' : 'hsl(40 4% 81%)';
  }
  const shade = Math.min(Math.floor(part_changed(row, unit) * FULL), FULL - 1);
  return dark ? 'hsl(' + hue + ' ' + (34 + 8 * shade) + '% ' + (32 + 4 * shade) + '%)' : 'hsl(' + hue + ' 76% ' + (85 - 5 * shade) + '%)';
}

export function has_verdict(row) {
  return HUES[row.verdict] !== undefined;
}

function draw_label(painter, shown, layout, box, look, alpha, unit) {
  const room = layout.width[box] - 9;
  const x = layout.x[box];
  const y = layout.row[box] * ROW + HEIGHT / 2;
  const { tree } = shown;
  const name = layout.is_chain(box)
    ? fitting_chain(painter, nodes_of(layout, tree, box).map((node) => tree.name(node)), room)
    : fitting(painter, tree.name(layout.node[box]), room);
  if (name === '') return;
  painter.text(name, x + 5, y, look.ink, alpha);
  const row = shown.row(layout.node[box]);
  if (!has_verdict(row)) return;
  const width = painter.measure(name);
  if (room - width - 14 < NARROWEST_TEXT / 2) return;
  const amount = change_estimate_text(row.change[unit], unit);
  if (painter.measure(amount) + width + 14 < room) painter.text(amount, x + 5 + width + 10, y, look.ink, alpha * 0.8);
}

// `matched`: by node, 1: it is what is searched for; null: nothing is. Colours are about `unit`, that of the verdicts.
export function draw_paths(painter, shown, layout, look, matched, unit) {
  const { node, width } = layout;
  for (const { x, width: narrow, row } of layout.smaller) painter.rect(x, row * ROW, narrow, HEIGHT, look.above, 0.7);
  for (let box = 0; box < layout.count; box++) {
    const alpha = is_matched(layout, shown.tree, matched, box) ? 1 : UNMATCHED;
    const colour = colour_of(shown.row(node[box]), unit, look.dark);
    painter.rect(layout.x[box], layout.row[box] * ROW, drawn_width(width[box]), HEIGHT, colour, alpha);
  }
  for (let box = 0; box < layout.count; box++)
    if (width[box] >= 9 + NARROWEST_TEXT)
      draw_label(painter, shown, layout, box, look, is_matched(layout, shown.tree, matched, box) ? 1 : 0.55, shown.unit);
}
