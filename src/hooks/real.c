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
#include <string.h>
#include <time.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "hooks/foreign.h"
#include "hooks/libc_symbols.h"
#include "hooks/real_other.h"
#include "recorder/census.h"
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

static const void *owner, *home; /* home: the object that the real malloc is of */
static enum bp_real_form form;
static bool form_known;

/* Does the allocator colour its memory (aarch64's tagging, GLIBC_TUNABLES=glibc.mem.tagging)? Then the
 * words before an object may not be read by way of its address. */
static bool is_memory_tagged(void)
{
	const long control = syscall(SYS_prctl, 56 /* PR_GET_TAGGED_ADDR_CTRL */, 0, 0, 0, 0);
	return control > 0 && (control & 6 /* PR_MTE_TCF_MASK */) != 0;
}

/* glibc has a free of its own for each object, and so may another allocator: only if malloc, free and
 * realloc are all glibc's do they understand one another. */
static bool all_of_glibc(void)
{
	const void *libc = object_of((const void *)gnu_get_libc_version);
	return libc != NULL && home == libc && object_of((const void *)bp_real.free) == libc &&
	       object_of((const void *)bp_real.realloc) == libc && !is_memory_tagged();
}

bool bp_real_is_glibc(void)
{
	return form_known && form == BP_REAL_GLIBC;
}

bool bp_real_is_home(const void *function)
{
	return (form == BP_REAL_GLIBC || form == BP_REAL_FOREIGN) && home != NULL &&
	       object_of(function) == home;
}

size_t bp_real_usable_size(void *object)
{
	static bool looked, known;
	if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
		known = bp_real_is_home((const void *)bp_real.malloc_usable_size);
		__atomic_store_n(&looked, true, __ATOMIC_RELEASE);
	}
	return known ? bp_real.malloc_usable_size(object) : 0;
}

uintptr_t bp_real_malloc_owner(void)
{
	return (uintptr_t)(owner != NULL ? owner : (const void *)bp_real.malloc);
}

/* The entries by which a sanitizer's runtime is known, linked in or loaded: weak, so that the loader
 * answers before anything of anybody's runs. */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

/* gcc keeps those of a runtime that is linked in to itself. Then it is known by what it stands before:
 * whoever has a malloc of its own has reasons, who has a strcmp and a clock_gettime with it watches. */
static bool stands_before_libc(const void *malloc_owner)
{
	const void *object = object_of(malloc_owner);
	return object != NULL && object_of((const void *)strcmp) == object &&
	       object_of((const void *)clock_gettime) == object;
}

bool bp_real_is_sanitized(void)
{
	return form == BP_REAL_SANITIZED || __asan_init != NULL || __hwasan_init != NULL ||
	       __lsan_init != NULL || __msan_init != NULL || __tsan_init != NULL;
}

static enum bp_real_form adapt(void)
{
	const bool ours = is_ours_in_front(&owner);
	const bool sanitized = bp_real_is_sanitized() || (!ours && stands_before_libc(owner));
	if (ours && !sanitized) {
		home = object_of((const void *)bp_real.malloc);
		if (all_of_glibc())
			return BP_REAL_GLIBC;
		/* A census counts in hooks of its own, which know glibc's malloc alone. */
		if (bp_census_flags() == 0 && bp_foreign_hooks())
			return BP_REAL_FOREIGN;
	}
	const bool bypassed = bp_foreign_bypass();
	return sanitized ? BP_REAL_SANITIZED : bypassed ? BP_REAL_NOT_OURS : BP_REAL_STUCK;
}

enum bp_real_form bp_real_resolve(void)
{
	static bool resolved;
	if (resolved)
		return form;
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
	form = adapt();
	form_known = true;
	bp_real_resolve_others();
	if (form == BP_REAL_GLIBC)
		(void)bp_libc_symbols_redirect();
	/* The text of a failure is the program's malloc's, and is freed by the free that the C library
	 * calls: where the program has a malloc of its own linked in, but no free, that is a crash. */
	if (form == BP_REAL_GLIBC || form == BP_REAL_FOREIGN)
		bp_real_forget_failure();
	return form;
}

void bp_real_adopt_entries(void)
{
	bp_foreign_entries();
	bp_real_forget_failure();
}
