/* SPDX-License-Identifier: MIT */
/*
 * The exact sums of `run --verify` (docs/trace-format.md 1.7) counts every object, beside the
 * samples and without changing them. There are two implementations, chosen by the build: verify.c
 * in the recorder that verifies, and verify_absent.c in the ordinary one, where these functions do
 * nothing. The functions for hooks are called by hooks/malloc_verify.c alone.
 *
 * Nothing here changes what the sampler does: it makes no trial, uses no sequence number, draws no
 * random number, and moves no object.
 */
#ifndef BP_RECORDER_VERIFY_H
#define BP_RECORDER_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For lifecycle.c. The bits of the header's flags_skippable that say whether there are exact
 * sums. */
uint64_t bp_verify_flags(void);
/* Bytes of memory that the exact sums have. */
uint64_t bp_verify_bytes(void);
/* Called around fork; in a child the sums begin empty. Its locks come before all others of the
 * fork handlers (base/lock.h). */
void bp_verify_lock(void);
void bp_verify_unlock(void);
void bp_verify_after_fork(void);

/* For the hooks: all are called outside a visit, and keep errno. NULL is allowed, and is no
 * object. */

/* The real function (or the cold path) has made an object of `size` bytes. */
void bp_verify_made(void *object, size_t size);

/* The real function failed, and no cold path was taken: the charge stays, because only a cold path
 * undoes it. */
void bp_verify_failed(size_t size);

/* The program frees an object. Called before the real free, because another thread may get the
 * address as soon as that has run. */
void bp_verify_freed(void *object);

/* The old object of a realloc, which is taken out of the table before the real realloc. */
struct bp_verify_old {
	void *object;
	uint64_t size, objects;
	uint32_t stack, thread;
	uint32_t generation; /* of the process: a child of a fork in between has sums of its own */
	bool counted;	     /* it was in the table */
	bool temporary;	     /* the rule of section 3.2 */
};
struct bp_verify_old bp_verify_take(void *object);
/* The realloc failed: puts the old object back. */
void bp_verify_put_back(const struct bp_verify_old *old);
/* The realloc succeeded: counts the free of the old object. bp_verify_made follows for the new
 * one. */
void bp_verify_freed_by_realloc(const struct bp_verify_old *old);

#endif
