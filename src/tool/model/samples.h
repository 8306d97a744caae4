/* SPDX-License-Identifier: MIT */
/*
 * How a profile keeps its samples: ten millions of them at 15 to 25 bytes each, where struct
 * bp_sample has 96. What is alike in many samples (sizes, T, thread, kind ...) is kept once and
 * named by a number; births and deaths are two packed tables (base/packed.h) in the order in which
 * they were added, which is the order of a trace: a death may come long after its birth, and finds
 * it by the number that adding the birth gave ("entry").
 *
 *	births	time, sequence, number of what is alike, number of the stack, offset
 *	freed	by entry: the number of its death and 1, and how it was freed; 0: never freed
 *	deaths	time, sequence, process
 *	free_stacks	by death: the number of the stack that freed; NULL: none is known
 *	freed_on	by death: BP_FREED_ON_...; NULL: no processor is known
 *	order	the entries in the order of samples; NULL: they came in it
 *
 * Both tables are shuffles of long ascending runs, which are noted as they come: sorting is merging
 * them (sample_runs.h). Life: zeroed memory, bp_samples_init; bp_samples_add and bp_samples_end;
 * bp_samples_sort; then reading. Called by profile.c and, for what it need not keep twice, by the
 * trace importer. Thread-safety: reading of what is sorted is safe from several threads.
 */
#ifndef BP_MODEL_SAMPLES_H
#define BP_MODEL_SAMPLES_H

#include "base/error.h"
#include "base/packed.h"
#include "model/id_index.h"
#include "model/sample.h"

/* What many samples have in common. */
struct bp_alike {
	uint64_t size, usable, interval;
	struct bp_process_id process;
	struct bp_thread_id thread;
	struct bp_type_id type;
	struct bp_labels_id labels;
	uint32_t kind : 4;
	bool exact : 1, bernoulli : 1, temporary : 1;
	uint32_t halves : 2;
	uint32_t more : 22;
	uint32_t count; /* of entries */
};

enum bp_birth_column {
	BP_BIRTH_TIME,
	BP_BIRTH_SEQUENCE,
	BP_BIRTH_ALIKE,
	BP_BIRTH_STACK,
	BP_BIRTH_OFFSET,
	BP_BIRTH_COLUMNS
};
enum bp_death_column { BP_DEATH_TIME, BP_DEATH_SEQUENCE, BP_DEATH_PROCESS, BP_DEATH_COLUMNS };
/* What is known of how an entry was freed, above the number of its death: it was temporary; the
 * thread that had allocated it freed it; another thread did. Neither of the last two: the thread is
 * not known. */
#define BP_FREED_TEMPORARY (1u << 31)
#define BP_FREED_BY_ITS_THREAD (1u << 30)
#define BP_FREED_BY_ANOTHER (1u << 29)
#define BP_FREED_NUMBER (BP_FREED_BY_ANOTHER - 1)
/* What bp_samples_how_freed has in place of that number: it was freed on the processor that it had
 * been allocated on; on another one. Neither of them: that is not known. */
#define BP_FREED_ON_ITS_PROCESSOR 1u
#define BP_FREED_ON_ANOTHER_PROCESSOR 2u

/* Where the ascending runs of a table begin. */
struct bp_runs {
	uint32_t *starts;
	uint32_t count, capacity;
	uint64_t last_time_ns, last_sequence;
	uint32_t last_process;
	bool tied; /* two neighbours were equal */
};

#define BP_ALIKE_FOUND_LOG2 10u
#define BP_ALIKE_FOUND (1u << BP_ALIKE_FOUND_LOG2)

struct bp_samples {
	uint32_t count; /* the empty one, number 0, included */
	/* Private to model/. */
	struct bp_packed births, deaths;
	uint32_t *freed, *order;
	uint32_t freed_capacity;
	uint32_t *free_stacks; /* deaths from free_stack_capacity on have no stack */
	uint32_t free_stack_capacity;
	uint8_t *freed_on; /* likewise */
	uint32_t freed_on_capacity;
	struct bp_runs birth_runs, death_runs;
	struct bp_alike *alike;
	uint32_t alike_count, alike_capacity;
	struct bp_id_index alike_index;
	uint32_t alike_found[BP_ALIKE_FOUND]; /* lately, by a cheaper hash */
	struct bp_stack_id *stacks;	      /* by the number of the stack */
	uint32_t stack_count, stack_capacity;
	uint32_t *stack_numbers; /* by stack: its number, 0: none yet */
	uint32_t stack_number_capacity;
	bool has_dead_born; /* a death was added that is not after its birth */
	/* By block of deaths and one more: the latest of all deaths before it. */
	uint64_t *deaths_until_ns, latest_death_ns;
	uint32_t deaths_until_capacity;
	uint64_t *latest_ns; /* by process: of all births and deaths */
	uint32_t latest_capacity;
};

bool bp_samples_init(struct bp_samples *samples, struct bp_error *error);
void bp_samples_finish(struct bp_samples *samples);

/* A number for a stack that will be known later: until then the empty one. bp_samples_set_stack
 * says it. */
bool bp_samples_new_stack(struct bp_samples *samples, uint32_t *ret_number, struct bp_error *error);
static inline void bp_samples_set_stack(
	struct bp_samples *samples, uint32_t number, struct bp_stack_id stack)
{
	samples->stacks[number] = stack;
}

/* The number of a stack of the profile. */
bool bp_samples_stack_number(struct bp_samples *samples, struct bp_stack_id stack,
	uint32_t *ret_number, struct bp_error *error);

/* Appends a birth: what it has in common with others (`count` is not looked at), and the rest;
 * `stack`: the number of its stack. The entry is the `count` before. */
bool bp_samples_begin(struct bp_samples *samples, const struct bp_alike *alike, uint64_t time_ns,
	uint64_t sequence, uint32_t stack, uint64_t offset, struct bp_error *error);

/* The same with its death, if it has one; the sample's own `stack` is not looked at. A T of 0
 * becomes 1. */
bool bp_samples_add(struct bp_samples *samples, const struct bp_sample *sample, uint32_t stack,
	struct bp_error *error);

/* The birth of an entry, as far as to what is alike. */
static inline struct bp_packed_row bp_samples_birth(
	const struct bp_samples *samples, uint32_t entry)
{
	return bp_packed_row_of(&samples->births, entry, BP_BIRTH_ALIKE + 1);
}

/* The end of an entry that has none yet and was born like this; `how`: bits BP_FREED_... above. */
bool bp_samples_end(struct bp_samples *samples, uint32_t entry, const struct bp_packed_row *birth,
	uint64_t free_time_ns, uint64_t free_sequence, uint32_t how, struct bp_error *error);

/* The number of the stack that freed an entry, which has an end. Memory for the stacks of frees is
 * taken by the first call, so that a profile without such stacks has none. */
bool bp_samples_set_free_stack(
	struct bp_samples *samples, uint32_t entry, uint32_t stack, struct bp_error *error);

/* BP_FREED_ON_... of an entry that has an end, with memory likewise. */
bool bp_samples_set_freed_on(
	struct bp_samples *samples, uint32_t entry, uint8_t freed_on, struct bp_error *error);

/* Puts samples in the order of their births: (time, process, sequence), then as added. */
bool bp_samples_sort(struct bp_samples *samples, struct bp_error *error);

static inline uint32_t bp_samples_entry(const struct bp_samples *samples, uint32_t i)
{
	return samples->order == NULL ? i : samples->order[i];
}

/* A sample of these, of which nothing else is known. */
static inline struct bp_sample bp_sample_of_alike(const struct bp_alike *alike)
{
	return (struct bp_sample){
		.size = alike->size,
		.usable = alike->usable,
		.interval = alike->interval,
		.free_sequence = BP_TIME_NEVER,
		.free_time_ns = BP_TIME_NEVER,
		.process = alike->process,
		.thread = alike->thread,
		.type = alike->type,
		.labels = alike->labels,
		.kind = alike->kind,
		.exact = alike->exact,
		.bernoulli = alike->bernoulli,
		.temporary = alike->temporary,
		.halves = alike->halves,
		.more = alike->more,
	};
}

/* The stack of death number `death` - 1; the empty one: it is not known. */
static inline struct bp_stack_id bp_samples_free_stack(
	const struct bp_samples *samples, uint32_t death)
{
	if (death > samples->free_stack_capacity)
		return (struct bp_stack_id){ 0 };
	return samples->stacks[samples->free_stacks[death - 1]];
}

/* The sample of an entry. */
static inline struct bp_sample bp_samples_of_entry(const struct bp_samples *samples, uint32_t entry)
{
	const struct bp_packed_row birth =
		bp_packed_row_of(&samples->births, entry, BP_BIRTH_COLUMNS);
	const uint32_t freed = samples->freed[entry];
	struct bp_sample sample = bp_sample_of_alike(&samples->alike[birth.column[BP_BIRTH_ALIKE]]);
	sample.time_ns = birth.column[BP_BIRTH_TIME];
	sample.sequence = birth.column[BP_BIRTH_SEQUENCE];
	sample.stack = samples->stacks[birth.column[BP_BIRTH_STACK]];
	sample.offset = birth.column[BP_BIRTH_OFFSET];
	if (freed != 0) {
		const struct bp_packed_row death =
			bp_packed_row_of(&samples->deaths, (freed & BP_FREED_NUMBER) - 1, 2);
		sample.free_time_ns = death.column[BP_DEATH_TIME];
		sample.free_sequence = death.column[BP_DEATH_SEQUENCE];
		sample.free_stack = bp_samples_free_stack(samples, freed & BP_FREED_NUMBER);
		sample.temporary = sample.temporary || (freed & BP_FREED_TEMPORARY) != 0;
	}
	return sample;
}

/* All deaths below this number came before a time: of most entries that died before it that is all
 * there is to ask. */
uint32_t bp_samples_dead_by(const struct bp_samples *samples, uint64_t time_ns);

static inline bool bp_samples_died_below(
	const struct bp_samples *samples, uint32_t entry, uint32_t dead)
{
	const uint32_t freed = samples->freed[entry] & BP_FREED_NUMBER;
	return freed != 0 && freed <= dead;
}

/* A walk over samples that were live at some moment between two times, and perhaps a few others:
 * nearly all that died long before are passed by without being looked at. */
struct bp_living {
	const struct bp_samples *samples;
	uint32_t next, end; /* samples */
	uint32_t dead;	    /* bp_samples_dead_by */
};

struct bp_living bp_samples_living(
	const struct bp_samples *samples, uint64_t first_ns, uint64_t last_ns);

/* The next entry; false: there is none. */
static inline bool bp_living_next(struct bp_living *walk, uint32_t *ret_entry)
{
	const uint32_t *order = walk->samples->order, *freed = walk->samples->freed;
	const uint32_t end = walk->end, dead = walk->dead;
	for (uint32_t i = walk->next; i < end; i++) {
		const uint32_t entry = order == NULL ? i : order[i];
		/* [One that was never freed, 0, becomes the largest number.] */
		if ((freed[entry] & BP_FREED_NUMBER) - 1 < dead)
			continue;
		walk->next = i + 1;
		*ret_entry = entry;
		return true;
	}
	walk->next = end;
	return false;
}

/* Where the death of sample i is, if there is one, for __builtin_prefetch. */
static inline const void *bp_samples_where(const struct bp_samples *samples, uint32_t i)
{
	if (i >= samples->count)
		return NULL;
	const uint32_t freed = samples->freed[bp_samples_entry(samples, i)] & BP_FREED_NUMBER;
	return freed == 0 ? NULL : bp_packed_where(&samples->deaths, freed - 1);
}
#define BP_SAMPLES_AHEAD 16u /* how early: some hundred nanoseconds */

/* How sample i < count was freed: bits BP_FREED_... but for the number. */
static inline uint32_t bp_samples_how_freed(const struct bp_samples *samples, uint32_t i)
{
	const uint32_t freed = samples->freed[bp_samples_entry(samples, i)];
	const uint32_t death = (freed & BP_FREED_NUMBER) - 1; /* never freed: the largest number */
	return (freed & ~BP_FREED_NUMBER) |
	       (death < samples->freed_on_capacity ? samples->freed_on[death] : 0u);
}

/* Sample i < count. */
static inline struct bp_sample bp_samples_get(const struct bp_samples *samples, uint32_t i)
{
	return bp_samples_of_entry(samples, bp_samples_entry(samples, i));
}

#endif
