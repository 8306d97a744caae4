/* SPDX-License-Identifier: MIT */
/* Import, finish, resolve: the road every reading command takes. See input.h. */
#include "cli/input.h"

#include <string.h>

#include "cli/allocator_options.h"
#include "cli/progress.h"
#include "cli/symbol_options.h"
#include "import/import.h"

static void tell_samples(void *progress, uint64_t samples)
{
	bp_progress_tell(progress, samples);
}

static void tell_names(void *context, uint64_t done, uint64_t total)
{
	struct bp_progress *progress = context;
	progress->total = total;
	bp_progress_tell(progress, done);
}

static bool import_all(
	char *const *files, int count, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_progress progress;
	uint64_t samples = 0;
	bool good = true;
	for (int i = 0; i < count; i++)
		samples += bp_progress_samples(files[i]);
	bp_progress_begin(&progress, "reading samples", samples);
	profile->progress = tell_samples;
	profile->progress_context = &progress;
	for (int i = 0; good && i < count; i++)
		good = bp_import_file(files[i], profile, error);
	profile->progress = NULL;
	good = good && bp_profile_finish_import(profile, count > 1, error);
	bp_progress_end(&progress);
	return good;
}

static bool resolve(struct bp_profile *profile, struct bp_symbol_options options,
	struct bp_symbol_summary *symbols, struct bp_error *error)
{
	struct bp_progress progress;
	bp_progress_begin(&progress, "naming addresses", 0);
	options.progress = tell_names;
	options.progress_context = &progress;
	bool good = bp_symbols_resolve(profile, &options, symbols, error);
	bp_progress_end(&progress);
	return good;
}

struct bp_input_options bp_input_options_of(
	const struct bp_arguments *arguments, const struct bp_query_options *options)
{
	const struct bp_query *query = &options->query;
	return (struct bp_input_options){
		.debug_directory = bp_option_value(arguments, "debug-directory"),
		.assume_interval = options->assume_interval,
		.keep_readings = query->has_from || query->has_to,
	};
}

bool bp_input_read(char *const *files, int count, struct bp_input_options options,
	struct bp_profile *ret_profile, struct bp_symbol_summary *ret_symbols,
	struct bp_error *error)
{
	struct bp_symbol_options symbol_options = bp_symbol_options_with(options.debug_directory);
	struct bp_symbol_summary symbols = { 0 };
	struct bp_profile profile = { 0 };
	bool good = bp_profile_init(&profile, error);
	profile.keep_readings = options.keep_readings;
	profile.assume_interval = options.assume_interval;
	profile.allocators = bp_allocator_options();
	if (!good || !import_all(files, count, &profile, error) ||
		!resolve(&profile, symbol_options, &symbols, error)) {
		bp_profile_finish(&profile);
		return false;
	}
	*ret_profile = profile;
	*ret_symbols = symbols;
	return true;
}

struct bp_run_id bp_input_run_id(const struct bp_profile *profile)
{
	struct bp_run_id id;
	memcpy(id.bytes, profile->processes.data[profile->root.i].trace_id, sizeof id.bytes);
	return id;
}

bool bp_input_same_run(struct bp_run_id a, struct bp_run_id b)
{
	static const struct bp_run_id unknown;
	return memcmp(&a, &b, sizeof a) == 0 && memcmp(&a, &unknown, sizeof a) != 0;
}

void bp_input_warn(struct bp_aggregation *aggregation, const struct bp_symbol_summary *symbols)
{
	if (symbols->modules_replaced > 0)
		bp_aggregation_warn(aggregation,
			"%u file%s replaced since the recording and not used "
			"for names, for example %s",
			symbols->modules_replaced,
			symbols->modules_replaced == 1 ? " was" : "s were",
			symbols->replaced_example);
	if (symbols->modules_missing > 0)
		bp_aggregation_warn(aggregation,
			"%u file%s of the program cannot be read for names",
			symbols->modules_missing, symbols->modules_missing == 1 ? "" : "s");
}
