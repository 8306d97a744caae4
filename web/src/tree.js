// SPDX-License-Identifier: MIT
// The call tree, built once for each direction (callers first: from main down to who allocated;
// callees first: from who allocated up to main), and what a selection puts on it. Nodes are numbers,
// a parent's is smaller than its children's, so one walk backwards sums a tree of any shape.
//
// Stacks begin alike over dozens of frames. Looking up frame after frame took a quarter of the time to
// the first drawing (the table of all nodes is out of reach of the caches): so what is looked up is a
// stride of 8 frames at a time, and single frames only where a stride is new or less than 8 are left.
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

const STRIDE = 8; // frames

// (The low bits of a product depend on low bits alone: the high ones are folded in.)
function place(parent, key) {
  const mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(key, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

// Strides that were seen: from which node, over which frames (those behind `at` in the list of all paths),
// to which node.
class Strides {
  constructor() {
    this.capacity = 16384;
    this.count = 1; // 0: none
    this.from = new Int32Array(this.capacity);
    this.at = new Int32Array(this.capacity);
    this.to = new Int32Array(this.capacity);
    this.hash = new Int32Array(this.capacity);
    this.slots = new Int32Array(4 * this.capacity);
    this.wanted = 0; // the hash of what was not found
    this.slot = 0; // and where it belongs
  }

  // The number of the stride from a node over path[at], path[at + step] ...; 0: it was not seen.
  find(path, node, at, step) {
    const { slots, from, at: places } = this;
    const mask = slots.length - 1;
    const hash = place(place(place(node, path[at]), path[at + 3 * step]), path[at + 6 * step]);
    let slot = hash & mask;
    for (let stride = slots[slot]; stride !== 0; slot = (slot + 1) & mask, stride = slots[slot]) {
      if (from[stride] !== node) continue;
      let mine = at;
      let theirs = places[stride];
      const end = at + STRIDE * step;
      while (mine !== end && path[mine] === path[theirs]) {
        mine += step;
        theirs += step;
      }
      if (mine === end) return stride;
    }
    this.wanted = hash;
    this.slot = slot;
    return 0;
  }

  // The one that was not found.
  add(from, at, to) {
    const stride = this.count++;
    this.from[stride] = from;
    this.at[stride] = at;
    this.to[stride] = to;
    this.hash[stride] = this.wanted;
    this.slots[this.slot] = stride;
    if (this.count === this.capacity) this.grow();
  }

  grow() {
    this.capacity *= 2;
    for (const field of ['from', 'at', 'to', 'hash']) {
      const larger = new Int32Array(this.capacity);
      larger.set(this[field]);
      this[field] = larger;
    }
    this.slots = new Int32Array(4 * this.capacity);
    const mask = this.slots.length - 1;
    for (let stride = 1; stride < this.count; stride++) {
      let slot = this.hash[stride] & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      this.slots[slot] = stride;
    }
  }
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
    this.first = new Int32Array(this.capacity); // child, the oldest one; 0: none
    this.next = new Int32Array(this.capacity); // child of the same parent; 0: none
    this.parent[0] = this.key[0] = this.frame[0] = -1;
    this.count = 1; // node 0 is the root
    this.slots = new Int32Array(32768); // of all that are no first child
    this.slotted = 0;
    this.leaf = new Int32Array(profile.stacks.length);
    this.strides = new Strides();
    this.add_stacks();
    this.slots = null;
  }

  // The frames of all stacks, one stack behind the other: {path, begin}. In a folded tree from where it
  // begins, else as in the profile, innermost first.
  read_paths() {
    const { stacks, stack_used, frames } = this.profile;
    const lists = this.folded ? stacks.map((stack, i) => (stack_used[i] ? this.fold(stack.slice(this.start_of(i))) : [])) : stacks;
    const begin = new Int32Array(stacks.length + 1);
    for (let i = 0; i < stacks.length; i++) begin[i + 1] = begin[i] + lists[i].length;
    const path = new (frames.length <= 65536 ? Uint16Array : Int32Array)(begin[stacks.length]);
    for (let i = 0; i < stacks.length; i++) path.set(lists[i], begin[i]);
    return { path, begin };
  }

  // Where an inverted stack begins: with the frame that is charged.
  start_of(stack) {
    if (!this.inverted) return 0;
    const last = this.profile.stacks[stack].length - 1;
    return Math.min(this.profile.head.attribution?.[stack] ?? 0, Math.max(last, 0));
  }

  add_stacks() {
    const { leaf, folded } = this;
    const { stack_used } = this.profile;
    const { path, begin } = this.read_paths();
    this.path = path;
    const forwards = folded || this.inverted;
    for (let stack = 0; stack < leaf.length; stack++) {
      if (stack_used[stack] === 0) continue;
      const to = begin[stack + 1];
      if (!forwards) leaf[stack] = this.add_path(to - 1, begin[stack] - 1, -1);
      else leaf[stack] = this.add_path(begin[stack] + (folded ? 0 : this.start_of(stack)), to, 1);
    }
    this.path = this.strides = null;
  }

  // Frames path[at], path[at + step] ... path[end - step] down from the root; the last node.
  add_path(at, end, step) {
    const { strides, path } = this;
    const whole = Math.floor(((end - at) * step) / STRIDE);
    let node = 0;
    for (let i = 0; i < whole; i++) {
      const stride = strides.find(path, node, at, step);
      if (stride !== 0) {
        node = strides.to[stride];
        at += STRIDE * step;
        continue;
      }
      const behind = at + STRIDE * step;
      const last = this.add_frames(node, at, behind, step);
      strides.add(node, at, last);
      node = last;
      at = behind;
    }
    return this.add_frames(node, at, end, step);
  }

  add_frames(node, at, end, step) {
    const { path } = this;
    for (; at !== end && this.first[node] !== 0; at += step) node = this.child(node, path[at]);
    return at === end ? node : this.add_chain(node, at, end, step);
  }

  // Under a node without children.
  add_chain(parent, at, end, step) {
    const { frame_key } = this.profile;
    while (this.count + (end - at) * step >= this.capacity) this.grow();
    const { path, parent: parents, key, frame, depth, first } = this;
    let node = this.count;
    let down = depth[parent];
    for (; at !== end; at += step) {
      first[parent] = node;
      parents[node] = parent;
      frame[node] = path[at];
      key[node] = frame_key[path[at]];
      depth[node] = ++down;
      parent = node++;
    }
    this.count = node;
    return parent;
  }

  // The frames of the nodes from the root's child to the leaf of a stack.
  frames_of(stack) {
    const frames = this.profile.stacks[stack];
    const path = this.inverted ? frames.slice(this.start_of(stack)) : [...frames].reverse();
    return this.folded ? fold_rounds(path, this.profile.frame_key) : path;
  }

  fold(path) {
    const kept = fold_rounds(this.inverted ? path : path.reverse(), this.profile.frame_key);
    this.folded_stacks += kept.length < path.length;
    this.folded_frames += path.length - kept.length;
    return kept;
  }

  // Of a node that has children.
  child(parent, frame) {
    const { parent: parents, key: keys, first, next } = this;
    const key = this.profile.frame_key[frame];
    const oldest = first[parent];
    if (keys[oldest] === key) return oldest;
    const { slots } = this;
    const mask = slots.length - 1;
    let slot = place(parent, key) & mask;
    for (let node = slots[slot]; node !== 0; slot = (slot + 1) & mask, node = slots[slot])
      if (parents[node] === parent && keys[node] === key) return node;
    const node = this.count++;
    slots[slot] = node;
    parents[node] = parent;
    keys[node] = key;
    this.frame[node] = frame;
    this.depth[node] = this.depth[parent] + 1;
    next[node] = next[oldest];
    next[oldest] = node;
    if (this.count === this.capacity) this.grow();
    if (2 * ++this.slotted > slots.length) this.rehash();
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
    const { stack } = profile.cells;
    const { cells } = selection;
    const weight = new Float64Array(tree.count);
    const weigh = profile.weigher(selection, unit);
    for (let i = 0; i < cells.length; i++) {
      const more = weigh(cells[i]);
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
    const pairs = estimator.pairs(selection);
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
    estimator.clear(this.rest_at(0), 1);
    estimator.merge_outside(this.rest_at(0), selection);
    for (const cell of selection.others) estimator.merge(this.rest_at(0), estimator.cell(cell));
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

  // Of one unit, or null where it was not made yet.
  known_figure(node) {
    const figures = this.cache.get(node);
    return figures === undefined ? null : figures[this.unit];
  }

  has_figures(node) {
    return this.cache.has(node);
  }
}
