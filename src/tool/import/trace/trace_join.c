/* SPDX-License-Identifier: MIT */
/* The join of samples and frees; see trace_join.h. */
#include "import/trace/trace_join.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 24u /* records, some hundred nanoseconds */
#define RECORDS_AHEAD 8u
#define BIRTH_BYTES 16u /* about */

/* A free whose sample has not come yet. */
struct bp_waiting_free {
	uint64_t sample_sequence, sequence, time_ns, objects;
	uint32_t thread;
	uint32_t stack;	    /* as recorded; 0: none */
	uint32_t processor; /* and 1; 0: not known */
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
	join->objects_uncounted = reader->header.flags_skippable & BP_HEADER_OBJECTS_UNCOUNTED;
	join->is_told = reader->part.is_open;
	join->has_processors = reader->header.flags_skippable & BP_HEADER_FREE_STACKS;
	join->by_sequence.first = reader->header.parent_sequence;
	bp_trace_join_resume(join);
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

static __attribute__((noinline)) bool find_stack(
	struct bp_trace_join *join, uint64_t id, uint32_t *ret_number, struct bp_error *error)
{
	const struct bp_index_keys keys = { join->stack_numbers, sizeof *join->stack_numbers };
	const uint32_t found = bp_index_find(&join->by_stack, keys, id);
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

static inline bool stack_of(struct bp_trace_join *join, uint32_t recorded, uint64_t time_ns,
	uint32_t *ret_number, struct bp_error *error)
{
	uint64_t id = recorded;
	if (join->jit != NULL && id != 0)
		id |= (uint64_t)bp_jit_names_epoch(join->jit, time_ns) << 32;
	struct bp_stack_number *lately = &join->stacks_found[id % BP_STACKS_FOUND];
	if (lately->id != id) { /* That of id 0, which is not known, is 0. */
		uint32_t number = 0;
		if (!find_stack(join, id, &number, error))
			return false;
		*lately = (struct bp_stack_number){ id, number };
	}
	*ret_number = lately->number;
	return true;
}

bool bp_trace_join_stack(struct bp_trace_join *join, uint32_t id, uint64_t time_ns,
	uint32_t *ret_number, struct bp_error *error)
{
	return stack_of(join, id, time_ns, ret_number, error);
}

/* Was the object of an entry, which has an end, freed on the processor that it was made on? */
static bool join_processors(
	struct bp_trace_join *join, uint32_t entry, uint32_t freed_on, struct bp_error *error)
{
	if (!join->has_processors || freed_on == 0)
		return true;
	const uint64_t made_on =
		bp_packed_get(&join->beside, entry - join->first_sample, BP_BESIDE_PROCESSOR);
	return made_on == 0 || bp_samples_set_freed_on(&join->profile->samples, entry,
				       made_on == freed_on ? BP_FREED_ON_ITS_PROCESSOR
							   : BP_FREED_ON_ANOTHER_PROCESSOR,
				       error);
}

static bool join_free(struct bp_trace_join *join, uint32_t entry,
	const struct bp_waiting_free *record, struct bp_error *error)
{
	struct bp_samples *samples = &join->profile->samples;
	const uint32_t beside = entry - join->first_sample;
	if (samples->freed[entry] !=
		0) /* Its sequence is so far ahead that it is still in the index. */
		return true;
	const struct bp_packed_row birth = bp_samples_birth(samples, entry);
	const bool told = join->is_told && clock_of(join)->count > 0;
	const uint64_t time_ns = told ? bp_packed_get(&join->beside, beside, BP_BESIDE_TIME)
				      : birth.column[BP_BIRTH_TIME];
	uint64_t free_sequence = below_never(record->sequence);
	uint64_t free_time_ns = below_never(record->time_ns);
	if (free_time_ns < time_ns)
		free_time_ns = time_ns;
	/* Threads are known by their ordinals until finish_samples, types and labels by their
	 * ids. */
	const struct bp_alike *alike = &samples->alike[birth.column[BP_BIRTH_ALIKE]];
	const bool temporary =
		!join->objects_uncounted && record->thread != 0 &&
		record->thread == alike->thread.i &&
		record->objects == bp_packed_get(&join->beside, beside, BP_BESIDE_OBJECTS);
	uint32_t how = temporary ? BP_FREED_TEMPORARY : 0;
	if (record->thread != 0 && alike->thread.i != 0)
		how |= record->thread == alike->thread.i ? BP_FREED_BY_ITS_THREAD
							 : BP_FREED_BY_ANOTHER;
	if (told)
		bp_import_tell_death(clock_of(join), time_ns, &free_time_ns, &free_sequence);
	if (!bp_samples_end(samples, entry, &birth, free_time_ns, free_sequence, how, error))
		return false;
	if (!join_processors(join, entry, record->processor, error))
		return false;
	uint32_t stack;
	return record->stack == 0 ||
	       (stack_of(join, record->stack, record->time_ns, &stack, error) &&
		       bp_samples_set_free_stack(samples, entry, stack, error));
}

/* As a folded part tells its birth. */
static void tell_birth(const struct bp_trace_join *join, struct bp_alike *alike, uint64_t *time_ns,
	uint64_t *sequence)
{
	struct bp_sample sample = bp_sample_of_alike(alike);
	sample.time_ns = *time_ns;
	sample.sequence = *sequence;
	bp_import_tell_birth(clock_of(join), join->reader->header.charge_bytes, &sample);
	*time_ns = sample.time_ns;
	*sequence = sample.sequence;
	alike->halves = sample.halves;
}

static bool add_sample(struct bp_trace_join *join, const struct bp_trace_sample *record,
	uint32_t entry, struct bp_error *error)
{
	uint64_t sequence = below_never(record->sequence), time_ns = below_never(record->time_ns);
	struct bp_packed_row beside = { { record->objects, 0, record->processor } };
	struct bp_alike alike = {
		.size = record->size,
		.usable = record->usable,
		.interval = record->interval == 0 ? 1 : record->interval,
		.process = join->process,
		.thread = { record->thread },
		.type = { record->type },
		.labels = { record->labels },
		.kind = record->kind < 16 ? record->kind : 0,
		.exact = record->exact,
		.bernoulli = record->law == BP_LAW_BERNOULLI,
	};
	uint32_t stack;
	assert(entry == join->profile->samples.count);
	if (clock_of(join)->count > 0) {
		beside.column[BP_BESIDE_TIME] = time_ns;
		tell_birth(join, &alike, &time_ns, &sequence);
	}
	if (!(join->is_told || join->has_processors
			    ? bp_packed_add(&join->beside, &beside, BP_BESIDE_COLUMNS)
			    : bp_packed_add(&join->beside, &beside, BP_BESIDE_TIME)))
		return no_memory(error);
	if (!stack_of(join, record->stack, record->time_ns, &stack, error) ||
		!bp_samples_begin(&join->profile->samples, &alike, time_ns, sequence, stack,
			record->offset, error))
		return false;
	bp_profile_tell_progress(join->profile);
	return true;
}

static bool add_free(struct bp_trace_join *join, const struct bp_trace_free *record, uint32_t entry,
	struct bp_error *error)
{
	struct bp_waiting_free waiting = {
		.sample_sequence = record->sample_sequence,
		.sequence = record->sequence,
		.time_ns = record->time_ns,
		.objects = record->objects,
		.thread = record->thread,
		.stack = record->stack,
		.processor = record->processor,
	};
	if (entry != BP_JOIN_WAITS)
		return join_free(join, entry, &waiting, error);
	if (!bp_vec_reserve(&join->waiting, &join->waiting_capacity,
		    (uint64_t)join->waiting_count + 1, sizeof *join->waiting))
		return no_memory(error);
	join->waiting[join->waiting_count++] = waiting;
	return true;
}

void bp_trace_join_resume(struct bp_trace_join *join)
{
	join->next_entry = join->profile->samples.count;
}

static uint32_t number_sample(struct bp_trace_join *join, const struct bp_trace_sample *record)
{
	struct bp_sample_index *index = &join->by_sequence;
	const uint64_t sequence = below_never(record->sequence);
	if (join->next_entry >= BP_JOIN_NO_MEMORY)
		return BP_JOIN_NO_MEMORY;
	if (bp_sample_index_put(index, sequence, join->next_entry))
		return join->next_entry++;
	if (bp_sample_index_has(index, sequence)) {
		join->repeated_samples++;
		return BP_JOIN_NOTHING;
	}
	return bp_sample_index_add(index, sequence, join->next_entry) ? join->next_entry++
								      : BP_JOIN_NO_MEMORY;
}

static uint32_t number_free(struct bp_trace_join *join, const struct bp_trace_free *record)
{
	struct bp_sample_index *index = &join->by_sequence;
	const uint64_t sample = record->sample_sequence;
	if (sample <= join->reader->header.parent_sequence)
		return BP_JOIN_NOTHING; /* An object of the parent's. */
	const uint32_t entry = bp_sample_index_find(index, sample);
	if (entry == BP_INDEX_NONE) /* It was freed before, or it has not come yet. */
		return bp_sample_index_has(index, sample) ? BP_JOIN_NOTHING : BP_JOIN_WAITS;
	if (record->sequence <= sample)
		return BP_JOIN_NOTHING;
	bp_sample_index_remove(index, sample);
	return entry;
}

static void tell_apart(const struct bp_trace_record *records, uint32_t count,
	struct bp_join_numbered *ret_numbered)
{
	uint32_t samples = 0, frees = 0, others = 0;
	for (uint32_t i = 0; i < count; i++) {
		const bool sample = records[i].tag == BP_TAG_SAMPLE;
		const bool free = records[i].tag == BP_TAG_FREE;
		ret_numbered->samples[samples] = (uint8_t)i;
		ret_numbered->frees[frees] = (uint8_t)i;
		ret_numbered->others[others] = (uint8_t)i;
		samples += sample;
		frees += free;
		others += !sample && !free;
	}
	ret_numbered->sample_count = samples;
	ret_numbered->free_count = frees;
	ret_numbered->other_count = others;
}
_Static_assert((int)BP_PROFILE_KIND_ALIGNED == (int)BP_KIND_ALIGNED, "one kind of two enums");
_Static_assert((int)BP_PROFILE_KIND_MAPPED == (int)BP_KIND_MMAP, "one kind of two enums");
_Static_assert(BP_JOIN_RECORDS <= UINT8_MAX + 1, "numbers of 8 bits");

/* Here and below, where it looks in memory is told to the processor some records before it looks.
 * (gcc takes a function that does nothing else for one without effect, and leaves it out: hence the
 * empty statements.) */
void bp_trace_join_number(struct bp_trace_join *join, const struct bp_trace_record *records,
	uint32_t count, struct bp_join_numbered *ret_numbered)
{
	tell_apart(records, count, ret_numbered);
	const uint8_t *samples = ret_numbered->samples, *frees = ret_numbered->frees;
	for (uint32_t i = 0; i < AHEAD && i < ret_numbered->free_count; i++)
		__builtin_prefetch(bp_sample_index_place(
			&join->by_sequence, records[frees[i]].free.sample_sequence));
	for (uint32_t i = 0; i < ret_numbered->sample_count; i++)
		ret_numbered->entries[samples[i]] =
			number_sample(join, &records[samples[i]].sample);
	for (uint32_t i = 0; i < ret_numbered->free_count; i++) {
		if (i + AHEAD < ret_numbered->free_count)
			__builtin_prefetch(bp_sample_index_place(&join->by_sequence,
				records[frees[i + AHEAD]].free.sample_sequence));
		ret_numbered->entries[frees[i]] = number_free(join, &records[frees[i]].free);
	}
}

/* A record, which another processor has just written: some two lines of its cache. */
static inline void fetch_record(const struct bp_trace_record *record)
{
	__builtin_prefetch(record);
	__builtin_prefetch((const char *)record + 64);
	__asm__ volatile("");
}

/* Of the entry that a free is about, what will be looked at. */
static inline void fetch_entry(const struct bp_trace_join *join, uint32_t entry)
{
	const struct bp_samples *samples = &join->profile->samples;
	const char *birth =
		entry < samples->count ? bp_packed_where(&samples->births, entry) : NULL;
	if (birth == NULL)
		return;
	__builtin_prefetch(birth);
	__builtin_prefetch(birth + BIRTH_BYTES); /* A row in four lies on two lines. */
	__builtin_prefetch(&samples->freed[entry], 1);
	__builtin_prefetch(bp_packed_where(&join->beside, entry - join->first_sample));
	__asm__ volatile("");
}

bool bp_trace_join_take(struct bp_trace_join *join, const struct bp_trace_record *records,
	const struct bp_join_numbered *numbered, struct bp_error *error)
{
	const uint8_t *samples = numbered->samples, *frees = numbered->frees;
	for (uint32_t i = 0; i < AHEAD && i < numbered->free_count; i++)
		fetch_entry(join, numbered->entries[frees[i]]);
	for (uint32_t i = 0; i < numbered->sample_count; i++) {
		const uint32_t entry = numbered->entries[samples[i]];
		if (i + RECORDS_AHEAD < numbered->sample_count)
			fetch_record(&records[samples[i + RECORDS_AHEAD]]);
		if (entry == BP_JOIN_NO_MEMORY)
			return no_memory(error);
		if (entry != BP_JOIN_NOTHING &&
			!add_sample(join, &records[samples[i]].sample, entry, error))
			return false;
	}
	for (uint32_t i = 0; i < numbered->free_count; i++) {
		const uint32_t entry = numbered->entries[frees[i]];
		if (i + RECORDS_AHEAD < numbered->free_count)
			fetch_record(&records[frees[i + RECORDS_AHEAD]]);
		if (i + AHEAD < numbered->free_count)
			fetch_entry(join, numbered->entries[frees[i + AHEAD]]);
		if (entry != BP_JOIN_NOTHING &&
			!add_free(join, &records[frees[i]].free, entry, error))
			return false;
	}
	return true;
}

bool bp_trace_join_finish(struct bp_trace_join *join, struct bp_error *error)
{
	for (uint32_t i = 0; i < join->waiting_count; i++) {
		const struct bp_waiting_free *waiting = &join->waiting[i];
		const uint32_t entry =
			bp_sample_index_find(&join->by_sequence, waiting->sample_sequence);
		if (entry == BP_INDEX_NONE || waiting->sequence <= waiting->sample_sequence)
			continue;
		bp_sample_index_remove(&join->by_sequence, waiting->sample_sequence);
		if (!join_free(join, entry, waiting, error))
			return false;
	}
	return true;
}

bool bp_trace_join_tell_stacks(const struct bp_trace_join *join,
	const struct bp_trace_stacks *stacks, struct bp_trace_jit *jit, struct bp_error *error)
{
	for (uint32_t i = 0; i < join->stack_number_count; i++) {
		const struct bp_stack_number *stack = &join->stack_numbers[i];
		struct bp_stack_id named;
		if (!bp_trace_jit_stack(jit, join->profile,
			    bp_trace_stacks_find(stacks, (uint32_t)stack->id),
			    join->jit != NULL ? (uint32_t)(stack->id >> 32) : UINT32_MAX, &named,
			    error))
			return false;
		bp_samples_set_stack(&join->profile->samples, stack->number, named);
	}
	return true;
}
