/* SPDX-License-Identifier: MIT */
/*
 * A difference for people: what was compared, what limits it, then a table. In the table the
 * verdict stands first and the name last, because names are of any length; in between the change
 * with its interval, the ratio, both sides, and q. Rows without a verdict are one line at the end,
 * unless --all asks for them: a list of what is not known to have changed invites reading noise.
 * Columns that do not fit the terminal go in this order: both sides, the
 * limits of the ratio, the ratio, the deviation.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/shown.h"
#include "query/filter.h"
#include "report/diff/diff_report.h"
#include "report/parts/header.h"
#include "report/parts/stack_text.h"
#include "text/escape.h"

#define NAME_BYTES 4096
#define RUNS_WANTED 5
#define NAME_COLUMNS_LEAST 12
#define NAME_COLUMNS_WANTED 32 /* longer names do not drive out columns */

enum column { VERDICT, CHANGE, RATIO, BASE, NEW, DEVIATION, Q, COLUMNS };

static const char *const headings[COLUMNS] = { "verdict", "change", "ratio", "base", "new",
	"run to run", "q" };

struct line {
	char cells[COLUMNS][BP_QUANTITY_BYTES + 16];
	char *name; /* of rows put together; NULL: row.name, or a stack */
	struct bp_diff_row row;
};

struct table {
	const struct bp_diff *diff;
	const struct bp_diff_options *options;
	bool counted; /* is_counted() */
	struct line *lines;
	uint32_t count;
	unsigned widths[COLUMNS]; /* 0: not shown */
	unsigned name;
};

const char *bp_style_verdict(const struct bp_report_options *options, enum bp_verdict verdict)
{
	if (!options->colour || verdict == BP_VERDICT_UNCLEAR)
		return "";
	return verdict == BP_VERDICT_GREW || verdict == BP_VERDICT_NEW ? "\033[31m" : "\033[32m";
}

static void put_padded(const char *text, unsigned columns, bool right, FILE *out)
{
	unsigned width = bp_text_columns(text);
	int blanks = (int)(columns > width ? columns - width : 0);
	fprintf(out, "%*s%s%*s", right ? blanks : 0, "", text, right ? 0 : blanks, "");
}

/* Digits behind the point for a ratio known to about +-`half_width`. */
static int ratio_decimals(double half_width)
{
	return half_width < 0.0095 ? 3 : half_width < 0.95 ? 2 : 1;
}

/* "1.52 [1.30, 1.81]", ">= 3.2" of what had nothing before. */
static void ratio_text(const struct bp_interval *ratio, bool utf8, char *buffer, size_t bytes)
{
	int decimals = ratio_decimals((ratio->high - ratio->low) / 2);
	if (ratio->unknown && ratio->low > 0 && isfinite(ratio->low))
		snprintf(buffer, bytes, "%s %.3g", utf8 ? "≥" : ">=", ratio->low);
	else if (ratio->unknown || !isfinite(ratio->estimate))
		*buffer = '\0';
	else if (isnan(ratio->low) || ratio->high == ratio->low ||
		 ratio->high - ratio->low < 1e-3 * ratio->estimate)
		snprintf(buffer, bytes, "%.4g", ratio->estimate);
	else if (ratio->estimate <= 0)
		snprintf(buffer, bytes, "%s %.3g", utf8 ? "≤" : "<=", ratio->high);
	else if (!isfinite(ratio->high))
		snprintf(buffer, bytes, "%.3g %s %.3g", ratio->estimate,
			utf8 ? "≥" : ">=", ratio->low);
	else
		snprintf(buffer, bytes, "%.*f [%.*f, %.*f]", decimals, ratio->estimate, decimals,
			ratio->low, decimals, ratio->high);
}

static void q_text(double q, char *buffer, size_t bytes)
{
	if (isnan(q))
		*buffer = '\0';
	else if (q >= 0.0995)
		snprintf(buffer, bytes, "%.2f", q);
	else if (q >= 0.00095)
		snprintf(buffer, bytes, "%.3f", q);
	else if (q < 1e-99)
		snprintf(buffer, bytes, "0");
	else
		snprintf(buffer, bytes, "%.0e", q);
}

static void deviation_text(
	const struct table *table, const struct bp_diff_figure *comparison, char *buffer)
{
	char sides[BP_SIDES][BP_QUANTITY_BYTES];
	for (int side = 0; side < BP_SIDES; side++) {
		double value = comparison->deviation[side];
		if (isnan(value))
			snprintf(sides[side], sizeof sides[side], "?");
		else if (table->diff->query.objects)
			bp_count_text((uint64_t)llround(value), sides[side]);
		else
			bp_bytes_text((uint64_t)llround(value),
				bp_style_of(&table->options->report), sides[side]);
	}
	snprintf(buffer, BP_QUANTITY_BYTES + 16, "%.40s, %.40s", sides[BP_BASE], sides[BP_NEW]);
}

static bool has_several_runs(const struct bp_diff *diff)
{
	return diff->run_count[BP_BASE] > 1 || diff->run_count[BP_NEW] > 1;
}

/* Is it of what the programs mapped themselves? */
static bool is_of_mapped(const struct bp_diff *diff)
{
	return diff->runs[BP_NEW][0].shown->profile->mapped;
}

/* Of one run a side: then a change is what it is, and there is nothing to test, unless something
 * was lost. */
static bool is_counted(const struct bp_diff *diff)
{
	struct bp_diff_row total;
	if (!is_of_mapped(diff) || has_several_runs(diff))
		return false;
	bp_diff_total(diff, &total);
	const struct bp_figure *change =
		diff->query.objects ? &total.objects.change : &total.bytes.change;
	return !change->lower_bound && !change->upper_bound && !change->interval.unknown;
}

static void fill(const struct table *table, struct line *line)
{
	const struct bp_diff *diff = table->diff;
	const struct bp_report_options *options = &table->options->report;
	struct bp_quantity_style style = bp_style_of(options);
	bool objects = diff->query.objects;
	const struct bp_diff_figure *c = objects ? &line->row.objects : &line->row.bytes;
	snprintf(line->cells[VERDICT], sizeof line->cells[VERDICT], "%s",
		line->row.verdict != BP_VERDICT_UNCLEAR	  ? bp_verdict_names[line->row.verdict]
		: line->name != NULL && !line->row.tested ? ""
		: table->counted			  ? "same"
							  : "unclear");
	(objects ? bp_objects_change_text : bp_bytes_change_text)(
		&c->change, style, "", line->cells[CHANGE]);
	ratio_text(&c->ratio, options->utf8, line->cells[RATIO], sizeof line->cells[RATIO]);
	for (int side = 0; side < BP_SIDES; side++)
		(objects ? bp_objects_estimate_text : bp_bytes_estimate_text)(
			&c->side[side], style, line->cells[side == BP_BASE ? BASE : NEW]);
	if (has_several_runs(diff))
		deviation_text(table, c, line->cells[DEVIATION]);
	if (!table->counted)
		q_text(line->row.q, line->cells[Q], sizeof line->cells[Q]);
}

/* The columns that the names need, within reason. */
static unsigned name_columns(const struct table *table)
{
	unsigned wanted = NAME_COLUMNS_LEAST;
	for (uint32_t i = 0; i < table->count; i++) {
		const struct line *line = &table->lines[i];
		const char *name = line->name != NULL ? line->name : line->row.name;
		unsigned width = name != NULL ? bp_text_columns(name) : NAME_COLUMNS_WANTED;
		wanted = width > wanted ? width : wanted;
	}
	return wanted < NAME_COLUMNS_WANTED ? wanted : NAME_COLUMNS_WANTED;
}

static void measure(struct table *table)
{
	for (int c = 0; c < COLUMNS; c++) {
		unsigned heading = (unsigned)strlen(headings[c]);
		for (uint32_t i = 0; i < table->count; i++) {
			unsigned width = bp_text_columns(table->lines[i].cells[c]);
			table->widths[c] = width > table->widths[c] ? width : table->widths[c];
		}
		if (table->widths[c] > 0 && table->widths[c] < heading)
			table->widths[c] = heading;
	}
}

static unsigned used_columns(const struct table *table)
{
	unsigned used = 2;
	for (int c = 0; c < COLUMNS; c++)
		used += table->widths[c] > 0 ? table->widths[c] + 2 : 0;
	return used;
}

/* Estimates without their limits. */
static void shorten_ratios(struct table *table)
{
	table->widths[RATIO] = (unsigned)strlen(headings[RATIO]);
	for (uint32_t i = 0; i < table->count; i++) {
		char *text = table->lines[i].cells[RATIO], *limits = strstr(text, " [");
		if (limits != NULL)
			*limits = '\0';
		unsigned width = bp_text_columns(text);
		if (width > table->widths[RATIO])
			table->widths[RATIO] = width;
	}
}

static void lay_out(struct table *table)
{
	unsigned columns = table->options->report.columns, name = name_columns(table);
	measure(table);
	if (used_columns(table) + name > columns)
		table->widths[BASE] = table->widths[NEW] = 0;
	if (used_columns(table) + name > columns)
		shorten_ratios(table);
	if (used_columns(table) + name > columns)
		table->widths[RATIO] = 0;
	if (used_columns(table) + name > columns)
		table->widths[DEVIATION] = 0;
	unsigned used = used_columns(table);
	table->name = used + NAME_COLUMNS_LEAST <= columns ? columns - used : NAME_COLUMNS_LEAST;
}

static void put_name(const struct table *table, const char *name, FILE *out)
{
	char text[NAME_BYTES];
	bp_report_name(&table->options->report, name, table->name, text, sizeof text);
	fprintf(out, "%s\n", text);
}

static void write_line(const struct table *table, uint32_t i, uint32_t stack_number, FILE *out)
{
	const struct line *line = &table->lines[i];
	const struct bp_report_options *options = &table->options->report;
	const char *colour = bp_style_verdict(options, line->row.verdict);
	char number[32];
	fputs("  ", out);
	for (int c = 0; c < COLUMNS; c++) {
		if (table->widths[c] == 0)
			continue;
		if (c <= CHANGE)
			fputs(colour, out);
		put_padded(line->cells[c], table->widths[c], c != VERDICT, out);
		fputs(c <= CHANGE && *colour != '\0' ? bp_style_end(options) : "", out);
		fputs("  ", out);
	}
	if (line->name != NULL || line->row.name != NULL) {
		put_name(table, line->name != NULL ? line->name : line->row.name, out);
		return;
	}
	snprintf(number, sizeof number, "#%u", stack_number);
	put_name(table, number, out);
	bp_write_frames(line->row.profile, line->row.frames, line->row.frame_count, options, out);
}

static void write_table(const struct table *table, FILE *out)
{
	const struct bp_query *query = &table->diff->runs[BP_NEW][0].shown->query;
	const struct bp_report_options *options = &table->options->report;
	uint32_t stacks = 0;
	fprintf(out, "\n  %s", bp_style_bold(options));
	for (int c = 0; c < COLUMNS; c++)
		if (table->widths[c] > 0) {
			put_padded(headings[c], table->widths[c], c != VERDICT, out);
			fputs("  ", out);
		}
	fprintf(out, "%s%s\n", bp_query_by(query), bp_style_end(options));
	for (uint32_t i = 0; i < table->count; i++) {
		bool stack = table->lines[i].name == NULL && table->lines[i].row.name == NULL;
		stacks += stack;
		write_line(table, i, stacks, out);
		if (i == 0 && table->count > 1)
			putc('\n', out);
	}
}

/* A line for rows that are not shown one by one. */
static void add_together(struct table *table, uint32_t first, uint32_t end, const char *what,
	char *name, size_t bytes)
{
	struct line *line = &table->lines[table->count];
	if (!bp_diff_together(table->diff, first, end, &line->row))
		return;
	snprintf(name, bytes, "%u %s, together", end - first, what);
	line->name = name;
	fill(table, line);
	table->count++;
}

static uint32_t less(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Returns whether the column of deviations was shown. */
static bool write_rows(const struct bp_diff *diff, const struct bp_diff_options *options, FILE *out)
{
	uint32_t clear = diff->verdict_count, all = diff->row_count;
	uint32_t shown = less(options->all ? all : clear, options->report.rows);
	char total[] = "total", more[64], unclear[64];
	struct table table = { .diff = diff, .options = options, .counted = is_counted(diff) };
	table.lines = calloc((size_t)shown + 3, sizeof *table.lines);
	if (table.lines == NULL)
		return false;
	bp_diff_total(diff, &table.lines[0].row);
	table.lines[0].name = total;
	for (uint32_t i = 0; i < shown; i++)
		bp_diff_row(diff, i, &table.lines[i + 1].row);
	for (uint32_t i = 0; i <= shown; i++)
		fill(&table, &table.lines[i]);
	table.count = shown + 1;
	if (shown < clear)
		add_together(&table, shown, clear, "more", more, sizeof more);
	add_together(&table, shown > clear ? shown : clear, all,
		table.counted	? "that did not change"
		: shown > clear ? "more unclear"
				: "unclear",
		unclear, sizeof unclear);
	lay_out(&table);
	write_table(&table, out);
	free(table.lines);
	return table.widths[DEVIATION] > 0;
}

/* ", 1200 units of work a run" */
static void work_text(const struct bp_diff_options *options, double work, bool several,
	char *buffer, size_t bytes)
{
	char text[BP_QUANTITY_BYTES];
	const char *what = " of work";
	if (options->normalize == BP_WORK_DURATION)
		return; /* stands there anyway */
	snprintf(text, sizeof text, "%.10g unit%s", work, work == 1 ? "" : "s");
	if (options->normalize == BP_WORK_TOTAL) {
		bp_bytes_text((uint64_t)work, bp_style_of(&options->report), text);
		what = " allocated";
	}
	snprintf(buffer, bytes, ", %s%s%s", text, what, several ? " a run" : "");
}

/* "1 sample per 512 KiB" */
static void intervals_text(const struct bp_sampling *sampling, struct bp_quantity_style style,
	char *buffer, size_t bytes)
{
	const uint32_t count = sampling->interval_count;
	char text[BP_QUANTITY_BYTES] = "sampling interval unknown";
	if (count > 0)
		bp_sampling_text(
			sampling->intervals[0], sampling->intervals[count - 1], style, text);
	snprintf(buffer, bytes, "%s", text);
}

/* A line that is `used` columns wide so far, and goes on below where the terminal ends. */
static unsigned put_part(
	const struct bp_diff_options *options, unsigned used, const char *text, FILE *out)
{
	const unsigned width = bp_text_columns(text);
	const bool fits = used + 1 + width <= options->report.columns;
	fprintf(out, "%s%s", fits ? " " : "\n        ", text);
	return fits ? used + 1 + width : 8 + width;
}

/* "base  a.bpt (3 runs, to c.bpt): prog, 1.2 s, 1 sample per 512 KiB, 1,234 samples" */
static void write_side(
	const struct bp_diff *diff, const struct bp_diff_options *options, int side, FILE *out)
{
	const struct bp_run *runs = diff->runs[side];
	uint32_t count = diff->run_count[side];
	const struct bp_aggregation *first = runs[0].shown;
	const struct bp_process *subject = &first->profile->processes.data[first->subject.i];
	uint64_t samples = 0, duration_ns = 0;
	char file[256], program[256], time[BP_QUANTITY_BYTES], interval[BP_QUANTITY_BYTES];
	char number[BP_QUANTITY_BYTES], work[BP_QUANTITY_BYTES + 32] = "", more[32] = "";
	char text[sizeof file + sizeof program + sizeof more + BP_QUANTITY_BYTES + 8];
	double sum = 0;
	for (uint32_t i = 0; i < count; i++) {
		samples += runs[i].shown->samples;
		duration_ns += runs[i].shown->duration_ns / count;
		sum += options->normalize != BP_WORK_NONE ? options->work[side][i] : 0;
	}
	bp_terminal_text(runs[0].file, options->report.utf8, 60, file, sizeof file);
	bp_terminal_text(bp_process_name(first->profile, subject), options->report.utf8, 40,
		program, sizeof program);
	bp_time_text(duration_ns, time);
	intervals_text(&first->sampling, bp_style_of(&options->report), interval, sizeof interval);
	bp_count_text(samples, number);
	if (options->normalize != BP_WORK_NONE)
		work_text(options, sum / count, count > 1, work, sizeof work);
	fprintf(out, "  %s%s%s ", bp_style_bold(&options->report),
		side == BP_BASE ? "base" : "new ", bp_style_end(&options->report));
	if (count > 1)
		snprintf(more, sizeof more, " and %u more", count - 1);
	snprintf(text, sizeof text, "%s%s: %s%s%s,", file, more, program,
		program[0] == '\0' ? "" : ", ", time);
	unsigned used = put_part(options, 7, text, out);
	const bool mapped = first->profile->mapped;
	snprintf(text, sizeof text, "%s,", mapped ? "counted" : interval);
	used = put_part(options, used, text, out);
	snprintf(text, sizeof text, "%s %s%s", number, mapped ? "objects" : "samples", work);
	put_part(options, used, text, out);
	putc('\n', out);
}

static void write_head(const struct bp_diff *diff, const struct bp_diff_options *options, FILE *out)
{
	const struct bp_aggregation *new = diff->runs[BP_NEW][0].shown;
	const struct bp_aggregation *base = diff->runs[BP_BASE][0].shown;
	char before[BP_QUANTITY_BYTES], after[BP_QUANTITY_BYTES];
	write_side(diff, options, BP_BASE, out);
	if (!diff->query.moments)
		write_side(diff, options, BP_NEW, out);
	fputs("  ", out);
	bp_write_subject(new, out);
	bp_time_text(base->at_ns, before);
	bp_time_text(new->at_ns, after);
	if (diff->query.moments)
		fprintf(out, ", at %s (base) and at %s (new)", before, after);
	else if (new->query.metric == BP_METRIC_LIVE &&new->query.has_at)
		fprintf(out, ", at %s", after);
	else if (new->query.metric == BP_METRIC_LIVE)
		fputs(new->profile->mapped ? " at the end" : " at exit", out);
	if (options->normalize != BP_WORK_NONE)
		fprintf(out, ", scaled to the %s of new",
			options->normalize == BP_WORK_TOTAL	 ? "bytes allocated"
			: options->normalize == BP_WORK_DURATION ? "duration"
								 : "work");
	if (diff->query.objects)
		fputs(", in objects", out);
	putc('\n', out);
	for (uint32_t i = 0; i < new->query.filter_count; i++)
		bp_write_wrapped(&options->report, "only", new->query.filters[i].text, out);
	for (char **warning = diff->warnings; *warning != NULL; warning++) {
		bp_write_warning(&options->report, *warning, out);
	}
}

/* A difference without a verdict is not all there is to say where another metric has changed. */
static void write_other_metric(
	const struct bp_diff *diff, const struct bp_diff_options *options, FILE *out)
{
	enum bp_metric metric;
	struct bp_figure change = { 0 };
	char amount[BP_QUANTITY_BYTES], text[256];
	if (!bp_diff_other_metric(diff, &metric, &change.interval))
		return;
	bp_bytes_change_text(&change, bp_style_of(&options->report), "", amount);
	const bool mapped = is_of_mapped(diff);
	if (mapped && metric == BP_METRIC_ALLOCATED)
		return; /* it has no metric */
	snprintf(text, sizeof text, "%s changed by %s: --metric %s",
		metric == BP_METRIC_LIVE
			? mapped ? "What is mapped at the end" : "What is live at exit"
		: metric == BP_METRIC_PEAK ? "The peak"
					   : "What was allocated",
		amount, bp_metric_word(metric, mapped));
	bp_write_note(&options->report, text, out);
}

static void write_foot(const struct bp_diff *diff, const struct bp_diff_options *options,
	bool deviation, FILE *out)
{
	char text[512], few[64] = "", percent[BP_QUANTITY_BYTES];
	const bool counted = is_counted(diff);
	const struct bp_query *query = &diff->runs[BP_NEW][0].shown->query;
	uint32_t untested = diff->row_count - diff->tested_count;
	bp_percent_text(query->confidence, percent);
	putc('\n', out);
	write_other_metric(diff, options, out);
	if (untested > 0)
		snprintf(few, sizeof few, "%u row%s had too few samples to be tested. ", untested,
			untested == 1 ? "" : "s");
	if (counted)
		snprintf(text, sizeof text,
			"%u of %u row%s changed. What is mapped is counted: the figures have no "
			"error.",
			diff->verdict_count, diff->row_count, diff->row_count == 1 ? "" : "s");
	else
		snprintf(text, sizeof text,
			"Verdicts: %u of %u row%s, of which at most %g %% are false on average; q "
			"is that part if verdicts ended with its row. %sIntervals: %s %%.",
			diff->verdict_count, diff->row_count, diff->row_count == 1 ? "" : "s",
			100 * diff->query.rate, few, percent);
	bp_write_note(&options->report, text, out);
	if (deviation)
		bp_write_note(&options->report,
			"Run to run: the standard deviation between the runs of base, and of new, "
			"beyond the noise of sampling.",
			out);
	if (!options->all && diff->verdict_count < diff->row_count)
		bp_write_note(&options->report,
			counted ? "--all shows the rows that did not change too."
				: "--all shows the rows without a verdict too.",
			out);
	if (query->cumulative)
		bp_write_note(&options->report,
			"Rows are cumulative: they overlap and do not add up.", out);
	if (diff->runs[BP_BASE][0].shown->profile->stored_runs > 1)
		bp_write_note(&options->report,
			"The runs of each side are summed: the intervals cover the noise of sampling, "
			"not how much runs vary. --hosts sample covers that, too.",
			out);
	else if (!diff->query.moments &&
		 (diff->run_count[BP_BASE] < 2 || diff->run_count[BP_NEW] < 2))
		bp_write_note(&options->report,
			is_of_mapped(diff)
				? "One run on a side: what changed between the two is counted, and "
				  "not how much the program itself varies from run to run. To cover "
				  "that, record several runs of each: bytepoll diff BASE... --new NEW..."
				: "One run on a side: the intervals cover the noise of sampling, not how "
				  "much the program itself varies from run to run. To cover that, record "
				  "several runs of each: bytepoll diff BASE... --new NEW...",
			out);
	else if (!diff->query.moments &&
		 (diff->run_count[BP_BASE] < RUNS_WANTED || diff->run_count[BP_NEW] < RUNS_WANTED))
		bp_write_note(&options->report,
			"Few runs leave the variation between them poorly known, so that only very "
			"large changes get a verdict: 5 runs a side are a good number.",
			out);
}

void bp_write_diff_text(
	const struct bp_diff *diff, const struct bp_diff_options *options, FILE *out)
{
	write_head(diff, options, out);
	bool deviation = write_rows(diff, options, out);
	write_foot(diff, options, deviation, out);
}
