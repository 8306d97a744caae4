// SPDX-License-Identifier: MIT
// A stack under its row: the innermost frames, whole lines of them; the others at a click.

import { useState } from 'preact/hooks';
import { shorten } from './names.js';
import { cut } from './text.js';

const FIRST = 8;
const MORE = 200;
const NAME = 110;

// `frames`: [{name, place}...], innermost first.
export function Frames({ frames }) {
  const [shown, set_shown] = useState(FIRST);
  return (
    <>
      <ol class="frames">
        {frames.slice(0, shown).map(({ name, place }, i) => (
          <li key={i} title={cut(name, 1000)}>
            {shorten(name, NAME)} <span class="place">{cut(place, 80)}</span>
          </li>
        ))}
      </ol>
      {frames.length > shown && (
        <button type="button" class="more-frames" onClick={() => set_shown(shown + MORE)}>{frames.length - shown} more</button>
      )}
    </>
  );
}
