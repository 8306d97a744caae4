/* SPDX-License-Identifier: MIT */
/*
 * The list of events that tests watch (tracers have tracepoints.h). In an ordinary build these
 * functions do nothing. In the test build (libbytepoll-recorder-test.so) each committed sample is
 * sent to a second process, the calls that reach the real allocator are counted below the hooks,
 * slots in use are counted, and the recorder's system calls can be made to fail
 * (test_points_sent.c).
 */
#ifndef BP_PROBES_TEST_POINTS_H
#define BP_PROBES_TEST_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef BP_TEST_BUILD
void bp_probe_start(char **environment); /* the real functions are known */
void bp_probe_sample(uint64_t sequence); /* its record is committed */
void bp_probe_slot(size_t size);	 /* an object went to a slot, not to malloc */
void bp_probe_slots_in_use(int change);
bool bp_probe_fails(long number); /* shall this system call fail, with ENOMEM? */
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
static inline void bp_probe_slots_in_use(int change)
{
	(void)change;
}
static inline bool bp_probe_fails(long number)
{
	(void)number;
	return false;
}
#endif

#endif
