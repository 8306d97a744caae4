/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables that lie: copies of real objects between inaccessible pages, with bytes of their
 * tables changed. No rule found may cost the program a fault; the rules of an unchanged copy are
 * those of the original.
 *
 * A case is a seed, counted up from 1: 10^5 of them, or BYTEPOLL_FUZZ_CASES.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "unwind/frame_rules.h"

#define PAGE ((size_t)4096)

/* An object, and a copy of it that ends (or begins) where an inaccessible page does. */
struct copy {
	struct bp_module_range original, range;
	uint8_t *tables; /* in the copy: from the header on */
	size_t table_bytes;
	uint32_t functions;
};

static struct bp_frame_scratch scratch, scratch_of_original;
static uint64_t state_of_random;

static uint64_t next(void)
{
	uint64_t z = (state_of_random += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static void make_copy(struct copy *copy, const void *address, bool flush_end)
{
	assert_true(bp_module_range_find((uintptr_t)address, &copy->original));
	const size_t bytes = copy->original.end - copy->original.start;
	const size_t rounded = (bytes + PAGE - 1) & ~(PAGE - 1);
	uint8_t *memory =
		mmap(NULL, rounded + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(mprotect(memory + PAGE, rounded, PROT_READ | PROT_WRITE), 0);
	uint8_t *start = memory + PAGE + (flush_end ? rounded - bytes : 0);
	memcpy(start, (const void *)copy->original.start, bytes);
	const size_t header = (uintptr_t)copy->original.frame_header - copy->original.start;
	copy->range = (struct bp_module_range){
		.start = (uintptr_t)start,
		.end = (uintptr_t)start + bytes,
		.frame_header = start + header,
	};
	copy->tables = start + header;
	memcpy(&copy->functions, copy->tables + 8, 4);
	copy->table_bytes = bytes - header < 400000 ? bytes - header : 400000;
	assert_true(copy->functions > 10);
}

/* A pc in the n-th function of the search table. */
static uintptr_t pc_of(const struct copy *copy, uint32_t n, uint64_t offset)
{
	int32_t start;
	memcpy(&start, copy->tables + 12 + 8 * (size_t)n, 4);
	return (uintptr_t)copy->tables + (uintptr_t)(intptr_t)start + offset;
}

/* Rows agree; expressions are compared by content, since they point into their own object. */
static void compare(const struct bp_frame_row *a, const struct bp_frame_row *b)
{
	assert_int_equal(a->cfa_is_expression, b->cfa_is_expression);
	assert_int_equal(a->cfa_register, b->cfa_register);
	assert_true(a->cfa_offset == b->cfa_offset);
	assert_int_equal(a->cfa_expression.bytes, b->cfa_expression.bytes);
	if (a->cfa_is_expression)
		assert_memory_equal(
			a->cfa_expression.at, b->cfa_expression.at, a->cfa_expression.bytes);
	for (int i = 0; i < BP_REGISTERS; i++) {
		assert_int_equal(a->rules[i].kind, b->rules[i].kind);
		if (a->rules[i].kind == BP_RULE_OFFSET || a->rules[i].kind == BP_RULE_VALUE_OFFSET)
			assert_true(a->rules[i].value == b->rules[i].value);
	}
}

static void copies_are_like_their_originals(struct copy *copy)
{
	unsigned found = 0;
	for (int i = 0; i < 20000; i++) {
		uintptr_t pc = pc_of(copy, (uint32_t)(next() % copy->functions), next() % 200);
		uintptr_t original_pc = pc - copy->range.start + copy->original.start;
		bool signal, signal_of_original;
		bool has = bp_frame_rules(&copy->range, pc, &scratch, &signal);
		assert_int_equal(has, bp_frame_rules(&copy->original, original_pc,
					      &scratch_of_original, &signal_of_original));
		if (!has)
			continue;
		found++;
		assert_int_equal(signal, signal_of_original);
		compare(&scratch.row, &scratch_of_original.row);
	}
	assert_true(found > 10000);
}

/* Places worth changing: the header, the search table, an entry or its CIE, anything. */
static uint8_t *any_place(const struct copy *copy, uint32_t n)
{
	int32_t entry;
	uint32_t distance;
	memcpy(&entry, copy->tables + 12 + 8 * (size_t)n + 4, 4);
	uint8_t *fde = copy->tables + entry;
	if (fde < (uint8_t *)copy->range.start || fde + 8 > (uint8_t *)copy->range.end)
		return copy->tables;
	memcpy(&distance, fde + 4, 4);
	uint8_t *cie = fde + 4 - distance;
	switch (next() % 8) {
	case 0:
		return copy->tables + next() % 12;
	case 1:
		return copy->tables + 12 + 8 * (size_t)n + next() % 8;
	case 2:
	case 3:
		return cie + next() % 24;
	case 4:
		return copy->tables + next() % copy->table_bytes;
	default:
		return fde + next() % 48;
	}
}

static void change(const struct copy *copy, uint32_t n, uint8_t *saved_values[8], uint8_t saved[8],
	unsigned changes)
{
	static const uint8_t favourites[] = { 0, 1, 0x7f, 0x80, 0xff, 0x0f, 0x10, 0x16, 0x0a,
		0x0b };
	for (unsigned i = 0; i < changes; i++) {
		uint8_t *place = any_place(copy, n);
		if (place < (uint8_t *)copy->range.start || place >= (uint8_t *)copy->range.end)
			place = copy->tables;
		saved_values[i] = place;
		saved[i] = *place;
		*place = next() % 2 ? favourites[next() % sizeof favourites] : (uint8_t)next();
	}
}

static uint64_t run(const struct copy *copy, uint64_t seed)
{
	uint8_t *places[8], saved[8];
	uint64_t found = 0;
	bool signal;
	state_of_random = seed * 0xD1342543DE82EF95u;
	const uint32_t n = (uint32_t)(next() % copy->functions);
	const unsigned changes = 1 + (unsigned)(next() % 8);
	const uintptr_t pc = pc_of(copy, n, next() % 64);
	change(copy, n, places, saved, changes);
	found += bp_frame_rules(&copy->range, pc, &scratch, &signal);
	found += bp_frame_rules(
		&copy->range, copy->range.start + next() % copy->table_bytes, &scratch, &signal);
	while (seed % 4 == 0 && next() % 8 != 0)
		found += bp_frame_rules(&copy->range, pc + next() % 4096, &scratch, &signal);
	for (unsigned i = changes; i-- > 0;)
		*places[i] = saved[i];
	return found;
}

static void tables_that_lie(void **state)
{
	const char *wish = getenv("BYTEPOLL_FUZZ_CASES");
	const uint64_t cases = wish == NULL ? 100000 : strtoull(wish, NULL, 10);
	/* libc, libcmocka, and the library under test; each flush with either end. */
	const void *const objects[] = { (const void *)printf, (const void *)_cmocka_run_group_tests,
		(const void *)bp_frame_rules };
	struct copy copies[6];
	uint64_t found = 0;
	(void)state;
	for (int i = 0; i < 6; i++) {
		make_copy(&copies[i], objects[i / 2], i % 2);
		copies_are_like_their_originals(&copies[i]);
	}
	for (uint64_t seed = 1; seed <= cases; seed++)
		found += run(&copies[seed % 6], seed);
	print_message("# %llu rows found in %llu changed tables\n", (unsigned long long)found,
		(unsigned long long)cases);
	for (int i = 0; i < 6; i++)
		copies_are_like_their_originals(&copies[i]);
	assert_true(found > cases / 10);
}

/* No module, and modules that claim to be smaller than their tables. */
static void ranges_that_lie(void **state)
{
	struct copy copy;
	bool signal;
	(void)state;
	assert_false(bp_module_range_find(0, &copy.range));
	assert_false(bp_module_range_find((uintptr_t)&copy, &copy.range));
	make_copy(&copy, (const void *)_cmocka_run_group_tests, true);
	const uintptr_t end = copy.range.end;
	for (int i = 0; i < 20000; i++) {
		copy.range.end = (uintptr_t)copy.tables + next() % 4096;
		(void)bp_frame_rules(&copy.range,
			pc_of(&copy, (uint32_t)(next() % copy.functions), next() % 64), &scratch,
			&signal);
	}
	copy.range.end = end;
	copy.range.frame_header = (const uint8_t *)end - 3;
	assert_false(bp_frame_rules(&copy.range, copy.range.start, &scratch, &signal));
	copy.range.frame_header = NULL;
	assert_false(bp_frame_rules(&copy.range, copy.range.start, &scratch, &signal));
}

/* A module with a hole, into which its tables point: a segment that cannot be read. */
static void holes(void **state)
{
	struct copy copy;
	bool signal;
	(void)state;
	make_copy(&copy, (const void *)_cmocka_run_group_tests, false);
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)copy.range.start;
	ElfW(Phdr) *segments = (ElfW(Phdr) *)(copy.range.start + header->e_phoff);
	ElfW(Phdr) *text = segments;
	while (text->p_type != PT_LOAD || (text->p_flags & PF_X) == 0)
		text++;
	text->p_flags = 0;
	const uintptr_t start = copy.range.start + text->p_vaddr;
	assert_int_equal(mprotect((void *)start, text->p_memsz, PROT_NONE), 0);
	for (uint32_t n = 0; n < copy.functions; n++) {
		const uintptr_t pc = pc_of(&copy, n, 0);
		/* not from there */
		assert_true(bp_frame_rules(&copy.range, pc, &scratch, &signal));
		const int32_t entry =
			(int32_t)(start + next() % text->p_memsz - (uintptr_t)copy.tables);
		memcpy(copy.tables + 12 + 8 * (size_t)n + 4, &entry, 4);
		assert_false(bp_frame_rules(&copy.range, pc, &scratch, &signal));
	}
	copy.range.frame_header = (const uint8_t *)start + 64;
	assert_false(bp_frame_rules(&copy.range, start, &scratch, &signal));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_that_lie),
		cmocka_unit_test(ranges_that_lie),
		cmocka_unit_test(holes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
