// SPDX-License-Identifier: MIT
// What is being looked at, and the same as the address's fragment: a link (or a bookmark of the file)
// restores the whole view. Names never stand in it but the words of the search box: stacks, threads
// and filters are numbers of this page.

import { METRICS } from './estimator.js';
import { KEYS } from './groups.js';
import { FILTERS } from './model.js';
import { read_row_address } from './matching.js';

export function first_view(head) {
  return {
    metric: head.metric ?? head.metrics[0],
    unit: 'bytes',
    window: null, // [from, to] in edges; equal: a moment
    filters: {},
    zoom: '', // of the graph, as Tree.address
    inverted: false,
    folded: false, // of a recursion one round is shown
    search: '',
    selected: '', // a row of the table, as row_address
    by: 'function',
    cumulative: false,
    sort: 'estimate',
    ascending: false,
    chosen: null, // key of the function whose callers and callees are shown
  };
}

export function to_fragment(view, first) {
  const parts = [];
  const put = (name, value) => parts.push(name + '=' + encodeURIComponent(value));
  if (view.metric !== first.metric) put('metric', view.metric);
  if (view.unit !== first.unit) put('unit', view.unit);
  if (view.window !== null) put('window', view.window.join('-'));
  for (const key of FILTERS) if (view.filters[key] != null) put(key, view.filters[key]);
  if (view.zoom !== '') put('zoom', view.zoom);
  if (view.inverted) put('callees', 1);
  if (view.folded) put('folded', 1);
  if (view.search !== '') put('search', view.search);
  if (view.selected !== '') put('row', view.selected);
  if (view.by !== first.by) put('by', view.by);
  if (view.cumulative) put('cumulative', 1);
  if (view.sort !== first.sort) put('sort', view.sort);
  if (view.ascending) put('ascending', 1);
  if (view.chosen !== null) put('function', view.chosen);
  return parts.join('&');
}

const number = (text, limit) => (/^\d{1,10}$/.test(text) && +text < limit ? +text : null);

// A fragment may hold anything: what is not understood is left out.
export function from_fragment(text, first, profile) {
  const view = { ...first, filters: {} };
  const limits = {
    thread: profile.head.threads.length,
    process: profile.head.processes.length,
    module: profile.key_count,
    type: profile.head.types.length,
    size: 256,
  };
  for (const part of text.replace(/^#/, '').split('&')) {
    const at = part.indexOf('=');
    if (at < 0) continue;
    const name = part.slice(0, at);
    let value;
    try {
      value = decodeURIComponent(part.slice(at + 1));
    } catch {
      continue;
    }
    if (name === 'metric' && METRICS.includes(value) && profile.head.metrics.includes(value)) view.metric = value;
    else if (name === 'unit' && (value === 'bytes' || value === 'objects')) view.unit = value;
    else if (name === 'window') {
      const [from, to] = value.split('-').map((t) => number(t, profile.last_edge + 1));
      if (from != null && to != null && from <= to) view.window = [from, to];
    } else if (FILTERS.includes(name)) {
      const id = number(value, limits[name]);
      if (id !== null) view.filters[name] = id;
    } else if (name === 'zoom' && /^\d+\.\d+$/.test(value)) view.zoom = value;
    else if (name === 'callees') view.inverted = value === '1';
    else if (name === 'folded') view.folded = value === '1';
    else if (name === 'search') view.search = value.slice(0, 1000);
    else if (name === 'row') view.selected = read_row_address(value, profile);
    else if (name === 'by' && KEYS.includes(value)) view.by = value;
    else if (name === 'cumulative') view.cumulative = value === '1';
    else if (name === 'sort' && ['estimate', 'low', 'high', 'objects', 'samples', 'name'].includes(value)) view.sort = value;
    else if (name === 'ascending') view.ascending = value === '1';
    else if (name === 'function') view.chosen = number(value, profile.key_count);
  }
  if (view.window !== null && view.metric === 'peak') view.metric = 'live';
  return view;
}
