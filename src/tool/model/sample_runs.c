/* SPDX-License-Identifier: MIT */
/* A merge of runs by a heap of those that have begun; see sample_runs.h. */
#include "model/sample_runs.h"

#include <stdlib.h>
#include <string.h>

struct bp_moment bp_sample_runs_moment(const struct bp_sample_runs *merge, uint32_t row)
{
	const struct bp_samples *samples = merge->samples;
	if (merge->deaths) {
		const struct bp_packed_row death = bp_packed_row_of(&samples->deaths, row, 3);
		return (struct bp_moment){ death.column[BP_DEATH_TIME],
			death.column[BP_DEATH_SEQUENCE], (uint32_t)death.column[BP_DEATH_PROCESS] };
	}
	const struct bp_packed_row birth = bp_samples_birth(samples, row);
	return (struct bp_moment){ birth.column[BP_BIRTH_TIME], birth.column[BP_BIRTH_SEQUENCE],
		samples->alike[birth.column[BP_BIRTH_ALIKE]].process.i };
}

static bool breaks_tie(const struct bp_sample_runs *merge, uint32_t a, uint32_t b)
{
	const struct bp_moment left = bp_sample_runs_moment(merge, a),
			       right = bp_sample_runs_moment(merge, b);
	return bp_moment_before(&left, &right) || (a < b && !bp_moment_before(&right, &left));
}

static inline bool comes_before(const struct bp_sample_runs *merge, const struct bp_run_head *a,
	const struct bp_run_head *b)
{
	if (__builtin_expect(a->time_ns != b->time_ns, 1))
		return a->time_ns < b->time_ns;
	return breaks_tie(merge, a->row, b->row);
}

static void sink(struct bp_sample_runs *merge)
{
	struct bp_run_head *heap = merge->heap;
	const struct bp_run_head top = heap[0];
	uint32_t at = 0;
	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= merge->active)
			break;
		if (child + 1 < merge->active &&
			comes_before(merge, &heap[child + 1], &heap[child]))
			child++;
		if (!comes_before(merge, &heap[child], &top))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = top;
}

static void rise(struct bp_sample_runs *merge, struct bp_run_head head)
{
	uint32_t at = merge->active++;
	while (at > 0 && comes_before(merge, &head, &merge->heap[(at - 1) / 2])) {
		merge->heap[at] = merge->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	merge->heap[at] = head;
}

static struct bp_run_head head_of(const struct bp_sample_runs *merge, uint32_t run)
{
	const uint32_t row = merge->runs->starts[run];
	const uint32_t end =
		run + 1 < merge->runs->count ? merge->runs->starts[run + 1] : merge->rows;
	return (struct bp_run_head){ bp_sample_runs_time(merge, row), row, end };
}

static void note_rival(struct bp_sample_runs *merge, const struct bp_run_head *rival)
{
	if (rival->time_ns < merge->alone_until_ns)
		merge->alone_until_ns = rival->time_ns;
}

/* Lets those runs compete that begin before what would be next, and notes how long it is the first
 * of all. */
static void let_in(struct bp_sample_runs *merge)
{
	while (merge->next_waiting < merge->runs->count &&
		(merge->active == 0 || comes_before(merge, &merge->upcoming, &merge->heap[0]))) {
		rise(merge, merge->upcoming);
		if (++merge->next_waiting < merge->runs->count)
			merge->upcoming = head_of(merge, merge->waiting[merge->next_waiting]);
	}
	merge->alone_until_ns = UINT64_MAX;
	for (uint32_t child = 1; child < 3 && child < merge->active; child++)
		note_rival(merge, &merge->heap[child]);
	if (merge->next_waiting < merge->runs->count)
		note_rival(merge, &merge->upcoming);
}

static int compare_beginnings(const void *left, const void *right, void *context)
{
	const struct bp_sample_runs *merge = context;
	const struct bp_run_head a = head_of(merge, *(const uint32_t *)left);
	const struct bp_run_head b = head_of(merge, *(const uint32_t *)right);
	return comes_before(merge, &a, &b) ? -1 : comes_before(merge, &b, &a);
}

static bool begin(struct bp_sample_runs *merge)
{
	merge->waiting = malloc(((size_t)merge->runs->count + 1) * sizeof *merge->waiting);
	merge->heap = malloc(((size_t)merge->runs->count + 1) * sizeof *merge->heap);
	if (merge->waiting == NULL || merge->heap == NULL) {
		bp_sample_runs_finish(merge);
		return false;
	}
	for (uint32_t i = 0; i < merge->runs->count; i++)
		merge->waiting[i] = i;
	qsort_r(merge->waiting, merge->runs->count, sizeof *merge->waiting, compare_beginnings,
		merge);
	if (merge->runs->count > 0)
		merge->upcoming = head_of(merge, merge->waiting[0]);
	let_in(merge);
	return true;
}

bool bp_sample_runs_births(struct bp_sample_runs *merge, const struct bp_samples *samples)
{
	*merge = (struct bp_sample_runs){ .samples = samples,
		.runs = &samples->birth_runs,
		.table = &samples->births,
		.rows = samples->count };
	return begin(merge);
}

bool bp_sample_runs_deaths(struct bp_sample_runs *merge, const struct bp_samples *samples)
{
	*merge = (struct bp_sample_runs){ .samples = samples,
		.runs = &samples->death_runs,
		.table = &samples->deaths,
		.deaths = true,
		.rows = samples->deaths.count };
	return begin(merge);
}

void bp_sample_runs_change(struct bp_sample_runs *merge)
{
	struct bp_run_head *head = &merge->heap[0];
	if (++head->row < head->end)
		head->time_ns = bp_sample_runs_time(merge, head->row);
	else
		merge->heap[0] = merge->heap[--merge->active];
	if (merge->active > 0)
		sink(merge);
	let_in(merge);
}

void bp_sample_runs_finish(struct bp_sample_runs *merge)
{
	free(merge->heap);
	free(merge->waiting);
	memset(merge, 0, sizeof *merge);
}
