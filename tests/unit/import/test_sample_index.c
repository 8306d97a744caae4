/* SPDX-License-Identifier: MIT */
/*
 * The index of samples by sequence against a plain array of what came and went, over more blocks of
 * numbers than stay open, so that most thin out: numbers that come in order and late, that are far
 * ahead, that are freed soon, late and never, and that never come. Drawn with a seed that is always
 * the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "import/trace/sample_index.h"

#define FIRST 1000u
#define NUMBERS ((BP_SAMPLE_BLOCKS_OPEN + 1500u) * BP_SAMPLE_BLOCK)
#define AHEAD (UINT64_C(1) << 40)
#define HELD 4096u

enum state { NEVER_CAME, LIVE, GONE };

struct model {
	struct bp_sample_index index;
	uint8_t *state; /* enum state, by number */
	uint32_t *entry, entries;
	uint64_t random;
};

static uint64_t draw(struct model *model)
{
	model->random ^= model->random << 13;
	model->random ^= model->random >> 7;
	model->random ^= model->random << 17;
	return model->random >> 16;
}

static void start(struct model *model)
{
	*model = (struct model){ .index = { .first = FIRST }, .random = 20261122 };
	model->state = calloc(NUMBERS, sizeof *model->state);
	model->entry = calloc(NUMBERS, sizeof *model->entry);
	assert_non_null(model->state);
	assert_non_null(model->entry);
}

static void finish(struct model *model)
{
	bp_sample_index_finish(&model->index);
	free(model->state);
	free(model->entry);
}

static void add(struct model *model, uint32_t number)
{
	assert_false(bp_sample_index_has(&model->index, FIRST + (uint64_t)number));
	model->entry[number] = model->entries++;
	/* Half of the time as the join does it: in one look, if that is enough. */
	const uint64_t sequence = FIRST + (uint64_t)number;
	assert_true((draw(model) & 1 &&
			    bp_sample_index_put(&model->index, sequence, model->entry[number])) ||
		    bp_sample_index_add(&model->index, sequence, model->entry[number]));
	model->state[number] = LIVE;
}

/* Looks, and frees what is live, as the join does. */
static void look(struct model *model, uint32_t number, bool remove)
{
	const uint64_t sequence = FIRST + (uint64_t)number;
	const uint32_t found = bp_sample_index_find(&model->index, sequence);
	assert_int_equal(
		bp_sample_index_has(&model->index, sequence), model->state[number] != NEVER_CAME);
	if (model->state[number] == LIVE)
		assert_int_equal(found, model->entry[number]);
	else if (model->state[number] == NEVER_CAME || found != model->entry[number])
		assert_int_equal(found, BP_INDEX_NONE);
	if (remove && model->state[number] == LIVE) {
		bp_sample_index_remove(&model->index, sequence);
		model->state[number] = GONE;
	}
}

/* A third of all numbers come, one in 3000 of them up to 3.6 million later; nearly all are freed
 * within some ten thousand numbers, one in 200 never. */
static void walk(struct model *model)
{
	uint32_t held[HELD], held_count = 0;
	for (uint32_t number = 0; number < NUMBERS; number++) {
		const uint64_t random = draw(model);
		if (random % 3 == 0 && random / 3 % 3000 == 0 && held_count < HELD)
			held[held_count++] = number;
		else if (random % 3 == 0)
			add(model, number);
		for (int i = 0; i < 6; i++) {
			const uint32_t back = (uint32_t)(draw(model) % 20000);
			if (back < number && (number - back) % 200 != 0)
				look(model, number - back, true);
		}
		if (random % 64 == 0 && held_count > 0 && draw(model) % 256 == 0) {
			const uint32_t at = (uint32_t)(draw(model) % held_count);
			add(model, held[at]);
			held[at] = held[--held_count];
		}
	}
	while (held_count > 0)
		add(model, held[--held_count]);
}

static void test_blocks_thin_out(void **unused)
{
	struct model model;
	uint32_t arrays = 0, few = 0;
	(void)unused;
	start(&model);
	walk(&model);
	for (uint32_t i = 0; i < model.index.block_count; i++) {
		arrays += model.index.blocks[i].entries != NULL;
		few += model.index.blocks[i].few != NULL;
	}
	assert_true(few > 1000);
	assert_true(arrays <= model.index.block_count - few);
	assert_true(model.index.far_count > 20);
	for (uint32_t number = 0; number < NUMBERS; number++)
		look(&model, number, number % 3 == 0);
	for (uint32_t number = 0; number < NUMBERS; number++)
		look(&model, number, true);
	finish(&model);
}

/* Blocks of which nothing is freed stay. */
static void test_nothing_freed(void **unused)
{
	struct model model;
	(void)unused;
	start(&model);
	for (uint32_t number = 0; number < NUMBERS; number += BP_SAMPLE_BLOCK / BP_SAMPLE_FEW / 2)
		add(&model, number);
	for (uint32_t number = 0; number < NUMBERS; number++)
		look(&model, number, false);
	for (uint32_t i = 0; i < model.index.block_count; i++)
		assert_null(model.index.blocks[i].few);
	finish(&model);
}

/* Numbers that are out of any range when they come are found, also when blocks have reached
 * them. */
static void test_far_ahead(void **unused)
{
	struct bp_sample_index index = { .first = FIRST };
	const uint32_t later = 5u << 20;
	(void)unused;
	assert_true(bp_sample_index_add(&index, AHEAD, 7));
	assert_true(bp_sample_index_add(&index, FIRST + (uint64_t)later, 8));
	assert_true(bp_sample_index_add(&index, FIRST - 1, 9));
	assert_int_equal(index.block_count, 0);
	for (uint32_t i = 0; i < later; i += 4)
		assert_true(bp_sample_index_add(&index, FIRST + (uint64_t)i, 10 + i));
	assert_true(bp_sample_index_add(&index, FIRST + (uint64_t)later + 1, 6));
	assert_true(index.block_count > later >> BP_SAMPLE_BLOCK_LOG2);
	assert_int_equal(bp_sample_index_find(&index, AHEAD), 7);
	assert_int_equal(bp_sample_index_find(&index, FIRST + (uint64_t)later), 8);
	assert_int_equal(bp_sample_index_find(&index, FIRST - 1), 9);
	assert_true(bp_sample_index_has(&index, FIRST + (uint64_t)later));
	assert_false(bp_sample_index_has(&index, AHEAD + 1));
	assert_false(bp_sample_index_has(&index, FIRST + 1));
	assert_int_equal(bp_sample_index_find(&index, FIRST + 1), BP_INDEX_NONE);
	bp_sample_index_finish(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_thin_out),
		cmocka_unit_test(test_nothing_freed),
		cmocka_unit_test(test_far_ahead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
