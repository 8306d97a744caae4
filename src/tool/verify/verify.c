/* SPDX-License-Identifier: MIT */
/*
 * From a profile with exact sums to groups of figures and their truths; verify_verdict.c judges
 * them.
 *
 * The rows of an aggregation and the stacks of the exact sums meet under a key: a function's name,
 * or the frames of a stack (not its number: stacks that read the same are one row). What the exact
 * sums has and the aggregation has not is a row without a sample; the other way round the truth is
 * zero.
 */
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/names/allocators.h"
#include "model/id_index.h"
#include "query/attribution.h"
#include "verify/verify_list.h"

static const enum bp_metric metrics[BP_VERIFY_METRICS] = { BP_METRIC_ALLOCATED, BP_METRIC_LIVE,
	BP_METRIC_TEMPORARY };
static const enum bp_key keys[BP_VERIFY_KEYS] = { BP_KEY_FUNCTION, BP_KEY_STACK };

/* A key with what is known of it on both sides. */
struct entry {
	const char *text;		  /* by function */
	const struct bp_frame_id *frames; /* by stack */
	uint32_t frame_count;
	uint8_t flags;
	uint32_t row; /* of the aggregation, and 1; 0: none, it has no sample */
	uint64_t truth[BP_VERIFY_UNITS];
};

/* The comparison of one group of one process. [entry 0 is empty] */
struct comparison {
	const struct bp_profile *profile;
	const struct bp_aggregation *aggregation;
	const struct bp_attribution *attribution;
	struct bp_verify_group *group;
	struct bp_verify_tally tallies[BP_VERIFY_UNITS];
	bool keeps_rows; /* in the lists of the group */
	struct bp_id_index index;
	struct entry *entries;
	uint32_t count, capacity;
	double alpha;
	uint32_t pid;
};

static bool same_frame(const struct bp_frame *a, const struct bp_frame *b)
{
	return a->function.i == b->function.i && a->source_file.i == b->source_file.i &&
	       a->line == b->line && a->module.i == b->module.i && a->inlined == b->inlined;
}

static bool same_key(const struct bp_profile *profile, const struct entry *a, const struct entry *b)
{
	if (a->text != NULL || b->text != NULL)
		return a->text != NULL && b->text != NULL && strcmp(a->text, b->text) == 0;
	if (a->frame_count != b->frame_count || (a->frame_count > 0 && a->flags != b->flags))
		return false;
	for (uint32_t i = 0; i < a->frame_count; i++)
		if (a->frames[i].i != b->frames[i].i &&
			!same_frame(&profile->frames.data[a->frames[i].i],
				&profile->frames.data[b->frames[i].i]))
			return false;
	return true;
}

static uint32_t hash_key(const struct bp_profile *profile, const struct entry *key)
{
	uint64_t hash = key->frame_count;
	if (key->text != NULL)
		return bp_hash_fold(bp_hash_bytes(1, key->text, strlen(key->text)));
	for (uint32_t i = 0; i < key->frame_count; i++) {
		const struct bp_frame *frame = &profile->frames.data[key->frames[i].i];
		hash = bp_hash_word(hash, (uint64_t)frame->function.i << 32 | frame->line);
	}
	return bp_hash_fold(hash);
}

/* The entry of a key, made if need be; NULL: no memory. */
static struct entry *entry_of(struct comparison *comparison, const struct entry *key)
{
	const uint32_t hash = hash_key(comparison->profile, key);
	uint32_t position = hash, known;
	while ((known = bp_id_index_next(&comparison->index, hash, &position)) != 0)
		if (same_key(comparison->profile, &comparison->entries[known], key))
			return &comparison->entries[known];
	if (comparison->count + 1 >= comparison->capacity) {
		const uint32_t capacity = comparison->capacity * 2 + 64;
		struct entry *grown =
			realloc(comparison->entries, capacity * sizeof *comparison->entries);
		if (grown == NULL)
			return NULL;
		comparison->entries = grown;
		comparison->capacity = capacity;
	}
	if (!bp_id_index_reserve(&comparison->index))
		return NULL;
	bp_id_index_add(&comparison->index, hash, ++comparison->count);
	comparison->entries[comparison->count] = *key;
	return &comparison->entries[comparison->count];
}

/* The key of a recorded stack, as row_key.c has it. */
static struct entry key_of_stack(const struct comparison *comparison, struct bp_stack_id stack)
{
	const struct bp_profile *profile = comparison->profile;
	struct entry key = { .flags = profile->stacks.data[stack.i].flags };
	key.frames = bp_attribution_frames(comparison->attribution, stack, &key.frame_count);
	if (comparison->group->by == BP_KEY_STACK)
		return key;
	const char *text = "(no stack recorded)";
	if (key.frame_count > 0) {
		uint32_t at = bp_attribution_index(comparison->attribution, stack);
		text = bp_profile_text(profile, profile->frames.data[key.frames[at].i].function);
		text = *text != '\0' ? text : "(no name)";
	}
	return (struct entry){ .text = text };
}

static uint64_t truth_of(
	const struct bp_verify_sums *sums, enum bp_metric metric, enum bp_verify_unit unit)
{
	const bool bytes = unit == BP_VERIFY_BYTES;
	if (metric == BP_METRIC_TEMPORARY)
		return bytes ? sums->temporary_bytes : sums->temporary_objects;
	if (metric == BP_METRIC_ALLOCATED)
		return bytes ? sums->allocated_bytes : sums->allocated_objects;
	return bytes ? sums->allocated_bytes - sums->freed_bytes
		     : sums->allocated_objects - sums->freed_objects;
}

static bool add_verify_sums(struct comparison *comparison)
{
	const struct bp_profile *profile = comparison->profile;
	for (uint32_t i = 1; i < profile->verify_sums.count; i++) {
		const struct bp_verify_sums *sums = &profile->verify_sums.data[i];
		struct entry key = key_of_stack(comparison, sums->stack);
		struct entry *entry = entry_of(comparison, &key);
		if (entry == NULL)
			return false;
		for (int unit = 0; unit < BP_VERIFY_UNITS; unit++)
			entry->truth[unit] += truth_of(
				sums, comparison->group->metric, (enum bp_verify_unit)unit);
	}
	return true;
}

static bool add_rows(struct comparison *comparison)
{
	for (uint32_t i = 0; i < comparison->aggregation->row_count; i++) {
		struct bp_row row;
		bp_aggregation_row(comparison->aggregation, i, &row);
		const struct entry key = { .text = row.name,
			.frames = row.frames,
			.frame_count = row.frame_count,
			.flags = row.stack_flags };
		struct entry *entry = entry_of(comparison, &key);
		if (entry == NULL)
			return false;
		entry->row = i + 1;
	}
	return true;
}

/* What is claimed of a row that has no sample. */
static void figures_of_nothing(
	const struct bp_aggregation *aggregation, double alpha, struct bp_row *ret_row)
{
	const struct bp_assumptions assumed = bp_aggregation_assumptions(aggregation);
	const struct bp_total *all = &aggregation->totals[BP_METRIC_ALLOCATED];
	const struct bp_sums none = { 0 };
	*ret_row = (struct bp_row){ .samples = 0 };
	ret_row->bytes.interval = bp_estimate_bytes(&none, assumed.interval_unseen, alpha);
	ret_row->objects.interval = bp_estimate_objects(
		&none, assumed.interval_unseen, alpha, assumed.size_min, assumed.charge);
	/* Lost samples leave lower limits only, lost frees (of what is live) upper ones. */
	ret_row->bytes.lower_bound = all->bytes.lower_bound;
	ret_row->objects.lower_bound = all->objects.lower_bound;
	if (!all->known || all->bytes.lower_bound)
		return;
	ret_row->bytes.interval.high = fmin(ret_row->bytes.interval.high, all->bytes.interval.high);
	ret_row->objects.interval.high =
		fmin(ret_row->objects.interval.high, all->objects.interval.high);
}

/* The largest probability that a right figure of this truth misses (verify.h). Bytes of rows are
 * parts of the counted total, whose upper limits may lie below the one of no sample. */
static double chance_of_miss(
	const struct comparison *comparison, const struct entry *entry, int unit)
{
	const struct bp_assumptions assumed = bp_aggregation_assumptions(comparison->aggregation);
	const double alpha = comparison->alpha;
	if (assumed.interval_max <= 1)
		return 0;
	const double trials = (double)entry->truth[BP_VERIFY_BYTES] +
			      (double)entry->truth[BP_VERIFY_OBJECTS] * assumed.charge;
	/* Where T changed, the finest one bounds the chance of a sample, the coarsest the
	 * silence. */
	const double expected = trials * bp_lambda(assumed.interval_unseen);
	const double sampled =
		assumed.interval_min <= 1 ? 1 : -expm1(-trials * bp_lambda(assumed.interval_min));
	if (unit == BP_VERIFY_BYTES || comparison->group->metric == BP_METRIC_ALLOCATED ||
		expected > log(2 / alpha))
		return fmin(alpha, sampled);
	return fmin(alpha / 2, sampled);
}

/* "inner < its caller < ...", as far as three names go. */
static void name_stack(
	const struct comparison *comparison, const struct entry *entry, char *name, size_t bytes)
{
	const struct bp_profile *profile = comparison->profile;
	size_t used = 0;
	snprintf(name, bytes, "(no stack recorded)");
	for (uint32_t i = 0, shown = 0; i < entry->frame_count && shown < 3; i++) {
		const char *function =
			bp_profile_text(profile, profile->frames.data[entry->frames[i].i].function);
		if (bp_allocators_hold(profile->allocators, function) && i + 1 < entry->frame_count)
			continue;
		int printed = snprintf(name + used, bytes - used, "%s%s", shown > 0 ? " < " : "",
			*function != '\0' ? function : "(no name)");
		used += printed > 0 ? (size_t)printed : 0;
		if (used >= bytes)
			return;
		shown++;
	}
}

static bool compare_entry(struct comparison *comparison, const struct entry *entry)
{
	struct bp_verify_row row = { .pid = comparison->pid };
	struct bp_row shown;
	char name[1024];
	if (entry->row != 0)
		bp_aggregation_row(comparison->aggregation, entry->row - 1, &shown);
	else
		figures_of_nothing(comparison->aggregation, comparison->alpha, &shown);
	/* Neither side has anything: that is no figure. */
	if (entry->row == 0 && entry->truth[BP_VERIFY_OBJECTS] == 0)
		return true;
	row.samples = shown.samples;
	for (int unit = 0; unit < BP_VERIFY_UNITS; unit++) {
		struct bp_verify_figure *figure = &row.units[unit];
		struct bp_verify_tally *tally = &comparison->tallies[unit];
		figure->shown = unit == BP_VERIFY_BYTES ? shown.bytes : shown.objects;
		figure->truth = entry->truth[unit];
		figure->held = bp_verify_holds(&figure->shown, figure->truth);
		tally->figures++;
		tally->held += figure->held;
		tally->unsampled += entry->row == 0;
		tally->chance += chance_of_miss(comparison, entry, unit);
	}
	if (!comparison->keeps_rows)
		return true;
	if (entry->text != NULL)
		snprintf(name, sizeof name, "%s", entry->text);
	else
		name_stack(comparison, entry, name, sizeof name);
	row.name = name;
	return bp_verify_list_offer(comparison->group, &row);
}

/* Fills the tallies of a comparison of which profile, attribution and group are given. */
static bool compare_rows(
	struct comparison *comparison, const struct bp_query *like, struct bp_error *error)
{
	const struct bp_profile *profile = comparison->profile;
	struct bp_query query = *like;
	struct bp_aggregation aggregation;
	query.metric = comparison->group->metric;
	query.by = comparison->group->by;
	if (!bp_aggregate(profile, &query, &aggregation, error))
		return false;
	comparison->aggregation = &aggregation;
	comparison->alpha = 1 - aggregation.query.confidence;
	comparison->pid = profile->processes.data[profile->root.i].pid;
	bool good = add_verify_sums(comparison) && add_rows(comparison);
	for (uint32_t i = 1; good && i <= comparison->count; i++)
		good = compare_entry(comparison, &comparison->entries[i]);
	bp_id_index_finish(&comparison->index);
	free(comparison->entries);
	bp_aggregation_finish(&aggregation);
	return good || bp_error_set(error, "out of memory");
}

static void add_tally(struct bp_verify_tally *to, const struct bp_verify_tally *more)
{
	to->figures += more->figures;
	to->held += more->held;
	to->unsampled += more->unsampled;
	to->chance += more->chance;
}

/* The same query, the smallest size being known. */
static struct bp_query informed_query(const struct bp_query *like, const struct bp_process *process)
{
	struct bp_query query = *like;
	query.has_size_min = true;
	query.size_min = process->verify_sums.smallest_size;
	return query;
}

static bool compare_group(struct bp_verify *verify, const struct bp_profile *profile,
	const struct bp_attribution *attribution, struct bp_verify_group *group,
	struct bp_error *error)
{
	const struct bp_verify_process *process = &verify->processes[verify->process_count - 1];
	const struct comparison blank = {
		.profile = profile, .attribution = attribution, .group = group
	};
	struct comparison shown = blank, informed = blank;
	shown.keeps_rows = true;
	if (!compare_rows(&shown, &verify->query, error))
		return false;
	for (int unit = 0; unit < BP_VERIFY_UNITS; unit++)
		add_tally(&group->units[unit], &shown.tallies[unit]);
	if (process->smallest >= process->size_min) {
		add_tally(&group->informed, &shown.tallies[BP_VERIFY_OBJECTS]);
		return true;
	}
	const struct bp_query query =
		informed_query(&verify->query, &profile->processes.data[profile->root.i]);
	if (!compare_rows(&informed, &query, error))
		return false;
	add_tally(&group->informed, &informed.tallies[BP_VERIFY_OBJECTS]);
	return true;
}

/* The truths of a whole process. */
static void truths_of(const struct bp_profile *profile, const struct bp_process *process,
	uint64_t truths[BP_METRIC_COUNT][BP_VERIFY_UNITS])
{
	const struct bp_process_verify_sums *verify_sums = &process->verify_sums;
	memset(truths, 0, sizeof(uint64_t) * BP_METRIC_COUNT * BP_VERIFY_UNITS);
	truths[BP_METRIC_ALLOCATED][BP_VERIFY_BYTES] =
		verify_sums->allocated_bytes + verify_sums->nested_bytes +
		verify_sums->uncounted_bytes + verify_sums->failed_bytes;
	truths[BP_METRIC_ALLOCATED][BP_VERIFY_OBJECTS] =
		verify_sums->allocated_objects + verify_sums->nested_objects +
		verify_sums->uncounted_objects + verify_sums->failed_objects;
	truths[BP_METRIC_LIVE][BP_VERIFY_BYTES] =
		verify_sums->allocated_bytes - verify_sums->freed_bytes;
	truths[BP_METRIC_LIVE][BP_VERIFY_OBJECTS] =
		verify_sums->allocated_objects - verify_sums->freed_objects;
	truths[BP_METRIC_PEAK][BP_VERIFY_BYTES] = verify_sums->peak_bytes;
	truths[BP_METRIC_PEAK][BP_VERIFY_OBJECTS] = verify_sums->peak_objects;
	for (uint32_t i = 1; i < profile->verify_sums.count; i++)
		for (int unit = 0; unit < BP_VERIFY_UNITS; unit++)
			truths[BP_METRIC_TEMPORARY][unit] += truth_of(&profile->verify_sums.data[i],
				BP_METRIC_TEMPORARY, (enum bp_verify_unit)unit);
}

/* The four totals at one confidence. */
static bool compare_totals(const struct bp_profile *profile, const struct bp_query *like,
	double confidence, struct bp_verify_figure (*ret_totals)[BP_VERIFY_UNITS],
	uint64_t *ret_size_min, struct bp_error *error)
{
	const struct bp_process *process = &profile->processes.data[profile->root.i];
	struct bp_query query = *like;
	struct bp_aggregation aggregation;
	uint64_t truths[BP_METRIC_COUNT][BP_VERIFY_UNITS];
	query.metric = BP_METRIC_LIVE;
	query.by = BP_KEY_PROCESS;
	query.confidence = confidence;
	if (!bp_aggregate(profile, &query, &aggregation, error))
		return false;
	truths_of(profile, process, truths);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
		for (int unit = 0; unit < BP_VERIFY_UNITS; unit++) {
			const struct bp_total *total = &aggregation.totals[metric];
			struct bp_verify_figure *figure = &ret_totals[metric][unit];
			figure->shown = unit == BP_VERIFY_BYTES ? total->bytes : total->objects;
			figure->truth = truths[metric][unit];
			figure->held = bp_verify_holds(&figure->shown, figure->truth);
		}
	*ret_size_min = aggregation.size_min;
	bp_aggregation_finish(&aggregation);
	return true;
}

/* The whole of allocated, estimated as if no counter knew it. */
static bool compare_by_samples(const struct bp_profile *profile, const struct bp_query *like,
	double confidence, struct bp_verify_figure *ret_figures, struct bp_error *error)
{
	const struct bp_process_verify_sums *verify_sums =
		&profile->processes.data[profile->root.i].verify_sums;
	struct bp_query query = *like;
	struct bp_aggregation aggregation;
	struct bp_row row;
	query.metric = BP_METRIC_ALLOCATED;
	query.by = BP_KEY_PROCESS;
	query.estimator = BP_ESTIMATOR_HT;
	query.confidence = confidence;
	if (!bp_aggregate(profile, &query, &aggregation, error))
		return false;
	if (aggregation.row_count > 0)
		bp_aggregation_row(&aggregation, 0, &row);
	else
		figures_of_nothing(&aggregation, 1 - confidence, &row);
	ret_figures[BP_VERIFY_BYTES].shown = row.bytes;
	ret_figures[BP_VERIFY_BYTES].truth = verify_sums->allocated_bytes;
	ret_figures[BP_VERIFY_OBJECTS].shown = row.objects;
	ret_figures[BP_VERIFY_OBJECTS].truth = verify_sums->allocated_objects;
	for (int unit = 0; unit < BP_VERIFY_UNITS; unit++)
		ret_figures[unit].held =
			bp_verify_holds(&ret_figures[unit].shown, ret_figures[unit].truth);
	bp_aggregation_finish(&aggregation);
	return true;
}

static bool compare_process(const struct bp_verify *verify, const struct bp_profile *profile,
	struct bp_verify_process *process, struct bp_error *error)
{
	const double confidence = 1 - verify->error / verify->tests;
	const struct bp_query *shown = &verify->query;
	const struct bp_query informed =
		informed_query(shown, &profile->processes.data[profile->root.i]);
	uint64_t known;
	return compare_totals(profile, shown, shown->confidence, process->totals,
		       &process->size_min, error) &&
	       compare_totals(profile, shown, confidence, process->wide, &known, error) &&
	       compare_totals(profile, &informed, confidence, process->informed, &known, error) &&
	       compare_by_samples(profile, shown, shown->confidence, process->by_samples, error) &&
	       compare_by_samples(
		       profile, shown, confidence, process->wide[BP_METRIC_ALLOCATED], error) &&
	       compare_by_samples(profile, &informed, confidence,
		       process->informed[BP_METRIC_ALLOCATED], error);
}

static bool add_process(
	struct bp_verify *verify, const struct bp_profile *profile, struct bp_error *error)
{
	const struct bp_process *from = &profile->processes.data[profile->root.i];
	if (from->has_pauses)
		return bp_error_set(error,
			"pid %u: sampling was off for a time: the count has what was allocated "
			"meanwhile and no figure does, so there is nothing to compare: leave it on "
			"in a run with --verify",
			from->pid);
	if (verify->process_count == verify->process_capacity) {
		const uint32_t capacity = verify->process_capacity * 2 + 8;
		void *grown = realloc(verify->processes, capacity * sizeof *verify->processes);
		if (grown == NULL)
			return bp_error_set(error, "out of memory");
		verify->processes = grown;
		verify->process_capacity = capacity;
	}
	struct bp_verify_process *process = &verify->processes[verify->process_count];
	*process = (struct bp_verify_process){ .pid = from->pid,
		.ended = from->ended && from->open_threads == 0,
		.samples = from->samples,
		.interval = from->interval_max,
		.interval_min = from->interval_min,
		.smallest = from->verify_sums.smallest_size,
		.verify_sums = from->verify_sums };
	if (!compare_process(verify, profile, process, error))
		return false;
	for (uint32_t i = 1; i < profile->threads.count; i++)
		process->threads += profile->threads.data[i].objects_allocated.high > 0;
	process->program = strdup(bp_profile_text(profile, from->program));
	if (process->program == NULL)
		return bp_error_set(error, "out of memory");
	verify->process_count++;
	return true;
}

bool bp_verify_add(
	struct bp_verify *verify, const struct bp_profile *profile, struct bp_error *error)
{
	struct bp_attribution attribution;
	bool good = true;
	if (!add_process(verify, profile, error) ||
		!bp_attribution_init(&attribution, profile, error))
		return false;
	for (int i = 0; good && i < BP_VERIFY_GROUPS; i++)
		good = compare_group(verify, profile, &attribution, &verify->groups[i], error);
	bp_attribution_finish(&attribution);
	return good;
}

void bp_verify_init(
	struct bp_verify *verify, const struct bp_query *query, double error, uint32_t processes)
{
	*verify = (struct bp_verify){ .query = *query, .error = error };
	if (verify->query.confidence == 0)
		verify->query.confidence = BP_CONFIDENCE_DEFAULT;
	/* Rows: bytes and objects of each group. Totals: bytes of all four metrics, objects of
	 * three. Objects twice, as they are shown and with the smallest size known. */
	verify->tests = BP_VERIFY_GROUPS * (1 + 2) + processes * (4 + 2 * 3);
	for (int i = 0; i < BP_VERIFY_GROUPS; i++) {
		verify->groups[i].metric = metrics[i / BP_VERIFY_KEYS];
		verify->groups[i].by = keys[i % BP_VERIFY_KEYS];
	}
}

void bp_verify_finish(struct bp_verify *verify)
{
	for (int i = 0; i < BP_VERIFY_GROUPS; i++) {
		bp_verify_list_finish(&verify->groups[i].missed);
		bp_verify_list_finish(&verify->groups[i].errors);
	}
	for (uint32_t i = 0; i < verify->process_count; i++)
		free(verify->processes[i].program);
	free(verify->processes);
	*verify = (struct bp_verify){ 0 };
}
