// SPDX-License-Identifier: MIT
// What was recorded, and how: the line on top, and the warnings.

import { useState } from 'preact/hooks';
import { HelpButton } from './help.jsx';
import { exactness } from './mapped.js';
import { count_text, sampling_text, time_text } from './quantity.js';
import { last_part, visible } from './text.js';

export function Segments({ name, value, choices, onChange }) {
  return (
    <div class="segments" role="group" aria-label={name}>
      {choices.map(([id, text, disabled, why]) => (
        <button
          type="button" key={id} data-choice={id} disabled={disabled} title={why} aria-pressed={value === id}
          onClick={() => onChange(id)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

function stored_theme() {
  try {
    return localStorage.getItem('bytepoll-theme');
  } catch {
    return null; // a page without storage follows the system
  }
}

export function apply_theme(theme) {
  if (theme === null) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function ThemeButton({ onChange }) {
  const [theme, set_theme] = useState(stored_theme());
  const next = () => {
    const dark = theme === null ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
    const chosen = dark ? 'light' : 'dark';
    apply_theme(chosen);
    try {
      localStorage.setItem('bytepoll-theme', chosen);
    } catch {
      // (nothing is kept, then)
    }
    set_theme(chosen);
    onChange?.();
  };
  return (
    <button type="button" class="plain" id="theme" onClick={next} title="light or dark" aria-label="Switch between light and dark">
      ◐
    </button>
  );
}

apply_theme(stored_theme());

// Where malloc explains little of the process: the first thing that is said.
export function Explained({ explained }) {
  if (!explained) return null;
  return (
    <div class="warnings" id="explained">
      <strong>{visible(explained.text)}</strong>
      <div>{visible(explained.advice)}.</div>
    </div>
  );
}

const MEMORIES = [['malloc', 'given out by malloc'], ['mapped', 'mapped by the program']];

// Of a page that has both kinds of memory: the one or the other, and never their sum.
export function MemoryChoice({ memory, onMemory }) {
  return (
    <div class="memory" id="memory">
      <span class="soft">memory</span>
      <Segments name="memory" value={memory} choices={MEMORIES} onChange={onMemory} />
    </div>
  );
}

// What is shown is no memory of malloc: the first thing that is said, too.
export function Mapped({ head }) {
  if (!head.mapped) return null;
  return (
    <div class="warnings" id="mapped">
      <strong>What the program mapped itself: address space, counted call by call; {exactness(head)}.</strong>
      <div>
        A page of memory counts from the call that mapped it (mmap, mprotect, brk, shared memory), touched or not. It is neither resident memory nor
        what malloc gave out, and is not to be added to either: an allocator’s objects lie in what it mapped.
      </div>
    </div>
  );
}

export function Warnings({ list }) {
  if (!list || list.length === 0) return null;
  return (
    <details class="warnings" open={list.length <= 2}>
      <summary>{list.length === 1 ? '1 warning' : list.length + ' warnings'}</summary>
      <ul>{list.map((text, i) => <li key={i}>{visible(text)}</li>)}</ul>
    </details>
  );
}

// `help`: what the panel says.
export function Header({ head, help, onTheme }) {
  const lost = typeof head.lost_samples === 'number' ? head.lost_samples : 0;
  const start = head.start_real_s ? new Date(head.start_real_s * 1000) : null;
  const counted = [exactness(head), count_text(head.samples) + (head.samples === 1 ? ' object' : ' objects')];
  const facts = head.mapped ? counted : [
    sampling_text(head.intervals),
    count_text(head.samples) + (head.samples === 1 ? ' sample' : ' samples'),
    (lost > 0 ? count_text(lost) : 'none') + ' lost',
    +(head.confidence * 100).toFixed(3) + ' % intervals',
  ];
  return (
    <header>
      <h1><b>byte</b>poll</h1>
      <div class="who">
        <strong id="program">{visible(head.name ?? last_part(head.program))}</strong>{' '}
        {/* The runs of a store have neither a pid nor a beginning together. */}
        <span class="soft">
          {head.runs ? count_text(head.processes_seen) + (head.processes_seen === 1 ? ' process' : ' processes') : 'pid ' + head.pid}
          {!head.runs && head.processes_seen > 1 && ' and ' + (head.processes_seen - 1) + ' more'}
          {!head.runs && ' · ' + time_text(head.duration_s)}
          {!head.runs && start && ' · ' + start.toISOString().slice(0, 16).replace('T', ' ') + ' UTC'}
        </span>
      </div>
      <div class={'facts' + (lost > 0 ? ' has-lost' : '')}>{facts.join(' · ')}</div>
      <div class="grow" />
      <div class="tools"><HelpButton>{help}</HelpButton><ThemeButton onChange={onTheme} /></div>
      {head.command_line && <code class="command" title="the command">{visible(head.command_line)}</code>}
    </header>
  );
}
