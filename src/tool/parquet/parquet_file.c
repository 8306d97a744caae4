/* SPDX-License-Identifier: MIT */
/* Row groups and the footer; see parquet_file.h. The numbers of fields and of enumerations are
 * those of parquet.thrift (https://github.com/apache/parquet-format). */
#include "parquet/parquet_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "parquet/column.h"
#include "parquet/packing.h"
#include "parquet/thrift.h"

#define MAGIC "PAR1"
#define MAGIC_BYTES 4u

struct bp_parquet {
	FILE *out;
	const struct bp_parquet_column *columns;
	uint32_t column_count;
	const char *note;
	struct bp_parquet_values *values; /* by column, of the row group that is open */
	struct bp_parquet_chunk *chunks;  /* row group by row group, by column */
	uint32_t chunk_count, chunk_capacity;
	uint64_t at, rows; /* bytes written; rows of whole row groups */
	struct bp_parquet_buffer buffer;
};

static void put_bytes(struct bp_parquet *file, const void *data, size_t bytes)
{
	fwrite(data, 1, bytes, file->out);
	file->at += bytes;
}

static void release(struct bp_parquet *file)
{
	for (uint32_t i = 0; file->values != NULL && i < file->column_count; i++)
		bp_parquet_values_finish(&file->values[i]);
	bp_parquet_buffer_finish(&file->buffer);
	free(file->values);
	free(file->chunks);
	free(file);
}

bool bp_parquet_begin(FILE *out, const struct bp_parquet_column *columns, uint32_t count,
	const char *note, struct bp_parquet **ret_file, struct bp_error *error)
{
	struct bp_parquet *file = calloc(1, sizeof *file);
	if (file != NULL)
		file->values = calloc(count, sizeof *file->values);
	if (file == NULL || file->values == NULL) {
		free(file);
		return bp_error_set(error, "out of memory");
	}
	file->out = out;
	file->columns = columns;
	file->column_count = count;
	file->note = note;
	put_bytes(file, MAGIC, MAGIC_BYTES);
	*ret_file = file;
	return true;
}

static bool write_group(struct bp_parquet *file)
{
	const uint32_t rows = file->values[0].rows;
	if (!bp_vec_reserve(&file->chunks, &file->chunk_capacity,
		    (uint64_t)file->chunk_count + file->column_count, sizeof *file->chunks))
		return false;
	for (uint32_t i = 0; i < file->column_count; i++) {
		file->buffer.bytes = 0;
		if (!bp_parquet_pages(&file->buffer, file->at, &file->values[i], &file->columns[i],
			    &file->chunks[file->chunk_count]))
			return false;
		file->chunk_count++;
		put_bytes(file, file->buffer.data, file->buffer.bytes);
		bp_parquet_values_clear(&file->values[i]);
	}
	file->rows += rows;
	return true;
}

bool bp_parquet_row(
	struct bp_parquet *file, const struct bp_parquet_value *values, struct bp_error *error)
{
	for (uint32_t i = 0; i < file->column_count; i++)
		if (!bp_parquet_values_add(&file->values[i], &file->columns[i], &values[i]))
			return bp_error_set(error, "out of memory");
	return file->values[0].rows < BP_PARQUET_GROUP_ROWS || write_group(file) ||
	       bp_error_set(error, "out of memory");
}

/* ---- the footer ---- */

/* Type of parquet.thrift. */
static int type_of(const struct bp_parquet_column *column)
{
	static const int types[] = {
		[BP_PARQUET_NUMBER] = 2, [BP_PARQUET_FLAG] = 0, [BP_PARQUET_TEXT] = 6
	}; /* INT64, BOOLEAN, BYTE_ARRAY */
	return types[column->type];
}

static void put_schema(struct bp_thrift *thrift, const struct bp_parquet *file)
{
	bp_thrift_list(thrift, 2, BP_THRIFT_STRUCT, file->column_count + 1u);
	bp_thrift_item_begin(thrift);
	bp_thrift_text(thrift, 4, "schema");
	bp_thrift_i32(thrift, 5, (int32_t)file->column_count);
	bp_thrift_end(thrift);
	for (uint32_t i = 0; i < file->column_count; i++) {
		const struct bp_parquet_column *column = &file->columns[i];
		bp_thrift_item_begin(thrift);
		bp_thrift_i32(thrift, 1, type_of(column));
		bp_thrift_i32(thrift, 3, column->optional);
		bp_thrift_text(thrift, 4, column->name);
		if (column->type == BP_PARQUET_TEXT) {
			bp_thrift_i32(thrift, 6, 0); /* ConvertedType UTF8, for old readers */
			bp_thrift_begin(thrift, 10); /* LogicalType */
			bp_thrift_begin(thrift, 1);  /* STRING */
			bp_thrift_end(thrift);
			bp_thrift_end(thrift);
		}
		bp_thrift_end(thrift);
	}
}

static void put_statistics(struct bp_thrift *thrift, const struct bp_parquet_chunk *chunk)
{
	bp_thrift_begin(thrift, 12);
	bp_thrift_i64(thrift, 3, (int64_t)chunk->nulls);
	if (chunk->has_range) {
		bp_thrift_binary(thrift, 5, &chunk->largest, sizeof chunk->largest);
		bp_thrift_binary(thrift, 6, &chunk->least, sizeof chunk->least);
	}
	bp_thrift_end(thrift);
}

static void put_chunk(struct bp_thrift *thrift, const struct bp_parquet_column *column,
	const struct bp_parquet_chunk *chunk)
{
	const bool dictionary = chunk->dictionary_at != 0;
	bp_thrift_item_begin(thrift);
	bp_thrift_i64(thrift, 2, 0); /* no metadata outside of the footer */
	bp_thrift_begin(thrift, 3);
	bp_thrift_i32(thrift, 1, type_of(column));
	bp_thrift_list(thrift, 2, BP_THRIFT_I32, dictionary ? 3 : 2);
	bp_thrift_item_i32(thrift, 0); /* PLAIN */
	bp_thrift_item_i32(thrift, 3); /* RLE */
	if (dictionary)
		bp_thrift_item_i32(thrift, 8); /* RLE_DICTIONARY */
	bp_thrift_list(thrift, 3, BP_THRIFT_BINARY, 1);
	bp_thrift_item_text(thrift, column->name);
	bp_thrift_i32(thrift, 4, bp_parquet_codec);
	bp_thrift_i64(thrift, 5, (int64_t)chunk->rows);
	bp_thrift_i64(thrift, 6, (int64_t)chunk->unpacked_bytes);
	bp_thrift_i64(thrift, 7, (int64_t)chunk->packed_bytes);
	bp_thrift_i64(thrift, 9, (int64_t)chunk->data_at);
	if (dictionary)
		bp_thrift_i64(thrift, 11, (int64_t)chunk->dictionary_at);
	put_statistics(thrift, chunk);
	bp_thrift_end(thrift);
	bp_thrift_end(thrift);
}

static void put_groups(struct bp_thrift *thrift, const struct bp_parquet *file)
{
	const uint32_t columns = file->column_count;
	bp_thrift_list(thrift, 4, BP_THRIFT_STRUCT, file->chunk_count / columns);
	for (uint32_t i = 0; i < file->chunk_count; i += columns) {
		uint64_t bytes = 0;
		bp_thrift_item_begin(thrift);
		bp_thrift_list(thrift, 1, BP_THRIFT_STRUCT, columns);
		for (uint32_t j = 0; j < columns; j++) {
			put_chunk(thrift, &file->columns[j], &file->chunks[i + j]);
			bytes += file->chunks[i + j].unpacked_bytes;
		}
		bp_thrift_i64(thrift, 2, (int64_t)bytes);
		bp_thrift_i64(thrift, 3, (int64_t)file->chunks[i].rows);
		bp_thrift_end(thrift);
	}
}

static void put_footer(struct bp_parquet_buffer *out, const struct bp_parquet *file)
{
	struct bp_thrift thrift = bp_thrift_of(out);
	bp_thrift_i32(&thrift, 1, 1); /* version */
	put_schema(&thrift, file);
	bp_thrift_i64(&thrift, 3, (int64_t)file->rows);
	put_groups(&thrift, file);
	bp_thrift_list(&thrift, 5, BP_THRIFT_STRUCT, 1);
	bp_thrift_item_begin(&thrift);
	bp_thrift_text(&thrift, 1, "bytepoll");
	bp_thrift_text(&thrift, 2, file->note);
	bp_thrift_end(&thrift);
	bp_thrift_text(&thrift, 6, "bytepoll " BP_VERSION);
	bp_thrift_list(&thrift, 7, BP_THRIFT_STRUCT, file->column_count);
	for (uint32_t i = 0; i < file->column_count; i++) {
		bp_thrift_item_begin(&thrift);
		bp_thrift_begin(&thrift, 1); /* ordered as its type */
		bp_thrift_end(&thrift);
		bp_thrift_end(&thrift);
	}
	bp_thrift_end(&thrift);
}

static bool write_end(struct bp_parquet *file)
{
	if (file->values[0].rows > 0 && !write_group(file))
		return false;
	file->buffer.bytes = 0;
	put_footer(&file->buffer, file);
	if (file->buffer.failed)
		return false;
	const uint32_t bytes = (uint32_t)file->buffer.bytes;
	put_bytes(file, file->buffer.data, bytes);
	put_bytes(file, &bytes, sizeof bytes);
	put_bytes(file, MAGIC, MAGIC_BYTES);
	return true;
}

bool bp_parquet_end(struct bp_parquet *file, bool good, struct bp_error *error)
{
	if (good && !write_end(file))
		good = bp_error_set(error, "out of memory");
	release(file);
	return good;
}
