/* SPDX-License-Identifier: MIT */
/*
 * One line per row and a line of names on top; RFC 4180, UTF-8. A stack is one field, its functions
 * innermost first, joined by ';' (a ';' in a name becomes ','). The last line is what `--rows` left
 * out. Numbers are plain; a figure of which only limits are known has an empty estimate.
 *
 * Control characters and characters that reverse the direction of writing are escaped in a file or
 * a pipe, too, for what is in a pipe often ends on a terminal; tabs and ends of lines alone stay as
 * they are there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "text/escape.h"

#define NAME_BYTES (32u << 10)

static void write_number(FILE *out, double value)
{
	if (!isfinite(value))
		return;
	fprintf(out, value == floor(value) ? "%.0f" : "%.3f", value);
}

static void write_figure(FILE *out, const struct bp_figure *figure)
{
	const struct bp_interval *interval = &figure->interval;
	putc(',', out);
	if (!interval->unknown)
		write_number(out, interval->estimate);
	putc(',', out);
	write_number(out, interval->low);
	putc(',', out);
	write_number(out, interval->high);
	fprintf(out, ",%d", interval->exact);
}

static void write_string(const struct bp_report_options *options, const char *text, FILE *out)
{
	char safe[NAME_BYTES];
	if (!options->terminal) {
		bp_write_csv_string(out, text);
		return;
	}
	bp_terminal_text(text, options->utf8, NAME_BYTES / 8, safe, sizeof safe);
	bp_write_csv_string(out, safe);
}

static bool write_name(const struct bp_aggregation *aggregation, const struct bp_row *row,
	const struct bp_report_options *options, FILE *out)
{
	char *joined = NULL;
	size_t bytes = 0;
	if (row->name != NULL) {
		write_string(options, row->name, out);
		return true;
	}
	FILE *text = open_memstream(&joined, &bytes);
	if (text == NULL)
		return false;
	for (uint32_t i = 0; i < row->frame_count; i++) {
		const struct bp_profile *profile = aggregation->profile;
		const struct bp_frame *frame = &profile->frames.data[row->frames[i].i];
		const char *function = bp_profile_text(profile, frame->function);
		if (i > 0)
			putc(';', text);
		for (; *function != '\0'; function++)
			putc(*function == ';' ? ',' : *function, text);
	}
	fclose(text);
	if (joined != NULL)
		write_string(options, joined, out);
	free(joined);
	return joined != NULL;
}

static bool write_row(const struct bp_aggregation *aggregation, const struct bp_row *row,
	const struct bp_report_options *options, FILE *out)
{
	if (!write_name(aggregation, row, options, out))
		return false;
	fprintf(out, ",%llu", (unsigned long long)row->samples);
	write_figure(out, &row->bytes);
	write_figure(out, &row->objects);
	fputs("\r\n", out);
	return true;
}

static bool write_moments(
	const struct bp_aggregation *aggregation, uint32_t count, FILE *out, struct bp_error *error)
{
	struct bp_moment_figures *moments = calloc(count, sizeof *moments);
	if (moments == NULL)
		return bp_error_set(error, "out of memory");
	bool good = bp_aggregation_timeline(aggregation, count, moments, error);
	if (good)
		fputs("time_s,samples,bytes,bytes_low,bytes_high,bytes_exact,objects,objects_low,"
		      "objects_high,objects_exact\r\n",
			out);
	for (uint32_t i = 0; good && i < count; i++) {
		fprintf(out, "%.9f,%llu", (double)moments[i].time_ns / 1e9,
			(unsigned long long)moments[i].samples);
		write_figure(out, &moments[i].bytes);
		write_figure(out, &moments[i].objects);
		fputs("\r\n", out);
	}
	free(moments);
	return good;
}

static bool write_csv(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	uint32_t shown =
		aggregation->row_count < options->rows ? aggregation->row_count : options->rows;
	struct bp_row row;
	bool good = true;
	if (options->moments > 0)
		return write_moments(aggregation, options->moments, out, error);
	/* (Keys of labels and tags may hold a comma.) */
	const char *by = bp_query_by(&aggregation->query);
	if (strpbrk(by, ",\"\r\n") != NULL)
		write_string(options, by, out);
	else
		fputs(by, out);
	fputs(",samples,bytes,bytes_low,bytes_high,bytes_exact,objects,objects_low,objects_high,"
	      "objects_exact\r\n",
		out);
	for (uint32_t i = 0; good && i < shown; i++) {
		bp_aggregation_row(aggregation, i, &row);
		good = write_row(aggregation, &row, options, out);
	}
	if (good && bp_aggregation_rest(aggregation, shown, &row)) {
		row.name = "(rest)";
		good = write_row(aggregation, &row, options, out);
	}
	return good || bp_error_set(error, "out of memory");
}

const struct bp_report bp_report_csv = { .name = "csv", .rows = BP_ROWS_ALL, .write = write_csv };
