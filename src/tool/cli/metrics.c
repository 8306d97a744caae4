/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll metrics FILE... -o OUT`: every file into an aggregation by itself, all of them into
 * Prometheus' text format. For the textfile collector of its node exporter, and whatever else reads
 * such files: OUT is replaced whole.
 */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/files/recordings_here.h"
#include "cli/files/written_file.h"
#include "cli/input.h"
#include "cli/options/query_options.h"
#include "library/read.h"
#include "report/metrics.h"
#include "resident/resident_file.h"

struct input {
	struct bp_profile profile;
	struct bp_aggregation aggregation;
	struct bp_resident resident;
	bool read, aggregated;
};

/* Names of functions are not asked for. */
static bool read_input(const char *file, const struct bp_query_options *options,
	struct input *input, struct bp_error *error)
{
	const struct bp_read_options reading = { .no_symbols = true };
	struct bp_query query = options->query;
	struct bp_symbol_summary symbols;
	struct bp_error torn;
	query.by = BP_KEY_PROCESS;
	query.without_peak = true;
	if (!bp_recording_is_there(file, error) ||
		!bp_read_files(&file, 1, &reading, &input->profile, &symbols, error))
		return false;
	input->read = true;
	if (!bp_resident_read(file, &input->profile, &input->resident, &torn))
		input->resident = (struct bp_resident){ .count = 0 };
	input->aggregated = bp_aggregate(&input->profile, &query, &input->aggregation, error);
	return input->aggregated;
}

static bool write_file(struct bp_written_file *file, const struct bp_metrics_source *sources,
	size_t count, struct bp_error *error)
{
	if (!bp_written_file_begin(file, error))
		return false;
	bp_write_metrics(sources, count, file->out);
	return bp_written_file_end(file, true, error);
}

static bool read_and_write(const struct bp_arguments *arguments,
	const struct bp_query_options *options, struct bp_written_file *file,
	struct bp_error *error)
{
	const size_t count = (size_t)arguments->operand_count;
	struct input *inputs = calloc(count, sizeof *inputs);
	struct bp_metrics_source *sources = calloc(count, sizeof *sources);
	bool good = (inputs != NULL && sources != NULL) || bp_error_set(error, "out of memory");
	for (size_t i = 0; good && i < count; i++) {
		good = read_input(arguments->operands[i], options, &inputs[i], error);
		sources[i] = (struct bp_metrics_source){ arguments->operands[i],
			&inputs[i].aggregation, &inputs[i].resident };
	}
	good = good && write_file(file, sources, count, error);
	for (size_t i = 0; inputs != NULL && i < count; i++) {
		bp_resident_finish(&inputs[i].resident);
		if (inputs[i].aggregated)
			bp_aggregation_finish(&inputs[i].aggregation);
		if (inputs[i].read)
			bp_profile_finish(&inputs[i].profile);
	}
	free(inputs);
	free(sources);
	return good;
}

static int metrics(const struct bp_arguments *arguments)
{
	struct bp_query_options options = { .by_given = false };
	struct bp_error error = { 0 };
	struct bp_written_file file = { .path = bp_option_value_or(arguments, "output", "-"),
		.option = "-o",
		.force = bp_option_given(arguments, "force"),
		.mode = 0666,
		.inputs = (const char *const *)arguments->operands,
		.input_count = (size_t)arguments->operand_count };
	if (arguments->operand_count == 0) {
		bp_input_missing("bytepoll metrics FILE", &error);
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	}
	if (!bp_query_options_read(arguments, &options, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	return bp_written_file_check(&file, &error) &&
			       read_and_write(arguments, &options, &file, &error)
		       ? 0
		       : bp_command_fail(1, &error);
}

static const struct bp_option options[] = {
	{ .summary = "What is written" },
	{ .name = "output",
		.letter = 'o',
		.argument = "OUT",
		.file = true,
		.summary = "the file to write (default: standard output)" },
	{ .name = "force",
		.letter = 'f',
		.summary = "replace OUT if it exists, unless it is a recording" },
	BP_OPTION_CONFIDENCE,
	{ 0 },
};

const struct bp_command bp_command_metrics = {
	.name = "metrics",
	.summary = "write figures for Prometheus",
	.usage = "[options] FILE...",
	.details =
		"Writes what was counted, what is live with both limits of its interval, resident\n"
		"memory and losses of every FILE in Prometheus' text format, for the textfile\n"
		"collector of its node exporter. FILE may still be written. An alert that stands\n"
		"on bytepoll_live_low_bytes is not raised by the noise of sampling more often than\n"
		"--confidence says.",
	.options = options,
	.examples = "bytepoll metrics app.bpt --force -o /var/lib/node_exporter/app.prom\n"
		    "    every minute, say\n",
	.exit_statuses = "0  done\n1  failed: a file cannot be read, say\n2  wrong usage\n",
	.usage_status = 2,
	.run = metrics,
};
