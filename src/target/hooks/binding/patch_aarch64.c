/* SPDX-License-Identifier: MIT */
/*
 * See patch.h. aarch64 machine code (the ARM Architecture Reference Manual, part C6), one word
 * each:
 *
 *   d503245f            bti    c                kept where the compiler put one
 *   90000010 + page     adrp   x16, target      pages of 4 KiB, whatever the kernel's are
 *   f9400210 + low      ldr    x16, [x16, low]
 *   d61f0200            br     x16              x16: may enter a function that begins with bti c
 *   14000000 + words    b      target
 *   530c7c10            lsr    w16, w0, #12     bits 12 to 31 of the object's address: its page
 *   d2a00011 + high     movz   x17, high << 16  where the counts lie: whole 64 KiB, below 2 GiB
 *   38706a30            ldrb   w16, [x17, x16]
 *   35000010 + words    cbnz   w16, target
 *
 * The linker itself may change x16 and x17 on the way to a function, so nobody keeps anything
 * there.
 */
#include <elf.h>

#include "hooks/binding/patch.h"
#include "hooks/binding/patch_code.h"
#include "recognition/filter.h"

_Static_assert(BP_FILTER_PAGE_SHIFT == 12, "lsr w16, w0, #12");
_Static_assert(BP_FILTER_BYTES % 65536 == 0, "movz");

static struct bp_code begin(void *function)
{
	static const uint32_t bti_c = 0xd503245f;
	struct bp_code code = { .function = function, .good = true };
	if (__builtin_memcmp(function, &bti_c, sizeof bti_c) == 0)
		code.function += sizeof bti_c;
	return code;
}

static void put(struct bp_code *code, uint32_t word)
{
	__builtin_memcpy(code->bytes + code->count, &word, sizeof word);
	code->count += (uint32_t)sizeof word;
}

/* A distance, counted from the instruction itself, as a field of `bits` bits: in words. */
static uint32_t distance(struct bp_code *code, intptr_t bytes, unsigned bits)
{
	const intptr_t words = bytes / 4, limit = (intptr_t)1 << (bits - 1);
	code->good &= bytes % 4 == 0 && words >= -limit && words < limit;
	return (uint32_t)words & (((uint32_t)1 << bits) - 1);
}

static intptr_t bytes_to(const struct bp_code *code, const void *target)
{
	return (intptr_t)target - ((intptr_t)code->function + code->count);
}

/* The address of the pointer by its page and the rest, and the jump. */
static void put_jump_through(struct bp_code *code, const void *target)
{
	const intptr_t pages =
		((intptr_t)target >> 12) - (((intptr_t)code->function + code->count) >> 12);
	const uint32_t low = (uint32_t)((uintptr_t)target & 4095);
	code->good &= pages >= -(1 << 20) && pages < 1 << 20 && low % 8 == 0;
	put(code, 0x90000010 | ((uint32_t)pages & 3) << 29 | ((uint32_t)pages >> 2 & 0x7ffff) << 5);
	put(code, 0xf9400210 | low / 8 << 10);
	put(code, 0xd61f0200);
}

bool bp_patch_jump_through(void *function, const void *target)
{
	struct bp_code code = begin(function);
	put_jump_through(&code, target);
	return bp_code_write(&code);
}

bool bp_patch_jump(void *function, const void *target)
{
	struct bp_code code = begin(function);
	put(&code, 0x14000000 | distance(&code, bytes_to(&code, target), 26));
	return bp_code_write(&code);
}

bool bp_patch_filter(void *function, const uint8_t *counts, const void *known, const void *target)
{
	struct bp_code code = begin(function);
	code.good = (uintptr_t)counts % 65536 == 0 && (uintptr_t)counts >> 32 == 0;
	put(&code, 0x530c7c10);
	put(&code, 0xd2a00011 | (uint32_t)((uintptr_t)counts >> 16 & 0xffff) << 5);
	put(&code, 0x38706a30);
	put(&code, 0x35000010 | distance(&code, bytes_to(&code, known), 19) << 5);
	put_jump_through(&code, target);
	return bp_code_write(&code);
}

enum bp_place bp_patch_place(uint32_t relocation)
{
	switch (relocation) {
	case R_AARCH64_JUMP_SLOT:
		return BP_PLACE_JUMP_SLOT;
	case R_AARCH64_GLOB_DAT:
	case R_AARCH64_ABS64:
		return BP_PLACE_ADDRESS;
	default:
		return BP_PLACE_OTHER;
	}
}
