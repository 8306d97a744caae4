/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll verify FILE`: prints again what `run --verify` found, with a status for scripts.
 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/options/query_options.h"
#include "cli/terminal/pager.h"
#include "cli/say.h"
#include "cli/terminal/terminal.h"
#include "cli/verify/verify_tree.h"
#include "report/verify/verify_report.h"

static int verify(const struct bp_arguments *arguments)
{
	struct bp_query_options query = { 0 };
	struct bp_verify_options options = { .error = BP_VERIFY_ERROR };
	struct bp_report_options style = { .si = bp_option_given(arguments, "si") };
	struct bp_error error = { 0 };
	struct bp_verify truth;
	unsigned running;
	if (arguments->operand_count != 1)
		return bp_command_fail_usage(
			arguments->command, "verify takes one file: bytepoll verify FILE");
	if (!bp_query_options_read(arguments, &query, &error) ||
		!bp_option_probability(arguments, "error", &options.error, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	options.query = query.query;
	options.debug_directory = bp_option_value(arguments, "debug-directory");
	if (!bp_verify_tree_read(arguments->operands[0], &options, &truth, &running, &error))
		return bp_command_fail(1, &error);
	if (running > 0)
		bp_say(stderr, "bytepoll: warning: %u processes still run and are left out",
			running);
	bp_terminal_look(&style);
	bp_pager_begin_unless(arguments);
	if (bp_option_given(arguments, "json"))
		bp_verify_write_json(&truth, stdout);
	else
		bp_verify_write_text(&truth, &style, stdout);
	const bool good = truth.verdict == BP_VERIFY_GOOD;
	bp_verify_finish(&truth);
	if (!bp_pager_end(&error))
		return bp_command_fail(1, &error);
	return good ? 0 : 1;
}

static const struct bp_option options[] = {
	{ .name = "json", .summary = "everything as JSON (schema bytepoll-verify-1)" },
	{ .name = "error",
		.argument = "RATE",
		.summary = "how often a right profiler may fail the check (0.001)" },
	BP_OPTION_CONFIDENCE,
	BP_OPTION_MIN_SIZE,
	{ .name = "si",
		.summary = "kB, MB, GB instead of KiB, MiB, GiB",
		.without_effect_in = "json" },
	BP_OPTION_NO_PAGER,
	BP_OPTION_DEBUG_DIRECTORY,
	{ 0 },
};

const struct bp_command bp_command_verify = {
	.name = "verify",
	.summary = "check the intervals against a full count",
	.usage = "[options] FILE",
	.details =
		"Compares what bytepoll shows of a program with the truth: `bytepoll run --verify`\n"
		"counts every object beside the samples, for each function and stack. Every figure\n"
		"of allocated, live and temporary memory is looked up in that count, those of rows\n"
		"without a sample too, and the verdict says whether as many intervals hold as they\n"
		"promise. Each process of a tree is compared by itself.",
	.options = options,
	.examples = "bytepoll run --verify -o app.bpt -- ./app\n"
		    "    profile and count, then compare\n"
		    "bytepoll verify --confidence 0.8 app.bpt\n"
		    "    the same for 80 % intervals\n",
	.exit_statuses = "0  the intervals hold what they promise\n"
			 "1  they do not, or it cannot be said\n"
			 "2  wrong usage\n",
	.usage_status = 2,
	.run = verify,
};
