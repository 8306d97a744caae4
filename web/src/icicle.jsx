// SPDX-License-Identifier: MIT
// The graph of call stacks as a thing to use: pointer, keyboard, zoom, search, export. The canvas has
// its accessible twin in the table below, and says aloud (a live region) what the keyboard reaches.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { lay_out, draw, order_is_open, ROW } from './icicle_draw.js';
import { CanvasPainter, SvgPainter } from './painter.js';
import { in_slices } from './work.js';
import { full_text, has_estimate, is_known } from './quantity.js';
import { Matched } from './matched.jsx';
import { shorten } from './names.js';
import { cut } from './text.js';

function find_look() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  return {
    dark: value('--is-dark') === '1',
    ground: value('--card'),
    ink: value('--ink'),
    label: value('--label'),
    tick: value('--tick'),
    above: value('--above'),
    accent: value('--accent'),
  };
}

function describe(weighted, profile, node) {
  const figures = weighted.figures(node);
  return weighted.tree.name(node) + ': ' + full_text(figures[weighted.unit], weighted.unit) + (weighted.unit === 'objects' ? ' objects' : '') +
    ', ' + figures.samples + ' samples, depth ' + weighted.tree.depth[node];
}

function Tip({ weighted, profile, node, at, layout, total }) {
  const figures = weighted.figures(node);
  const frame = weighted.tree.frame[node];
  const source = node === 0 ? null : profile.frame_source(frame);
  const share = figures[weighted.unit];
  const whole = total[weighted.unit];
  const part = has_estimate(share) && has_estimate(whole) && whole.estimate > 0 ? (100 * share.estimate) / whole.estimate : null;
  const inlined = node !== 0 && profile.frames[frame][4];
  const left = at.x + 340 > window.innerWidth ? Math.max(4, at.x - 350) : at.x + 14;
  return (
    <div class="tip" role="tooltip" style={{ left: left + 'px', top: Math.min(at.y + 16, window.innerHeight - 170) + 'px' }}>
      <strong>{cut(weighted.tree.name(node), 500)}</strong>
      {node !== 0 && <div class="soft">{cut(profile.frame_place(frame), 120)}{inlined ? ' · inlined' : ''}</div>}
      {source !== null && <code class="source">{cut(source, 140)}</code>}
      <dl>
        <dt>bytes</dt><dd>{full_text(figures.bytes, 'bytes')}</dd>
        <dt>objects</dt><dd>{full_text(figures.objects, 'objects')}</dd>
        <dt>samples</dt><dd>{figures.samples}</dd>
        {part !== null && <><dt>share</dt><dd>{part.toFixed(part < 10 ? 1 : 0)} % of all shown</dd></>}
      </dl>
      {is_known(share) && has_estimate(share) && share.low < 0.2 * share.estimate && share.low !== share.high && (
        <div class="remark">Hardly established: the lower limit is close to zero.</div>
      )}
      {order_is_open(weighted, layout, layout.find(node)) && <div class="remark">Order against the next box is not established.</div>}
    </div>
  );
}

// The node where an arrow leads.
function move_focus(key, layout, focus) {
  const box = Math.max(layout.find(focus), 0);
  const row = layout.row[box];
  const { row_begin, rows, node, x, width } = layout;
  let to = box;
  if (key === 'ArrowLeft' && box > row_begin[row]) to = box - 1;
  else if (key === 'ArrowRight' && box + 1 < row_begin[row + 1]) to = box + 1;
  else if (key === 'ArrowUp' && row > 0) to = layout.behind(row - 1, x[box]) - 1;
  else if (key === 'ArrowDown' && row + 1 < rows) {
    const below = layout.behind(row + 1, x[box] - 0.01);
    if (below < row_begin[row + 2] && x[below] < x[box] + width[box]) to = below;
  }
  return node[to];
}

// Of the box under the pointer, and of the one with the keyboard's focus.
function Outline({ layout, node, kind }) {
  const box = node === null || layout === null ? -1 : layout.find(node);
  if (box < 0) return null;
  const place = { left: layout.x[box] + 'px', top: layout.row[box] * ROW + 'px', width: Math.max(layout.width[box], 2) + 'px' };
  return <div class={'outline ' + kind} style={place} />;
}

// How wide the graph will be, asked of a page with nothing else in it: laying out the whole page takes
// longer than all the drawing.
export function width_in(root) {
  const [page, card, holder] = ['main', 'section', 'div'].map((name) => document.createElement(name));
  card.className = 'card';
  holder.className = 'canvas-holder';
  card.append(holder);
  page.append(card);
  root.append(page);
  const width = Math.floor(holder.clientWidth);
  page.remove();
  return width;
}

export function Icicle({ profile, estimator, weighted, view, update, matching, theme, total, first_width }) {
  const canvas = useRef(null);
  const holder = useRef(null);
  const [width, set_width] = useState(first_width);
  const painter = useRef(null); // of what is on the canvas
  const [hover, set_hover] = useState(null); // {node, at}
  const [focus, set_focus] = useState(null);
  const [, set_progress] = useState(0);
  const look = useMemo(find_look, [theme]);
  const { tree } = weighted;
  const found = view.zoom === '' ? 0 : tree.node_at(view.zoom);
  const zoom = weighted.weight[found] > 0 ? found : 0;

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => set_width(Math.floor(holder.current.clientWidth)));
    observer.observe(holder.current);
    return () => observer.disconnect();
  }, []);

  const layout = useMemo(() => (width > 0 ? lay_out(weighted, zoom, width) : null), [weighted, zoom, width]);
  const matches = useMemo(() => (matching === null ? null : matching.nodes(tree)), [tree, matching]);

  // (For tests: where the boxes are. Not reachable from the page's data.)
  if (layout !== null && canvas.current !== null)
    canvas.current.bytepoll_boxes = () =>
      Array.from(layout.node.subarray(0, layout.count), (node, i) => ({
        name: tree.name(node), x: layout.x[i], y: layout.row[i] * ROW, width: layout.width[i], above: layout.is_above(i),
        open: order_is_open(weighted, layout, i),
      }));

  const paint = () => {
    painter.current = new CanvasPainter(canvas.current, width, layout.height);
    draw(painter.current, weighted, layout, look, matches);
  };

  useLayoutEffect(() => {
    if (layout === null) return;
    const started = performance.now();
    paint();
    performance.measure('bytepoll:draw', { start: started, end: performance.now() });
    if (performance.getEntriesByName('bytepoll:first-draw').length === 0)
      performance.measure('bytepoll:first-draw', { start: window.bytepoll_inflated ?? 0, end: performance.now() });
  }, [layout, look, matches]);

  // Intervals of what is visible, widest first.
  useEffect(() => {
    if (layout === null) return undefined;
    const wanted = [];
    for (let box = 0; box < layout.count; box++)
      if (layout.wants_figures(box) && !weighted.has_figures(layout.node[box])) wanted.push(box);
    if (wanted.length === 0) return undefined;
    wanted.sort((a, b) => layout.width[b] - layout.width[a]);
    let next = 0;
    let painted = performance.now();
    let pause = 120; // ms between drawings: most of the time is for intervals
    return in_slices(
      () => {
        weighted.figures(layout.node[wanted[next++]]);
        return next < wanted.length;
      },
      (done) => {
        const started = performance.now();
        if (!done && started - painted < pause) return;
        paint();
        painted = performance.now();
        pause = Math.max(120, 5 * (painted - started));
        if (done) {
          performance.mark('bytepoll:intervals');
          set_progress((n) => n + 1);
        }
      },
    );
  }, [layout, look, matches]);

  const go = (node) => {
    update({ zoom: node === 0 ? '' : tree.address(node) });
    set_hover(null);
  };
  // The node under the pointer; -1: none.
  const where = (event) => {
    const frame = canvas.current.getBoundingClientRect();
    const box = layout.at(event.clientX - frame.left, event.clientY - frame.top);
    return box < 0 ? -1 : layout.node[box];
  };
  const on_move = (event) => {
    const node = where(event);
    set_hover(node < 0 ? null : { node, at: { x: event.clientX, y: event.clientY } });
  };
  const on_click = (event) => {
    const node = where(event);
    if (node < 0) return;
    if (event.shiftKey && node !== 0) update({ chosen: tree.key[node] });
    else go(node);
  };
  const on_key = (event) => {
    const at = focus ?? zoom;
    if (event.key.startsWith('Arrow')) {
      const node = move_focus(event.key, layout, at);
      set_focus(node);
      holder.current.scrollTop = Math.max(0, Math.min(holder.current.scrollTop, layout.row[layout.find(node)] * ROW));
    } else if (event.key === 'Enter') go(at);
    else if (event.key === 'Escape' || event.key === 'Backspace') go(zoom === 0 ? 0 : tree.parent[zoom]);
    else if (event.key === 'Home') set_focus(0);
    else if (event.key === 'b' && at !== 0) update({ chosen: tree.key[at] });
    else return;
    event.preventDefault();
  };
  const export_svg = () => {
    const svg = new SvgPainter(width, layout.height, look.ground, (text) => painter.current.measure(text));
    draw(svg, weighted, layout, look, matches);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([svg.source()], { type: 'image/svg+xml' }));
    link.download = 'bytepoll-' + view.metric + '.svg';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  const path = zoom === 0 ? [] : tree.path_to(zoom);
  return (
    <section class="card" id="graph" aria-label="Call stacks">
      <div class="card-head">
        <h2>By call stack</h2>
        <div class="grow" />
        <div class="segments" role="group" aria-label="direction">
          <button type="button" aria-pressed={!view.inverted} data-choice="callers" onClick={() => update({ inverted: false, zoom: '' })}>callers first</button>
          <button type="button" aria-pressed={view.inverted} data-choice="callees" onClick={() => update({ inverted: true, zoom: '' })}>callees first</button>
        </div>
        <button type="button" class="plain" id="fold" aria-pressed={view.folded} title="show one round of a recursion" onClick={() => update({ folded: !view.folded, zoom: '' })}>fold recursion</button>
        <button type="button" class="plain" id="zoom-out" disabled={zoom === 0} onClick={() => go(0)}>whole</button>
        <button type="button" class="plain" id="export-svg" onClick={export_svg}>SVG</button>
      </div>
      <p class="legend">
        <span class="key key-soft" aria-hidden="true" /> width: estimate; soft end: lower to upper limit{' '}
        <span class="key key-hatch" aria-hidden="true" /> hardly established{' '}
        <span class="key key-open" aria-hidden="true" /> order not established
      </p>
      {view.folded && (
        <p class="matched" id="folded">
          {tree.folded_stacks === 0
            ? 'Nothing to fold: no stack has a recursion.'
            : 'Folded: of ' + tree.folded_stacks + (tree.folded_stacks === 1 ? ' stack' : ' stacks') + ' ' + tree.folded_frames +
              ' repeated frames are left out, one round of each recursion is shown. Figures are unchanged.'}
        </p>
      )}
      <Matched profile={profile} estimator={estimator} selection={weighted.selection} matching={matching} view={view} total={total} />
      {path.length > 0 && (
        <p class="path" aria-label="zoomed to">{path.slice(-4).map((node) => shorten(tree.name(node), 60)).join(' › ')}</p>
      )}
      <div class="canvas-holder" ref={holder}>
        <canvas
          ref={canvas} id="icicle" tabIndex={0} role="application" data-zoom={view.zoom}
          aria-label="Graph of call stacks. Arrow keys move, Enter zooms in, Escape zooms out, b shows callers and callees. The table below has the same figures."
          onMouseMove={on_move} onMouseLeave={() => set_hover(null)} onClick={on_click} onKeyDown={on_key}
          onBlur={() => set_focus(null)}
        />
        <Outline layout={layout} node={hover?.node ?? null} kind="hovered" />
        <Outline layout={layout} node={focus} kind="focused" />
      </div>
      {weighted.selection.cells.length === 0 && <p class="empty">Nothing was sampled here.</p>}
      <div class="aloud" aria-live="polite">{focus !== null && focus < tree.count ? describe(weighted, profile, focus) : ''}</div>
      {hover !== null && layout !== null && layout.find(hover.node) >= 0 && <Tip weighted={weighted} profile={profile} node={hover.node} at={hover.at} layout={layout} total={total} />}
    </section>
  );
}
