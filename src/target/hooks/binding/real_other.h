/* SPDX-License-Identifier: MIT */
/* The real functions behind the hooks that are not malloc's: the process's life and the C++
 * operators. Filled by real_other.c when real.c fills its own. Private to hooks/. */
#ifndef BP_HOOKS_BINDING_REAL_OTHER_H
#define BP_HOOKS_BINDING_REAL_OTHER_H

#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Operators are called with all arguments that they may have: at most three, all integers. Their
 * entries are never NULL: before the start stubs, without a C++ library what cxx.c has instead. */
typedef uintptr_t bp_operator(uintptr_t first, uintptr_t second, uintptr_t third);

/* The C library's function of system calls, with all its registers and a word on the stack. */
typedef long bp_system_call(
	long number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f);

#include "hooks/names.h"

struct bp_real_other {
#define BP_HOOK(name, text) bp_operator *name;
	BP_HOOKS_NEW(BP_HOOK)
	BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK
	void (*_exit)(int status);
	void (*_Exit)(int status);
	void (*quick_exit)(int status);
	void (*abort)(void);
	pid_t (*fork)(void);
	void *(*dlsym)(void *handle, const char *name);
	int (*dlclose)(void *handle);
	int (*prctl)(int option, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);
	bp_system_call *syscall; /* by bp_real_syscall only */
	int (*mallopt)(int parameter, int value);
	int (*mlockall)(int flags);
	int (*setrlimit)(int resource, const struct rlimit *limit);
	int (*setrlimit64)(int resource, const struct rlimit64 *limit);
	int (*prlimit)(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old);
	int (*prlimit64)(
		pid_t pid, int resource, const struct rlimit64 *limit, struct rlimit64 *old);
	void *(*mmap)(void *address, size_t bytes, int protection, int flags, int descriptor,
		off_t offset);
	void *(*mmap64)(void *address, size_t bytes, int protection, int flags, int descriptor,
		off64_t offset);
	int (*munmap)(void *address, size_t bytes);
	void *(*mremap)(void *address, size_t old_bytes, size_t bytes, int flags, ...);
	int (*mprotect)(void *address, size_t bytes, int protection);
	int (*pkey_mprotect)(void *address, size_t bytes, int protection, int key);
	int (*brk)(void *end);
	void *(*sbrk)(intptr_t increment);
	void *(*shmat)(int segment, const void *address, int flags);
	int (*shmdt)(const void *address);
	int (*execve)(const char *path, char *const argv[], char *const environment[]);
	int (*execv)(const char *path, char *const argv[]);
	int (*execvp)(const char *file, char *const argv[]);
	int (*execvpe)(const char *file, char *const argv[], char *const environment[]);
	int (*fexecve)(int descriptor, char *const argv[], char *const environment[]);
	int (*posix_spawn)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]);
	int (*posix_spawnp)(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]);
} __attribute__((aligned(64))); /* the operators' entries are read by every call of theirs */

/* The table, filled on first use. */
const struct bp_real_other *bp_real_others(void);
extern struct bp_real_other bp_real_other __attribute__((visibility("hidden")));
void bp_real_resolve_others(void);

/* The real syscall, which is looked up by itself, because all other look-ups need it. */
static inline bp_system_call *bp_real_syscall(void);

/* The first definition of the name behind the recorder (symbol_table.h); NULL if there is none. */
void *bp_real_next(const char *name);

/* cxx.c: fills in the operators for a program in which there was no C++ library at start. */
void bp_cxx_fall_back(void);

static inline bp_system_call *bp_real_syscall(void)
{
	if (__builtin_expect(bp_real_other.syscall == NULL, 0)) {
		void *found = bp_real_next("syscall");
		__builtin_memcpy(&bp_real_other.syscall, &found, sizeof found);
	}
	return bp_real_other.syscall;
}

#endif
