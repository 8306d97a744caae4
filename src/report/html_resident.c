/* SPDX-License-Identifier: MIT */
/*
 * Resident memory in the head of a page: the looks at it, of which process they are, and two of them taken
 * apart as `bytepoll report --summary` does (profile/resident.h). The page knows no process but by its
 * pid, and cannot make the parts itself: live objects are those of this process alone, at that moment.
 */
#include "report/escape.h"
#include "report/explained_text.h"
#include "report/html_data.h"
#include "report/json_values.h"

static void write_moment(const char *name, const struct bp_reconciled *moment, FILE *out)
{
	const struct bp_resident_point *point = &moment->point;
	fprintf(out,
		"\"%s\":{\"at_s\":%.9f,\"resident\":%llu,\"file\":%llu,\"shared\":%llu,"
		"\"swapped\":%llu,\"recorder_most\":%llu,\"stack_most\":%llu,\"live\":",
		name, (double)moment->time_ns / 1e9, (unsigned long long)bp_resident_sum(point),
		(unsigned long long)point->file, (unsigned long long)point->shared,
		(unsigned long long)point->swapped, (unsigned long long)moment->recorder_most,
		(unsigned long long)moment->stack_most);
	bp_write_json_figure(out, &moment->live, 1);
	fputs(",\"rest\":[", out);
	bp_write_json_number(out, moment->rest.low);
	putc(',', out);
	bp_write_json_number(out, moment->rest.high);
	fputs("]}", out);
}

/* The words for the top of the page, where malloc explains little of the process. */
static void write_explained(const struct bp_explained *explained, FILE *out)
{
	const struct bp_quantity_style style = { .utf8 = true };
	char text[BP_EXPLAINED_BYTES];
	fputs(",\n\"explained\":", out);
	if (explained == NULL || !explained->little) {
		fputs("null", out);
		return;
	}
	bp_explained_text(explained, style, text);
	fputs("{\"text\":", out);
	bp_write_json_string(out, text);
	bp_explained_advice(explained, style, text);
	fputs(",\"advice\":", out);
	bp_write_json_string(out, text);
	putc('}', out);
}

void bp_page_write_resident(const struct bp_page_options *options, FILE *out)
{
	const struct bp_reconciled *parts = options->resident_parts;
	write_explained(options->explained, out);
	if (options->resident_count == 0) {
		fputs(",\n\"resident\":null", out);
		return;
	}
	fputs(",\n\"resident\":", out);
	for (uint32_t i = 0; i < options->resident_count; i++)
		fprintf(out, "%s[%.9f,%llu]", i > 0 ? "," : "[",
			(double)options->resident[i].time_ns / 1e9,
			(unsigned long long)options->resident[i].bytes);
	fprintf(out, "],\n\"resident_pid\":%u,\n\"resident_parts\":", options->resident_pid);
	if (parts == NULL) {
		fputs("null", out);
		return;
	}
	putc('{', out);
	write_moment("highest", &parts[BP_RECONCILED_HIGHEST], out);
	fputs(",\n", out);
	write_moment("last", &parts[BP_RECONCILED_LAST], out);
	putc('}', out);
}
