// SPDX-License-Identifier: MIT
// The panel that explains every sign of the page, behind a button and the key `?`; and the keys that work
// wherever the reader is.

import { useEffect, useRef, useState } from 'preact/hooks';
import { sampling_text } from './quantity.js';
import notices from './notices.txt';

const is_typing = (element) => element instanceof Element && element.closest('input[type="search"], select, textarea') !== null;

export function HelpButton({ children }) {
  const dialog = useRef(null);
  const [open, set_open] = useState(false);
  useEffect(() => {
    if (open && !dialog.current.open) dialog.current.showModal();
  }, [open]);
  useEffect(() => {
    const on_key = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || is_typing(event.target) || dialog.current.open) return;
      const search = document.getElementById('search');
      if (event.key === '?') set_open(true);
      else if (event.key === '/' && search !== null) {
        search.focus();
        search.select();
      } else return;
      event.preventDefault();
    };
    addEventListener('keydown', on_key);
    return () => removeEventListener('keydown', on_key);
  }, []);
  const close = () => dialog.current.close();
  return (
    <>
      <button type="button" class="plain" id="help-button" aria-keyshortcuts="?" title="what the signs mean ( ? )" onClick={() => set_open(true)}>? help</button>
      <dialog id="help" ref={dialog} aria-labelledby="help-title" onClose={() => set_open(false)} onClick={(e) => e.target === dialog.current && close()}>
        {open && (
          <div class="help">
            <div class="card-head">
              <h2 id="help-title">How to read this page</h2>
              <div class="grow" />
              <button type="button" class="plain" id="help-close" onClick={close}>close</button>
            </div>
            {children}
            <details>
              <summary>Licences of what this page is made of</summary>
              <pre id="notices">{notices}</pre>
            </details>
          </div>
        )}
      </dialog>
    </>
  );
}

// [sign, what it means]...
function Signs({ title, list }) {
  return (
    <>
      <h3>{title}</h3>
      <dl class="signs">
        {list.map(([sign, words], i) => (
          <>
            <dt key={'sign' + i}>{sign}</dt>
            <dd key={'words' + i}>{words}</dd>
          </>
        ))}
      </dl>
    </>
  );
}

function figure_signs(percent, intervals) {
  const one = intervals.some((interval) => interval > 1);
  return [
    one && [sampling_text(intervals), 'Not every allocation was looked at: on average one sample was taken for so many allocated bytes. Denser sampling makes intervals narrower.'],
    ['12.3 MiB ±0.8', 'An estimate, and how far off it may be: the truth lies between 11.5 and 13.1 MiB in ' + percent + ' % of runs.'],
    ['2.1 MiB [1.5, 3.3]', 'The same where the error is larger on one side: an estimate, and its lower and upper limit.'],
    ['[0.4, 1.9] MiB', 'Limits alone: no single value is better than the others between them.'],
    ['≤ 1.8 MiB', 'Anything from nothing up to this.'],
    ['≈ 12.35 MiB', 'The interval is narrower than the last digit.'],
    [<span class="exact">exact</span>, 'Counted, not estimated.'],
    ['at least, at most', 'Something was lost or not seen: only this side is known.'],
  ].filter(Boolean);
}

const KEYS = [
  ['/', 'search; /a pattern/ is a regular expression'],
  ['?', 'this help; Esc closes it'],
  ['← ↑ → ↓', 'move in the graph (click it or reach it by Tab)'],
  ['Enter', 'zoom to the box'],
  ['Esc', 'zoom out to the last branch'],
  ['Home', 'to the top of the graph'],
];

const BACK = ['Back', 'The browser’s Back button undoes the last step: a zoom, a metric, a moment, a filter. The address is a link to what is shown.'];

const MAPPED_SIGNS = [
  ['mapped', 'Address space that the program asked the kernel for itself and had not given back: at the end, or at the moment that is chosen. Whole pages, touched or not; without access (PROT_NONE) they count as nothing.'],
  ['mapped at the peak', 'What was mapped when that was most.'],
  ['mapped in all', 'All that it mapped, unmapped since or not: in the whole run, in the window, or until the moment that is chosen.'],
  ['object', 'A range of bytes that one call mapped and that ended at one moment.'],
  ['not here', 'What malloc gave out, resident memory, and what the C library and the loader map. Do not add these figures to those of malloc: an allocator’s objects lie in what it mapped.'],
];

const COUNTED_SIGNS = [
  [<span class="exact">exact</span>, 'Counted, not estimated.'],
  ['at least, at most', 'Some calls were not recorded: only this side is known.'],
];

export function ProfileHelp({ head }) {
  const percent = +(head.confidence * 100).toFixed(3);
  return (
    <>
      <Signs title="What is counted" list={head.mapped ? MAPPED_SIGNS : [
        ['live', 'Allocated and not freed: at the end, or at the moment that is chosen.'],
        ['peak', 'The most that was live at any time. Noise makes the highest of many estimates too high; the total is adjusted for that. Rows and graph show what was live at that moment, and the dot over its line in the plot too, with its interval.'],
        ['allocated', 'All that was asked for, freed or not: in the whole run, in the window, or until the moment that is chosen.'],
        ['temporary', 'Freed again before the same thread’s next allocation.'],
        ['resident memory', 'What the kernel gave the process. It also holds files, stacks and what malloc keeps or never sees.'],
      ]} />
      <Signs title="Figures" list={head.mapped ? COUNTED_SIGNS : figure_signs(percent, head.intervals)} />
      <Signs title="Graph of call stacks" list={[
        ['width', head.mapped ? 'A function with all that it calls. “callers first” begins with main, “callees first” with what called mmap.' : 'The estimate of a function with all that it calls. “callers first” begins with main, “callees first” with what allocated.'],
        !head.mapped && [<span class="key key-soft" />, 'A soft end goes from the lower to the upper limit; the line is the estimate. Where it would cover the next box it is a strip along the foot.'],
        !head.mapped && [<span class="key key-hatch" />, 'Few samples: the lower limit is below a fifth of the estimate, it may be close to nothing.'],
        !head.mapped && [<span class="key key-open" />, 'Under the pointer: the box may be smaller than the one to its right, their intervals overlap.'],
        ['a › … › b (9)', 'A chain: nine functions, each with one callee. A click unfolds it; “fold chains” off shows every function.'],
        [<span class="key key-above" />, 'Grey: many boxes too narrow to draw.'],
        ['pale', 'Does not match the search or the chosen row.'],
        ['click', 'Zooms to the box; its callers stand above the graph, and a click on one goes there. With Shift: its callers and callees.'],
        ['fold recursion', 'Shows one round of each recursion.'],
      ].filter(Boolean)} />
      <Signs title="Rows and sizes" list={[
        !head.mapped && [<span class="bar"><span class="range" style={{ left: '20%', width: '60%' }} /><span class="mark" style={{ left: '45%' }} /></span>, 'Bar: interval; dot: estimate.'],
        !head.mapped && [<span class="bar"><span class="range" style={{ left: '5%', width: '75%' }} /><span class="mark vague-mark" style={{ left: '30%' }} /></span>, 'Hollow dot: no single best value in this interval.'],
        [<span class="bar"><span class="mark exact-mark" style={{ left: '45%' }} /></span>, 'Square: exact.'],
        ['with what it calls', 'Rows count everything below the function, not only what it ' + (head.mapped ? 'mapped' : 'allocated') + ' itself. Such rows overlap.'],
        !head.mapped && ['whisker', 'In the histogram of sizes: the interval.'],
      ].filter(Boolean)} />
      <Signs title={(head.mapped ? 'Mapped' : 'Live') + ' memory over time'} list={[
        !head.mapped && ['line and band', 'The estimate and its ' + percent + ' % interval.'],
        !head.mapped && ['dashed', 'Resident memory; dots: when it was measured.'],
        ['drag, click', 'A window of time; a moment.'],
      ].filter(Boolean)} />
      <Signs title="Keys" list={[...KEYS, ['b', 'callers and callees of the box'], BACK]} />
    </>
  );
}

export function DiffHelp({ diff }) {
  const percent = +(diff.confidence * 100).toFixed(3);
  const wrong = +(diff.fdr * 100).toFixed(2);
  const intervals = [...diff.base.runs, ...diff.new.runs].map((run) => run.interval).filter((interval) => interval > 0);
  return (
    <>
      <Signs title="Verdicts" list={[
        ['grew, shrank', 'The change is larger than chance explains.'],
        ['new, gone', 'The same, and one side has no sample at all.'],
        ['unclear', 'No change is established. That does not say that there is none: see the interval.'],
        ['q', 'The chance of error of a verdict, allowing for the number of rows: of all rows with a q as small as this one’s, this part changed by chance alone, on average. A verdict is given where q is below ' + wrong + ' %.'],
      ]} />
      <Signs title="Figures" list={figure_signs(percent, intervals)} />
      <Signs title="Bars" list={[
        [<span class="bar change-bar"><span class="zero" /><span class="range" style={{ left: '55%', width: '35%' }} /><span class="mark" style={{ left: '70%' }} /></span>, 'The change: left of the line it shrank, right of it it grew. Bar: interval; dot: estimate.'],
        [<span class="bar change-bar"><span class="zero" /><span class="range" style={{ left: '60%', width: '40%' }} /><span class="beyond right" /></span>, 'An arrow: the bar ends beyond the axis, which a few much larger rows would otherwise press to a point.'],
      ]} />
      <Signs title="Graph of call paths" list={[
        ['width', 'The estimate of base or of new, whichever is chosen.'],
        ['colour', 'Red grew, blue shrank, fuller where a larger part changed; grey is not established; pale grey has too few samples to tell.'],
        ['a › … › b (9)', 'A chain: nine functions, each with one callee. A click unfolds it; “fold chains” off shows every function.'],
        ['click', 'Zooms to the box; its callers stand above the graph.'],
      ]} />
      <Signs title="Keys" list={[...KEYS, BACK]} />
    </>
  );
}
