// SPDX-License-Identifier: MIT
// The call tree, built once for each direction (callers first: from main down to who allocated;
// callees first: from who allocated up to main), and what a selection puts on it. Nodes are numbers,
// a parent's is smaller than its children's, so one walk backwards sums a tree of any shape.
//
// Sums for intervals are merged only when the first figure is asked for, and figures are kept.

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
    this.capacity = 65536;
    this.parent = new Int32Array(this.capacity);
    this.key = new Int32Array(this.capacity);
    this.frame = new Int32Array(this.capacity);
    this.depth = new Uint16Array(this.capacity);
    this.parent[0] = this.key[0] = this.frame[0] = -1;
    this.count = 1; // node 0 is the root
    this.slots = new Int32Array(2 * this.capacity);
    this.before = [0]; // nodes of the path before, which mostly begins alike
    this.leaf = new Int32Array(profile.stacks.length);
    for (let stack = 0; stack < profile.stacks.length; stack++)
      if (profile.stack_used[stack]) this.leaf[stack] = this.add_stack(stack);
    this.slots = this.before = null;
    this.link_children();
  }

  add_stack(stack) {
    const frames = this.profile.stacks[stack];
    const first = this.inverted ? Math.min(this.profile.head.attribution?.[stack] ?? 0, Math.max(frames.length - 1, 0)) : 0;
    if (this.folded) {
      const kept = this.fold(frames.slice(first));
      return this.add_path(kept, 0, kept.length, 1);
    }
    return this.inverted ? this.add_path(frames, first, frames.length, 1) : this.add_path(frames, frames.length - 1, -1, -1);
  }

  add_path(frames, from, to, step) {
    const { before } = this;
    const { frame_key } = this.profile;
    let depth = 0;
    for (let i = from; i !== to; i += step) {
      const node = before[depth + 1];
      if (node === undefined || this.key[node] !== frame_key[frames[i]]) break;
      depth++;
    }
    before.length = depth + 1;
    for (let i = from + depth * step; i !== to; i += step) before.push(this.child(before[depth++], frames[i]));
    return before[depth];
  }

  fold(path) {
    const kept = fold_rounds(this.inverted ? path : path.reverse(), this.profile.frame_key);
    this.folded_stacks += kept.length < path.length;
    this.folded_frames += path.length - kept.length;
    return kept;
  }

  child(parent, frame) {
    const { slots, parent: parents, key: keys } = this;
    const key = this.profile.frame_key[frame];
    const mask = slots.length - 1;
    let slot = place(parent, key) & mask;
    for (let node = slots[slot]; node !== 0; slot = (slot + 1) & mask, node = slots[slot])
      if (parents[node] === parent && keys[node] === key) return node;
    if (this.count === this.capacity) this.grow();
    const node = this.count++;
    this.parent[node] = parent;
    this.key[node] = key;
    this.frame[node] = frame;
    this.depth[node] = this.depth[parent] + 1;
    slots[slot] = node;
    if (this.count * 2 > this.slots.length) this.rehash();
    return node;
  }

  grow() {
    this.capacity *= 2;
    for (const field of ['parent', 'key', 'frame', 'depth']) {
      const larger = new this[field].constructor(this.capacity);
      larger.set(this[field]);
      this[field] = larger;
    }
  }

  rehash() {
    const slots = new Int32Array(this.slots.length * 2);
    const mask = slots.length - 1;
    for (let node = 1; node < this.count; node++) {
      let slot = place(this.parent[node], this.key[node]) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = node;
    }
    this.slots = slots;
  }

  link_children() {
    this.first = new Int32Array(this.count).fill(-1);
    this.next = new Int32Array(this.count).fill(-1);
    for (let node = this.count - 1; node > 0; node--) {
      this.next[node] = this.first[this.parent[node]];
      this.first[this.parent[node]] = node;
    }
  }

  name(node) {
    return node === 0 ? 'all' : this.profile.key_name(this.key[node]);
  }

  // From the root's child to the node.
  path(node) {
    const path = [];
    for (; node > 0; node = this.parent[node]) path.unshift(node);
    return path;
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
    this.region = tree.inverted ? 'inverted' : 'tree';
    this.unit = unit;
    this.weight = new Float64Array(tree.count);
    const weigh = tree.profile.weigher(selection, unit);
    const { stack } = tree.profile.cells;
    for (const cell of selection.cells) this.weight[tree.leaf[stack[cell]]] += Math.max(weigh(cell), 0);
    for (let node = tree.count - 1; node > 0; node--) this.weight[tree.parent[node]] += this.weight[node];
    this.sorted = new Map();
    this.cache = new Map();
    this.rests = new Set();
    this.has_sums = false;
  }

  children(node) {
    let children = this.sorted.get(node);
    if (children !== undefined) return children;
    children = [];
    for (let child = this.tree.first[node]; child >= 0; child = this.tree.next[child])
      if (this.weight[child] > 0) children.push(child);
    children.sort((a, b) => this.weight[b] - this.weight[a] || a - b);
    this.sorted.set(node, children);
    return children;
  }

  sum_at(node) {
    return this.estimator.region(this.region, node);
  }

  rest_at(node) {
    return this.estimator.region(this.region, this.tree.count + node);
  }

  merge_sums() {
    const { tree, estimator } = this;
    const { stack } = tree.profile.cells;
    estimator.clear(this.sum_at(0), tree.count);
    for (const cell of this.selection.cells) estimator.merge_cell(this.sum_at(tree.leaf[stack[cell]]), cell, this.selection);
    for (let node = tree.count - 1; node > 0; node--)
      if (this.weight[node] > 0) estimator.merge(this.sum_at(tree.parent[node]), this.sum_at(node));
    this.has_sums = true;
    if (!this.selection.calibrated) return;
    estimator.clear(this.rest_at(0), 1);
    estimator.merge_outside(this.rest_at(0), this.selection);
    for (const cell of this.selection.others) estimator.merge(this.rest_at(0), estimator.cell(cell));
    this.own = new Map();
    for (const cell of this.selection.cells) {
      const leaf = tree.leaf[stack[cell]];
      if (this.own.has(leaf)) this.own.get(leaf).push(cell);
      else this.own.set(leaf, [cell]);
    }
    this.rests.add(0);
  }

  // Complements of all children of a node: what is beside the node, its own, and the siblings before
  // (one walk forwards) and behind (one walk backwards).
  find_rests(parent) {
    const { estimator } = this;
    if (!this.rests.has(parent)) this.find_rests(this.tree.parent[parent]);
    const children = this.children(parent);
    const running = estimator.running;
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
    if (!this.has_sums) this.merge_sums();
    const { calibrated } = this.selection;
    if (calibrated && !this.rests.has(node)) this.find_rests(this.tree.parent[node]);
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

  know_total(total) {
    const { sums, record } = this.tree.profile.cells;
    const samples = this.selection.cells.reduce((sum, cell) => sum + (this.tree.profile.counts(this.selection, cell) ? sums[0][record[cell]] : 0), 0);
    this.cache.set(0, { bytes: total.bytes, objects: total.objects, samples });
  }

  has_figures(node) {
    return this.cache.has(node);
  }
}
