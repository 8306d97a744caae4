/* SPDX-License-Identifier: MIT */
/*
 * Small profiles made by hand, for the tests of profile/ and report/: processes, stacks of named
 * functions and samples in a line each. Everything asserts success.
 */
#ifndef BP_TESTS_SMALL_PROFILE_H
#define BP_TESTS_SMALL_PROFILE_H

#include "aggregation/aggregate.h"
#include "model/profile.h"

#define SMALL_BASE_NS 1000000000000u /* start of the first process */
#define SMALL_SECOND 1000000000u

void small_init(struct bp_profile *profile);

struct bp_string_id small_string(struct bp_profile *profile, const char *text);

/* A process that started `start_s` and ended `end_s` seconds after the first one, with interval T;
 * its totals are unknown until set. `number` makes its trace id, `parent` that of its parent. */
struct bp_process_id small_process(struct bp_profile *profile, uint32_t pid, unsigned number,
	unsigned parent, double start_s, double end_s, uint64_t interval);

/* Counted totals: exact if low == high. */
void small_totals(struct bp_profile *profile, struct bp_process_id process, uint64_t bytes_low,
	uint64_t bytes_high, uint64_t objects_low, uint64_t objects_high);

struct bp_thread_id small_thread(struct bp_profile *profile, struct bp_process_id process,
	uint32_t ordinal, const char *name);

/* A stack of functions, "inner;outer;outermost", each with file NAME.c and as line its length; a
 * name with '@' is inlined into the next one. */
struct bp_stack_id small_stack(struct bp_profile *profile, const char *functions);

/* A sample of `size` bytes allocated at `time_s` and freed at `free_s` (negative: never). Valid
 * until the next one; its number in `added` is the number of the samples so far. */
struct bp_sample *small_sample(struct bp_profile *profile, struct bp_process_id process,
	struct bp_stack_id stack, uint64_t size, double time_s, double free_s);

/* Finishes the import and aggregates. */
struct bp_aggregation small_aggregate(struct bp_profile *profile, const struct bp_query *query);

/* The row of this name; fails the test if there is none. */
struct bp_row small_row(const struct bp_aggregation *aggregation, const char *name);
bool small_has_row(const struct bp_aggregation *aggregation, const char *name);

/* Ten seconds of a program at T = 1. Live at exit: 100 + 30 + 7; allocated 100 + 50 + 30 + 64 + 7 =
 * 251 in 5 objects; peak at 5 s: 100 + 30 + 64 = 194; temporary: 64. */
struct bp_process_id small_exact(struct bp_profile *profile);

/* Is the figure known, and this? */
void small_assert_exact(struct bp_figure figure, double value);

/* Does a warning contain this? */
bool small_has_warning(const struct bp_aggregation *aggregation, const char *part);

#endif
