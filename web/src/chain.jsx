// SPDX-License-Identifier: MIT
// What a box of the graph stands for, which may be a chain of functions, each of which calls the next one alone.

import { nodes_of } from './layout.js';
import { cut } from './text.js';

const OUTER = 3; // names of a long chain, from its two ends
const INNER = 6;

// From the outermost to the innermost.
export function names_of(weighted, layout, node) {
  const { tree } = weighted;
  const box = layout.find(node);
  return box < 0 ? [tree.name(node)] : nodes_of(layout, tree, box).map((one) => tree.name(one));
}

// The same, as boxes are named: without what allocates for the last one.
export function charged_names_of(weighted, layout, node) {
  const { tree } = weighted;
  const box = layout.find(node);
  return box < 0 ? [tree.name(node)] : tree.chain_names(nodes_of(layout, tree, box));
}

export function Chain({ names }) {
  const left_out = names.length - OUTER - INNER;
  const shown = left_out <= 1 ? names : [...names.slice(0, OUTER), '… ' + left_out + ' more', ...names.slice(-INNER)];
  return (
    <>
      <div class="soft">{names.length} functions, each with one callee; a click unfolds them</div>
      <ol class="chain">{shown.map((name, i) => <li key={i}>{cut(name, 160)}</li>)}</ol>
    </>
  );
}
