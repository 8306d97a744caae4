// SPDX-License-Identifier: MIT
// Live memory over time: the estimate, its interval as a band, resident memory dashed, the peak. Drag
// for a window of time, click for a moment; the two fields below do the same without a pointer.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { axis_marks, bytes_text, count_text, figure_text, sums_up, time_text } from './quantity.js';
import { nearest, resident_of } from './resident.js';
import { in_slices } from './work.js';
import { NEVER } from './model.js';

const HEIGHT = 196;
const POINTS_SHOWN = 60; // looks at resident memory, each with a dot

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

function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(name).trim();
}

function draw_window(plot, profile, view, colour) {
  const { ctx, bbox } = plot;
  const x = (t) => plot.valToPos(t, 'x', true);
  ctx.save();
  if (view.window !== null) {
    const [first, to] = view.window.map((edge) => x(profile.edges[edge]));
    const until = first === to && sums_up(view.metric); // all before the moment
    const from = until ? bbox.left : first;
    ctx.fillStyle = colour('--shade');
    ctx.fillRect(bbox.left, bbox.top, from - bbox.left, bbox.height);
    ctx.fillRect(to, bbox.top, bbox.left + bbox.width - to, bbox.height);
    ctx.strokeStyle = colour('--accent');
    ctx.lineWidth = 1.5 * devicePixelRatio;
    for (const at of until ? [to] : [from, to]) {
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
    }
  }
  ctx.restore();
}

// The looks at resident memory, joined by straight lines: what was between two of them nobody saw.
function draw_resident(plot, points, colour) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const places = points.map(([t, bytes]) => [plot.valToPos(t, 'x', true), plot.valToPos(bytes, 'y', true)]);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.strokeStyle = ctx.fillStyle = colour('--resident');
  ctx.lineWidth = 1.4 * ratio;
  ctx.setLineDash([5 * ratio, 4 * ratio]);
  ctx.beginPath();
  for (const [x, y] of places) ctx.lineTo(x, y);
  ctx.stroke();
  if (places.length <= POINTS_SHOWN)
    for (const [x, y] of places) {
      ctx.beginPath();
      ctx.arc(x, y, 2 * ratio, 0, 7);
      ctx.fill();
    }
  ctx.restore();
}

// What was live at the moment of the peak, where that is of what the curve shows: between two of the
// curve's moments it may be far above both.
function peak_figure(profile, unit, now) {
  return now.filtered || profile.head.peak_at_s == null ? null : (profile.head.peak_moment?.[unit] ?? null);
}

function draw_peak_figure(plot, at, figure, ratio) {
  const { ctx } = plot;
  const y = (value) => plot.valToPos(value, 'y', true);
  ctx.setLineDash([]);
  ctx.lineWidth = 2 * ratio;
  ctx.beginPath();
  ctx.moveTo(at, y(figure.low));
  ctx.lineTo(at, y(figure.high ?? figure.low));
  ctx.stroke();
  if (figure.estimate == null) return;
  ctx.beginPath();
  ctx.arc(at, y(figure.estimate), 3.5 * ratio, 0, 7);
  ctx.fill();
}

// The moment of the peak; its name stands above the plot, where no line goes.
function draw_peak(plot, profile, colour, figure) {
  const time = profile.head.peak_at_s;
  if (time == null) return;
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const at = plot.valToPos(time, 'x', true);
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour('--second');
  ctx.setLineDash([2 * ratio, 3 * ratio]);
  ctx.lineWidth = 1.3 * ratio;
  ctx.beginPath();
  ctx.moveTo(at, bbox.top - 3 * ratio);
  ctx.lineTo(at, bbox.top + bbox.height);
  ctx.stroke();
  ctx.font = 11 * ratio + 'px sans-serif';
  ctx.textAlign = 'center';
  if (figure !== null) draw_peak_figure(plot, at, figure, ratio);
  const half = ctx.measureText('peak').width / 2;
  ctx.fillText('peak', Math.min(Math.max(at, bbox.left + half), bbox.left + bbox.width - half), bbox.top - 6 * ratio);
  ctx.restore();
}

const moment_text = (t, last) => (last < 1 ? +(t * 1e3).toPrecision(6) + ' ms' : +t.toPrecision(6) + ' s');
const resident_top = (resident) => (resident === null ? 0 : Math.max(...resident.points.map((point) => point[1])));

function plot_options(profile, width, unit, now, on_window) {
  const colour = colours();
  const text = (value) => (unit === 'bytes' ? bytes_text(value) : count_text(value));
  const series = [
    {},
    { label: 'low', stroke: 'transparent', width: 0, points: { show: false } },
    { label: 'high', stroke: 'transparent', width: 0, points: { show: false } },
    { label: 'live', stroke: colour('--accent'), width: 2, points: { show: false } },
  ];
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px sans-serif' };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [18, 10, 0, 0],
    scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: (_, low, high) => [0, (Math.max(high ?? 0, peak_figure(profile, unit, now)?.high ?? 0, resident_top(now.resident)) || 1) * 1.06] } },
    axes: [
      { ...axis, grid: { show: false }, values: (_, marks) => marks.map((t) => moment_text(t, marks[marks.length - 1])), size: 26 },
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
      draw: [
        (plot) => {
          if (now.resident !== null) draw_resident(plot, now.resident.points, colour);
          draw_window(plot, profile, now.view, colour);
          draw_peak(plot, profile, colour, peak_figure(profile, unit, now));
        },
      ],
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

function resident_words(profile, resident) {
  if (resident === null) return '';
  const several = resident.relation === 'more' || profile.head.processes.length > 2;
  const looks = resident.points.length <= POINTS_SHOWN ? ' (dots: when it was measured)' : '';
  return ' · dashed: resident memory' + (several ? ' of the first process alone, ' + resident.name : resident.relation === 'part' ? ' of the whole process' : '') + looks;
}

function WindowFields({ profile, view, update }) {
  const { edges, last_edge } = profile;
  const [from, to] = view.window ?? [0, last_edge];
  const set = (value) => update({ window: value, metric: view.metric === 'peak' ? 'live' : view.metric });
  const is_moment = view.window !== null && from === to;
  const slider = (name, words, value, change) => (
    <label class="window-field" key={name}>
      {words}
      <input type="range" id={'window-' + name} min={0} max={last_edge} value={value} aria-valuetext={time_text(edges[value])} onChange={(e) => change(+e.currentTarget.value)} />
      <output>{time_text(edges[value])}</output>
    </label>
  );
  return (
    <div class="window-fields">
      {is_moment
        ? slider('moment', sums_up(view.metric) ? 'until' : 'at', to, (v) => set([v, v]))
        : [slider('from', 'from', from, (v) => set([Math.min(v, to), to])), slider('to', 'to', to, (v) => set([Math.min(from, v), v]))]}
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
  state.filtered = filtered;
  const { unit } = view;
  // (Beside objects, or processes that were not looked at, there is none to show.)
  const resident = unit === 'bytes' ? resident_of(profile, view) : null;
  state.resident = resident?.relation === 'other' ? null : resident;
  const filter_key = JSON.stringify(view.filters);

  const show = (figures) => {
    state.figures = figures;
    const known = (field) => figures.map((f) => (f === null || f.off ? null : f[field]));
    state.plot.setData([profile.edges, known('low'), known('high'), known('estimate')]);
  };

  useEffect(() => {
    const set_window = (window) => update({ window, metric: state.view.metric === 'peak' ? 'live' : state.view.metric });
    const none = profile.edges.map(() => null);
    const plot = new uPlot(plot_options(profile, Math.max(holder.current.clientWidth, 200), unit, state, set_window), [profile.edges, none, none, none], holder.current);
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

  useEffect(() => state.plot?.redraw(false), [view.window, sums_up(view.metric)]);

  const title = (profile.head.mapped ? 'Mapped ' : 'Live ') + (unit === 'bytes' ? 'memory' : 'objects') + ' over time';
  return (
    <section class="card" id="timeline" aria-label={title}>
      <div class="card-head">
        <h2>{title}{filtered ? ', filtered' : ''}</h2>
        <span class="soft">
          {!profile.head.mapped && 'band: ' + +(profile.head.confidence * 100).toFixed(3) + ' % interval' + resident_words(profile, state.resident) + ' · '}drag for a window of time, click for a moment
        </span>
        <div class="grow" />
        <span class="soft" ref={words} id="timeline-words" />
      </div>
      <div class="plot" ref={holder} />
      <WindowFields profile={profile} view={view} update={update} />
    </section>
  );
}

