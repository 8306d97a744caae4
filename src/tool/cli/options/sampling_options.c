/* SPDX-License-Identifier: MIT */
/*
 * What was not given is not set: a variable that is in the environment already goes on to the
 * program, as under a bare LD_PRELOAD. A window is two moments of CLOCK_MONOTONIC, which all
 * processes of the machine share; a child that starts after the first samples from its beginning.
 */
#include "cli/options/sampling_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/options/query_options.h"
#include "trace/format.h"

#define PPM_PER_PERCENT 10000.0

bool bp_parse_budget(const char *text, uint64_t *ret_ppm, struct bp_error *error)
{
	char *rest;
	bool digit = (*text >= '0' && *text <= '9') || *text == '.';
	double percent = digit ? strtod(text, &rest) : 0;
	/* Elsewhere a bare number is a fraction; here it would be a hundred times too much. */
	if (!digit || text[1] == 'x' || text[1] == 'X' || strcmp(rest, "%") != 0)
		return bp_error_set(error, "--budget %s: write 0.5%%, with the sign", text);
	if (!(percent >= 1 / PPM_PER_PERCENT && percent <= 100))
		return bp_error_set(error, "--budget %s: must be from 0.0001%% to 100%%", text);
	*ret_ppm = (uint64_t)llround(percent * PPM_PER_PERCENT);
	return true;
}

static bool read_interval(const struct bp_arguments *arguments, char *ret_text, size_t capacity,
	struct bp_error *error)
{
	const char *interval = bp_option_value(arguments, "interval");
	uint64_t number;
	if (interval == NULL)
		return true;
	if (strcmp(interval, "auto") == 0) {
		snprintf(ret_text, capacity, "auto");
		return true;
	}
	if (!bp_parse_size(interval, &number, NULL))
		return bp_error_set(error,
			"--interval %s: is no size: write 4096, 512K, 2M or 1G, or auto", interval);
	if (number < 1 || number > BP_INTERVAL_MAX)
		return bp_error_set(error, "--interval %s: must be from 1 to 1T", interval);
	snprintf(ret_text, capacity, "%llu", (unsigned long long)number);
	return true;
}

static bool read_budget(const struct bp_arguments *arguments, struct bp_sampling_options *options,
	struct bp_error *error)
{
	const char *budget = bp_option_value(arguments, "budget");
	uint64_t ppm;
	if (budget == NULL)
		return true;
	if (!bp_parse_budget(budget, &ppm, error))
		return false;
	const char *outer = getenv(BP_ENV_INTERVAL);
	const char *interval = options->interval[0] != '\0' ? options->interval
			       : outer != NULL		    ? outer
							    : "";
	if (strcmp(interval, "auto") != 0)
		return bp_error_set(error,
			"--budget goes with --interval auto: a fixed interval takes what it takes");
	snprintf(options->budget, sizeof options->budget, "%llu", (unsigned long long)ppm);
	return true;
}

static bool read_window(const struct bp_arguments *arguments, struct bp_sampling_options *options,
	struct bp_error *error)
{
	options->start_dormant = bp_option_given(arguments, "start-dormant");
	if (!bp_option_time(arguments, "delay", &options->delayed, &options->delay_ns, error) ||
		!bp_option_time(
			arguments, "duration", &options->limited, &options->duration_ns, error))
		return false;
	if (options->start_dormant && (options->delayed || options->limited))
		return bp_error_set(error, "--start-dormant waits for bytepoll control: give "
					   "either it, or --delay and --duration");
	if (options->limited && options->duration_ns == 0)
		return bp_error_set(error, "--duration 0 would record nothing");
	/* Counted are all, sampled are some: nothing would be left to compare. */
	if (bp_option_given(arguments, "verify") &&
		(options->start_dormant || options->delayed || options->limited))
		return bp_error_set(error,
			"--verify compares with every object of the run: it goes without "
			"--start-dormant, --delay and --duration");
	return true;
}

bool bp_sampling_options_read(const struct bp_arguments *arguments,
	struct bp_sampling_options *ret_options, struct bp_error *error)
{
	struct bp_sampling_options options = { .law = bp_option_value(arguments, "law"),
		.python = bp_option_value(arguments, "python"),
		.mapped = bp_option_given(arguments, "mapped") ? "on" : NULL,
		.free_stacks = bp_option_given(arguments, "free-stacks") ? "on" : NULL,
		.in_place = bp_option_given(arguments, "in-place") };
	const char *seed = bp_option_value(arguments, "seed");
	uint64_t number;
	/* Sums of every object are counted by hooks of their own, which know one form alone. */
	if (options.in_place && bp_option_given(arguments, "verify"))
		return bp_error_set(error, "--verify goes without --in-place");
	/* What has a stack of its free is never folded, so that no size could be kept. */
	if (options.free_stacks != NULL && bp_option_given(arguments, "max-size"))
		return bp_error_set(error, "--max-size goes without --free-stacks");
	if (!read_interval(arguments, options.interval, sizeof options.interval, error) ||
		!read_budget(arguments, &options, error) ||
		!read_window(arguments, &options, error))
		return false;
	if (seed != NULL) {
		if (!bp_parse_number(seed, &number, error))
			return false;
		snprintf(options.seed, sizeof options.seed, "%llu", (unsigned long long)number);
	}
	*ret_options = options;
	return true;
}

/* A number as the recorder reads it: decimal digits and perhaps K, M or G. */
static bool is_number(const char *text, uint64_t least, uint64_t most)
{
	const size_t digits = strspn(text, "0123456789");
	const char *end = text + digits;
	const unsigned shift = *end == 'K' || *end == 'k' ? 10
			       : *end == 'M'		  ? 20
			       : *end == 'G'		  ? 30
							  : 0;
	errno = 0;
	const uint64_t number = strtoull(text, NULL, 10);
	if (digits == 0 || errno != 0 || end[shift != 0] != '\0' ||
		(shift != 0 && number >> (64 - shift) != 0))
		return false;
	return number << shift >= least && number << shift <= most;
}

static bool is_interval(const char *text)
{
	return strcmp(text, "auto") == 0 || is_number(text, 1, BP_INTERVAL_MAX);
}

static bool is_budget(const char *text)
{
	return is_number(text, 1, BP_BUDGET_MAX_PPM);
}

static bool is_start(const char *text)
{
	return strcmp(text, "dormant") == 0;
}

static bool is_time(const char *text)
{
	return is_number(text + (*text == '+'), 0, UINT64_MAX);
}

static bool is_seed(const char *text)
{
	return is_number(text, 0, UINT64_MAX);
}

static bool is_law(const char *text)
{
	return strcmp(text, "exact") == 0 || strcmp(text, "bernoulli") == 0;
}

static bool is_tracepoints(const char *text)
{
	return strcmp(text, "otel") == 0 || strcmp(text, "none") == 0;
}

static bool is_python(const char *text)
{
	return strcmp(text, "all") == 0 || strcmp(text, "frames") == 0 || strcmp(text, "off") == 0;
}

static bool is_switch(const char *text)
{
	return strcmp(text, "on") == 0 || strcmp(text, "off") == 0;
}

bool bp_sampling_options_check_environment(
	const struct bp_sampling_options *options, struct bp_error *error)
{
	const struct {
		const char *name, *allowed;
		bool (*is_allowed)(const char *text);
		bool replaced;
	} variables[] = {
		{ BP_ENV_INTERVAL, "auto, or bytes such as 4096, 512K or 2M, up to 1024G",
			is_interval, options->interval[0] != '\0' },
		{ BP_ENV_BUDGET, "parts per million of CPU time, from 1 to 1000000", is_budget,
			options->budget[0] != '\0' },
		{ BP_ENV_START, "dormant, or nothing", is_start, options->start_dormant },
		{ BP_ENV_START_TIME, "nanoseconds of the monotonic clock, or +N from the start",
			is_time, options->delayed },
		{ BP_ENV_STOP_TIME, "nanoseconds of the monotonic clock, or +N from the start",
			is_time, options->limited },
		{ BP_ENV_SEED, "a decimal number", is_seed, options->seed[0] != '\0' },
		{ BP_ENV_LAW, "exact or bernoulli", is_law, options->law != NULL },
		{ BP_ENV_TRACEPOINTS, "otel or none", is_tracepoints, false },
		{ BP_ENV_PYTHON, "all, frames or off", is_python, options->python != NULL },
		{ BP_ENV_MAPPED, "on or off", is_switch, options->mapped != NULL },
		{ BP_ENV_FREE_STACKS, "on or off", is_switch, options->free_stacks != NULL },
	};
	for (size_t i = 0; i < BP_COUNT(variables); i++) {
		const char *value = getenv(variables[i].name);
		if (value == NULL || *value == '\0' || variables[i].replaced ||
			variables[i].is_allowed(value))
			continue;
		return bp_error_set(error, "%s=%.100s in the environment: must be %s",
			variables[i].name, value, variables[i].allowed);
	}
	return true;
}

/* An empty value is not set. */
static bool set(const char *name, const char *value)
{
	return value == NULL || *value == '\0' || setenv(name, value, 1) == 0;
}

static bool set_number(const char *name, uint64_t number)
{
	char text[32];
	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	return set(name, text);
}

bool bp_sampling_options_set_environment(const struct bp_sampling_options *options)
{
	const uint64_t start_ns = bp_clock_machine_ns() + options->delay_ns;
	return set(BP_ENV_INTERVAL, options->interval) && set(BP_ENV_SEED, options->seed) &&
	       set(BP_ENV_LAW, options->law) && set(BP_ENV_PYTHON, options->python) &&
	       set(BP_ENV_MAPPED, options->mapped) &&
	       set(BP_ENV_FREE_STACKS, options->free_stacks) &&
	       set(BP_ENV_BUDGET, options->budget) &&
	       (!options->in_place || set(BP_ENV_IN_PLACE, "1")) &&
	       (!options->start_dormant || set(BP_ENV_START, "dormant")) &&
	       (!options->delayed || set_number(BP_ENV_START_TIME, start_ns)) &&
	       (!options->limited || set_number(BP_ENV_STOP_TIME, start_ns + options->duration_ns));
}
