// SPDX-License-Identifier: MIT
// The card of resident memory: what the kernel counted of the first process, and what of it is live
// objects, files, the recorder. The parts, with their limits, are those of `bytepoll report` (made where
// the page was written); for a moment of the run there is the share of live objects alone.

import { is_known, bytes_text, figure_text, full_text, limits_text, time_text } from './quantity.js';
import { nearest, resident_of } from './resident.js';

// Live objects of all that is shown when resident memory was looked at; null: not known for this.
function live_then(profile, resident, time) {
  if (resident.relation !== 'same' || profile.head.processes.some((p, i) => i > 0 && p[1] !== resident.pid)) return null;
  const point = profile.head.timeline?.[nearest(profile.edges, time)];
  return point?.b && !point.off ? { estimate: point.b[0], low: point.b[1], high: point.b[2] } : null;
}

const percent = (value) => Math.max(0, Math.min(100, value * 100)).toFixed(2) + '%';

function Bar({ whole, live, files }) {
  return (
    <span class="share" aria-hidden="true">
      <span class="share-low" style={{ width: percent(live.low / whole) }} />
      <span class="share-high" style={{ width: percent(Math.max(0, Math.min(live.high, whole - files) - live.low) / whole) }} />
      <span class="grow" />
      <span class="share-files" style={{ width: percent(files / whole) }} />
    </span>
  );
}

function Share({ live, whole, words }) {
  const of = (value) => Math.round((100 * value) / whole);
  return <span class="label">{words} {of(live.estimate ?? live.high)} % of it [{of(live.low)}, {of(live.high)}]</span>;
}

function Parts({ parts }) {
  const files = parts.file + parts.shared;
  const row = (name, text, why) => (
    <>
      <dt title={why}>{name}</dt>
      <dd title={why}>{text}</dd>
    </>
  );
  return (
    <>
      <Bar whole={parts.resident} live={parts.live} files={files} />
      <dl class="parts">
        {row(<><span class="key share-low" />live objects</>, figure_text(parts.live, 'bytes'), 'of this process alone: ' + full_text(parts.live, 'bytes'))}
        {row(<><span class="key share-files" />files</>, bytes_text(files), 'pages of files and shared memory')}
        {row('recorder, main stack', '≤ ' + bytes_text(parts.recorder_most + parts.stack_most),
          'the recorder at most ' + bytes_text(parts.recorder_most) + ', the main stack at most ' + bytes_text(parts.stack_most) + ', resident or not')}
        {row('the rest', limits_text(parts.rest[0], parts.rest[1], 'bytes'),
          'memory mapped without malloc, slack and free memory of malloc, other stacks; below zero: live objects whose pages were never written')}
        {parts.swapped > 0 && row('swapped out', bytes_text(parts.swapped), 'in addition to all of this')}
      </dl>
    </>
  );
}

export function Resident({ profile, view }) {
  const resident = resident_of(profile, view);
  if (resident === null) return null;
  const several = profile.head.processes.length > 2 || resident.relation === 'more' || resident.relation === 'other';
  const of = several ? ' of the first process, ' + resident.name + ',' : '';
  if (resident.relation === 'other')
    return (
      <div class="card total resident">
        <span class="label">resident memory</span>
        <span class="value vague">not known</span>
        <span class="note">only the first process, {resident.name}, was looked at</span>
      </div>
    );
  const all = view.window === null ? profile.head.resident_parts : null;
  const parts = all == null ? null : view.metric === 'peak' ? all.highest : all.last;
  const most = profile.head.resident_most ?? null;
  const times = resident.points.map((point) => point[0]);
  const [time, bytes] =
    parts !== null ? [parts.at_s, parts.resident] : resident.points[view.window === null ? times.length - 1 : nearest(times, profile.edges[view.window[1]])];
  const live = parts === null && bytes > 0 ? live_then(profile, resident, time) : null;
  return (
    <div class="card total resident">
      <span class="label">{parts !== null && view.metric === 'peak' ? 'highest ' : ''}resident memory{of} at {time_text(time)}</span>
      <span class="value">{bytes_text(bytes)}</span>
      {parts !== null && view.metric === 'peak' && most !== null && most[0] > bytes && (
        <span class="note">highest of the moments it was looked at; the kernel's high-water mark {most[0] < most[1] ? 'at least ' : ''}{bytes_text(most[0])}</span>
      )}
      {parts !== null && is_known(parts.live) && <Parts parts={parts} />}
      {live !== null && is_known(live) && (
        <>
          <Bar whole={bytes} live={live} files={0} />
          <Share live={live} whole={bytes} words="live heap is" />
        </>
      )}
      {resident.relation === 'part' && <span class="note">of the whole process, whatever is filtered</span>}
    </div>
  );
}
