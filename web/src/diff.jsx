// SPDX-License-Identifier: MIT
// The page of a difference of two profiles (`bytepoll diff --json`): one table, with a change and its
// interval in each row. Red and blue only where there is a verdict; "unclear" is grey.

import { useMemo, useReducer, useEffect } from 'preact/hooks';
import { ChangeBar } from './bars.jsx';
import { Frames } from './frames.jsx';
import { Segments, ThemeButton, Warnings } from './header.jsx';
import { bytes_text, change_marks, change_text, count_text, figure_text, full_text, time_text } from './quantity.js';
import { shorten } from './names.js';
import { cut, last_part, matcher, visible } from './text.js';

const VERDICTS = ['grew', 'shrank', 'new', 'gone', 'unclear'];
const PAGE = 60;

function prepare(diff) {
  return diff.rows.map((row, index) => {
    const frames = (row.stack ?? []).map((frame) =>
      typeof frame === 'string'
        ? { name: visible(frame), place: '' }
        : { name: visible(frame.function ?? frame.name ?? '?'), place: frame.file ? visible(frame.file) + (frame.line ? ':' + frame.line : '') : '' },
    );
    const name = row.name != null ? visible(row.name) : (frames[0]?.name ?? '(no stack)');
    return { ...row, index, name, frames, text: [name, ...frames.map((f) => f.name + '  ' + f.place)].join('\n') };
  });
}

// An option in a warning is one of the command that made this page.
const of_command = (text) => (/bytepoll \w/.test(text) ? text : text.replace(/(^|[\s(])(--[a-z])/, '$1bytepoll diff $2'));

function first_diff_view(diff) {
  return { unit: diff.unit === 'objects' ? 'objects' : 'bytes', verdicts: 'all', search: '', sort: 'change', ascending: false, shown: PAGE };
}

function read_fragment(diff) {
  const view = first_diff_view(diff);
  for (const part of location.hash.slice(1).split('&')) {
    const [name, raw] = part.split('=');
    let value = '';
    try {
      value = decodeURIComponent(raw ?? '');
    } catch {
      continue;
    }
    if (name === 'unit' && ['bytes', 'objects'].includes(value)) view.unit = value;
    else if (name === 'verdicts' && ['all', 'clear', ...VERDICTS].includes(value)) view.verdicts = value;
    else if (name === 'search') view.search = value.slice(0, 1000);
    else if (name === 'sort' && ['change', 'base', 'new', 'name', 'q'].includes(value)) view.sort = value;
    else if (name === 'ascending') view.ascending = value === '1';
  }
  return view;
}

function write_fragment(view, first) {
  const parts = [];
  for (const name of ['unit', 'verdicts', 'search', 'sort'])
    if (view[name] !== first[name]) parts.push(name + '=' + encodeURIComponent(view[name]));
  if (view.ascending) parts.push('ascending=1');
  const fragment = parts.join('&');
  if (fragment !== location.hash.slice(1)) history.replaceState(null, '', '#' + fragment);
}

function sorted(rows, view) {
  const size = (figure) => figure?.estimate ?? figure?.high ?? 0;
  const value = {
    change: (row) => Math.abs(size(row.change[view.unit])),
    base: (row) => size(row.base[view.unit]),
    new: (row) => size(row.new[view.unit]),
    q: (row) => -(row.q ?? 2),
  }[view.sort];
  const sign = view.ascending ? 1 : -1;
  const compare = view.sort === 'name'
    ? (a, b) => -sign * (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
    : (a, b) => sign * (value(a) - value(b)) || a.index - b.index;
  return [...rows].sort(compare);
}

function Side({ side, title }) {
  return (
    <div class="card total">
      <span class="label">{title}</span>
      {side.runs.map((run, i) => (
        <span class="run" key={i}>
          <strong>{visible(run.name ?? last_part(run.program ?? ''))}</strong> <span class="soft">{visible(last_part(run.file ?? ''))}</span>
          <br />
          <span class="label">{time_text(run.duration_s)} · T = {bytes_text(run.interval)} · {count_text(run.samples)} samples{run.lost ? ' · ' + run.lost + ' lost' : ''}</span>
        </span>
      ))}
    </div>
  );
}

function Row({ diff, row, view, scale }) {
  const change = row.change[view.unit];
  return (
    <tr class={'diff-row ' + row.verdict} data-name={row.name} data-verdict={row.verdict}>
      <td class="name">
        <span class="row-text" title={cut(row.name, 1000)}>{diff.by === 'function' || diff.by === 'stack' ? shorten(row.name, 110) : cut(row.name, 160)}</span>
        {row.frames.length > 1 && <Frames frames={row.frames} />}
      </td>
      <td class="verdict"><span class={'badge ' + row.verdict}>{row.verdict}</span></td>
      <td class="number">{change_text(change, view.unit)}</td>
      <td class="forest"><ChangeBar figure={change} scale={scale} verdict={row.verdict} /></td>
      <td class="number wide" title={full_text(row.base[view.unit], view.unit)}>{figure_text(row.base[view.unit], view.unit)}</td>
      <td class="number wide" title={full_text(row.new[view.unit], view.unit)}>{figure_text(row.new[view.unit], view.unit)}</td>
      <td class="number wide">{row.q == null ? '' : row.q < 1e-4 ? '< 0.0001' : row.q.toFixed(4)}</td>
    </tr>
  );
}

export function DiffPage({ diff }) {
  const first = useMemo(() => first_diff_view(diff), []);
  const [view, update] = useReducer((old, change) => ({ ...old, ...change }), null, () => read_fragment(diff));
  useEffect(() => write_fragment(view, first), [view]);
  const rows = useMemo(() => prepare(diff), [diff]);
  const test = useMemo(() => matcher(view.search), [view.search]);
  const chosen = useMemo(
    () => sorted(
      rows.filter((row) => (view.verdicts === 'all' || (view.verdicts === 'clear' ? row.verdict !== 'unclear' : row.verdict === view.verdicts)) && (test === null || test(row.text))),
      view,
    ),
    [rows, view],
  );
  const visible_rows = chosen.slice(0, view.shown);
  const largest = (row) => Math.max(Math.abs(row.change[view.unit]?.low ?? 0), Math.abs(row.change[view.unit]?.high ?? 0));
  const scale = Math.max(0, ...visible_rows.map(largest));
  const counts = diff.verdicts ?? {};
  const choices = [['all', 'all'], ['clear', 'with a verdict'], ...VERDICTS.map((v) => [v, v + ' ' + (counts[v] ?? 0), !counts[v]])];
  const head = (id, text, extra) => (
    <th scope="col" class={extra} aria-sort={view.sort !== id ? 'none' : (id === 'name') !== view.ascending ? 'ascending' : 'descending'}>
      <button type="button" data-sort={id} onClick={() => update({ sort: id, ascending: view.sort === id ? !view.ascending : false })}>{text}</button>
    </th>
  );
  const total = diff.total;
  return (
    <>
      <header>
        <h1><b>byte</b>poll</h1>
        <div class="who"><strong>difference</strong> <span class="soft">{diff.metric} by {diff.by}{diff.cumulative ? ', cumulative' : ''}</span></div>
        <div class="facts">{+(diff.confidence * 100).toFixed(3)} % intervals · false discoveries at most {+(diff.fdr * 100).toFixed(2)} % of verdicts</div>
        <div class="grow" />
        <ThemeButton />
      </header>
      <main>
        <Warnings list={diff.warnings?.map(of_command)} />
        <div class="cards">
          <div class={'card total diff-total ' + total.verdict} id="diff-total">
            <span class="label">in total</span>
            <span class="value">{change_text(total.change[view.unit], view.unit)}</span>
            <span class="label"><span class={'badge ' + total.verdict}>{total.verdict}</span> from {figure_text(total.base[view.unit], view.unit)} to {figure_text(total.new[view.unit], view.unit)}</span>
          </div>
          <Side side={diff.base} title="base" />
          <Side side={diff.new} title="new" />
        </div>
        <nav class="controls" aria-label="What is shown">
          <Segments name="unit" value={view.unit} choices={[['bytes', 'bytes'], ['objects', 'objects']]} onChange={(unit) => update({ unit })} />
          <Segments name="verdict" value={view.verdicts} choices={choices} onChange={(verdicts) => update({ verdicts, shown: PAGE })} />
          <input type="search" id="search" placeholder="search" aria-label="search" value={view.search} onInput={(e) => update({ search: e.currentTarget.value })} />
        </nav>
        <section class="card" id="rows" aria-label="Rows">
          <div class="card-head">
            <h2>What changed</h2>
            <span class="soft">dot: estimate of the change · bar: interval · verdicts are about {diff.unit} · {visible_rows.length} of {chosen.length} shown</span>
          </div>
          <div class="scroller">
            <table id="table">
              <thead>
                <tr>
                  {head('name', diff.by)}
                  <th scope="col"><span class="heading">verdict</span></th>
                  {head('change', 'change', 'number')}
                  <th class="forest" scope="col"><span class="axis change-axis" aria-hidden="true">{scale > 0 && change_marks(scale, view.unit, 3).map(([at, text]) => <span key={at} class={at === 0 ? 'at-zero' : undefined} style={{ left: 50 + (50 * at) / scale + '%' }}>{text}</span>)}</span></th>
                  {head('base', 'base', 'number wide')}
                  {head('new', 'new', 'number wide')}
                  {head('q', 'q', 'number wide')}
                </tr>
              </thead>
              <tbody>{visible_rows.map((row) => <Row key={row.index} diff={diff} row={row} view={view} scale={scale} />)}</tbody>
            </table>
          </div>
          {chosen.length === 0 && <p class="empty">No row of this kind.</p>}
          {chosen.length > view.shown && <button type="button" class="plain" id="more" onClick={() => update({ shown: view.shown * 3 })}>{chosen.length - view.shown} more</button>}
        </section>
        <footer>{diff.rows_left_out > 0 && <p>{diff.rows_left_out} rows were left out when this page was made.</p>}</footer>
      </main>
    </>
  );
}
