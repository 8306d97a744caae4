// SPDX-License-Identifier: MIT
// One function from both sides: who called it, and what it called, each with its part of the
// function's memory.

import { useMemo } from 'preact/hooks';
import { IntervalBar } from './bars.jsx';
import { butterfly } from './groups.js';
import { figure_text, full_text, is_known } from './quantity.js';
import { shorten } from './names.js';
import { cut } from './text.js';

const MOST = 12;

function Side({ title, groups, view, update, scale, mirrored }) {
  const rows = [...groups.rows].sort((a, b) => b.weight[view.unit] - a.weight[view.unit]).slice(0, MOST);
  return (
    <div class={'side' + (mirrored ? ' mirrored' : '')}>
      <h3>{title}{groups.rows.length > MOST && <span class="soft"> {MOST} of {groups.rows.length}</span>}</h3>
      <table>
        <tbody>
          {rows.map((row) => {
            const figure = groups.figures(row)[view.unit];
            return (
              <tr key={row.number}>
                <td class="name">
                  {row.number < 0 ? (
                    <span class="soft">{row.name}</span>
                  ) : (
                    <button type="button" class="row-name" title={cut(row.name, 1000)} onClick={() => update({ chosen: row.number })}>{shorten(row.name, 90)}</button>
                  )}
                </td>
                <td class="number" title={full_text(figure, view.unit)}>{figure_text(figure, view.unit)}</td>
                <td class="forest"><IntervalBar figure={figure} scale={scale} /></td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

export function Butterfly({ profile, estimator, selection, view, update }) {
  const sides = useMemo(
    () => (view.chosen === null ? null : butterfly(profile, selection, estimator, view.chosen)),
    [selection, view.chosen],
  );
  if (sides === null) return null;
  const figures = sides.whole.figures(sides.whole.rows[0]);
  const figure = figures[view.unit];
  const scale = is_known(figure) ? figure.high * 1.05 : 0;
  return (
    <section class="card" id="butterfly" aria-label="Callers and callees">
      <div class="card-head">
        <h2 title={cut(profile.key_name(view.chosen), 1000)}>{shorten(profile.key_name(view.chosen), 120)}</h2>
        <span class="soft" id="butterfly-figure" title={full_text(figure, view.unit)}>{figure_text(figure, view.unit)} with what it calls</span>
        <div class="grow" />
        <button type="button" class="plain" onClick={() => update({ chosen: null })} aria-label="close">close</button>
      </div>
      <div class="sides">
        <Side title="called by" groups={sides.callers} view={view} update={update} scale={scale} />
        <Side title="calls" groups={sides.callees} view={view} update={update} scale={scale} />
      </div>
    </section>
  );
}
