/* SPDX-License-Identifier: MIT */
/*
 * The one writer of JSON: reports, the data of pages, exports, and the status of `bytepoll
 * control`. It keeps count of what is open and puts commas, colons, quotes, line ends and
 * indentation; the caller says what there is, in order:
 *
 *	struct bp_json json = bp_json_begin(out);
 *	bp_json_object(&json, NULL, BP_JSON_LINES);
 *	bp_json_text(&json, "schema", "bytepoll-something-1");
 *	bp_json_array(&json, "sizes", BP_JSON_SPACED);
 *	bp_json_whole(&json, NULL, 4096);
 *	bp_json_end(&json);
 *	bp_json_end_document(&json);
 *
 * `key` is the name of a member of an object, any text, and NULL for an element of an array and for
 * the outermost value. Errors of the stream are the caller's to find (ferror). Figures:
 * json_values.h.
 */
#ifndef BP_TEXT_JSON_WRITER_H
#define BP_TEXT_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BP_JSON_DEPTH_MAX 16

enum bp_json_layout {
	BP_JSON_SPACED,	 /* on one line: {"a": 1, "b": 2} */
	BP_JSON_COMPACT, /* on one line: {"a":1,"b":2} */
	BP_JSON_ROWS,	 /* as COMPACT, with the end of a line behind each comma */
	/* a line for each member, two blanks further in than the line it begins on; empty: [] */
	BP_JSON_LINES,
	BP_JSON_TALL, /* as LINES; empty, it still ends on a line of its own */
	/* as COMPACT; at the beginning of a line the comma stands behind the break */
	BP_JSON_COMMAS_FIRST,
};

struct bp_json_level {
	enum bp_json_layout layout;
	unsigned indent; /* of the line that it began on */
	char end;
	bool any; /* has members */
};

struct bp_json {
	FILE *out;
	struct bp_json_level levels[BP_JSON_DEPTH_MAX]; /* [0]: outside */
	unsigned depth;
	unsigned indent; /* of the line at hand */
	bool breaks;	 /* the next member, or the end, begins a line */
	unsigned break_indent;
};

struct bp_json bp_json_begin(FILE *out);

/* Opens an object or an array. At most BP_JSON_DEPTH_MAX - 1 are open at once. */
void bp_json_object(struct bp_json *json, const char *key, enum bp_json_layout layout);
void bp_json_array(struct bp_json *json, const char *key, enum bp_json_layout layout);
/* Closes what was opened last. */
void bp_json_end(struct bp_json *json);
/* The same for the outermost one, and ends the last line. */
void bp_json_end_document(struct bp_json *json);

/* The next member begins on a new line, after so many blanks; if none follows, the closing
 * bracket. */
void bp_json_break(struct bp_json *json, unsigned indent);

/* Text is any bytes up to a NUL (escape.h); NULL is null. */
void bp_json_text(struct bp_json *json, const char *key, const char *text);
void bp_json_bool(struct bp_json *json, const char *key, bool value);
void bp_json_null(struct bp_json *json, const char *key);
void bp_json_whole(struct bp_json *json, const char *key, uint64_t value);
void bp_json_signed(struct bp_json *json, const char *key, int64_t value);
/* Whole numbers without a point, others with twelve digits; like all below null where it is not
 * finite. */
void bp_json_number(struct bp_json *json, const char *key, double value);
/* With so many digits behind the point. */
void bp_json_fixed(struct bp_json *json, const char *key, double value, int decimals);
/* With at most so many digits; 17 are all there are. */
void bp_json_digits(struct bp_json *json, const char *key, double value, int digits);
/* A time or duration in seconds, with nine digits behind the point. */
void bp_json_seconds(struct bp_json *json, const char *key, uint64_t time_ns);
/* JSON that is written already. */
void bp_json_raw(struct bp_json *json, const char *key, const char *data, size_t bytes);

/* A text that is put together of several. */
void bp_json_text_begin(struct bp_json *json, const char *key);
void bp_json_text_part(struct bp_json *json, const char *text);
void bp_json_text_end(struct bp_json *json);

/* A number as bp_json_number writes it, for files that are no JSON. */
void bp_write_number(FILE *out, double value);

#endif
