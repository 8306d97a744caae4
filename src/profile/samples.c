/* SPDX-License-Identifier: MIT */
/* Filling the tables of samples, and putting them in order; see samples.h. */
#include "profile/samples.h"

#include <stdlib.h>
#include <string.h>

#include "profile/sample_runs.h"

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
	samples->births.columns = BP_BIRTH_COLUMNS;
	samples->deaths.columns = BP_DEATH_COLUMNS;
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

/* Notes where a run begins; `row` is the row that has this moment. */
static bool note_run(
	struct bp_runs *runs, uint32_t row, uint64_t time_ns, uint64_t sequence, uint32_t process)
{
	const struct bp_moment last = { runs->last_time_ns, runs->last_sequence,
		runs->last_process },
			       now = { time_ns, sequence, process };
	const bool begins = runs->count == 0 || bp_moment_before(&now, &last);
	if (!begins && !bp_moment_before(&last, &now))
		runs->tied = true;
	runs->last_time_ns = time_ns;
	runs->last_sequence = sequence;
	runs->last_process = process;
	if (!begins)
		return true;
	if (!bp_vec_reserve(&runs->starts, &runs->capacity, (uint64_t)runs->count + 1,
		    sizeof *runs->starts))
		return false;
	runs->starts[runs->count++] = row;
	return true;
}

static bool same(const struct bp_alike *alike, const struct bp_sample *sample)
{
	return alike->size == sample->size && alike->usable == sample->usable &&
	       alike->interval == sample->interval && alike->process.i == sample->process.i &&
	       alike->thread.i == sample->thread.i && alike->type.i == sample->type.i &&
	       alike->kind == sample->kind && alike->exact == sample->exact &&
	       alike->bernoulli == sample->bernoulli && alike->temporary == sample->temporary &&
	       alike->halves == sample->halves && alike->more == sample->more;
}

/* The number of what the sample has in common with others. */
static bool find_alike(
	struct bp_samples *samples, const struct bp_sample *sample, uint32_t *ret_number)
{
	struct bp_id_index *index = &samples->alike_index;
	const uint64_t bits = (uint64_t)sample->more << 16 | (uint64_t)sample->halves << 12 |
			      (uint64_t)sample->kind << 4 | (uint64_t)sample->exact << 3 |
			      (uint64_t)sample->bernoulli << 2 | (uint64_t)sample->temporary << 1;
	uint64_t key =
		bp_hash_word(sample->size ^ sample->usable << 32, sample->interval ^ bits << 24);
	key = bp_hash_word(key, (uint64_t)sample->process.i << 32 ^ (uint64_t)sample->type.i << 16 ^
					sample->thread.i);
	const uint32_t hash = bp_hash_fold(key);
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(index, hash, &position)) != 0)
		if (same(&samples->alike[id - 1], sample)) {
			*ret_number = id - 1;
			return true;
		}
	if (!bp_vec_reserve(&samples->alike, &samples->alike_capacity,
		    (uint64_t)samples->alike_count + 1, sizeof *samples->alike) ||
		!bp_id_index_reserve(index))
		return false;
	samples->alike[samples->alike_count] = (struct bp_alike){
		.size = sample->size,
		.usable = sample->usable,
		.interval = sample->interval,
		.process = sample->process,
		.thread = sample->thread,
		.type = sample->type,
		.kind = sample->kind & 15,
		.exact = sample->exact,
		.bernoulli = sample->bernoulli,
		.temporary = sample->temporary,
		.halves = sample->halves & 3,
		.more = sample->more & ((1u << 22) - 1),
	};
	bp_id_index_add(index, hash, samples->alike_count + 1);
	*ret_number = samples->alike_count++;
	return true;
}

static bool note_latest(struct bp_samples *samples, struct bp_process_id process, uint64_t time_ns)
{
	const uint32_t capacity = samples->latest_capacity;
	if (process.i >= capacity) {
		if (!bp_vec_reserve(&samples->latest_ns, &samples->latest_capacity,
			    (uint64_t)process.i + 1, sizeof *samples->latest_ns))
			return false;
		memset(samples->latest_ns + capacity, 0,
			(samples->latest_capacity - capacity) * sizeof *samples->latest_ns);
	}
	if (time_ns > samples->latest_ns[process.i])
		samples->latest_ns[process.i] = time_ns;
	return true;
}

bool bp_samples_add(struct bp_samples *samples, const struct bp_sample *from, uint32_t stack,
	struct bp_error *error)
{
	struct bp_sample sample = *from;
	const uint32_t entry = samples->count;
	uint32_t alike;
	if (sample.interval == 0)
		sample.interval = 1;
	if (!bp_vec_reserve(&samples->freed, &samples->freed_capacity, (uint64_t)entry + 1,
		    sizeof *samples->freed) ||
		!find_alike(samples, &sample, &alike) ||
		!note_latest(samples, sample.process, sample.time_ns) ||
		!note_run(&samples->birth_runs, entry, sample.time_ns, sample.sequence,
			sample.process.i))
		return no_memory(error);
	const struct bp_packed_row row = { { sample.time_ns, sample.sequence, alike, stack,
		sample.offset } };
	samples->freed[entry] = 0;
	if (!bp_packed_add(&samples->births, &row))
		return no_memory(error);
	samples->alike[alike].count++;
	samples->count++;
	return sample.free_time_ns == BP_TIME_NEVER ||
	       bp_samples_end(
		       samples, entry, sample.free_time_ns, sample.free_sequence, false, error);
}

bool bp_samples_end(struct bp_samples *samples, uint32_t entry, uint64_t free_time_ns,
	uint64_t free_sequence, bool temporary, struct bp_error *error)
{
	const uint32_t alike = (uint32_t)bp_packed_get(&samples->births, entry, BP_BIRTH_ALIKE);
	const struct bp_process_id process = samples->alike[alike].process;
	const struct bp_packed_row row = { { free_time_ns, free_sequence, process.i, temporary } };
	if (!note_latest(samples, process, free_time_ns) ||
		!note_run(&samples->death_runs, samples->deaths.count, free_time_ns, free_sequence,
			process.i) ||
		!bp_packed_add(&samples->deaths, &row))
		return no_memory(error);
	samples->freed[entry] = samples->deaths.count;
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
