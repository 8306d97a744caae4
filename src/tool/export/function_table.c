/* SPDX-License-Identifier: MIT */
/* Functions are found again by a hash of their three strings; see function_table.h. */
#include "export/function_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/id_index.h"

#define NOT_SEEN UINT32_MAX

static struct bp_function function_of(const struct bp_profile *profile, struct bp_frame_id id)
{
	const struct bp_frame *frame = &profile->frames.data[id.i];
	struct bp_function function = { .name = frame->function,
		.system_name = frame->system_name,
		.file = frame->source_file,
		.module = frame->module,
		.named = frame->named,
		.has_file = frame->source_file.i != 0 };
	if (!function.has_file)
		function.file = profile->modules.data[frame->module.i].path;
	return function;
}

static bool same(const struct bp_function *a, const struct bp_function *b)
{
	return a->name.i == b->name.i && a->system_name.i == b->system_name.i &&
	       a->file.i == b->file.i;
}

static bool add(struct bp_function_table *table, struct bp_id_index *index,
	const struct bp_function *function, uint32_t *ret_number)
{
	uint64_t hash = bp_hash_word(
		bp_hash_word(function->name.i, function->system_name.i), function->file.i);
	uint32_t folded = bp_hash_fold(hash), position = folded, number;
	while ((number = bp_id_index_next(index, folded, &position)) != 0)
		if (same(&table->items[number - 1], function)) {
			*ret_number = number - 1;
			return true;
		}
	if (!bp_vec_reserve(
		    &table->items, &table->capacity, table->count + 1ull, sizeof *table->items) ||
		!bp_id_index_reserve(index))
		return false;
	bp_id_index_add(index, folded, table->count + 1);
	*ret_number = table->count;
	table->items[table->count++] = *function;
	return true;
}

bool bp_function_table_init(struct bp_function_table *ret_table,
	const struct bp_aggregation *aggregation, const struct bp_entries *entries,
	struct bp_error *error)
{
	const struct bp_profile *profile = aggregation->profile;
	struct bp_function_table *table = ret_table;
	struct bp_id_index index = { 0 };
	*table = (struct bp_function_table){ 0 };
	table->of_frame = malloc(((size_t)profile->frames.count + 1) * sizeof *table->of_frame);
	bool good = table->of_frame != NULL;
	for (uint32_t i = 0; good && i < profile->frames.count; i++)
		table->of_frame[i] = NOT_SEEN;
	for (uint32_t i = 0; good && i < entries->count; i++) {
		uint32_t count;
		const struct bp_frame_id *frames =
			bp_entry_frames(aggregation, entries->items[i].stack, &count);
		for (uint32_t j = 0; good && j < count; j++) {
			uint32_t *number = &table->of_frame[frames[j].i];
			if (*number != NOT_SEEN)
				continue;
			struct bp_function function = function_of(profile, frames[j]);
			good = add(table, &index, &function, number);
		}
	}
	bp_id_index_finish(&index);
	return good || bp_error_set(error, "out of memory");
}

void bp_function_table_finish(struct bp_function_table *table)
{
	free(table->items);
	free(table->of_frame);
	*table = (struct bp_function_table){ 0 };
}
