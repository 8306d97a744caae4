/* SPDX-License-Identifier: MIT */
/*
 * Order of events: wait for files that are about to be begun, tidy the files (tails cut, index
 * written, names of code kept), count what the state pages say, and only then read the trace for
 * the headline, by the same road as `bytepoll report`, so that the two never disagree. A trace
 * without a sample needs no reading: there the reason is what matters.
 */
#include "cli/run/recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregation/aggregate.h"
#include "cli/files/tree.h"
#include "cli/process/own_heaps.h"
#include "cli/run/jit_maps.h"
#include "cli/run/recorded_images.h"
#include "cli/run/running.h"
#include "cli/say.h"
#include "estimate/plan.h"
#include "import/import.h"
#include "model/gaps/losses.h"
#include "model/names/process_name.h"
#include "model/profile.h"
#include "policy/shown.h"
#include "report/parts/explained_text.h"
#include "report/report.h"
#include "resident/resident_file.h"
#include "text/quantity.h"
#include "trace/format.h"

#define INDENT "          " /* under the text after "bytepoll: " */
#define NOTHING "bytepoll: NOTHING WAS RECORDED: "
#define UNTOLD_WAIT_STEPS 30
#define UNTOLD_WAIT_NS 10000000

/* Words of section 1.4 of docs/trace-format.md. */
static const char *const loss_texts[BP_LOSS_COUNT] = {
	[BP_LOSS_TRACE_FULL] = "samples: the trace could not grow (disk full, a limit on the "
			       "size of files, or the program gave up the right to: seccomp, "
			       "another user or root)",
	[BP_LOSS_TRACE_REOPEN] = "samples: the trace could not be opened again to grow",
	[BP_LOSS_SLOT_MEMORY] = "samples: no memory for a slot",
	[BP_LOSS_LARGE_TABLE] = "samples: the table of large live objects was full",
	[BP_LOSS_STACK_TABLE] = "stacks: the stack table was full",
	[BP_LOSS_MODULE_TABLE] = "modules: the module table was full",
	[BP_LOSS_THREAD_SLOT] = "threads: no slot for their totals",
	[BP_LOSS_LANES_BUSY] = "samples: all writers were busy",
	[BP_LOSS_FREE] = "frees: they could not be recorded",
	[BP_LOSS_INTERRUPTED] =
		"objects: a signal handler allocated inside the recorder, or left it for good",
	[BP_LOSS_CHILD_TRACE] = "processes: a child could not open its trace",
	[BP_LOSS_NAME] = "names: no room for a type, a frame or labels",
	[BP_LOSS_MAPPING] = "calls that map or unmap memory: more than there is room for",
};
_Static_assert(BP_LOSS_MAPPING + 1 == BP_LOSS_COUNT, "every loss has words");

/* A child without a trace has no name; the process that forked it has one. */
static void print_childless(const struct bp_tree *tree)
{
	size_t i = 0;
	while (i < tree->count && tree->files[i].state.lost[BP_LOSS_CHILD_TRACE] == 0)
		i++;
	if (i < tree->count)
		bp_say(stderr,
			INDENT "%s (pid %u) forked %" PRIu64
			       " of them: the folder of the trace may be read-only or missing in "
			       "its root, or another user's",
			tree->files[i].program, tree->files[i].header.pid,
			tree->files[i].state.lost[BP_LOSS_CHILD_TRACE]);
}

static void print_losses(const struct bp_tree *tree, const struct bp_tree_sums *sums)
{
	for (int reason = 0; reason < BP_LOSS_MAX; reason++) {
		const char *text = reason < BP_LOSS_COUNT ? loss_texts[reason] : "unknown events";
		if (sums->lost[reason] > 0)
			fprintf(stderr, INDENT "lost %" PRIu64 " %s\n", sums->lost[reason], text);
	}
	print_childless(tree);
}

/* A counted number of bytes, or its limits. */
static void limits_text(
	struct bp_known_total total, struct bp_quantity_style style, char *to, size_t bytes)
{
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	bp_bytes_text(total.low, style, low);
	bp_bytes_text(total.high, style, high);
	if (total.high == UINT64_MAX)
		snprintf(to, bytes, "at least %s", low);
	else if (strcmp(low, high) == 0)
		snprintf(to, bytes, "%s", high);
	else
		snprintf(to, bytes, "%s to %s", low, high);
}

/* Was sampling off whenever something was allocated? */
static bool was_dormant(const struct bp_tree *tree)
{
	bool off = false;
	for (size_t i = 0; i < tree->count; i++) {
		if (tree->files[i].objects_high > tree->files[i].off_objects.high + 1)
			return false;
		off = off || tree->files[i].off_objects.high > 0;
	}
	return off;
}

static uint64_t sum_of_losses(const struct bp_tree_sums *sums)
{
	uint64_t lost = 0;
	for (int reason = 0; reason < BP_LOSS_MAX; reason++)
		lost += sums->lost[reason];
	return lost;
}

/* Losses after which there may have been samples. (Calls that map memory are none of malloc.) */
static bool lost_samples(const struct bp_tree_sums *sums)
{
	bool lost = false;
	for (int reason = 0; reason < BP_LOSS_MAX; reason++)
		lost = lost || (sums->lost[reason] > 0 && reason != BP_LOSS_MAPPING &&
				       bp_loss_kind((uint32_t)reason).samples);
	return lost;
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
	fprintf(stderr, "bytepoll: no samples: %s%s in %s%s object%s allocated, ",
		exact ? "exactly " : "at most ", bytes,
		sums->objects_low == sums->objects_high ? "" : "at most ", objects,
		sums->objects_high == 1 ? " was" : "s were");
	if (was_dormant(tree))
		fputs("while sampling was off: switch it on by bytepoll control PID start\n",
			stderr);
	else
		fprintf(stderr,
			"too little for 1 sample per %s: --interval %llu shows a tenth of it to "
			"within 10 %%\n",
			interval,
			(unsigned long long)bp_plan_interval_of_tenth((double)sums->trials_low));
}

/* Why there is no sample, in the order of likelihood of what is known. */
static void print_nothing(const struct bp_tree *tree, const struct bp_tree_sums *sums,
	const struct bp_program *program)
{
	const char *obstacle = bp_obstacle_text(program->obstacle);
	const bool maps =
		tree->count > 0 && (tree->files[0].header.flags_skippable & BP_HEADER_MAPPED) != 0;
	fputs(maps ? "bytepoll: nothing of malloc was recorded: " : NOTHING, stderr);
	if (sums->unprofiled > 0)
		bp_say(stderr, "%s ran unprofiled: %s", sums->unprofiled_program,
			bp_unprofiled_text(sums->unprofiled_reason));
	else if (*obstacle != '\0') /* the warning at the start said why, and what to do */
		bp_say(stderr, "%s ran unprofiled, as the warning at the start says",
			bp_obstacle_subject(program));
	else if (lost_samples(sums))
		bp_say(stderr, "what was sampled of %s could not be written:", program->path);
	else if (tree->count > 0 &&
		 (tree->files[0].header.flags_skippable & BP_HEADER_ATTACHED) != 0)
		bp_say(stderr, "%s allocated nothing by malloc while it was recorded",
			program->path);
	else if (tree->count > 0)
		bp_say(stderr,
			"no call of malloc by %s gave it an object: there was none (an allocator "
			"of its own?), or all of them failed%s%s",
			program->path,
			maps ? "; what it mapped itself: bytepoll report --metric mapped " : "",
			maps ? tree->file : "");
	else
		bp_say(stderr,
			"%s left no trace at %s: it dropped LD_PRELOAD, or could not write there",
			program->path, tree->file);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* The last part of PROGRAM, or where PROGRAM is a loader, of the program that it was to start. */
static const char *shown_name(const struct bp_tree *tree, const struct bp_program *program)
{
	const char *typed = base_name(program->path);
	return strncmp(typed, "ld-linux", 8) == 0 ? base_name(tree->files[0].program) : typed;
}

/* One total of the headline, with "exactly" where it is. */
static void print_total(const char *name, const struct bp_aggregation *aggregation,
	enum bp_metric metric, struct bp_quantity_style style)
{
	const struct bp_total *total = &aggregation->totals[metric];
	const struct bp_figure bytes =
		metric == BP_METRIC_PEAK ? bp_shown_peak(&total->bytes) : total->bytes;
	char text[BP_QUANTITY_BYTES];
	if (!total->known)
		return;
	bp_bytes_figure_text(&bytes, style, text);
	const bool exact = total->bytes.interval.exact && !total->bytes.lower_bound &&
			   !total->bytes.upper_bound;
	fprintf(stderr, "%s %s%s", name, text, exact ? ", exactly" : "");
}

/* The sampling interval, or where it changed from which to which. */
static void print_intervals(const struct bp_tree *tree, const struct bp_sampling *sampling,
	struct bp_quantity_style style)
{
	char text[BP_QUANTITY_BYTES];
	uint64_t first = tree->files[0].header.interval_bytes, last = first;
	if (sampling != NULL && sampling->interval_count > 0) {
		first = sampling->intervals[0];
		last = sampling->intervals[sampling->interval_count - 1];
	}
	bp_sampling_text(first, last, style, text);
	fprintf(stderr, " (%s)", text);
}

/* The first line and the losses. `sampling`: NULL if the trace could not be read. */
static void print_samples(const struct bp_tree *tree, const struct bp_tree_sums *sums,
	const struct bp_program *program, const struct bp_sampling *sampling,
	struct bp_quantity_style style)
{
	char samples[BP_QUANTITY_BYTES], lost[BP_QUANTITY_BYTES], bytes[BP_QUANTITY_BYTES];
	bp_count_text(sums->samples, samples);
	bp_count_text(sum_of_losses(sums), lost);
	bp_bytes_text(sums->bytes, style, bytes);
	bp_say_part(stderr, "bytepoll: %s sample%s of %s", samples, sums->samples == 1 ? "" : "s",
		shown_name(tree, program));
	print_intervals(tree, sampling, style);
	fprintf(stderr, ", %s lost, in ", lost);
	bp_say_path(tree->files[0].path);
	if (tree->count > 1)
		fprintf(stderr, " (%s in %zu recordings, one for each process and exec)\n", bytes,
			tree->count);
	else
		fprintf(stderr, " (%s)\n", bytes);
	print_losses(tree, sums);
}

/* Why the totals above are limits: it is no fault. */
static void print_stopped(const struct bp_profile *profile)
{
	char name[BP_SIGNAL_BYTES];
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (process->end_signal == 0)
			continue;
		bp_process_signal_text(process, name);
		fprintf(stderr,
			INDENT "it was ended by %s: what it allocated is known within limits\n",
			name);
		return;
	}
}

static void print_headline(const struct bp_aggregation *aggregation, struct bp_quantity_style style)
{
	const struct bp_sampling *sampling = &aggregation->sampling;
	char off[BP_SPAN_BYTES], bytes[2 * BP_QUANTITY_BYTES + 8];
	fputs(INDENT, stderr);
	print_total(bp_live_name(aggregation), aggregation, BP_METRIC_LIVE, style);
	print_total("   peak", aggregation, BP_METRIC_PEAK, style);
	print_total("   allocated", aggregation, BP_METRIC_ALLOCATED, style);
	putc('\n', stderr);
	print_stopped(aggregation->profile);
	if (!sampling->paused)
		return;
	bp_off_text(aggregation, off);
	limits_text(sampling->bytes_off, style, bytes, sizeof bytes);
	fprintf(stderr, INDENT "sampling was off for %s: %s allocated meanwhile are in no figure\n",
		off, bytes);
	if (sampling->outage_count > 0)
		fprintf(stderr,
			INDENT "nothing was recorded from %.2f s on%s: the trace could not grow\n",
			(double)sampling->outages[0].from_ns / 1e9,
			sampling->outage_goes_on && sampling->outage_count == 1 ? ""
										: " for a time");
}

/* Where malloc explains little of the process, before any figure of malloc's. False: it does not,
 * or nothing is known. */
static bool print_explained(const struct bp_recorded *recorded,
	const struct bp_aggregation *aggregation, struct bp_quantity_style style)
{
	struct bp_resident resident;
	struct bp_explained explained;
	char text[BP_EXPLAINED_BYTES];
	/* What is wrong with the file is what its reports will say. */
	(void)bp_resident_read(recorded->file, aggregation->profile, &resident, NULL);
	const bool known = bp_explain_process(aggregation, &resident, &explained);
	const bool little = known && explained.little;
	if (known && explained.peak_beyond_bytes > 0) {
		bp_explained_beyond_text(&explained, style, text);
		fprintf(stderr, INDENT "%s\n", text);
	}
	if (little) {
		bp_explained_text(&explained, style, text);
		fprintf(stderr, INDENT "%s\n", text);
		bp_explained_advice(&explained, style, text);
		fprintf(stderr, INDENT "%s %s\n", style.utf8 ? "→" : "->", text);
	}
	bp_resident_finish(&resident);
	return little;
}

/* Of a program with few calls of malloc: the heap of its own that it is known to have. */
static void print_own_heap(const struct bp_profile *profile, struct bp_quantity_style style)
{
	const bp_own_heaps heaps = bp_own_heaps_of_process(profile, 0);
	for (int heap = 0; heap < BP_OWN_HEAP_COUNT; heap++)
		if ((heaps & 1u << heap) != 0)
			fprintf(stderr, INDENT "%s\n" INDENT "%s %s\n", bp_own_heap_text(heap),
				style.utf8 ? "→" : "->", bp_own_heap_remedy(heap));
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
	const struct bp_recorded *recorded)
{
	struct bp_quantity_style style = bp_quantity_style_of_locale();
	struct bp_aggregation aggregation;
	struct bp_profile profile;
	struct bp_error error = { 0 };
	if (read_profile(tree, &profile, &aggregation, &error)) {
		print_samples(tree, sums, recorded->program, &aggregation.sampling, style);
		(void)print_explained(recorded, &aggregation, style);
		print_headline(&aggregation, style);
		bp_recorded_images_print(&profile, recorded->recorder, recorded->alone);
		bp_aggregation_finish(&aggregation);
		bp_profile_finish(&profile);
	} else {
		print_samples(tree, sums, recorded->program, NULL, style);
		bp_say(stderr, "bytepoll: %s", error.text);
	}
	fputs(INDENT "next: bytepoll report ", stderr);
	bp_say_path(tree->files[0].path);
	putc('\n', stderr);
}

/* A tree without a single sample. */
static void print_without_samples(struct bp_tree *tree, const struct bp_recorded *recorded)
{
	struct bp_tree_sums sums;
	struct bp_aggregation aggregation;
	struct bp_profile profile;
	bp_tree_read_rest(tree);
	bp_tree_sum(tree, &sums);
	const bool read = tree->count > 0 && read_profile(tree, &profile, &aggregation, NULL);
	if (sums.unprofiled > 0 || sums.objects_high == 0 || lost_samples(&sums) ||
		recorded->program->obstacle == BP_OBSTACLE_VALGRIND) {
		print_nothing(tree, &sums, recorded->program);
	} else if (read && bp_recorded_images_explain(&profile, recorded->recorder, NOTHING)) {
		; /* said */
	} else if (!recorded->quiet) {
		print_too_little(tree, &sums);
		if (read)
			bp_recorded_images_print(&profile, recorded->recorder, recorded->alone);
	}
	print_losses(tree, &sums);
	if (read && !recorded->quiet &&
		!print_explained(recorded, &aggregation, bp_quantity_style_of_locale()))
		print_own_heap(&profile, bp_quantity_style_of_locale());
	if (read) {
		bp_aggregation_finish(&aggregation);
		bp_profile_finish(&profile);
	}
}

/* Reads the tree. A child that was forked a moment ago is given time to begin its file. */
static bool read_tree(const struct bp_recorded *recorded, struct bp_tree *ret_tree,
	pid_t *ret_untold, struct bp_error *error)
{
	for (int step = 0;; step++) {
		if (!bp_tree_read(recorded->file, ret_tree, error))
			return false;
		ret_tree->untold = bp_running_unrecorded(ret_tree, recorded->recorder, ret_untold);
		if (ret_tree->untold == 0 || step == UNTOLD_WAIT_STEPS)
			return true;
		bp_tree_finish(ret_tree);
		nanosleep(&(struct timespec){ 0, UNTOLD_WAIT_NS }, NULL);
	}
}

static void print_running(const struct bp_tree *tree, pid_t untold)
{
	struct bp_tree_sums sums;
	bp_tree_sum(tree, &sums);
	const size_t recording = sums.running - tree->untold;
	if (recording == 1)
		fputs("bytepoll: 1 process of this run still runs and goes on recording\n", stderr);
	else if (recording > 1)
		fprintf(stderr,
			"bytepoll: %zu processes of this run still run and go on recording\n",
			recording);
	if (tree->untold > 0)
		fprintf(stderr,
			"bytepoll: %zu process%s of this run still run%s and cannot write a "
			"trace, for example process %ld\n",
			tree->untold, tree->untold == 1 ? "" : "es", tree->untold == 1 ? "s" : "",
			(long)untold);
}

void bp_recorded_print(const struct bp_recorded *recorded)
{
	struct bp_tree tree;
	struct bp_tree_sums sums;
	struct bp_error error = { 0 };
	pid_t untold = 0;
	if (!read_tree(recorded, &tree, &untold, &error)) {
		bp_say(stderr, "bytepoll: %s", error.text);
		return;
	}
	bp_tree_cut_tails(&tree);
	bp_tree_note_end(&tree, recorded->pid, recorded->ended_ns, recorded->end_signal);
	if (!bp_tree_write_index(&tree, &error))
		bp_say(stderr, "bytepoll: %s", error.text);
	if (!bp_jit_maps_keep(&tree, &error))
		bp_say(stderr, "bytepoll: %s", error.text);
	bp_tree_sum(&tree, &sums); /* of the files that are left */
	if (!recorded->quiet)
		print_running(&tree, untold);
	if (sums.samples == 0)
		print_without_samples(&tree, recorded);
	else if (!recorded->quiet)
		print_recorded(&tree, &sums, recorded);
	bp_tree_finish(&tree);
}
