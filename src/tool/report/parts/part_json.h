/* SPDX-License-Identifier: MIT */
/*
 * A line of resident memory (resident/parts.h) as JSON: an object with `name`, `bytes` and
 * `owners`, each of which has `name` and `bytes`; and what of live objects is not resident. Called
 * for `report --resident` and for the page. Not thread-safe, as the writer.
 */
#ifndef BP_REPORT_PART_JSON_H
#define BP_REPORT_PART_JSON_H

#include "resident/pages/residency.h"
#include "resident/parts.h"
#include "text/json_writer.h"

/* `write_name` writes the name of an owner, which comes from the program: bp_json_text, or one that
 * cuts it. */
void bp_json_part(struct bp_json *json, const struct bp_part *part, enum bp_json_layout layout,
	void (*write_name)(struct bp_json *json, const char *key, const char *text));

/* The member "not_resident": what of live objects was not, at the last look. */
void bp_json_residency(struct bp_json *json, const struct bp_residency *residency,
	enum bp_json_layout layout,
	void (*write_name)(struct bp_json *json, const char *key, const char *text));

#endif
