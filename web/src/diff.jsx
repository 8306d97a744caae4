// SPDX-License-Identifier: MIT
// The page of a difference of two profiles (`bytepoll diff --html`): the graph of its call paths, and a table
// with a change and its interval in each row, by what was asked for or by call path. Red and blue only where
// there is a verdict; "unclear" is grey.

import { useMemo, useEffect, useState } from 'preact/hooks';
import { ChangeBar } from './bars.jsx';
import { DiffGraph } from './diff_graph.jsx';
import { PathTree, SIDES } from './diff_tree.js';
import { Frames } from './frames.jsx';
import { Segments, ThemeButton, Warnings } from './header.jsx';
import { DiffHelp, HelpButton } from './help.jsx';
import { use_view } from './history.js';
import { change_marks, change_text, count_text, figure_text, full_text, sampling_text, shown_peak, time_text } from './quantity.js';
import { shorten } from './names.js';
import { cut, last_part, matcher, visible } from './text.js';

const VERDICTS = ['grew', 'shrank', 'new', 'gone', 'unclear'];
const PAGE = 60;
const CALLERS = 4; // of a call path, in its row
// Rows of the table that are longer than its axis.
const OUTLIERS_OF = 4; // at most one in so many,
const OUTLIERS_MOST = 5; // at most so many,
const MUCH_LARGER = 4; // and each so many times as large as the largest that is left
const BEYOND = 1.25; // so much longer than that one is the axis

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

// The call paths as rows of the table, the outermost first.
function rows_of_paths(paths, tree) {
  const rows = [];
  for (let node = 1; node < tree.count; node++) {
    const name = tree.name(node);
    rows.push({ ...paths.rows[tree.row[node]], index: node - 1, name, frames: [], text: name, node });
  }
  return rows;
}

// An option in a warning is one of the command that made this page.
const of_command = (text) => (/bytepoll \w/.test(text) ? text : text.replace(/(^|[\s(])(--[a-z])/, '$1bytepoll diff $2'));

function first_diff_view(diff) {
  return {
    unit: diff.unit === 'objects' ? 'objects' : 'bytes', verdicts: 'all', search: '', sort: 'change', ascending: false, shown: PAGE,
    rows: 'asked', // or paths
    width: 'new', // the side whose figures boxes are as wide as
    zoom: '',
    chains: true, // functions with one callee are shown as one box
  };
}

const STEPS = ['unit', 'verdicts', 'rows', 'width', 'zoom', 'chains'];

// What a fragment may hold, and of what kind; anything else is left out.
const FIELDS = {
  unit: ['bytes', 'objects'], verdicts: ['all', 'clear', ...VERDICTS], search: null, sort: ['change', 'base', 'new', 'name', 'q'],
  rows: ['asked', 'paths'], width: SIDES, zoom: null,
};

function read_fragment(text, diff) {
  const view = first_diff_view(diff);
  for (const part of text.slice(1).split('&')) {
    const [name, raw] = part.split('=');
    let value = '';
    try {
      value = decodeURIComponent(raw ?? '');
    } catch {
      continue;
    }
    if (name === 'search') view.search = value.slice(0, 1000);
    else if (name === 'zoom' && /^\d{1,9}$/.test(value)) view.zoom = value;
    else if (name === 'chains') view.chains = value !== '0';
    else if (name === 'ascending') view.ascending = value === '1';
    else if (Object.hasOwn(FIELDS, name) && FIELDS[name]?.includes(value)) view[name] = value;
  }
  return view;
}

function to_fragment(view, first) {
  const parts = [];
  for (const name of Object.keys(FIELDS)) if (view[name] !== first[name]) parts.push(name + '=' + encodeURIComponent(view[name]));
  if (!view.chains) parts.push('chains=0');
  if (view.ascending) parts.push('ascending=1');
  return parts.join('&');
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

// `mapped`: of what the programs mapped themselves, which was counted.
function Side({ side, title, mapped }) {
  return (
    <div class="card total">
      <span class="label">{title}</span>
      {side.runs.map((run, i) => (
        <span class="run" key={i}>
          <strong>{visible(run.name ?? last_part(run.program ?? ''))}</strong> <span class="soft">{visible(last_part(run.file ?? ''))}</span>
          <br />
          <span class="label">{time_text(run.duration_s)} · {mapped ? 'counted' : sampling_text(run.intervals ?? [])} · {count_text(run.samples)} {mapped ? 'objects' : 'samples'}{run.lost ? ' · ' + run.lost + ' lost' : ''}</span>
        </span>
      ))}
    </div>
  );
}

// Who called it: the last ones in view, all of them in the title.
function Callers({ tree, node }) {
  const names = tree.path_to(tree.parent[node]).map((at) => tree.name(at));
  if (names.length === 0) return null;
  const last = names.slice(-CALLERS).map((name) => shorten(name, 50));
  return <span class="callers" title={cut(names.join(' › '), 2000)}>{(names.length > CALLERS ? '… › ' : '') + last.join(' › ')} ›</span>;
}

const largest_change = (row, unit) => Math.max(Math.abs(row.change[unit]?.low ?? 0), Math.abs(row.change[unit]?.high ?? 0));

// Where the axis ends, so that a few rows that are much larger than all others do not press these to a point:
// `beyond` of them go further, and end in an arrow.
export function axis_of(sizes) {
  const sorted = [...sizes].sort((a, b) => b - a);
  const most = Math.min(Math.floor(sorted.length / OUTLIERS_OF), OUTLIERS_MOST);
  let beyond = 0;
  for (let i = 1; i <= most; i++) if (sorted[i] > 0 && sorted[i - 1] > MUCH_LARGER * sorted[i]) beyond = i;
  return { scale: beyond === 0 ? (sorted[0] ?? 0) : sorted[beyond] * BEYOND, beyond };
}

function Row({ diff, tree, row, view, update, scale }) {
  const change = row.change[view.unit];
  const of_function = row.node !== undefined || diff.by === 'function' || diff.by === 'stack';
  const name = of_function ? shorten(row.name, 110) : cut(row.name, 160);
  return (
    <tr class={'diff-row ' + row.verdict + (row.node !== undefined && view.zoom === String(row.node) ? ' chosen-row' : '')} data-name={row.name} data-verdict={row.verdict} data-node={row.node}>
      <td class="name">
        {row.node !== undefined
          ? <button type="button" class="row-name" title={cut(row.name, 1000)} onClick={() => update({ zoom: String(row.node) })}>{name}</button>
          : <span class="row-text" title={cut(row.name, 1000)}>{name}</span>}
        {row.node !== undefined && <Callers tree={tree} node={row.node} />}
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

// Grows by one whenever light becomes dark, or dark light.
function use_theme() {
  const [theme, set_theme] = useState(0);
  const changed = () => set_theme((n) => n + 1);
  useEffect(() => {
    const media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', changed);
    return () => media.removeEventListener('change', changed);
  }, []);
  return [theme, changed];
}

// `paths` is null in a page without a graph.
export function DiffPage({ diff, paths, width }) {
  const first = useMemo(() => first_diff_view(diff), []);
  const [view, update] = use_view(first, (text) => read_fragment(text, diff), (shown) => to_fragment(shown, first), STEPS);
  const [theme, on_theme] = use_theme();
  const asked_rows = useMemo(() => prepare(diff), [diff]);
  const tree = useMemo(() => (paths === null ? null : new PathTree(paths)), [paths]);
  const by_path = tree !== null && view.rows === 'paths';
  const mapped = diff.metric.startsWith('mapped');
  const rows = useMemo(() => (by_path ? rows_of_paths(paths, tree) : asked_rows), [by_path]);
  const test = useMemo(() => matcher(view.search), [view.search]);
  const matches = useMemo(() => (test === null || tree === null ? null : tree.matching(test)), [test, tree]);
  const chosen = useMemo(
    () => sorted(
      rows.filter((row) => (view.verdicts === 'all' || (view.verdicts === 'clear' ? row.verdict !== 'unclear' : row.verdict === view.verdicts)) && (test === null || test(row.text))),
      view,
    ),
    [rows, view],
  );
  const visible_rows = chosen.slice(0, view.shown);
  const axis = axis_of(visible_rows.map((row) => largest_change(row, view.unit)));
  const { scale } = axis;
  const counts = (by_path ? paths.verdicts : diff.verdicts) ?? {};
  const choices = [['all', 'all'], ['clear', 'with a verdict'], ...VERDICTS.map((v) => [v, v + ' ' + (counts[v] ?? 0), !counts[v]])];
  const head = (id, text, extra, why) => (
    <th scope="col" class={extra} title={why} aria-sort={view.sort !== id ? 'none' : (id === 'name') !== view.ascending ? 'ascending' : 'descending'}>
      <button type="button" data-sort={id} onClick={() => update({ sort: id, ascending: view.sort === id ? !view.ascending : false })}>{text}</button>
    </th>
  );
  const total = diff.total;
  const side = (figures) => (diff.metric === 'peak' ? shown_peak(figures[view.unit]) : figures[view.unit]);
  return (
    <>
      <header>
        <h1><b>byte</b>poll</h1>
        <div class="who"><strong>difference</strong> <span class="soft">{diff.metric} by {diff.by}{diff.cumulative ? ', cumulative' : ''}</span></div>
        <div class="facts">{+(diff.confidence * 100).toFixed(3)} % intervals · at most {+(diff.fdr * 100).toFixed(2)} % of the verdicts are wrong, on average</div>
        <div class="grow" />
        <div class="tools"><HelpButton><DiffHelp diff={diff} /></HelpButton><ThemeButton onChange={on_theme} /></div>
      </header>
      <main>
        <Warnings list={diff.warnings?.map(of_command)} />
        <div class="cards">
          <div class={'card total diff-total ' + total.verdict} id="diff-total">
            <span class="label">in total</span>
            <span class="value">{change_text(total.change[view.unit], view.unit)}</span>
            <span class="label"><span class={'badge ' + total.verdict}>{total.verdict}</span> from {figure_text(side(total.base), view.unit)} to {figure_text(side(total.new), view.unit)}</span>
          </div>
          <Side side={diff.base} title="base" mapped={mapped} />
          <Side side={diff.new} title="new" mapped={mapped} />
        </div>
        <nav class="controls" aria-label="What is shown">
          <Segments name="unit" value={view.unit} choices={[['bytes', 'bytes'], ['objects', 'objects']]} onChange={(unit) => update({ unit })} />
          <Segments name="verdict" value={view.verdicts} choices={choices} onChange={(verdicts) => update({ verdicts, shown: PAGE })} />
          <input type="search" id="search" placeholder="search  ( / )" aria-label="search" aria-keyshortcuts="/" value={view.search} onInput={(e) => update({ search: e.currentTarget.value })} />
        </nav>
        {tree !== null && <DiffGraph diff={diff} paths={paths} tree={tree} view={view} update={update} theme={theme} matches={matches} first_width={width} />}
        <section class="card" id="rows" aria-label="Rows">
          <div class="card-head">
            <h2>What changed</h2>
            {tree !== null && <Segments name="rows" value={view.rows} choices={[['asked', 'by ' + diff.by], ['paths', 'by call path']]} onChange={(which) => update({ rows: which, verdicts: 'all', shown: PAGE })} />}
            <span class="soft">
              dot: estimate of the change · bar: interval{axis.beyond > 0 && ' · arrow: the bar goes beyond the axis'} · verdicts are about {diff.unit} · {visible_rows.length} of {chosen.length} shown
            </span>
          </div>
          <div class="scroller">
            <table id="table" class="diff-table">
              <thead>
                <tr>
                  {head('name', by_path ? 'call path' : diff.by)}
                  <th scope="col"><span class="heading">verdict</span></th>
                  {head('change', 'change', 'number')}
                  <th class="forest" scope="col"><span class="axis change-axis" aria-hidden="true">{scale > 0 && change_marks(scale, view.unit, 3).map(([at, text]) => <span key={at} class={at === 0 ? 'at-zero' : undefined} style={{ left: 50 + (50 * at) / scale + '%' }}>{text}</span>)}</span></th>
                  {head('base', 'base', 'number wide')}
                  {head('new', 'new', 'number wide')}
                  {head('q', 'q', 'number wide', 'the chance of error of a verdict, allowing for the number of rows')}
                </tr>
              </thead>
              <tbody>{visible_rows.map((row) => <Row key={row.index} diff={diff} tree={tree} row={row} view={view} update={update} scale={scale} />)}</tbody>
            </table>
          </div>
          {chosen.length === 0 && <p class="empty">No row of this kind.</p>}
          {chosen.length > view.shown && <button type="button" class="plain" id="more" onClick={() => update({ shown: view.shown * 3 })}>{chosen.length - view.shown} more</button>}
        </section>
        <footer>{!by_path && diff.rows_left_out > 0 && <p>{diff.rows_left_out} rows were left out when this page was made.</p>}</footer>
      </main>
    </>
  );
}
