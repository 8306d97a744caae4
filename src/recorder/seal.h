/* SPDX-License-Identifier: MIT */
/*
 * A process that gives up system calls (seccomp); bp_recorder.seal says which, the milder forms first.
 * Thread-safe.
 */
#ifndef BP_RECORDER_SEAL_H
#define BP_RECORDER_SEAL_H

#include <stdbool.h>
#include <stddef.h>

enum bp_seal {
	BP_SEAL_NONE,
	BP_SEAL_CHILDREN, /* children open no trace of their own, and new images are not noted */
	BP_SEAL_FILES,	  /* nor is the trace opened again: it ends where what is mapped ends */
	BP_SEAL_ALL /* none is made, by any thread: nothing is sampled any more; objects and bytes
			   * go on being counted, and so are the samples that would have been */
};

/* Before the system calls go; gives what was in force, for bp_recorder_unseal should they stay after
 * all. Never makes the form milder. */
enum bp_seal bp_recorder_seal(enum bp_seal seal);
void bp_recorder_unseal(enum bp_seal before);

/* A charge of `size` bytes borrowed in a sealed process, outside a visit. */
void bp_seal_charge(size_t size);

/* The calling thread ends in a sealed process: what it made is published. */
void bp_seal_thread_end(void);

#endif
