/* SPDX-License-Identifier: MIT */
/*
 * Which samples the filters of a query let through: decided once per stack, thread, process and
 * kind, so that a sample costs a few table look-ups. Called by aggregate.c and timeline.c.
 */
#ifndef BP_QUERY_SELECTION_H
#define BP_QUERY_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "query/attribution.h"
#include "query/query.h"
#include "query/view.h"

/* For `--by type` and `--by kind`: what a sample is, by a number. Its type where that is known,
 * else the kind of call that made it: kinds come first, types behind them. */
#define BP_KINDS 256u
static inline uint32_t bp_type_key(const struct bp_sample *sample)
{
	return sample->type.i != 0 ? BP_KINDS + sample->type.i : sample->kind;
}

struct bp_selection {
	bool *stacks, *threads, *processes; /* by id: may it pass? */
	bool *types;			    /* by bp_type_key */
	bool *labels;
	bool *free_stacks; /* by the stack that freed; NULL: no filter looks at that */
	bool kinds[BP_KINDS];
	uint64_t size_low, size_high;
	/* Allocated in [from, to) since the start of the first process of the tree. */
	bool of_time;
	uint64_t from_ns, to_ns;
	const struct bp_process_view *views; /* by process: when that one started */
};

/* `view` must stay. */
bool bp_selection_init(struct bp_selection *selection, const struct bp_attribution *attribution,
	const struct bp_view *view, const struct bp_query *query, struct bp_error *error);
void bp_selection_finish(struct bp_selection *selection);

static inline bool bp_selection_holds_time(
	const struct bp_selection *selection, const struct bp_sample *sample)
{
	const uint64_t base_ns = selection->views[sample->process.i].base_ns;
	const uint64_t time_ns = sample->time_ns > base_ns ? sample->time_ns - base_ns : 0;
	return time_ns >= selection->from_ns && time_ns < selection->to_ns;
}

/* What was never freed has no place that freed it. */
static inline bool bp_selection_holds_free(
	const struct bp_selection *selection, const struct bp_sample *sample)
{
	return sample->free_time_ns != BP_TIME_NEVER &&
	       selection->free_stacks[sample->free_stack.i];
}

static inline bool bp_selection_holds(
	const struct bp_selection *selection, const struct bp_sample *sample)
{
	return selection->stacks[sample->stack.i] && selection->threads[sample->thread.i] &&
	       selection->processes[sample->process.i] && selection->types[bp_type_key(sample)] &&
	       selection->kinds[sample->kind] && selection->labels[sample->labels.i] &&
	       sample->size >= selection->size_low && sample->size <= selection->size_high &&
	       (!selection->of_time || bp_selection_holds_time(selection, sample)) &&
	       (selection->free_stacks == NULL || bp_selection_holds_free(selection, sample));
}

/* What a sample is under when rows are by label: the string of the value, or for `label` NULL of
 * the whole set; 0 of the strings is "". False: it has no such label. */
bool bp_label_value(const struct bp_profile *profile, const char *label, struct bp_labels_id labels,
	struct bp_string_id *ret_value);
/* How a report names that. `buffer` is for sets. */
const char *bp_label_name(const struct bp_profile *profile, const char *label, bool has_label,
	struct bp_string_id value, char *buffer, size_t bytes);

/* Its name. `profile` must hold the type. */
const char *bp_type_name(const struct bp_profile *profile, uint64_t type_key);

#endif
