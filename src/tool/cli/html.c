/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll html FILE...`: the profile as one HTML file. What is decided here is which metric is
 * shown first and where the file goes.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/command.h"
#include "cli/files/page_file.h"
#include "cli/files/residency_read.h"
#include "cli/input.h"
#include "cli/mapped_beside.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/query_options.h"
#include "cli/process/own_heaps.h"
#include "library/read.h"
#include "page/html.h"
#include "policy/shown.h"
#include "resident/mappings_file.h"
#include "resident/resident_file.h"

#define PREFIX "bytepoll." /* of files that are named by default */

/* The bytes of a file's name that stand before what says of which kind it is. */
static size_t stem_bytes(const char *name)
{
	static const char *const ends[] = { ".bpt", ".nettrace", ".pb.gz", ".pprof", ".pb", ".gz",
		".txt" };
	const size_t bytes = strlen(name);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		const size_t end = strlen(ends[i]);
		if (bytes > end && strcmp(name + bytes - end, ends[i]) == 0)
			return bytes - end;
	}
	return bytes;
}

/* The default name: that of the recording, in the current directory, with what could steer a
 * terminal or a path left out. `bytepoll.app.17.bpt` keeps its `bytepoll.`, and other names get
 * it. */
static void default_name(const char *recording, char *ret_name, size_t bytes)
{
	const char *name = bp_last_part(recording);
	const size_t stem = stem_bytes(name);
	char plain[101];
	size_t length = 0;
	if (stem > strlen(PREFIX) && strncmp(name, PREFIX, strlen(PREFIX)) == 0)
		name += strlen(PREFIX);
	const char *end = bp_last_part(recording) + stem;
	for (const char *c = name; c < end && length < 100; c++) {
		const bool keep = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				  (*c >= '0' && *c <= '9') || strchr("-_+", *c) != NULL ||
				  (*c == '.' && length > 0);
		plain[length++] = keep ? *c : '_';
	}
	plain[length] = '\0';
	snprintf(ret_name, bytes, PREFIX "%s.html", length > 0 ? plain : "profile");
}

/* Resident memory as the page takes it. */
struct seen {
	struct bp_page_resident *points; /* NULL: nothing is known */
	struct bp_reconciled parts[BP_RECONCILED_COUNT];
	struct bp_explained explained;
	struct bp_parts lines[BP_MAPPINGS_MOMENTS];
	struct bp_residency residency;
};

/* FILE.mappings, line by line as `report --resident` has it; where it is missing there are no
 * lines, and what is wrong with it is a warning. With filters there are none: they are of all
 * memory. */
static void read_lines(const char *file, struct bp_aggregation *aggregation, struct seen *seen,
	struct bp_page_options *options)
{
	struct bp_query query = aggregation->query;
	struct bp_mappings mappings;
	struct bp_error error;
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s" BP_MAPPINGS_SUFFIX, file);
	if (query.filter_count > 0 || access(path, F_OK) != 0)
		return;
	if (!bp_mappings_read(file, aggregation->profile, &mappings, &error)) {
		bp_aggregation_warn(aggregation, "%s", error.text);
		return;
	}
	query.by = BP_KEY_FUNCTION;
	query.usable = false;
	bool good = mappings.pid == options->resident_pid;
	for (int i = 0; good && i < BP_MAPPINGS_MOMENTS; i++)
		good = bp_parts_make(aggregation->profile, &query, &mappings.cuts[i], mappings.pid,
			&seen->lines[i], &error);
	if (good)
		options->resident_lines = seen->lines;
	else if (mappings.pid == options->resident_pid)
		bp_aggregation_warn(aggregation, "%s", error.text);
	bp_mappings_finish(&mappings);
}

/* FILE.pages: what of live objects was not resident at the last look, by function. */
static void read_residency(const char *file, struct bp_aggregation *aggregation, struct seen *seen,
	struct bp_page_options *options)
{
	struct bp_query query = aggregation->query;
	struct bp_error torn, error;
	bool known = false;
	query.by = BP_KEY_FUNCTION;
	query.usable = false;
	if (!bp_residency_read(
		    file, aggregation->profile, &query, &seen->residency, &known, &torn, &error))
		bp_aggregation_warn(aggregation, "%s", error.text);
	else if (torn.text[0] != '\0')
		bp_aggregation_warn(aggregation, "%s", torn.text);
	if (known)
		options->residency = &seen->residency;
}

/* What a runtime said of its memory; with filters nothing, since it is of all of it. */
static void read_runtime(
	struct bp_aggregation *aggregation, struct seen *seen, struct bp_page_options *options)
{
	struct bp_query query = aggregation->query;
	struct bp_error error;
	query.by = BP_KEY_FUNCTION;
	query.usable = false;
	if (query.filter_count > 0 || aggregation->profile->merged_unrelated)
		return;
	const bool known = bp_runtime_parts_make(aggregation->profile, &query, true,
				   &seen->lines[BP_MAPPINGS_HIGHEST], &error) &&
			   bp_runtime_parts_make(aggregation->profile, &query, false,
				   &seen->lines[BP_MAPPINGS_LAST], &error);
	if (known)
		options->runtime_lines = seen->lines;
	else if (error.text[0] != '\0')
		bp_aggregation_warn(aggregation, "%s", error.text);
}

/* FILE.resident, into `seen` and the options that point at it; what is wrong with it is a
 * warning. */
static void read_resident(const struct bp_arguments *arguments, struct bp_aggregation *aggregation,
	struct seen *seen, struct bp_page_options *options)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	struct bp_resident resident = { 0 };
	struct bp_error error;
	/* (Beside what was mapped, as in a report, there is none: it is of all memory.) */
	if (arguments->operand_count == 1 && !profile->mapped &&
		!bp_resident_read(arguments->operands[0], profile, &resident, &error))
		bp_aggregation_warn(aggregation, "%s", error.text);
	const uint32_t pid = aggregation->query.pid;
	if (resident.count > 0 && (pid == 0 || pid == resident.pid))
		seen->points = calloc(resident.count, sizeof *seen->points);
	for (uint32_t i = 0; seen->points != NULL && i < resident.count; i++) {
		const uint64_t time_ns = resident.points[i].time_ns;
		seen->points[i] = (struct bp_page_resident){
			time_ns > root->start_time_ns ? time_ns - root->start_time_ns : 0,
			bp_resident_sum(&resident.points[i]), resident.points[i].anonymous,
			resident.points[i].file, resident.points[i].shared,
			resident.points[i].swapped
		};
	}
	if (seen->points != NULL) {
		options->resident = seen->points;
		options->resident_count = resident.count;
		options->resident_attached = bp_profile_is_attached(profile, resident.pid);
		options->resident_pid = resident.pid;
		read_lines(arguments->operands[0], aggregation, seen, options);
		if (options->resident_lines != NULL)
			read_residency(arguments->operands[0], aggregation, seen, options);
		(void)bp_resident_peak(&resident, profile, &options->resident_most);
		if (bp_reconcile(aggregation, &resident, seen->parts))
			options->resident_parts = seen->parts;
		if (bp_explain_process(aggregation, &resident, &seen->explained))
			options->explained = &seen->explained;
	}
	bp_resident_finish(&resident);
}

static struct bp_written_file page_file(const struct bp_arguments *arguments, const char *otherwise)
{
	return bp_page_file(arguments, bp_option_value_or(arguments, "output", otherwise), "-o");
}

/* What the program mapped itself, by the same query, beside the page of malloc. Where a recording
 * has no such calls, or several were given, there is nothing; and nothing either where a filter is
 * about what was freed, which is not known of these. */
static bool read_mapped(const struct bp_arguments *arguments,
	const struct bp_query_options *options, const struct bp_profile *profile,
	struct bp_mapped_beside *mapped, struct bp_error *error)
{
	struct bp_input_options input = bp_input_options_of(arguments, options);
	struct bp_query query = options->query;
	if (arguments->operand_count != 1 || profile->mapped || bp_query_filters_frees(&query) ||
		!bp_profile_knows_mappings(profile))
		return true;
	input.keep_readings = true;
	query.usable = false;
	query.metric = query.metric == BP_METRIC_PEAK ? BP_METRIC_PEAK : BP_METRIC_LIVE;
	if (!bp_mapped_beside_read(arguments, input, &query, mapped, error))
		return false;
	(void)bp_read_warn_of_mappings(&mapped->profile, &mapped->aggregation);
	return true;
}

static bool write_page(const struct bp_arguments *arguments, struct bp_aggregation *aggregation,
	const struct bp_mapped_beside *mapped, struct bp_error *error)
{
	struct bp_page_options options = { .bytes_max = BP_PAGE_BYTES_MAX,
		.embed_source = bp_option_given(arguments, "embed-source") };
	struct bp_page_summary summary = { 0 };
	/* (A recording may know that there was no such call.) */
	const bool has_mapped = mapped->is_aggregated && mapped->profile.samples.count > 1;
	char name[PATH_MAX];
	default_name(arguments->operands[0], name, sizeof name);
	struct bp_written_file file = page_file(arguments, name);
	if (!bp_page_file_check(&file, error) || !bp_written_file_begin(&file, error))
		return false;
	struct seen seen = { 0 };
	read_resident(arguments, aggregation, &seen, &options);
	if (options.resident_lines == NULL)
		read_runtime(aggregation, &seen, &options);
	const bool good = bp_page_write(aggregation, has_mapped ? &mapped->aggregation : NULL,
		&options, file.out, &summary, error);
	free(seen.points);
	for (int i = 0; i < BP_MAPPINGS_MOMENTS; i++)
		bp_parts_finish(&seen.lines[i]);
	bp_residency_finish(&seen.residency);
	if (!bp_written_file_end(&file, good, error))
		return false;
	bp_page_file_tell(file.path, summary.bytes, summary.pruned);
	return true;
}

static int html(const struct bp_arguments *arguments)
{
	struct bp_query_options options = { 0 };
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	struct bp_aggregation aggregation;
	struct bp_mapped_beside mapped = { .is_read = false };
	struct bp_error error = { 0 };
	const struct bp_written_file file = page_file(arguments, NULL);
	if (arguments->operand_count == 0) {
		bp_input_missing("bytepoll html FILE", &error);
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	}
	if (!bp_query_options_read(arguments, &options, &error) ||
		!bp_mapped_options_check(arguments, &options, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	if (file.path != NULL && !bp_page_file_check(&file, &error))
		return bp_command_fail(1, &error);
	struct bp_input_options input = bp_input_options_of(arguments, &options);
	input.keep_readings = true; /* a window can be chosen in the page */
	if (!bp_input_read(arguments->operands, arguments->operand_count, input, &profile, &symbols,
		    &error))
		return bp_command_fail(1, &error);
	bool good = bp_input_knows_mappings(&profile, arguments->operands[0], &error) &&
		    bp_aggregate_shown(&profile, &options.query,
			    !bp_option_given(arguments, "metric"), &aggregation, &error);
	if (good) {
		(void)bp_read_warn_alone(&aggregation, &symbols);
		good = read_mapped(arguments, &options, &profile, &mapped, &error) &&
		       write_page(arguments, &aggregation, &mapped, &error);
		bp_mapped_beside_finish(&mapped);
		bp_aggregation_finish(&aggregation);
	}
	bp_profile_finish(&profile);
	return good ? 0 : bp_command_fail(1, &error);
}

static const struct bp_option options[] = {
	{ .name = "output",
		.letter = 'o',
		.argument = "FILE",
		.file = true,
		.summary = "where to (bytepoll.RECORDING.html; - for standard output)" },
	{ .name = "force",
		.letter = 'f',
		.summary = "replace a file that is there, unless it is a recording" },
	{ .name = "embed-source", .summary = "the source lines of the functions shown, too" },
	{ .summary = "What is in it" },
	BP_OPTION_METRIC_OR_MAPPED_ALONE,
	BP_OPTION_BYTES,
	BP_OPTION_PID,
	BP_OPTION_FILTER,
	BP_OPTION_ALLOCATORS,
	BP_OPTION_FRAMES,
	{ .summary = "How it is estimated" },
	BP_OPTION_CONFIDENCE,
	BP_OPTION_MIN_SIZE,
	BP_OPTION_ASSUME_INTERVAL,
	BP_OPTION_DEBUG_DIRECTORY,
	{ 0 },
};

const struct bp_command bp_command_html = {
	.name = "html",
	.summary = "write a page to explore a profile in a browser",
	.usage = "[options] FILE...",
	.details =
		"Writes one HTML file that needs nothing else: no server, no network. It shows what\n"
		"was live at exit, at the peak or at any moment, and what was allocated, by stack,\n"
		"function, line, thread, type and size, each figure with its confidence interval,\n"
		"made in the page from the samples as `bytepoll report` makes it. --metric says\n"
		"what it shows first. Of a recording by run --mapped it also has what the program\n"
		"mapped itself, exactly counted, which a switch on top shows in place of malloc;\n"
		"with --metric mapped or mapped-peak the page is of that and of nothing else.\n"
		"\n"
		"A page stays below 5 MB. Of very large profiles it shows time in fewer steps, and\n"
		"of stacks with few samples only the function that allocated; it says so.\n"
		"Whoever has the page has the names of functions, files and programs, and the\n"
		"command line; with --embed-source also lines of source. They are taken only for\n"
		"modules that are here, unchanged, and belong to you or to root.",
	.options = options,
	.examples = "bytepoll html app.bpt\n"
		    "    writes bytepoll.app.html\n"
		    "bytepoll html --metric peak -o peak.html app.bpt\n"
		    "    begins with what was live at the peak\n"
		    "bytepoll html --metric mapped -o mapped.html app.bpt\n"
		    "    what the program mapped itself, recorded by run --mapped\n"
		    "bytepoll html --filter module=libfoo* --embed-source -o foo.html app.bpt\n"
		    "    one library alone, with the lines of its source\n",
	.exit_statuses = "0  done\n1  failed: a file cannot be read, say\n2  wrong usage\n",
	.usage_status = 2,
	.run = html,
};
