// SPDX-License-Identifier: MIT
// Where a zoomed graph is: the callers of what is zoomed to, each of which a click shows instead.

import { useEffect, useState } from 'preact/hooks';
import { shorten } from './names.js';
import { cut } from './text.js';

const FIRST = 2; // names of a long path
const LAST = 5;
const NAME = 60;

export function Breadcrumb({ tree, zoom, go }) {
  const [whole, set_whole] = useState(false);
  useEffect(() => set_whole(false), [tree, zoom]);
  if (zoom === 0) return null;
  const path = [0, ...tree.path_to(zoom)];
  const hidden = whole || path.length <= FIRST + LAST + 1 ? 0 : path.length - FIRST - LAST;
  const shown = hidden === 0 ? path : [...path.slice(0, FIRST), -1, ...path.slice(FIRST + hidden)];
  return (
    <nav class="path" aria-label="zoomed to">
      {shown.map((node, i) => (
        <span key={node}>
          {i > 0 && ' › '}
          {node < 0 && <button type="button" class="crumb" title="show all callers" onClick={() => set_whole(true)}>… {hidden} more</button>}
          {node >= 0 && node !== zoom && (
            <button type="button" class="crumb" title={cut(tree.name(node), 1000)} onClick={() => go(node)}>{shorten(tree.name(node), NAME)}</button>
          )}
          {node === zoom && <strong title={cut(tree.name(node), 1000)}>{shorten(tree.name(node), NAME)}</strong>}
        </span>
      ))}
    </nav>
  );
}
