/* SPDX-License-Identifier: MIT */
/*
 * See patch.h. x86-64 machine code:
 *
 *   f3 0f 1e fa             endbr64: kept where the compiler put one
 *   ff 25 d32               jmp    *d32(%rip)
 *   e9 d32                  jmp    d32
 *   89 f8                   mov    %edi, %eax          bits 0 to 31 of the object's address
 *   c1 e8 i8                shr    $i8, %eax           its page
 *   80 b8 d32 00            cmpb   $0, d32(%rax)       d32: where the counts lie
 *   0f 85 d32               jne    d32
 *
 * Distances count from the end of their instruction.
 */
#include <elf.h>

#include "hooks/binding/patch.h"
#include "hooks/binding/patch_code.h"
#include "recognition/filter.h"

static struct bp_code begin(void *function)
{
	static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct bp_code code = { .function = function, .good = true };
	if (__builtin_memcmp(function, endbr64, sizeof endbr64) == 0)
		code.function += sizeof endbr64;
	return code;
}

static void put(struct bp_code *code, uint32_t count, const uint8_t *bytes)
{
	__builtin_memcpy(code->bytes + code->count, bytes, count);
	code->count += count;
}

static void put_number(struct bp_code *code, intptr_t number)
{
	const int32_t number32 = (int32_t)number;
	code->good &= number == number32;
	put(code, sizeof number32, (const uint8_t *)&number32);
}

/* The distance to `target`, which ends its instruction. */
static void put_distance(struct bp_code *code, const void *target)
{
	put_number(code, (intptr_t)target - ((intptr_t)code->function + code->count + 4));
}

bool bp_patch_jump_through(void *function, const void *target)
{
	struct bp_code code = begin(function);
	put(&code, 2, (const uint8_t[]){ 0xff, 0x25 });
	put_distance(&code, target);
	return bp_code_write(&code);
}

bool bp_patch_jump(void *function, const void *target)
{
	struct bp_code code = begin(function);
	put(&code, 1, (const uint8_t[]){ 0xe9 });
	put_distance(&code, target);
	return bp_code_write(&code);
}

bool bp_patch_filter(void *function, const uint8_t *counts, const void *known, const void *target)
{
	struct bp_code code = begin(function);
	put(&code, 2, (const uint8_t[]){ 0x89, 0xf8 });
	put(&code, 3, (const uint8_t[]){ 0xc1, 0xe8, BP_FILTER_PAGE_SHIFT });
	put(&code, 2, (const uint8_t[]){ 0x80, 0xb8 });
	put_number(&code, (intptr_t)counts);
	put(&code, 3, (const uint8_t[]){ 0x00, 0x0f, 0x85 });
	put_distance(&code, known);
	put(&code, 2, (const uint8_t[]){ 0xff, 0x25 });
	put_distance(&code, target);
	return bp_code_write(&code);
}

enum bp_place bp_patch_place(uint32_t relocation)
{
	switch (relocation) {
	case R_X86_64_JUMP_SLOT:
		return BP_PLACE_JUMP_SLOT;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_64:
		return BP_PLACE_ADDRESS;
	default:
		return BP_PLACE_OTHER;
	}
}
