// SPDX-License-Identifier: MIT
// A page of what the program mapped itself (docs/mapped.md): address space, counted call by call. Its metrics have words
// of their own in the data, in links and on the page, so that no figure is taken for one of malloc; within the
// page they are live, peak and allocated, since the same cells count. Pure: no DOM.

const WORDS = { live: 'mapped', peak: 'mapped-peak', allocated: 'mapped-ever' };

// A metric's word in data and links: of a page of malloc the metric itself.
export const metric_word = (head, metric) => (head.mapped ? (WORDS[metric] ?? metric) : metric);

export function metric_of_word(head, word) {
  if (!head.mapped) return word;
  return Object.keys(WORDS).find((metric) => WORDS[metric] === word) ?? null;
}

const renamed = (head, fields) => Object.fromEntries(Object.entries(fields ?? {}).map(([word, value]) => [metric_of_word(head, word) ?? word, value]));

// The head as the page takes it, whichever of the two it is of.
export function with_plain_metrics(head) {
  if (!head.mapped) return head;
  const { assumptions } = head;
  return {
    ...head,
    metrics: head.metrics.map((word) => metric_of_word(head, word) ?? word),
    metric: metric_of_word(head, head.metric) ?? head.metric,
    totals: renamed(head, head.totals),
    assumptions: { ...assumptions, lower_bound: renamed(head, assumptions.lower_bound), upper_bound: renamed(head, assumptions.upper_bound) },
  };
}

// A page may have both. What the address says of it: memory=mapped, and nothing for malloc.
export const memory_of_fragment = (fragment) => (/(^#?|&)memory=mapped(&|$)/.test(fragment) ? 'mapped' : 'malloc');
export const memory_fragment = (which) => (which === 'mapped' ? 'memory=mapped' : '');

// A metric's name where it is chosen, where its total stands, and over the column of its rows.
const CHOICES = { live: 'Mapped', peak: 'Mapped at the peak', allocated: 'Mapped in all' };
const OF_MALLOC = { live: 'Live', peak: 'Peak', allocated: 'Allocated', temporary: 'Temporary' };
export const metric_choice = (head, metric) => (head.mapped ? CHOICES : OF_MALLOC)[metric];

const NAMES = { live: 'mapped', peak: 'mapped at the peak', allocated: 'mapped in all' };
export const metric_name = (head, metric) => (head.mapped ? (NAMES[metric] ?? metric) : metric);

// How far figures can be trusted: each is exact, unless calls were not recorded, of which a warning of the page tells.
export function exactness(head) {
  const { lower_bound, upper_bound } = head.assumptions;
  const is_bound = [lower_bound, upper_bound].some((bounds) => Object.values(bounds ?? {}).some(Boolean));
  return is_bound ? 'some calls were not recorded: not exact' : 'every figure is exact';
}
