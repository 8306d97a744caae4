/* SPDX-License-Identifier: MIT */
/*
 * dlsym: a program may ask libc itself for `free` (a foreign function interface that loads
 * "libc.so.6", an interposer's RTLD_NEXT) and hand it an object of ours. So where the answer would
 * be the very function that one of our hooks is in the place of, it is our hook.
 *
 * Every other call goes on with a jump, because dlsym looks at its caller's address. So does every
 * call over glibc once its own symbols lead to our hooks (libc_symbols.c). And over another malloc
 * so does every look-up behind the caller: there the caller may be the library that our hooks call,
 * which wants what is behind it and must not be given itself.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "hooks/aliases.h"
#include "hooks/extended.h"
#include "hooks/binding/late.h"
#include "hooks/binding/libc_names.h"
#include "hooks/names.h"
#include "hooks/python.h"
#include "hooks/binding/real_other.h"
#include "recorder/real.h"

static const struct {
	const char *name;
	void *hook;
	const void *real; /* the place of the function pointer behind it; NULL: an alias */
} family[] = {
#define BP_HOOK(name, text) { #name, (void *)name, &bp_real.name },
	BP_HOOKS_MALLOC(BP_HOOK)
#undef BP_HOOK
#define BP_HOOK(name, text) { #name, (void *)name, NULL },
		BP_HOOKS_ALIASES(BP_HOOK)
#undef BP_HOOK
};

/* Could a name be one that has a hook? */
static bool is_ours(const char *name)
{
	if (name == NULL || strchr("macrpvf_dstx", name[0]) == NULL)
		return false;
	for (size_t i = 0; i < BP_COUNT(family); i++)
		if (strcmp(name, family[i].name) == 0)
			return true;
	return bp_extended_find(name) != NULL;
}

/* The hook that is in the place of that function; NULL if there is none. */
static void *hook_of(const char *name, const void *function)
{
	for (size_t i = 0; i < BP_COUNT(family); i++) {
		if (strcmp(name, family[i].name) != 0)
			continue;
		const bool replaced = family[i].real != NULL ? memcmp(&function, family[i].real,
								       sizeof function) == 0
							     : bp_aliases_replace(name, function);
		return replaced ? family[i].hook : NULL;
	}
	const struct bp_extended *entry = bp_extended_find(name);
	return entry != NULL && (const void *)*entry->real == function ? (void *)entry->hook : NULL;
}

static BP_COLD void *answer(void *handle, const char *name)
{
	void *found = bp_real_others()->dlsym(handle, name);
	void *hook = found != NULL && bp_real_is_home(found) ? hook_of(name, found) : NULL;
	return hook != NULL ? hook : found;
}

BP_EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
	if (bp_unlikely(bp_late_wants_look))
		bp_late_look();
	bp_python_look_at_loaded(handle, name);
	const enum bp_real_form form = bp_real_resolve();
	const bool asked = form == BP_REAL_GLIBC     ? !bp_real_is_redirected()
			   : form == BP_REAL_FOREIGN ? handle != RTLD_NEXT
						     : false;
	if (bp_unlikely(asked) && is_ours(name))
		return answer(handle, name);
	return bp_real_other.dlsym(handle, name);
}
