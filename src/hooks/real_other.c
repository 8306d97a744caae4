/* SPDX-License-Identifier: MIT */
/* See real_other.h. Looked up at start, all at once (real.c says why). */
#include "hooks/real_other.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "recorder/real.h"

__attribute__((visibility("hidden"))) struct bp_real_other bp_real_other = {
	/* Until the start, and where there is no C++ library: see cxx.c. */
	0
};

/* Our own dlsym is in the way of the plain name: the real one is asked for by its version. */
static void find_dlsym(void)
{
	/* Since it moved into libc; before that, the first version of x86-64, and that of aarch64. */
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17" };
	void *found = NULL;
	for (size_t i = 0; i < BP_COUNT(versions) && found == NULL; i++)
		found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	__builtin_memcpy(&bp_real_other.dlsym, &found, sizeof found);
}

void *bp_real_next(const char *name)
{
	if (bp_real_other.dlsym == NULL)
		find_dlsym();
	return bp_real_other.dlsym == NULL ? NULL : bp_real_other.dlsym(RTLD_NEXT, name);
}

void bp_real_forget_failure(void)
{
	(void)bp_real_next("malloc"); /* a success ends what is told of failures */
}

/* Stores the function behind us under `name`, if there is one. */
static void look_up(const char *name, void *ret_function)
{
	void *found = bp_real_next(name);
	if (found != NULL)
		__builtin_memcpy(ret_function, &found, sizeof found);
}

#define LOOK_UP(name) look_up(#name, &bp_real_other.name)

/* Where the program has no C++ library, twenty look-ups would fail, each through every object. */
void bp_real_resolve_operators(void)
{
	bp_cxx_fall_back();
	if (bp_real_next("_Znwm") == NULL)
		return;
#define BP_HOOK(name, text) LOOK_UP(name);
	BP_HOOKS_NEW(BP_HOOK)
	BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK
}

void bp_real_resolve_others(void)
{
	LOOK_UP(_exit);
	LOOK_UP(_Exit);
	LOOK_UP(quick_exit);
	LOOK_UP(abort);
	LOOK_UP(fork);
	LOOK_UP(dlclose);
	LOOK_UP(prctl);
	LOOK_UP(mallopt);
	LOOK_UP(mlockall);
	LOOK_UP(setrlimit);
	LOOK_UP(setrlimit64);
	LOOK_UP(prlimit);
	LOOK_UP(prlimit64);
	LOOK_UP(execve);
	LOOK_UP(execv);
	LOOK_UP(execvp);
	LOOK_UP(execvpe);
	LOOK_UP(fexecve);
	LOOK_UP(posix_spawn);
	LOOK_UP(posix_spawnp);
	/* A look-up that fails allocates, and a sanitizer may not have begun: not before they are called. */
	if (!bp_real_is_sanitized())
		bp_real_resolve_operators();
}

const struct bp_real_other *bp_real_others(void)
{
	(void)bp_real_resolve();
	return &bp_real_other;
}
