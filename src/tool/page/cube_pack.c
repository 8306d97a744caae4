/* SPDX-License-Identifier: MIT */
/*
 * A cube as it is read: cells sorted by stack and then by what changes least, records that occur
 * once, stacks and types without gaps in their numbers. Most cells of a large cube hold one sample,
 * and programs allocate few different sizes: there are far fewer records than cells.
 */
#include <stdlib.h>
#include <string.h>

#include "page/cube_build.h"

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_sums(const void *left, const void *right)
{
	const struct bp_cube_key *a = &((const struct bp_cube_sum *)left)->key;
	const struct bp_cube_key *b = &((const struct bp_cube_sum *)right)->key;
	const uint64_t words[][2] = { { a->stack, b->stack }, { a->thread, b->thread },
		{ a->type_key, b->type_key }, { a->size_class, b->size_class },
		{ a->number, b->number }, { a->flags, b->flags }, { a->made, b->made },
		{ a->freed, b->freed } };
	for (size_t i = 0; i < BP_COUNT(words); i++)
		if (words[i][0] != words[i][1])
			return compare_numbers(words[i][0], words[i][1]);
	return 0;
}

static bool same_record(const struct bp_sums *s, const struct bp_sums *t)
{
	return s->samples == t->samples && s->bytes == t->bytes && s->c1 == t->c1 &&
	       s->c2 == t->c2 && s->c3 == t->c3 && s->n1 == t->n1 && s->n2 == t->n2 &&
	       s->n3 == t->n3 && s->log_pi_sum == t->log_pi_sum && s->first_size == t->first_size &&
	       s->first_interval == t->first_interval && s->first_charge == t->first_charge &&
	       s->first_value == t->first_value && s->has_first == t->has_first &&
	       s->mixed == t->mixed && s->bernoulli == t->bernoulli &&
	       s->interval_max == t->interval_max && s->ratio_max == t->ratio_max &&
	       s->single_size == t->single_size;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static uint32_t hash_record(const struct bp_sums *record)
{
	uint64_t hash = bp_hash_word(14, record->samples);
	hash = bp_hash_word(hash, bits_of(record->bytes));
	hash = bp_hash_word(hash, bits_of(record->c3));
	return bp_hash_fold(hash);
}

/* The record's number; UINT32_MAX: no memory. `records` has room for one more. */
static uint32_t record_of(
	struct bp_cube *cube, struct bp_id_index *index, const struct bp_sums *record)
{
	uint32_t hash = hash_record(record), position = hash, number;
	while ((number = bp_id_index_next(index, hash, &position)) != 0)
		if (same_record(&cube->records[number - 1], record))
			return number - 1;
	if (!bp_id_index_reserve(index))
		return UINT32_MAX;
	cube->records[cube->record_count] = *record;
	bp_id_index_add(index, hash, ++cube->record_count);
	return cube->record_count - 1;
}

static bool pack_cells(struct bp_cube *cube)
{
	struct bp_cube_build *build = cube->build;
	struct bp_id_index index = { 0 };
	bool good = true;
	cube->record_count = 0;
	cube->cell_count = build->sum_count;
	for (uint32_t i = 0; good && i < build->sum_count; i++) {
		const struct bp_cube_key *key = &build->sums[i].key;
		const uint32_t record = record_of(cube, &index, &build->sums[i].record);
		good = record != UINT32_MAX;
		cube->cells[i] = (struct bp_cube_cell){ .stack = key->stack,
			.record = record,
			.thread = key->thread,
			.type = key->type_key,
			.size_class = key->size_class,
			.made = key->made,
			.freed = key->freed,
			.flags = key->flags,
			.number = key->number };
	}
	bp_id_index_finish(&index);
	return good;
}

/* Type keys into places among those that occur. */
static bool pack_types(struct bp_cube *cube)
{
	const uint32_t keys = BP_KINDS + cube->build->aggregation->profile->types.count;
	uint32_t *places = calloc(keys, sizeof *places);
	free(cube->type_keys);
	cube->type_keys = calloc(keys, sizeof *cube->type_keys);
	const bool good = places != NULL && cube->type_keys != NULL;
	cube->type_count = 0;
	for (uint32_t i = 0; good && i < cube->cell_count; i++)
		places[cube->cells[i].type] = 1;
	for (uint32_t key = 0; good && key < keys; key++) {
		if (places[key] == 0)
			continue;
		places[key] = cube->type_count;
		cube->type_keys[cube->type_count++] = key;
	}
	for (uint32_t i = 0; good && i < cube->cell_count; i++)
		cube->cells[i].type = places[cube->cells[i].type];
	free(places);
	return good;
}

const char *bp_cube_type_name(const struct bp_cube *cube, uint32_t type)
{
	return bp_type_name(cube->build->aggregation->profile, cube->type_keys[type]);
}

bool bp_cube_pack(struct bp_cube *cube, struct bp_error *error)
{
	struct bp_cube_build *build = cube->build;
	const size_t count = (size_t)build->sum_count + 1;
	free(cube->cells);
	free(cube->records);
	cube->cells = calloc(count, sizeof *cube->cells);
	cube->records = calloc(count, sizeof *cube->records);
	if (cube->cells == NULL || cube->records == NULL)
		return bp_error_set(error, "out of memory");
	/* (The numbers in the index are wrong from here on: coarsening makes it anew.) */
	if (build->sum_count > 0)
		qsort(build->sums, build->sum_count, sizeof *build->sums, compare_sums);
	if (!pack_cells(cube) || !pack_types(cube))
		return bp_error_set(error, "out of memory");
	return bp_cube_pack_stacks(cube, error) && bp_cube_count_windows(cube, error);
}
