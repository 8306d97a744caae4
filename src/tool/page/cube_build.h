/* SPDX-License-Identifier: MIT */
/*
 * A cube while it is built, shared by cube.c (samples into cells, coarsening), cube_stacks.c (which
 * stacks read alike, which are merged), cube_pack.c (what a reader sees) and cube_windows.c (what
 * is counted of windows of time). Private to them.
 */
#ifndef BP_PAGE_CUBE_BUILD_H
#define BP_PAGE_CUBE_BUILD_H

#include "aggregation/aggregation_state.h"
#include "model/id_index.h"
#include "page/cube.h"

struct bp_cube_key {
	uint32_t stack; /* into `stacks` of the build, or from stack_count on that + a frame */
	uint32_t thread, type_key;
	uint8_t size_class, made, freed, flags, number;
};

struct bp_cube_sum {
	struct bp_cube_key key;
	struct bp_sums record;
};

struct bp_cube_build {
	const struct bp_aggregation *aggregation;
	uint32_t cells_max, rung_number;
	struct bp_cube_sum *sums;
	uint32_t sum_count, sum_capacity;
	struct bp_id_index index; /* of sums, number + 1 */
	/* Stacks that read alike are one. */
	uint32_t *stack_of;	 /* by stack of the profile: its first equal */
	uint32_t *frame_of;	 /* by frame of the profile: its first equal */
	uint64_t *stack_samples; /* by stack; of selected samples */
	uint32_t stack_count;
	bool done; /* all samples are in it */
};

/* cube_stacks.c */
bool bp_cube_stacks_init(struct bp_cube_build *build, struct bp_error *error);
/* The stack it goes under at this rung. */
uint32_t bp_cube_stack_at(
	const struct bp_cube_build *build, const struct bp_cube_rung *rung, uint32_t stack);
bool bp_cube_pack_stacks(struct bp_cube *cube, struct bp_error *error);

/* cube_windows.c: fills whole, windows and outside. */
bool bp_cube_count_windows(struct bp_cube *cube, struct bp_error *error);
/* The bin in which a sample was made, and the one in which its object was freed. */
void bp_cube_bins_of(const struct bp_cube *cube, const struct bp_view *view,
	const struct bp_sample *sample, uint8_t *ret_made, uint8_t *ret_freed);

#endif
