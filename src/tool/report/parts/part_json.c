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
