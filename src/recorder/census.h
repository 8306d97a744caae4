/* SPDX-License-Identifier: MIT */
/*
 * The census (docs/trace-format.md 1.7): every object counted, beside the samples and without
 * touching them. There are two implementations, chosen by the build: census.c in the recorder that verifies,
 * no_census.c in the ordinary one, where all of this does nothing. The hooks that call the second half
 * are those of hooks/malloc_verify.c; hooks/malloc.c knows nothing of it.
 *
 * Nothing here changes what the sampler does: no trial is made, no number of the order of events is
 * used, no generator asked, no object moved.
 */
#ifndef BP_RECORDER_CENSUS_H
#define BP_RECORDER_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For lifecycle.c. What the header's flags_skippable says of a census. */
uint64_t bp_census_flags(void);
/* Bytes held for it. */
uint64_t bp_census_bytes(void);
/* Around fork; in a child it begins empty. Taken before every other lock. */
void bp_census_lock(void);
void bp_census_unlock(void);
void bp_census_after_fork(void);

/* For the hooks, all outside a visit; errno is kept. NULL is no object. */

/* The real function (or the cold path) made an object of `size` bytes. */
void bp_census_made(void *object, size_t size);

/* The real function alone failed to: the charge stands, as no cold path has undone it. */
void bp_census_failed(size_t size);

/* The program frees an object: called before the real free, since its address may be somebody else's
 * as soon as that has run. */
void bp_census_freed(void *object);

/* The old object of a realloc, taken out before it. */
struct bp_census_old {
	void *object;
	uint64_t size, objects;
	uint32_t stack, thread;
	uint32_t generation; /* of the process: a child made meanwhile has a census of its own */
	bool counted;	     /* it was there */
	bool temporary;	     /* the rule of section 3.2 */
};
struct bp_census_old bp_census_take(void *object);
/* The realloc failed: as if nothing had been. */
void bp_census_put_back(const struct bp_census_old *old);
/* It did not: the old object is freed, and then the new one is made. */
void bp_census_freed_by_realloc(const struct bp_census_old *old);

#endif
