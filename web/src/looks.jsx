// SPDX-License-Identifier: MIT
// Resident memory of the first process: the kernel's kinds of it over time, and the two looks at which it was
// taken apart line by line, as `bytepoll report --resident` has it. Or what a runtime says of its own memory. All
// figures were made where the page was written. It is of the whole process, whatever is selected in the page.

import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { axis_marks, bytes_text, change_text, figure_text, time_text } from './quantity.js';
import { nearest, resident_of } from './resident.js';
import { visible } from './text.js';

const KINDS = [['anonymous', 'k-live'], ['files', 'k-code'], ['shared', 'k-shared'], ['swapped out', 'k-swapped']];
const UNEXPLAINED = 'unexplained';
const LOOKS = ['highest', 'last'];
// The class of each line, which says its colour; what is not among them is grey.
const COLOURS = {
  'live objects, as requested': 'k-live', 'rounded up by the allocator': 'k-rounding', 'free inside the heap': 'k-free', 'free, kept by threads': 'k-kept',
  "free at the heap's ends": 'k-end', 'mapped by the program': 'k-mapped', "mapped, and free in Python's arenas": 'k-mapped', 'not told apart': 'k-mapped',
  'objects, live or not swept yet': 'k-live', 'free in spans in use': 'k-free', 'idle spans, not given back': 'k-kept', 'stacks of goroutines and threads': 'k-stacks',
  'generation 0': 'k-rounding', 'generation 1': 'k-end', 'generation 2': 'k-live', 'large objects': 'k-mapped', 'committed and in use beyond these': 'k-free', 'free, kept': 'k-kept',
  'code and its data': 'k-code', 'mapped files': 'k-files', 'shared memory': 'k-shared', 'main stack': 'k-stack', 'stacks of threads': 'k-stacks', [UNEXPLAINED]: 'k-unexplained',
};
const colour = (name) => COLOURS[name] ?? 'k-other';
const percent = (value) => (100 * value).toFixed(3) + '%';

// Bytes with their interval; what is taken off has its sign.
function line_text(bytes) {
  if (bytes == null) return '';
  if (bytes.low === bytes.high) return (bytes.low < 0 ? '−' : '') + bytes_text(Math.abs(bytes.low));
  return bytes.low < 0 ? change_text(bytes, 'bytes') : figure_text(bytes, 'bytes');
}

const is_nothing = (bytes) => bytes.low === bytes.high && Math.abs(bytes.low) < 1;
// The lines of a look, what is unexplained among them; those of nothing are left out.
const lines_of = (look) => [...look.lines, { name: UNEXPLAINED, bytes: look.unexplained, owners: [] }].filter((line) => !is_nothing(line.bytes));

// What the kernel counted at one look, in words.
function kinds_text(time, kinds) {
  return time_text(time) + ': ' + KINDS.map(([name], i) => name + ' ' + bytes_text(kinds[i])).join(', ');
}

// Areas that lie on one another, joined by straight lines between the looks, over the times of the curve above.
function Kinds({ profile, resident, kinds }) {
  const times = resident.points.map((point) => point[0]);
  const [index, set_index] = useState(times.length - 1);
  const from = profile.edges[0];
  const span = profile.edges[profile.edges.length - 1] - from || 1;
  const sums = kinds.map((look) => look.reduce((sum, value) => sum + value, 0));
  const top = Math.max(1, ...sums) * 1.06;
  const x = (i) => Math.max(0, Math.min(1000, (1000 * (times[i] - from)) / span));
  const y = (bytes) => 100 - (100 * bytes) / top;
  const below = kinds.map(() => 0);
  const areas = KINDS.map(([name, look], k) => {
    const lower = below.map((bytes, i) => x(i).toFixed(2) + ',' + y(bytes).toFixed(3));
    kinds.forEach((values, i) => (below[i] += values[k]));
    const upper = below.map((bytes, i) => x(i).toFixed(2) + ',' + y(bytes).toFixed(3));
    return <polygon key={name} class={look} points={[...upper, ...lower.reverse()].join(' ')} />;
  });
  const go = (event) => {
    const to = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: times.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    set_index(Math.max(0, Math.min(times.length - 1, to)));
  };
  const point = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    set_index(nearest(times, from + (span * (event.clientX - box.left)) / box.width));
  };
  return (
    <>
      <p class="legend" id="kinds-legend">
        {KINDS.map(([name, look], k) => kinds.some((values) => values[k] > 0) && <span key={name}><span class={'key ' + look} />{name}</span>)}
        {' · '}<span id="kinds-words" aria-live="polite">{kinds_text(times[index], kinds[index])}</span>
      </p>
      <div class="kinds">
        {axis_marks(top, 'bytes', 3).map(([at, text]) => <span key={text} class="kinds-mark" style={{ bottom: percent(at / top) }}>{text}</span>)}
        <div
          class="kinds-plot" id="kinds" tabIndex={0} role="slider" aria-label="looks at resident memory" aria-valuemin={0} aria-valuemax={times.length - 1}
          aria-valuenow={index} aria-valuetext={kinds_text(times[index], kinds[index])} onKeyDown={go} onPointerMove={point} onPointerDown={point}
        >
          <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">{areas}</svg>
          <span class="kinds-at" style={{ left: percent(x(index) / 1000) }} />
        </div>
      </div>
    </>
  );
}

// The lines beside one another. Together they are longer than the total by what is taken off: the mark stands at the total.
function Bar({ look, scale, chosen, choose }) {
  return (
    <div class="look-bar" aria-hidden="true">
      {lines_of(look).filter((line) => line.bytes.estimate > 0).map((line) => (
        <span
          key={line.name} class={'look-part ' + colour(line.name) + (line.name === chosen ? ' chosen' : '')} style={{ width: percent(line.bytes.estimate / scale) }}
          title={line.name + ': ' + line_text(line.bytes)} onClick={() => choose(line.name)}
        />
      ))}
      <span class="look-total" style={{ left: percent(look.total_bytes / scale) }} />
    </div>
  );
}

const positive = (look) => Math.max(look.total_bytes, lines_of(look).reduce((sum, line) => sum + Math.max(0, line.bytes.estimate), 0));

function Owners({ line }) {
  if (line === undefined) return <td />;
  return (
    <td>
      {line.owners.length === 0 && <span class="soft">no owners are known</span>}
      {line.owners.map((owner, i) => <div key={i} class="look-owner"><span class="look-name">{visible(owner.name)}</span> <b>{line_text(owner.bytes)}</b></div>)}
    </td>
  );
}

// What the lines of the kernel's figures do not say.
function Note({ looks }) {
  return (
    <p class="note">
      The line across a bar is the total. What goes beyond it is taken off: memory of malloc that is not resident, which the kernel does not tell by line.
      {looks.some((look) => !look.heap_walked) && ' The heap could not be walked at every look: “not told apart” is by difference.'}
      {looks.some((look) => look.swapped_bytes > 0) && ' Swapped out, and in no line: ' + looks.map((look) => bytes_text(look.swapped_bytes)).join(', ') + '.'}
      {' '}Which live objects are not resident, and whose objects keep pages, is known of the last look alone; bytepoll report --pages says the latter.
    </p>
  );
}

// What the lines of a runtime's figures do not say.
function RuntimeNote({ looks, runtime }) {
  const { at_s, given_back_bytes, high_water_bytes, total_bytes, total_stated } = looks[looks.length - 1];
  return (
    <p class="note">
      These are the figures of {runtime} itself: {total_stated
        ? 'of the memory that it has from the kernel, resident or not. What the process has beside that is not among them.'
        : 'sizes of objects and of the holes between them. What it has from the kernel beyond them is not in the file.'}
      {at_s !== null && ' They are as of garbage collections, of which these are ' + (looks.length > 1 ? 'that with the highest total and the last.' : 'the last.')}
      {given_back_bytes > 0 && ' Given back to the kernel, and in no line: ' + bytes_text(given_back_bytes) + ' of addresses.'}
      {high_water_bytes != null && ' The most that the process ever had resident, by the kernel: ' + bytes_text(high_water_bytes) + '.'}
      {high_water_bytes < total_bytes && ' So at least ' + bytes_text(total_bytes - high_water_bytes) + ' are not resident: nothing was written there yet, or it is swapped out.'}
    </p>
  );
}

// What of a row's objects is not resident, in percent; the limits are those of both figures at their worst.
function share_text(absent, live) {
  const low = live.high > 0 ? Math.max((100 * absent.low) / live.high, 0) : 0;
  const high = live.low > 0 ? Math.min((100 * absent.high) / live.low, 100) : 100;
  if (low <= 0 && high >= 100) return '?';
  const limits = '[' + low.toFixed(0) + ', ' + high.toFixed(0) + ']';
  return absent.estimate == null || !(live.estimate > 0) ? limits + ' %' : Math.min((100 * absent.estimate) / live.estimate, 100).toFixed(0) + ' % ' + limits;
}

// Live objects on pages that were not present at the last look, by function.
function Absent({ absent }) {
  const rows = absent.rows.filter((row) => row.bytes.high >= 1);
  if (!(absent.bytes.high >= 1) || rows.length === 0) return null;
  return (
    <div class="scroller">
      <table id="look-absent">
        <thead><tr><th>live and not resident, at {time_text(absent.at)}</th><th>not resident</th><th>live</th><th>part</th></tr></thead>
        <tbody>
          {[{ name: 'all', live: absent.live, bytes: absent.bytes }, ...rows].map((row, i) => (
            <tr key={i}>
              <td>{visible(row.name)}</td><td>{figure_text(row.bytes, 'bytes')}</td><td>{figure_text(row.live, 'bytes')}</td><td>{share_text(row.bytes, row.live)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {absent.samples_without_place > 0 && (
        <p class="note">Samples below 64 KiB lie in the recorder’s memory, so that their pages say nothing: the limits allow for both. bytepoll run --in-place leaves them where they would have been.</p>
      )}
    </div>
  );
}

function Lines({ all, attached, runtime }) {
  const [chosen, set_chosen] = useState('');
  const choose = (name) => set_chosen(name === chosen ? '' : name);
  const shown = all.highest.at_s === all.last.at_s ? ['last'] : LOOKS;
  const looks = shown.map((name) => all[name]);
  const scale = Math.max(...looks.map(positive));
  const lines = looks.map(lines_of);
  const names = [...new Set(lines.flat().map((line) => line.name))].sort((a, b) => (a === UNEXPLAINED) - (b === UNEXPLAINED));
  const words = (name) => (runtime != null ? { highest: 'most', last: 'last' }[name] : shown.length === 1 ? 'the highest look, and the last' : name + ' look');
  const when = (look) => (look.at_s === null ? 'when the file was written' : 'at ' + time_text(look.at_s));
  const rest = runtime != null ? 'in no part that it names' : attached ? 'from before attaching, unexplained' : UNEXPLAINED;
  const find = (i, name) => lines[i].find((line) => line.name === name);
  return (
    <>
      {looks.map((look, i) => (
        <div key={shown[i]} class="look" data-look={shown[i]}>
          <h3>
            {runtime != null ? 'held' + (shown.length > 1 ? ' ' + words(shown[i]) : '') : words(shown[i])}, {when(look)}: {bytes_text(look.total_bytes)}{' '}
            {runtime == null && <span class="soft">with page tables</span>}
          </h3>
          <Bar look={look} scale={scale} chosen={chosen} choose={choose} />
        </div>
      ))}
      <div class="scroller">
        <table id="look-lines">
          <thead><tr><th>choose a line for its largest owners</th>{shown.map((name) => <th key={name}>{runtime != null && shown.length === 1 ? 'held' : words(name)}</th>)}</tr></thead>
          <tbody>
            {names.map((name) => (
              <Fragment key={name}>
                <tr class={name === chosen ? 'chosen' : ''}>
                  <td>
                    <button type="button" class="crumb" aria-expanded={name === chosen} onClick={() => choose(name)}>
                      <span class={'key ' + colour(name)} />{name === UNEXPLAINED ? rest : name}
                    </button>
                  </td>
                  {looks.map((_, i) => <td key={i}>{line_text(find(i, name)?.bytes)}</td>)}
                </tr>
                {name === chosen && (
                  <tr class="look-owners">
                    <td class="soft">{name === UNEXPLAINED ? 'by how much estimates of live objects and what is in use in the heap differ' : 'its largest owners'}</td>
                    {looks.map((_, i) => <Owners key={i} line={find(i, name)} />)}
                  </tr>
                )}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
      {runtime != null ? <RuntimeNote looks={looks} runtime={runtime} /> : <Note looks={looks} />}
      {all.not_resident != null && <Absent absent={all.not_resident} />}
    </>
  );
}

function RuntimeLooks({ lines }) {
  return (
    <section class="card" id="looks" aria-label={'Memory as ' + visible(lines.counted_by) + ' counts it'}>
      <div class="card-head">
        <h2>Memory of the process as {visible(lines.counted_by)} counts it</h2>
        <span class="soft">whatever is selected</span>
      </div>
      <Lines all={lines} attached={false} runtime={visible(lines.counted_by)} />
    </section>
  );
}

export function Looks({ profile, view }) {
  if (profile.head.runtime_lines != null) return <RuntimeLooks lines={profile.head.runtime_lines} />;
  const resident = resident_of(profile, view);
  const { resident_kinds: kinds, resident_lines: lines } = profile.head;
  if (resident === null || resident.relation === 'other' || (kinds == null && lines == null)) return null;
  const several = profile.head.processes.length > 2 || resident.relation === 'more';
  return (
    <section class="card" id="looks" aria-label="Resident memory">
      <div class="card-head">
        <h2>Resident memory{several ? ' of the first process, ' + resident.name : ''}</h2>
        <span class="soft">as the kernel counts it, of the whole process whatever is selected</span>
      </div>
      {kinds != null && <Kinds profile={profile} resident={resident} kinds={kinds} />}
      {lines != null && <Lines all={lines} attached={lines.attached} />}
    </section>
  );
}
