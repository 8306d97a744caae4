// SPDX-License-Identifier: MIT
// A graph of call stacks as a thing to use, whatever its boxes mean: canvas, pointer, keyboard, zoom,
// outlines, tips, export. The canvas has an accessible twin in a table, and says aloud (a live region)
// what the keyboard reaches.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ROW, chain_start, nodes_of } from './layout.js';
import { CanvasPainter, SvgPainter } from './painter.js';

export function find_look() {
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

// Of the box under the pointer, and of the one with the keyboard's focus. `open`: it may be smaller than the next one.
function Outline({ layout, node, kind, open }) {
  const box = node === null || layout === null ? -1 : layout.find(node);
  if (box < 0) return null;
  const place = { left: layout.x[box] + 'px', top: layout.row[box] * ROW + 'px', width: Math.max(layout.width[box], 2) + 'px' };
  return <div class={'outline ' + kind + (open ? ' open' : '')} style={place} />;
}

// How wide a graph will be, asked of a page with nothing else in it: laying out the whole page takes
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

// What hangs beside the pointer, on the side where there is room.
export function TipBox({ at, children }) {
  const left = at.x + 340 > window.innerWidth ? Math.max(4, at.x - 350) : at.x + 14;
  const { innerHeight } = window;
  const place = at.y < innerHeight / 2 ? { top: at.y + 16 + 'px' } : { bottom: innerHeight - at.y + 12 + 'px' };
  return (
    <div class="tip" role="tooltip" style={{ left: left + 'px', ...place }}>
      {children}
    </div>
  );
}

const ABOVE = 60; // pixels above the graph: where it is

// How far down the page a graph is in sight: below the controls, which stay on top.
const top_in_sight = () => (document.querySelector('.controls')?.offsetHeight ?? 0) + ABOVE;

function is_first_drawing() {
  return performance.getEntriesByName('bytepoll:first-draw').length === 0;
}

// `surface`: a ref, of {paint(), export_svg(file name, ground)}; drawn by `draw(painter)`, anew when one of `drawn` (a
// list of one length) changes. `zoom` is a node, `go(node)` zooms, `open(node)` (or null) is asked for by a shifted click
// or b. `describe(node)`: a sentence, `tip(node, at)` the same for the eye. `box_of(i)`: for tests, what is special to a box.
// `weighted` is what is laid out; `is_open(box)`: may it be smaller than the next one?
export function Graph({ surface, weighted, layout, width, set_width, draw, drawn, zoom, address, go, open, describe, tip, box_of, is_open, label }) {
  const { tree } = weighted;
  const canvas = useRef(null);
  const holder = useRef(null);
  const painter = useRef(null); // of what is on the canvas
  const [hover, set_hover] = useState(null); // {node, at}
  const [focus, set_focus] = useState(null);
  const went = useRef(false); // the graph itself was used to zoom

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => set_width(Math.floor(holder.current.clientWidth)));
    observer.observe(holder.current);
    return () => observer.disconnect();
  }, []);

  const paint = () => {
    if (layout === null) return; // (a graph without width)
    painter.current = new CanvasPainter(canvas.current, width, layout.height);
    draw(painter.current);
  };
  const export_svg = (name, ground) => {
    const svg = new SvgPainter(width, layout.height, ground, (text) => painter.current.measure(text));
    draw(svg);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([svg.source()], { type: 'image/svg+xml' }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  surface.current = { paint, export_svg };

  useLayoutEffect(() => {
    if (layout === null) return;
    const started = performance.now();
    paint();
    performance.measure('bytepoll:draw', { start: started, end: performance.now() });
    if (is_first_drawing()) performance.measure('bytepoll:first-draw', { start: window.bytepoll_inflated ?? 0, end: performance.now() });
  }, drawn);

  // (For tests: where the boxes are. Not reachable from the page's data.)
  useEffect(() => {
    canvas.current.bytepoll_boxes = () =>
      Array.from(layout?.node.subarray(0, layout.count) ?? [], (node, i) => ({
        name: tree.name(node), chain: nodes_of(layout, tree, i).map((one) => tree.name(one)),
        x: layout.x[i], y: layout.row[i] * ROW, width: layout.width[i], ...box_of(i),
      }));
  });

  // (A focus of another tree is none.)
  useEffect(() => set_focus(null), [tree]);

  // (What is zoomed to is the first row: it must be in sight.)
  useLayoutEffect(() => {
    holder.current.scrollTop = 0;
    const { top } = holder.current.getBoundingClientRect();
    const wanted = top_in_sight();
    if (went.current && (top < wanted || top > window.innerHeight - 3 * ROW)) window.scrollBy(0, top - wanted);
    went.current = false;
  }, [tree, zoom]);

  const zoom_to = (node) => {
    went.current = node !== zoom;
    go(node);
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
    if (event.shiftKey && node !== 0 && open !== null) open(node);
    else zoom_to(node);
  };
  const on_key = (event) => {
    const at = focus ?? zoom;
    if (event.key.startsWith('Arrow')) {
      const node = move_focus(event.key, layout, at);
      set_focus(node);
      holder.current.scrollTop = Math.max(0, Math.min(holder.current.scrollTop, layout.row[layout.find(node)] * ROW));
    } else if (event.key === 'Enter') zoom_to(at);
    else if (event.key === 'Escape' || event.key === 'Backspace') zoom_to(zoom === 0 ? 0 : chain_start(weighted, tree.parent[zoom]));
    else if (event.key === 'Home') set_focus(0);
    else if (event.key === 'b' && at !== 0 && open !== null) open(at);
    else return;
    event.preventDefault();
  };

  return (
    <>
      <div class="canvas-holder" ref={holder}>
        <canvas
          ref={canvas} id="icicle" tabIndex={0} role="application" data-zoom={address} aria-label={label}
          onMouseMove={on_move} onMouseLeave={() => set_hover(null)} onClick={on_click} onKeyDown={on_key}
          onBlur={() => set_focus(null)}
        />
        <Outline layout={layout} node={hover?.node ?? null} kind="hovered" open={hover !== null && is_open(layout?.find(hover.node) ?? -1)} />
        <Outline layout={layout} node={focus} kind="focused" />
      </div>
      <div class="aloud" aria-live="polite">{focus !== null && focus < tree.count ? describe(focus) : ''}</div>
      {hover !== null && layout !== null && layout.find(hover.node) >= 0 && tip(hover.node, hover.at)}
    </>
  );
}
