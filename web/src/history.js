// SPDX-License-Identifier: MIT
// What is being looked at, kept in the address's fragment and in the browser's history: Back undoes the last
// step within the page. A step is a change of one of `steps` (fields of the view); other changes, as
// typing a search, stay on the entry that is there. Presses in quick succession on one control, as
// arrow keys on a slider, are one step.

import { useEffect, useMemo, useReducer, useRef } from 'preact/hooks';

const ONE_STEP_MS = 700;

const changed = (old, view, steps) => steps.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(view[name])).join(' ');

// `first`: the view without a fragment; `read(fragment)` and `write(view)` are each other's inverse; `is_mine(fragment)`:
// it is one of this view, and not of another that the page has.
export function use_view(first, read, write, steps, is_mine = () => true) {
  const [view, update] = useReducer((old, change) => ({ ...old, ...change }), null, () => read(location.hash));
  // What stands in the address: as a view and as a fragment; which step made it, and when.
  const kept = useRef({ view, fragment: null, step: '', at: 0 }).current;
  const fragment = useMemo(() => write(view, first), [view]);
  useEffect(() => {
    const now = performance.now();
    const step = changed(kept.view, view, steps);
    const is_new = step !== '' && !(step === kept.step && now - kept.at < ONE_STEP_MS);
    kept.view = view;
    kept.fragment = fragment;
    if (step !== '') Object.assign(kept, { step, at: now });
    if (fragment === location.hash.slice(1)) return;
    // (Where a page may not write its address it is looked at without.)
    try {
      history[is_new ? 'pushState' : 'replaceState'](null, '', '#' + fragment);
    } catch {
      // (it is too often for this browser, or not allowed at all)
    }
  }, [view]);
  useEffect(() => {
    const go = () => {
      if (location.hash.slice(1) === kept.fragment || !is_mine(location.hash)) return;
      const there = read(location.hash);
      Object.assign(kept, { view: there, fragment: location.hash.slice(1), step: '' });
      update(there);
    };
    addEventListener('hashchange', go);
    addEventListener('popstate', go);
    return () => {
      removeEventListener('hashchange', go);
      removeEventListener('popstate', go);
    };
  }, []);
  return [view, update];
}
