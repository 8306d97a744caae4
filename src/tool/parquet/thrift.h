/* SPDX-License-Identifier: MIT */
/*
 * Structs in Thrift's compact protocol (https://github.com/apache/thrift/blob/master/doc/specs/
 * thrift-compact-protocol.md), as far as Parquet's metadata need it: numbers, strings, structs and
 * lists. Fields are written in the order of their numbers. Called by parquet_file.c and page.c.
 */
#ifndef BP_PARQUET_THRIFT_H
#define BP_PARQUET_THRIFT_H

#include "parquet/buffer.h"

#define BP_THRIFT_DEPTH 8

enum bp_thrift_type {
	BP_THRIFT_I32 = 5,
	BP_THRIFT_I64 = 6,
	BP_THRIFT_BINARY = 8,
	BP_THRIFT_LIST = 9,
	BP_THRIFT_STRUCT = 12
};

struct bp_thrift {
	struct bp_parquet_buffer *out;
	int last[BP_THRIFT_DEPTH]; /* the number of the field before, of each open struct */
	unsigned depth;		   /* open structs; the outermost is open from the beginning */
};

struct bp_thrift bp_thrift_of(struct bp_parquet_buffer *out);

/* Fields of the struct that is open. */
void bp_thrift_i32(struct bp_thrift *thrift, int field, int32_t value);
void bp_thrift_i64(struct bp_thrift *thrift, int field, int64_t value);
void bp_thrift_binary(struct bp_thrift *thrift, int field, const void *data, size_t bytes);
void bp_thrift_text(struct bp_thrift *thrift, int field, const char *text);
/* A field that is a struct; bp_thrift_end closes it. */
void bp_thrift_begin(struct bp_thrift *thrift, int field);
/* A field that is a list of `count` elements, which follow. */
void bp_thrift_list(struct bp_thrift *thrift, int field, enum bp_thrift_type type, size_t count);

/* Elements of a list. */
void bp_thrift_item_begin(struct bp_thrift *thrift);
void bp_thrift_item_i32(struct bp_thrift *thrift, int32_t value);
void bp_thrift_item_text(struct bp_thrift *thrift, const char *text);

/* Closes the struct that was opened last, or the outermost one. */
void bp_thrift_end(struct bp_thrift *thrift);

#endif
