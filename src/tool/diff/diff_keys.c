/* SPDX-License-Identifier: MIT */
/*
 * Names are numbered once for all columns; frames of a profile are turned into numbers through a
 * table per column, since a name is on many stacks. A key is then a few numbers, found by their
 * hash. See diff_keys.h.
 */
#include "diff/diff_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/names/stable_name.h"
#include "query/row_name.h"

#define FRAMES_MAX 65536u     /* of one stack; far more than the recorder walks */
#define PATH_FRAMES_MAX 1000u /* of a call path: what lies farther in counts for the last one */

/* One column while it is read. */
struct column {
	struct bp_diff_keys *keys;
	uint32_t number;
	const struct bp_aggregation *aggregation;
	const char *program;	      /* stable name of the subject's file */
	struct bp_string_id own_path; /* of the subject */
	uint32_t *frame_names;	      /* name number + 1 by frame id; 0: not looked at */
	char *scratch;
	size_t scratch_bytes;
	uint32_t chain[FRAMES_MAX];
};

/* The number of a name, given one when first seen; UINT32_MAX: no memory. */
static uint32_t number_of(struct bp_diff_keys *keys, const char *text)
{
	size_t bytes = strlen(text) + 1;
	uint32_t hash = bp_hash_fold(bp_hash_bytes(11, text, bytes)), position = hash, known;
	while ((known = bp_id_index_next(&keys->name_index, hash, &position)) != 0)
		if (strcmp(keys->text + keys->names[known - 1], text) == 0)
			return known - 1;
	if (!bp_id_index_reserve(&keys->name_index) ||
		!bp_vec_reserve(
			&keys->text, &keys->text_capacity, (uint64_t)keys->text_bytes + bytes, 1) ||
		!bp_vec_reserve(&keys->names, &keys->name_capacity, keys->name_count + 1u,
			sizeof *keys->names))
		return UINT32_MAX;
	memcpy(keys->text + keys->text_bytes, text, bytes);
	keys->names[keys->name_count] = keys->text_bytes;
	keys->text_bytes += (uint32_t)bytes;
	bp_id_index_add(&keys->name_index, hash, keys->name_count + 1);
	return keys->name_count++;
}

static bool same_chain(const struct bp_diff_keys *keys, const struct bp_diff_key *key,
	const uint32_t *chain, uint32_t count)
{
	return key->name_count == count &&
	       memcmp(&keys->chains[key->first_name], chain, count * sizeof *chain) == 0;
}

/* Room for one more key and its cells. */
static bool reserve_key(struct bp_diff_keys *keys, uint32_t count)
{
	return bp_id_index_reserve(&keys->key_index) &&
	       bp_vec_reserve(&keys->chains, &keys->chain_capacity,
		       (uint64_t)keys->chain_count + count, sizeof *keys->chains) &&
	       bp_vec_reserve(&keys->keys, &keys->key_capacity, keys->key_count + 1u,
		       sizeof *keys->keys) &&
	       bp_vec_reserve(&keys->cells, &keys->cell_capacity,
		       ((uint64_t)keys->key_count + 1) * keys->columns, sizeof *keys->cells);
}

/* The key of a chain, made when first seen; NULL: no memory. */
static struct bp_diff_key *key_of(struct bp_diff_keys *keys, const uint32_t *chain, uint32_t count)
{
	uint32_t hash = bp_hash_fold(bp_hash_bytes(12, chain, count * sizeof *chain));
	uint32_t position = hash, known;
	while ((known = bp_id_index_next(&keys->key_index, hash, &position)) != 0)
		if (same_chain(keys, &keys->keys[known - 1], chain, count))
			return &keys->keys[known - 1];
	if (!reserve_key(keys, count))
		return NULL;
	struct bp_diff_key *key = &keys->keys[keys->key_count];
	*key = (struct bp_diff_key){ .first_name = keys->chain_count, .name_count = count };
	memcpy(&keys->chains[keys->chain_count], chain, count * sizeof *chain);
	keys->chain_count += count;
	memset(&keys->cells[(size_t)keys->key_count * keys->columns], 0,
		keys->columns * sizeof *keys->cells);
	bp_id_index_add(&keys->key_index, hash, ++keys->key_count);
	return key;
}

/* Room for a name as long as `text` and what is put around it. */
static bool reserve_scratch(struct column *column, const char *text)
{
	size_t wanted = strlen(text) + 64;
	if (wanted <= column->scratch_bytes)
		return true;
	char *grown = realloc(column->scratch, wanted);
	if (grown == NULL)
		return false;
	column->scratch = grown;
	column->scratch_bytes = wanted;
	return true;
}

/* The stable name of a module, into `buffer`. */
static void module_name(
	const struct column *column, struct bp_module_id id, char *buffer, size_t bytes)
{
	const struct bp_profile *profile = column->aggregation->profile;
	struct bp_string_id path = profile->modules.data[id.i].path;
	if (path.i != 0 && path.i == column->own_path.i && *column->program != '\0')
		snprintf(buffer, bytes, "%s", column->program);
	else
		bp_stable_module_name(bp_profile_text(profile, path), buffer, bytes);
}

/* The number of a frame's name; UINT32_MAX: no memory. (Lines and files are no stable names: they
 * are for growth within one run.) */
static uint32_t name_of_frame(struct column *column, struct bp_frame_id id)
{
	const struct bp_profile *profile = column->aggregation->profile;
	const struct bp_frame *frame = &profile->frames.data[id.i];
	const char *function = bp_profile_text(profile, frame->function);
	const char *file = bp_profile_text(profile, frame->source_file);
	enum bp_key by = column->aggregation->query.by;
	bool of_source = (by == BP_KEY_LINE || by == BP_KEY_FILE) && *file != '\0';
	char module[BP_STABLE_NAME_BYTES];
	if (column->frame_names[id.i] != 0)
		return column->frame_names[id.i] - 1;
	module_name(column, frame->module, module, sizeof module);
	const char *longest = strlen(function) > strlen(module) ? function : module;
	if (strlen(file) > strlen(longest))
		longest = file;
	if (!reserve_scratch(column, longest))
		return UINT32_MAX;
	if (of_source && by == BP_KEY_LINE && frame->line != 0)
		snprintf(column->scratch, column->scratch_bytes, "%s:%u", file, frame->line);
	else if (of_source)
		snprintf(column->scratch, column->scratch_bytes, "%s", file);
	else if (by == BP_KEY_MODULE)
		snprintf(column->scratch, column->scratch_bytes, "%s",
			*module != '\0' ? module : "(no module)");
	else if (frame->named && *function != '\0')
		bp_stable_function_name(function, column->scratch, column->scratch_bytes);
	else if (column->keys->same_run && *function != '\0')
		snprintf(column->scratch, column->scratch_bytes, "%s", function);
	else
		bp_stable_nameless(module, column->scratch, column->scratch_bytes);
	uint32_t number = number_of(column->keys, column->scratch);
	if (number != UINT32_MAX)
		column->frame_names[id.i] = number + 1;
	return number;
}

/* Counts a cell of the aggregation under the first `count` names of the column's chain, once. */
static bool count_under(struct column *column, const struct bp_cell *cell, uint32_t count,
	struct bp_stack_id stack, struct bp_diff_key **ret_key)
{
	struct bp_diff_keys *keys = column->keys;
	uint64_t serial = (uint64_t)(column->number + 1) << 32 |
			  (uint32_t)(cell - column->aggregation->state->cells);
	struct bp_diff_key *key = key_of(keys, column->chain, count);
	if (key == NULL)
		return false;
	*ret_key = key;
	key->seen_in = column->aggregation;
	key->stack = stack;
	if (key->counted_for == serial)
		return true;
	key->counted_for = serial;
	if (keys->keeps_pairs) {
		if (!bp_vec_reserve(&keys->pairs, &keys->pair_capacity, keys->pair_count + 1u,
			    sizeof *keys->pairs))
			return false;
		keys->pairs[keys->pair_count++] =
			(struct bp_cell_key){ (uint32_t)serial, (uint32_t)(key - keys->keys) };
	}
	size_t at = (size_t)(key - keys->keys) * keys->columns + column->number;
	return bp_tally_merge(&keys->cells[at].tally, &cell->tally);
}

static bool count_name(struct column *column, const struct bp_cell *cell, const char *name,
	struct bp_diff_key **ret_key)
{
	column->chain[0] = number_of(column->keys, name);
	return column->chain[0] != UINT32_MAX &&
	       count_under(column, cell, 1, (struct bp_stack_id){ 0 }, ret_key);
}

static bool count_stack(struct column *column, const struct bp_cell *cell)
{
	const struct bp_aggregation_state *state = column->aggregation->state;
	const struct bp_query *query = &column->aggregation->query;
	struct bp_stack_id stack = { (uint32_t)cell->id };
	struct bp_diff_key *key;
	uint32_t count;
	const struct bp_frame_id *frames =
		bp_attribution_frames(&state->attribution, stack, &count);
	if (count == 0)
		return count_name(column, cell, "(no stack recorded)", &key);
	bool all = query->by == BP_KEY_STACK || query->cumulative;
	uint32_t first = all ? 0 : bp_attribution_index(&state->attribution, stack);
	uint32_t end = !all ? first + 1 : count < FRAMES_MAX ? count : FRAMES_MAX;
	for (uint32_t i = first; i < end; i++) {
		uint32_t name = name_of_frame(column, frames[i]);
		if (name == UINT32_MAX)
			return false;
		column->chain[query->by == BP_KEY_STACK ? i : 0] = name;
		if (query->by != BP_KEY_STACK &&
			!count_under(column, cell, 1, (struct bp_stack_id){ 0 }, &key))
			return false;
	}
	return query->by != BP_KEY_STACK || count_under(column, cell, end, stack, &key);
}

/* Counts a cell under the path from `caller` (key number and 1) to the name in chain[0]. */
static bool count_call(struct column *column, const struct bp_cell *cell, uint32_t caller,
	struct bp_diff_key **ret_key)
{
	struct bp_diff_keys *keys = column->keys;
	const uint32_t known = keys->key_count;
	column->chain[1] = caller;
	if (!count_under(column, cell, 2, (struct bp_stack_id){ 0 }, ret_key))
		return false;
	if (keys->key_count == known || caller == 0)
		return true;
	struct bp_diff_key *above = &keys->keys[caller - 1];
	(*ret_key)->caller = caller;
	above->first_callee = above->callees++ == 0 ? keys->key_count : above->first_callee;
	return true;
}

/* Counts a cell under every beginning of its stack. */
static bool count_path(struct column *column, const struct bp_cell *cell)
{
	struct bp_diff_keys *keys = column->keys;
	struct bp_diff_key *key = NULL;
	uint32_t count, caller = 0;
	const struct bp_attribution *attribution = &column->aggregation->state->attribution;
	const struct bp_stack_id stack = { (uint32_t)cell->id };
	const struct bp_frame_id *frames = bp_attribution_frames(attribution, stack, &count);
	if (keys->until_charged && count > 0) {
		const uint32_t charged = bp_attribution_index(attribution, stack);
		frames += charged;
		count -= charged;
	}
	if (count == 0) {
		column->chain[0] = number_of(keys, "(no stack recorded)");
		if (column->chain[0] == UINT32_MAX || !count_call(column, cell, 0, &key))
			return false;
	}
	for (uint32_t depth = 0; depth < count && depth < PATH_FRAMES_MAX; depth++) {
		column->chain[0] = name_of_frame(column, frames[count - 1 - depth]);
		if (column->chain[0] == UINT32_MAX || !count_call(column, cell, caller, &key))
			return false;
		caller = (uint32_t)(key - keys->keys) + 1;
	}
	key->is_end = true;
	return true;
}

/* A thread goes by its name; one that has none by that of its program. */
static bool count_thread(struct column *column, const struct bp_cell *cell)
{
	const struct bp_profile *profile = column->aggregation->profile;
	const struct bp_thread *thread = &profile->threads.data[cell->id];
	const struct bp_sums *sums = &cell->tally.sums;
	struct bp_known_total bytes = thread->bytes_allocated, objects = thread->objects_allocated;
	struct bp_diff_key *key;
	char buffer[BP_STABLE_NAME_BYTES];
	const char *name = bp_profile_text(profile, thread->name);
	if (cell->id == 0) {
		name = "(thread not known)";
	} else if (*name == '\0') {
		const struct bp_process *process = &profile->processes.data[thread->process.i];
		bp_stable_module_name(
			bp_profile_text(profile, process->program), buffer, sizeof buffer);
		bool own = process->program.i == column->own_path.i;
		name = own && *column->program != '\0' ? column->program : buffer;
	}
	if (!count_name(column, cell, name, &key))
		return false;
	struct bp_key_cell *to =
		&column->keys->cells[(size_t)(key - column->keys->keys) * column->keys->columns +
				     column->number];
	bool counted = cell->id != 0 && bytes.low == bytes.high && objects.low == objects.high &&
		       objects.high >= sums->samples && (double)bytes.high >= sums->bytes;
	to->counted_bytes += (double)bytes.high;
	to->counted_objects += (double)objects.high;
	to->uncounted = to->uncounted || !counted;
	return true;
}

static bool count_label(struct column *column, const struct bp_cell *cell)
{
	const struct bp_profile *profile = column->aggregation->profile;
	const char *label = column->aggregation->query.label;
	struct bp_diff_key *key;
	struct bp_string_id value = { 0 };
	char buffer[2048];
	const bool has_label =
		bp_label_value(profile, label, (struct bp_labels_id){ (uint32_t)cell->id }, &value);
	return count_name(column, cell,
		bp_label_name(profile, label, has_label, value, buffer, sizeof buffer), &key);
}

static const char *origin_name(const struct column *column, const struct bp_cell *cell)
{
	const struct bp_profile *profile = column->aggregation->profile;
	return bp_row_name(profile, BP_KEY_ORIGIN, NULL, profile->processes.data[cell->id].origin.i,
		0, NULL, 0);
}

static bool count_cell(struct column *column, const struct bp_cell *cell)
{
	struct bp_diff_key *key;
	char text[32];
	if (column->keys->paths)
		return count_path(column, cell);
	switch (column->aggregation->query.by) {
	case BP_KEY_THREAD:
		return count_thread(column, cell);
	case BP_KEY_KIND:
	case BP_KEY_TYPE:
		return count_name(
			column, cell, bp_type_name(column->aggregation->profile, cell->id), &key);
	case BP_KEY_LABEL:
		return count_label(column, cell);
	case BP_KEY_ORIGIN:
		return count_name(column, cell, origin_name(column, cell), &key);
	case BP_KEY_SIZE:
		snprintf(text, sizeof text, "%llu", (unsigned long long)cell->id);
		if (!count_name(column, cell, text, &key))
			return false;
		key->size = cell->id;
		return true;
	default:
		return count_stack(column, cell);
	}
}

bool bp_diff_keys_add(struct bp_diff_keys *keys, uint32_t column_number,
	const struct bp_aggregation *aggregation, const char *program, struct bp_error *error)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_aggregation_state *state = aggregation->state;
	struct column *column = calloc(1, sizeof *column);
	bool good = false;
	if (column == NULL)
		return bp_error_set(error, "out of memory");
	column->keys = keys;
	column->number = column_number;
	column->aggregation = aggregation;
	column->program = program;
	keys->pair_count = 0;
	column->own_path = profile->processes.data[aggregation->subject.i].program;
	column->frame_names = calloc(profile->frames.count, sizeof *column->frame_names);
	if (column->frame_names == NULL)
		goto done;
	for (uint32_t i = 0; i < state->cell_count; i++)
		if (!count_cell(column, &state->cells[i]))
			goto done;
	good = true;
done:
	free(column->frame_names);
	free(column->scratch);
	free(column);
	return good || bp_error_set(error, "out of memory");
}

void bp_diff_keys_finish(struct bp_diff_keys *keys)
{
	for (size_t i = 0; i < (size_t)keys->key_count * keys->columns; i++)
		bp_tally_finish(&keys->cells[i].tally);
	free(keys->pairs);
	free(keys->keys);
	free(keys->cells);
	free(keys->chains);
	free(keys->text);
	free(keys->names);
	bp_id_index_finish(&keys->key_index);
	bp_id_index_finish(&keys->name_index);
	*keys = (struct bp_diff_keys){ 0 };
}

const char *bp_diff_key_name(
	const struct bp_diff_keys *keys, const struct bp_diff_key *key, uint32_t i)
{
	return keys->text + keys->names[keys->chains[key->first_name + i]];
}
