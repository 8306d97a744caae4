/* SPDX-License-Identifier: MIT */
/*
 * A column chunk as pages (parquet.thrift, PageHeader): a dictionary of the distinct values, where
 * that is shorter, and one data page of version 1. What a page holds:
 *
 *	BYTES	WHAT
 *	4	length of the definition levels, if the column is optional
 *	...	definition levels, 1 bit each, as runs (levels.h)
 *	1	bits of a number in the dictionary, if there is one
 *	...	numbers in the dictionary, as runs; or the values, plain
 *
 * Plain is 8 bytes a number, 1 bit a flag, 4 bytes of length and the bytes of a text. Texts always
 * have a dictionary, flags never.
 */
#include "parquet/column.h"
#include "parquet/levels.h"
#include "parquet/packing.h"
#include "parquet/thrift.h"

enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };

static void put_plain(struct bp_parquet_buffer *out, const struct bp_parquet_values *values,
	const struct bp_parquet_column *column, uint32_t code)
{
	const struct bp_parquet_distinct *distinct = &values->distinct[code];
	if (column->type == BP_PARQUET_NUMBER) {
		bp_parquet_buffer_u64(out, distinct->key);
		return;
	}
	bp_parquet_buffer_u32(out, (uint32_t)distinct->bytes);
	bp_parquet_buffer_put(out, values->texts.data + distinct->at, distinct->bytes);
}

/* Numbers: is it shorter than 8 bytes a row? */
static bool has_dictionary(
	const struct bp_parquet_values *values, const struct bp_parquet_column *column)
{
	const uint64_t distinct = values->distinct_count, rows = values->code_count;
	if (column->type != BP_PARQUET_NUMBER)
		return column->type == BP_PARQUET_TEXT && rows > 0;
	return rows > 0 &&
	       distinct * 8 + rows * bp_parquet_width(values->distinct_count) / 8 < rows * 8;
}

/* A header, and behind it `body`, packed. */
static bool put_page(struct bp_parquet_buffer *out, const struct bp_parquet_buffer *body, int type,
	uint32_t count, int encoding, struct bp_parquet_chunk *chunk)
{
	struct bp_parquet_buffer packed = { 0 };
	const size_t before = out->bytes;
	bool good = !body->failed && bp_parquet_pack(&packed, body->data, body->bytes);
	struct bp_thrift thrift = bp_thrift_of(out);
	bp_thrift_i32(&thrift, 1, type);
	bp_thrift_i32(&thrift, 2, (int32_t)body->bytes);
	bp_thrift_i32(&thrift, 3, (int32_t)packed.bytes);
	bp_thrift_begin(&thrift, type == PAGE_DATA ? 5 : 7);
	bp_thrift_i32(&thrift, 1, (int32_t)count);
	bp_thrift_i32(&thrift, 2, encoding);
	if (type == PAGE_DATA) {
		bp_thrift_i32(&thrift, 3, ENCODING_RLE);
		bp_thrift_i32(&thrift, 4, ENCODING_RLE);
	}
	bp_thrift_end(&thrift);
	bp_thrift_end(&thrift);
	chunk->unpacked_bytes += out->bytes - before + body->bytes;
	bp_parquet_buffer_put(out, packed.data, packed.bytes);
	chunk->packed_bytes += out->bytes - before;
	bp_parquet_buffer_finish(&packed);
	return good && !out->failed;
}

static void put_levels(struct bp_parquet_buffer *body, const struct bp_parquet_values *values)
{
	struct bp_parquet_buffer levels = { 0 };
	bp_parquet_levels(&levels, values->present, values->rows, 1);
	body->failed = body->failed || levels.failed;
	bp_parquet_buffer_u32(body, (uint32_t)levels.bytes);
	bp_parquet_buffer_put(body, levels.data, levels.bytes);
	bp_parquet_buffer_finish(&levels);
}

static void put_flags(struct bp_parquet_buffer *body, const struct bp_parquet_values *values)
{
	for (uint32_t i = 0; i < values->code_count; i += 8) {
		uint8_t byte = 0;
		for (uint32_t j = i; j < values->code_count && j < i + 8; j++)
			byte |= (uint8_t)((values->distinct[values->codes[j]].key & 1) << (j - i));
		bp_parquet_buffer_put(body, &byte, 1);
	}
}

static void find_range(const struct bp_parquet_values *values,
	const struct bp_parquet_column *column, struct bp_parquet_chunk *chunk)
{
	chunk->has_range = column->type == BP_PARQUET_NUMBER && values->distinct_count > 0;
	for (uint32_t i = 0; chunk->has_range && i < values->distinct_count; i++) {
		const int64_t value = (int64_t)values->distinct[i].key;
		chunk->least = i == 0 || value < chunk->least ? value : chunk->least;
		chunk->largest = i == 0 || value > chunk->largest ? value : chunk->largest;
	}
}

static bool put_dictionary(struct bp_parquet_buffer *out, const struct bp_parquet_values *values,
	const struct bp_parquet_column *column, struct bp_parquet_chunk *chunk)
{
	struct bp_parquet_buffer body = { 0 };
	for (uint32_t i = 0; i < values->distinct_count; i++)
		put_plain(&body, values, column, i);
	const bool good = put_page(
		out, &body, PAGE_DICTIONARY, values->distinct_count, ENCODING_PLAIN, chunk);
	bp_parquet_buffer_finish(&body);
	return good;
}

static bool put_data(struct bp_parquet_buffer *out, const struct bp_parquet_values *values,
	const struct bp_parquet_column *column, bool dictionary, struct bp_parquet_chunk *chunk)
{
	struct bp_parquet_buffer body = { 0 };
	if (column->optional)
		put_levels(&body, values);
	if (dictionary) {
		const unsigned width = bp_parquet_width(values->distinct_count);
		bp_parquet_buffer_put(&body, &(uint8_t){ (uint8_t)width }, 1);
		bp_parquet_levels(&body, values->codes, values->code_count, width);
	} else if (column->type == BP_PARQUET_FLAG) {
		put_flags(&body, values);
	} else {
		for (uint32_t i = 0; i < values->code_count; i++)
			put_plain(&body, values, column, values->codes[i]);
	}
	const bool good = put_page(out, &body, PAGE_DATA, values->rows,
		dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN, chunk);
	bp_parquet_buffer_finish(&body);
	return good;
}

bool bp_parquet_pages(struct bp_parquet_buffer *out, uint64_t at,
	const struct bp_parquet_values *values, const struct bp_parquet_column *column,
	struct bp_parquet_chunk *ret_chunk)
{
	const bool dictionary = has_dictionary(values, column);
	const size_t before = out->bytes;
	*ret_chunk = (struct bp_parquet_chunk){ .rows = values->rows,
		.nulls = values->rows - values->code_count };
	find_range(values, column, ret_chunk);
	if (dictionary) {
		ret_chunk->dictionary_at = at;
		if (!put_dictionary(out, values, column, ret_chunk))
			return false;
	}
	ret_chunk->data_at = at + (out->bytes - before);
	return put_data(out, values, column, dictionary, ret_chunk);
}
