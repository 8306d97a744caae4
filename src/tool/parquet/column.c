/* SPDX-License-Identifier: MIT */
/* See column.h. Texts of equal hash are told apart by hashing on. */
#include "parquet/column.h"

#include "base/vec.h"

static struct bp_index_keys keys_of(const struct bp_parquet_values *values)
{
	return (struct bp_index_keys){ values->distinct, sizeof *values->distinct };
}

static uint64_t hash_of(const char *text, size_t bytes)
{
	uint64_t hash = bytes;
	for (size_t i = 0; i < bytes; i++)
		hash = bp_hash_u64(hash ^ (unsigned char)text[i]);
	return hash;
}

static bool append(struct bp_parquet_values *values, const struct bp_parquet_distinct *distinct)
{
	if (!bp_vec_reserve(&values->distinct, &values->distinct_capacity,
		    values->distinct_count + 1u, sizeof *values->distinct))
		return false;
	values->distinct[values->distinct_count] = *distinct;
	if (!bp_index_add(&values->index, keys_of(values), values->distinct_count))
		return false;
	values->distinct_count++;
	return true;
}

static bool number_code(struct bp_parquet_values *values, uint64_t number, uint32_t *ret_code)
{
	*ret_code = bp_index_find(&values->index, keys_of(values), number);
	if (*ret_code != BP_INDEX_NONE)
		return true;
	*ret_code = values->distinct_count;
	return append(values, &(struct bp_parquet_distinct){ .key = number });
}

static bool text_code(struct bp_parquet_values *values, const char *text, uint32_t *ret_code)
{
	const size_t bytes = strlen(text);
	uint64_t hash = hash_of(text, bytes);
	for (;; hash = bp_hash_u64(hash + 1)) {
		*ret_code = bp_index_find(&values->index, keys_of(values), hash);
		if (*ret_code == BP_INDEX_NONE)
			break;
		const struct bp_parquet_distinct *known = &values->distinct[*ret_code];
		if (known->bytes == bytes &&
			(bytes == 0 || memcmp(values->texts.data + known->at, text, bytes) == 0))
			return true;
	}
	*ret_code = values->distinct_count;
	const struct bp_parquet_distinct distinct = { hash, values->texts.bytes, bytes };
	bp_parquet_buffer_put(&values->texts, text, bytes);
	return !values->texts.failed && append(values, &distinct);
}

bool bp_parquet_values_add(struct bp_parquet_values *values, const struct bp_parquet_column *column,
	const struct bp_parquet_value *value)
{
	uint32_t code;
	if (!bp_vec_reserve(&values->present, &values->row_capacity, values->rows + 1u,
		    sizeof *values->present) ||
		!bp_vec_reserve(&values->codes, &values->code_capacity, values->code_count + 1u,
			sizeof *values->codes))
		return false;
	values->present[values->rows++] = !value->null;
	if (value->null)
		return true;
	const bool good = column->type == BP_PARQUET_TEXT
				  ? text_code(values, value->text, &code)
				  : number_code(values, (uint64_t)value->number, &code);
	values->codes[values->code_count] = code;
	values->code_count += good;
	return good;
}

void bp_parquet_values_clear(struct bp_parquet_values *values)
{
	bp_index_finish(&values->index);
	values->distinct_count = values->code_count = values->rows = 0;
	values->texts.bytes = 0;
}

void bp_parquet_values_finish(struct bp_parquet_values *values)
{
	bp_index_finish(&values->index);
	bp_parquet_buffer_finish(&values->texts);
	free(values->distinct);
	free(values->codes);
	free(values->present);
	memset(values, 0, sizeof *values);
}
