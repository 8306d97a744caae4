// SPDX-License-Identifier: MIT
// Figures as text, with the rules of the command line (src/tool/text/quantity.c): the unit is the
// largest one of which the estimate has at least one, the digits are those that the interval
// supports, at most four. A figure is {estimate, low, high, exact?, lower_bound?, upper_bound?}.

const BINARY = [[1, 'B'], [2 ** 10, 'KiB'], [2 ** 20, 'MiB'], [2 ** 30, 'GiB'], [2 ** 40, 'TiB'], [2 ** 50, 'PiB']];
const COUNT = [[1, ''], [1e3, 'k'], [1e6, 'M'], [1e9, 'G'], [1e12, 'T']];
const LOPSIDED = 1.5; // as there

function unit_for(units, value) {
  let i = 0;
  while (i + 1 < units.length && value >= units[i + 1][0] * 0.9995) i++;
  return units[i];
}

function decimals_exact(value) {
  return value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
}

// For numbers of which the largest is `value`, known to about ±half_width.
function decimals_for(half_width, value) {
  if (!(half_width > 0) || half_width >= 10) return 0;
  const magnitude = Math.floor(Math.log10(half_width));
  const first_digit = half_width / 10 ** magnitude;
  const decimals = first_digit >= 4.95 ? -magnitude : 1 - magnitude;
  return Math.max(0, Math.min(decimals, decimals_exact(value)));
}

// Less than half of the last digit.
const is_below = (half_width, decimals) => half_width * 10 ** decimals < 0.5;

const fixed = (value, decimals) => value.toFixed(decimals);
const signed = (value, decimals) => (value < 0 ? '−' : '+') + Math.abs(value).toFixed(decimals);

export function bytes_text(bytes) {
  const [factor, name] = unit_for(BINARY, bytes);
  const value = bytes / factor;
  return fixed(value, factor === 1 || value === Math.floor(value) ? 0 : decimals_exact(value)) + ' ' + name;
}

export function count_text(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function time_text(seconds) {
  if (seconds >= 0.9995) return fixed(seconds, seconds < 9.995 ? 2 : 1) + ' s';
  if (seconds >= 0.0009995 || seconds === 0) return Number((seconds * 1e3).toPrecision(3)) + ' ms';
  return Number((seconds * 1e6).toPrecision(3)) + ' µs';
}

export function is_known(figure) {
  return figure != null && Number.isFinite(figure.low) && Number.isFinite(figure.high) && figure.high < 2 ** 64;
}

export function has_estimate(figure) {
  return is_known(figure) && figure.estimate != null && Number.isFinite(figure.estimate);
}

// An estimate smaller than its error on one side is none.
export function is_vague(figure) {
  if (figure.low === figure.high) return false;
  return !has_estimate(figure) || figure.high > 2 * figure.estimate;
}

function bound_text(figure) {
  if (figure.lower_bound && figure.upper_bound) return 'about ';
  return figure.lower_bound ? 'at least ' : figure.upper_bound ? 'at most ' : '';
}

// The figure of a total peak as it is shown, as on the command line (src/tool/policy/shown.h): its limits alone, unless it
// is exact. The estimate that is shown is that of what was live at the moment of the peak.
export const shown_peak = (figure) =>
  figure.low === figure.high || (figure.lower_bound && figure.upper_bound) ? figure : { ...figure, estimate: null };

// The parts of a figure's text, for a card that sets them in two sizes: {main, rest}.
function vague_parts(figure, units) {
  const [factor, name] = unit_for(units, figure.high);
  const low = figure.low / factor;
  const high = figure.high / factor;
  const unit = name === '' ? '' : ' ' + name;
  const decimals = decimals_for((high - low) / 2, high);
  const from_zero = is_below(low, decimals);
  if (figure.lower_bound && (figure.upper_bound || from_zero)) return { main: 'not known', rest: '' };
  if (figure.lower_bound) return { main: 'at least ' + fixed(low, decimals), rest: unit };
  if (from_zero || figure.upper_bound) return { main: '≤ ' + fixed(high, decimals), rest: unit };
  if (fixed(low, decimals) === fixed(high, decimals))
    return { main: '≈ ' + fixed(high, factor === 1 ? 0 : decimals_exact(high)), rest: unit };
  return { main: '[' + fixed(low, decimals) + ', ' + fixed(high, decimals) + ']', rest: unit };
}

function estimate_parts(figure, units) {
  if (is_vague(figure)) return vague_parts(figure, units);
  const [factor, name] = unit_for(units, figure.estimate);
  const unit = name === '' ? '' : ' ' + name;
  const low = figure.low / factor;
  const high = figure.high / factor;
  const estimate = figure.estimate / factor;
  const longer = Math.max(estimate - low, high - estimate);
  const shorter = Math.min(estimate - low, high - estimate);
  const decimals = decimals_for(longer, Math.max(estimate, high));
  const bound = bound_text(figure);
  if (figure.lower_bound && figure.upper_bound) return { main: bound + fixed(estimate, decimals), rest: unit };
  if (bound !== '') return { main: bound + fixed(figure.lower_bound ? low : high, decimals), rest: unit };
  if (is_below(longer, decimals) && factor > 1) return { main: '≈ ' + fixed(estimate, decimals), rest: unit };
  const limits = '[' + fixed(low, decimals) + ', ' + fixed(high, decimals) + ']';
  const error = '±' + fixed(longer, decimals);
  const lopsided = longer > LOPSIDED * shorter;
  if (units === COUNT)
    return { main: fixed(estimate, decimals), rest: ' ' + (lopsided ? limits : error) + unit };
  return { main: fixed(estimate, decimals), rest: unit + ' ' + (lopsided ? limits : error) };
}

export function figure_parts(figure, kind) {
  if (!is_known(figure)) return { main: 'not known', rest: '' };
  if (figure.low !== figure.high) return estimate_parts(figure, kind === 'bytes' ? BINARY : COUNT);
  const text = bound_text(figure) + (kind === 'bytes' ? bytes_text(figure.low) : count_text(figure.low));
  const space = kind === 'bytes' ? text.lastIndexOf(' ') : text.length;
  return { main: text.slice(0, space), rest: text.slice(space) };
}

// "12.3 MiB ±0.8", "[0.1, 2.8] MiB", "≤ 1.8 MiB".
export function figure_text(figure, kind) {
  const parts = figure_parts(figure, kind);
  return parts.main + parts.rest;
}

// The estimate alone, for where its limits are drawn beside it.
export function estimate_text(figure, kind) {
  if (!is_known(figure) || figure.low === figure.high || is_vague(figure) || figure.lower_bound || figure.upper_bound)
    return figure_text(figure, kind);
  const [factor, name] = unit_for(kind === 'bytes' ? BINARY : COUNT, figure.estimate);
  const longer = Math.max(figure.estimate - figure.low, figure.high - figure.estimate) / factor;
  return fixed(figure.estimate / factor, decimals_for(longer, figure.estimate / factor)) + (name === '' ? '' : ' ' + name);
}

// Both limits and the estimate, for a tooltip: nothing is rounded away that is known.
export function full_text(figure, kind) {
  if (!is_known(figure)) return 'not known';
  const one = (value) => (kind === 'bytes' ? bytes_text(value) : value < 100 ? fixed(value, 1) : count_text(value));
  if (figure.low === figure.high) return one(figure.low) + (figure.exact ? ', exact' : '');
  const limits = 'between ' + one(figure.low) + ' and ' + one(figure.high);
  return has_estimate(figure) ? one(figure.estimate) + ', ' + limits : limits;
}

// A change, with its sign.
export function change_text(figure, kind) {
  if (figure == null || figure.low == null || figure.high == null) return 'not known';
  const units = kind === 'bytes' ? BINARY : COUNT;
  const open = figure.low < 0 && figure.high > 0;
  const size = open ? Math.max(-figure.low, figure.high) : Math.abs(figure.estimate);
  const [factor, name] = unit_for(units, size);
  const unit = name === '' ? '' : ' ' + name;
  const low = figure.low / factor;
  const high = figure.high / factor;
  const estimate = figure.estimate / factor;
  const longer = Math.max(estimate - low, high - estimate);
  const shorter = Math.min(estimate - low, high - estimate);
  const decimals = decimals_for(longer, Math.max(Math.abs(low), Math.abs(high)));
  if (figure.lower_bound && figure.upper_bound) return 'not known';
  if (figure.lower_bound) return 'at least ' + signed(low, decimals) + unit;
  if (figure.upper_bound) return 'at most ' + signed(high, decimals) + unit;
  if (!open && is_below(longer, decimals_exact(Math.abs(estimate))))
    return signed(estimate, estimate === Math.floor(estimate) ? 0 : decimals_exact(Math.abs(estimate))) + unit;
  if (open) return '[' + signed(low, decimals) + ', ' + signed(high, decimals) + ']' + unit;
  if (longer > LOPSIDED * shorter)
    return signed(estimate, decimals) + unit + ' [' + signed(low, decimals) + ', ' + signed(high, decimals) + ']';
  return signed(estimate, decimals) + unit + ' ±' + fixed(longer, decimals);
}

// The change alone, with its sign, for where its limits are not said: an estimate that its interval supports.
export function change_estimate_text(figure, kind) {
  if (figure == null || figure.estimate == null || !(figure.low > 0 || figure.high < 0) || figure.lower_bound || figure.upper_bound)
    return change_text(figure, kind);
  const [factor, name] = unit_for(kind === 'bytes' ? BINARY : COUNT, Math.abs(figure.estimate));
  const longer = Math.max(figure.estimate - figure.low, figure.high - figure.estimate) / factor;
  const value = figure.estimate / factor;
  const known = is_below(longer, decimals_exact(Math.abs(value)));
  const decimals = !known ? decimals_for(longer, Math.abs(value)) : value === Math.floor(value) ? 0 : decimals_exact(Math.abs(value));
  return signed(value, decimals) + (name === '' ? '' : ' ' + name);
}

// The time that a view is of, in words. What is allocated at a moment was allocated from the start until then.
export function window_text(edges, view) {
  const [from, to] = view.window.map((edge) => time_text(edges[edge]));
  if (view.window[0] !== view.window[1]) return from + ' to ' + to;
  return (sums_up(view.metric) ? 'until ' : 'at ') + to;
}

export const sums_up = (metric) => metric === 'allocated' || metric === 'temporary';

// How it was sampled, by the means of the gaps between samples that were set.
export function sampling_text(intervals) {
  if (intervals.length === 0) return 'it is not known how densely it was sampled';
  const [low, high] = [Math.min(...intervals), Math.max(...intervals)];
  if (high <= 1) return 'every object sampled';
  return '1 sample per ' + bytes_text(low) + (low === high ? '' : ' to ' + bytes_text(high));
}

// What lies between two limits, with signs: "[−1.9, +0.7] MiB".
export function limits_text(low, high, kind) {
  const [factor, name] = unit_for(kind === 'bytes' ? BINARY : COUNT, Math.max(Math.abs(low), Math.abs(high)));
  const decimals = decimals_for((high - low) / factor / 2, Math.max(Math.abs(low), Math.abs(high)) / factor);
  return '[' + signed(low / factor, decimals) + ', ' + signed(high / factor, decimals) + ']' + (name === '' ? '' : ' ' + name);
}

// Round marks to both sides of zero, for changes; the unit stands at zero.
export function change_marks(most, kind, count) {
  const marks = axis_marks(most, kind, count).slice(1).map(([at, text]) => [at, ...text.split(' ')]);
  const unit = marks[0]?.[2];
  return [...marks.map(([at, text]) => [-at, '−' + text]).reverse(), [0, unit ? '0 ' + unit : '0'], ...marks.map(([at, text]) => [at, '+' + text])];
}

// Round marks for an axis from 0 to `high`: [[value, text]...].
export function axis_marks(high, kind, count) {
  if (!(high > 0)) return [[0, '0']];
  const [factor, name] = unit_for(kind === 'bytes' ? BINARY : COUNT, high);
  const wanted = high / factor / count;
  const magnitude = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((m) => m * magnitude).find((s) => s >= wanted);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const marks = [];
  for (let value = 0; value <= high / factor + 1e-9; value += step)
    marks.push([value * factor, value === 0 ? '0' : fixed(value, decimals) + (name !== '' ? ' ' + name : '')]);
  return marks;
}
