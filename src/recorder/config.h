/* SPDX-License-Identifier: MIT */
/*
 * What the recorder is told (environment variables, trace/format.h) and what it finds out about its
 * process. The only reader of the environment inside the target.
 */
#ifndef BP_RECORDER_CONFIG_H
#define BP_RECORDER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/writer.h"

struct bp_config {
	char base[BP_PATH_BYTES]; /* absolute path of FILE; others go to base.d */
	uint64_t interval;	  /* bytes */
	uint64_t budget_ppm;	  /* of the process's CPU time, for an automatic interval */
	uint64_t start_time_ns;	  /* sampling begins and ends then, CLOCK_MONOTONIC; 0: not given */
	uint64_t stop_time_ns;
	uint64_t seed;
	uint32_t law;
	uint32_t follow_pid; /* 0: every process */
	bool seed_given;
	bool fine_start; /* no interval was given: `interval` is where the fine start ends */
	bool automatic; /* `interval` is where to begin; the process changes it to hold its budget */
	bool dormant;	/* sampling is off until it is switched on */
	bool own_times; /* the times are counted from the start of this image */
	uint8_t perturb;  /* what glibc was told to fill freed memory with, 0: nothing */
	uint32_t misread; /* bits of enum bp_variable: given, but not understood */
};

/* The value of one variable, NULL if it is not there. `environment`: NULL-terminated NAME=VALUE strings;
 * NULL: libc's, or before libc has set it /proc/self/environ. */
const char *bp_config_find(char **environment, const char *name);

/* Reads the environment (NULL as above). Wrong values count as absent and are
 * noted in `misread`; the command line has checked its own. */
void bp_config_read(char **environment, struct bp_config *ret_config);

/* `<base>.d/<pid>.<number>.bpt`: the names that traces have which are not FILE itself. `ret_name`: room for
 * BP_PATH_BYTES. */
void bp_config_trace_name(const char *base, uint32_t pid, uint32_t number, char *ret_name);

/* The four strings of the trace header, their lengths set in it. `to`: room for
 * BP_HEADER_MAX_BYTES. `malloc_address`: of the real malloc. */
void bp_config_strings(struct bp_trace_header *header, char *to, uintptr_t malloc_address);

#endif
