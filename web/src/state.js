// SPDX-License-Identifier: MIT
// What is being looked at, and the same as the address's fragment: a link (or a bookmark of the file)
// restores the whole view. Names never stand in it but the words of the search box: stacks, threads
// and filters are numbers of this page. Times are seconds (moment=9.95s, window=0.61s-1.44s).

import { METRICS } from './estimator.js';
import { KEYS } from './groups.js';
import { metric_of_word, metric_word } from './mapped.js';
import { FILTERS } from './model.js';
import { read_row_address } from './matching.js';
import { nearest } from './resident.js';

// A change of one of these is a step of the browser's history.
export const STEPS = ['metric', 'unit', 'window', 'filters', 'zoom', 'inverted', 'folded', 'chains', 'selected', 'by', 'cumulative', 'chosen'];

export function first_view(head) {
  return {
    metric: head.metric ?? head.metrics[0],
    unit: 'bytes',
    window: null, // [from, to] in edges; equal: a moment
    filters: {},
    zoom: '', // of the graph, as Tree.address
    inverted: false,
    folded: false, // of a recursion one round is shown
    chains: true, // functions with one callee are shown as one box
    search: '',
    selected: '', // a row of the table, as row_address
    by: 'function',
    cumulative: false,
    sort: 'estimate',
    ascending: false,
    chosen: null, // key of the function whose callers and callees are shown
  };
}

export function to_fragment(view, first, profile) {
  const parts = [];
  const put = (name, value) => parts.push(name + '=' + encodeURIComponent(value));
  if (view.metric !== first.metric) put('metric', metric_word(profile.head, view.metric));
  if (view.unit !== first.unit) put('unit', view.unit);
  if (view.window !== null) put(...window_words(view.window, profile.edges));
  for (const key of FILTERS) if (view.filters[key] != null) put(key, view.filters[key]);
  if (view.zoom !== '') put('zoom', view.zoom);
  if (view.inverted) put('callees', 1);
  if (view.folded) put('folded', 1);
  if (!view.chains) put('chains', 0);
  if (view.search !== '') put('search', view.search);
  if (view.selected !== '') put('row', view.selected);
  if (view.by !== first.by) put('by', view.by);
  if (view.cumulative) put('cumulative', 1);
  if (view.sort !== first.sort) put('sort', view.sort);
  if (view.ascending) put('ascending', 1);
  if (view.chosen !== null) put('function', view.chosen);
  return parts.join('&');
}

// An edge in seconds, with as many digits as tell it from the others.
function edge_text(edges, edge) {
  for (let digits = 3; digits < 17; digits++) {
    const text = String(+edges[edge].toPrecision(digits));
    if (nearest(edges, +text) === edge) return text + 's';
  }
  return edges[edge] + 's';
}

function window_words([from, to], edges) {
  return from === to ? ['moment', edge_text(edges, from)] : ['window', edge_text(edges, from) + '-' + edge_text(edges, to)];
}

// The edges of "0.61s-1.44s" or "9.95s". (Links of before had numbers of edges, 22-52.) null: nothing that makes sense.
function read_window(text, profile) {
  const SECONDS = /^(\d{1,12}(?:\.\d{1,17})?(?:e-?\d{1,2})?)s$/;
  // (The sign within "1e-7s-2s" parts nothing.)
  const edges = text.split(/(?<!e)-/).map((part) => {
    const match = SECONDS.exec(part);
    return match !== null ? nearest(profile.edges, +match[1]) : number(part, profile.last_edge + 1);
  });
  const from = edges[0];
  const to = edges.length === 1 ? from : edges[1];
  return edges.length <= 2 && from !== null && to !== null && from <= to ? [from, to] : null;
}

const number = (text, limit) => (/^\d{1,10}$/.test(text) && +text < limit ? +text : null);

// What of a fragment means the same on the page of the other memory of the same run: times, and how things are shown.
// Numbers of stacks, functions and filters do not, and not each page has types, processes or a column of samples.
const OF_BOTH = ['unit', 'moment', 'window', 'callees', 'folded', 'chains', 'search', 'by', 'cumulative', 'sort', 'ascending'];
const OF_ONE = ['by=type', 'by=process', 'sort=samples'];
export const carried_fragment = (text) =>
  text
    .replace(/^#/, '')
    .split('&')
    .filter((part) => OF_BOTH.includes(part.split('=')[0]) && !OF_ONE.includes(part))
    .join('&');

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
    const metric = metric_of_word(profile.head, value);
    if (name === 'metric' && METRICS.includes(metric) && profile.head.metrics.includes(metric)) view.metric = metric;
    else if (name === 'unit' && (value === 'bytes' || value === 'objects')) view.unit = value;
    else if (name === 'window' || name === 'moment') view.window = read_window(value, profile) ?? view.window;
    else if (FILTERS.includes(name)) {
      const id = number(value, limits[name]);
      if (id !== null) view.filters[name] = id;
    } else if (name === 'zoom' && /^\d+\.\d+$/.test(value)) view.zoom = value;
    else if (name === 'callees') view.inverted = value === '1';
    else if (name === 'folded') view.folded = value === '1';
    else if (name === 'chains') view.chains = value !== '0';
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
