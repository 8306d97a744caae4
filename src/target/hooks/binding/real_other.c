/* SPDX-License-Identifier: MIT */
/*
 * See real_other.h. Looked up at start, all at once (real.c says why). The operators are called
 * without a look whether there is one: until the start each entry is a stub that has the table
 * filled first.
 */
#include "hooks/binding/real_other.h"

#include <stddef.h>

#include "base/attributes.h"
#include "hooks/binding/symbol_table.h"
#include "recorder/real.h"

#define BP_HOOK(name, text)                                                              \
	static uintptr_t first##name(uintptr_t first, uintptr_t second, uintptr_t third) \
	{                                                                                \
		(void)bp_real_resolve();                                                 \
		return bp_real_other.name(first, second, third);                         \
	}
BP_HOOKS_NEW(BP_HOOK)
BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK

__attribute__((visibility("hidden"))) struct bp_real_other bp_real_other = {
#define BP_HOOK(name, text) .name = first##name,
	BP_HOOKS_NEW(BP_HOOK) BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK
};

void *bp_real_next(const char *name)
{
	void *found = NULL;
	(void)bp_symbol_table_find_behind(&(struct bp_wanted){ name, &found }, 1);
	return found;
}

#define WANTED(name) { #name, &bp_real_other.name },

static const struct bp_wanted wanted[] = { WANTED(_exit) WANTED(_Exit) WANTED(quick_exit) WANTED(
	abort) WANTED(fork) WANTED(dlclose) WANTED(prctl) WANTED(mallopt) WANTED(mlockall)
		WANTED(setrlimit) WANTED(setrlimit64) WANTED(prlimit) WANTED(prlimit64)
			WANTED(execve) WANTED(execv) WANTED(execvp) WANTED(execvpe) WANTED(fexecve)
				WANTED(posix_spawn) WANTED(posix_spawnp)
#define BP_HOOK(name, text) WANTED(name)
					BP_HOOKS_MAPPING(BP_HOOK) BP_HOOKS_NEW(BP_HOOK)
						BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK
};

void bp_real_resolve_others(void)
{
	bp_cxx_fall_back();		     /* first: no stub is left that would come here again */
	void *found = bp_real_next("dlsym"); /* before the others, which may need it */
	__builtin_memcpy(&bp_real_other.dlsym, &found, sizeof found);
	(void)bp_symbol_table_find_behind(wanted, BP_COUNT(wanted));
}

const struct bp_real_other *bp_real_others(void)
{
	(void)bp_real_resolve();
	return &bp_real_other;
}
