/* SPDX-License-Identifier: MIT */
/*
 * `report --resident`: where every resident byte is (resident/parts.h), line by line, with the
 * largest owners of each line below it. The lines and what is unexplained add up to the total,
 * which is the kernel's, or that of a runtime whose own figures the file has. Lines of nothing are
 * left out.
 */
#include <math.h>
#include <string.h>

#include "report/parts/header.h"
#include "report/parts/resident_text.h"

#define NAME_COLUMNS 34
#define FIGURE_COLUMNS 24

/* Bytes with their interval; what is taken off has its sign. */
static void bytes_text(
	const struct bp_interval *bytes, const struct bp_report_options *options, char *to)
{
	const struct bp_quantity_style style = bp_style_of(options);
	const struct bp_figure figure = { .interval = *bytes };
	char amount[BP_QUANTITY_BYTES];
	if (bytes->exact) {
		bp_bytes_text((uint64_t)fabs(bytes->estimate), style, amount);
		snprintf(to, BP_QUANTITY_BYTES, "%s%.80s", bytes->estimate < 0 ? "-" : "", amount);
	} else if (bytes->low < 0)
		bp_bytes_change_text(&figure, style, "", to);
	else
		bp_bytes_figure_text(&figure, style, to);
}

static void write_line(const char *indent, const char *name, const struct bp_interval *bytes,
	const struct bp_report_options *options, FILE *out)
{
	char figure[BP_QUANTITY_BYTES], shown[1024];
	const unsigned room = NAME_COLUMNS - (unsigned)bp_text_columns(indent);
	const unsigned columns = bp_report_name(options, name, room, shown, sizeof shown);
	bytes_text(bytes, options, figure);
	fprintf(out, "  %s%s%*s  %*s%s\n", indent, shown, (int)(room - columns), "",
		(int)(FIGURE_COLUMNS - bp_text_columns(figure) % FIGURE_COLUMNS), "", figure);
}

static bool is_nothing(const struct bp_interval *bytes)
{
	return bytes->exact && fabs(bytes->estimate) < 1;
}

static void write_notes(const struct bp_parts *parts, bool attached,
	const struct bp_report_options *options, FILE *out)
{
	char swapped[BP_QUANTITY_BYTES], text[512];
	bp_write_note(options,
		parts->heap.known
			? "Free memory, what is not resident and mappings were read from the "
			  "process and are exact; live objects and their rounding are estimated. "
			  "Unexplained: by how much these estimates and what is in use in the heap "
			  "differ."
		: attached
			? "The heap could not be walked: it is not glibc's, it changed too fast, or "
			  "reading it took too long. "
			  "\"Not told apart\" is what the process held from before attaching, what "
			  "the allocator keeps free, and what was mapped beside it."
			: "The heap could not be walked: it is not glibc's, it changed too fast, or "
			  "reading it took too long. "
			  "\"Not told apart\" is what the allocator keeps free and what was mapped "
			  "beside it, less live objects that are not resident.",
		out);
	if (parts->swapped_bytes == 0)
		return;
	bp_bytes_text(parts->swapped_bytes, bp_style_of(options), swapped);
	snprintf(text, sizeof text, "Swapped out, and in no line: %.90s.", swapped);
	bp_write_note(options, text, out);
}

static bool is_some(const struct bp_interval *absent)
{
	return absent->high >= 1;
}

/* What of live objects was not resident at the last look, row by row. */
static void write_absent(const struct bp_residency *residency, const struct bp_aggregation *of,
	const struct bp_report_options *options, FILE *out)
{
	char heading[128], share[64], name[160];
	snprintf(heading, sizeof heading, "live and not resident, by %.60s",
		bp_query_by(&of->query));
	fputc('\n', out);
	write_line("", heading, &residency->absent, options, out);
	for (uint32_t i = 0; i < residency->row_count; i++) {
		const struct bp_residency_row *row = &residency->rows[i];
		if (!is_some(&row->absent))
			continue;
		bp_absent_share_text(&row->absent, &row->live, share, sizeof share);
		write_line("    ", row->name, &row->absent, options, out);
		snprintf(name, sizeof name, "        of what it holds: %s", share);
		fprintf(out, "  %s\n", name);
	}
	if (residency->unplaced > 0)
		bp_write_note(options,
			"Samples below 64 KiB lie in the recorder's memory, so that their pages say "
			"nothing: the limits allow for both. bytepoll run --in-place leaves them "
			"where they would have been.",
			out);
}

/* What the figures of a runtime are, and what else it says. */
static void write_runtime_notes(const struct bp_parts *parts,
	const struct bp_aggregation *aggregation, const struct bp_report_options *options,
	FILE *out)
{
	char amount[BP_QUANTITY_BYTES], never[BP_QUANTITY_BYTES], text[512];
	snprintf(text, sizeof text,
		parts->total_stated
			? "These are the figures of %.40s itself: of the memory that it has from the "
			  "kernel, resident or not. What the process has beside that (code, memory of "
			  "other libraries) is not among them."
			: "These are the figures of %.40s itself: sizes of objects and of the holes "
			  "between them. What it has from the kernel beyond them is not in the file.",
		parts->runtime);
	bp_write_note(options, text, out);
	if (parts->at_ns != BP_TIME_NEVER) {
		bp_time_text(parts->at_ns, amount);
		bp_time_text(aggregation->duration_ns, never);
		snprintf(text, sizeof text,
			"They are as of the garbage collection at %.40s; the recording ends at %.40s.",
			amount, never);
		bp_write_note(options, text, out);
	}
	if (parts->given_back_bytes > 0) {
		bp_bytes_text(parts->given_back_bytes, bp_style_of(options), amount);
		snprintf(text, sizeof text,
			"Given back to the kernel, and in no line: %.90s of addresses.", amount);
		bp_write_note(options, text, out);
	}
	if (parts->high_water_bytes == 0)
		return;
	bp_bytes_text(parts->high_water_bytes, bp_style_of(options), amount);
	if (parts->total_bytes <= parts->high_water_bytes) {
		snprintf(text, sizeof text,
			"The most that the process ever had resident, by the kernel: %.90s.",
			amount);
	} else {
		bp_bytes_text(
			parts->total_bytes - parts->high_water_bytes, bp_style_of(options), never);
		snprintf(text, sizeof text,
			"The most that the process ever had resident, by the kernel: %.90s. So of what "
			"%.40s holds %.90s at least are not resident: nothing was written there yet, or "
			"it is swapped out.",
			amount, parts->runtime, never);
	}
	bp_write_note(options, text, out);
}

/* "resident at 2.5 s, pid 7"; "held by Go when the file was written". */
static void heading_text(const struct bp_parts *parts, char *to, size_t bytes)
{
	char time[BP_QUANTITY_BYTES];
	if (parts->runtime != NULL && parts->at_ns == BP_TIME_NEVER) {
		snprintf(to, bytes, "held by %.40s", parts->runtime);
		return;
	}
	bp_time_text(parts->at_ns, time);
	if (parts->runtime == NULL)
		snprintf(to, bytes, "resident at %s, pid %u", time, parts->pid);
	else
		snprintf(to, bytes, "held by %.40s at %s", parts->runtime, time);
}

/* A program that gives memory back while it ends is looked at before that (docs/resident.md). */
static void write_later(const struct bp_parts *parts, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const uint64_t end_ns = aggregation->duration_ns;
	char text[320], look[BP_QUANTITY_BYTES], end[BP_QUANTITY_BYTES];
	if (parts->at_ns + end_ns / 5 >= end_ns)
		return;
	bp_time_text(parts->at_ns, look);
	bp_time_text(end_ns, end);
	snprintf(text, sizeof text,
		"This is the look at %.40s; the recording ends at %.40s. A process that uses no "
		"processor time is not looked at again, and one that gives memory back in its last "
		"second is shown as it was before.",
		look, end);
	bp_write_note(options, text, out);
}

/* The highest resident memory is seldom at the moment at which malloc had given most. */
static void write_other_peak(const struct bp_parts *parts, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const uint64_t peak_ns = aggregation->peak_at_ns;
	char text[512], look[BP_QUANTITY_BYTES], peak[BP_QUANTITY_BYTES];
	bp_time_text(parts->at_ns, look);
	bp_time_text(peak_ns, peak);
	if (peak_ns == BP_TIME_NEVER || strcmp(look, peak) == 0)
		return;
	snprintf(text, sizeof text,
		"This is the look at the highest resident memory, at %s; malloc had given most at %s, "
		"when nobody looked at pages.",
		look, peak);
	bp_write_note(options, text, out);
}

static bool write_resident(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_report_options head = *options;
	const struct bp_parts *parts = options->parts;
	char heading[BP_QUANTITY_BYTES + 64];
	if (parts == NULL)
		return bp_error_set(error, "resident memory is not known");
	head.resident = NULL; /* it has the whole screen here */
	bp_write_header(aggregation, &head, out);
	heading_text(parts, heading, sizeof heading);
	const struct bp_interval total = { (double)parts->total_bytes, (double)parts->total_bytes,
		(double)parts->total_bytes, true, false };
	fprintf(out, "\n%s", bp_style_bold(options));
	write_line("", heading, &total, options, out);
	fputs(bp_style_end(options), out);
	for (uint32_t i = 0; i < parts->count; i++) {
		const struct bp_part *part = &parts->parts[i];
		if (is_nothing(&part->bytes))
			continue;
		write_line("", part->name, &part->bytes, options, out);
		for (uint32_t o = 0; o < part->owner_count; o++)
			write_line(
				"    ", part->owners[o].name, &part->owners[o].bytes, options, out);
	}
	const bool attached = bp_profile_is_attached(aggregation->profile, parts->pid);
	if (!is_nothing(&parts->unexplained))
		write_line("",
			parts->runtime != NULL ? "in no part that it names"
			: attached	       ? "from before attaching, unexplained"
					       : "unexplained",
			&parts->unexplained, options, out);
	if (parts->runtime != NULL) {
		write_runtime_notes(parts, aggregation, options, out);
		return true;
	}
	write_notes(parts, attached, options, out);
	if (!options->without_pages)
		write_later(parts, aggregation, options, out);
	if (options->residency != NULL && is_some(&options->residency->absent))
		write_absent(options->residency, aggregation, options, out);
	if (options->without_pages) {
		write_other_peak(parts, aggregation, options, out);
		bp_write_note(options,
			"Pages are kept of the last look alone: of this one it is not known which "
			"live objects were not resident.",
			out);
	}
	return true;
}

const struct bp_report bp_report_resident = {
	.name = "resident", .for_eyes = true, .rows = 20, .write = write_resident
};
