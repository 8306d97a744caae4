// SPDX-License-Identifier: MIT
// The call tree, built once for each direction (callers first: from main down to who allocated;
// callees first: from who allocated up to main), and what a selection puts on it. Nodes are numbers,
// a parent's is smaller than its children's, so one walk backwards sums a tree of any shape.
//
// Stacks begin alike over dozens of frames. Looking up frame after frame of them took a third of the time to
// the first drawing, so the tree of callers first comes with the data; the others are built when asked for.
//
// Sums for intervals are merged only when the first figure is asked for, and figures are kept.

import { has_estimate } from './quantity.js';

const PERIOD_MAX = 16; // frames of one round of a recursion

// Frames without the rounds of a recursion after the first one: a b a b c is a b c. Of every state of the
// list the one before a repeated round comes back, so a folded tree has no more nodes than the other.
export function fold_rounds(frames, key) {
  const kept = [];
  for (const frame of frames) {
    kept.push(frame);
    for (let period = 1; period <= PERIOD_MAX && 2 * period <= kept.length; period++) {
      let i = 0;
      while (i < period && key[kept[kept.length - 1 - i]] === key[kept[kept.length - 1 - i - period]]) i++;
      if (i < period) continue;
      kept.length -= period;
      break;
    }
  }
  return kept;
}

// (The low bits of a product depend on low bits alone: the high ones are folded in.)
function place(parent, key) {
  const mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(key, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

export class Tree {
  constructor(profile, inverted, folded = false) {
    this.profile = profile;
    this.inverted = inverted;
    this.folded = folded;
    this.folded_stacks = 0;
    this.folded_frames = 0;
    this.capacity = inverted || folded ? 65536 : profile.node_frame.length + 2;
    this.parent = new Int32Array(this.capacity);
    this.key = new Int32Array(this.capacity);
    this.frame = new Int32Array(this.capacity);
    this.depth = new Uint16Array(this.capacity);
    this.first = new Int32Array(this.capacity); // child, the oldest one; 0: none
    this.next = new Int32Array(this.capacity); // child of the same parent; 0: none
    this.parent[0] = this.key[0] = this.frame[0] = -1;
    this.count = 1; // node 0 is the root
    this.slots = new Int32Array(32768); // of all that are no first child
    this.slotted = 0;
    this.leaf = new Int32Array(profile.stack_count);
    if (inverted || folded) this.add_stacks();
    else this.take_tree();
    this.slots = null;
  }

  // The tree as it stands in the profile, where nodes are places in code: calls of one function from one
  // node are one node here.
  take_tree() {
    const { leaf, depth } = this;
    const { node_frame, node_back, ends } = this.profile;
    const node_at = new Int32Array(node_frame.length + 1);
    for (let i = 0; i < node_frame.length; i++) node_at[i + 1] = this.child(node_at[i + 1 - node_back[i]], node_frame[i]);
    this.stack_frames = 0;
    for (let stack = 0; stack < leaf.length; stack++) {
      leaf[stack] = node_at[ends[stack]];
      this.stack_frames += depth[leaf[stack]];
    }
  }

  // Where an inverted stack begins: with the frame that is charged.
  start_of(stack) {
    if (!this.inverted) return 0;
    const last = this.profile.stacks[stack].length - 1;
    return Math.min(this.profile.head.attribution?.[stack] ?? 0, Math.max(last, 0));
  }

  add_stacks() {
    const { leaf } = this;
    const { stacks, stack_used } = this.profile;
    for (let stack = 0; stack < leaf.length; stack++) {
      if (stack_used[stack] === 0) continue;
      const path = this.frames_of(stack);
      const folded = stacks[stack].length - this.start_of(stack) - path.length;
      this.folded_stacks += folded > 0;
      this.folded_frames += folded;
      let node = 0;
      for (const frame of path) node = this.child(node, frame);
      leaf[stack] = node;
    }
  }

  // The frames of the nodes from the root's child to the leaf of a stack.
  frames_of(stack) {
    const frames = this.profile.stacks[stack];
    const path = this.inverted ? frames.slice(this.start_of(stack)) : [...frames].reverse();
    return this.folded ? fold_rounds(path, this.profile.frame_key) : path;
  }

  // The node of a call of a frame's function from a node, made when there is none yet.
  child(parent, frame) {
    const { parent: parents, key: keys } = this;
    const key = this.profile.frame_key[frame];
    const oldest = this.first[parent];
    if (oldest === 0) {
      const node = this.add(parent, key, frame);
      this.first[parent] = node; // (which may lie in a larger array by now)
      return node;
    }
    if (keys[oldest] === key) return oldest;
    const { slots } = this;
    const mask = slots.length - 1;
    let slot = place(parent, key) & mask;
    for (let node = slots[slot]; node !== 0; slot = (slot + 1) & mask, node = slots[slot])
      if (parents[node] === parent && keys[node] === key) return node;
    const node = this.add(parent, key, frame);
    slots[slot] = node;
    this.next[node] = this.next[oldest];
    this.next[oldest] = node;
    if (2 * ++this.slotted > slots.length) this.rehash();
    return node;
  }

  add(parent, key, frame) {
    if (this.count === this.capacity) this.grow();
    const node = this.count++;
    this.parent[node] = parent;
    this.key[node] = key;
    this.frame[node] = frame;
    this.depth[node] = this.depth[parent] + 1;
    return node;
  }

  grow() {
    this.capacity *= 2;
    for (const field of ['parent', 'key', 'frame', 'depth', 'first', 'next']) {
      const larger = new this[field].constructor(this.capacity);
      larger.set(this[field]);
      this[field] = larger;
    }
  }

  rehash() {
    this.slots = new Int32Array(4 * this.slots.length);
    const mask = this.slots.length - 1;
    for (let node = 1; node < this.count; node++) {
      if (this.first[this.parent[node]] === node) continue;
      let slot = place(this.parent[node], this.key[node]) & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      this.slots[slot] = node;
    }
  }

  name(node) {
    return node === 0 ? 'all' : this.profile.key_name(this.key[node]);
  }

  // The names of a chain of nodes, outermost first, without what allocates for the function that is charged
  // (`operator new`), as the command line has them.
  chain_names(nodes) {
    if (this.allocates === undefined) {
      const { attribution } = this.profile.head;
      this.allocates = new Uint8Array(this.count);
      for (let stack = 0; !this.inverted && stack < this.leaf.length; stack++) {
        let node = this.leaf[stack];
        for (let up = attribution?.[stack] ?? 0; up > 0 && node > 0; up--, node = this.parent[node]) this.allocates[node] = 1;
      }
    }
    let count = nodes.length;
    while (count > 1 && this.allocates[nodes[count - 1]] === 1) count--;
    return nodes.slice(0, count).map((node) => this.name(node));
  }

  // From the root's child to the node.
  path_to(node) {
    const path = [];
    for (; node > 0; node = this.parent[node]) path.push(node);
    return path.reverse();
  }

  // A node written as (a stack under it, its depth): what a link can hold, short and without names.
  address(node) {
    if (node === 0) return '';
    for (let stack = 0; stack < this.leaf.length; stack++) {
      let at = this.profile.stack_used[stack] ? this.leaf[stack] : 0;
      while (this.depth[at] > this.depth[node]) at = this.parent[at];
      if (at === node) return stack + '.' + this.depth[node];
    }
    return '';
  }

  node_at(address) {
    const match = /^(\d+)\.(\d+)$/.exec(address);
    if (match === null || !this.profile.stack_used[+match[1]]) return 0;
    let node = this.leaf[+match[1]];
    while (this.depth[node] > +match[2]) node = this.parent[node];
    return node;
  }
}

// A selection on a tree: the weight of each node, and figures on request.
export class Weighted {
  constructor(tree, selection, unit, estimator) {
    this.tree = tree;
    this.selection = selection;
    this.estimator = estimator;
    this.unit = unit;
    const { profile, leaf, parent } = tree;
    const { stack, record } = profile.cells;
    const { cells } = selection;
    const weight = new Float64Array(tree.count);
    const [some, rest] = profile.weights(selection, unit);
    for (let i = 0; i < cells.length; i++) {
      const at = record[cells[i]];
      const more = some[at] + rest[at];
      if (more > 0) weight[leaf[stack[cells[i]]]] += more;
    }
    for (let node = tree.count - 1; node > 0; node--) weight[parent[node]] += weight[node];
    this.weight = weight;
    this.cache = new Map();
    this.rests = new Set();
    this.has_sums = false;
  }

  sum_at(node) {
    return this.estimator.tree_row(node);
  }

  rest_at(node) {
    return this.estimator.tree_row(this.tree.count + node);
  }

  // Of all nodes, from what ends there and from their children, the last node first.
  make_sums() {
    const { tree, estimator, selection } = this;
    if (!estimator.lend_tree(this)) this.has_sums = false;
    if (this.has_sums) return;
    this.has_sums = true;
    const { stack } = tree.profile.cells;
    estimator.reserve_tree(2 * tree.count);
    estimator.clear(this.sum_at(0), tree.count);
    const pairs = estimator.pairs();
    for (const cell of selection.cells) pairs.add_cell(tree.leaf[stack[cell]], cell);
    pairs.finish();
    for (let node = tree.count - 1; node > 0; node--) pairs.add(tree.parent[node], node);
    pairs.finish();
    this.rests = new Set();
    if (selection.calibrated) this.start_rests();
  }

  start_rests() {
    const { estimator, selection, tree } = this;
    const { stack } = tree.profile.cells;
    estimator.start_rest(this.rest_at(0), selection);
    this.rests.add(0);
    this.own = new Map();
    for (const cell of selection.cells) {
      const leaf = tree.leaf[stack[cell]];
      if (this.own.has(leaf)) this.own.get(leaf).push(cell);
      else this.own.set(leaf, [cell]);
    }
  }

  // Complements of a node, of those above it and of all their children.
  find_rests(node) {
    const missing = [];
    for (let at = node; !this.rests.has(at); at = this.tree.parent[at]) missing.push(this.tree.parent[at]);
    while (missing.length > 0) this.find_rests_under(missing.pop());
  }

  // What is beside the node, its own, and the siblings before (one walk forwards) and behind (one walk
  // backwards).
  find_rests_under(parent) {
    const { estimator, tree } = this;
    const children = [];
    for (let child = tree.first[parent]; child !== 0; child = tree.next[child]) children.push(child);
    const { running } = estimator;
    estimator.copy(running, this.rest_at(parent));
    for (const cell of this.own.get(parent) ?? []) estimator.merge(running, estimator.cell(cell));
    for (const child of children) {
      estimator.copy(this.rest_at(child), running);
      estimator.merge(running, this.sum_at(child));
      this.rests.add(child);
    }
    estimator.clear(running, 1);
    for (let i = children.length - 1; i >= 0; i--) {
      estimator.merge(this.rest_at(children[i]), running);
      estimator.merge(running, this.sum_at(children[i]));
    }
  }

  // {bytes, objects, samples}
  figures(node) {
    const known = this.cache.get(node);
    if (known !== undefined) return known;
    this.make_sums();
    const { calibrated } = this.selection;
    if (calibrated) this.find_rests(node);
    const rest = calibrated ? this.rest_at(node) : 0;
    const figures = this.estimator.figures(this.sum_at(node), rest, this.selection, null, () => this.cells_under(node));
    figures.samples = this.estimator.samples(this.sum_at(node));
    this.cache.set(node, figures);
    return figures;
  }

  cells_under(node) {
    const { tree } = this;
    const { stack } = tree.profile.cells;
    return this.selection.cells.filter((cell) => {
      let at = tree.leaf[stack[cell]];
      while (tree.depth[at] > tree.depth[node]) at = tree.parent[at];
      return at === node;
    });
  }

  // The root is the total, and known as that is.
  know_total(total) {
    const { profile } = this.tree;
    const { selection } = this;
    const samples = () => profile.count_samples(selection);
    this.cache.set(0, { bytes: total.bytes, objects: total.objects, get samples() { return samples(); } });
  }

  // (What weighs the same holds the same samples.)
  is_same() {
    return true;
  }

  // How much wider than its box a node's row must be for the upper limit of the box to have room.
  spare(node) {
    const whole = this.figures(node)[this.unit];
    return has_estimate(whole) && whole.estimate > 0 ? Math.min(whole.high / whole.estimate, 1.3) : 1;
  }

  // Of one unit, or null where it was not made yet.
  known_figure(node) {
    const figures = this.cache.get(node);
    return figures === undefined ? null : figures[this.unit];
  }

  has_figures(node) {
    return this.cache.has(node);
  }
}
