/* SPDX-License-Identifier: MIT */
/*
 * Processes that give up system calls (seccomp). bp_recorder.seal says which calls the recorder
 * must not make any more; the values are ordered from the mildest to the strictest. Thread-safe.
 */
#ifndef BP_RECORDER_STEERING_SEAL_H
#define BP_RECORDER_STEERING_SEAL_H

#include <stddef.h>

#include "recorder/recorder.h"

/* Called before the system calls are given up. Returns the value from before, for
 * bp_recorder_unseal if the kernel refuses. Never makes the value milder. */
enum bp_seal bp_recorder_seal(enum bp_seal seal);
void bp_recorder_unseal(enum bp_seal before);

/* A charge of `size` bytes borrowed in a sealed process, outside a visit. */
void bp_seal_charge(size_t size);

/* The calling thread ends in a sealed process: publishes its counters. */
void bp_seal_thread_end(void);

#endif
