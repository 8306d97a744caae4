/* SPDX-License-Identifier: MIT */
/*
 * The options of `run` that say when is sampled and how finely, and their form in the environment
 * of the program (trace/format.h). Not thread-safe, as options.h.
 */
#ifndef BP_CLI_OPTIONS_SAMPLING_OPTIONS_H
#define BP_CLI_OPTIONS_SAMPLING_OPTIONS_H

#include "cli/options/options.h"

struct bp_sampling_options {
	char interval[32], seed[32], budget[32];	 /* as in the environment; "": not given */
	const char *law, *python, *mapped, *free_stacks; /* NULL: not given */
	bool in_place;
	bool start_dormant, delayed, limited; /* limited: --duration was given */
	uint64_t delay_ns, duration_ns;
};

/* Reads --interval, --budget, --seed, --law, --python, --mapped, --free-stacks, --delay,
 * --duration and --start-dormant, and refuses what contradicts itself. */
bool bp_sampling_options_read(const struct bp_arguments *arguments,
	struct bp_sampling_options *ret_options, struct bp_error *error);
/* Sets the variables of what was given; times count from now, and are absolute, so that every
 * process of the tree begins and ends at the same moment. False: no memory. */
bool bp_sampling_options_set_environment(const struct bp_sampling_options *options);

/* Variables that the caller's environment hands on to the program, and that no option replaces: are
 * they such as the recorder understands? It would take another for not set, and say so only in the
 * trace. The error names the variable and what is allowed. */
bool bp_sampling_options_check_environment(
	const struct bp_sampling_options *options, struct bp_error *error);

/* "0.5%" or "0.5": a part of CPU time, in parts per million, at most 1000000. */
bool bp_parse_budget(const char *text, uint64_t *ret_ppm, struct bp_error *error);

#endif
