// SPDX-License-Identifier: MIT
// What is shown by size of object: bars with whiskers from the lower to the upper limit.

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { group_by } from './groups.js';
import { NEVER, size_name } from './model.js';
import { axis_marks, full_text, has_estimate, is_known } from './quantity.js';

const HEIGHT = 150;
const FOOT = 22;
const LEFT = 64;
const NARROWEST = 16; // of a class, in pixels; then it scrolls
const WIDEST = 72; // of a column

function label(size_class) {
  if (size_class === NEVER) return '0';
  const bytes = 2 ** size_class;
  return bytes < 1024 ? String(bytes) : bytes < 2 ** 20 ? bytes / 1024 + 'K' : bytes < 2 ** 30 ? bytes / 2 ** 20 + 'M' : bytes / 2 ** 30 + 'G';
}

export function Histogram({ profile, estimator, selection, view, update }) {
  const holder = useRef(null);
  const [room, set_room] = useState(document.documentElement.clientWidth - 60);
  const groups = useMemo(() => group_by(profile, selection, estimator, 'size', false, 'sizes'), [selection]);
  const is_empty = groups.rows.length === 0;
  useLayoutEffect(() => {
    if (holder.current === null) return undefined;
    const observer = new ResizeObserver(() => holder.current !== null && set_room(Math.floor(holder.current.clientWidth)));
    observer.observe(holder.current);
    return () => observer.disconnect();
  }, [is_empty]);
  const by_class = new Map(groups.rows.map((row) => [row.number === NEVER ? -1 : row.number, row]));
  if (by_class.size === 0) return null;
  const first = Math.min(...by_class.keys());
  const last = Math.max(...by_class.keys());
  const bins = [];
  for (let i = first; i <= last; i++) {
    const row = by_class.get(i) ?? null;
    bins.push({ row, size_class: i < 0 ? NEVER : i, figure: row === null ? null : groups.figures(row)[view.unit] });
  }
  const high = Math.max(0, ...bins.filter((b) => is_known(b.figure)).map((b) => b.figure.high));
  // All the width there is.
  const step = Math.max(NARROWEST, (room - LEFT - 8) / bins.length);
  const width = LEFT + step * bins.length + 8;
  const column = Math.min(step * 0.7, WIDEST);
  const y = (value) => 8 + (HEIGHT - 8) * (1 - (high > 0 ? value / high : 0));
  return (
    <section class="card" id="sizes" aria-label="Sizes">
      <div class="card-head">
        <h2>By size of object</h2>
        <span class="soft">{profile.head.mapped ? '' : 'whisker: interval · '}click: only this size</span>
      </div>
      <div class="scroller" ref={holder}>
        <svg class="histogram" viewBox={'0 0 ' + width + ' ' + (HEIGHT + FOOT)} width={width} height={HEIGHT + FOOT} role="img" aria-label="Histogram of sizes; the table by size has the same figures">
          {axis_marks(high, view.unit, 3).map(([value, text]) => (
            <g key={value}>
              <line class="grid" x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
              <text class="soft-text" x={LEFT - 6} y={y(value) + 4} text-anchor="end">{text}</text>
            </g>
          ))}
          {bins.map(({ row, size_class, figure }, i) => {
            const x = LEFT + i * step;
            const middle = x + step / 2;
            const bar = is_known(figure) ? (has_estimate(figure) ? figure.estimate : figure.high) : 0;
            return (
              <g key={size_class} class={'bin' + (view.filters.size === size_class ? ' chosen' : '')} onClick={() => row && update({ filters: { ...view.filters, size: view.filters.size === size_class ? undefined : size_class } })}>
                <title>{size_name(size_class, profile.head.pruned?.size_step) + ': ' + (figure ? full_text(figure, view.unit) : profile.head.mapped ? 'none' : 'no sample')}</title>
                <rect class="hit" x={x} y={0} width={step} height={HEIGHT + FOOT} />
                {figure && <rect class="column" x={middle - column / 2} width={column} y={y(bar)} height={Math.max(HEIGHT - y(bar), 0.5)} />}
                {is_known(figure) && figure.low !== figure.high && (
                  <path class="whisker" d={`M${middle - 4} ${y(figure.high)}h8M${middle} ${y(figure.high)}V${y(figure.low)}M${middle - 4} ${y(figure.low)}h8`} />
                )}
                {(step > 28 || i % 2 === 0) && <text class="soft-text" x={middle} y={HEIGHT + 15} text-anchor="middle">{label(size_class)}</text>}
              </g>
            );
          })}
        </svg>
      </div>
    </section>
  );
}
