// SPDX-License-Identifier: MIT
// The graph of call stacks as a thing to use: pointer, keyboard, zoom, search, export. The canvas has
// its accessible twin in the table below, and says aloud (a live region) what the keyboard reaches.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { lay_out, box_at, draw, draw_marks, wants_figures, order_is_open, ROW } from './icicle_draw.js';
import { CanvasPainter, SvgPainter } from './painter.js';
import { in_slices } from './work.js';
import { figure_text, full_text, has_estimate, is_known } from './quantity.js';
import { numbers_of } from './table.jsx';
import { one_group } from './groups.js';
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

function Tip({ weighted, profile, box, at, layout, total }) {
  const node = box.node;
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
      <strong>{cut(weighted.tree.name(node), 200)}</strong>
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
      {order_is_open(weighted, box) && <div class="remark">Order against the next box is not established.</div>}
    </div>
  );
}

function find_matches(weighted, test) {
  if (test === null) return null;
  const { tree } = weighted;
  const by_key = new Map();
  const own = new Uint8Array(tree.count);
  const under = new Uint8Array(tree.count);
  for (let node = 1; node < tree.count; node++) {
    const key = tree.key[node];
    if (!by_key.has(key)) by_key.set(key, test(tree.profile.key_name(key)) ? 1 : 0);
    own[node] = by_key.get(key);
    under[node] = own[node] | under[tree.parent[node]];
  }
  return { own, under };
}

function matched_figures(weighted, matches, profile, estimator) {
  if (matches === null) return null;
  const { leaf } = weighted.tree;
  const { stack } = profile.cells;
  const cells = weighted.selection.cells.filter((cell) => matches.under[leaf[stack[cell]]]);
  const groups = one_group(profile, weighted.selection, estimator, [...cells], 'search');
  return groups.figures(groups.rows[0]);
}

function move_focus(key, layout, focus) {
  const box = layout.boxes.find((b) => b.node === focus) ?? layout.boxes[0];
  const row = layout.rows[box.row];
  const beside = row[row.indexOf(box) + (key === 'ArrowRight' ? 1 : -1)];
  if (key === 'ArrowLeft' || key === 'ArrowRight') return (beside ?? box).node;
  const other = layout.rows[box.row + (key === 'ArrowDown' ? 1 : -1)] ?? [];
  const middle = key === 'ArrowDown' ? box.x + 0.1 : box.x;
  for (const b of other) {
    if (key === 'ArrowDown' && b.x >= box.x - 0.01 && b.x < box.x + box.width) return b.node;
    if (key === 'ArrowUp' && b.x <= middle && b.x + b.width > middle) return b.node;
  }
  return box.node;
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

export function Icicle({ profile, estimator, weighted, view, update, test, theme, total, first_width }) {
  const canvas = useRef(null);
  const holder = useRef(null);
  const [width, set_width] = useState(first_width);
  const [hover, set_hover] = useState(null); // {box, at}
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
  const matches = useMemo(() => find_matches(weighted, test), [weighted, test]);
  const matched = useMemo(() => matched_figures(weighted, matches, profile, estimator), [weighted, matches]);

  // (For tests: where the boxes are. Not reachable from the page's data.)
  if (layout !== null && canvas.current !== null)
    canvas.current.bytepoll_boxes = () =>
      layout.boxes.map((b) => ({ name: tree.name(b.node), x: b.x, y: b.row * ROW, width: b.width, above: b.above, open: order_is_open(weighted, b) }));

  const paint = () => {
    const painter = new CanvasPainter(canvas.current, width, layout.height);
    draw(painter, weighted, layout, look, { matched: matches === null ? null : matches.own });
    draw_marks(painter, layout, look, hover?.box.node ?? null, focus);
    return painter;
  };

  useLayoutEffect(() => {
    if (layout === null) return;
    const started = performance.now();
    paint();
    performance.measure('bytepoll:draw', { start: started, end: performance.now() });
    if (performance.getEntriesByName('bytepoll:first-draw').length === 0)
      performance.measure('bytepoll:first-draw', { start: window.bytepoll_inflated ?? 0, end: performance.now() });
  }, [layout, look, matches, hover?.box.node, focus]);

  // Intervals of what is visible, widest first.
  useEffect(() => {
    if (layout === null) return undefined;
    const wanted = layout.boxes.filter((b) => wants_figures(b) && !weighted.has_figures(b.node));
    if (wanted.length === 0) return undefined;
    wanted.sort((a, b) => b.width - a.width);
    let next = 0;
    let painted = performance.now();
    return in_slices(
      () => {
        weighted.figures(wanted[next++].node);
        return next < wanted.length;
      },
      (done) => {
        if (!done && performance.now() - painted < 120) return;
        paint();
        painted = performance.now();
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
  const where = (event) => {
    const frame = canvas.current.getBoundingClientRect();
    return box_at(layout, event.clientX - frame.left, event.clientY - frame.top);
  };
  const on_move = (event) => {
    const box = where(event);
    set_hover(box === null ? null : { box, at: { x: event.clientX, y: event.clientY } });
  };
  const on_click = (event) => {
    const box = where(event);
    if (box === null) return;
    if (event.shiftKey && box.node !== 0) update({ chosen: tree.key[box.node] });
    else go(box.node);
  };
  const on_key = (event) => {
    const at = focus ?? zoom;
    if (event.key.startsWith('Arrow')) {
      const node = move_focus(event.key, layout, at);
      set_focus(node);
      const box = layout.boxes.find((b) => b.node === node);
      holder.current.scrollTop = Math.max(0, Math.min(holder.current.scrollTop, box.row * ROW));
    } else if (event.key === 'Enter') go(at);
    else if (event.key === 'Escape' || event.key === 'Backspace') go(zoom === 0 ? 0 : tree.parent[zoom]);
    else if (event.key === 'Home') set_focus(0);
    else if (event.key === 'b' && at !== 0) update({ chosen: tree.key[at] });
    else return;
    event.preventDefault();
  };
  const export_svg = () => {
    const screen = paint();
    const painter = new SvgPainter(width, layout.height, look.ground, (text) => screen.measure(text));
    draw(painter, weighted, layout, look, { matched: matches === null ? null : matches.own });
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([painter.source()], { type: 'image/svg+xml' }));
    link.download = 'bytepoll-' + view.metric + '.svg';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  const path = zoom === 0 ? [] : tree.path(zoom);
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
      {matched !== null && (
        <p class="matched" id="matched" {...numbers_of(matched)}>
          Matching “{cut(view.search, 60)}”: {figure_text(matched[view.unit], view.unit)}
          {has_estimate(matched[view.unit]) && has_estimate(total[view.unit]) && total[view.unit].estimate > 0 &&
            ', ' + Math.round((100 * matched[view.unit].estimate) / total[view.unit].estimate) + ' % of what is shown'}
        </p>
      )}
      {path.length > 0 && (
        <p class="path" aria-label="zoomed to">{path.slice(-4).map((node) => cut(tree.name(node), 60)).join(' › ')}</p>
      )}
      <div class="canvas-holder" ref={holder}>
        <canvas
          ref={canvas} id="icicle" tabIndex={0} role="application" data-zoom={view.zoom}
          aria-label="Graph of call stacks. Arrow keys move, Enter zooms in, Escape zooms out, b shows callers and callees. The table below has the same figures."
          onMouseMove={on_move} onMouseLeave={() => set_hover(null)} onClick={on_click} onKeyDown={on_key}
          onBlur={() => set_focus(null)}
        />
      </div>
      {weighted.selection.cells.length === 0 && <p class="empty">Nothing was sampled here.</p>}
      <div class="aloud" aria-live="polite">{focus !== null ? describe(weighted, profile, focus) : ''}</div>
      {hover !== null && <Tip weighted={weighted} profile={profile} box={hover.box} at={hover.at} layout={layout} total={total} />}
    </section>
  );
}
