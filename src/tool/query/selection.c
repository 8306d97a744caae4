/* SPDX-License-Identifier: MIT */
/* Verdicts of filters; see selection.h and, for what each key matches, filter.h. */
#include "query/selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "model/names/suppressions.h"
#include "query/filter.h"
#include "query/row_name.h"

#define ROW_NAME_BYTES 8192 /* as row_key.c */
#define LABEL_BYTES 128	    /* "label:" and a key of at most 100 (label_key.c) */

/* enum bp_kind of the trace. */
static const char *const kind_names[] = { "unknown", "malloc", "calloc", "realloc", "aligned",
	"operator new", "mmap", "pool" };

const char *bp_type_name(const struct bp_profile *profile, uint64_t type_key)
{
	static const char *const heaps[] = { "small object", "large object", "pinned object",
		"Python object", "mapped file", "shared memory", "brk" };
	if (type_key >= BP_KINDS)
		return bp_profile_text(profile, profile->types.data[type_key - BP_KINDS].name);
	if (type_key >= BP_PROFILE_KIND_SMALL && type_key <= BP_PROFILE_KIND_BREAK)
		return heaps[type_key - BP_PROFILE_KIND_SMALL];
	return type_key < BP_COUNT(kind_names) ? kind_names[type_key] : kind_names[0];
}

/* A frame that lacks what the filter looks at may be what it looks for. */
static bool frame_may_pass(
	const struct bp_filter *filter, const struct bp_frame *frame, struct bp_frame_id id)
{
	if (filter->modules_named == NULL)
		return false;
	if (filter->key == BP_KEY_FILE || filter->key == BP_KEY_LINE)
		return frame->source_file.i == 0;
	if (filter->key == BP_KEY_MODULE || frame->named)
		return false;
	return filter->key != BP_KEY_STACK || id.i == 0 || !filter->modules_named[frame->module.i];
}

static bool frame_passes(
	const struct bp_profile *profile, const struct bp_filter *filter, struct bp_frame_id id)
{
	const struct bp_frame *frame = &profile->frames.data[id.i];
	const char *file = bp_profile_text(profile, frame->source_file);
	const char *path = bp_profile_text(profile, profile->modules.data[frame->module.i].path);
	const char *function = bp_profile_text(profile, frame->function);
	const enum bp_key by = filter->key == BP_KEY_STACK ? BP_KEY_FUNCTION : filter->key;
	char buffer[ROW_NAME_BYTES];
	uint64_t a, b;
	if (frame_may_pass(filter, frame, id))
		return true;
	bp_frame_row_key(profile, by, id, &a, &b);
	const char *row = bp_row_name(profile, by, NULL, a, b, buffer, sizeof buffer);
	if (bp_filter_matches_row(filter, row))
		return true;
	if (by == BP_KEY_FILE)
		return bp_filter_matches(filter, file, true);
	if (by == BP_KEY_MODULE)
		return bp_filter_matches(filter, path, true);
	if (by == BP_KEY_LINE && a != 0)
		return bp_filter_matches(filter, row, true);
	return bp_filter_matches_function(filter, function);
}

/* What has no frames may pass as a frame without anything does. */
static bool nothing_passes(const struct bp_profile *profile, const struct bp_filter *filter)
{
	const struct bp_frame_id none = { 0 };
	return frame_may_pass(filter, &profile->frames.data[0], none) ||
	       bp_filter_matches(filter, "", false) ||
	       bp_filter_matches_row(filter,
		       bp_row_name(profile, filter->key, NULL, BP_ROW_NO_STACK, 0, NULL, 0));
}

static bool is_of_stack(enum bp_key key)
{
	return key == BP_KEY_STACK || key == BP_KEY_FUNCTION || key == BP_KEY_LINE ||
	       key == BP_KEY_FILE || key == BP_KEY_MODULE;
}

/* `verdicts`: by frame, what the filter says of it; `nothing`: of a stack without frames. */
static bool stack_passes(const struct bp_attribution *attribution, const bool *verdicts,
	bool nothing, bool any_frame, uint32_t stack)
{
	struct bp_stack_id id = { stack };
	uint32_t count;
	const struct bp_frame_id *frames = bp_attribution_frames(attribution, id, &count);
	if (count == 0)
		return nothing;
	if (!any_frame)
		return verdicts[frames[bp_attribution_index(attribution, id)].i];
	for (uint32_t i = 0; i < count; i++)
		if (verdicts[frames[i].i])
			return true;
	return false;
}

static bool apply_to_stacks(struct bp_selection *selection,
	const struct bp_attribution *attribution, const struct bp_query *query,
	const struct bp_filter *filter)
{
	const struct bp_profile *profile = attribution->profile;
	bool any_frame = query->cumulative || filter->key == BP_KEY_STACK;
	const bool nothing = nothing_passes(profile, filter);
	bool *verdicts = calloc(profile->frames.count, sizeof *verdicts);
	if (verdicts == NULL)
		return false;
	for (uint32_t i = 0; i < profile->frames.count; i++)
		verdicts[i] = frame_passes(profile, filter, (struct bp_frame_id){ i });
	for (uint32_t i = 0; i < profile->stacks.count; i++)
		if (!stack_passes(attribution, verdicts, nothing, any_frame, i))
			selection->stacks[i] = false;
	free(verdicts);
	return true;
}

/* Of the stacks that freed. Number 0 stands for those that are not known. */
static bool apply_to_free_stacks(struct bp_selection *selection,
	const struct bp_attribution *attribution, const struct bp_filter *filter)
{
	const struct bp_profile *profile = attribution->profile;
	const struct bp_frame_id none = { 0 };
	const bool nothing = frame_may_pass(filter, &profile->frames.data[0], none) ||
			     bp_filter_matches_row(filter, BP_FREED_SOMEWHERE);
	bool *verdicts = calloc(profile->frames.count, sizeof *verdicts);
	if (selection->free_stacks == NULL) {
		selection->free_stacks = malloc(profile->stacks.count * sizeof(bool));
		if (selection->free_stacks != NULL)
			memset(selection->free_stacks, true, profile->stacks.count);
	}
	const bool good = verdicts != NULL && selection->free_stacks != NULL;
	for (uint32_t i = 0; good && i < profile->frames.count; i++)
		verdicts[i] = frame_passes(profile, filter, (struct bp_frame_id){ i });
	for (uint32_t i = 0; good && i < profile->stacks.count; i++)
		if (!stack_passes(attribution, verdicts, nothing, true, i))
			selection->free_stacks[i] = false;
	free(verdicts);
	return good;
}

static bool apply_suppressions(struct bp_selection *selection,
	const struct bp_attribution *attribution, const struct bp_filter *filter)
{
	const struct bp_profile *profile = attribution->profile;
	bool *verdicts = calloc(profile->frames.count, sizeof *verdicts);
	if (verdicts == NULL)
		return false;
	for (uint32_t i = 1; i < profile->frames.count; i++)
		verdicts[i] = bp_suppressions_match(
			filter->suppressions, profile, (struct bp_frame_id){ i });
	for (uint32_t i = 0; i < profile->stacks.count; i++)
		if (stack_passes(attribution, verdicts, false, true, i) != filter->suppressed)
			selection->stacks[i] = false;
	free(verdicts);
	return true;
}

static void apply_to_threads(struct bp_selection *selection, const struct bp_profile *profile,
	const struct bp_filter *filter)
{
	for (uint32_t i = 0; i < profile->threads.count; i++) {
		const struct bp_thread *thread = &profile->threads.data[i];
		char tid[16], row[ROW_NAME_BYTES];
		snprintf(tid, sizeof tid, "%u", thread->tid);
		if (!bp_filter_matches(filter, bp_profile_text(profile, thread->name), false) &&
			!bp_filter_matches(filter, tid, false) &&
			!bp_filter_matches_row(filter,
				bp_row_name(profile, BP_KEY_THREAD, NULL, i, 0, row, sizeof row)))
			selection->threads[i] = false;
	}
}

static void apply_to_processes(struct bp_selection *selection, const struct bp_profile *profile,
	const struct bp_filter *filter)
{
	for (uint32_t i = 0; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		char pid[16], row[ROW_NAME_BYTES];
		snprintf(pid, sizeof pid, "%u", process->pid);
		if (!bp_filter_matches(filter, bp_profile_text(profile, process->program), true) &&
			!bp_filter_matches(filter, bp_process_name(profile, process), false) &&
			!bp_filter_matches(filter, pid, false) &&
			!bp_filter_matches_row(filter,
				bp_row_name(profile, BP_KEY_PROCESS, NULL, i, 0, row, sizeof row)))
			selection->processes[i] = false;
	}
}

/* Of the type keys that `allowed` has. */
static void apply_to_types(bool *allowed, uint32_t count, const struct bp_profile *profile,
	const struct bp_filter *filter)
{
	for (uint32_t i = 0; i < count; i++)
		if (!bp_filter_matches(filter, bp_type_name(profile, i), false))
			allowed[i] = false;
}

/* `label=GLOB`: a pair `key=value` matches, any of them. */
static bool any_pair_passes(const struct bp_profile *profile, const struct bp_filter *filter,
	struct bp_labels_id labels)
{
	const struct bp_labels *set = &profile->labels.data[labels.i];
	char pair[1200];
	for (uint32_t i = 0; i < set->count; i++) {
		const struct bp_label *label = &profile->label_pairs.data[set->first + i];
		snprintf(pair, sizeof pair, "%s=%s", bp_profile_text(profile, label->key),
			bp_profile_text(profile, label->value));
		if (bp_filter_matches(filter, pair, false))
			return true;
	}
	return false;
}

/* A label that is not there reads as an empty one. */
static bool labels_pass(const struct bp_profile *profile, const struct bp_filter *filter,
	struct bp_labels_id labels)
{
	char key[LABEL_BYTES], buffer[ROW_NAME_BYTES];
	const char *label = filter->label_key != NULL ? key : NULL;
	struct bp_string_id value = { 0 };
	if (label != NULL)
		snprintf(key, sizeof key, "%s%.*s", BP_LABEL_PREFIX, (int)filter->label_key_bytes,
			filter->label_key);
	const bool has_label = bp_label_value(profile, label, labels, &value);
	if (bp_filter_matches_row(
		    filter, bp_label_name(profile, label, has_label, value, buffer, sizeof buffer)))
		return true;
	return label != NULL ? bp_filter_matches(filter, bp_profile_text(profile, value), false)
			     : any_pair_passes(profile, filter, labels);
}

static void apply_to_labels(struct bp_selection *selection, const struct bp_profile *profile,
	const struct bp_filter *filter)
{
	for (uint32_t i = 0; i < profile->labels.count; i++)
		if (!labels_pass(profile, filter, (struct bp_labels_id){ i }))
			selection->labels[i] = false;
}

static void apply_to_times(struct bp_selection *selection, const struct bp_filter *filter)
{
	if (!filter->of_time)
		return;
	selection->of_time = true;
	if (filter->from_ns > selection->from_ns)
		selection->from_ns = filter->from_ns;
	if (filter->to_ns < selection->to_ns)
		selection->to_ns = filter->to_ns;
}

static bool apply(struct bp_selection *selection, const struct bp_attribution *attribution,
	const struct bp_query *query, const struct bp_filter *filter)
{
	if (filter->suppressions != NULL)
		return apply_suppressions(selection, attribution, filter);
	if (filter->of_free)
		return apply_to_free_stacks(selection, attribution, filter);
	if (is_of_stack(filter->key))
		return apply_to_stacks(selection, attribution, query, filter);
	if (filter->key == BP_KEY_THREAD) {
		apply_to_threads(selection, attribution->profile, filter);
	} else if (filter->key == BP_KEY_PROCESS) {
		apply_to_processes(selection, attribution->profile, filter);
	} else if (filter->key == BP_KEY_TYPE) {
		apply_to_types(selection->types, BP_KINDS + attribution->profile->types.count,
			attribution->profile, filter);
	} else if (filter->key == BP_KEY_KIND) {
		apply_to_types(selection->kinds, BP_KINDS, attribution->profile, filter);
	} else if (filter->key == BP_KEY_LABEL) {
		apply_to_labels(selection, attribution->profile, filter);
	} else if (filter->key == BP_KEY_SIZE) {
		if (filter->size_low > selection->size_low)
			selection->size_low = filter->size_low;
		if (filter->size_high < selection->size_high)
			selection->size_high = filter->size_high;
		apply_to_times(selection, filter);
	}
	return true;
}

bool bp_selection_init(struct bp_selection *selection, const struct bp_attribution *attribution,
	const struct bp_view *view, const struct bp_query *query, struct bp_error *error)
{
	const struct bp_profile *profile = attribution->profile;
	memset(selection, 0, sizeof *selection);
	selection->size_high = UINT64_MAX;
	selection->to_ns = BP_TIME_NEVER;
	selection->views = view->processes;
	selection->stacks = malloc(profile->stacks.count * sizeof(bool));
	selection->threads = malloc(profile->threads.count * sizeof(bool));
	selection->processes = malloc(profile->processes.count * sizeof(bool));
	selection->types = malloc((BP_KINDS + profile->types.count) * sizeof(bool));
	selection->labels = malloc(profile->labels.count * sizeof(bool));
	if (selection->stacks == NULL || selection->threads == NULL ||
		selection->processes == NULL || selection->types == NULL ||
		selection->labels == NULL)
		goto fail;
	memset(selection->stacks, true, profile->stacks.count);
	memset(selection->threads, true, profile->threads.count);
	memset(selection->processes, true, profile->processes.count);
	memset(selection->kinds, true, sizeof selection->kinds);
	memset(selection->types, true, BP_KINDS + profile->types.count);
	memset(selection->labels, true, profile->labels.count);
	for (uint32_t i = 0; i < query->filter_count; i++)
		if (!apply(selection, attribution, query, &query->filters[i]))
			goto fail;
	return true;
fail:
	bp_selection_finish(selection);
	return bp_error_set(error, "out of memory");
}

void bp_selection_finish(struct bp_selection *selection)
{
	free(selection->stacks);
	free(selection->threads);
	free(selection->processes);
	free(selection->types);
	free(selection->labels);
	free(selection->free_stacks);
	memset(selection, 0, sizeof *selection);
}
