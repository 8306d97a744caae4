// SPDX-License-Identifier: MIT
// The page of one profile: state on top, everything below made from it.

import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { Explained, Header, Mapped, MemoryChoice, Segments, Warnings } from './header.jsx';
import { Cards } from './cards.jsx';
import { Timeline } from './timeline.jsx';
import { Looks } from './looks.jsx';
import { Icicle } from './icicle.jsx';
import { Table } from './table.jsx';
import { Histogram } from './histogram.jsx';
import { Butterfly } from './butterfly.jsx';
import { Tree, Weighted } from './tree.js';
import { one_group } from './groups.js';
import { FILTERS, size_name } from './model.js';
import { STEPS, first_view, from_fragment, to_fragment } from './state.js';
import { use_view } from './history.js';
import { ProfileHelp } from './help.jsx';
import { memory_fragment, memory_of_fragment, metric_choice } from './mapped.js';
import { cut, distinct_names, matcher, visible } from './text.js';
import { match_row, match_search } from './matching.js';
import { shorten } from './names.js';
import { count_text, window_text } from './quantity.js';

// What a thread or process counted itself, where the filter is nothing but that: as its row shows it.
function counted_of_row(profile, view) {
  const [key, another] = FILTERS.filter((name) => view.filters[name] != null);
  if (view.window !== null || another !== undefined || (key !== 'thread' && key !== 'process')) return null;
  return profile.own_figures(key, view.filters[key]);
}

// Totals of what is shown: as they were recorded for the whole run, otherwise made of its cells.
function find_totals(profile, estimator, view) {
  if (view.window === null && !profile.has_filter(view)) return profile.head.totals;
  const totals = {};
  for (const metric of profile.head.metrics) {
    if (metric === 'peak' && view.window !== null) continue;
    const own = metric === 'allocated' ? counted_of_row(profile, view) : null;
    if (own !== null) {
      totals[metric] = own;
      continue;
    }
    const selection = profile.select(view, metric);
    const window_total = metric === 'allocated' && !profile.has_filter(view);
    const groups = one_group(profile, selection, estimator, selection.cells, 'totals', window_total);
    totals[metric] = groups.figures(groups.rows[0]);
  }
  return totals;
}

// The numbers below `count` that occur.
function occurring(numbers, count) {
  const seen = new Uint8Array(count);
  for (let i = 0; i < numbers.length; i++) seen[numbers[i]] = 1;
  const ids = [];
  for (let id = 0; id < count; id++) if (seen[id] !== 0) ids.push(id);
  return ids;
}

function filter_choices(profile) {
  const { cells, head } = profile;
  const threads = occurring(cells.thread, head.threads.length);
  const types = occurring(cells.type, head.types.length);
  const processes = new Set(threads.map((thread) => profile.process_of_thread(thread)));
  const modules = new Set();
  for (const frame of occurring(profile.attributed, profile.frames.length)) modules.add(profile.frames[frame][3]);
  if (profile.attributed.includes(-1)) modules.add(0);
  const ids = [...modules];
  const short = distinct_names(ids.map((id) => profile.name(id)));
  const module_names = new Map(ids.map((id, i) => [id, short[i]]));
  const named = (ids, name) => [...ids].map((id) => [id, cut(name(id), 60)]).sort((a, b) => (a[1] < b[1] ? -1 : 1));
  return {
    process: named(processes, (id) => profile.process_name(id)),
    thread: named(threads, (id) => profile.thread_name(id)),
    module: named(modules, (id) => module_names.get(id) || '(no module)'),
    type: named(types, (id) => profile.type_name(id)),
  };
}

function Controls({ profile, view, update, chosen }) {
  const choices = useMemo(() => filter_choices(profile), [profile]);
  const metrics = profile.head.metrics.map((metric) => [
    metric, metric_choice(profile.head, metric), metric === 'peak' && view.window !== null, metric === 'peak' ? 'the peak is of the whole run' : undefined,
  ]);
  return (
    <nav class="controls" aria-label="What is shown">
      <Segments name="metric" value={view.metric} choices={metrics} onChange={(metric) => update({ metric })} />
      <Segments name="unit" value={view.unit} choices={[['bytes', 'bytes'], ['objects', 'objects']]} onChange={(unit) => update({ unit })} />
      <input
        type="search" id="search" placeholder="search functions, files, modules  ( / )" aria-label="search" aria-keyshortcuts="/" value={view.search}
        onInput={(e) => update({ search: e.currentTarget.value, selected: '' })}
      />
      {['process', 'thread', 'module', 'type'].filter((key) => choices[key].length > 1).map((key) => (
        <select
          key={key} id={'filter-' + key} aria-label={key} class={view.filters[key] != null ? 'chosen' : ''}
          value={view.filters[key] ?? ''}
          onChange={(e) => update({ filters: { ...view.filters, [key]: e.currentTarget.value === '' ? undefined : +e.currentTarget.value } })}
        >
          <option value="">{key === 'process' ? 'all processes' : 'all ' + key + 's'}</option>
          {choices[key].map(([id, text]) => <option key={id} value={id}>{text}</option>)}
        </select>
      ))}
      {view.filters.size != null && (
        <button type="button" class="chip" onClick={() => update({ filters: { ...view.filters, size: undefined } })}>size {size_name(view.filters.size, profile.head.pruned?.size_step)} ×</button>
      )}
      {view.window !== null && (
        <button type="button" class="chip" id="window-chip" onClick={() => update({ window: null })}>{window_text(profile.edges, view)} ×</button>
      )}
      {chosen !== null && (
        <button type="button" class="chip" id="clear-row" onClick={() => update({ selected: '' })}>{chosen.title[0]} {shorten(chosen.title[1], 40)} ×</button>
      )}
      {(profile.has_filter(view) || view.window !== null || view.search !== '' || view.selected !== '') && (
        <button type="button" class="plain" id="reset" onClick={() => update({ filters: {}, window: null, search: '', selected: '', zoom: '' })}>clear all</button>
      )}
    </nav>
  );
}

// `memory`: of a page that has both malloc's memory and what the program mapped itself, which of the two is shown.
export function Page({ profile, estimator, trees, width, memory = null, onMemory }) {
  const { head } = profile;
  const first = useMemo(() => first_view(head), []);
  const [view, update] = use_view(
    first,
    (text) => from_fragment(text, first, profile),
    (shown) => [memory_fragment(memory), to_fragment(shown, first, profile)].filter((part) => part !== '').join('&'),
    STEPS,
    (text) => memory === null || memory_of_fragment(text) === memory,
  );
  const [theme, set_theme] = useState(0);
  // The graph is drawn first of all; then, before the browser shows anything, what is short; then the rest.
  const [stage, set_stage] = useState(0);
  useLayoutEffect(() => set_stage(1), []);
  useEffect(() => {
    if (stage !== 1) return undefined;
    const timer = setTimeout(() => set_stage(2), 0);
    return () => clearTimeout(timer);
  }, [stage]);
  useEffect(() => {
    const media = matchMedia('(prefers-color-scheme: dark)');
    const changed = () => set_theme((n) => n + 1);
    media.addEventListener('change', changed);
    return () => media.removeEventListener('change', changed);
  }, []);
  const filters = JSON.stringify(view.filters);
  const window = JSON.stringify(view.window);
  const selection = useMemo(() => profile.select(view, view.metric), [view.metric, filters, window]);
  const tree = useMemo(() => {
    const which = +view.inverted + 2 * +view.folded;
    trees[which] ??= new Tree(profile, view.inverted, view.folded);
    return trees[which];
  }, [view.inverted, view.folded]);
  const weighted = useMemo(() => new Weighted(tree, selection, view.unit, estimator), [tree, selection, view.unit]);
  const totals = useMemo(() => find_totals(profile, estimator, view), [filters, window]);
  const searched = useMemo(() => match_search(profile, view.search, matcher(view.search), view.by), [view.search, view.by]);
  const chosen = useMemo(() => match_row(profile, view.selected), [view.selected]);
  // The root is the total, and known as that is; of the peak what was live at its moment, as the rows are.
  const all = totals === head.totals && view.metric === 'peak' ? head.peak_moment : totals[view.metric];
  const total = all ?? weighted.figures(0);
  weighted.know_total(total);
  const common = { profile, estimator, view, update };
  return (
    <>
      {stage > 0 && <Header head={head} help={<ProfileHelp head={head} />} onTheme={() => set_theme((n) => n + 1)} />}
      <main>
        {stage > 0 && (
          <>
            {memory !== null && <MemoryChoice memory={memory} onMemory={onMemory} />}
            <Mapped head={head} />
            <Explained explained={head.explained} />
            <Warnings list={head.warnings} />
            <Cards profile={profile} view={view} totals={totals} onMetric={(metric) => update({ metric })} />
            <Controls {...common} chosen={chosen} />
          </>
        )}
        {stage > 0 && head.timeline?.length > 1 && (stage > 1 ? <Timeline {...common} theme={theme} /> : <section class="card" id="timeline" />)}
        <Icicle {...common} weighted={weighted} matching={chosen ?? searched} theme={theme} total={total} first_width={width} />
        {stage > 1 && (
          <>
            <Looks profile={profile} view={view} />
            <Butterfly {...common} selection={selection} />
            <Table {...common} selection={selection} searched={searched} chosen={chosen} />
            <Histogram {...common} selection={selection} />
          </>
        )}
        {stage > 0 && <footer>
          {head.pruned?.text && <p id="pruned">{visible(head.pruned.text)}</p>}
          {head.mapped ? (
            <p>Whole pages of address space, touched or not, counted call by call. Press ? for what every sign means.</p>
          ) : <p>
            Bytes as {head.unit === 'usable' ? 'the allocator gives them' : 'requested'}. Every figure is an estimate from {count_text(head.samples)} samples unless
            marked exact; its interval holds the truth in {+(head.confidence * 100).toFixed(3)} % of runs. Intervals of different rows are not
            independent and do not add up; the page makes each anew from the samples’ sums. Press ? for what every sign means.
          </p>}
        </footer>}
      </main>
    </>
  );
}
