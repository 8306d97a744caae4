/* SPDX-License-Identifier: MIT */
/* See part_json.h. */
#include "report/parts/part_json.h"

#include "text/json_values.h"

void bp_json_part(struct bp_json *json, const struct bp_part *part, enum bp_json_layout layout,
	void (*write_name)(struct bp_json *json, const char *key, const char *text))
{
	bp_json_object(json, NULL, layout);
	bp_json_text(json, "name", part->name);
	bp_json_interval(json, "bytes", &part->bytes, 1);
	bp_json_array(json, "owners", layout);
	for (uint32_t i = 0; i < part->owner_count; i++) {
		bp_json_object(json, NULL, layout);
		write_name(json, "name", part->owners[i].name);
		bp_json_interval(json, "bytes", &part->owners[i].bytes, 1);
		bp_json_end(json);
	}
	bp_json_end(json);
	bp_json_end(json);
}

void bp_json_residency(struct bp_json *json, const struct bp_residency *residency,
	enum bp_json_layout layout,
	void (*write_name)(struct bp_json *json, const char *key, const char *text))
{
	bp_json_object(json, "not_resident", layout);
	bp_json_seconds(json, "at", residency->at_ns);
	bp_json_interval(json, "live", &residency->live, 1);
	bp_json_interval(json, "bytes", &residency->absent, 1);
	bp_json_whole(json, "samples_without_place", residency->unplaced);
	bp_json_array(json, "rows", layout == BP_JSON_COMPACT ? layout : BP_JSON_TALL);
	for (uint32_t i = 0; i < residency->row_count; i++) {
		const struct bp_residency_row *row = &residency->rows[i];
		bp_json_object(json, NULL, layout);
		write_name(json, "name", row->name);
		bp_json_interval(json, "live", &row->live, 1);
		bp_json_interval(json, "bytes", &row->absent, 1);
		bp_json_end(json);
	}
	bp_json_end(json);
	bp_json_end(json);
}
