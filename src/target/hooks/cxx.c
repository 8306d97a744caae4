/* SPDX-License-Identifier: MIT */
/*
 * The C++ operators new and delete, in C: their mangled names are valid C names, so that no C++
 * runtime enters the target. libstdc++'s operators call malloc and free, which our hooks see; so
 * these pass through, uncounted, with a jump. Exceptions (std::bad_alloc) then never meet a frame
 * of ours. Behind them foreign.c may have put something that counts, where another allocator brings
 * its own.
 *
 * A library that brings libstdc++ may be loaded late and privately (dlopen, RTLD_LOCAL); the
 * look-up at start found nothing then, yet its calls reach us, since we come first in every scope.
 * There new is what a call of malloc reaches (aliases.h), and only when malloc fails is the library
 * asked, to run the new-handler and to throw; delete is free.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "hooks/aliases.h"
#include "hooks/binding/real_other.h"
#include "recorder/real.h"

/* The library's own operator; NULL if no C++ library is loaded. */
static bp_operator *of_library(const char *name)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++.so.1" };
	for (size_t i = 0; i < BP_COUNT(libraries); i++) {
		void *handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		void *found = handle == NULL ? NULL : dlsym(handle, name);
		if (found != NULL)
			return (bp_operator *)found;
	}
	return NULL;
}

/* malloc has failed: handlers and exceptions are the library's business. */
static uintptr_t fail(const char *name, uintptr_t first, uintptr_t second, uintptr_t third)
{
	bp_operator *library = of_library(name);
	if (library == NULL)
		abort();
	return library(first, second, third);
}

static void *aligned(uintptr_t size, uintptr_t alignment)
{
	return bp_first.aligned_alloc(alignment, size == 0 ? 1 : size);
}

#define BP_HOOK(name, text)                                                                    \
	static uintptr_t fallback##name(uintptr_t first, uintptr_t second, uintptr_t third)    \
	{                                                                                      \
		void *object = strstr(#name, "align_val") != NULL                              \
				       ? aligned(first, second)                                \
				       : bp_first.malloc(first == 0 ? 1 : first);              \
		return object != NULL ? (uintptr_t)object : fail(#name, first, second, third); \
	}
BP_HOOKS_NEW(BP_HOOK)
#undef BP_HOOK

static uintptr_t fallback_delete(uintptr_t first, uintptr_t second, uintptr_t third)
{
	(void)second, (void)third;
	bp_first.free((void *)first);
	return 0;
}

void bp_cxx_fall_back(void)
{
#define BP_HOOK(name, text) bp_real_other.name = fallback##name;
	BP_HOOKS_NEW(BP_HOOK)
#undef BP_HOOK
#define BP_HOOK(name, text) bp_real_other.name = fallback_delete;
	BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK
}

/* One instruction each: a jump through the table, whose entries are never NULL. */
#define BP_HOOK(name, text)                                                          \
	uintptr_t name(uintptr_t first, uintptr_t second, uintptr_t third);          \
	BP_EXPORT uintptr_t name(uintptr_t first, uintptr_t second, uintptr_t third) \
	{                                                                            \
		return bp_real_other.name(first, second, third);                     \
	}
BP_HOOKS_NEW(BP_HOOK)
BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK
