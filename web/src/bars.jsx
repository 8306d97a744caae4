// SPDX-License-Identifier: MIT
// An estimate and its interval, drawn: a bar from the lower to the upper limit, a dot at the estimate,
// a square where it is exact, hollow where it is vague.

import { is_known, is_vague, has_estimate } from './quantity.js';

const EDGE = 1 + 1e-9; // (the longest bar may end at the end of the axis)

const percent = (value) => Math.max(0, Math.min(100, value * 100)).toFixed(3) + '%';

export function IntervalBar({ figure, scale }) {
  if (!is_known(figure) || !(scale > 0)) return <span class="bar" />;
  const { low, high, estimate } = figure;
  const exact = low === high;
  const kind = exact ? 'mark exact-mark' : is_vague(figure) ? 'mark vague-mark' : 'mark';
  return (
    <span class="bar" aria-hidden="true">
      {!exact && <span class="range" style={{ left: percent(low / scale), width: percent((high - low) / scale) }} />}
      {(exact || has_estimate(figure)) && <span class={kind} style={{ left: percent((exact ? low : estimate) / scale) }} />}
    </span>
  );
}

// A change, about a line at zero. What goes beyond the axis ends in an arrow.
export function ChangeBar({ figure, scale, verdict }) {
  if (figure == null || figure.low == null || figure.high == null || !(scale > 0)) return <span class="bar change-bar" />;
  const place = (value) => percent(0.5 + value / scale / 2);
  const left = Math.max(-scale, figure.low);
  const right = Math.min(scale, figure.high);
  return (
    <span class={'bar change-bar ' + verdict} aria-hidden="true">
      <span class="zero" />
      {figure.estimate != null && Math.abs(figure.estimate) > scale && (
        <span class="stem" style={figure.estimate < 0 ? { left: 0, right: '50%' } : { left: '50%', right: 0 }} />
      )}
      {right > left && <span class="range" style={{ left: place(left), width: percent((right - left) / scale / 2) }} />}
      {figure.estimate != null && Math.abs(figure.estimate) <= scale && <span class="mark" style={{ left: place(figure.estimate) }} />}
      {figure.low < -scale * EDGE && <span class="beyond left" />}
      {figure.high > scale * EDGE && <span class="beyond right" />}
    </span>
  );
}
