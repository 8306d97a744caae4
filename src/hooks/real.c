/* SPDX-License-Identifier: MIT */
/*
 * Finding the real functions, once, at start: with dlsym(RTLD_NEXT), which is what the program
 * would have got without us. The table begins as stubs that look first, so that a hook called before
 * the constructor works. All look-ups are done at start: later the loader's lock might be held by a
 * thread that waits for us.
 *
 * Is the real malloc glibc's own? It is if malloc, free and realloc lie in the object that has
 * gnu_get_libc_version (the name `__libc_malloc` proves nothing: other allocators define it too).
 * And a program (or a library before us) that defines malloc itself never calls ours:
 * the default look-up tells (`malloc` in this file is ours, bound by the linker), once the canonical PLT entries of non-PIE executables are set aside.
 */
#include "recorder/real.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "hooks/real_other.h"
#include "recorder/frame_rules.h"

static void *first_malloc(size_t size)
{
	(void)bp_real_resolve();
	return bp_real.malloc(size);
}

static void first_free(void *object)
{
	(void)bp_real_resolve();
	bp_real.free(object);
}

static void *first_calloc(size_t count, size_t size)
{
	(void)bp_real_resolve();
	return bp_real.calloc(count, size);
}

static void *first_realloc(void *object, size_t size)
{
	(void)bp_real_resolve();
	return bp_real.realloc(object, size);
}

static void *first_memalign(size_t alignment, size_t size)
{
	(void)bp_real_resolve();
	return bp_real.memalign(alignment, size);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	(void)bp_real_resolve();
	return bp_real.aligned_alloc(alignment, size);
}

static int first_posix_memalign(void **ret_object, size_t alignment, size_t size)
{
	(void)bp_real_resolve();
	return bp_real.posix_memalign(ret_object, alignment, size);
}

static void *first_valloc(size_t size)
{
	(void)bp_real_resolve();
	return bp_real.valloc(size);
}

static void *first_pvalloc(size_t size)
{
	(void)bp_real_resolve();
	return bp_real.pvalloc(size);
}

static size_t first_malloc_usable_size(void *object)
{
	(void)bp_real_resolve();
	return bp_real.malloc_usable_size(object);
}

__attribute__((visibility("hidden"))) struct bp_real bp_real = {
	.malloc = first_malloc,
	.free = first_free,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.memalign = first_memalign,
	.aligned_alloc = first_aligned_alloc,
	.posix_memalign = first_posix_memalign,
	.valloc = first_valloc,
	.pvalloc = first_pvalloc,
	.malloc_usable_size = first_malloc_usable_size,
};

/* Stores the function behind us under `name`, if there is one. */
static void look_up(const char *name, void *ret_function)
{
	void *found = bp_real_next(name);
	if (found != NULL)
		__builtin_memcpy(ret_function, &found, sizeof found);
}

/* Does the program call our malloc at all? */
static bool is_ours_in_front(const void **ret_owner)
{
	const void *first = bp_real_other.dlsym(RTLD_DEFAULT, "malloc");
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;
	if (first == NULL || first == (const void *)malloc)
		return true;
	if (dladdr1(first, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL &&
		symbol->st_shndx == SHN_UNDEF)
		return true; /* an executable's PLT entry that leads to ours */
	*ret_owner = first;
	return false;
}

/* The loader's name for the object that covers `address`; NULL if there is none. Not by dladdr, which
 * searches the whole symbol table. */
static const void *object_of(const void *address)
{
	struct bp_module_range range;
	return bp_module_range_find((uintptr_t)address, &range) ? range.link_map : NULL;
}

static const void *owner, *libc;
static bool glibc;

static bool is_glibc(void)
{
	libc = object_of((const void *)gnu_get_libc_version);
	return libc != NULL && object_of((const void *)bp_real.malloc) == libc &&
	       object_of((const void *)bp_real.free) == libc &&
	       object_of((const void *)bp_real.realloc) == libc;
}

bool bp_real_is_glibc(const void *function)
{
	return glibc && object_of(function) == libc;
}

uintptr_t bp_real_malloc_owner(void)
{
	return (uintptr_t)(owner != NULL ? owner : (const void *)bp_real.malloc);
}

bool bp_real_resolve(void)
{
	static bool resolved;
	if (resolved)
		return glibc;
	resolved = true; /* what follows may allocate, and come here again */
	look_up("malloc", &bp_real.malloc);
	look_up("free", &bp_real.free);
	look_up("calloc", &bp_real.calloc);
	look_up("realloc", &bp_real.realloc);
	look_up("memalign", &bp_real.memalign);
	look_up("aligned_alloc", &bp_real.aligned_alloc);
	look_up("posix_memalign", &bp_real.posix_memalign);
	look_up("valloc", &bp_real.valloc);
	look_up("pvalloc", &bp_real.pvalloc);
	look_up("malloc_usable_size", &bp_real.malloc_usable_size);
	glibc = is_ours_in_front(&owner) && is_glibc();
	bp_real_resolve_others();
	return glibc;
}

/* Writes `jmp *target(%rip)` over the first bytes of a function of ours. */
static bool redirect(void *function, const void *target)
{
	const uintptr_t page = (uintptr_t)function & ~(uintptr_t)4095;
	const intptr_t distance = (intptr_t)target - ((intptr_t)function + 6);
	uint8_t code[6] = { 0xff, 0x25 };
	int32_t distance32 = (int32_t)distance;
	if (distance != distance32)
		return false;
	__builtin_memcpy(code + 2, &distance32, 4);
	if (syscall(SYS_mprotect, page, 8192ul, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return false;
	__builtin_memcpy(function, code, sizeof code);
	(void)syscall(SYS_mprotect, page, 8192ul, PROT_READ | PROT_EXEC);
	return true;
}

bool bp_real_bypass(void)
{
	return redirect((void *)free, &bp_real.free) &&
	       redirect((void *)realloc, &bp_real.realloc) &&
	       redirect((void *)malloc_usable_size, &bp_real.malloc_usable_size);
}
