/* SPDX-License-Identifier: MIT */
/* See thrift.h. */
#include "parquet/thrift.h"

#include <string.h>

#include "base/varint.h"

struct bp_thrift bp_thrift_of(struct bp_parquet_buffer *out)
{
	return (struct bp_thrift){ .out = out };
}

static void put_u8(struct bp_thrift *thrift, unsigned value)
{
	bp_parquet_buffer_put(thrift->out, &(uint8_t){ (uint8_t)value }, 1);
}

/* [Fields grow by 1 to 15 from one to the next.] */
static void put_field(struct bp_thrift *thrift, int field, unsigned type)
{
	put_u8(thrift, (unsigned)(field - thrift->last[thrift->depth]) << 4 | type);
	thrift->last[thrift->depth] = field;
}

static void put_signed(struct bp_thrift *thrift, int64_t value)
{
	bp_parquet_buffer_varint(thrift->out, bp_zigzag(value));
}

static void put_bytes(struct bp_thrift *thrift, const void *data, size_t bytes)
{
	bp_parquet_buffer_varint(thrift->out, bytes);
	bp_parquet_buffer_put(thrift->out, data, bytes);
}

void bp_thrift_i32(struct bp_thrift *thrift, int field, int32_t value)
{
	put_field(thrift, field, BP_THRIFT_I32);
	put_signed(thrift, value);
}

void bp_thrift_i64(struct bp_thrift *thrift, int field, int64_t value)
{
	put_field(thrift, field, BP_THRIFT_I64);
	put_signed(thrift, value);
}

void bp_thrift_binary(struct bp_thrift *thrift, int field, const void *data, size_t bytes)
{
	put_field(thrift, field, BP_THRIFT_BINARY);
	put_bytes(thrift, data, bytes);
}

void bp_thrift_text(struct bp_thrift *thrift, int field, const char *text)
{
	bp_thrift_binary(thrift, field, text, strlen(text));
}

void bp_thrift_begin(struct bp_thrift *thrift, int field)
{
	put_field(thrift, field, BP_THRIFT_STRUCT);
	bp_thrift_item_begin(thrift);
}

void bp_thrift_list(struct bp_thrift *thrift, int field, enum bp_thrift_type type, size_t count)
{
	put_field(thrift, field, BP_THRIFT_LIST);
	put_u8(thrift, (unsigned)(count < 15 ? count : 15) << 4 | type);
	if (count >= 15)
		bp_parquet_buffer_varint(thrift->out, count);
}

void bp_thrift_item_begin(struct bp_thrift *thrift)
{
	thrift->last[++thrift->depth] = 0;
}

void bp_thrift_item_i32(struct bp_thrift *thrift, int32_t value)
{
	put_signed(thrift, value);
}

void bp_thrift_item_text(struct bp_thrift *thrift, const char *text)
{
	put_bytes(thrift, text, strlen(text));
}

void bp_thrift_end(struct bp_thrift *thrift)
{
	put_u8(thrift, 0);
	if (thrift->depth > 0)
		thrift->depth--;
}
