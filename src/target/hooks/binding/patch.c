/* SPDX-License-Identifier: MIT */
/*
 * See patch.h; what is written is made by patch_x86_64.c or patch_aarch64.c.
 *
 * Services are often forbidden to make memory both writable and executable (systemd's
 * MemoryDenyWriteExecute, PR_SET_MDWE). A new mapping of a file is still allowed, as it is to
 * dlopen.
 */
#include "hooks/binding/patch.h"

#include "base/system_call.h"
#include "hooks/binding/patch_code.h"

/* Where nothing may be writable and executable: a changed copy of the pages, as a file, takes their
 * place. */
static bool map_code(const struct bp_code *code, uintptr_t page, size_t bytes)
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

bool bp_code_write(const struct bp_code *code)
{
	const uintptr_t page = bp_system_page_of((uintptr_t)code->function);
	const size_t bytes = bp_system_whole_pages((uintptr_t)code->function + code->count - page);
	if (!code->good)
		return false;
	if (syscall(SYS_mprotect, page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return map_code(code, page, bytes);
	for (size_t i = 0; i < code->count; i++) /* not by memcpy: see real.c */
		((volatile unsigned char *)code->function)[i] = code->bytes[i];
	/* Nothing on x86-64; on aarch64 the instruction cache must be made to read the new code. */
	__builtin___clear_cache((char *)code->function, (char *)code->function + code->count);
	(void)syscall(SYS_mprotect, page, bytes, PROT_READ | PROT_EXEC);
	return true;
}
