// SPDX-License-Identifier: MIT
// Where the boxes of a graph of call stacks lie: as wide as their weights, side by side below the box that
// they are called from. A chain, where each function has one callee and all its weight comes from there, is
// one box, of its outermost function. Of what is drawn only the tree and its weights are known here. Pure: no DOM.

export const ROW = 23; // pixels
export const HEIGHT = ROW - 1.5; // of a box
export const UNMATCHED = 0.28; // alpha, of what is not searched for
export const WITH_INTERVAL = 3; // pixels; from there on boxes show their intervals
const CHAIN = 3; // functions; a shorter chain is not folded
const NARROWEST = 1; // pixels; what is narrower is drawn together with its smaller siblings

// Where the boxes are: arrays by number of a box, row by row from the top, each row from left to right.
class Layout {
  constructor() {
    this.count = 0;
    this.capacity = 1024;
    this.node = new Int32Array(this.capacity);
    this.last = new Int32Array(this.capacity); // of a chain the innermost node; otherwise the node itself
    this.row = new Int32Array(this.capacity);
    this.sibling = new Uint8Array(this.capacity); // 1: the box behind it is its next sibling
    this.x = new Float64Array(this.capacity);
    this.width = new Float64Array(this.capacity);
    this.end = new Float64Array(this.capacity); // how far a fade may reach at full height
    this.row_begin = []; // the first box of each row, and behind them the count
    this.smaller = []; // {x, width, row}: what lies beside the boxes and is too narrow for one
    this.scale = 0;
  }

  put(node, x, width, row) {
    if (this.count === this.capacity) this.grow();
    const box = this.count++;
    this.node[box] = this.last[box] = node;
    this.row[box] = row;
    this.x[box] = x;
    this.width[box] = width;
    return box;
  }

  grow() {
    this.capacity *= 4;
    for (const field of ['node', 'last', 'row', 'sibling', 'x', 'width', 'end']) {
      const larger = new this[field].constructor(this.capacity);
      larger.set(this[field]);
      this[field] = larger;
    }
  }

  // Of rows that are full: what the fades need to know.
  finish(width) {
    this.rows = this.row_begin.length;
    this.row_begin.push(this.count);
    this.height = Math.max(this.rows, 1) * ROW;
    // What is hardly wider than a line is drawn over a fade.
    for (let row = 0; row < this.rows; row++) {
      let end = width;
      for (let box = this.row_begin[row + 1] - 1; box >= this.row_begin[row]; box--) {
        this.end[box] = end;
        if (this.width[box] >= WITH_INTERVAL) end = this.x[box];
      }
    }
    return this;
  }

  is_chain(box) {
    return this.last[box] !== this.node[box];
  }

  wants_figures(box) {
    return this.width[box] >= WITH_INTERVAL;
  }

  // The box of a node; -1: it has none.
  find(node) {
    const box = this.node.indexOf(node);
    return box < this.count ? box : -1;
  }

  // The first box of a row that begins right of x; the end of the row, if none does.
  behind(row, x) {
    let low = this.row_begin[row];
    let high = this.row_begin[row + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.x[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  at(x, y) {
    const row = Math.floor(y / ROW);
    if (!(row >= 0 && row < this.rows)) return -1;
    const box = this.behind(row, x) - 1;
    return box >= this.row_begin[row] && x < this.x[box] + Math.max(this.width[box], 1) ? box : -1;
  }
}

export const drawn_width = (width) => Math.max(width - (width > 2 ? 0.5 : 0), 0.5);

// The innermost node of the chain that begins with a node.
function chain_end(weighted, node) {
  const { tree, weight } = weighted;
  let end = node;
  for (;;) {
    let child = tree.first[end];
    while (child !== 0 && weight[child] !== weight[end]) child = weight[child] > 0 ? 0 : tree.next[child];
    if (child === 0 || !weighted.is_same(child, end)) return end;
    end = child;
  }
}

// The outermost node of the chain that a node belongs to.
export function chain_start(weighted, node) {
  const { tree, weight } = weighted;
  while (tree.parent[node] > 0 && weight[tree.parent[node]] === weight[node] && weighted.is_same(node, tree.parent[node]))
    node = tree.parent[node];
  return node;
}

// The nodes of a box, from the outermost to the innermost.
export function nodes_of(layout, tree, box) {
  const nodes = [];
  for (let node = layout.last[box]; node !== layout.node[box]; node = tree.parent[node]) nodes.push(node);
  nodes.push(layout.node[box]);
  return nodes.reverse();
}

// Is one of a box's functions what is searched for? `matched`: by node, or null where nothing is searched for.
export function is_matched(layout, tree, matched, box) {
  if (matched === null) return true;
  for (let node = layout.last[box]; node !== layout.node[box]; node = tree.parent[node]) if (matched[node] === 1) return true;
  return matched[layout.node[box]] === 1;
}

// `weighted`: {tree, weight: by node, spare(node): of the width that the box of all has, how much is wanted,
// is_same(node, its caller): are both known by the same samples, given that they weigh the same}. The graph begins
// with the node that is zoomed to; its own chain is not folded.
export function lay_out(weighted, zoom, width, folding = false) {
  const layout = new Layout();
  const spare = weighted.spare(zoom);
  const all = weighted.weight[zoom];
  const scale = all > 0 ? width / spare / all : 0;
  if (!(scale > 0)) return layout.finish(width);
  layout.scale = scale;
  layout.row_begin.push(layout.put(zoom, 0, all * scale, 0));
  const unfolded_to = zoom === 0 || !folding ? -1 : chain_end(weighted, zoom);
  for (let inside = unfolded_to >= 0 && unfolded_to !== zoom; ; ) {
    const row = layout.row_begin.length - 1;
    const end = layout.count;
    for (let box = layout.row_begin[row]; box < end; box++) put_children(layout, weighted, box, row + 1);
    if (layout.count === end) return layout.finish(width);
    layout.row_begin.push(end);
    if (inside) inside = layout.node[end] !== unfolded_to;
    else if (folding) fold_row(layout, weighted, end);
  }
}

function fold_row(layout, weighted, first) {
  const { depth } = weighted.tree;
  for (let box = first; box < layout.count; box++) {
    const end = chain_end(weighted, layout.node[box]);
    if (depth[end] - depth[layout.node[box]] + 1 >= CHAIN) layout.last[box] = end;
  }
}

// Children of a box side by side, the widest first, of two as wide the older one.
function put_children(layout, weighted, box, row) {
  const { scale } = layout;
  const { tree } = weighted;
  const { weight } = weighted;
  const begin = layout.count;
  let narrow = 0;
  for (let child = tree.first[layout.last[box]]; child !== 0; child = tree.next[child]) {
    const width = weight[child] * scale;
    if (width >= NARROWEST) insert(layout, begin, child, width, row);
    else narrow += width;
  }
  let x = layout.x[box];
  for (let at = begin; at < layout.count; at++) {
    layout.x[at] = x;
    x += layout.width[at];
    layout.sibling[at] = +(at + 1 < layout.count);
  }
  if (narrow >= NARROWEST) layout.smaller.push({ x, width: narrow, row });
}

function insert(layout, begin, node, width, row) {
  let at = layout.put(node, 0, width, row);
  for (; at > begin && (layout.width[at - 1] < width || (layout.width[at - 1] === width && layout.node[at - 1] > node)); at--) {
    layout.width[at] = layout.width[at - 1];
    layout.node[at] = layout.last[at] = layout.node[at - 1];
  }
  layout.width[at] = width;
  layout.node[at] = layout.last[at] = node;
}
