/* SPDX-License-Identifier: MIT */
/*
 * The way from a trial for every byte to one comparison with a combined limit, step by step: the
 * explanation of docs/embedding.md as code that runs. It is that of .NET's design document
 * (dotnet/runtime, docs/design/features/RandomizedAllocationSampling.md, "Implementation design").
 * Each step does what the one before does, sooner. The forms of include/bytepoll are held against
 * them; nothing of src/sampler but its generator is used here. For tests only.
 *
 * Every object of `size` bytes makes `size` trials until one succeeds.
 */
#ifndef BP_TESTS_SAMPLER_STEPS_H
#define BP_TESTS_SAMPLER_STEPS_H

#include <stdbool.h>
#include <stdint.h>

enum step {
	STEP_TRIALS,  /* 1: a coin for every byte, thrown when it is needed */
	STEP_BATCHES, /* 2: coins thrown a hundred at a time */
	STEP_RUNS, /* 3: a batch is a number: failures before a success, still thrown one by one */
	STEP_GEOMETRIC,	 /* 4: that number is drawn at once */
	STEP_OBJECTS,	 /* 5: an object takes its failures off at once */
	STEP_TWO_LIMITS, /* 6: the number is an address, a second limit */
	STEP_COMBINED,	 /* 7: both limits are one, the sampling limit is kept (explicit) */
	STEP_IMPLICIT,	 /* 8: the sampling limit is drawn anew on every slow path: .NET's */
	STEP_COUNT
};

#define STEP_BATCH 100

/* A thread: the generator, what the steps keep, and a context as the GC gives it. */
struct step_thread {
	enum step step;
	uint64_t random[4];
	uint64_t interval;
	bool batch[STEP_BATCH]; /* STEP_BATCHES */
	unsigned batch_left;
	uint64_t failures;		   /* STEP_RUNS to STEP_OBJECTS: before the next success */
	uint64_t pointer, end;		   /* from STEP_TWO_LIMITS on */
	uint64_t sampling_limit, combined; /* where they exist */
	uint64_t context_bytes, refills;
};

void step_init(struct step_thread *thread, enum step step, uint64_t seed, uint64_t interval,
	uint64_t context_bytes);

/* Allocates an object of `size` >= 1 bytes. True: it was sampled, at the 0-based `ret_offset`. */
bool step_allocate(struct step_thread *thread, uint64_t size, uint64_t *ret_offset);

const char *step_name(enum step step);

#endif
