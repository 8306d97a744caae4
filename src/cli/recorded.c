/* SPDX-License-Identifier: MIT */
/*
 * Order of events: tidy the files (tails cut, index written), count what the state pages say, and
 * only then read the trace for the headline, by the same road as `bytepoll report`, so that the two
 * never disagree. A trace without a sample needs no reading: there the reason is what matters.
 */
#include "cli/recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/spoken.h"
#include "cli/tree.h"
#include "import/import.h"
#include "profile/aggregate.h"
#include "profile/profile.h"
#include "report/quantity.h"
#include "report/report.h"
#include "trace/format.h"

#define INDENT "          " /* under the text after "bytepoll: " */

/* Words of section 1.4 of docs/trace-format.md. */
static const char *const loss_texts[BP_LOSS_COUNT] = {
	[BP_LOSS_TRACE_FULL] = "samples: the trace could not grow (disk full or size limit)",
	[BP_LOSS_TRACE_REOPEN] = "samples: the trace could not be opened again to grow",
	[BP_LOSS_SLOT_MEMORY] = "samples: no memory for a slot",
	[BP_LOSS_LARGE_TABLE] = "samples: the table of large live objects was full",
	[BP_LOSS_STACK_TABLE] = "stacks: the stack table was full",
	[BP_LOSS_MODULE_TABLE] = "modules: the module table was full",
	[BP_LOSS_THREAD_SLOT] = "threads: no slot for their totals",
	[BP_LOSS_LANES_BUSY] = "samples: all writers were busy",
	[BP_LOSS_FREE] = "frees: they could not be recorded",
	[BP_LOSS_INTERRUPTED] = "objects: allocated by a signal handler inside the recorder",
	[BP_LOSS_CHILD_TRACE] = "processes: a child could not open its trace",
	[BP_LOSS_NAME] = "names: no room for a type, a frame or labels",
};

static void print_losses(const struct bp_tree_sums *sums)
{
	for (int reason = 0; reason < BP_LOSS_MAX; reason++) {
		const char *text = reason < BP_LOSS_COUNT ? loss_texts[reason] : "unknown events";
		if (sums->lost[reason] > 0)
			fprintf(stderr, INDENT "lost %" PRIu64 " %s\n", sums->lost[reason], text);
	}
}

static const char *unprofiled_text(uint32_t reason)
{
	switch (reason) {
	case BP_UNPROFILED_FOREIGN_MALLOC:
		return "its malloc is its own (linked in, or preloaded before the recorder): build "
		       "it with libc's, or with its allocator as a shared library";
	case BP_UNPROFILED_HOOKS:
		return "the recorder's hooks could not be set up";
	case BP_UNPROFILED_OTHER_TOOL:
		return "another profiler or a sanitizer owns its malloc: run it without";
	default:
		return "the recorder stayed off";
	}
}

/* A counted number of bytes, or its limits. */
static void limits_text(
	struct bp_known_total total, struct bp_quantity_style style, char *to, size_t bytes)
{
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	bp_bytes_text(total.low, style, low);
	bp_bytes_text(total.high, style, high);
	if (strcmp(low, high) == 0)
		snprintf(to, bytes, "%s", high);
	else
		snprintf(to, bytes, "%s to %s", low, high);
}

/* Was sampling off whenever something was allocated? */
static bool was_dormant(const struct bp_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->files[i].objects_high > tree->files[i].off_objects.high + 1)
			return false;
	return true;
}

/* Nothing is wrong, there was only too little to see: what is known is said. */
static void print_too_little(const struct bp_tree *tree, const struct bp_tree_sums *sums)
{
	struct bp_quantity_style style = { 0 };
	char interval[BP_QUANTITY_BYTES], bytes[BP_QUANTITY_BYTES], objects[BP_QUANTITY_BYTES];
	uint64_t charges = sums->objects_low * tree->files[0].header.charge_bytes;
	bool exact = sums->trials_low == sums->trials_high;
	bp_bytes_text(tree->files[0].header.interval_bytes, style, interval);
	bp_bytes_text(exact ? sums->trials_low - charges : sums->trials_high, style, bytes);
	bp_count_text(sums->objects_high, objects);
	fprintf(stderr, "bytepoll: no samples: %s%s in %s objects were allocated, ",
		exact ? "exactly " : "at most ", bytes, objects);
	if (was_dormant(tree))
		fputs("while sampling was off: switch it on by bytepoll control PID start\n",
			stderr);
	else
		fprintf(stderr, "too little for T = %s: try a smaller --interval\n", interval);
}

/* Why there is no sample, in the order of likelihood of what is known. */
static void print_nothing(const struct bp_tree *tree, const struct bp_tree_sums *sums,
	const struct bp_program *program)
{
	const char *obstacle = bp_obstacle_text(program->obstacle);
	fputs("bytepoll: NOTHING WAS RECORDED: ", stderr);
	if (sums->unprofiled_reason != 0)
		fprintf(stderr, "%s ran unprofiled: %s\n", tree->files[0].program,
			unprofiled_text(sums->unprofiled_reason));
	else if (tree->count > 0)
		fprintf(stderr, "%s never called malloc (an allocator of its own?)\n",
			program->path);
	else if (*obstacle != '\0')
		fprintf(stderr, "%s %s\n", program->image, obstacle);
	else
		fprintf(stderr,
			"%s left no trace at %s: it dropped LD_PRELOAD, or could not write there\n",
			program->path, tree->file);
}

/* A tree without a single sample. */
static void print_without_samples(
	struct bp_tree *tree, const struct bp_program *program, bool quiet)
{
	struct bp_tree_sums sums;
	bp_tree_read_rest(tree);
	bp_tree_sum(tree, &sums);
	if (sums.unprofiled_reason != 0 || sums.objects_high == 0)
		print_nothing(tree, &sums, program);
	else if (!quiet)
		print_too_little(tree, &sums);
	print_losses(&sums);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* One total of the headline, with "exactly" where it is. */
static void print_total(
	const char *name, const struct bp_total *total, struct bp_quantity_style style)
{
	char text[BP_QUANTITY_BYTES];
	if (!total->known)
		return;
	bp_bytes_figure_text(&total->bytes, style, text);
	fprintf(stderr, "%s %s%s", name, text, total->bytes.interval.exact ? ", exactly" : "");
}

/* T, or where it changed from which to which. */
static void print_intervals(const struct bp_tree *tree, const struct bp_sampling *sampling,
	struct bp_quantity_style style)
{
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	uint64_t first = tree->files[0].header.interval_bytes, last = first;
	if (sampling != NULL && sampling->interval_count > 0) {
		first = sampling->intervals[0];
		last = sampling->intervals[sampling->interval_count - 1];
	}
	bp_bytes_text(first, style, low);
	bp_bytes_text(last, style, high);
	if (first == last)
		fprintf(stderr, " at T = %s", low);
	else
		fprintf(stderr, " at T from %s to %s", low, high);
}

/* The first line and the losses. `sampling`: NULL if the trace could not be read. */
static void print_samples(const struct bp_tree *tree, const struct bp_tree_sums *sums,
	const struct bp_program *program, const struct bp_sampling *sampling,
	struct bp_quantity_style style)
{
	char samples[BP_QUANTITY_BYTES], lost[BP_QUANTITY_BYTES], bytes[BP_QUANTITY_BYTES];
	uint64_t lost_count = 0;
	for (int reason = 0; reason < BP_LOSS_MAX; reason++)
		lost_count += sums->lost[reason];
	bp_count_text(sums->samples, samples);
	bp_count_text(lost_count, lost);
	bp_bytes_text(sums->bytes, style, bytes);
	fprintf(stderr, "bytepoll: %s sample%s of %s", samples, sums->samples == 1 ? "" : "s",
		base_name(program->path));
	print_intervals(tree, sampling, style);
	fprintf(stderr, ", %s lost, in ", lost);
	bp_spoken_path(tree->files[0].path);
	if (tree->count > 1)
		fprintf(stderr, " (%s, %zu images)\n", bytes, tree->count);
	else
		fprintf(stderr, " (%s)\n", bytes);
	print_losses(sums);
}

static void print_headline(const struct bp_aggregation *aggregation, struct bp_quantity_style style)
{
	const struct bp_sampling *sampling = &aggregation->sampling;
	char off[BP_SPAN_BYTES], bytes[2 * BP_QUANTITY_BYTES + 8];
	fputs(INDENT, stderr);
	print_total(bp_live_name(aggregation), &aggregation->totals[BP_METRIC_LIVE], style);
	print_total("   peak", &aggregation->totals[BP_METRIC_PEAK], style);
	print_total("   allocated", &aggregation->totals[BP_METRIC_ALLOCATED], style);
	putc('\n', stderr);
	if (!sampling->paused)
		return;
	bp_off_text(aggregation, off);
	limits_text(sampling->bytes_off, style, bytes, sizeof bytes);
	fprintf(stderr, INDENT "sampling was off for %s: %s allocated meanwhile are in no figure\n",
		off, bytes);
}

/* What the trace says, by process: nothing needs a symbol. */
static bool read_profile(const struct bp_tree *tree, struct bp_profile *ret_profile,
	struct bp_aggregation *ret_aggregation, struct bp_error *error)
{
	const struct bp_query query = { .metric = BP_METRIC_LIVE, .by = BP_KEY_PROCESS };
	if (!bp_profile_init(ret_profile, error))
		return false;
	if (bp_import_file(tree->files[0].path, ret_profile, error) &&
		bp_profile_finish_import(ret_profile, false, error) &&
		bp_aggregate(ret_profile, &query, ret_aggregation, error))
		return true;
	bp_profile_finish(ret_profile);
	return false;
}

static void print_recorded(const struct bp_tree *tree, const struct bp_tree_sums *sums,
	const struct bp_program *program)
{
	struct bp_quantity_style style = bp_spoken_style();
	struct bp_aggregation aggregation;
	struct bp_profile profile;
	struct bp_error error = { 0 };
	if (read_profile(tree, &profile, &aggregation, &error)) {
		print_samples(tree, sums, program, &aggregation.sampling, style);
		print_headline(&aggregation, style);
		bp_aggregation_finish(&aggregation);
		bp_profile_finish(&profile);
	} else {
		print_samples(tree, sums, program, NULL, style);
		fprintf(stderr, "bytepoll: %s\n", error.text);
	}
	fputs(INDENT "next: bytepoll report ", stderr);
	bp_spoken_path(tree->files[0].path);
	putc('\n', stderr);
}

void bp_recorded_print(const char *file, const struct bp_program *program, bool quiet)
{
	struct bp_tree tree;
	struct bp_tree_sums sums;
	struct bp_error error = { 0 };
	if (!bp_tree_read(file, &tree, &error)) {
		fprintf(stderr, "bytepoll: %s\n", error.text);
		return;
	}
	bp_tree_cut_tails(&tree);
	bp_tree_sum(&tree, &sums);
	if (!bp_tree_write_index(&tree, &error))
		fprintf(stderr, "bytepoll: %s\n", error.text);
	if (sums.running == 1 && !quiet)
		fputs("bytepoll: 1 process of this run still runs and goes on recording\n", stderr);
	else if (sums.running > 1 && !quiet)
		fprintf(stderr,
			"bytepoll: %zu processes of this run still run and go on recording\n",
			sums.running);
	if (sums.samples == 0)
		print_without_samples(&tree, program, quiet);
	else if (!quiet)
		print_recorded(&tree, &sums, program);
	bp_tree_finish(&tree);
}
