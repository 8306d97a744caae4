/* SPDX-License-Identifier: MIT */
/*
 * Processes that give up system calls (seccomp). bp_recorder.seal says which calls the recorder
 * must not make any more; the values are ordered from the mildest to the strictest. Thread-safe.
 */
#ifndef BP_RECORDER_STEERING_SEAL_H
#define BP_RECORDER_STEERING_SEAL_H

#include <stdbool.h>
#include <stddef.h>

enum bp_seal {
	BP_SEAL_NONE,
	BP_SEAL_CHILDREN, /* children open no trace of their own, and new images are not recorded */
	BP_SEAL_FILES,	  /* also, the trace is not opened again: it ends where its mapping ends */
	BP_SEAL_ALL /* no thread makes any call: nothing is sampled any more; objects and bytes are
			   * still counted, and so are the samples that would have been made */
};

/* Called before the system calls are given up. Returns the value from before, for
 * bp_recorder_unseal if the kernel refuses. Never makes the value milder. */
enum bp_seal bp_recorder_seal(enum bp_seal seal);
void bp_recorder_unseal(enum bp_seal before);

/* A charge of `size` bytes borrowed in a sealed process, outside a visit. */
void bp_seal_charge(size_t size);

/* The calling thread ends in a sealed process: publishes its counters. */
void bp_seal_thread_end(void);

#endif
