/* SPDX-License-Identifier: MIT */
/*
 * `report --summary`: one screen for who has no question yet. What ran, the totals, where resident
 * memory is, the five largest functions, what looks suspicious and how sure that is, and what to
 * run next. The aggregation is by function, of the metric that is shown; what else is asked of the
 * profile is aggregated here, with the same window, processes and filters.
 */
#include <math.h>
#include <string.h>

#include "diff/diff_moments.h"
#include "report/parts/bar.h"
#include "report/parts/grid.h"
#include "report/parts/header.h"
#include "report/parts/named_callers.h"
#include "report/parts/objects_column.h"
#include "report/parts/resident_text.h"
#include "text/escape.h"

#define ROWS 5
#define SUSPECTS_MOST 2
#define ERROR_OF_SUSPECTS 0.05 /* as of --growth */
#define NAME_COLUMNS 40
#define TEMPORARY_SHARE 0.01 /* of what was allocated: below it is not worth a look */
#define TEXT_BYTES 1024

static void write_said(
	const struct bp_report_options *options, const char *mark, const char *text, FILE *out)
{
	bp_write_wrapped(options, mark, text, out);
}

static void safe_name(
	const char *name, const struct bp_report_options *options, char *to, size_t bytes)
{
	bp_report_name(options, name != NULL && *name != '\0' ? name : "(no name)", NAME_COLUMNS,
		to, bytes);
}

/* The first rows, and in `*ret_overlaps` how many neighbours among them could be in another
 * order. */
static bool write_rows(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, uint32_t *ret_overlaps, FILE *out)
{
	char heading[64];
	struct bp_grid grid = {
		.name = heading, .headings = { "bytes", "objects", "samples" }, .bars = true
	};
	uint32_t shown = aggregation->row_count < ROWS ? aggregation->row_count : ROWS;
	struct bp_objects_column column = { 0 };
	double low_before = -1;
	bool good = true;
	snprintf(heading, sizeof heading, "%s by %s", bp_metric_names[aggregation->query.metric],
		bp_query_by(&aggregation->query));
	*ret_overlaps = 0;
	for (uint32_t i = 0; good && i < shown; i++) {
		struct bp_row row;
		bp_aggregation_row(aggregation, i, &row);
		struct bp_grid_row *line = bp_grid_add(&grid, row.name != NULL ? row.name : "");
		good = line != NULL;
		if (!good)
			break;
		line->bar = row.bytes.interval;
		bp_bytes_figure_text(&row.bytes, bp_style_of(options), line->cells[0]);
		bp_objects_figure_text(&row.objects, bp_style_of(options), line->cells[1]);
		bp_objects_column_look(&column, &row);
		bp_count_text(row.samples, line->cells[2]);
		*ret_overlaps += i > 0 && row.bytes.interval.high >= low_before;
		low_before = row.bytes.interval.low;
	}
	if (!bp_objects_column_is_shown(&column, &aggregation->query))
		bp_grid_leave_out(&grid, 1);
	if (good && shown > 0 && bp_grid_write(&grid, options, out))
		bp_write_bar_legend(options, out);
	bp_grid_finish(&grid);
	return good;
}

/* Is there a first and a second half of the run to compare? */
static bool has_halves(const struct bp_aggregation *aggregation, uint64_t at_ns[BP_SIDES])
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_query *query = &aggregation->query;
	const uint64_t end_ns = aggregation->duration_ns;
	const bool by_itself = profile->processes.data[aggregation->subject.i].ended;
	if (profile->merged_unrelated || aggregation->absent != 0 || query->has_from ||
		query->has_to || query->has_at || query->usable ||
		query->estimator != BP_ESTIMATOR_DEFAULT || query->method != BP_METHOD_DEFAULT)
		return false;
	at_ns[BP_BASE] = end_ns / 2;
	at_ns[BP_NEW] = by_itself ? end_ns / 10 * 9 : end_ns;
	return at_ns[BP_BASE] < at_ns[BP_NEW] && at_ns[BP_BASE] > 0;
}

/* What grew in the second half of the run. `*ret_suspects`: how many functions did, for certain. */
static bool write_growth(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, uint32_t *ret_suspects, FILE *out,
	struct bp_error *error)
{
	const struct bp_diff_query asked = { .growth = true, .rate = ERROR_OF_SUSPECTS };
	struct bp_query query = aggregation->query;
	struct bp_diff_moments moments;
	uint64_t at_ns[BP_SIDES];
	char name[4096], rate[BP_QUANTITY_BYTES], text[TEXT_BYTES + 4096], from[BP_QUANTITY_BYTES],
		to[BP_QUANTITY_BYTES];
	*ret_suspects = 0;
	if (!has_halves(aggregation, at_ns))
		return true;
	query.metric = BP_METRIC_LIVE;
	if (!bp_diff_moments_make(aggregation->profile, &query, at_ns, &asked, "", &moments, error))
		return false;
	const double seconds = (double)(at_ns[BP_NEW] - at_ns[BP_BASE]) / 1e9;
	bp_time_text(at_ns[BP_BASE], from);
	bp_time_text(at_ns[BP_NEW], to);
	*ret_suspects = moments.diff.verdict_count;
	for (uint32_t i = 0; i < *ret_suspects && i < SUSPECTS_MOST; i++) {
		struct bp_diff_row row;
		bp_diff_row(&moments.diff, i, &row);
		const double least = floor(row.bytes.lower / seconds);
		const struct bp_figure figure = { .interval = {
							  least, least, least, true, false } };
		safe_name(row.name, options, name, sizeof name);
		bp_bytes_change_text(&figure, bp_style_of(options), "/s", rate);
		snprintf(text, sizeof text,
			"grows: %s, at least %s from %.40s to %.40s (error %g %%)", name, rate,
			from, to, 100 * ERROR_OF_SUSPECTS);
		write_said(options, "!", text, out);
	}
	if (*ret_suspects == 0) {
		snprintf(text, sizeof text,
			"no function is known to have grown from %.40s to %.40s (error %g %%)",
			from, to, 100 * ERROR_OF_SUSPECTS);
		write_said(options, "-", text, out);
	}
	bp_diff_moments_finish(&moments);
	return true;
}

/* The largest row of another question about the same samples, as a sentence. */
static bool write_largest(const struct bp_aggregation *aggregation, enum bp_metric metric,
	enum bp_key by, const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_query query = aggregation->query;
	struct bp_aggregation asked;
	struct bp_row row;
	char name[4096], bytes[BP_QUANTITY_BYTES], objects[BP_QUANTITY_BYTES];
	char text[TEXT_BYTES + 4096];
	if (metric != BP_METRIC_ALLOCATED && (aggregation->absent & 1u << metric))
		return true;
	query.metric = metric;
	query.by = by;
	query.has_at = query.has_at && metric == BP_METRIC_LIVE;
	query.without_peak = true;
	if (!bp_aggregate(aggregation->profile, &query, &asked, error))
		return false;
	if (asked.row_count > 0) {
		bp_aggregation_row(&asked, 0, &row);
		safe_name(row.name, options, name, sizeof name);
		bp_bytes_figure_text(&row.bytes, bp_style_of(options), bytes);
		bp_objects_figure_text(&row.objects, bp_style_of(options), objects);
		snprintf(text, sizeof text,
			by == BP_KEY_SIZE ? "largest by size: objects of %s bytes, %s, %s objects"
					  : "most temporary: %s, %s, %s objects",
			name, bytes, objects);
		write_said(options, bp_is_vague(&row.bytes.interval) ? "?" : "-", text, out);
	}
	bp_aggregation_finish(&asked);
	return true;
}

/* What is certain, and what is not. */
static void write_certainty(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, uint32_t overlaps, FILE *out)
{
	const struct bp_total *allocated = &aggregation->totals[BP_METRIC_ALLOCATED];
	const struct bp_sampling *sampling = &aggregation->sampling;
	const struct bp_process *subject =
		&aggregation->profile->processes.data[aggregation->subject.i];
	char text[TEXT_BYTES], interval[BP_QUANTITY_BYTES];
	const char *order = "";
	const bool all_large = subject->law != BP_PROFILE_BERNOULLI;
	if (sampling->interval_count == 0)
		return;
	bp_bytes_text(
		sampling->intervals[sampling->interval_count - 1], bp_style_of(options), interval);
	if (overlaps > 0)
		order = "; not certain: the order of rows whose lines meet";
	snprintf(text, sizeof text, "certain: %s%s%s%s%s",
		allocated->known && allocated->bytes.interval.exact
			? "the total allocated"
			: "only limits (not even the counted total is known exactly)",
		all_large ? ", and objects of " : "", all_large ? interval : "",
		all_large ? " and more, which are all recorded" : "", order);
	write_said(options, "-", text, out);
}

/* A file name as a shell takes it; false: better not typed. */
static bool quoted(const char *file, char *to, size_t bytes)
{
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "/._-+,:@%=";
	const bool bare = *file != '\0' && file[strspn(file, plain)] == '\0';
	unsigned length;
	if (strlen(file) + 16 > bytes || strchr(file, '\'') != NULL)
		return false;
	for (const char *at = file; *at != '\0'; at += length)
		if (bp_is_unsafe(bp_utf8_next(at, &length)) ||
			bp_utf8_next(at, &length) == UINT32_MAX)
			return false;
	snprintf(to, bytes, bare ? "%s%s" : "%s'%s'", *file == '-' ? "./" : "", file);
	return true;
}

/* Commands one below the other, the first one behind the word. */
static void put_next(bool first, const char *command, const char *file,
	const struct bp_report_options *options, FILE *out)
{
	if (first)
		fprintf(out, "\n  %snext%s", bp_style_bold(options), bp_style_end(options));
	fprintf(out, "%s  bytepoll %s %s\n", first ? "" : "      ", command, file);
}

/* What says more than this screen does. */
static void write_next(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, uint32_t suspects, FILE *out)
{
	const struct bp_total *totals = aggregation->totals;
	const bool peak_says_more = aggregation->query.metric == BP_METRIC_LIVE &&
				    totals[BP_METRIC_PEAK].known &&
				    totals[BP_METRIC_PEAK].bytes.interval.estimate >
					    1.25 * totals[BP_METRIC_LIVE].bytes.interval.estimate;
	char file[4096], tree[64];
	if (options->file == NULL || !quoted(options->file, file, sizeof file))
		snprintf(file, sizeof file, "FILE");
	if (aggregation->samples == 0) {
		put_next(true, "plan", file, options, out);
		return;
	}
	snprintf(tree, sizeof tree, "report --metric %s --tree",
		bp_metric_names[aggregation->query.metric]);
	put_next(true, tree, file, options, out);
	if (suspects > 0)
		put_next(false, "report --growth --by stack", file, options, out);
	if (peak_says_more)
		put_next(false, "report --metric peak", file, options, out);
	put_next(false, "html", file, options, out);
}

/* Is so much freed at once that it is worth asking by whom? (Asking means to read all samples
 * again.) */
static bool has_temporary(const struct bp_aggregation *aggregation)
{
	const struct bp_interval *temporary =
		&aggregation->totals[BP_METRIC_TEMPORARY].bytes.interval;
	const struct bp_interval *allocated =
		&aggregation->totals[BP_METRIC_ALLOCATED].bytes.interval;
	return aggregation->totals[BP_METRIC_TEMPORARY].known &&
	       temporary->high > TEMPORARY_SHARE * allocated->low;
}

static bool write_summary(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_report_options head = *options;
	const enum bp_metric metric = aggregation->query.metric;
	uint32_t overlaps = 0, suspects = 0;
	head.resident = NULL; /* it has a table of its own here */
	bp_write_header(aggregation, &head, out);
	if (bp_nothing_matches(aggregation))
		return true;
	bp_write_resident_table(aggregation, options, out);
	if (!write_rows(aggregation, options, &overlaps, out))
		return bp_error_set(error, "out of memory");
	if (!bp_write_named_callers(aggregation, options, out, error))
		return false;
	if (aggregation->row_count > 0) {
		putc('\n', out);
		if (!write_growth(aggregation, options, &suspects, out, error) ||
			(has_temporary(aggregation) &&
				!write_largest(aggregation, BP_METRIC_TEMPORARY, BP_KEY_FUNCTION,
					options, out, error)) ||
			!write_largest(aggregation, metric, BP_KEY_SIZE, options, out, error))
			return false;
	}
	write_certainty(aggregation, options, overlaps, out);
	write_next(aggregation, options, suspects, out);
	return true;
}

const struct bp_report bp_report_summary = {
	.name = "summary", .for_eyes = true, .rows = ROWS, .write = write_summary
};
