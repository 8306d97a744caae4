// SPDX-License-Identifier: MIT
// The profile as the page sees it: names, frames, stacks, and cells. A cell is one (stack, thread,
// type, size class, time made, time freed) with its sums; a selection is the list of cells that a
// metric, a window of time and filters leave. Pure: no DOM.

import { visible, last_part } from './text.js';

export const NEVER = 255; // freed
const TEMPORARY = 1; // flags
const AT_PEAK = 2;
export const NO_STACK = '(no stack recorded)';
const PARTS = 2; // counted.has: rows are parts of it

export class Profile {
  constructor(head, cells) {
    this.head = head;
    this.cells = cells;
    this.raw_names = head.names;
    this.seen_names = new Array(head.names.length).fill(null);
    this.frames = head.frames;
    // Stacks as a tree: node n > 0 is a call of frame node_frame[n - 1] from node n - node_back[n - 1]; 0 is
    // nothing. Of each stack the node of its innermost frame.
    [this.node_frame, this.node_back] = head.tree;
    this.ends = head.stacks;
    this.stack_count = this.ends.length;
    this.edges = head.edges_s;
    this.last_edge = head.edges_s.length - 1;
    this.key_count = head.names.length;
    const { frames } = this;
    this.frame_key = new Int32Array(frames.length);
    for (let i = 0; i < frames.length; i++) this.frame_key[i] = frames[i][0];
    this.stack_used = new Uint8Array(this.stack_count);
    for (let i = 0; i < cells.rows; i++) this.stack_used[cells.stack[i]] = 1;
    this.known_stacks = this.known_attributed = null;
  }

  // The frames of each stack, innermost first. (Made when they are asked for: the graph takes the tree.)
  get stacks() {
    if (this.known_stacks !== null) return this.known_stacks;
    const { node_frame, node_back } = this;
    const frames_of = (node) => {
      const list = [];
      for (; node > 0; node -= node_back[node - 1]) list.push(node_frame[node - 1]);
      return list;
    };
    return (this.known_stacks = this.ends.map(frames_of));
  }

  // The frame of each stack that is charged; -1: it has no frames; -2: nothing of it is in this page.
  get attributed() {
    if (this.known_attributed !== null) return this.known_attributed;
    const { node_frame, node_back, ends, stack_used } = this;
    const { attribution } = this.head;
    const attributed = new Int32Array(this.stack_count);
    for (let i = 0; i < attributed.length; i++) {
      let node = ends[i];
      for (let up = attribution?.[i] ?? 0; up > 0 && node > node_back[node - 1]; up--) node -= node_back[node - 1];
      attributed[i] = stack_used[i] === 0 ? -2 : node === 0 ? -1 : node_frame[node - 1];
    }
    return (this.known_attributed = attributed);
  }

  // A name, safe to look at. (Made when it is asked for: of many names few are ever shown.)
  name(id) {
    return (this.seen_names[id] ??= visible(this.raw_names[id]));
  }

  // (A function is its name, as in `bytepoll report`: those without one are one.)
  key_name(key) {
    return key !== 0 ? this.name(key) : '(no name)';
  }

  frame_name(frame) {
    return frame < 0 ? NO_STACK : this.key_name(this.frame_key[frame]);
  }

  // "file.c:12", or the module.
  frame_place(frame) {
    if (frame < 0) return '';
    const [, file, line, module] = this.frames[frame];
    if (this.name(file) !== '') return this.name(file) + (line > 0 ? ':' + line : '');
    return last_part(this.name(module));
  }

  frame_source(frame) {
    if (frame < 0 || this.head.sources == null) return null;
    const [, file, line] = this.frames[frame];
    const lines = this.head.sources[this.raw_names[file]];
    const text = lines?.[line];
    return text == null ? null : visible(text.trim());
  }

  thread_name(i) {
    const [name, tid, process] = this.head.threads[i];
    if (i === 0 || name == null) return '(thread not known)';
    return (name !== '' ? visible(name) : last_part(visible(this.head.processes[process]?.[0] ?? ''))) + ' (tid ' + tid + ')';
  }

  process_name(i) {
    const [name, pid] = this.head.processes[i] ?? ['', 0];
    return i === 0 ? '(process not known)' : last_part(visible(name)) + ' (pid ' + pid + ')';
  }

  type_name(i) {
    const name = visible(this.head.types[i] ?? '');
    return name !== '' ? name : '(no type)';
  }

  // What its own counters say of a thread or process: a figure, or null where they say nothing.
  own_figures(key, i) {
    const own = key === 'thread' ? this.head.threads[i]?.[3] : this.head.processes[i]?.[2];
    if (!own) return null;
    const lower_bound = this.head.assumptions.lower_bound?.allocated || undefined;
    const figure = (low, high) => ({ estimate: low === high ? low : null, low, high, exact: low === high && !lower_bound, lower_bound });
    return { bytes: figure(own[0], own[1]), objects: figure(own[2], own[3]) };
  }

  process_of_thread(i) {
    return this.head.threads[i]?.[2] ?? 0;
  }

  module_of_stack(stack) {
    const frame = this.attributed[stack];
    return frame < 0 ? 0 : this.frames[frame][3];
  }

  module_of_cell(i) {
    return this.module_of_stack(this.cells.stack[i]);
  }

  // What a window [from, to] (edges; equal: a moment) means: live at its end, allocated within it, and
  // up to a moment from the start. Without a window: the whole run.
  window_of(view) {
    if (view.window === null) return { from: -1, to: this.last_edge, whole: true };
    const [from, to] = view.window;
    return from === to ? { from: 0, to, whole: false } : { from, to, whole: false };
  }

  has_filter(view) {
    return FILTERS.some((key) => view.filters[key] != null);
  }

  passes_filters(view) {
    const { thread, process, module, type, size } = view.filters;
    const { cells } = this;
    return (i) =>
      (thread == null || cells.thread[i] === thread) &&
      (process == null || this.process_of_thread(cells.thread[i]) === process) &&
      (module == null || this.module_of_cell(i) === module) &&
      (type == null || cells.type[i] === type) &&
      (size == null || cells.size_class[i] === size);
  }

  // The cells of a metric, in order: made from..until (edges), freed at `freed` or later, with flags.
  cells_of(view, metric) {
    const { rows, made, freed, flags } = this.cells;
    const { from, to, whole } = this.window_of(view);
    const live = metric === 'live';
    const peak = metric === 'peak';
    const first = live || peak || whole ? 0 : from;
    const end = !peak && (live || !(whole || to === this.last_edge)) ? to : 256;
    const freed_from = live ? to : 0;
    const wanted = metric === 'temporary' ? TEMPORARY : peak ? AT_PEAK : 0;
    const chosen = new Uint32Array(rows);
    let count = 0;
    for (let i = 0; i < rows; i++)
      if (made[i] >= first && made[i] < end && freed[i] >= freed_from && (flags[i] & wanted) === wanted) chosen[count++] = i;
    return chosen.subarray(0, count);
  }

  // What was counted of a window, whatever was sampled of it (struct bp_cube_window of
  // src/tool/page/cube.h): {has, offered_bytes, offered_objects, bytes, objects (each [low, high]), size_min, ratio_max}.
  counted_of(view, metric) {
    const { whole, windows } = this.head.calibration;
    const { from, to } = this.window_of(view);
    const asked = view.window === null || metric === 'live' || metric === 'peak' || to <= from || !windows?.length;
    const bins = this.last_edge;
    const number = asked ? -1 : from * bins - (from * (from - 1)) / 2 + to - from - 1;
    const counted = read_counted(number < 0 ? whole : windows[number], number);
    const size = view.filters.size;
    if (size != null && size !== NEVER) counted.size_min = Math.max(counted.size_min, 2 ** size);
    return counted;
  }

  // The cells of a view, as {cells, others, metric, counted, calibrated, outside}. Where figures are parts of
  // a counted total (`calibrated`) their complement is all else of it: `others`, which were filtered out or
  // do not count under the metric, and `outside`, of which the page has sums only.
  select(view, metric) {
    const counted = this.counted_of(view, metric);
    const calibrated = (counted.has & PARTS) !== 0 && !this.head.assumptions.classes;
    const filtered = this.has_filter(view);
    let cells = this.cells_of(view, metric);
    if (filtered) cells = cells.filter(this.passes_filters(view));
    const whole = counted.id < 0;
    const others = calibrated ? this.all_but(cells, whole ? null : view) : [];
    const outside = calibrated ? this.outside_of(whole ? { window: null } : view) : [];
    const counts_rows = metric === 'allocated' && view.window === null && !filtered;
    return { cells, others, metric, counted, calibrated, outside, counts_rows };
  }

  // What was allocated in the view's window (null: at any time) but is not among these cells.
  all_but(cells, view) {
    const own = new Uint8Array(this.cells.rows);
    for (const cell of cells) own[cell] = 1;
    const all = view === null ? own.keys() : this.cells_of(view, 'allocated');
    const others = [];
    for (const cell of all) if (own[cell] === 0) others.push(cell);
    return others;
  }

  count_samples(selection) {
    const { sums, record } = this.cells;
    let samples = 0;
    for (const cell of selection.cells) samples += sums[0][record[cell]];
    return samples;
  }

  outside_of(view) {
    const sums = this.head.calibration.outside;
    if (!sums) return [];
    const { from, to, whole } = this.window_of(view);
    return whole ? sums : sums.slice(from, to === this.last_edge ? undefined : to);
  }

  // What the records add to an estimate: [a, b], the record i adds a[i] + b[i]. Estimates of bytes and objects
  // are sums of these, so widths and orders need no interval. (Calibrated ones too: the error of the whole is
  // shared out by variance.)
  weights(selection, unit) {
    const { sums: s, records } = this.cells;
    const [sampled, rest, variance] = unit === 'objects' ? [0, 5, 6] : [1, 2, 3]; // columns
    const moved = selection.calibrated && selection.metric !== 'peak' && (unit === 'objects' || this.head.unit !== 'usable');
    if (!moved) return [s[sampled], s[rest]];
    selection.shares ??= {};
    const share = (selection.shares[unit] ??= this.calibration_share(selection, sampled, rest, variance));
    return [s[sampled], share === 0 ? s[rest] : s[rest].map((more, i) => more + share * s[variance][i])];
  }

  calibration_share(selection, sampled, rest, column) {
    const { sums: s, record } = this.cells;
    let whole = 0;
    let variance = 0;
    for (const cells of [selection.cells, selection.others])
      for (const cell of cells) {
        whole += s[sampled][record[cell]] + s[rest][record[cell]];
        variance += s[column][record[cell]];
      }
    for (const sums of selection.outside) {
      whole += sums[sampled] + sums[rest];
      variance += sums[column];
    }
    const objects = sampled === 0;
    const [low, high] = objects ? selection.counted.offered_objects : selection.counted.offered_bytes;
    const error = Math.min(Math.max(whole, low), high) - whole;
    if (variance === 0 || (objects && error > 2 * Math.sqrt(variance))) return 0; // (bp_objects_are_missing)
    return error / variance;
  }
}

function read_counted(c, id) {
  const counted = { id, has: c[0], offered_bytes: [c[1], c[2]], bytes: [c[3], c[4]], objects: [c[5], c[6]] };
  return Object.assign(counted, { size_min: c[7], ratio_max: c[8], offered_objects: [c[9], c[10]] });
}

export const FILTERS = ['thread', 'process', 'module', 'type', 'size'];

// Of a class of sizes: floor(log2(size)), `step` of them in one.
export function size_name(size_class, step = 1) {
  if (size_class === NEVER) return '0 B';
  const text = (bytes) =>
    bytes < 1024 ? String(bytes) : bytes < 2 ** 20 ? bytes / 1024 + 'K' : bytes < 2 ** 30 ? bytes / 2 ** 20 + 'M' : bytes / 2 ** 30 + 'G';
  return text(2 ** size_class) + ' to ' + text(2 ** (size_class + step)) + ' B';
}
