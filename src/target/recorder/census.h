/* SPDX-License-Identifier: MIT */
/*
 * The census (docs/trace-format.md 1.7) counts every object, beside the samples and without
 * changing them. There are two implementations, chosen by the build: census.c in the recorder that
 * verifies, and no_census.c in the ordinary one, where these functions do nothing. The functions
 * for hooks are called by hooks/malloc_verify.c alone.
 *
 * Nothing here changes what the sampler does: it makes no trial, uses no sequence number, draws no
 * random number, and moves no object.
 */
#ifndef BP_RECORDER_CENSUS_H
#define BP_RECORDER_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For lifecycle.c. The bits of the header's flags_skippable that say whether there is a census. */
uint64_t bp_census_flags(void);
/* Bytes of memory that the census has. */
uint64_t bp_census_bytes(void);
/* Called around fork; in a child the census begins empty. Its locks come before all others of the
 * fork handlers (base/lock.h). */
void bp_census_lock(void);
void bp_census_unlock(void);
void bp_census_after_fork(void);

/* For the hooks: all are called outside a visit, and keep errno. NULL is allowed, and is no
 * object. */

/* The real function (or the cold path) has made an object of `size` bytes. */
void bp_census_made(void *object, size_t size);

/* The real function failed, and no cold path was taken: the charge stays, because only a cold path
 * undoes it. */
void bp_census_failed(size_t size);

/* The program frees an object. Called before the real free, because another thread may get the
 * address as soon as that has run. */
void bp_census_freed(void *object);

/* The old object of a realloc, which is taken out of the table before the real realloc. */
struct bp_census_old {
	void *object;
	uint64_t size, objects;
	uint32_t stack, thread;
	uint32_t generation; /* of the process: a child of a fork in between has a census of its own */
	bool counted;	     /* it was in the table */
	bool temporary;	     /* the rule of section 3.2 */
};
struct bp_census_old bp_census_take(void *object);
/* The realloc failed: puts the old object back. */
void bp_census_put_back(const struct bp_census_old *old);
/* The realloc succeeded: counts the free of the old object. bp_census_made follows for the new
 * one. */
void bp_census_freed_by_realloc(const struct bp_census_old *old);

#endif
