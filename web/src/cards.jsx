// SPDX-License-Identifier: MIT
// The totals, one card for each metric; a click shows that metric everywhere.

import { metric_name } from './mapped.js';
import { numbers_of } from './table.jsx';
import { Resident } from './resident.jsx';
import { figure_parts, figure_text, full_text, is_vague, is_known, shown_peak, sums_up, time_text, window_text } from './quantity.js';

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
  const name = metric_name(profile.head, metric);
  if (metric === 'live') return at === null ? (profile.head.live_name ?? 'live at exit') : name + ' at ' + at;
  if (metric === 'peak')
    return profile.head.peak_at_s == null ? name : name + ', at ' + time_text(profile.head.peak_at_s);
  if (!sums_up(metric) || at === null) return name;
  return (profile.head.mapped ? 'mapped' : name) + ', ' + window_text(profile.edges, { ...view, metric });
}

const NOTES = {
  live: 'not freed by then',
  allocated: 'all that was asked for',
  temporary: 'freed before the thread’s next allocation',
};

const NOTES_OF_MAPPED = {
  live: 'not unmapped by then',
  peak: 'the most at any time',
  allocated: 'unmapped since or not',
};

// What the rows add up to: the total is the largest value at any time, where the choice of the highest moment, which
// noise favours, is allowed for. (Of what is selected here the page knows that moment alone.)
function peak_note(head, totals, view) {
  const moment = head.peak_moment;
  if (totals !== head.totals) return 'live at that moment';
  return moment == null
    ? 'the most at any time, adjusted for noise'
    : 'the most at any time, adjusted for noise; rows add up to that moment’s ' + figure_text(moment[view.unit], view.unit);
}

function note_of(metric, head, totals, view) {
  if (head.mapped) return NOTES_OF_MAPPED[metric];
  return metric === 'peak' ? peak_note(head, totals, view) : NOTES[metric];
}

export function Cards({ profile, view, totals, onMetric }) {
  const { head } = profile;
  return (
    <div class="cards">
      {head.metrics.map((metric) => {
        const total = totals[metric];
        const moment = metric === 'peak' && totals !== head.totals;
        const shown = (figure) => (metric === 'peak' && !moment ? shown_peak(figure) : figure);
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
                <Figure figure={shown(total[view.unit])} kind={view.unit} />
                <span class="label">
                  {figure_text(shown(total[other]), other)}
                  {other === 'objects' && ' objects'}
                  {is_known(total[other]) && total[other].exact && ', exact'}
                </span>
              </>
            )}
            {!absent && <span class="note">{note_of(metric, head, totals, view)}</span>}
          </button>
        );
      })}
      <Resident profile={profile} view={view} />
    </div>
  );
}
