// SPDX-License-Identifier: MIT
// The call paths of a difference (bytepoll-diff-paths-1) as a tree, and as wide as one of the two sides.
// Figures and verdicts were made by `bytepoll diff`; nothing is estimated here. Pure: no DOM.

import { visible } from './text.js';

export const SIDES = ['base', 'new'];

export class PathTree {
  constructor(paths) {
    const count = paths.caller.length + 1;
    this.count = count;
    this.names = paths.names;
    this.seen_names = new Array(paths.names.length).fill(null);
    this.parent = new Int32Array(count);
    this.key = new Int32Array(count);
    this.row = new Int32Array(count);
    this.depth = new Uint16Array(count);
    this.first = new Int32Array(count); // callee; 0: none
    this.next = new Int32Array(count); // callee of the same caller; 0: none
    this.parent[0] = this.key[0] = -1;
    for (let node = 1; node < count; node++) {
      const caller = paths.caller[node - 1];
      this.parent[node] = caller;
      this.key[node] = paths.name[node - 1];
      this.row[node] = paths.row[node - 1];
      this.depth[node] = this.depth[caller] + 1;
    }
    for (let node = count - 1; node > 0; node--) {
      this.next[node] = this.first[this.parent[node]];
      this.first[this.parent[node]] = node;
    }
  }

  name(node) {
    const key = this.key[node];
    return key < 0 ? 'all' : (this.seen_names[key] ??= visible(this.names[key]));
  }

  // From the outermost function to the node.
  path_to(node) {
    const path = [];
    for (; node > 0; node = this.parent[node]) path.push(node);
    return path.reverse();
  }

  address(node) {
    return node === 0 ? '' : String(node);
  }

  node_at(address) {
    return /^\d{1,9}$/.test(address) && +address < this.count ? +address : 0;
  }

  // 1 for each node whose function is searched for.
  matching(test) {
    const of_key = this.names.map((_, key) => test(this.seen_names[key] ?? visible(this.names[key])));
    return Uint8Array.from(this.key, (key) => (key >= 0 && of_key[key] ? 1 : 0));
  }
}

// `side` base or new, `unit` bytes or objects: what boxes are as wide as.
export class PathWidths {
  constructor(tree, paths, side, unit) {
    this.tree = tree;
    this.rows = paths.rows;
    this.side = side;
    this.unit = unit;
    const widths = paths[unit][side];
    this.weight = new Float64Array(tree.count);
    for (let node = 1; node < tree.count; node++) {
      this.weight[node] = widths[node - 1] ?? 0;
      if (tree.parent[node] === 0) this.weight[0] += this.weight[node];
    }
  }

  // (No limits are drawn that would need room.)
  spare() {
    return 1;
  }

  // (The one not drawn, of the other side, may differ.)
  is_same(node, caller) {
    return this.tree.row[node] === this.tree.row[caller];
  }

  row(node) {
    return this.rows[this.tree.row[node]];
  }
}

// How much of what the larger side has did change, of 0 to 1.
export function part_changed(row, unit) {
  const size = (figure) => Math.abs(figure[unit]?.estimate ?? 0);
  const larger = Math.max(size(row.base), size(row.new));
  return larger > 0 ? Math.min(size(row.change) / larger, 1) : 0;
}
