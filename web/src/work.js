// SPDX-License-Identifier: MIT
// Work in slices between frames of the browser, so that the page answers while intervals are made.

const SLICE_MS = 8;

// Calls `step` (which returns false when nothing is left) in slices; `progress` after each. Returns
// what stops it.
export function in_slices(step, progress) {
  let stopped = false;
  let timer = 0;
  const run = () => {
    if (stopped) return;
    const until = performance.now() + SLICE_MS;
    let more = true;
    while (more && performance.now() < until) more = step();
    progress(!more);
    if (more) timer = setTimeout(run, 0);
  };
  timer = setTimeout(run, 0);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
