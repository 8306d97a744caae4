/* SPDX-License-Identifier: MIT */
/* One walk over the cells of an aggregation, which are its stacks; see nameless.h. */
#include "aggregation/nameless.h"

#include <stdlib.h>

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

/* The files that hold most of it, largest first: "(git, libz.so.1)". Takes them out of `bytes`. */
static void files_text(
	const struct bp_profile *profile, double *bytes, double all, char *to, size_t room)
{
	size_t used = 0;
	*to = '\0';
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
	}
	if (used > 0)
		snprintf(to + used, room - used, ")");
}

bool bp_aggregation_warn_of_nameless(struct bp_aggregation *aggregation, bool replaced)
{
	static const char *const whole[BP_METRIC_COUNT] = { "what is live", "the peak",
		"what was allocated", "what was temporary" };
	char files[FILES_NAMED * 84 + 8];
	double *bytes, all;
	if (!sum_by_module(aggregation, &bytes, &all))
		return true;
	const double share = all > 0 ? sum_of(bytes, aggregation->profile->modules.count) / all : 0;
	files_text(aggregation->profile, bytes, all, files, sizeof files);
	free(bytes);
	return share < BP_NAMELESS_SHARE ||
	       bp_aggregation_warn(aggregation,
		       "%.0f %% of %s lies in functions without a name%s: %sinstall debug symbols "
		       "(Debian: packages ...-dbgsym) or pass --debuginfod URL",
		       100 * share, whole[aggregation->query.metric], files,
		       replaced ? "record again what was replaced; for other files " : "");
}
