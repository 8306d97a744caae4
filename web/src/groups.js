// SPDX-License-Identifier: MIT
// A selection as rows: by function, stack, line ... (each cell under one row, that of the frame it is
// attributed to, as in `bytepoll report`), or cumulative (under every function on its stack once).
// Also the two sides of one function: who called it, and what it called.

import { last_part } from './text.js';
import { NEVER, NO_STACK, size_name } from './model.js';

export const KEYS = ['function', 'stack', 'line', 'file', 'module', 'thread', 'type', 'size', 'process'];
export const CUMULATIVE_KEYS = ['function', 'line', 'file', 'module'];

export function frame_keyer(profile, key) {
  const names = profile.key_count;
  if (key === 'function') return (frame) => profile.frame_key[frame];
  if (key === 'module') return (frame) => profile.frames[frame][3];
  if (key === 'file') return (frame) => profile.frames[frame][1] || names + profile.frames[frame][3];
  return (frame) => {
    const [name, file, line] = profile.frames[frame];
    return file !== 0 && line !== 0 ? file * 2 ** 26 + line : -1 - name;
  };
}

// The key of a cell, as a number.
function cell_keyer(profile, key) {
  const { cells } = profile;
  if (key === 'thread') return (i) => cells.thread[i];
  if (key === 'type') return (i) => cells.type[i];
  if (key === 'size') return (i) => cells.size_class[i];
  if (key === 'process') return (i) => profile.process_of_thread(cells.thread[i]);
  if (key === 'stack') return (i) => cells.stack[i];
  const of_frame = frame_keyer(profile, key);
  return (i) => {
    const frame = profile.attributed[cells.stack[i]];
    return frame < 0 ? -(2 ** 40) : of_frame(frame);
  };
}

export function row_name(profile, key, number, frame) {
  if (key === 'thread') return profile.thread_name(number);
  if (key === 'type') return profile.type_name(number);
  if (key === 'process') return profile.process_name(number);
  if (key === 'size') return size_name(number, profile.head.pruned?.size_step);
  if (frame < 0) return NO_STACK;
  if (key === 'stack') return profile.frame_name(frame);
  if (key === 'function') return profile.key_name(number);
  const [name, file, line, module] = profile.frames[frame];
  if (key === 'module') return profile.name(module) || '(no module)';
  if (key === 'file')
    return profile.name(file) || '(no source known: ' + (last_part(profile.name(module)) || 'no module') + ')';
  return file !== 0 && line !== 0 ? profile.name(file) + ':' + line : profile.key_name(name);
}

// A function's rows may lie on several of its lines: the frame of the one with most bytes, whose place is
// shown.
function heaviest_frame(row, weight) {
  if (row.frames === undefined || row.frames.every((frame) => frame === row.frame)) return row.frame;
  const sums = new Map();
  row.cells.forEach((cell, i) => sums.set(row.frames[i], (sums.get(row.frames[i]) ?? 0) + weight(cell)));
  return [...sums].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

export class Groups {
  // `lists`: Map from key number to {cells, frame, name}; `rest`: cells of the counted total that are
  // in no row; `disjoint`: no cell is under two rows.
  constructor(profile, selection, estimator, region, rows, rest, disjoint) {
    this.profile = profile;
    this.selection = selection;
    this.estimator = estimator;
    this.region = region;
    this.rows = rows;
    this.rest = rest;
    this.disjoint = disjoint;
    this.merged = false;
    const [bytes, more_bytes] = profile.weights(selection, 'bytes');
    const [objects, more_objects] = profile.weights(selection, 'objects');
    const { sums, record } = profile.cells;
    rows.forEach((row, index) => {
      row.index = index;
      row.weight = { bytes: 0, objects: 0 };
      row.samples = 0;
      row.figures = row.figures_known ?? null;
      for (const cell of row.cells) {
        const i = record[cell];
        row.weight.bytes += bytes[i] + more_bytes[i];
        row.weight.objects += objects[i] + more_objects[i];
        row.samples += sums[0][i];
      }
      row.heaviest = heaviest_frame(row, (cell) => bytes[record[cell]] + more_bytes[record[cell]]);
    });
  }

  sum_at(i) {
    return this.estimator.region(this.region, i);
  }

  rest_at(i) {
    return this.estimator.region(this.region, this.rows.length + i);
  }

  merge_sums() {
    const { estimator, rows, selection } = this;
    estimator.clear(this.sum_at(0), rows.length);
    for (const row of rows) for (const cell of row.cells) estimator.merge_cell(this.sum_at(row.index), cell);
    this.merged = true;
    if (!selection.calibrated || !this.disjoint) return;
    const running = estimator.running;
    this.start_outside(running);
    for (let i = 0; i < rows.length; i++) {
      estimator.copy(this.rest_at(i), running);
      estimator.merge(running, this.sum_at(i));
    }
    estimator.clear(running, 1);
    for (let i = rows.length - 1; i >= 0; i--) {
      estimator.merge(this.rest_at(i), running);
      estimator.merge(running, this.sum_at(i));
    }
  }

  start_outside(at) {
    this.estimator.start_rest(at, this.selection);
    for (const cell of this.rest) this.estimator.merge(at, this.estimator.cell(cell));
  }

  // Of a row that shares cells with others: all cells but its own.
  overlapping_rest(row) {
    const { estimator } = this;
    const own = new Set(row.cells);
    this.start_outside(estimator.rest);
    for (const cell of this.selection.cells) if (!own.has(cell)) estimator.merge(estimator.rest, estimator.cell(cell));
    return estimator.rest;
  }

  figures(row) {
    if (row.figures !== null) return row.figures;
    if (!this.merged) this.merge_sums();
    const { calibrated } = this.selection;
    const rest = !calibrated ? 0 : this.disjoint ? this.rest_at(row.index) : this.overlapping_rest(row);
    row.figures = this.estimator.figures(this.sum_at(row.index), rest, this.selection, row, () => row.cells);
    return row.figures;
  }
}

function rows_of(lists) {
  return [...lists.values()];
}

function add(lists, number, cell, frame) {
  const row = lists.get(number);
  if (row === undefined) {
    lists.set(number, { number, cells: [cell], frames: [frame], frame });
    return;
  }
  row.cells.push(cell);
  row.frames.push(frame);
}

export function group_by(profile, selection, estimator, key, cumulative, region) {
  const lists = new Map();
  const { stack } = profile.cells;
  const overlap = cumulative && CUMULATIVE_KEYS.includes(key);
  if (overlap) {
    const of_frame = frame_keyer(profile, key);
    const unique = new Map();
    for (const cell of selection.cells) {
      const id = stack[cell];
      if (!unique.has(id)) unique.set(id, new Map(profile.stacks[id].map((f) => [of_frame(f), f])));
      for (const [number, frame] of unique.get(id)) add(lists, number, cell, frame);
    }
  } else {
    const number_of = cell_keyer(profile, key);
    for (const cell of selection.cells) add(lists, number_of(cell), cell, profile.attributed[stack[cell]]);
  }
  const rows = rows_of(lists);
  for (const row of rows) {
    row.name = row_name(profile, key, row.number, row.frame);
    if (key === 'size' && row.number !== NEVER) row.size_min = 2 ** row.number;
    if (key === 'stack') row.stack = row.number;
    // (Of everything that was allocated, threads and processes keep their own count.)
    if ((key === 'thread' || key === 'process') && selection.counts_rows) row.figures_known = profile.own_figures(key, row.number);
  }
  return new Groups(profile, selection, estimator, region, rows, [], !overlap);
}

// {whole, callers, callees} of a function: its cells, by who called its outermost frame and by what
// its innermost one called.
export function butterfly(profile, selection, estimator, key) {
  const callers = new Map();
  const callees = new Map();
  const inside = [];
  const outside = [];
  const { stack } = profile.cells;
  const keys = profile.frame_key;
  for (const cell of selection.cells) {
    const frames = profile.stacks[stack[cell]];
    let inner = 0;
    while (inner < frames.length && keys[frames[inner]] !== key) inner++;
    if (inner === frames.length) {
      outside.push(cell);
      continue;
    }
    let outer = frames.length - 1;
    while (keys[frames[outer]] !== key) outer--;
    inside.push(cell);
    const caller = outer + 1 < frames.length ? frames[outer + 1] : -1;
    const callee = inner > 0 ? frames[inner - 1] : -1;
    add(callers, caller < 0 ? -1 : keys[caller], cell, caller);
    add(callees, callee < 0 ? -1 : keys[callee], cell, callee);
  }
  const named = (lists, none) => {
    const rows = rows_of(lists);
    for (const row of rows) row.name = row.number < 0 ? none : profile.key_name(row.number);
    return rows;
  };
  const whole = [{ number: key, cells: inside, frame: -1, name: profile.key_name(key) }];
  const make = (region, rows) => new Groups(profile, selection, estimator, region, rows, outside, true);
  return {
    whole: make('butterfly_whole', whole),
    callers: make('butterfly_callers', named(callers, '(outermost)')),
    callees: make('butterfly_callees', named(callees, '(itself)')),
  };
}

// One row of any cells, in a region of two.
export function one_group(profile, selection, estimator, cells, region, window_total) {
  let rest = [];
  if (selection.calibrated && cells.length < selection.cells.length) {
    const own = new Set(cells);
    rest = selection.cells.filter((cell) => !own.has(cell));
  }
  return new Groups(profile, selection, estimator, region, [{ number: 0, cells, frame: -1, name: '', window_total }], rest, true);
}
