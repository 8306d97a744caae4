// SPDX-License-Identifier: MIT
// What a search or a chosen row selects: which frames, and by them which samples. A row of lines, files
// or modules selects what its figure is of. Each has two sides, as the table has: samples that were
// allocated there themselves (their frame that counts is one of these), and those with such a frame
// anywhere on their stack, what it calls included. A chosen stack is one set of samples, and so are rows
// by thread, type, size or process, where a search finds them by their names. Pure: no DOM.

import { CUMULATIVE_KEYS, frame_keyer, row_name } from './groups.js';
import { NO_STACK } from './model.js';
import { last_part } from './text.js';

// A row as a link can hold it: KEY.FRAME (any one of the row's frames, -1 for none) or stack.NUMBER.
export function row_address(by, row) {
  return by === 'stack' ? 'stack.' + row.stack : by + '.' + row.frame;
}

export function read_row_address(text, profile) {
  const match = /^(function|line|file|module|stack)\.(-1|\d{1,10})$/.exec(text);
  if (match === null) return '';
  const limit = match[1] === 'stack' ? profile.stack_count : profile.frames.length;
  return +match[2] < limit && (match[1] !== 'stack' || +match[2] >= 0) ? text : '';
}

// A name is asked for once, whatever number of frames has it.
function search_frames(profile, test, with_folders) {
  const ask = (text_of) => {
    const answers = new Map();
    return (id) => {
      if (!answers.has(id)) answers.set(id, test(text_of(id)));
      return answers.get(id);
    };
  };
  const name = ask((id) => profile.key_name(id));
  const module = ask((id) => (with_folders ? profile.name(id) : last_part(profile.name(id))));
  return Uint8Array.from(profile.frames, ([key, file, , own], frame) =>
    name(key) || (own !== 0 && module(own)) || (file !== 0 && test(profile.frame_place(frame))) ? 1 : 0);
}

class Matching {
  // `frames`: 1 for each that is meant; `no_stack`: samples without a stack, too.
  constructor(profile, title, frames, no_stack) {
    this.profile = profile;
    this.title = title;
    this.frames = frames;
    this.no_stack = no_stack;
    this.parted = frames !== null; // there is "itself" and "with what it calls"
    this.stacks = null;
  }

  // Allocated there itself.
  own(cell) {
    const frame = this.profile.attributed[this.profile.cells.stack[cell]];
    return frame < 0 ? this.no_stack : this.frames[frame] === 1;
  }

  has_frame(stack) {
    this.stacks ??= Uint8Array.from(this.profile.stacks, (frames) =>
      (frames.length === 0 ? this.no_stack : frames.some((frame) => this.frames[frame])) ? 1 : 0);
    return this.stacks[stack] === 1;
  }

  // With what it calls.
  under(cell) {
    return this.has_frame(this.profile.cells.stack[cell]);
  }

  // 1 for each node of a tree that is meant.
  nodes(tree) {
    const own = new Uint8Array(tree.count);
    for (let stack = 0; stack < tree.leaf.length; stack++) {
      if (!this.profile.stack_used[stack] || !this.has_frame(stack)) continue;
      const path = tree.frames_of(stack);
      // (Of rounds that are folded one is left, for frames of all.)
      const keys = tree.folded ? new Set(this.profile.stacks[stack].filter((f) => this.frames[f]).map((f) => this.profile.frame_key[f])) : null;
      for (let node = tree.leaf[stack], i = path.length - 1; node > 0; node = tree.parent[node], i--)
        if (keys !== null ? keys.has(tree.key[node]) : this.frames[path[i]]) own[node] = 1;
    }
    return own;
  }
}

// A set of samples: of one stack, or of rows with a name.
class CellMatching extends Matching {
  constructor(profile, title, test_cell) {
    super(profile, title, null, false);
    this.own = this.under = test_cell;
  }

  nodes(tree) {
    const own = new Uint8Array(tree.count);
    const { cells } = this.profile;
    for (let cell = 0; cell < cells.rows; cell++)
      if (this.own(cell)) for (let node = tree.leaf[cells.stack[cell]]; node > 0 && !own[node]; node = tree.parent[node]) own[node] = 1;
    return own;
  }
}

// The chosen row of an address, or null; is_row(by, row): is it this one of a table?
export function match_row(profile, address) {
  if (address === '') return null;
  const [key, text] = address.split('.');
  const { stack } = profile.cells;
  if (key === 'stack') {
    const frame = profile.attributed[+text];
    const matching = new CellMatching(profile, ['stack', profile.frame_name(frame)], (cell) => stack[cell] === +text);
    return Object.assign(matching, { is_row: (by, row) => by === 'stack' && row.stack === +text });
  }
  const keyer = frame_keyer(profile, key);
  const number = +text < 0 ? null : keyer(+text);
  const frames = Uint8Array.from(profile.frames, (_, frame) => (number !== null && keyer(frame) === number ? 1 : 0));
  const matching = new Matching(profile, [key, row_name(profile, key, number, +text)], frames, number === null);
  return Object.assign(matching, { is_row: (by, row) => by === key && (number === null ? row.frame < 0 : row.number === number) });
}

const CELL_KEYS = {
  thread: (profile) => [(i) => profile.cells.thread[i], (id) => profile.thread_name(id)],
  type: (profile) => [(i) => profile.cells.type[i], (id) => profile.type_name(id)],
  process: (profile) => [(i) => profile.process_of_thread(profile.cells.thread[i]), (id) => profile.process_name(id)],
};

// What a search finds, or null. In a table by thread, type or process names of rows come first.
export function match_search(profile, words, test, by) {
  if (test === null) return null;
  if (CELL_KEYS[by] !== undefined) {
    const [id_of, name] = CELL_KEYS[by](profile);
    const found = new Map();
    let any = false;
    for (let i = 0; i < profile.cells.rows; i++) {
      const id = id_of(i);
      if (!found.has(id)) found.set(id, test(name(id)));
      any ||= found.get(id);
    }
    if (any) return new CellMatching(profile, [by, words], (cell) => found.get(id_of(cell)));
  }
  return new Matching(profile, ['', words], search_frames(profile, test, words.includes('/')), test(NO_STACK));
}

// Which rows of the table a search leaves.
export function rows_filter(profile, matching, view) {
  if (matching === null) return () => true;
  if (!matching.parted) return (row) => row.cells.some((cell) => matching.own(cell));
  if (view.by === 'stack') return (row) => matching.has_frame(row.stack);
  if (!CUMULATIVE_KEYS.includes(view.by)) return (row) => row.cells.some((cell) => matching.under(cell));
  const keyer = frame_keyer(profile, view.by);
  const numbers = new Set();
  matching.frames.forEach((meant, frame) => meant && numbers.add(keyer(frame)));
  return (row) => (row.frame < 0 ? matching.no_stack : numbers.has(row.number));
}
