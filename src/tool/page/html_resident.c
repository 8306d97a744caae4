/* SPDX-License-Identifier: MIT */
/*
 * Resident memory in the head of a page: the looks at it, of which process they are, and two of
 * them taken apart as `bytepoll report --summary` does (resident/resident.h), and line by line, as
 * `bytepoll report --resident` does (resident/parts.h). The page knows no process but by its pid,
 * and cannot make the parts itself: live objects are those of this process alone, at that moment.
 */
#include "page/html_data.h"
#include "report/parts/explained_text.h"
#include "report/parts/part_json.h"
#include "text/json_values.h"

static void write_moment(struct bp_json *json, const char *name, const struct bp_reconciled *moment)
{
	const struct bp_resident_point *point = &moment->point;
	bp_json_object(json, name, BP_JSON_COMPACT);
	bp_json_seconds(json, "at_s", moment->time_ns);
	bp_json_whole(json, "resident", bp_resident_sum(point));
	bp_json_whole(json, "file", point->file);
	bp_json_whole(json, "shared", point->shared);
	bp_json_whole(json, "swapped", point->swapped);
	bp_json_whole(json, "recorder_most", moment->recorder_most);
	bp_json_whole(json, "stack_most", moment->stack_most);
	bp_json_figure(json, "live", &moment->live, 1);
	bp_json_array(json, "rest", BP_JSON_COMPACT);
	bp_json_number(json, NULL, moment->rest.low);
	bp_json_number(json, NULL, moment->rest.high);
	bp_json_end(json);
	bp_json_end(json);
}

/* The words for the top of the page, where malloc explains little of the process. */
static void write_explained(struct bp_json *json, const struct bp_explained *explained)
{
	const struct bp_quantity_style style = { .utf8 = true };
	char text[BP_EXPLAINED_BYTES];
	if (explained == NULL || !explained->little) {
		bp_json_null(json, "explained");
		return;
	}
	bp_json_object(json, "explained", BP_JSON_COMPACT);
	bp_explained_text(explained, style, text);
	bp_json_text(json, "text", text);
	bp_explained_advice(explained, style, text);
	bp_json_text(json, "advice", text);
	bp_json_end(json);
}

/* The kernel's kinds at the looks, in the order of these. */
static void write_kinds(struct bp_json *json, const struct bp_page_options *options)
{
	bp_json_array(json, "resident_kinds", BP_JSON_COMPACT);
	for (uint32_t i = 0; i < options->resident_count; i++) {
		const struct bp_page_resident *look = &options->resident[i];
		bp_json_array(json, NULL, BP_JSON_COMPACT);
		bp_json_whole(json, NULL, look->anonymous);
		bp_json_whole(json, NULL, look->file);
		bp_json_whole(json, NULL, look->shared);
		bp_json_whole(json, NULL, look->swapped);
		bp_json_end(json);
	}
	bp_json_end(json);
}

static void write_parts(struct bp_json *json, const struct bp_parts *look)
{
	bp_json_array(json, "lines", BP_JSON_COMPACT);
	for (uint32_t i = 0; i < look->count; i++)
		bp_json_part(json, &look->parts[i], BP_JSON_COMPACT, bp_page_write_text);
	bp_json_end(json);
	bp_json_interval(json, "unexplained", &look->unexplained, 1);
}

/* A look as `report --resident` has it. */
static void write_lines(struct bp_json *json, const char *name, const struct bp_parts *look)
{
	bp_json_object(json, name, BP_JSON_COMPACT);
	bp_json_seconds(json, "at_s", look->at_ns);
	bp_json_whole(json, "total_bytes", look->total_bytes);
	bp_json_whole(json, "resident_bytes", look->resident_bytes);
	bp_json_whole(json, "page_table_bytes", look->page_table_bytes);
	bp_json_whole(json, "swapped_bytes", look->swapped_bytes);
	bp_json_bool(json, "heap_walked", look->heap.known);
	write_parts(json, look);
	bp_json_end(json);
}

static void write_looks(struct bp_json *json, const struct bp_page_options *options)
{
	const struct bp_parts *looks = options->resident_lines;
	if (looks == NULL)
		return;
	bp_json_object(json, "resident_lines", BP_JSON_ROWS);
	bp_json_whole(json, "pid", looks[BP_MAPPINGS_LAST].pid);
	bp_json_bool(json, "attached", options->resident_attached);
	write_lines(json, "highest", &looks[BP_MAPPINGS_HIGHEST]);
	write_lines(json, "last", &looks[BP_MAPPINGS_LAST]);
	if (options->residency != NULL)
		bp_json_residency(json, options->residency, BP_JSON_COMPACT, bp_page_write_text);
	bp_json_end(json);
}

/* The same of a runtime's own figures. */
static void write_runtime_lines(struct bp_json *json, const char *name, const struct bp_parts *look)
{
	bp_json_object(json, name, BP_JSON_COMPACT);
	if (look->at_ns == BP_TIME_NEVER)
		bp_json_null(json, "at_s");
	else
		bp_json_seconds(json, "at_s", look->at_ns);
	bp_json_whole(json, "total_bytes", look->total_bytes);
	bp_json_bool(json, "total_stated", look->total_stated);
	bp_json_whole(json, "given_back_bytes", look->given_back_bytes);
	if (look->high_water_bytes > 0)
		bp_json_whole(json, "high_water_bytes", look->high_water_bytes);
	write_parts(json, look);
	bp_json_end(json);
}

static void write_runtime(struct bp_json *json, const struct bp_page_options *options)
{
	const struct bp_parts *looks = options->runtime_lines;
	if (looks == NULL)
		return;
	bp_json_object(json, "runtime_lines", BP_JSON_ROWS);
	bp_page_write_text(json, "counted_by", looks[BP_MAPPINGS_LAST].runtime);
	write_runtime_lines(json, "highest", &looks[BP_MAPPINGS_HIGHEST]);
	write_runtime_lines(json, "last", &looks[BP_MAPPINGS_LAST]);
	bp_json_end(json);
}

void bp_page_write_resident(const struct bp_page_options *options, struct bp_json *json)
{
	const struct bp_reconciled *parts = options->resident_parts;
	write_explained(json, options->explained);
	write_runtime(json, options);
	if (options->resident_count == 0) {
		bp_json_null(json, "resident");
		return;
	}
	bp_json_array(json, "resident", BP_JSON_COMPACT);
	for (uint32_t i = 0; i < options->resident_count; i++) {
		bp_json_array(json, NULL, BP_JSON_COMPACT);
		bp_json_seconds(json, NULL, options->resident[i].time_ns);
		bp_json_whole(json, NULL, options->resident[i].bytes);
		bp_json_end(json);
	}
	bp_json_end(json);
	write_kinds(json, options);
	write_looks(json, options);
	bp_json_whole(json, "resident_pid", options->resident_pid);
	if (options->resident_most.high > 0) {
		bp_json_array(json, "resident_most", BP_JSON_COMPACT);
		bp_json_whole(json, NULL, options->resident_most.low);
		bp_json_whole(json, NULL, options->resident_most.high);
		bp_json_end(json);
	}
	if (parts == NULL) {
		bp_json_null(json, "resident_parts");
		return;
	}
	bp_json_object(json, "resident_parts", BP_JSON_ROWS);
	write_moment(json, "highest", &parts[BP_RECONCILED_HIGHEST]);
	write_moment(json, "last", &parts[BP_RECONCILED_LAST]);
	bp_json_end(json);
}
