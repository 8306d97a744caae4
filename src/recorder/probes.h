/* SPDX-License-Identifier: MIT */
/*
 * The one list of events that something outside may watch. Nothing in an ordinary build; in the test
 * build (libbytepoll-recorder-test.so) each committed sample is told to a second process, and what
 * reaches the real allocator is counted below the hooks (probes_test.c).
 */
#ifndef BP_RECORDER_PROBES_H
#define BP_RECORDER_PROBES_H

#include <stddef.h>
#include <stdint.h>

#ifdef BP_TEST_BUILD
void bp_probe_start(char **environment); /* the real functions are known */
void bp_probe_sample(uint64_t sequence); /* its record is committed */
void bp_probe_slot(size_t size);	 /* an object went to a slot, not to malloc */
#else
static inline void bp_probe_start(char **environment)
{
	(void)environment;
}
static inline void bp_probe_sample(uint64_t sequence)
{
	(void)sequence;
}
static inline void bp_probe_slot(size_t size)
{
	(void)size;
}
#endif

#endif
