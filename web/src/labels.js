// SPDX-License-Identifier: MIT
// The names in the boxes of a graph: of each as much as fits.

import { shorten, shorter_forms } from './names.js';

export const NARROWEST_TEXT = 18; // pixels

const CHAIN_NAME = 40; // characters of the outer name of a chain

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
export function fitting(painter, name, room) {
  if (room < NARROWEST_TEXT) return '';
  const text = cut_to(painter, name, room);
  if (text === name) return name;
  const forms = forms_of(name);
  if (forms.length === 1) return text;
  for (let i = 1; i < forms.length; i++) if (painter.measure(forms[i]) <= room) return forms[i];
  return cut_to(painter, forms[forms.length - 1], room);
}

// Of a chain both ends and how many functions it has; where that is too long, of the inner end as much as fits.
export function fitting_chain(painter, names, room) {
  if (names.length === 1) return fitting(painter, names[0], room);
  const last = names[names.length - 1];
  const count = ' (' + names.length + ')';
  const both = shorten(names[0], CHAIN_NAME) + (names.length > 2 ? ' › … › ' : ' › ');
  for (const before of [both, '… › ']) {
    const name = fitting(painter, last, room - painter.measure(before + count));
    if (name === last || (name !== '' && before !== both)) return before + name + count;
  }
  return fitting(painter, last, room);
}

// Both ends of a chain of functions, or the name of one.
export function ends_text(names) {
  if (names.length === 1) return names[0];
  return names[0] + (names.length > 2 ? ' › … › ' : ' › ') + names[names.length - 1] + ' (' + names.length + ' functions)';
}
