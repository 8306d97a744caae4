// SPDX-License-Identifier: MIT
// The graph of a profile's call stacks: its intervals, search, tips.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Graph, TipBox, find_look } from './graph.jsx';
import { FEW, draw, order_is_open } from './icicle_draw.js';
import { Breadcrumb } from './breadcrumb.jsx';
import { Chain, charged_names_of, names_of } from './chain.jsx';
import { ends_text } from './labels.js';
import { metric_word } from './mapped.js';
import { lay_out } from './layout.js';
import { in_slices } from './work.js';
import { full_text, has_estimate, is_known } from './quantity.js';
import { Matched } from './matched.jsx';
import { cut } from './text.js';

function describe(weighted, layout, node, mapped) {
  const figures = weighted.figures(node);
  return ends_text(charged_names_of(weighted, layout, node)) + ': ' + full_text(figures[weighted.unit], weighted.unit) + (weighted.unit === 'objects' ? ' objects' : '') +
    (mapped ? '' : ', ' + figures.samples + ' samples') + ', depth ' + weighted.tree.depth[node];
}

function Tip({ weighted, profile, node, at, layout, total }) {
  const figures = weighted.figures(node);
  const frame = weighted.tree.frame[node];
  const source = node === 0 ? null : profile.frame_source(frame);
  const share = figures[weighted.unit];
  const whole = total[weighted.unit];
  const part = has_estimate(share) && has_estimate(whole) && whole.estimate > 0 ? (100 * share.estimate) / whole.estimate : null;
  const inlined = node !== 0 && profile.frames[frame][4];
  const names = names_of(weighted, layout, node);
  return (
    <TipBox at={at}>
      {names.length > 1 ? <Chain names={names} /> : <strong>{cut(names[0], 500)}</strong>}
      {node !== 0 && names.length === 1 && <div class="soft">{cut(profile.frame_place(frame), 120)}{inlined ? ' · inlined' : ''}</div>}
      {source !== null && names.length === 1 && <code class="source">{cut(source, 140)}</code>}
      <dl>
        <dt>bytes</dt><dd>{full_text(figures.bytes, 'bytes')}</dd>
        <dt>objects</dt><dd>{full_text(figures.objects, 'objects')}</dd>
        {!profile.head.mapped && <><dt>samples</dt><dd>{figures.samples}</dd></>}
        {part !== null && <><dt>share</dt><dd>{part.toFixed(part < 10 ? 1 : 0)} % of all shown</dd></>}
      </dl>
      {is_known(share) && has_estimate(share) && share.low < FEW * share.estimate && share.low !== share.high && (
        <div class="remark">Few samples: it may be close to nothing.</div>
      )}
      {order_is_open(weighted, layout, layout.find(node)) && <div class="remark">It may be smaller than the box to its right: their intervals overlap.</div>}
    </TipBox>
  );
}

export function Icicle({ profile, estimator, weighted, view, update, matching, theme, total, first_width }) {
  const surface = useRef(null);
  const [width, set_width] = useState(first_width);
  const [, set_progress] = useState(0);
  const look = useMemo(find_look, [theme]);
  const { tree } = weighted;
  const found = view.zoom === '' ? 0 : tree.node_at(view.zoom);
  const zoom = weighted.weight[found] > 0 ? found : 0;
  const layout = useMemo(() => (width > 0 ? lay_out(weighted, zoom, width, view.chains) : null), [weighted, zoom, width, view.chains]);
  const matches = useMemo(() => (matching === null ? null : matching.nodes(tree)), [tree, matching]);

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
        surface.current.paint();
        painted = performance.now();
        pause = Math.max(120, 5 * (painted - started));
        if (done) {
          performance.mark('bytepoll:intervals');
          set_progress((n) => n + 1);
        }
      },
    );
  }, [layout, look, matches]);

  const go = (node) => update({ zoom: node === 0 ? '' : tree.address(node) });
  return (
    <section class="card" id="graph" aria-label="Call stacks">
      <div class="card-head">
        <h2>By call stack</h2>
        <div class="grow" />
        <div class="segments" role="group" aria-label="direction">
          <button type="button" aria-pressed={!view.inverted} data-choice="callers" onClick={() => update({ inverted: false, zoom: '' })}>callers first</button>
          <button type="button" aria-pressed={view.inverted} data-choice="callees" onClick={() => update({ inverted: true, zoom: '' })}>callees first</button>
        </div>
        <button type="button" class="plain" id="chains" aria-pressed={view.chains} title="show functions that have one callee each as one box" onClick={() => update({ chains: !view.chains })}>fold chains</button>
        <button type="button" class="plain" id="fold" aria-pressed={view.folded} title="show one round of a recursion" onClick={() => update({ folded: !view.folded, zoom: '' })}>fold recursion</button>
        <button type="button" class="plain" id="zoom-out" disabled={zoom === 0} onClick={() => go(0)}>reset zoom</button>
        <button type="button" class="plain" id="export-svg" onClick={() => surface.current.export_svg('bytepoll-' + metric_word(profile.head, view.metric) + '.svg', look.ground)}>SVG</button>
      </div>
      {!profile.head.mapped && <p class="legend">
        <span class="key key-soft" aria-hidden="true" /> width: estimate; soft end: from the lower to the upper limit{' '}
        <span class="key key-hatch" aria-hidden="true" /> few samples
      </p>}
      {view.folded && (
        <p class="matched" id="folded">
          {tree.folded_stacks === 0
            ? 'Nothing to fold: no stack has a recursion.'
            : 'Folded: of ' + tree.folded_stacks + (tree.folded_stacks === 1 ? ' stack' : ' stacks') + ' ' + tree.folded_frames +
              ' repeated frames are left out, one round of each recursion is shown. Figures are unchanged.'}
        </p>
      )}
      <Matched profile={profile} estimator={estimator} selection={weighted.selection} matching={matching} view={view} total={total} />
      <Breadcrumb tree={tree} zoom={zoom} go={go} />
      <Graph
        surface={surface} weighted={weighted} layout={layout} width={width} set_width={set_width}
        draw={(painter) => draw(painter, weighted, layout, look, matches)} drawn={[layout, look, matches]}
        zoom={zoom} address={view.zoom} go={go} open={(node) => update({ chosen: tree.key[node] })}
        describe={(node) => describe(weighted, layout, node, profile.head.mapped)} is_open={(i) => i >= 0 && order_is_open(weighted, layout, i)} box_of={(i) => ({ open: order_is_open(weighted, layout, i) })}
        tip={(node, at) => <Tip weighted={weighted} profile={profile} node={node} at={at} layout={layout} total={total} />}
        label="Graph of call stacks. Arrow keys move, Enter zooms in, Escape zooms out, b shows callers and callees. The table below has the same figures."
      />
      {weighted.selection.cells.length === 0 && <p class="empty">Nothing was {profile.head.mapped ? 'mapped' : 'sampled'} here.</p>}
    </section>
  );
}
