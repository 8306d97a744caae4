/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll fold`: puts what the older part of a trace says into FILE.fold, in less room, and gives
 * the disk back. The same as `run --max-size` does by itself while its program runs, for programs
 * that were started without `run` (from cron, say), and for traces that are kept. FILE.d holds the
 * other processes of the same run: each file is folded by the same rule, and one that fails stops
 * no other.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/files/recordings_here.h"
#include "cli/files/tree.h"
#include "cli/options/options.h"
#include "cli/say.h"
#include "fold/fold.h"
#include "text/quantity.h"

static bool read_sizes(const struct bp_arguments *arguments, struct bp_fold_options *ret_options,
	struct bp_error *error)
{
	const char *keep = bp_option_value(arguments, "keep");
	const char *most = bp_option_value(arguments, "max-size");
	if (keep != NULL && !bp_parse_size(keep, &ret_options->keep_bytes, error))
		return false;
	if (most == NULL)
		return true;
	if (!bp_parse_size(most, &ret_options->at_least, error))
		return false;
	if (ret_options->at_least == 0)
		return bp_error_set(error, "--max-size 0: leave it out to fold all that can be");
	ret_options->folded_bytes = ret_options->at_least / 2;
	return true;
}

static void print_result(const char *file, const struct bp_fold_result *result)
{
	struct bp_quantity_style style = { 0 };
	char before[BP_QUANTITY_BYTES], after[BP_QUANTITY_BYTES];
	bp_bytes_text(result->bytes_before, style, before);
	bp_bytes_text(result->bytes_after, style, after);
	if (result->chunks == 0)
		bp_say(stdout, "%s: nothing to fold (%s)", file, before);
	else
		bp_say(stdout,
			"%s: %s are %s now; times of the folded part are told %g ms late at most",
			file, before, after, (double)result->resolution_ns / 1e6);
}

/* Says why a file still takes more than was wished. Folding can make times coarser, but not the
 * objects alike. */
static void explain_size(const char *file, const struct bp_fold_result *result,
	const struct bp_fold_options *options)
{
	struct bp_quantity_style style = { 0 };
	char after[BP_QUANTITY_BYTES], folded[BP_QUANTITY_BYTES];
	if (options->at_least == 0 || result->bytes_after <= options->at_least)
		return;
	bp_bytes_text(result->bytes_after, style, after);
	bp_bytes_text(result->folded_bytes, style, folded);
	if (result->folded_bytes >= result->bytes_after / 2)
		bp_say(stdout,
			"%s: takes %s, and cannot be folded to less: its objects differ too much in "
			"stack, size and time (%s), and times are as coarse as they may be; record "
			"with a larger --interval",
			file, after, folded);
	else
		bp_say(stdout,
			"%s: takes %s, and cannot be folded to less: its newest records, and what "
			"is damaged or exact (--verify), stay as they are",
			file, after);
}

/* The files of FILE.d; exit status. One that its run has tidied away meanwhile is none of them. */
static int fold_others(const char *file, const struct bp_fold_options *options, bool quiet)
{
	struct bp_fold_result sum = { 0 };
	struct bp_error error = { 0 };
	struct bp_tree tree;
	size_t others = 0, folded = 0;
	int status = 0;
	char name[PATH_MAX + 64];
	if (!bp_tree_read(file, &tree, &error))
		return bp_command_fail(1, &error);
	for (size_t i = 0; i < tree.count; i++) {
		struct bp_fold_result result = { 0 };
		if (tree.files[i].first || tree.files[i].packed)
			continue;
		if (!bp_fold_in(dirfd(tree.folder), tree.files[i].path, options, true, &result,
			    &error)) {
			if (faccessat(dirfd(tree.folder), tree.files[i].name, F_OK, 0) == 0)
				status = bp_command_fail(1, &error);
			continue;
		}
		others++;
		folded += result.chunks > 0;
		sum.chunks += result.chunks;
		sum.bytes_before += result.bytes_before;
		sum.bytes_after += result.bytes_after;
		if (result.resolution_ns > sum.resolution_ns)
			sum.resolution_ns = result.resolution_ns;
	}
	bp_tree_finish(&tree);
	snprintf(name, sizeof name, "%s.d, %zu of %zu files", file, folded, others);
	if (others > 0 && !quiet)
		print_result(name, &sum);
	return status;
}

static int fold_command(const struct bp_arguments *arguments)
{
	struct bp_fold_options options = { 0 };
	struct bp_fold_result result = { 0 };
	struct bp_error error = { 0 };
	const bool quiet = bp_option_given(arguments, "quiet");
	int status = 0;
	if (arguments->operand_count == 0)
		return bp_command_fail_usage(arguments->command, "fold needs a file");
	if (!read_sizes(arguments, &options, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	for (int i = 0; i < arguments->operand_count; i++) {
		if (!bp_recording_is_there(arguments->operands[i], &error) ||
			!bp_fold(arguments->operands[i], &options, true, &result, &error))
			return bp_command_fail(1, &error);
		if (!quiet) {
			print_result(arguments->operands[i], &result);
			explain_size(arguments->operands[i], &result, &options);
		}
		if (fold_others(arguments->operands[i], &options, quiet) != 0)
			status = 1;
	}
	return status;
}

static const struct bp_option options[] = {
	{ .name = "keep",
		.argument = "SIZE",
		.summary = "leave so much of each file's newest records as they are (0)" },
	{ .name = "max-size",
		.argument = "SIZE",
		.summary =
			"fold only a file that takes more, to half of it at most if times may be "
			"coarser" },
	{ .name = "quiet", .letter = 'q', .summary = "print nothing when all is well" },
	{ 0 },
};

const struct bp_command bp_command_fold = {
	.name = "fold",
	.summary = "make the older part of a trace small",
	.usage = "[options] FILE...",
	.details =
		"Puts what FILE says of objects that were freed into FILE.fold, alike ones\n"
		"together, and gives the disk they took back; each file of FILE.d, the other\n"
		"processes of the run, is folded in the same way. The process that writes may run\n"
		"on. All totals stay as they are, with their intervals; so does the peak of\n"
		"the process. Times in the folded part are told a little late, by a thousandth\n"
		"of its length at most (--max-size: a sixty-fourth); reports say by how much.\n"
		"FILE and FILE.fold belong together: every command that reads FILE reads both.\n\n"
		"The file system must be able to give back parts of a file (ext4, xfs, btrfs and\n"
		"tmpfs can); otherwise nothing is changed.\n",
	.options = options,
	.examples = "bytepoll fold server.bpt\n"
		    "bytepoll fold --max-size 256M /var/tmp/server.bpt\n",
	.exit_statuses =
		"0  folded, or nothing to fold\n1  a file failed, and is as it was\n2  usage\n",
	.usage_status = 2,
	.run = fold_command,
};
