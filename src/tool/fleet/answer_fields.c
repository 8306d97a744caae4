/* SPDX-License-Identifier: MIT */
/* See answer_fields.h. */
#include "fleet/answer_fields.h"

#include <string.h>

struct bp_parquet_value bp_field_value(struct bp_fields *fields)
{
	struct bp_parquet_value value = { .number = 0 };
	fields->failed = fields->failed ||
			 !bp_duckdb_number(fields->row, fields->next++, &value, fields->error);
	return value;
}

int64_t bp_field_number(struct bp_fields *fields)
{
	return bp_field_value(fields).number;
}

bool bp_field_is_wrong(struct bp_fields *fields)
{
	return bp_error_set(fields->error,
		"the store has tables with impossible values: is somebody else writing into it?");
}

uint64_t bp_field_amount(struct bp_fields *fields, int64_t most)
{
	const int64_t number = bp_field_number(fields);
	if (!fields->failed && (number < 0 || number > most))
		fields->failed = !bp_field_is_wrong(fields);
	return fields->failed ? 0 : (uint64_t)number;
}

uint64_t bp_field_open_number(struct bp_fields *fields)
{
	const struct bp_parquet_value value = bp_field_value(fields);
	return value.null ? UINT64_MAX : (uint64_t)value.number;
}

const char *bp_field_text(struct bp_fields *fields)
{
	struct bp_parquet_value value = { .text = "" };
	fields->failed = fields->failed ||
			 !bp_duckdb_text(fields->row, fields->next++, &value, fields->error);
	return value.text;
}

struct bp_string_id bp_field_string(struct bp_fields *fields, struct bp_profile *profile)
{
	struct bp_string_id string = { 0 };
	const char *text = bp_field_text(fields);
	fields->failed = fields->failed ||
			 !bp_profile_string(profile, text, strlen(text), &string, fields->error);
	return string;
}
