/* SPDX-License-Identifier: MIT */
/*
 * Stacks as frames, inlined ones included, and the frame a sample is attributed to: the innermost
 * one that is not an allocation function (allocators.h). Wrappers of the C library that allocate on
 * behalf of their caller (strdup, getline, fopen) are not skipped: they are where the memory goes.
 * In a stack with frames of Python it is the innermost of these, unless --frames says native.
 * Frames without a name that an allocation function of their module calls count as its own.
 */
#ifndef BP_QUERY_ATTRIBUTION_H
#define BP_QUERY_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/profile.h"

struct bp_attribution {
	const struct bp_profile *profile;
	uint64_t *first;	    /* into frames, by stack id; one more entry than stacks */
	struct bp_frame_id *frames; /* innermost first; 0: location without frames */
	bool *allocator;	    /* by frame id */
	bool has_python;	    /* there are frames of Python */
};

bool bp_attribution_init(struct bp_attribution *attribution, const struct bp_profile *profile,
	struct bp_error *error);
void bp_attribution_finish(struct bp_attribution *attribution);

/* The frames of a stack, innermost first. */
const struct bp_frame_id *bp_attribution_frames(
	const struct bp_attribution *attribution, struct bp_stack_id stack, uint32_t *ret_count);

/* Index of the attributed frame; the outermost one if all belong to allocators. The stack must not
 * be empty. */
uint32_t bp_attribution_index(const struct bp_attribution *attribution, struct bp_stack_id stack);

#endif
