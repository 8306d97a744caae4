// SPDX-License-Identifier: MIT
// The totals, one card for each metric; a click shows that metric everywhere.

import { numbers_of } from './table.jsx';
import { figure_parts, figure_text, full_text, is_vague, is_known, bytes_text, time_text } from './quantity.js';

function Figure({ figure, kind }) {
  const parts = figure_parts(figure, kind);
  const exact = is_known(figure) && figure.exact;
  return (
    <span class={'value' + (is_known(figure) && is_vague(figure) ? ' vague' : '')} title={full_text(figure, kind)}>
      {parts.main}
      <span class="rest">{parts.rest}</span>
      {exact && <span class="exact">exact</span>}
    </span>
  );
}

function card_title(metric, profile, view) {
  const at = view.window === null ? null : time_text(profile.edges[view.window[1]]);
  if (metric === 'live') return at === null ? (profile.head.live_name ?? 'live at exit') : 'live at ' + at;
  if (metric === 'peak')
    return profile.head.peak_at_s == null ? 'peak' : 'peak, at ' + time_text(profile.head.peak_at_s);
  if (metric === 'temporary') return 'temporary';
  return metric;
}

const NOTES = {
  live: 'not freed by then',
  peak: 'corrected for choosing the highest moment',
  allocated: 'all that was asked for',
  temporary: 'freed before the thread’s next allocation',
};

export function Cards({ profile, view, totals, onMetric }) {
  const { head } = profile;
  return (
    <div class="cards">
      {head.metrics.map((metric) => {
        const total = totals[metric];
        const absent = metric === 'peak' && view.window !== null;
        const other = view.unit === 'bytes' ? 'objects' : 'bytes';
        return (
          <button
            type="button" class="card total" key={metric} data-metric={metric} aria-pressed={view.metric === metric}
            {...numbers_of(total)} disabled={absent} onClick={() => onMetric(metric)}
          >
            <span class="label">{card_title(metric, profile, view)}</span>
            {absent || !total ? (
              <span class="value vague">{absent ? 'of the whole run only' : 'not known'}</span>
            ) : (
              <>
                <Figure figure={total[view.unit]} kind={view.unit} />
                <span class="label">
                  {figure_text(total[other], other)}
                  {other === 'objects' && ' objects'}
                  {is_known(total[other]) && total[other].exact && ', exact'}
                </span>
              </>
            )}
            {!absent && <span class="note">{NOTES[metric]}</span>}
          </button>
        );
      })}
      <Resident profile={profile} totals={totals} view={view} />
    </div>
  );
}

// What was live when resident memory was last seen: at exit it may all have been freed since.
function live_then(profile, totals, view, time) {
  if (view.window !== null) return totals.live?.bytes;
  if (Object.values(view.filters).some((value) => value != null)) return null;
  const { edges } = profile;
  let edge = 0;
  for (let i = 1; i < edges.length; i++) if (Math.abs(edges[i] - time) < Math.abs(edges[edge] - time)) edge = i;
  const point = profile.head.timeline?.[edge]?.b;
  return point ? { estimate: point[0], low: point[1], high: point[2] } : null;
}

function Resident({ profile, totals, view }) {
  const resident = profile.head.resident;
  if (!resident || resident.length === 0) return null;
  const until = view.window === null ? Infinity : profile.edges[view.window[1]];
  let now = resident[0];
  for (const point of resident) if (point[0] <= until) now = point;
  const live = live_then(profile, totals, view, now[0]);
  const share = live && is_known(live) && now[1] > 0 ? [live.low / now[1], (live.estimate ?? live.high) / now[1], live.high / now[1]] : null;
  return (
    <div class="card total resident">
      <span class="label">resident memory at {time_text(now[0])}</span>
      <span class="value">{bytes_text(now[1])}</span>
      {share && (
        <>
          <span class="share" aria-hidden="true">
            <span class="share-low" style={{ width: Math.min(100, share[0] * 100) + '%' }} />
            <span class="share-high" style={{ width: Math.min(100, Math.max(0, share[2] - share[0]) * 100) + '%' }} />
          </span>
          <span class="label">live heap is {Math.round(share[1] * 100)} % of it [{Math.round(share[0] * 100)}, {Math.round(share[2] * 100)}]</span>
        </>
      )}
    </div>
  );
}
