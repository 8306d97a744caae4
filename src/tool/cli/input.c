/* SPDX-License-Identifier: MIT */
/* What the command line adds to library/read.h: its options, and progress on a terminal. See
 * input.h. */
#include "cli/input.h"

#include <limits.h>
#include <stdio.h>

#include "aggregation/views/pairs.h"
#include "cli/files/recordings_here.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/query_options.h"
#include "cli/options/symbol_options.h"
#include "cli/terminal/progress.h"
#include "library/read.h"
#include "model/capabilities.h"
#include "query/view.h"

/* How far reading is: first samples, then names. */
struct telling {
	struct bp_progress progress;
	bool naming;
};

static void tell_samples(void *telling, uint64_t samples)
{
	bp_progress_tell(&((struct telling *)telling)->progress, samples);
}

static void tell_names(void *context, uint64_t done, uint64_t total)
{
	struct telling *telling = context;
	if (!telling->naming) {
		bp_progress_end(&telling->progress);
		bp_progress_begin(&telling->progress, "naming addresses", 0);
		telling->naming = true;
	}
	telling->progress.total = total;
	bp_progress_tell(&telling->progress, done);
}

struct bp_input_options bp_input_options_of(
	const struct bp_arguments *arguments, const struct bp_query_options *options)
{
	const struct bp_query *query = &options->query;
	return (struct bp_input_options){
		.debug_directory = bp_option_value(arguments, "debug-directory"),
		.assume_interval = options->assume_interval,
		.mapped = options->mapped,
		.from_ns = query->has_from ? query->from_ns : 0,
		.keep_readings = query->has_from || query->has_to,
	};
}

/* What the command line says must not contradict what was read. */
static bool check_options(const struct bp_profile *profile, const char *file,
	const struct bp_input_options *options, struct bp_error *error)
{
	if (options->assume_interval != 0 && !profile->interval_assumed)
		return bp_error_set(error,
			"--assume-interval: %s says its sampling interval itself: leave it out",
			file);
	return bp_view_check_from(profile, options->from_ns, error);
}

bool bp_input_missing(const char *usage, struct bp_error *error)
{
	char name[NAME_MAX + 1];
	if (bp_recording_newest(".", name))
		return bp_error_set(
			error, "no file given: %s; the newest recording here is %s", usage, name);
	return bp_error_set(error, "no file given: %s", usage);
}

bool bp_input_knows_mappings(
	const struct bp_profile *profile, const char *file, struct bp_error *error)
{
	return !profile->mapped || bp_profile_knows_mappings(profile) ||
	       bp_error_set(error,
		       "%s does not tell what the program mapped itself: bytepoll run --mapped "
		       "records that",
		       file);
}

bool bp_input_knows_frees(
	const struct bp_profile *profile, const char *file, struct bp_error *error)
{
	return bp_profile_has_free_stacks(profile) ||
	       bp_error_set(error,
		       "%s does not tell where objects were freed: bytepoll run --free-stacks "
		       "records that",
		       file);
}

bool bp_input_read(char *const *files, int count, struct bp_input_options options,
	struct bp_profile *ret_profile, struct bp_symbol_summary *ret_symbols,
	struct bp_error *error)
{
	struct bp_symbol_options symbols = bp_symbol_options_with(options.debug_directory);
	struct telling telling = { .naming = false };
	uint64_t samples = 0;
	for (int i = 0; i < count; i++)
		if (!bp_recording_is_there(files[i], error))
			return false;
	for (int i = 0; i < count; i++)
		samples += bp_progress_samples(files[i]);
	bp_progress_begin(&telling.progress, "reading samples", samples);
	symbols.progress = tell_names;
	symbols.progress_context = &telling;
	const bool good = bp_read_files((const char *const *)files, (size_t)count,
		&(struct bp_read_options){ .assume_interval = options.assume_interval,
			.keep_readings = options.keep_readings,
			.mapped = options.mapped,
			.symbols = &symbols,
			.allocators = bp_allocator_options(),
			.frames = bp_frame_options(),
			.progress = tell_samples,
			.progress_context = &telling },
		ret_profile, ret_symbols, error);
	bp_progress_end(&telling.progress);
	if (!good || check_options(ret_profile, files[0], &options, error))
		return good;
	bp_profile_finish(ret_profile);
	return false;
}
