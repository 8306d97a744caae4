/* SPDX-License-Identifier: MIT */
/* The join of samples and frees; see trace_join.h. */
#include "import/trace_join.h"

#include <stdlib.h>
#include <string.h>

/* A free whose sample has not come yet. */
struct bp_waiting_free {
	uint64_t sample_sequence, sequence, time_ns, objects;
	uint32_t thread;
};

/* The profile's number for a recorded stack. */
struct bp_stack_number {
	uint64_t id; /* 64 bits wide for base/index.h */
	uint32_t number;
};

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error,
		"out of memory while reading a trace: use a machine with more, or "
		"a larger sampling interval");
}

void bp_trace_join_init(struct bp_trace_join *join, const struct bp_trace_reader *reader,
	struct bp_process_id process, struct bp_profile *profile)
{
	memset(join, 0, sizeof *join);
	join->profile = profile;
	join->reader = reader;
	join->process = process;
	join->first_sample = profile->samples.count;
	join->beside.columns = BP_BESIDE_COLUMNS;
	join->by_sequence.first = reader->header.parent_sequence;
}

void bp_trace_join_release(struct bp_trace_join *join)
{
	bp_packed_finish(&join->beside);
	bp_sample_index_finish(&join->by_sequence);
	free(join->waiting);
	free(join->stack_numbers);
	bp_index_finish(&join->by_stack);
}

/* Numbers of the file that would mean "never" in the profile. */
static uint64_t below_never(uint64_t value)
{
	return value == BP_TIME_NEVER ? BP_TIME_NEVER - 1 : value;
}

static const struct bp_trace_clock *clock_of(const struct bp_trace_join *join)
{
	return &join->reader->part.clock;
}

bool bp_trace_join_stack(
	struct bp_trace_join *join, uint32_t id, uint32_t *ret_number, struct bp_error *error)
{
	const struct bp_index_keys keys = { join->stack_numbers, sizeof *join->stack_numbers };
	const uint32_t found = id == 0 ? BP_INDEX_NONE : bp_index_find(&join->by_stack, keys, id);
	*ret_number = 0;
	if (id == 0)
		return true;
	if (found != BP_INDEX_NONE) {
		*ret_number = join->stack_numbers[found].number;
		return true;
	}
	struct bp_stack_number added = { .id = id };
	if (!bp_samples_new_stack(&join->profile->samples, &added.number, error))
		return false;
	if (!bp_vec_reserve(&join->stack_numbers, &join->stack_number_capacity,
		    (uint64_t)join->stack_number_count + 1, sizeof *join->stack_numbers))
		return no_memory(error);
	join->stack_numbers[join->stack_number_count] = added;
	if (!bp_index_add(&join->by_stack,
		    (struct bp_index_keys){ join->stack_numbers, sizeof *join->stack_numbers },
		    join->stack_number_count))
		return no_memory(error);
	join->stack_number_count++;
	*ret_number = added.number;
	return true;
}

/* `entry` has no end yet. */
static bool join_free(struct bp_trace_join *join, uint32_t entry,
	const struct bp_waiting_free *record, struct bp_error *error)
{
	struct bp_samples *samples = &join->profile->samples;
	const uint32_t beside = entry - join->first_sample;
	const bool told = clock_of(join)->count > 0;
	const uint64_t time_ns = told ? bp_packed_get(&join->beside, beside, BP_BESIDE_TIME)
				      : bp_packed_get(&samples->births, entry, BP_BIRTH_TIME);
	if (samples->freed[entry] != 0 || record->sequence <= record->sample_sequence)
		return true;
	uint64_t free_sequence = below_never(record->sequence);
	uint64_t free_time_ns = below_never(record->time_ns);
	if (free_time_ns < time_ns)
		free_time_ns = time_ns;
	/* Threads are known by their ordinals until finish_samples. */
	const uint32_t alike = (uint32_t)bp_packed_get(&samples->births, entry, BP_BIRTH_ALIKE);
	const bool temporary =
		record->thread != 0 && record->thread == samples->alike[alike].thread.i &&
		record->objects == bp_packed_get(&join->beside, beside, BP_BESIDE_OBJECTS);
	bp_import_tell_death(clock_of(join), time_ns, &free_time_ns, &free_sequence);
	bp_sample_index_remove(&join->by_sequence, record->sample_sequence);
	return bp_samples_end(samples, entry, free_time_ns, free_sequence, temporary, error);
}

static bool add_sample(
	struct bp_trace_join *join, const struct bp_trace_sample *record, struct bp_error *error)
{
	const uint32_t entry = join->profile->samples.count;
	struct bp_packed_row beside = { { record->objects } };
	uint32_t stack;
	struct bp_sample sample = {
		.size = record->size,
		.usable = record->usable,
		.interval = record->interval == 0 ? 1 : record->interval,
		.offset = record->offset,
		.sequence = below_never(record->sequence),
		.free_sequence = BP_TIME_NEVER,
		.time_ns = below_never(record->time_ns),
		.free_time_ns = BP_TIME_NEVER,
		.process = join->process,
		.thread = { record->thread },
		.kind = record->kind < 16 ? record->kind : 0,
		.exact = record->exact,
		.bernoulli = record->law == BP_LAW_BERNOULLI,
	};
	if (bp_sample_index_has(&join->by_sequence, sample.sequence)) {
		join->repeated_samples++;
		return true;
	}
	if (!bp_sample_index_add(&join->by_sequence, sample.sequence, entry))
		return no_memory(error);
	if (clock_of(join)->count > 0) {
		beside.column[BP_BESIDE_TIME] = sample.time_ns;
		bp_import_tell_birth(clock_of(join), join->reader->header.charge_bytes, &sample);
	}
	if (!bp_packed_add(&join->beside, &beside))
		return no_memory(error);
	if (!bp_trace_join_stack(join, record->stack, &stack, error) ||
		!bp_samples_add(&join->profile->samples, &sample, stack, error))
		return false;
	bp_profile_tell_progress(join->profile);
	return true;
}

static bool add_free(
	struct bp_trace_join *join, const struct bp_trace_free *record, struct bp_error *error)
{
	struct bp_waiting_free waiting = {
		.sample_sequence = record->sample_sequence,
		.sequence = record->sequence,
		.time_ns = record->time_ns,
		.objects = record->objects,
		.thread = record->thread,
	};
	uint32_t entry;
	if (record->sample_sequence <= join->reader->header.parent_sequence)
		return true; /* An object of the parent's. */
	entry = bp_sample_index_find(&join->by_sequence, record->sample_sequence);
	if (entry != BP_INDEX_NONE)
		return join_free(join, entry, &waiting, error);
	if (bp_sample_index_has(&join->by_sequence, record->sample_sequence))
		return true; /* It was freed before. */
	if (!bp_vec_reserve(&join->waiting, &join->waiting_capacity,
		    (uint64_t)join->waiting_count + 1, sizeof *join->waiting))
		return no_memory(error);
	join->waiting[join->waiting_count++] = waiting;
	return true;
}

bool bp_trace_join_flush(struct bp_trace_join *join, struct bp_error *error)
{
	const struct bp_samples *samples = &join->profile->samples;
	const struct bp_sample_index *index = &join->by_sequence;
	const uint32_t count = join->taken_count;
	join->taken_count = 0;
	for (uint32_t i = 0; i < count; i++)
		__builtin_prefetch(bp_sample_index_where(index,
			join->taken[i].tag == BP_TAG_SAMPLE ? join->taken[i].sample.sequence
							    : join->taken[i].free.sample_sequence));
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t entry =
			join->taken[i].tag == BP_TAG_SAMPLE
				? BP_INDEX_NONE
				: bp_sample_index_find(index, join->taken[i].free.sample_sequence);
		if (entry == BP_INDEX_NONE)
			continue;
		__builtin_prefetch(&samples->freed[entry], 1);
		__builtin_prefetch(bp_packed_where(&samples->births, entry));
		__builtin_prefetch(bp_packed_where(&join->beside, entry - join->first_sample));
	}
	for (uint32_t i = 0; i < count; i++)
		if (!(join->taken[i].tag == BP_TAG_SAMPLE
				    ? add_sample(join, &join->taken[i].sample, error)
				    : add_free(join, &join->taken[i].free, error)))
			return false;
	return true;
}

bool bp_trace_join_take(
	struct bp_trace_join *join, const struct bp_trace_record *record, struct bp_error *error)
{
	join->taken[join->taken_count++] = *record;
	return join->taken_count < BP_TRACE_TAKEN_AT_ONCE || bp_trace_join_flush(join, error);
}

bool bp_trace_join_finish(struct bp_trace_join *join, struct bp_error *error)
{
	if (!bp_trace_join_flush(join, error))
		return false;
	for (uint32_t i = 0; i < join->waiting_count; i++) {
		const struct bp_waiting_free *waiting = &join->waiting[i];
		const uint32_t entry =
			bp_sample_index_find(&join->by_sequence, waiting->sample_sequence);
		if (entry != BP_INDEX_NONE && !join_free(join, entry, waiting, error))
			return false;
	}
	return true;
}

void bp_trace_join_tell_stacks(
	const struct bp_trace_join *join, const struct bp_trace_stacks *stacks)
{
	for (uint32_t i = 0; i < join->stack_number_count; i++) {
		const struct bp_stack_number *stack = &join->stack_numbers[i];
		bp_samples_set_stack(&join->profile->samples, stack->number,
			bp_trace_stacks_find(stacks, (uint32_t)stack->id));
	}
}
