/* SPDX-License-Identifier: MIT */
/*
 * The fields of a row of the engine's answer, read one after another. After a failure everything
 * reads as 0 or "", so that `failed` is asked once, at the end. Tables may come from strangers:
 * what a number may be is said where it is read. Private to fleet/. One thread.
 */
#ifndef BP_FLEET_ANSWER_FIELDS_H
#define BP_FLEET_ANSWER_FIELDS_H

#include "fleet/duckdb.h"
#include "model/profile.h"

struct bp_fields {
	struct bp_duckdb_row *row;
	uint32_t next; /* number of the next field */
	bool failed;
	struct bp_error *error;
};

/* The next field: a number or nothing (`null`); a number, 0 for nothing; a number from 0 to `most`;
 * a limit, where nothing is none, UINT64_MAX; a text, which stands in the row; a text as one of the
 * profile's. */
struct bp_parquet_value bp_field_value(struct bp_fields *fields);
int64_t bp_field_number(struct bp_fields *fields);
uint64_t bp_field_amount(struct bp_fields *fields, int64_t most);
uint64_t bp_field_open_number(struct bp_fields *fields);
const char *bp_field_text(struct bp_fields *fields);
struct bp_string_id bp_field_string(struct bp_fields *fields, struct bp_profile *profile);

/* Sets the error that the tables have an impossible value; returns false. */
bool bp_field_is_wrong(struct bp_fields *fields);

#endif
