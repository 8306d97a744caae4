/* SPDX-License-Identifier: MIT */
/* Import, finish, resolve; see read.h. */
#include "library/read.h"

#include <stdlib.h>

#include "aggregation/views/nameless.h"
#include "import/import.h"
#include "symbols/files/debug_package.h"

static bool import_all(const char *const *files, size_t count,
	const struct bp_read_options *options, struct bp_profile *profile, struct bp_error *error)
{
	bool good = true;
	profile->progress = options->progress;
	profile->progress_context = options->progress_context;
	for (size_t i = 0; good && i < count; i++)
		good = bp_import_file(files[i], profile, error);
	profile->progress = NULL;
	return good && bp_profile_finish_import(profile, count > 1, error);
}

/* Every address by its offset, as if no file of code could be read. */
static const struct bp_symbol_options no_names = { .no_files = true };

bool bp_read_files(const char *const *files, size_t count, const struct bp_read_options *options,
	struct bp_profile *ret_profile, struct bp_symbol_summary *ret_symbols,
	struct bp_error *error)
{
	struct bp_symbol_summary symbols = { 0 };
	struct bp_profile profile = { 0 };
	bool good = bp_profile_init(&profile, error);
	profile.keep_readings = options->keep_readings;
	profile.mapped = options->mapped;
	profile.assume_interval = options->assume_interval;
	profile.allocators = options->allocators;
	profile.frames_shown = options->frames;
	good = good && import_all(files, count, options, &profile, error) &&
	       bp_symbols_resolve(&profile, options->no_symbols ? &no_names : options->symbols,
		       &symbols, error);
	if (!good) {
		bp_profile_finish(&profile);
		return false;
	}
	*ret_profile = profile;
	*ret_symbols = options->no_symbols ? (struct bp_symbol_summary){ 0 } : symbols;
	return true;
}

bool bp_read_warn_of_mappings(const struct bp_profile *profile, struct bp_aggregation *aggregation)
{
	const uint32_t pid = aggregation->query.pid;
	uint32_t unknown = 0;
	for (uint32_t i = 1; profile->mapped && i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (pid != 0 && process->pid != pid)
			continue;
		/* (Of a process without a file there was nothing to tell.) */
		unknown += !process->mappings_known && process->profiled && process->file.i != 0;
	}
	return unknown == 0 ||
	       bp_aggregation_warn(aggregation, "of %u process%s it is not known what %s mapped",
		       unknown, unknown == 1 ? "" : "es", unknown == 1 ? "it" : "they");
}

bool bp_read_warn(struct bp_aggregation *aggregation, const struct bp_symbol_summary *symbols)
{
	const uint32_t replaced = symbols->modules_replaced, missing = symbols->modules_missing;
	if (!bp_read_warn_of_mappings(aggregation->profile, aggregation))
		return false;
	if (replaced > 0 &&
		!bp_aggregation_warn(aggregation,
			"%u file%s replaced since the recording and not used for names, for "
			"example %s",
			replaced, replaced == 1 ? " was" : "s were", symbols->replaced_example))
		return false;
	const uint32_t large = symbols->modules_too_large;
	if (large > 0 &&
		!bp_aggregation_warn(aggregation,
			"debug information of %u file%s not read, for example of %s: unpacked it "
			"would take more than 1 GiB, or than 64 times its size (objcopy "
			"--decompress-debug-sections unpacks it)",
			large, large == 1 ? " was" : "s was", symbols->too_large_example))
		return false;
	return missing == 0 ||
	       bp_aggregation_warn(aggregation, "%u file%s of the program cannot be read for names",
		       missing, missing == 1 ? "" : "s");
}

/* A library was mapped by the name of a link, where dpkg knows the file. */
static bool debug_package(const char *path, char *buffer, size_t bytes)
{
	char *file = realpath(path, NULL);
	const bool found = file != NULL && bp_debug_package(BP_DPKG_LISTS, file, buffer, bytes);
	free(file);
	return found;
}

bool bp_read_warn_alone(struct bp_aggregation *aggregation, const struct bp_symbol_summary *symbols)
{
	return bp_read_warn(aggregation, symbols) &&
	       (symbols->modules == 0 || bp_aggregation_warn_of_nameless(aggregation,
						 symbols->modules_replaced > 0, debug_package));
}
