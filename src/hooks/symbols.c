/* SPDX-License-Identifier: MIT */
/*
 * dlsym: a program may ask libc itself for `free` (a foreign function interface that loads
 * "libc.so.6", an interposer's RTLD_NEXT) and hand it an object of ours. So where the answer would be
 * an allocation function of the program's own malloc, it is our hook. Every other name goes on with a
 * jump, because dlsym looks at its caller's address. So does every look-up behind the caller that a malloc
 * of another's making makes: it wants what is behind it, and must not be given itself.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "hooks/extended.h"
#include "hooks/libc_names.h"
#include "hooks/names.h"
#include "hooks/real_other.h"
#include "recorder/real.h"

static const struct {
	const char *name;
	void *hook;
} family[] = {
#define BP_HOOK(name, text) { #name, (void *)name },
	BP_HOOKS_MALLOC(BP_HOOK) BP_HOOKS_ALIASES(BP_HOOK)
#undef BP_HOOK
};

/* The hook of that name; NULL if it is not of the malloc family. */
static void *hook_of(const char *name)
{
	if (name == NULL || strchr("macrpvf_dstx", name[0]) == NULL)
		return NULL;
	for (size_t i = 0; i < BP_COUNT(family); i++)
		if (strcmp(name, family[i].name) == 0)
			return family[i].hook;
	const struct bp_extended *entry = bp_extended_find(name);
	return entry != NULL && *entry->real != NULL ? (void *)entry->hook : NULL;
}

static BP_COLD void *answer(void *handle, const char *name, void *hook)
{
	void *found = bp_real_others()->dlsym(handle, name);
	return found != NULL && bp_real_is_home(found) ? hook : found;
}

BP_EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
	void *hook = bp_real_is_sanitized() ? NULL : hook_of(name);
	if (bp_unlikely(hook != NULL) && (handle != RTLD_NEXT || bp_real_is_glibc()))
		return answer(handle, name, hook);
	return bp_real_others()->dlsym(handle, name);
}
