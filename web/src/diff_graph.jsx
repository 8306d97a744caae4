// SPDX-License-Identifier: MIT
// The graph of a difference: call paths as wide as on one of the two sides, coloured only where a change is
// established. The table has the same rows.

import { useMemo, useRef, useState } from 'preact/hooks';
import { Segments } from './header.jsx';
import { Graph, TipBox, find_look } from './graph.jsx';
import { colour_of, draw_paths } from './diff_draw.js';
import { PathWidths } from './diff_tree.js';
import { Breadcrumb } from './breadcrumb.jsx';
import { Chain, names_of } from './chain.jsx';
import { ends_text } from './labels.js';
import { lay_out } from './layout.js';
import { change_text, count_text, full_text, limits_text } from './quantity.js';
import { cut } from './text.js';

// What is known of a change, both limits of it.
function change_limits(figure, unit) {
  const text = change_text(figure, unit);
  const known = figure != null && Number.isFinite(figure.low) && Number.isFinite(figure.high) && figure.low !== figure.high;
  return known && !figure.lower_bound && !figure.upper_bound && !text.includes('[') ? text + ', ' + limits_text(figure.low, figure.high, unit) : text;
}

const q_words = (q) => (q < 1e-4 ? 'q < 0.0001' : 'q = ' + q.toFixed(4));

function why(row, diff) {
  if (row.verdict !== 'unclear') return row.verdict + (row.q == null ? '' : ', ' + q_words(row.q));
  return row.tested ? 'unclear: a change is not established' + (row.q == null ? '' : ', ' + q_words(row.q)) : 'too few samples for a verdict';
}

function describe(shown, layout, diff, node) {
  const row = shown.row(node);
  const { unit } = shown;
  return ends_text(names_of(shown, layout, node)) + ': ' + why(row, diff) + '; change ' + change_limits(row.change[unit], unit) + '; base ' +
    full_text(row.base[unit], unit) + '; new ' + full_text(row.new[unit], unit) + '; depth ' + shown.tree.depth[node];
}

function Tip({ shown, layout, diff, node, at }) {
  const row = shown.row(node);
  const { unit } = shown;
  const names = names_of(shown, layout, node);
  return (
    <TipBox at={at}>
      {names.length > 1 ? <Chain names={names} /> : <strong>{cut(names[0], 500)}</strong>}
      <div class="verdict-line"><span class={'badge ' + row.verdict}>{row.verdict}</span> {why(row, diff).replace(/^(unclear: |(grew|shrank|new|gone),? ?)/, '')}</div>
      <dl>
        <dt>change</dt><dd>{change_limits(row.change[unit], unit)}</dd>
        <dt>base</dt><dd>{full_text(row.base[unit], unit)}</dd>
        <dt>new</dt><dd>{full_text(row.new[unit], unit)}</dd>
        {row.samples && <><dt>samples</dt><dd>{count_text(row.samples.base)} and {count_text(row.samples.new)}</dd></>}
      </dl>
      {unit !== diff.unit && <div class="remark">The verdict is about {diff.unit}.</div>}
    </TipBox>
  );
}

function Key({ row, unit, dark, children }) {
  return <><span class="key" aria-hidden="true" style={{ background: colour_of(row, unit, dark) }} /> {children}{' '}</>;
}

// Rows that look as the legend says.
function example(verdict, tested) {
  const figure = (estimate) => ({ bytes: { estimate }, objects: { estimate } });
  return { verdict, tested, base: figure(1), new: figure(0), change: figure(1) };
}

function Legend({ diff, dark }) {
  return (
    <p class="legend diff-legend">
      <Key row={example('grew', true)} unit={diff.unit} dark={dark}>grew</Key>
      <Key row={example('shrank', true)} unit={diff.unit} dark={dark}>shrank (the fuller, the larger the part that changed)</Key>
      <Key row={example('unclear', true)} unit={diff.unit} dark={dark}>no change established</Key>
      <Key row={example('unclear', false)} unit={diff.unit} dark={dark}>too few samples to tell</Key>
    </p>
  );
}

export function DiffGraph({ diff, paths, tree, view, update, theme, matches, first_width }) {
  const surface = useRef(null);
  const [width, set_width] = useState(first_width);
  const look = useMemo(find_look, [theme]);
  const shown = useMemo(() => new PathWidths(tree, paths, view.width, view.unit), [tree, view.width, view.unit]);
  const found = tree.node_at(view.zoom);
  const zoom = shown.weight[found] > 0 ? found : 0;
  const layout = useMemo(() => (width > 0 ? lay_out(shown, zoom, width, view.chains) : null), [shown, zoom, width, view.chains]);
  const go = (node) => update({ zoom: tree.address(node) });
  const gone = paths.verdicts.gone > 0 && view.width === 'new' ? ' What is gone has no width here: see widths of base.' : '';
  return (
    <section class="card" id="graph" aria-label="Call paths">
      <div class="card-head">
        <h2>By call path</h2>
        <div class="grow" />
        <Segments name="widths of" value={view.width} choices={[['base', 'widths of base'], ['new', 'widths of new']]} onChange={(side) => update({ width: side })} />
        <button type="button" class="plain" id="chains" aria-pressed={view.chains} title="show functions that have one callee each as one box" onClick={() => update({ chains: !view.chains })}>fold chains</button>
        <button type="button" class="plain" id="zoom-out" disabled={zoom === 0} onClick={() => update({ zoom: '' })}>reset zoom</button>
        <button type="button" class="plain" id="export-svg" onClick={() => surface.current.export_svg('bytepoll-difference.svg', look.ground)}>SVG</button>
      </div>
      <Legend diff={diff} dark={look.dark} />
      <p class="legend" id="path-facts">
        Width: the estimate of {view.width} ({view.unit}). Of {count_text(paths.paths)} call paths {count_text(paths.tested)} were tested (those of
        the same samples once), by themselves: of the verdicts at most {+(diff.fdr * 100).toFixed(2)} % are false on average.
        {paths.left_out > 0 && ' ' + count_text(paths.left_out) + ' narrow ones' + (paths.left_out_verdicts > 0 ? ' (' + count_text(paths.left_out_verdicts) + ' with a verdict)' : '') + ' are not in this page.'}
        {view.unit !== diff.unit && ' Colours are about ' + diff.unit + ', which was tested.'}
        {gone}
      </p>
      {matches !== null && <p class="matched" id="matched">{count_text(matches.reduce((sum, one) => sum + one, 0))} call paths end in what is searched for</p>}
      <Breadcrumb tree={tree} zoom={zoom} go={go} />
      <Graph
        surface={surface} weighted={shown} layout={layout} width={width} set_width={set_width}
        draw={(painter) => draw_paths(painter, shown, layout, look, matches, diff.unit)} drawn={[layout, look, matches]}
        zoom={zoom} address={view.zoom} go={go} open={null} is_open={() => false}
        describe={(node) => describe(shown, layout, diff, node)}
        box_of={(i) => ({ verdict: shown.row(layout.node[i]).verdict, tested: shown.row(layout.node[i]).tested, colour: colour_of(shown.row(layout.node[i]), diff.unit, look.dark), node: layout.node[i] })}
        tip={(node, at) => <Tip shown={shown} layout={layout} diff={diff} node={node} at={at} />}
        label="Graph of call paths. Arrow keys move, Enter zooms in, Escape zooms out. The table below has the same figures, by call path."
      />
      {!(shown.weight[0] > 0) && <p class="empty">Nothing was sampled in {view.width}.</p>}
    </section>
  );
}
