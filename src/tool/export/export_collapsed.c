/* SPDX-License-Identifier: MIT */
/*
 * Collapsed (folded) stacks, as flamegraph.pl, inferno, speedscope and many others read them: a
 * line for each stack, functions from the outermost to the innermost joined by semicolons, a space
 * and a whole number. The format has no comments; a name keeps its spaces, since the last one on a
 * line counts, and its semicolons become colons. Stacks that read alike are one line; those that
 * round to zero are left out, and what they stood for is in their neighbours.
 */
#include "export/clean_text.h"
#include "export/export.h"

static bool write_stack(const struct bp_aggregation *aggregation, struct bp_stack_id stack,
	struct bp_clean_text *clean, FILE *out)
{
	const struct bp_profile *profile = aggregation->profile;
	uint32_t count;
	const struct bp_frame_id *frames = bp_entry_frames(aggregation, stack, &count);
	if (count == 0)
		fputs(BP_EXPORT_NO_STACK, out);
	for (uint32_t i = count; i-- > 0;) {
		const char *name =
			bp_profile_text(profile, profile->frames.data[frames[i].i].function);
		const char *text =
			bp_clean_text(clean, *name != '\0' ? name : "(no name)", ";", ':');
		if (text == NULL)
			return false;
		fprintf(out, "%s%s", text, i > 0 ? ";" : "");
	}
	return true;
}

static bool write_collapsed(
	const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	const struct bp_aggregation *aggregation = source->asked;
	struct bp_entries entries;
	struct bp_rounding rounding = { 0 };
	struct bp_clean_text clean = { 0 };
	bool good = true;
	if (!bp_entries_build(&aggregation, 1, (struct bp_entry_options){ 0 }, &entries, error))
		return false;
	bp_export_sort(aggregation, &entries);
	for (uint32_t i = 0; good && i < entries.count;) {
		struct bp_stack_id stack = entries.items[i].stack;
		double sum = 0;
		while (i < entries.count &&
			bp_export_same_functions(aggregation, stack, entries.items[i].stack)) {
			const struct bp_entry_figures *figures = &entries.items[i++].metrics[0];
			sum += source->options.objects ? figures->objects : figures->bytes;
		}
		long long value = bp_round_next(&rounding, sum);
		if (value == 0)
			continue;
		good = write_stack(aggregation, stack, &clean, out) ||
		       bp_error_set(error, "out of memory");
		fprintf(out, " %lld\n", value);
	}
	bp_clean_text_finish(&clean);
	bp_entries_finish(&entries);
	return good;
}

const struct bp_export bp_export_collapsed = { .name = "collapsed",
	.one_moment = true,
	.keeps_allocators = true,
	.without_intervals = true,
	.mapped = true,
	.write = write_collapsed };
