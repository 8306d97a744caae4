/* SPDX-License-Identifier: MIT */
/*
 * Finding the real functions, once, at start: the first definition of each behind the recorder,
 * which is what the program would have got without us (symbol_table.h). The table begins as stubs
 * that look first, so that a hook called before the constructor works.
 *
 * Is the real malloc glibc's own? It is if malloc and its whole family lie in the object that has
 * gnu_get_libc_version (the name `__libc_malloc` proves nothing: other allocators define it too).
 * One function that another library puts before glibc's makes it a foreign malloc: such a library
 * sees all its calls then, and asks for the function behind it without meeting us.
 *
 * And a program (or a library before us) that defines malloc itself never calls ours: the first
 * definition among all objects tells.
 */
#include "recorder/real.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "hooks/aliases.h"
#include "hooks/foreign.h"
#include "hooks/binding/libc_symbols.h"
#include "hooks/binding/real_other.h"
#include "hooks/binding/symbol_table.h"
#include "recorder/verify.h"
#include "start/config.h"
#include "trace/format.h"
#include "unwind/frame_rules.h"

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

#define WANTED(name)                 \
	{                            \
#name, &bp_real.name \
	}

static const struct bp_wanted wanted[] = { WANTED(malloc), WANTED(free), WANTED(calloc),
	WANTED(realloc), WANTED(memalign), WANTED(aligned_alloc), WANTED(posix_memalign),
	WANTED(valloc), WANTED(pvalloc), WANTED(malloc_usable_size) };

/* The loader's name for the object that covers `address`; NULL if there is none. Not by dladdr,
 * which searches the whole symbol table. */
static const void *object_of(const void *address)
{
	struct bp_module_range range;
	return bp_module_range_find((uintptr_t)address, &range) ? range.link_map : NULL;
}

/* Weak, because another C library has no such function. */
extern __typeof(gnu_get_libc_version) gnu_get_libc_version __attribute__((weak));

bool bp_real_has_glibc(void)
{
	return gnu_get_libc_version != NULL;
}

/* glibc's object; NULL if the program's C library is another one (musl). */
static const void *libc_object(void)
{
	return bp_real_has_glibc() ? object_of((const void *)gnu_get_libc_version) : NULL;
}

static const void *owner, *home; /* home: the object that the real malloc is of */
static enum bp_real_form form;
static bool redirected;

/* Does the allocator colour its memory (aarch64's tagging, GLIBC_TUNABLES=glibc.mem.tagging)? Then
 * the words before an object may not be read by way of its address. */
static bool is_memory_tagged(void)
{
	const long control = syscall(SYS_prctl, 56 /* PR_GET_TAGGED_ADDR_CTRL */, 0, 0, 0, 0);
	return control > 0 && (control & 6 /* PR_MTE_TCF_MASK */) != 0;
}

/* Are all functions of the family glibc's? Only then do they understand one another, and call no
 * other library. An entry that no object defines is still a stub of ours. */
static bool is_family_of(const void *libc)
{
	const void *ours = object_of((const void *)is_family_of);
	for (size_t i = 0; i < BP_COUNT(wanted); i++) {
		const void *function;
		__builtin_memcpy(&function, wanted[i].ret_function, sizeof function);
		const void *object = object_of(function);
		if (object != libc && object != ours)
			return false;
	}
	return bp_aliases_are_of(libc);
}

static bool is_glibc(void)
{
	const void *libc = libc_object();
	return libc != NULL && home == libc && is_family_of(libc) && !is_memory_tagged();
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

/* The entries by which a sanitizer's runtime is known, linked in or loaded: weak, so that the
 * loader answers before anything of anybody's runs. */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

/* gcc keeps those of a runtime that is linked in to itself. Then it is known by what it stands
 * before: whoever has a malloc of its own has reasons, who has a strcmp and a clock_gettime with it
 * watches. */
static bool stands_before_libc(const void *malloc_owner)
{
	const void *object = object_of(malloc_owner);
	return object != NULL && object_of((const void *)strcmp) == object &&
	       object_of((const void *)clock_gettime) == object;
}

/* Does the process have a sanitizer? Its runtime replaces most functions of the C library, and
 * starts itself at the first call of one of them, even if the recorder makes that call; and it
 * finds the real ones by dlsym. */
static bool is_sanitized(void)
{
	return form == BP_REAL_SANITIZED || __asan_init != NULL || __hwasan_init != NULL ||
	       __lsan_init != NULL || __msan_init != NULL || __tsan_init != NULL;
}

/* Is the malloc a part of the program's own file? Then its calls are bound within the file, and a
 * recorder that was opened late cannot come between. */
static bool is_of_program(const void *object)
{
	return object == NULL || ((const struct link_map *)object)->l_prev == NULL;
}

/* Were samples asked to stay where glibc put them? */
static bool is_in_place(void)
{
	const char *text = bp_config_find(NULL, BP_ENV_IN_PLACE);
	return text != NULL && text[0] == '1' && text[1] == '\0';
}

static enum bp_real_form adapt(void)
{
	const bool late = bp_symbol_table_is_late();
	const bool ours = bp_first.malloc == malloc;
	owner = ours ? NULL : (const void *)bp_first.malloc;
	if (!bp_real_has_glibc()) {
		(void)bp_foreign_bypass();
		return BP_REAL_OTHER_LIBC;
	}
	const bool sanitized = is_sanitized() || (!ours && stands_before_libc(owner));
	if (ours && !sanitized) {
		home = object_of((const void *)bp_real.malloc);
		if (late && is_of_program(home))
			return BP_REAL_NOT_OURS;
		/* Opened late, some frees may not be seen: no object of ours may reach them. And
		 * where samples are to stay in place none is of ours. */
		if (!late && !is_in_place() && is_glibc())
			return BP_REAL_GLIBC;
		/* Exact sums are counted by hooks of their own, which know glibc's malloc alone. */
		if (bp_verify_flags() == 0 && bp_foreign_hooks())
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
	resolved = true; /* what follows may come here again */
	bp_real_resolve_others();
	(void)bp_symbol_table_find_behind(wanted, BP_COUNT(wanted));
	bp_aliases_resolve();
	form = adapt();
	bp_aliases_adapt(form, libc_object());
	redirected = form == BP_REAL_GLIBC && bp_libc_symbols_redirect();
	return form;
}

bool bp_real_is_late(void)
{
	return bp_symbol_table_is_late();
}

bool bp_real_is_redirected(void)
{
	return redirected;
}

void bp_real_adopt_operators(void)
{
	bp_foreign_operators();
}

void bp_real_adopt_extended(void)
{
	bp_foreign_extended();
}

void bp_real_adopt_entries(void)
{
	bp_foreign_operators();
	bp_foreign_extended();
}
