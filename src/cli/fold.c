/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll fold`: puts what the older part of a trace says into FILE.fold, in less room, and gives
 * the disk back. The same as `run --max-size` does by itself while its program runs, for programs
 * that were started without `run` (from cron, say), and for traces that are kept.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "fold/fold.h"
#include "report/quantity.h"

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
		printf("%s: nothing to fold (%s)\n", file, before);
	else
		printf("%s: %s are %s now; times of the folded part are told %g ms late at most\n",
			file, before, after, (double)result->resolution_ns / 1e6);
}

static int fold_command(const struct bp_arguments *arguments)
{
	struct bp_fold_options options = { 0 };
	struct bp_fold_result result = { 0 };
	struct bp_error error = { 0 };
	if (arguments->operand_count == 0)
		return bp_command_fail_usage(arguments->command, "fold needs a file");
	if (!read_sizes(arguments, &options, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	for (int i = 0; i < arguments->operand_count; i++) {
		if (!bp_fold(arguments->operands[i], &options, true, &result, &error))
			return bp_command_fail(1, &error);
		if (!bp_option_given(arguments, "quiet"))
			print_result(arguments->operands[i], &result);
	}
	return 0;
}

static const struct bp_option options[] = {
	{ .name = "keep",
		.argument = "SIZE",
		.summary = "leave so much of the newest records as they are (0)" },
	{ .name = "max-size",
		.argument = "SIZE",
		.summary = "fold only what takes more, to half of it at most if times may be "
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
		"together, and gives the disk they took back. The process that writes FILE may\n"
		"run on. All totals stay as they are, with their intervals; so does the peak of\n"
		"the process. Times in the folded part are told a little late, by a thousandth\n"
		"of its length at most (--max-size: a sixty-fourth); reports say by how much.\n"
		"FILE and FILE.fold belong together: every command that reads FILE reads both.\n\n"
		"The file system must be able to give back parts of a file (ext4, xfs, btrfs and\n"
		"tmpfs can); otherwise nothing is changed.\n",
	.options = options,
	.examples = "bytepoll fold server.bpt\n"
		    "bytepoll fold --max-size 256M /var/tmp/server.bpt\n",
	.exit_statuses = "0  folded, or nothing to fold\n1  failed; all is as it was\n2  usage\n",
	.usage_status = 2,
	.run = fold_command,
};
