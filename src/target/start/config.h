/* SPDX-License-Identifier: MIT */
/*
 * The recorder's settings (environment variables, trace/format.h) and what it finds out about its
 * process. This is the only reader of the environment inside the target.
 */
#ifndef BP_START_CONFIG_H
#define BP_START_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/writer/writer.h"

struct bp_config {
	char base[BP_PATH_BYTES]; /* absolute path of FILE; others go to base.d */
	uint64_t interval;	  /* bytes */
	uint64_t budget_ppm;	  /* of the process's CPU time, for an automatic interval */
	uint64_t start_time_ns;	  /* when sampling begins and ends, CLOCK_MONOTONIC; 0: not given */
	uint64_t stop_time_ns;
	uint64_t seed;
	uint32_t law;
	uint32_t follow_pid; /* 0: every process */
	bool seed_given;
	bool fine_start; /* no interval was given: `interval` is where the fine start ends */
	/* `interval` is where T begins; the process changes T to keep to its budget */
	bool automatic;
	bool dormant;	  /* sampling is off until it is switched on */
	bool own_times;	  /* the times are counted from the start of this image */
	uint8_t perturb;  /* the byte that glibc is set to fill freed memory with, 0: none */
	uint32_t python;  /* enum bp_python_wanted: what is recorded of CPython */
	bool mapped;	  /* calls that map memory are recorded */
	bool free_stacks; /* stacks of frees of sampled objects are recorded */
	uint32_t misread; /* bits of enum bp_variable: given, but not understood */
};

/* Returns the value of one variable, NULL if it is not set. `environment` is a NULL-terminated
 * array of NAME=VALUE strings; NULL means libc's, or /proc/self/environ before libc has set its
 * own. */
const char *bp_config_find(char **environment, const char *name);

/* Reads the environment (NULL as above). A wrong value counts as not set, and its bit is set in
 * `misread`. (The command line has checked the values that it sets.) */
void bp_config_read(char **environment, struct bp_config *ret_config);

/* Makes the name of a trace other than FILE itself: `<base>.d/<pid>.<number>.bpt`. `ret_name` has
 * room for BP_PATH_BYTES. */
void bp_config_trace_name(const char *base, uint32_t pid, uint32_t number, char *ret_name);

/* Writes the four strings of the trace header to `to`, which has room for BP_HEADER_MAX_BYTES, and
 * their lengths into the header. `malloc_address` is that of the real malloc. */
void bp_config_strings(struct bp_trace_header *header, char *to, uintptr_t malloc_address);

#endif
