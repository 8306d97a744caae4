/* SPDX-License-Identifier: MIT */
/* Filling the tables of samples, and putting them in order; see samples.h. */
#include "model/samples.h"

#include <stdlib.h>
#include <string.h>

#include "model/sample_runs.h"

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory: there are too many samples; use a machine with "
				   "more memory, or a larger sampling interval");
}

bool bp_samples_init(struct bp_samples *samples, struct bp_error *error)
{
	const struct bp_sample empty = { .free_time_ns = BP_TIME_NEVER,
		.free_sequence = BP_TIME_NEVER };
	memset(samples, 0, sizeof *samples);
	uint32_t number;
	if (!bp_samples_new_stack(samples, &number, error) ||
		!bp_samples_add(samples, &empty, number, error)) {
		bp_samples_finish(samples);
		return false;
	}
	/* Number 0 is in no run. */
	samples->birth_runs.count = 0;
	return true;
}

void bp_samples_finish(struct bp_samples *samples)
{
	bp_packed_finish(&samples->births);
	bp_packed_finish(&samples->deaths);
	free(samples->freed);
	free(samples->free_stacks);
	free(samples->freed_on);
	free(samples->deaths_until_ns);
	free(samples->order);
	free(samples->birth_runs.starts);
	free(samples->death_runs.starts);
	free(samples->alike);
	bp_id_index_finish(&samples->alike_index);
	free(samples->stacks);
	free(samples->stack_numbers);
	free(samples->latest_ns);
	memset(samples, 0, sizeof *samples);
}

bool bp_samples_new_stack(struct bp_samples *samples, uint32_t *ret_number, struct bp_error *error)
{
	if (!bp_vec_reserve(&samples->stacks, &samples->stack_capacity,
		    (uint64_t)samples->stack_count + 1, sizeof *samples->stacks))
		return no_memory(error);
	samples->stacks[samples->stack_count].i = 0;
	*ret_number = samples->stack_count++;
	return true;
}

bool bp_samples_stack_number(struct bp_samples *samples, struct bp_stack_id stack,
	uint32_t *ret_number, struct bp_error *error)
{
	const uint32_t capacity = samples->stack_number_capacity;
	*ret_number = 0;
	if (stack.i == 0)
		return true;
	if (!bp_vec_reserve(&samples->stack_numbers, &samples->stack_number_capacity,
		    (uint64_t)stack.i + 1, sizeof *samples->stack_numbers))
		return no_memory(error);
	memset(samples->stack_numbers + capacity, 0,
		(samples->stack_number_capacity - capacity) * sizeof *samples->stack_numbers);
	uint32_t *number = &samples->stack_numbers[stack.i];
	if (*number == 0 && !bp_samples_new_stack(samples, number, error))
		return false;
	samples->stacks[*number] = stack;
	*ret_number = *number;
	return true;
}

/* Begins a run at `row` if its moment is before the last one. */
static __attribute__((noinline)) bool compare_to_run(
	struct bp_runs *runs, uint32_t row, uint64_t time_ns, uint64_t sequence, uint32_t process)
{
	const struct bp_moment last = { runs->last_time_ns, runs->last_sequence,
		runs->last_process },
			       now = { time_ns, sequence, process };
	const bool begins = runs->count == 0 || bp_moment_before(&now, &last);
	if (!begins && !bp_moment_before(&last, &now))
		runs->tied = true;
	if (!begins)
		return true;
	if (!bp_vec_reserve(&runs->starts, &runs->capacity, (uint64_t)runs->count + 1,
		    sizeof *runs->starts))
		return false;
	runs->starts[runs->count++] = row;
	return true;
}

/* Notes where a run begins; `row` is the row that has this moment. */
static inline bool note_run(
	struct bp_runs *runs, uint32_t row, uint64_t time_ns, uint64_t sequence, uint32_t process)
{
	if ((time_ns <= runs->last_time_ns || runs->count == 0) &&
		!compare_to_run(runs, row, time_ns, sequence, process))
		return false;
	runs->last_time_ns = time_ns;
	runs->last_sequence = sequence;
	runs->last_process = process;
	return true;
}

/* (Most are: so all is compared at once, and then asked.) */
static inline bool same(const struct bp_alike *a, const struct bp_alike *b)
{
	const uint64_t differ = (a->size ^ b->size) | (a->usable ^ b->usable) |
				(a->interval ^ b->interval) | (a->process.i ^ b->process.i) |
				(a->thread.i ^ b->thread.i) | (a->type.i ^ b->type.i) |
				(a->labels.i ^ b->labels.i);
	return differ == 0 && a->kind == b->kind && a->exact == b->exact &&
	       a->bernoulli == b->bernoulli && a->temporary == b->temporary &&
	       a->halves == b->halves && a->more == b->more;
}

/* Where it was found the last time, if that was it. */
static uint32_t *lately_found(struct bp_samples *samples, const struct bp_alike *wanted)
{
	const uint64_t key = wanted->size ^ wanted->usable << 20 ^ (uint64_t)wanted->thread.i << 40;
	return &samples->alike_found[key * 0x9E3779B97F4A7C15u >> (64 - BP_ALIKE_FOUND_LOG2)];
}

/* The number of what a sample has in common with others. */
static bool look_up_alike(
	struct bp_samples *samples, const struct bp_alike *wanted, uint32_t *ret_number)
{
	struct bp_id_index *index = &samples->alike_index;
	const uint64_t bits = (uint64_t)wanted->more << 16 | (uint64_t)wanted->halves << 12 |
			      (uint64_t)wanted->kind << 4 | (uint64_t)wanted->exact << 3 |
			      (uint64_t)wanted->bernoulli << 2 | (uint64_t)wanted->temporary << 1;
	uint64_t key =
		bp_hash_word(wanted->size ^ wanted->usable << 32, wanted->interval ^ bits << 24);
	key = bp_hash_word(key, (uint64_t)wanted->process.i << 32 ^ (uint64_t)wanted->type.i << 16 ^
					wanted->thread.i);
	if (wanted->labels.i != 0)
		key = bp_hash_word(key, wanted->labels.i);
	const uint32_t hash = bp_hash_fold(key);
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(index, hash, &position)) != 0)
		if (same(&samples->alike[id - 1], wanted)) {
			*ret_number = id - 1;
			return true;
		}
	if (!bp_vec_reserve(&samples->alike, &samples->alike_capacity,
		    (uint64_t)samples->alike_count + 1, sizeof *samples->alike) ||
		!bp_id_index_reserve(index))
		return false;
	samples->alike[samples->alike_count] = *wanted;
	samples->alike[samples->alike_count].count = 0;
	bp_id_index_add(index, hash, samples->alike_count + 1);
	*ret_number = samples->alike_count++;
	return true;
}

static inline bool find_alike(
	struct bp_samples *samples, const struct bp_alike *wanted, uint32_t *ret_number)
{
	uint32_t *lately = lately_found(samples, wanted);
	if (*lately >= samples->alike_count || !same(&samples->alike[*lately], wanted)) {
		uint32_t number;
		if (!look_up_alike(samples, wanted, &number))
			return false;
		*lately = number;
	}
	*ret_number = *lately;
	return true;
}

static bool make_latest(struct bp_samples *samples, struct bp_process_id process)
{
	const uint32_t capacity = samples->latest_capacity;
	if (!bp_vec_reserve(&samples->latest_ns, &samples->latest_capacity, (uint64_t)process.i + 1,
		    sizeof *samples->latest_ns))
		return false;
	memset(samples->latest_ns + capacity, 0,
		(samples->latest_capacity - capacity) * sizeof *samples->latest_ns);
	return true;
}

static inline bool note_latest(
	struct bp_samples *samples, struct bp_process_id process, uint64_t time_ns)
{
	if (process.i >= samples->latest_capacity && !make_latest(samples, process))
		return false;
	if (time_ns > samples->latest_ns[process.i])
		samples->latest_ns[process.i] = time_ns;
	return true;
}

bool bp_samples_begin(struct bp_samples *samples, const struct bp_alike *alike, uint64_t time_ns,
	uint64_t sequence, uint32_t stack, uint64_t offset, struct bp_error *error)
{
	const uint32_t entry = samples->count;
	uint32_t number;
	if (!bp_vec_reserve(&samples->freed, &samples->freed_capacity, (uint64_t)entry + 1,
		    sizeof *samples->freed) ||
		!find_alike(samples, alike, &number) ||
		!note_latest(samples, alike->process, time_ns) ||
		!note_run(&samples->birth_runs, entry, time_ns, sequence, alike->process.i))
		return no_memory(error);
	const struct bp_packed_row row = { { time_ns, sequence, number, stack, offset } };
	samples->freed[entry] = 0;
	if (!bp_packed_add(&samples->births, &row, BP_BIRTH_COLUMNS))
		return no_memory(error);
	samples->alike[number].count++;
	samples->count++;
	return true;
}

bool bp_samples_add(struct bp_samples *samples, const struct bp_sample *sample, uint32_t stack,
	struct bp_error *error)
{
	const uint32_t entry = samples->count;
	const struct bp_alike alike = {
		.size = sample->size,
		.usable = sample->usable,
		.interval = sample->interval == 0 ? 1 : sample->interval,
		.process = sample->process,
		.thread = sample->thread,
		.type = sample->type,
		.labels = sample->labels,
		.kind = sample->kind & 15,
		.exact = sample->exact,
		.bernoulli = sample->bernoulli,
		.temporary = sample->temporary,
		.halves = sample->halves & 3,
		.more = sample->more & ((1u << 22) - 1),
	};
	if (!bp_samples_begin(samples, &alike, sample->time_ns, sample->sequence, stack,
		    sample->offset, error))
		return false;
	if (sample->free_time_ns == BP_TIME_NEVER)
		return true;
	const struct bp_packed_row birth = bp_samples_birth(samples, entry);
	return bp_samples_end(
		samples, entry, &birth, sample->free_time_ns, sample->free_sequence, 0, error);
}

/* Of each block of deaths that begins: no death before it came later than this. */
static bool note_deaths(struct bp_samples *samples)
{
	const uint32_t block = samples->deaths.count >> BP_PACKED_ROWS_LOG2;
	if ((samples->deaths.count & (BP_PACKED_ROWS - 1)) != 0)
		return true;
	if (!bp_vec_reserve(&samples->deaths_until_ns, &samples->deaths_until_capacity,
		    (uint64_t)block + 1, sizeof *samples->deaths_until_ns))
		return false;
	samples->deaths_until_ns[block] = samples->latest_death_ns;
	return true;
}

bool bp_samples_end(struct bp_samples *samples, uint32_t entry, const struct bp_packed_row *birth,
	uint64_t free_time_ns, uint64_t free_sequence, uint32_t how, struct bp_error *error)
{
	const uint64_t time_ns = birth->column[BP_BIRTH_TIME];
	const struct bp_process_id process = samples->alike[birth->column[BP_BIRTH_ALIKE]].process;
	const struct bp_packed_row row = { { free_time_ns, free_sequence, process.i } };
	if (free_time_ns < time_ns ||
		(free_time_ns == time_ns && free_sequence <= birth->column[BP_BIRTH_SEQUENCE]))
		samples->has_dead_born = true;
	if (samples->deaths.count >= BP_FREED_NUMBER || !note_deaths(samples) ||
		!note_latest(samples, process, free_time_ns) ||
		!note_run(&samples->death_runs, samples->deaths.count, free_time_ns, free_sequence,
			process.i) ||
		!bp_packed_add(&samples->deaths, &row, BP_DEATH_COLUMNS))
		return no_memory(error);
	if (free_time_ns > samples->latest_death_ns)
		samples->latest_death_ns = free_time_ns;
	samples->freed[entry] = samples->deaths.count | how;
	return true;
}

bool bp_samples_set_free_stack(
	struct bp_samples *samples, uint32_t entry, uint32_t stack, struct bp_error *error)
{
	const uint32_t capacity = samples->free_stack_capacity;
	const uint32_t death = samples->freed[entry] & BP_FREED_NUMBER;
	if (!bp_vec_reserve(&samples->free_stacks, &samples->free_stack_capacity, death,
		    sizeof *samples->free_stacks))
		return no_memory(error);
	memset(samples->free_stacks + capacity, 0,
		(samples->free_stack_capacity - capacity) * sizeof *samples->free_stacks);
	samples->free_stacks[death - 1] = stack;
	return true;
}

bool bp_samples_set_freed_on(
	struct bp_samples *samples, uint32_t entry, uint8_t freed_on, struct bp_error *error)
{
	const uint32_t capacity = samples->freed_on_capacity;
	const uint32_t death = samples->freed[entry] & BP_FREED_NUMBER;
	if (!bp_vec_reserve(&samples->freed_on, &samples->freed_on_capacity, death,
		    sizeof *samples->freed_on))
		return no_memory(error);
	memset(samples->freed_on + capacity, 0,
		(samples->freed_on_capacity - capacity) * sizeof *samples->freed_on);
	samples->freed_on[death - 1] = freed_on;
	return true;
}

bool bp_samples_sort(struct bp_samples *samples, struct bp_error *error)
{
	struct bp_sample_runs merge;
	free(samples->order);
	samples->order = NULL;
	if (samples->birth_runs.count <= 1)
		return true;
	uint32_t *order = malloc((size_t)samples->count * sizeof *order);
	if (order == NULL || !bp_sample_runs_births(&merge, samples)) {
		free(order);
		return no_memory(error);
	}
	order[0] = 0;
	uint32_t i = 1;
	for (; merge.active > 0; i++) {
		order[i] = merge.heap[0].row;
		bp_sample_runs_next(&merge);
	}
	bp_sample_runs_finish(&merge);
	samples->order = order;
	return true;
}

/* The first sample after a time. */
static uint32_t first_after(const struct bp_samples *samples, uint64_t time_ns)
{
	uint32_t low = 1, high = samples->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (bp_packed_get(&samples->births, bp_samples_entry(samples, middle),
			    BP_BIRTH_TIME) <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t bp_samples_dead_by(const struct bp_samples *samples, uint64_t time_ns)
{
	const uint32_t count = samples->deaths.count;
	uint32_t block = count == 0 ? 0 : (count - 1) >> BP_PACKED_ROWS_LOG2;
	while (block > 0 && samples->deaths_until_ns[block] >= time_ns)
		block--;
	return block << BP_PACKED_ROWS_LOG2;
}

struct bp_living bp_samples_living(
	const struct bp_samples *samples, uint64_t first_ns, uint64_t last_ns)
{
	return (struct bp_living){ .samples = samples,
		.next = 1,
		.end = first_after(samples, last_ns),
		.dead = bp_samples_dead_by(samples, first_ns) };
}
