/* SPDX-License-Identifier: MIT */
/* See json_writer.h. What stands before a member is written when the member is, so that the last
 * one has no comma. */
#include "text/json_writer.h"

#include <math.h>

#include "text/escape.h"

struct bp_json bp_json_begin(FILE *out)
{
	return (struct bp_json){ .out = out };
}

static struct bp_json_level *innermost(struct bp_json *json)
{
	return &json->levels[json->depth];
}

static bool has_lines(const struct bp_json_level *level)
{
	return level->layout == BP_JSON_LINES || level->layout == BP_JSON_TALL;
}

static bool is_compact(const struct bp_json_level *level)
{
	return level->layout == BP_JSON_COMPACT || level->layout == BP_JSON_ROWS ||
	       level->layout == BP_JSON_COMMAS_FIRST;
}

static void begin_line(struct bp_json *json, unsigned indent)
{
	fprintf(json->out, "\n%*s", (int)indent, "");
	json->indent = indent;
	json->breaks = false;
}

/* All that stands before a value: comma, end of line, key. */
static void begin_member(struct bp_json *json, const char *key)
{
	struct bp_json_level *level = innermost(json);
	const bool comma = level->any, rows = level->layout == BP_JSON_ROWS;
	const bool breaks = json->breaks || has_lines(level) || (rows && comma);
	const unsigned indent = json->breaks ? json->break_indent : rows ? 0 : level->indent + 2;
	const bool comma_behind = level->layout == BP_JSON_COMMAS_FIRST && breaks;
	if (comma && !comma_behind)
		putc(',', json->out);
	if (breaks)
		begin_line(json, indent);
	else if (comma && !is_compact(level))
		putc(' ', json->out);
	if (comma && comma_behind)
		putc(',', json->out);
	level->any = json->depth > 0;
	if (key == NULL)
		return;
	bp_write_json_string(json->out, key);
	fputs(is_compact(level) ? ":" : ": ", json->out);
}

static void open(
	struct bp_json *json, const char *key, enum bp_json_layout layout, const char *brackets)
{
	begin_member(json, key);
	putc(brackets[0], json->out);
	if (json->depth + 1 < BP_JSON_DEPTH_MAX)
		json->depth++;
	*innermost(json) = (struct bp_json_level){
		.layout = layout, .indent = json->indent, .end = brackets[1]
	};
}

void bp_json_object(struct bp_json *json, const char *key, enum bp_json_layout layout)
{
	open(json, key, layout, "{}");
}

void bp_json_array(struct bp_json *json, const char *key, enum bp_json_layout layout)
{
	open(json, key, layout, "[]");
}

void bp_json_end(struct bp_json *json)
{
	const struct bp_json_level *level = innermost(json);
	if (json->breaks)
		begin_line(json, json->break_indent);
	else if (has_lines(level) && (level->any || level->layout == BP_JSON_TALL))
		begin_line(json, level->indent);
	putc(level->end, json->out);
	json->depth--;
}

void bp_json_end_document(struct bp_json *json)
{
	bp_json_end(json);
	putc('\n', json->out);
}

void bp_json_break(struct bp_json *json, unsigned indent)
{
	json->breaks = true;
	json->break_indent = indent;
}

void bp_json_text(struct bp_json *json, const char *key, const char *text)
{
	begin_member(json, key);
	if (text == NULL)
		fputs("null", json->out);
	else
		bp_write_json_string(json->out, text);
}

void bp_json_bool(struct bp_json *json, const char *key, bool value)
{
	begin_member(json, key);
	fputs(value ? "true" : "false", json->out);
}

void bp_json_null(struct bp_json *json, const char *key)
{
	bp_json_text(json, key, NULL);
}

void bp_json_whole(struct bp_json *json, const char *key, uint64_t value)
{
	begin_member(json, key);
	fprintf(json->out, "%llu", (unsigned long long)value);
}

void bp_json_signed(struct bp_json *json, const char *key, int64_t value)
{
	begin_member(json, key);
	fprintf(json->out, "%lld", (long long)value);
}

void bp_write_number(FILE *out, double value)
{
	if (!isfinite(value))
		fputs("null", out);
	else if (value == floor(value) && fabs(value) < 0x1p63)
		fprintf(out, "%.0f", value);
	else
		fprintf(out, "%.12g", value);
}

void bp_json_number(struct bp_json *json, const char *key, double value)
{
	begin_member(json, key);
	bp_write_number(json->out, value);
}

void bp_json_fixed(struct bp_json *json, const char *key, double value, int decimals)
{
	begin_member(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.*f", decimals, value);
	else
		fputs("null", json->out);
}

void bp_json_digits(struct bp_json *json, const char *key, double value, int digits)
{
	begin_member(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.*g", digits, value);
	else
		fputs("null", json->out);
}

void bp_json_seconds(struct bp_json *json, const char *key, uint64_t time_ns)
{
	bp_json_fixed(json, key, (double)time_ns / 1e9, 9);
}

void bp_json_raw(struct bp_json *json, const char *key, const char *data, size_t bytes)
{
	begin_member(json, key);
	fwrite(data, 1, bytes, json->out);
}

void bp_json_text_begin(struct bp_json *json, const char *key)
{
	begin_member(json, key);
	putc('"', json->out);
}

void bp_json_text_part(struct bp_json *json, const char *text)
{
	bp_write_json_text(json->out, text);
}

void bp_json_text_end(struct bp_json *json)
{
	putc('"', json->out);
}
