// SPDX-License-Identifier: MIT
// Start: find the data in the page, unpack them, and draw the page they are for. What goes wrong is
// said in the page.

import { render } from 'preact';
import { compile_estimator, create_estimator } from './estimator.js';
import { DiffPage } from './diff.jsx';
import { element_bytes, element_json, read_cells } from './decode.js';
import { width_in } from './graph.jsx';
import { memory_fragment, memory_of_fragment, with_plain_metrics } from './mapped.js';
import { Page } from './page.jsx';
import { Profile } from './model.js';
import { prepare_painter } from './painter.js';
import { carried_fragment } from './state.js';
import { Tree } from './tree.js';
import { last_part, visible } from './text.js';

const SCHEMA = 'bytepoll-page-2';
const PATHS_SCHEMA = 'bytepoll-diff-paths-1';

// The elements of a profile; of a page that has both, what the program mapped itself stands in the second ones.
const ELEMENTS = { malloc: ['bytepoll-head', 'bytepoll-cells'], mapped: ['bytepoll-mapped-head', 'bytepoll-mapped-cells'] };
const has_both = () => document.getElementById(ELEMENTS.mapped[0]) !== null;

async function read_profile(which, compiled) {
  const [data, cell_bytes] = await Promise.all([element_json(ELEMENTS[which][0]), element_bytes(ELEMENTS[which][1])]);
  if (data === null || cell_bytes === null) throw new Error('this page holds no profile');
  if (data.schema !== SCHEMA) throw new Error('a page of another version of bytepoll: ' + visible(data.schema));
  const head = with_plain_metrics(data);
  performance.mark('bytepoll:inflated');
  window.bytepoll_inflated = performance.now();
  const cells = read_cells(cell_bytes);
  const profile = new Profile(head, cells);
  const trees = [new Tree(profile, false), null];
  const groups = 2 * Math.max(profile.stack_count, Math.min(trees[0].stack_frames, profile.frames.length * 2), head.threads.length, head.types.length, head.processes.length, 512) + 64;
  const estimator = create_estimator(await compiled, head, cells, {
    table: groups,
    sizes: 1024,
    butterfly_whole: 2,
    butterfly_callers: groups,
    butterfly_callees: groups,
    search: 2,
    totals: 2,
  });
  return { profile, estimator, trees };
}

async function start_profile(root) {
  const compiled = compile_estimator(element_bytes('bytepoll-wasm')); // while the data are unpacked
  prepare_painter();
  const width = width_in(root);
  const read = {}; // a profile is unpacked when it is first shown
  let shown = null;
  const show = async (which) => {
    shown = which;
    read[which] ??= read_profile(which, compiled);
    const parts = await read[which];
    if (shown !== which) return; // another was chosen meanwhile
    const { head } = parts.profile;
    document.title = visible(head.name ?? last_part(head.program)) + (head.mapped ? ', mapped' : '') + ' · bytepoll';
    if (root.querySelector('main') === null) root.textContent = '';
    render(<Page key={which} {...parts} width={width} memory={both ? which : null} onMemory={choose} />, root);
  };
  const both = has_both();
  const choose = (which) => {
    if (which === shown) return;
    try {
      const parts = [memory_fragment(which), carried_fragment(location.hash)];
      history.pushState(null, '', '#' + parts.filter((part) => part !== '').join('&'));
    } catch {
      // (where a page may not write its address it is looked at without)
    }
    show(which).catch(fail);
  };
  if (both)
    for (const event of ['hashchange', 'popstate'])
      addEventListener(event, () => {
        const which = memory_of_fragment(location.hash);
        if (which !== shown) show(which).catch(fail);
      });
  await show(both ? memory_of_fragment(location.hash) : 'malloc');
}

function fail(error) {
  const root = document.getElementById('page');
  render(null, root);
  root.textContent = '';
  const words = document.createElement('p');
  words.className = 'boot failed';
  words.textContent = 'bytepoll: this page cannot be shown: ' + visible(error.message);
  root.append(words);
  document.documentElement.dataset.ready = 'failed';
}

async function start() {
  const root = document.getElementById('page');
  try {
    const diff = await element_json('bytepoll-diff');
    if (diff === null) {
      await start_profile(root);
    } else {
      const paths = await element_json('bytepoll-paths');
      if (paths !== null && paths.schema !== PATHS_SCHEMA) throw new Error('a page of another version of bytepoll: ' + visible(paths.schema));
      document.title = 'difference · bytepoll';
      root.textContent = '';
      render(<DiffPage diff={diff} paths={paths} width={width_in(root)} />, root);
    }
    setTimeout(() => (document.documentElement.dataset.ready = '1'), 20);
  } catch (error) {
    fail(error);
  }
}

start();
