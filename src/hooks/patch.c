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
 *
 * Services are often forbidden to make memory both writable and executable (systemd's
 * MemoryDenyWriteExecute, PR_SET_MDWE). A new mapping of a file is still allowed, as it is to dlopen.
 */
#include "hooks/patch.h"

#include "base/system_call.h"
#include "recorder/filter.h"

#define CODE_MAX 28u

struct code {
	uint8_t *function;
	uint8_t bytes[CODE_MAX];
	uint32_t count;
	bool good;
};

static struct code begin(void *function)
{
	static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct code code = { .function = function, .good = true };
	if (__builtin_memcmp(function, endbr64, sizeof endbr64) == 0)
		code.function += sizeof endbr64;
	return code;
}

static void put(struct code *code, uint32_t count, const uint8_t *bytes)
{
	__builtin_memcpy(code->bytes + code->count, bytes, count);
	code->count += count;
}

static void put_number(struct code *code, intptr_t number)
{
	const int32_t number32 = (int32_t)number;
	code->good &= number == number32;
	put(code, sizeof number32, (const uint8_t *)&number32);
}

/* The distance to `target`, which ends its instruction. */
static void put_distance(struct code *code, const void *target)
{
	put_number(code, (intptr_t)target - ((intptr_t)code->function + code->count + 4));
}

/* Where nothing may be writable and executable: a changed copy of the pages, as a file, takes their
 * place. */
static bool map_code(const struct code *code, uintptr_t page, size_t bytes)
{
	const int file = (int)syscall(SYS_memfd_create, "bytepoll-recorder", 1u /* MFD_CLOEXEC */);
	if (file < 0)
		return false;
	const bool good = syscall(SYS_write, file, page, bytes) == (long)bytes &&
			  syscall(SYS_pwrite64, file, code->bytes, (size_t)code->count,
				  (uintptr_t)code->function - page) == (long)code->count &&
			  syscall(SYS_mmap, page, bytes, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_FIXED, file, 0ul) == (long)page;
	bp_system_close(file);
	return good;
}

static bool write_code(const struct code *code)
{
	const uintptr_t page = (uintptr_t)code->function & ~(uintptr_t)4095;
	const uintptr_t end = ((uintptr_t)code->function + code->count + 4095) & ~(uintptr_t)4095;
	if (!code->good)
		return false;
	if (syscall(SYS_mprotect, page, end - page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return map_code(code, page, end - page);
	__builtin_memcpy(code->function, code->bytes, code->count);
	(void)syscall(SYS_mprotect, page, end - page, PROT_READ | PROT_EXEC);
	return true;
}

bool bp_patch_jump_through(void *function, const void *target)
{
	struct code code = begin(function);
	put(&code, 2, (const uint8_t[]){ 0xff, 0x25 });
	put_distance(&code, target);
	return write_code(&code);
}

bool bp_patch_jump(void *function, const void *target)
{
	struct code code = begin(function);
	put(&code, 1, (const uint8_t[]){ 0xe9 });
	put_distance(&code, target);
	return write_code(&code);
}

bool bp_patch_filter(void *function, const uint8_t *counts, const void *known, const void *target)
{
	struct code code = begin(function);
	put(&code, 2, (const uint8_t[]){ 0x89, 0xf8 });
	put(&code, 3, (const uint8_t[]){ 0xc1, 0xe8, BP_FILTER_PAGE_SHIFT });
	put(&code, 2, (const uint8_t[]){ 0x80, 0xb8 });
	put_number(&code, (intptr_t)counts);
	put(&code, 3, (const uint8_t[]){ 0x00, 0x0f, 0x85 });
	put_distance(&code, known);
	put(&code, 2, (const uint8_t[]){ 0xff, 0x25 });
	put_distance(&code, target);
	return write_code(&code);
}
