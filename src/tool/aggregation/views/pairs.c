/* SPDX-License-Identifier: MIT */
/*
 * One walk over the samples puts each under its pair, which is made when it is first seen: its
 * weight is added to the pair's sums, and its lifetime to one array for all. Then pairs are put in
 * their order, the array is sorted by their numbers, and the pairs that are shown are asked for
 * their figures. Stacks that free are turned into places once for each stack.
 *
 * A pair is a part of what was allocated. So its figures need the sums of everything else: those of
 * the pairs before and after it, of what the filters left out, and of what --complete leaves out.
 */
#include "aggregation/views/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "aggregation/views/distribution.h"
#include "estimate/lifetime_between.h"
#include "model/names/deallocators.h"
#include "query/row_name.h"
#include "time/byte_clock.h"

/* A place that frees: the words of a row (row_name.h), or by stack the first that reads so. */
struct place {
	uint64_t a, b;
	struct bp_stack_id stack;
};

/* A pair while it is summed. */
struct sum {
	uint32_t row, place; /* of the aggregation; of `places`, 0 without a stack that freed */
	enum bp_pair_end end;
	struct bp_tally tally;
	uint32_t entries; /* samples in the array */
	double order;
	uint32_t number; /* in which it was made, and so of its entries */
};

struct numbered_entry {
	struct bp_lifetime_entry entry; /* first, so that bp_lifetime_compare sorts them */
	struct bp_known_total age;	/* in bytes; in ns nothing */
	uint32_t pair;
};

struct builder {
	const struct bp_aggregation *aggregation;
	bool complete;
	struct bp_weight_cache weights;
	struct sum *sums;
	uint32_t sum_count, sum_capacity;
	struct bp_id_index by_pair; /* numbers of sums and 1 */
	struct place *places;	    /* number 0: none */
	uint32_t place_count, place_capacity;
	struct bp_id_index by_place;
	uint32_t *place_of; /* by stack: its place and 1; 0: not looked at */
	struct numbered_entry *entries;
	uint32_t entry_count, entry_capacity;
	struct bp_sums left_out;	     /* by --complete */
	struct bp_lifetime *buffer;	     /* three times as many as entries */
	const struct bp_byte_clock *clocks;  /* by process; NULL in ns */
	uint64_t resolution_ns;		     /* of folded traces */
	struct bp_lifetime_between *between; /* twice as many as entries; NULL in ns */
};

bool bp_pairs_are_by(enum bp_key by)
{
	return by <= BP_KEY_MODULE;
}

/* The frame that is charged with a free: the innermost one that does more than to free. */
static struct bp_frame_id freeing_frame(
	const struct bp_attribution *attribution, struct bp_stack_id stack)
{
	const struct bp_profile *profile = attribution->profile;
	uint32_t count;
	const struct bp_frame_id *frames = bp_attribution_frames(attribution, stack, &count);
	uint32_t i = bp_attribution_index(attribution, stack);
	while (i + 1 < count) {
		const struct bp_frame *frame = &profile->frames.data[frames[i].i];
		if (frame->interpreted ||
			(!attribution->allocator[frames[i].i] &&
				!bp_deallocators_hold(profile->allocators,
					bp_profile_text(profile, frame->function))))
			break;
		i++;
	}
	return frames[i];
}

static bool same_place(const struct builder *builder, const struct place *a, const struct place *b)
{
	if (builder->aggregation->query.by != BP_KEY_STACK)
		return a->a == b->a && a->b == b->b;
	return bp_stacks_read_alike(&builder->aggregation->state->attribution, a->stack, b->stack);
}

/* The number of the place of a stack; 0: no memory. */
static uint32_t make_place(struct builder *builder, struct bp_stack_id stack)
{
	const struct bp_aggregation *aggregation = builder->aggregation;
	const struct bp_attribution *attribution = &aggregation->state->attribution;
	struct place place = { .stack = stack };
	uint32_t hash, known;
	if (aggregation->query.by == BP_KEY_STACK) {
		hash = bp_stack_frames_hash(attribution, stack);
	} else {
		bp_frame_row_key(aggregation->profile, aggregation->query.by,
			freeing_frame(attribution, stack), &place.a, &place.b);
		hash = bp_hash_fold(bp_hash_word(bp_hash_word(9, place.a), place.b));
	}
	uint32_t position = hash;
	while ((known = bp_id_index_next(&builder->by_place, hash, &position)) != 0)
		if (same_place(builder, &builder->places[known], &place))
			return known;
	if (!bp_id_index_reserve(&builder->by_place) ||
		!bp_grow((void **)&builder->places, builder->place_count, &builder->place_capacity,
			sizeof *builder->places))
		return 0;
	builder->places[builder->place_count] = place;
	bp_id_index_add(&builder->by_place, hash, builder->place_count);
	return builder->place_count++;
}

/* The place of a stack that freed, 0 where nothing is known of the stack. False: no memory. */
static bool place_of(struct builder *builder, struct bp_stack_id stack, uint32_t *ret_place)
{
	uint32_t count;
	*ret_place = 0;
	(void)bp_attribution_frames(&builder->aggregation->state->attribution, stack, &count);
	if (count == 0)
		return true;
	if (builder->place_of[stack.i] == 0)
		builder->place_of[stack.i] = make_place(builder, stack);
	*ret_place = builder->place_of[stack.i];
	return *ret_place != 0;
}

/* The number of the pair, made when first seen; UINT32_MAX: no memory. */
static uint32_t sum_of(struct builder *builder, uint32_t row, uint32_t place, enum bp_pair_end end)
{
	const uint32_t hash = bp_hash_fold(
		bp_hash_word(bp_hash_word(10, (uint64_t)row << 32 | place), (uint64_t)end));
	uint32_t position = hash, known;
	while ((known = bp_id_index_next(&builder->by_pair, hash, &position)) != 0) {
		const struct sum *sum = &builder->sums[known - 1];
		if (sum->row == row && sum->place == place && sum->end == end)
			return known - 1;
	}
	if (!bp_id_index_reserve(&builder->by_pair) ||
		!bp_grow((void **)&builder->sums, builder->sum_count, &builder->sum_capacity,
			sizeof *builder->sums))
		return UINT32_MAX;
	builder->sums[builder->sum_count] = (struct sum){
		.row = row, .place = place, .end = end, .number = builder->sum_count
	};
	bp_id_index_add(&builder->by_pair, hash, ++builder->sum_count);
	return builder->sum_count - 1;
}

/* Puts sample `number` under its pair. */
static bool add_sample(
	struct builder *builder, uint32_t number, const struct bp_sample *sample, uint32_t row)
{
	const struct bp_aggregation *aggregation = builder->aggregation;
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_sample_weight *weight = bp_sample_weight(&builder->weights, sample,
		profile->processes.data[sample->process.i].charge, aggregation->query.usable);
	struct bp_sample_weight all;
	struct bp_lifetime_entry entry = bp_lifetime_entry_of(aggregation, number, sample, weight);
	struct bp_known_total age = { 0 };
	enum bp_pair_end end = BP_PAIR_LIVE;
	uint32_t place = 0;
	weight = bp_sample_weight_of_all(weight, sample, &all);
	if (!entry.lifetime.ended && builder->complete) {
		bp_sums_merge(&builder->left_out, &weight->sums);
		return true;
	}
	if (entry.lifetime.ended) {
		if (!place_of(builder, sample->free_stack, &place))
			return false;
		end = place != 0 ? BP_PAIR_FREED : BP_PAIR_FREED_SOMEWHERE;
	}
	const uint32_t pair = sum_of(builder, row, place, end);
	if (pair == UINT32_MAX ||
		!bp_grow((void **)&builder->entries, builder->entry_count, &builder->entry_capacity,
			sizeof *builder->entries) ||
		!bp_tally_add_sample(&builder->sums[pair].tally, weight, NULL))
		return false;
	if (builder->clocks != NULL)
		age = bp_lifetime_age_in_bytes(&builder->clocks[sample->process.i],
			builder->resolution_ns, sample, &entry);
	builder->sums[pair].entries++;
	builder->entries[builder->entry_count++] =
		(struct numbered_entry){ .entry = entry, .age = age, .pair = pair };
	return true;
}

static bool walk(struct builder *builder)
{
	const struct bp_aggregation *aggregation = builder->aggregation;
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_samples *samples = &aggregation->profile->samples;
	for (uint32_t i = 1; i < samples->count; i++) {
		__builtin_prefetch(bp_samples_where(samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_samples_get(samples, i);
		if (!bp_sample_is_meant(state, &sample) ||
			!bp_view_in_window(&state->view, &sample))
			continue;
		/* [Not cumulative: the cell of a sample that counts is under one row.] */
		const uint32_t cell = bp_cell_of_sample(aggregation, &sample);
		if (cell == UINT32_MAX)
			return false;
		const uint32_t row = state->cell_rows[state->cells[cell].first_row];
		if (!add_sample(builder, i, &sample, state->rows[row].place))
			return false;
	}
	return true;
}

static double order_of(const struct bp_query *query, const struct bp_sums *sums)
{
	if (query->sort == BP_SORT_NAME)
		return 0;
	if (query->sort == BP_SORT_SAMPLES)
		return (double)sums->samples;
	return query->sort == BP_SORT_OBJECTS ? (double)sums->samples + sums->n1
					      : sums->bytes + sums->c1;
}

/* By name, and where orders are equal, pairs of one allocating place stand together. */
static int compare_sums(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;
	const int order = bp_figures_compare_order(a->order, b->order);
	if (order != 0)
		return order;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Of one pair its entries, sorted by age; of all pairs the same. */
static int compare_by_pair(const void *left, const void *right)
{
	const struct numbered_entry *a = left, *b = right;
	if (a->pair != b->pair)
		return a->pair < b->pair ? -1 : 1;
	return bp_lifetime_compare(a, b);
}

/* The entries as lifetimes of bytes, or of objects, into the buffer. `live`: none was freed, and
 * ages end where they were last seen. */
static void take_lifetimes(const struct numbered_entry *entries, size_t count, bool objects,
	bool live, struct bp_lifetime *buffer)
{
	for (size_t i = 0; i < count; i++) {
		buffer[i] = entries[i].entry.lifetime;
		buffer[i].ended = buffer[i].ended || live;
		if (objects)
			buffer[i].value = 1;
	}
}

/* Of what was freed, as far as that is `known`, the share that was freed as the bits `how` say. */
static struct bp_figure share_of(struct builder *builder, const struct numbered_entry *entries,
	size_t count, bool objects, bool (*known)(const struct bp_lifetime_entry *), uint32_t how,
	double unseen)
{
	struct bp_lifetime *buffer = builder->buffer + count;
	size_t freed = 0;
	for (size_t i = 0; i < count; i++) {
		if (!entries[i].entry.lifetime.ended || !known(&entries[i].entry))
			continue;
		buffer[freed] = bp_lifetime_as_share(&entries[i].entry, how);
		if (objects)
			buffer[freed].value = 1;
		freed++;
	}
	struct bp_figure figure = { .interval = bp_lifetime_ended(buffer, freed, unseen,
					    builder->aggregation->state->alpha) };
	if (builder->aggregation->state->lost_frees)
		figure.interval.exact = false;
	return figure;
}

/* The median of lifetimes that take_lifetimes has put into the buffer, in bytes. */
static struct bp_interval median_in_bytes(
	struct builder *builder, const struct numbered_entry *entries, size_t count, double unseen)
{
	struct bp_lifetimes_between between = { .by_low = builder->between,
		.by_high = builder->between + count,
		.buffer = builder->buffer + 2 * count,
		.count = count };
	for (size_t i = 0; i < count; i++)
		between.by_low[i] = between.by_high[i] =
			(struct bp_lifetime_between){ .lifetime = builder->buffer[i],
				.low = entries[i].age.low,
				.high = entries[i].age.high };
	bp_lifetimes_between_sort(&between);
	return bp_lifetime_median_between(&between, unseen, builder->aggregation->state->alpha);
}

static struct bp_pair_lifetime lifetime_of(struct builder *builder,
	const struct numbered_entry *entries, size_t count, bool objects, bool live, double unseen)
{
	const struct bp_aggregation_state *state = builder->aggregation->state;
	take_lifetimes(entries, count, objects, live, builder->buffer);
	struct bp_pair_lifetime lifetime = {
		.median = builder->clocks != NULL
				  ? median_in_bytes(builder, entries, count, unseen)
				  : bp_lifetime_median(builder->buffer, count, unseen, state->alpha)
	};
	if (state->lost_frees)
		lifetime.median.exact = false;
	lifetime.by_another = share_of(builder, entries, count, objects, bp_lifetime_threads_known,
		BP_FREED_BY_ANOTHER, unseen);
	if (builder->aggregation->profile->samples.freed_on != NULL)
		lifetime.on_another = share_of(builder, entries, count, objects,
			bp_lifetime_processors_known, BP_FREED_ON_ANOTHER_PROCESSOR, unseen);
	return lifetime;
}

/* The figures of `pair`, of these samples and this tally; `others`: all else that was allocated.
 * Frees that were lost are of objects that count as live. */
static void take_figures(struct builder *builder, const struct bp_tally *tally,
	const struct bp_sums *others, const struct numbered_entry *entries, size_t count,
	struct bp_pair *pair)
{
	const struct bp_aggregation *aggregation = builder->aggregation;
	bp_figures_of_tally(aggregation, tally, others, &pair->figures);
	const struct bp_lifetime_unseen unseen = bp_lifetime_unseen_of(
		aggregation, &pair->figures.objects.interval, &tally->sums, 0);
	const bool live = pair->row != UINT32_MAX && pair->end == BP_PAIR_LIVE;
	pair->bytes = lifetime_of(builder, entries, count, false, live, unseen.bytes);
	pair->objects = lifetime_of(builder, entries, count, true, live, unseen.objects);
	if (!aggregation->state->lost_frees || pair->row == UINT32_MAX)
		return;
	struct bp_figure *const figures[] = { &pair->figures.bytes, &pair->figures.objects };
	for (unsigned i = 0; i < 2; i++) {
		figures[i]->interval.exact = false;
		if (live)
			figures[i]->upper_bound = true;
		else
			figures[i]->lower_bound = true;
	}
}

static bool name_place(const struct builder *builder, uint32_t number, struct bp_pair *pair)
{
	const struct bp_aggregation *aggregation = builder->aggregation;
	const struct place *place = &builder->places[number];
	char buffer[4096];
	if (pair->end != BP_PAIR_FREED)
		return true;
	if (aggregation->query.by == BP_KEY_STACK) {
		pair->freed_frames = bp_attribution_frames(
			&aggregation->state->attribution, place->stack, &pair->freed_frame_count);
		pair->freed_stack_flags = aggregation->profile->stacks.data[place->stack.i].flags;
		return true;
	}
	pair->freed_name = strdup(bp_row_name(aggregation->profile, aggregation->query.by,
		aggregation->query.label, place->a, place->b, buffer, sizeof buffer));
	return pair->freed_name != NULL;
}

/* The pairs that are shown, the rest and all. `starts`: of the entries, by number of the pair;
 * `before`, `after`: sums of pairs in their order. */
static bool take_all(struct builder *builder, const size_t *starts, const struct bp_sums *before,
	const struct bp_sums *after, struct bp_pairs *to)
{
	struct bp_sums outside = builder->aggregation->state->rest[BP_METRIC_ALLOCATED];
	bp_sums_merge(&outside, &builder->left_out);
	bool good = true;
	for (uint32_t i = 0; good && i < to->count; i++) {
		const struct sum *sum = &builder->sums[i];
		struct bp_pair *pair = &to->pairs[i];
		struct bp_sums others = outside;
		*pair = (struct bp_pair){ .row = sum->row, .end = sum->end };
		bp_sums_merge(&others, &before[i]);
		bp_sums_merge(&others, &after[i + 1]);
		good = name_place(builder, sum->place, pair);
		take_figures(builder, &sum->tally, &others, builder->entries + starts[sum->number],
			sum->entries, pair);
	}
	struct bp_tally rest = { 0 }, all = { 0 };
	for (uint32_t i = 0; good && i < builder->sum_count; i++)
		good = bp_tally_merge(&all, &builder->sums[i].tally) &&
		       (i < to->count || bp_tally_merge(&rest, &builder->sums[i].tally));
	to->rest.row = to->all.row = UINT32_MAX;
	struct bp_sums others = outside;
	bp_sums_merge(&others, &before[to->count]);
	/* The rest has no lifetimes: it is of many places, which have nothing in common. */
	take_figures(builder, &rest, &others, NULL, 0, &to->rest);
	qsort(builder->entries, builder->entry_count, sizeof *builder->entries,
		bp_lifetime_compare);
	take_figures(builder, &all, &outside, builder->entries, builder->entry_count, &to->all);
	if (!builder->complete) { /* The total is counted, and so better known than a part. */
		to->all.figures.bytes = builder->aggregation->totals[BP_METRIC_ALLOCATED].bytes;
		to->all.figures.objects = builder->aggregation->totals[BP_METRIC_ALLOCATED].objects;
	}
	bp_tally_finish(&rest);
	bp_tally_finish(&all);
	return good;
}

/* How exactly ages in bytes are known, of all that is selected. False: no memory. */
static bool take_width(const struct builder *builder, struct bp_pairs *to)
{
	const uint32_t count = builder->entry_count;
	uint64_t *widths = calloc((size_t)count + 1, sizeof *widths);
	if (widths == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
		widths[i] = bp_lifetime_width_of(&builder->entries[i].age);
	to->width = bp_lifetime_width(widths, count);
	free(widths);
	return true;
}

/* From sums to pairs. */
static bool finish(struct builder *builder, uint32_t most, struct bp_pairs *to)
{
	const uint32_t count = builder->sum_count;
	size_t *starts = calloc((size_t)count + 1, sizeof *starts);
	struct bp_sums *before = calloc((size_t)count + 1, sizeof *before);
	struct bp_sums *after = calloc((size_t)count + 1, sizeof *after);
	to->count = count < most ? count : most;
	to->left_out = count - to->count;
	to->pairs = calloc((size_t)to->count + 1, sizeof *to->pairs);
	builder->buffer = calloc(3 * (size_t)builder->entry_count + 1, sizeof *builder->buffer);
	bool good = starts != NULL && before != NULL && after != NULL && to->pairs != NULL &&
		    builder->buffer != NULL;
	if (good && builder->clocks != NULL) {
		builder->between =
			calloc(2 * (size_t)builder->entry_count + 1, sizeof *builder->between);
		good = builder->between != NULL && take_width(builder, to);
	}
	if (good) {
		for (uint32_t i = 0; i < count; i++) {
			struct sum *sum = &builder->sums[i];
			starts[i + 1] = starts[i] + sum->entries;
			sum->order = order_of(&builder->aggregation->query, &sum->tally.sums);
		}
		qsort(builder->entries, builder->entry_count, sizeof *builder->entries,
			compare_by_pair);
		qsort(builder->sums, count, sizeof *builder->sums, compare_sums);
		for (uint32_t i = 0; i < count; i++) {
			before[i + 1] = before[i];
			bp_sums_merge(&before[i + 1], &builder->sums[i].tally.sums);
		}
		for (uint32_t i = count; i-- > 0;) {
			after[i] = after[i + 1];
			bp_sums_merge(&after[i], &builder->sums[i].tally.sums);
		}
		good = take_all(builder, starts, before, after, to);
	}
	free(starts);
	free(before);
	free(after);
	return good;
}

static void finish_builder(struct builder *builder)
{
	for (uint32_t i = 0; i < builder->sum_count; i++)
		bp_tally_finish(&builder->sums[i].tally);
	bp_id_index_finish(&builder->by_pair);
	bp_id_index_finish(&builder->by_place);
	free(builder->sums);
	free(builder->places);
	free(builder->place_of);
	free(builder->entries);
	free(builder->buffer);
	free(builder->between);
	free(builder);
}

bool bp_pairs_make(const struct bp_aggregation *aggregation, uint32_t most, bool complete,
	enum bp_age_unit unit, struct bp_pairs *ret_pairs, struct bp_error *error)
{
	const struct bp_view *view = &aggregation->state->view;
	struct bp_pairs made = { .known = true,
		.unit = unit,
		.processors = aggregation->profile->samples.freed_on != NULL };
	struct bp_byte_clock *clocks = NULL;
	if (aggregation->state->lacks & BP_LACKS_TIMES || aggregation->lacks & BP_LACKS_FREES ||
		(unit == BP_AGE_BYTES && aggregation->profile->readings.count == 0)) {
		*ret_pairs = (struct bp_pairs){ 0 };
		return true;
	}
	struct builder *builder = calloc(1, sizeof *builder);
	if (builder == NULL)
		return bp_error_set(error, "out of memory");
	builder->aggregation = aggregation;
	builder->complete = complete;
	builder->resolution_ns = bp_age_resolution_ns(aggregation);
	if (unit == BP_AGE_BYTES)
		builder->clocks = clocks = bp_byte_clocks_make(view, error);
	builder->place_of = calloc(aggregation->profile->stacks.count, sizeof *builder->place_of);
	bool good = builder->place_of != NULL && (unit == BP_AGE_NS || clocks != NULL) &&
		    bp_grow((void **)&builder->places, 0, &builder->place_capacity,
			    sizeof *builder->places);
	builder->place_count = 1;
	good = good && walk(builder) && finish(builder, most, &made);
	finish_builder(builder);
	bp_byte_clocks_finish(clocks, view);
	if (good)
		*ret_pairs = made;
	else
		bp_pairs_finish(&made);
	return good || bp_error_set(error, "out of memory");
}

void bp_pairs_finish(struct bp_pairs *pairs)
{
	for (uint32_t i = 0; pairs->pairs != NULL && i < pairs->count; i++)
		free(pairs->pairs[i].freed_name);
	free(pairs->pairs);
	memset(pairs, 0, sizeof *pairs);
}
