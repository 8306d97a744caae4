// SPDX-License-Identifier: MIT
// Live memory over time: the estimate, its interval as a band, resident memory dashed, the peak. Drag
// for a window of time, click for a moment; the two fields below do the same without a pointer.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { axis_marks, bytes_text, count_text, figure_text, time_text } from './quantity.js';
import { in_slices } from './work.js';
import { NEVER } from './model.js';

const HEIGHT = 190;

// The curve of a selection by filters: estimates at once, intervals in slices.
function filtered_curve(profile, view, estimator, progress) {
  const passes = profile.passes_filters(view);
  const { cells, last_edge } = profile;
  const by_edge = Array.from({ length: last_edge + 1 }, () => []);
  for (let i = 0; i < cells.rows; i++) {
    if (!passes(i)) continue;
    const until = cells.freed[i] === NEVER ? last_edge : Math.min(cells.freed[i], last_edge);
    for (let edge = cells.made[i] + 1; edge <= until; edge++) by_edge[edge].push(i);
  }
  const figures = by_edge.map(() => null);
  const live = { metric: 'live', counted: profile.counted_of(view, 'live') };
  let edge = 0;
  const stop = in_slices(
    () => {
      const at = estimator.sum;
      estimator.clear(at, 1);
      for (const cell of by_edge[edge]) estimator.merge(at, estimator.cell(cell));
      figures[edge] = estimator.figures(at, 0, live, null, () => by_edge[edge]);
      edge++;
      return edge <= last_edge;
    },
    (done) => done && progress(figures),
  );
  return stop;
}

function whole_curve(profile, unit) {
  const points = profile.head.timeline;
  const part = unit === 'bytes' ? 'b' : 'o';
  return points.map((p) => (p[part] ? { estimate: p[part][0], low: p[part][1], high: p[part][2], off: p.off } : null));
}

function resident_at(resident, times) {
  let next = 0;
  return times.map((t) => {
    while (next + 1 < resident.length && resident[next + 1][0] <= t) next++;
    return resident[next][0] <= t + 1e-9 || next === 0 ? resident[next][1] : null;
  });
}

function nearest(edges, t) {
  let best = 0;
  for (let i = 1; i < edges.length; i++) if (Math.abs(edges[i] - t) < Math.abs(edges[best] - t)) best = i;
  return best;
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(name).trim();
}

function draw_window(plot, profile, view, colour) {
  const { ctx, bbox } = plot;
  const x = (t) => plot.valToPos(t, 'x', true);
  ctx.save();
  if (view.window !== null) {
    const [from, to] = view.window.map((edge) => x(profile.edges[edge]));
    ctx.fillStyle = colour('--shade');
    ctx.fillRect(bbox.left, bbox.top, from - bbox.left, bbox.height);
    ctx.fillRect(to, bbox.top, bbox.left + bbox.width - to, bbox.height);
    ctx.strokeStyle = colour('--accent');
    ctx.lineWidth = 1.5 * devicePixelRatio;
    for (const at of [from, to]) {
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
    }
  }
  const peak = profile.head.peak_at_s;
  if (peak != null) {
    const at = x(peak);
    ctx.strokeStyle = colour('--second');
    ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.lineWidth = 1.3 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillStyle = colour('--second');
    ctx.font = 11 * devicePixelRatio + 'px sans-serif';
    const right = at > bbox.left + bbox.width - 60 * devicePixelRatio;
    ctx.textAlign = right ? 'right' : 'left';
    ctx.fillText('peak', at + (right ? -5 : 5) * devicePixelRatio, bbox.top + 11 * devicePixelRatio);
  }
  ctx.restore();
}

function plot_options(profile, width, unit, now, on_window) {
  const colour = colours();
  const text = (value) => (unit === 'bytes' ? bytes_text(value) : count_text(value));
  const with_resident = unit === 'bytes' && profile.head.resident?.length > 0;
  const series = [
    {},
    { label: 'low', stroke: 'transparent', width: 0, points: { show: false } },
    { label: 'high', stroke: 'transparent', width: 0, points: { show: false } },
    { label: 'live', stroke: colour('--accent'), width: 2, points: { show: false } },
  ];
  if (with_resident) series.push({ label: 'resident', stroke: colour('--resident'), width: 1.4, dash: [5, 4], points: { show: false } });
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px sans-serif' };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 10, 0, 0],
    scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: (_, low, high) => [0, (high || 1) * 1.06] } },
    axes: [
      { ...axis, grid: { show: false }, values: (_, marks) => marks.map((t) => +t.toPrecision(6) + ' s'), size: 26 },
      {
        ...axis,
        size: 72,
        splits: (plot) => axis_marks(plot.scales.y.max, unit, 4).map((mark) => mark[0]),
        values: (_, marks) => marks.map((value) => (value === 0 ? '0' : axis_marks(marks[marks.length - 1], unit, 4).find((m) => Math.abs(m[0] - value) < 1e-6 * value)?.[1] ?? text(value))),
      },
    ],
    series,
    bands: [{ series: [2, 1], fill: colour('--band') }],
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
    select: { show: true },
    hooks: {
      draw: [(plot) => draw_window(plot, profile, now.view, colour)],
      setSelect: [
        (plot) => {
          if (plot.select.width < 4) return;
          const from = nearest(profile.edges, plot.posToVal(plot.select.left, 'x'));
          const to = nearest(profile.edges, plot.posToVal(plot.select.left + plot.select.width, 'x'));
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          now.dragged = performance.now();
          if (to > from) on_window([from, to]);
        },
      ],
      setCursor: [
        (plot) => {
          const { idx } = plot.cursor;
          now.say(idx == null ? null : idx);
        },
      ],
    },
  };
}

function WindowFields({ profile, view, update }) {
  const { edges, last_edge } = profile;
  const [from, to] = view.window ?? [0, last_edge];
  const set = (value) => update({ window: value, metric: view.metric === 'peak' ? 'live' : view.metric });
  const slider = (name, value, change) => (
    <label class="window-field">
      {name}
      <input type="range" id={'window-' + name} min={0} max={last_edge} value={value} aria-valuetext={time_text(edges[value])} onChange={(e) => change(+e.currentTarget.value)} />
      <output>{time_text(edges[value])}</output>
    </label>
  );
  return (
    <div class="window-fields">
      {slider('from', from, (v) => set([Math.min(v, to), to]))}
      {slider('to', to, (v) => set([Math.min(from, v), v]))}
      <button type="button" class="plain" id="clear-window" disabled={view.window === null} onClick={() => update({ window: null })}>whole run</button>
    </div>
  );
}

export function Timeline({ profile, estimator, view, update, theme }) {
  const holder = useRef(null);
  const words = useRef(null);
  const filtered = profile.has_filter(view);
  const state = useRef({ view, plot: null, say: () => {}, dragged: 0, figures: [] }).current;
  state.view = view;
  const { unit } = view;
  const filter_key = JSON.stringify(view.filters);

  const show = (figures) => {
    state.figures = figures;
    const known = (field) => figures.map((f) => (f === null || f.off ? null : f[field]));
    const data = [profile.edges, known('low'), known('high'), known('estimate')];
    if (unit === 'bytes' && profile.head.resident?.length > 0) data.push(resident_at(profile.head.resident, profile.edges));
    state.plot.setData(data);
  };

  useEffect(() => {
    const set_window = (window) => update({ window, metric: state.view.metric === 'peak' ? 'live' : state.view.metric });
    const none = profile.edges.map(() => null);
    const empty = [none, none, none, ...(unit === 'bytes' && profile.head.resident?.length > 0 ? [none] : [])];
    const plot = new uPlot(plot_options(profile, Math.max(holder.current.clientWidth, 200), unit, state, set_window), [profile.edges, ...empty], holder.current);
    state.plot = plot;
    state.say = (index) => {
      if (words.current === null) return;
      const figure = index === null ? null : state.figures[index];
      words.current.textContent = index === null ? '' : time_text(profile.edges[index]) + ': ' + (figure ? figure_text(figure, unit) : 'not known');
    };
    const on_click = (event) => {
      if (performance.now() - state.dragged < 300) return;
      const box = plot.over.getBoundingClientRect();
      const edge = nearest(profile.edges, plot.posToVal(event.clientX - box.left, 'x'));
      set_window([edge, edge]);
    };
    plot.over.addEventListener('click', on_click);
    const observer = new ResizeObserver(() => {
      const width = Math.floor(holder.current?.clientWidth ?? 0);
      if (width > 100 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    });
    observer.observe(holder.current);
    return () => {
      observer.disconnect();
      plot.destroy();
      state.plot = null;
    };
  }, [unit, theme]);

  useEffect(() => {
    if (!filtered) {
      show(whole_curve(profile, unit));
      return undefined;
    }
    return filtered_curve(profile, view, estimator, (figures) => {
      if (state.plot !== null) show(figures.map((f) => (f === null ? null : f[unit])));
    });
  }, [unit, theme, filter_key]);

  useEffect(() => state.plot?.redraw(false), [view.window]);

  return (
    <section class="card" id="timeline" aria-label="Live memory over time">
      <div class="card-head">
        <h2>Live {unit === 'bytes' ? 'memory' : 'objects'} over time{filtered ? ', filtered' : ''}</h2>
        <span class="soft">
          band: interval{unit === 'bytes' && profile.head.resident?.length > 0 ? ' · dashes: resident' : ''} · drag: a window · click: a moment
        </span>
        <div class="grow" />
        <span class="soft" ref={words} id="timeline-words" />
      </div>
      <div class="plot" ref={holder} />
      <WindowFields profile={profile} view={view} update={update} />
    </section>
  );
}

