/* SPDX-License-Identifier: MIT */
/*
 * Other names under which a program reaches the same functions. glibc's own `__libc_` names are
 * among them, so that no sampled object reaches its free unseen.
 *
 * Such a name is not always the same function. A library that puts its own calloc before glibc's
 * may go on to `__libc_calloc` (as libc_malloc_debug.so does), and a program's own malloc to
 * `__libc_malloc`: these mean glibc's heap, and to send them to the hook of calloc would send them
 * in circles. So a `__libc_` name is a hook only where the function behind it is of the same object
 * as the one behind the hook; elsewhere it passes the call on.
 *
 * reallocarray calls realloc by its public name, in glibc as here: if the program has a realloc of
 * its own, that is the one. A library that puts a reallocarray before glibc's, and no realloc, is
 * called.
 */
#include "hooks/aliases.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "hooks/binding/libc_names.h"
#include "hooks/names.h"
#include "hooks/binding/symbol_table.h"
#include "unwind/frame_rules.h"

__attribute__((visibility("hidden"))) struct bp_first bp_first = {
	.malloc = malloc, .free = free, .realloc = realloc, .aligned_alloc = aligned_alloc
};

struct functions {
#define BP_HOOK(name, text) __typeof__(&name) name;
	BP_HOOKS_ALIASES(BP_HOOK)
#undef BP_HOOK
};

/* The functions behind the aliases (NULL: there is none); those to which calls are passed on (NULL:
 * the alias is a hook). */
static struct functions next, pass;

/* An alias, and the hook that it stands for. */
/* clang-format off */
#define ALIAS(name, hook) { #name, (void *)&next.name, (void *)&pass.name, &bp_real.hook }
/* clang-format on */

static const struct {
	const char *name;
	void *next, *pass; /* places of function pointers, as that of the real function: */
	const void *real;
} aliases[] = { ALIAS(reallocarray, realloc), ALIAS(cfree, free), ALIAS(free_sized, free),
	ALIAS(free_aligned_sized, free), ALIAS(__libc_malloc, malloc), ALIAS(__libc_free, free),
	ALIAS(__libc_calloc, calloc), ALIAS(__libc_realloc, realloc),
	ALIAS(__libc_memalign, memalign), ALIAS(__libc_valloc, valloc),
	ALIAS(__libc_pvalloc, pvalloc) };

static void *function_at(const void *place)
{
	void *function;
	__builtin_memcpy(&function, place, sizeof function);
	return function;
}

static const struct link_map *object_of(const void *function)
{
	struct bp_module_range range;
	return bp_module_range_find((uintptr_t)function, &range) ? range.link_map : NULL;
}

void bp_aliases_resolve(void)
{
	static const struct bp_wanted first[] = { { "malloc", &bp_first.malloc },
		{ "free", &bp_first.free }, { "realloc", &bp_first.realloc },
		{ "aligned_alloc", &bp_first.aligned_alloc } };
	struct bp_wanted behind[BP_COUNT(aliases)];
	for (size_t i = 0; i < BP_COUNT(aliases); i++)
		behind[i] = (struct bp_wanted){ aliases[i].name, aliases[i].next };
	if (!bp_symbol_table_is_late()) /* then calls reach the hooks where late.c binds them */
		(void)bp_symbol_table_find_first(first, BP_COUNT(first));
	(void)bp_symbol_table_find_behind(behind, BP_COUNT(behind));
}

bool bp_aliases_are_of(const void *object)
{
	for (size_t i = 0; i < BP_COUNT(aliases); i++) {
		const void *function = function_at(aliases[i].next);
		/* A library may have a reallocarray for systems without one (libbsd), which calls
		 * realloc. */
		if (aliases[i].pass == (void *)&pass.reallocarray)
			continue;
		if (function != NULL && object_of(function) != object)
			return false;
	}
	return true;
}

/* Does the reallocarray of that object do what ours does: call realloc by its public name, or
 * resize an object as the realloc of the same allocator would? Else it is a library's that has put
 * it before the real one. */
static bool calls_realloc(const struct link_map *object, const void *libc)
{
	return object == libc || bp_symbol_table_defines(object, "realloc");
}

void bp_aliases_adapt(enum bp_real_form form, const void *libc)
{
	const bool hooked = form == BP_REAL_GLIBC || form == BP_REAL_FOREIGN;
	for (size_t i = 0; i < BP_COUNT(aliases); i++) {
		void *function = function_at(aliases[i].next);
		const struct link_map *object = object_of(function);
		const bool same = object == object_of(function_at(aliases[i].real)) ||
				  (aliases[i].pass == (void *)&pass.reallocarray &&
					  calls_realloc(object, libc));
		if (function != NULL && !(hooked && same))
			__builtin_memcpy(aliases[i].pass, &function, sizeof function);
	}
}

bool bp_aliases_replace(const char *name, const void *found)
{
	for (size_t i = 0; i < BP_COUNT(aliases); i++)
		if (__builtin_strcmp(aliases[i].name, name) == 0)
			return function_at(aliases[i].next) == found &&
			       function_at(aliases[i].pass) == NULL;
	return false;
}

bool bp_aliases_pass_on(const char *name)
{
	for (size_t i = 0; i < BP_COUNT(aliases); i++)
		if (__builtin_strcmp(aliases[i].name, name) == 0)
			return function_at(aliases[i].pass) != NULL;
	return false;
}

/* The table, filled before the first call. */
static const struct functions *passes(void)
{
	(void)bp_real_resolve();
	return &pass;
}

void *bp_realloc_to_nothing(void *object);

/* realloc(object, 0): glibc frees and returns NULL, but makes a new object of none. */
void *bp_realloc_to_nothing(void *object)
{
	if (object == NULL)
		return malloc(0);
	free(object);
	return NULL;
}

BP_EXPORT void *reallocarray(void *object, size_t count, size_t size)
{
	size_t bytes;
	if (passes()->reallocarray != NULL)
		return pass.reallocarray(object, count, size);
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return bp_first.realloc(object, bytes);
}

BP_EXPORT void cfree(void *object)
{
	if (passes()->cfree != NULL)
		pass.cfree(object);
	else
		free(object);
}

BP_EXPORT void free_sized(void *object, size_t size)
{
	if (passes()->free_sized != NULL)
		pass.free_sized(object, size);
	else
		bp_first.free(object);
}

BP_EXPORT void free_aligned_sized(void *object, size_t alignment, size_t size)
{
	if (passes()->free_aligned_sized != NULL)
		pass.free_aligned_sized(object, alignment, size);
	else
		bp_first.free(object);
}

BP_EXPORT void *__libc_malloc(size_t size)
{
	return passes()->__libc_malloc != NULL ? pass.__libc_malloc(size) : malloc(size);
}

BP_EXPORT void __libc_free(void *object)
{
	if (passes()->__libc_free != NULL)
		pass.__libc_free(object);
	else
		free(object);
}

BP_EXPORT void *__libc_calloc(size_t count, size_t size)
{
	return passes()->__libc_calloc != NULL ? pass.__libc_calloc(count, size)
					       : calloc(count, size);
}

BP_EXPORT void *__libc_realloc(void *object, size_t size)
{
	return passes()->__libc_realloc != NULL ? pass.__libc_realloc(object, size)
						: realloc(object, size);
}

BP_EXPORT void *__libc_memalign(size_t alignment, size_t size)
{
	return passes()->__libc_memalign != NULL ? pass.__libc_memalign(alignment, size)
						 : memalign(alignment, size);
}

BP_EXPORT void *__libc_valloc(size_t size)
{
	return passes()->__libc_valloc != NULL ? pass.__libc_valloc(size) : valloc(size);
}

BP_EXPORT void *__libc_pvalloc(size_t size)
{
	return passes()->__libc_pvalloc != NULL ? pass.__libc_pvalloc(size) : pvalloc(size);
}
