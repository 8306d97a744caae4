/* SPDX-License-Identifier: MIT */
/* One walk over the cells of an aggregation, which are its stacks; see nameless.h. */
#include "aggregation/views/nameless.h"

#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "base/path.h"

#define FILES_NAMED 3
#define FILE_SHARE 0.01 /* of the metric: files below it are not named */

/* Bytes without a name by module, and all bytes. False: no memory, or no functions are shown. */
static bool sum_by_module(
	const struct bp_aggregation *aggregation, double **ret_bytes, double *ret_all)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	const enum bp_key by = aggregation->query.by;
	if (by != BP_KEY_FUNCTION && by != BP_KEY_STACK && by != BP_KEY_LINE)
		return false;
	double *bytes = calloc((size_t)profile->modules.count + 1, sizeof *bytes);
	if (bytes == NULL)
		return false;
	*ret_all = 0;
	for (uint32_t i = 0; i < state->cell_count; i++) {
		const struct bp_sums *sums = &state->cells[i].tally.sums;
		const struct bp_stack_id stack = { (uint32_t)state->cells[i].id };
		const double estimate = sums->bytes + sums->c1;
		uint32_t count;
		const struct bp_frame_id *frames =
			bp_attribution_frames(&state->attribution, stack, &count);
		*ret_all += estimate;
		if (count == 0)
			continue;
		const uint32_t index = bp_attribution_index(&state->attribution, stack);
		const struct bp_frame *frame = &profile->frames.data[frames[index].i];
		if (!frame->named)
			bytes[frame->module.i] += estimate;
	}
	*ret_bytes = bytes;
	return true;
}

static double sum_of(const double *bytes, uint32_t count)
{
	double sum = 0;
	for (uint32_t i = 0; i < count; i++)
		sum += bytes[i];
	return sum;
}

/* What the warning names. */
struct named {
	char files[FILES_NAMED * 84 + 8];     /* " (git, libz.so.1)" */
	char packages[FILES_NAMED * 104 + 8]; /* "git-dbgsym zlib1g-dbgsym" */
};

/* A package once; those that are not known are left out. */
static void add_package(struct named *named, const char *path, bp_package_of package_of)
{
	char package[96];
	const size_t used = strlen(named->packages);
	if (package_of == NULL || !package_of(path, package, sizeof package) ||
		strstr(named->packages, package) != NULL)
		return;
	snprintf(named->packages + used, sizeof named->packages - used, "%s%s", used > 0 ? " " : "",
		package);
}

/* The files that hold most of it, largest first. Takes them out of `bytes`. */
static void name_files(const struct bp_profile *profile, double *bytes, double all,
	bp_package_of package_of, struct named *ret_named)
{
	char *to = ret_named->files;
	const size_t room = sizeof ret_named->files;
	size_t used = 0;
	*ret_named = (struct named){ 0 };
	for (unsigned named = 0; named < FILES_NAMED; named++) {
		uint32_t most = 0;
		for (uint32_t i = 1; i < profile->modules.count; i++)
			if (bytes[i] > bytes[most] || most == 0)
				most = i;
		const char *path = bp_profile_text(profile, profile->modules.data[most].path);
		if (most == 0 || *path == '\0' || !(bytes[most] > FILE_SHARE * all))
			break;
		bytes[most] = 0;
		used += (size_t)snprintf(to + used, room - used, "%s%.80s",
			named == 0 ? " (" : ", ", bp_last_part(path));
		add_package(ret_named, path, package_of);
	}
	if (used > 0)
		snprintf(to + used, room - used, ")");
}

/* Where packages come from that apt does not find as it is set up: those that end in -dbg are in
 * Debian's own archive. */
static const char *origin_of(const char *packages)
{
	return *packages == '\0' || strstr(packages, "-dbgsym") != NULL
		       ? ", from debian-debug: docs/report.md"
		       : "";
}

bool bp_aggregation_warn_of_nameless(
	struct bp_aggregation *aggregation, bool replaced, bp_package_of package_of)
{
	static const char *const whole[BP_METRIC_COUNT] = { "what is live", "the peak",
		"what was allocated", "what was temporary" };
	struct named named;
	double *bytes, all;
	if (!sum_by_module(aggregation, &bytes, &all))
		return true;
	const double share = all > 0 ? sum_of(bytes, aggregation->profile->modules.count) / all : 0;
	if (share >= BP_NAMELESS_SHARE)
		name_files(aggregation->profile, bytes, all, package_of, &named);
	free(bytes);
	return share < BP_NAMELESS_SHARE ||
	       bp_aggregation_warn(aggregation,
		       "%.0f %% of %s lies in functions without a name%s: %sinstall debug symbols "
		       "(Debian: %s%s) or pass --debuginfod URL",
		       100 * share, whole[aggregation->query.metric], named.files,
		       replaced ? "record again what was replaced; for other files " : "",
		       named.packages[0] != '\0' ? named.packages : "packages ...-dbgsym",
		       origin_of(named.packages));
}

bool bp_aggregation_row_is_nameless(const struct bp_aggregation *aggregation, uint32_t i)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	const uint64_t function = state->rows[state->order[i]].a;
	for (uint32_t j = 1; j < profile->frames.count; j++)
		if (profile->frames.data[j].function.i == function)
			return !profile->frames.data[j].named;
	return false;
}
