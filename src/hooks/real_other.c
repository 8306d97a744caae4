/* SPDX-License-Identifier: MIT */
/* See real_other.h. Looked up at start, all at once (real.c says why). */
#include "hooks/real_other.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "recorder/real.h"

__attribute__((visibility("hidden"))) struct bp_real_other bp_real_other = {
	/* Until the start, and where there is no C++ library: see cxx.c. */
	0
};

/* Our own dlsym is in the way of the plain name: the real one is asked for by its version. */
static void find_dlsym(void)
{
	void *found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (found == NULL)
		found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	__builtin_memcpy(&bp_real_other.dlsym, &found, sizeof found);
}

void *bp_real_next(const char *name)
{
	if (bp_real_other.dlsym == NULL)
		find_dlsym();
	return bp_real_other.dlsym == NULL ? NULL : bp_real_other.dlsym(RTLD_NEXT, name);
}

/* Stores the function behind us under `name`, if there is one. */
static void look_up(const char *name, void *ret_function)
{
	void *found = bp_real_next(name);
	if (found != NULL)
		__builtin_memcpy(ret_function, &found, sizeof found);
}

void bp_real_resolve_others(void)
{
	struct bp_real_other *real = &bp_real_other;
#define BP_HOOK(name, text) look_up(#name, &real->name);
	BP_HOOK(_exit, "")
	BP_HOOK(_Exit, "") BP_HOOK(quick_exit, "") BP_HOOK(abort, "") BP_HOOK(fork, "") BP_HOOK(
		dlclose, "") BP_HOOK(mlockall, "") BP_HOOK(setrlimit, "") BP_HOOK(setrlimit64, "")
		BP_HOOK(prlimit, "") BP_HOOK(prlimit64, "") BP_HOOK(execve, "") BP_HOOK(execv, "")
			BP_HOOK(execvp, "") BP_HOOK(execvpe, "") BP_HOOK(fexecve, "")
				BP_HOOK(posix_spawn, "") BP_HOOK(posix_spawnp, "")
#undef BP_HOOK
#define BP_HOOK(name, text)                  \
	real->name = bp_cxx_fallback(#name); \
	look_up(#name, &real->name);
					BP_HOOKS_NEW(BP_HOOK) BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK
}

const struct bp_real_other *bp_real_others(void)
{
	(void)bp_real_resolve();
	return &bp_real_other;
}
