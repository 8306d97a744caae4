// SPDX-License-Identifier: MIT
// The project's own estimator (src/tool/estimate, in WebAssembly) behind a few calls. All figures of the
// page come from here; nothing else in the page knows statistics. Memory is one array of rows of 16
// doubles (struct bp_sums), dealt out here: the cells first, for good, then
// regions that a view fills anew whenever the selection changes. The last one, that of the call tree,
// grows with the tree.
//
// Sums are merged, never subtracted; what is not under a row (its complement, which the intervals of
// parts of a counted total need) is merged from what lies before and behind it.

import { SUMS } from './decode.js';

export const METRICS = ['live', 'peak', 'allocated', 'temporary'];
const ROW_BYTES = SUMS * 8;
const PAIRS = 4096; // merges in one call
const PAIRS_ROWS = Math.ceil((PAIRS * 8) / ROW_BYTES);
const CLASSES = 17; // BP_SIZE_CLASSES of src/tool/estimate/size_classes.h

// Of a promise of its bytes.
export function compile_estimator(bytes) {
  const module = bytes.then((b) => {
    if (b === null) throw new Error('this page holds no estimator');
    return WebAssembly.compile(b);
  });
  module.catch(() => {}); // (told to whoever awaits it)
  return module;
}

export function create_estimator(module, head, cells, region_rows) {
  const instance = new WebAssembly.Instance(module, {});
  instance.exports._initialize?.();
  return new Estimator(instance.exports, head, cells, region_rows);
}

class Estimator {
  constructor(wasm, head, cells, region_rows) {
    this.wasm = wasm;
    this.head = head;
    this.calls = 0;
    this.scratch_rows = 8;
    let rows = cells.records + this.scratch_rows;
    this.regions = {};
    for (const name in region_rows) {
      this.regions[name] = rows;
      rows += region_rows[name];
    }
    this.first_pair = rows;
    this.first_of_tree = rows + PAIRS_ROWS;
    this.tree_owner = null;
    this.base = 0;
    this.reserve_tree(0);
    this.buffer = wasm.bp_page_buffer();
    this.cells = cells;
    this.take_numbers(cells);
    const a = head.assumptions;
    this.by_classes = a.classes ? 1 : 0;
    wasm.bp_page_assume(a.interval_unseen, a.charge, a.turnovers, a.alpha, head.unit === 'usable' ? 1 : 0, this.by_classes);
    this.told = '';
    this.sum = this.scratch(0);
    this.rest = this.scratch(1);
    this.running = this.scratch(2);
    this.more = this.scratch(3);
    this.all_else = this.scratch(4);
    this.rest_of = null;
  }

  values() {
    if (this.view === undefined || this.view.buffer !== this.wasm.memory.buffer)
      this.view = new Float64Array(this.wasm.memory.buffer);
    return this.view;
  }

  take_numbers(cells) {
    this.scratch_base = cells.records;
    this.record = cells.record;
    this.numbers = cells.number;
  }

  // The records, into the estimator's memory: when the first sum is made, not before the first drawing.
  load() {
    const { cells } = this;
    this.cells = null;
    const values = this.values();
    const first = this.base / 8;
    for (let column = 0; column < SUMS; column++) {
      const sums = cells.sums[column];
      for (let i = 0, at = first + column; i < cells.records; i++, at += SUMS) values[at] = sums[i];
    }
  }

  cell(i) {
    if (this.cells !== null) this.load();
    return this.base + this.record[i] * ROW_BYTES;
  }

  scratch(i) {
    return this.base + (this.scratch_base + i) * ROW_BYTES;
  }

  region(name, i) {
    return this.base + (this.regions[name] + i) * ROW_BYTES;
  }

  // Room for so many rows of the tree; what is in those before stays.
  reserve_tree(rows) {
    this.base = this.wasm.bp_page_memory((this.first_of_tree + rows) * SUMS);
    if (this.base === 0) throw new Error('this profile is too large for the browser');
  }

  tree_row(i) {
    return this.base + (this.first_of_tree + i) * ROW_BYTES;
  }

  // The tree's rows are of one selection at a time. False: they were another's until now.
  lend_tree(owner) {
    const same = this.tree_owner === owner;
    this.tree_owner = owner;
    return same;
  }

  // To merge many at once into rows of the tree.
  pairs() {
    if (this.cells !== null) this.load();
    return new Pairs(this);
  }

  clear(at, rows) {
    this.values().fill(0, at / 8, at / 8 + rows * SUMS);
  }

  copy(to, from) {
    this.values().copyWithin(to / 8, from / 8, from / 8 + SUMS);
  }

  merge(to, from) {
    this.wasm.bp_page_merge(to, from, 1);
  }

  merge_cell(to, cell) {
    this.merge(to, this.cell(cell));
  }

  samples(at) {
    return this.values()[at / 8];
  }

  // What is known of the selection's window (COUNTED in model.js), with the smallest size that can occur.
  tell(counted, size_min) {
    const smallest = Math.max(counted.size_min, size_min);
    const told = counted.id + ' ' + smallest;
    if (told === this.told) return;
    this.told = told;
    const c = counted;
    this.wasm.bp_page_calibrate(
      c.has, c.offered_bytes[0], c.offered_bytes[1], c.bytes[0], c.bytes[1], c.objects[0], c.objects[1], smallest, c.ratio_max,
      c.offered_objects[0], c.offered_objects[1], this.head.assumptions.size_min_beside,
    );
  }

  // The sums of all else of the counted total, to `to`: of the other cells, and of what the page holds no cells of.
  start_rest(to, selection) {
    if (this.rest_of !== selection) {
      this.clear(this.all_else, 1);
      for (const sums of selection.outside) {
        this.values().set(sums, this.more / 8);
        this.merge(this.all_else, this.more);
      }
      for (const cell of selection.others) this.merge(this.all_else, this.cell(cell));
      this.rest_of = selection;
    }
    this.copy(to, this.all_else);
  }

  load_classes(cells) {
    const at = this.wasm.bp_page_classes();
    this.clear(at, CLASSES);
    for (const cell of cells) this.merge_cell(at + this.numbers[cell] * ROW_BYTES, cell);
  }

  // {bytes, objects} of the row at `at`. `rest`: the sums of all else of the counted total, or 0. `cells`
  // (a function) gives the row's cells, for profiles whose samples need estimating by classes of size.
  figures(at, rest, selection, options, cells) {
    const { metric, counted } = selection;
    this.tell(counted, options?.size_min ?? 0);
    if (this.by_classes) this.load_classes(cells());
    this.copy(this.buffer, at);
    if (rest !== 0) this.copy(this.buffer + ROW_BYTES, rest);
    else this.clear(this.buffer + ROW_BYTES, 1);
    this.wasm.bp_page_estimate(options?.window_total ? 4 : METRICS.indexOf(metric));
    this.calls++;
    const values = this.values();
    const first = this.buffer / 8;
    return { bytes: this.figure(values, first, metric), objects: this.figure(values, first + 5, metric) };
  }

  figure(values, at, metric) {
    const a = this.head.assumptions;
    const figure = {
      estimate: values[at + 4] ? null : values[at],
      low: values[at + 1],
      high: values[at + 2],
      exact: values[at + 3] !== 0,
    };
    if (a.lower_bound?.[metric]) figure.lower_bound = true;
    if (a.upper_bound?.[metric]) figure.upper_bound = true;
    if (figure.lower_bound || figure.upper_bound) figure.exact = false;
    return figure;
  }
}

// Merges into rows of the tree, collected and done in the order in which they were asked for: a call into
// WebAssembly for each would take longer than the merging.
class Pairs {
  constructor(estimator) {
    this.estimator = estimator;
    this.list = new Uint32Array(2 * PAIRS);
    this.count = 0;
  }

  // A cell, as in merge_cell.
  add_cell(row, cell) {
    const { estimator } = this;
    this.put(estimator.first_of_tree + row, estimator.record[cell]);
  }

  // Row `from` of the tree to row `to`.
  add(to, from) {
    const { first_of_tree } = this.estimator;
    this.put(first_of_tree + to, first_of_tree + from);
  }

  put(to, from) {
    if (this.count === PAIRS) this.finish();
    this.list[2 * this.count] = to;
    this.list[2 * this.count + 1] = from;
    this.count++;
  }

  finish() {
    const { wasm, base, first_pair } = this.estimator;
    const at = base + first_pair * ROW_BYTES;
    new Uint32Array(wasm.memory.buffer, at, 2 * PAIRS).set(this.list);
    wasm.bp_page_merge_pairs(base, base, at, this.count);
    this.count = 0;
  }
}
