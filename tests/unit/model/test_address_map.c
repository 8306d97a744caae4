/* SPDX-License-Identifier: MIT */
/* The map of addresses against a model that knows each byte by itself, over random operations. The
 * seed is fixed: nothing here fails by chance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "model/address_map.h"
#include "sampler/prng.h"

#define BYTES 96u
#define STEPS 200000u

struct byte {
	bool mapped, accessible;
	uint32_t origin;
};

/* What ended in one operation: bytes by origin modulo 16. */
struct ends {
	uint64_t bytes[16];
};

static bool note_end(void *context, const struct bp_address_range *range)
{
	struct ends *ends = context;
	assert_true(range->accessible && range->start < range->end);
	ends->bytes[range->origin % 16] += range->end - range->start;
	return true;
}

static void end_byte(struct ends *ends, struct byte *byte)
{
	if (byte->mapped && byte->accessible)
		ends->bytes[byte->origin % 16]++;
}

/* Does the map say of every byte what the model says, and is it in order? */
static void compare(const struct bp_address_map *map, const struct byte *model)
{
	for (uint32_t i = 0; i < map->count; i++) {
		assert_true(map->ranges[i].start < map->ranges[i].end);
		if (i > 0)
			assert_true(map->ranges[i].end <= map->ranges[i - 1].start);
	}
	for (uint32_t i = 0; i < BYTES; i++) {
		const struct bp_address_range *found = bp_address_map_find(map, i);
		assert_int_equal(found != NULL, model[i].mapped);
		if (found == NULL)
			continue;
		assert_int_equal(found->accessible, model[i].accessible);
		if (found->accessible)
			assert_int_equal(found->origin, model[i].origin);
	}
}

static void operate(struct bp_address_map *map, struct byte *model, struct ends *ends,
	uint64_t *random, uint32_t origin)
{
	const uint32_t start = (uint32_t)(bp_splitmix64(random) % BYTES);
	const uint32_t end = start + 1 + (uint32_t)(bp_splitmix64(random) % (BYTES - start));
	const uint32_t what = (uint32_t)(bp_splitmix64(random) % 4);
	const bool accessible = bp_splitmix64(random) % 2 == 0;
	for (uint32_t i = start; i < end; i++) {
		const bool changes = model[i].mapped && model[i].accessible != accessible;
		if (what < 2 || (what == 3 && changes))
			end_byte(ends, &model[i]);
		if (what == 0)
			model[i] = (struct byte){ true, accessible, origin };
		else if (what == 1)
			model[i].mapped = false;
		else if (what == 3 && changes)
			model[i] = (struct byte){ true, accessible,
				accessible ? origin : model[i].origin };
	}
	if (what == 0)
		assert_true(bp_address_map_add(map, start, end, accessible, origin));
	else if (what == 1)
		assert_true(bp_address_map_remove(map, start, end));
	else if (what == 3)
		assert_true(bp_address_map_protect(map, start, end, accessible, origin));
}

static void agrees_with_bytes(void **state)
{
	struct byte model[BYTES] = { 0 };
	uint64_t random = 20261127;
	struct ends told, expected;
	struct bp_address_map map = { .ended = note_end, .context = &told };
	uint32_t most = 0;
	(void)state;
	for (uint32_t step = 0; step < STEPS; step++) {
		memset(&told, 0, sizeof told);
		memset(&expected, 0, sizeof expected);
		operate(&map, model, &expected, &random, step);
		assert_memory_equal(&told, &expected, sizeof told);
		compare(&map, model);
		most = map.count > most ? map.count : most;
	}
	assert_true(most > 5);
	bp_address_map_finish(&map);
	assert_int_equal(map.count, 0);
}

static void reaches_to_the_last_address(void **state)
{
	struct bp_address_map map = { 0 };
	(void)state;
	assert_true(bp_address_map_add(&map, UINT64_MAX - 9, UINT64_MAX, true, 1));
	assert_true(bp_address_map_find(&map, UINT64_MAX - 1) == &map.ranges[0]);
	assert_true(bp_address_map_find(&map, UINT64_MAX) == NULL);
	assert_true(bp_address_map_remove(&map, 0, UINT64_MAX));
	assert_int_equal(map.count, 0);
	bp_address_map_finish(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_bytes),
		cmocka_unit_test(reaches_to_the_last_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
