// SPDX-License-Identifier: MIT
// The line above the graph that says what a search or a chosen row comes to: by the same samples, and
// so the same figures, as the rows of the table, both of what was allocated there itself and with what
// it calls. The first of the two is the one that the table shows.

import { useMemo } from 'preact/hooks';
import { one_group } from './groups.js';
import { figure_text, full_text, has_estimate } from './quantity.js';
import { numbers_of } from './table.jsx';
import { shorten } from './names.js';
import { cut } from './text.js';

// {own, under}: {figures, samples, count}; under is own where there is no difference.
export function matched_figures(profile, selection, matching, estimator) {
  if (matching === null) return null;
  const of = (test) => {
    const cells = [...selection.cells.filter(test)];
    const groups = one_group(profile, selection, estimator, cells, 'search');
    return { figures: groups.figures(groups.rows[0]), samples: groups.rows[0].samples, count: cells.length };
  };
  const own = of((cell) => matching.own(cell));
  return { own, under: matching.parted ? of((cell) => matching.under(cell)) : own };
}

function Part({ id, part, view, total, words, none }) {
  const figure = part.figures[view.unit];
  const whole = total[view.unit];
  const share = part.samples > 0 && has_estimate(figure) && has_estimate(whole) && whole.estimate > 0 ? (100 * figure.estimate) / whole.estimate : null;
  return (
    <span id={id} {...numbers_of(part.figures)} data-samples={part.samples} title={full_text(figure, view.unit)}>
      {part.samples > 0 ? figure_text(figure, view.unit) : none}
      {share !== null && ', ' + share.toFixed(share < 9.95 && share > 0 ? 1 : 0) + ' % of what is shown'}
      {words !== '' && <span class="soft">{(part.samples > 0 ? ', ' : ' ') + words}</span>}
    </span>
  );
}

export function Matched({ profile, estimator, selection, matching, view, total }) {
  const matched = useMemo(() => matched_figures(profile, selection, matching, estimator), [selection, matching]);
  if (matched === null) return null;
  const [key, name] = matching.title;
  const chosen = view.selected !== '';
  const same = matched.own.count === matched.under.count;
  const parts = [];
  const none = profile.head.mapped ? 'none' : 'no sample';
  const own = (profile.head.mapped ? 'mapped' : 'allocated') + ' there itself';
  if (matching.parted) {
    parts.push(<Part id="matched-own" part={matched.own} view={view} total={total} none={none} words={same ? own + ', and with what it calls' : own} />);
    if (!same) parts.push(<Part id="matched-under" part={matched.under} view={view} total={total} none={none} words="with what it calls" />);
    if (view.cumulative) parts.reverse();
  } else parts.push(<Part id="matched-own" part={matched.own} view={view} total={total} none={none} words="" />);
  return (
    <p class="matched" id="matched" {...numbers_of(matched.under.figures)}>
      {chosen ? key[0].toUpperCase() + key.slice(1) + ' ' : 'Matching ' + (key !== '' ? key + ' ' : '')}
      <span title={cut(name, 1000)}>“{shorten(name, 100)}”</span>: {parts[0]}
      {parts.length > 1 && <> · {parts[1]}</>}
    </p>
  );
}
