// SPDX-License-Identifier: MIT
// The rows of what is shown, by function, stack, line ...: the accessible twin of the graph. Intervals
// are made for the rows that are on the page, or for all where they are sorted by.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { IntervalBar } from './bars.jsx';
import { group_by, KEYS, CUMULATIVE_KEYS } from './groups.js';
import { Frames } from './frames.jsx';
import { Segments } from './header.jsx';
import { figure_text, full_text, is_known, axis_marks } from './quantity.js';
import { in_slices } from './work.js';
import { metric_name } from './mapped.js';
import { row_address, rows_filter } from './matching.js';
import { shorten } from './names.js';
import { cut } from './text.js';

const PAGE = 30;
const NAME = 110; // characters of a name; two lines or three
const ROWS_CHOSEN = ['function', 'stack', 'line', 'file'];

function comparer(groups, view) {
  const { sort, unit } = view;
  const value = {
    estimate: (row) => row.weight[unit],
    objects: (row) => row.weight[unit === 'bytes' ? 'objects' : 'bytes'],
    samples: (row) => row.samples,
    low: (row) => groups.figures(row)[unit].low,
    high: (row) => groups.figures(row)[unit].high,
  }[sort];
  const sign = view.ascending ? 1 : -1;
  if (sort === 'name') return (a, b) => -sign * (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  return (a, b) => sign * (value(a) - value(b)) || a.index - b.index;
}

function Head({ id, text, view, update, extra }) {
  const chosen = view.sort === id;
  const state = chosen ? ((id === 'name') !== view.ascending ? 'ascending' : 'descending') : 'none';
  return (
    <th scope="col" aria-sort={state} class={extra}>
      <button type="button" data-sort={id} onClick={() => update({ sort: id, ascending: chosen ? !view.ascending : false })}>
        {text}
        {chosen && <span aria-hidden="true">{state === 'ascending' ? ' ▲' : ' ▼'}</span>}
      </button>
    </th>
  );
}

function NameCell({ profile, row, view, onChoose }) {
  const source = row.frame >= 0 && ['line', 'function', 'stack'].includes(view.by) ? profile.frame_source(row.heaviest) : null;
  return (
    <td class="name">
      <button type="button" class="row-name" title={cut(row.name, 1000)} onClick={() => onChoose(row)}>
        {['file', 'module'].includes(view.by) ? cut(row.name, 160) : shorten(row.name, NAME)}
      </button>
      {row.frame >= 0 && view.by === 'function' && <span class="place">{cut(profile.frame_place(row.heaviest), 80)}</span>}
      {source !== null && view.by !== 'stack' && <code class="source">{cut(source, 120)}</code>}
      {row.stack !== undefined && <Frames key={row.stack} frames={profile.stacks[row.stack].map((f) => ({ name: profile.frame_name(f), place: profile.frame_place(f) }))} />}
    </td>
  );
}

// What a click on a row does: filters by what makes disjoint parts of all; else the row is chosen, that is
// pointed out in the graph with its figure above it (a second click: no more). A function opens in both
// directions, too, and a stack in the graph.
export function choose_row(profile, row, is_chosen, view, update) {
  const { by } = view;
  if (!ROWS_CHOSEN.includes(by) && !(by === 'module' && (view.cumulative || row.frame < 0)))
    return update({ filters: { ...view.filters, [by]: row.number } });
  if (is_chosen) return update({ selected: '', chosen: null });
  const change = { selected: row_address(by, row) };
  if (by === 'function' && row.frame >= 0) change.chosen = row.number;
  if (by === 'stack') Object.assign(change, { zoom: row.stack + '.' + profile.stacks[row.stack].length, inverted: false, folded: false });
  return update(change);
}

// The figures as numbers, for whoever reads the page by program.
export function numbers_of(figures) {
  if (!figures) return {};
  const one = (f) => [f.estimate, f.low, f.high].map((v) => (v == null ? '' : String(v))).join(' ');
  return { 'data-bytes': one(figures.bytes), 'data-objects': one(figures.objects) };
}

export function Table({ profile, estimator, selection, view, update, searched, chosen }) {
  const [shown, set_shown] = useState(PAGE);
  const [, set_progress] = useState(0);
  const groups = useMemo(
    () => group_by(profile, selection, estimator, view.by, view.cumulative, 'table'),
    [selection, view.by, view.cumulative],
  );
  const rows = useMemo(
    () => {
      const found = rows_filter(profile, searched, view);
      return groups.rows.filter((row) => row.samples > 0 && found(row)).sort(comparer(groups, view));
    },
    [groups, searched, view.sort, view.ascending, view.unit],
  );
  useEffect(() => set_shown(PAGE), [view.by]);
  const visible_rows = rows.slice(0, shown);
  useEffect(() => {
    const wanted = visible_rows.filter((row) => row.figures === null);
    if (wanted.length === 0) return undefined;
    let next = 0;
    return in_slices(
      () => {
        groups.figures(wanted[next++]);
        return next < wanted.length;
      },
      (done) => done && set_progress((n) => n + 1),
    );
  }, [groups, rows, shown]);

  const { unit } = view;
  const { mapped } = profile.head; // (a sample is an object)
  const other = unit === 'bytes' ? 'objects' : 'bytes';
  const highs = visible_rows.filter((r) => r.figures !== null && is_known(r.figures[unit])).map((r) => r.figures[unit].high);
  const marks = axis_marks(Math.max(0, ...highs), unit, 3);
  const scale = Math.max(0, ...highs) * 1.03;
  const has_types = new Set(profile.cells.type).size > 1 || profile.cells.type[0] > 0;
  const has_processes = profile.head.processes.length > 2;
  const keys = KEYS.filter((key) => (key !== 'type' || has_types) && (key !== 'process' || has_processes));
  return (
    <section class="card" id="rows" aria-label="Rows">
      <div class="card-head">
        <h2>By {view.by}</h2>
        <span class="soft">{mapped ? '' : 'dot: estimate · bar: interval · '}{visible_rows.length} of {rows.length} shown</span>
        <div class="grow" />
        <Segments name="rows by" value={view.by} choices={keys.map((key) => [key, key])} onChange={(by) => update({ by })} />
        {CUMULATIVE_KEYS.includes(view.by) && (
          <label class="check"><input type="checkbox" id="cumulative" checked={view.cumulative} onChange={(e) => update({ cumulative: e.currentTarget.checked })} /> with what it calls</label>
        )}
      </div>
      <div class="scroller">
        <table id="table">
          <thead>
            <tr>
              <Head id="name" text={view.by} view={view} update={update} />
              <Head id="estimate" text={metric_name(profile.head, view.metric) + (unit === 'objects' ? ', objects' : '')} view={view} update={update} extra="number" />
              <th class="forest" scope="col">
                <span class="axis" aria-hidden="true">
                  {marks.map(([at, text]) => <span key={at} style={{ left: scale > 0 ? (100 * at) / scale + '%' : 0 }}>{text}</span>)}
                </span>
                <span class="aloud">interval</span>
              </th>
              <Head id="objects" text={other} view={view} update={update} extra="number wide" />
              {!mapped && <Head id="samples" text="samples" view={view} update={update} extra="number wide" />}
            </tr>
          </thead>
          <tbody>
            {visible_rows.map((row) => {
              const figures = row.figures;
              const is_chosen = chosen !== null && chosen.is_row(view.by, row);
              return (
                <tr key={row.number} data-name={row.name} class={(row.figures === null ? 'waiting' : '') + (is_chosen ? ' chosen-row' : '')} aria-current={is_chosen || undefined}>
                  <NameCell profile={profile} row={row} view={view} onChoose={(r) => choose_row(profile, r, is_chosen, view, update)} />
                  <td class="number" {...numbers_of(figures)} title={figures ? full_text(figures[unit], unit) : ''}>{figures ? figure_text(figures[unit], unit) : '…'}</td>
                  <td class="forest">{figures && <IntervalBar figure={figures[unit]} scale={scale} />}</td>
                  <td class="number wide">{figures ? figure_text(figures[other], other) : '…'}</td>
                  {!mapped && <td class="number wide">{row.samples}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && (
        <p class="empty">
          {searched === null ? 'No row: nothing was ' + (mapped ? 'mapped' : 'sampled') + ' here.' : 'No row matches the search' +
            (CUMULATIVE_KEYS.includes(view.by) && !view.cumulative ? ' by what was ' + (mapped ? 'mapped' : 'allocated') + ' there itself; “with what it calls” may show some.' : '.')}
        </p>
      )}
      {rows.length > shown && (
        <button type="button" class="plain" id="more" onClick={() => set_shown(shown * 3)}>
          {rows.length - shown} more
        </button>
      )}
    </section>
  );
}
