/* SPDX-License-Identifier: MIT */
/*
 * New process images. The totals are published before an exec (and withdrawn should it fail), and
 * images that cannot be profiled (set-uid, static, foreign) are noted, so that reports can say what
 * they did not see. A new image is followed by its environment, which is the program's business.
 * These may run in a vfork child: nothing here but stack memory is changed.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "hooks/binding/real_other.h"
#include "recorder/recorder.h"
#include "recorder/steering/seal.h"

#define SEGMENTS_MAX 32
#define DYNAMIC_MAX 64
#define PATH_MAX_BYTES 1024

extern char **environ;
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); /* ours */

/* Does the dynamic section name a library? A file that asks for no loader and has such a name is a
 * loader itself, which was started by hand and preloads for the program it is given. */
static bool names_library(int descriptor, const ElfW(Phdr) * dynamic)
{
	ElfW(Dyn) entries[DYNAMIC_MAX];
	const size_t bytes =
		dynamic->p_filesz < sizeof entries ? dynamic->p_filesz : sizeof entries;
	const long got = syscall(SYS_pread64, descriptor, entries, bytes, (long)dynamic->p_offset);
	for (long i = 0; (i + 1) * (long)sizeof *entries <= got && entries[i].d_tag != DT_NULL; i++)
		if (entries[i].d_tag == DT_SONAME)
			return true;
	return false;
}

/* Does the ELF file behind the descriptor ask for a loader, or is it one? */
static enum bp_unseen look_at_file(int descriptor)
{
	ElfW(Ehdr) header;
	ElfW(Phdr) segments[SEGMENTS_MAX];
	if (syscall(SYS_pread64, descriptor, &header, sizeof header, 0l) != (long)sizeof header)
		return BP_UNSEEN_NO; /* a script, or too short to tell */
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return BP_UNSEEN_NO;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != __ehdr_start.e_machine)
		return BP_UNSEEN_FOREIGN;
	unsigned count = header.e_phnum < SEGMENTS_MAX ? header.e_phnum : SEGMENTS_MAX;
	long bytes = (long)(count * sizeof *segments);
	if (syscall(SYS_pread64, descriptor, segments, bytes, (long)header.e_phoff) != bytes)
		return BP_UNSEEN_NO;
	for (unsigned i = 0; i < count; i++)
		if (segments[i].p_type == PT_INTERP ||
			(segments[i].p_type == PT_DYNAMIC &&
				names_library(descriptor, &segments[i])))
			return BP_UNSEEN_NO;
	return BP_UNSEEN_STATIC;
}

static bool carries_recorder(char *const environment[])
{
	for (; environment != NULL && *environment != NULL; environment++)
		if (strncmp(*environment, "LD_PRELOAD=", 11) == 0 &&
			strstr(*environment, "libbytepoll-recorder") != NULL)
			return true;
	return false;
}

static enum bp_unseen classify(const char *path, char *const environment[])
{
	struct stat status;
	int descriptor = bp_system_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	enum bp_unseen unseen = BP_UNSEEN_NO;
	if (descriptor < 0)
		return BP_UNSEEN_NO;
	if (syscall(SYS_fstat, descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
		/* Set-ids make the loader ignore LD_PRELOAD, unless they change nothing. */
		if (((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) ||
			((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid()))
			unseen = BP_UNSEEN_PRIVILEGED;
		else
			unseen = look_at_file(descriptor);
	}
	bp_system_close(descriptor);
	if (unseen == BP_UNSEEN_NO && !carries_recorder(environment))
		unseen = BP_UNSEEN_ENVIRONMENT;
	return unseen;
}

/* The first executable `file` on PATH, as execvp looks for it; `file` itself if it has a slash. */
static const char *search(const char *file, char *buffer)
{
	const char *path = NULL;
	size_t file_bytes = strlen(file) + 1;
	for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
		if (strncmp(*variable, "PATH=", 5) == 0)
			path = *variable + 5;
	if (strchr(file, '/') != NULL || path == NULL || bp_recorder.seal != BP_SEAL_NONE)
		return file;
	for (;;) {
		const char *end = strchrnul(path, ':');
		size_t bytes = (size_t)(end - path);
		if (bytes + 1 + file_bytes <= PATH_MAX_BYTES) {
			memcpy(buffer, path, bytes);
			buffer[bytes] = '/';
			memcpy(buffer + bytes + (bytes > 0), file, file_bytes);
			if (syscall(SYS_faccessat, AT_FDCWD, buffer, X_OK) == 0)
				return buffer;
		}
		if (*end == '\0')
			return file;
		path = end + 1;
	}
}

static void note(const char *path, char *const environment[], bool replaces)
{
	if (bp_recorder.mode != BP_MODE_ON)
		return; /* nothing is recorded, so nothing is looked at: see real.c */
	int saved_errno = errno;
	/* A bad pointer is for the real function to refuse. */
	if (path != NULL && bp_recorder.seal == BP_SEAL_NONE &&
		(syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0 || errno != EFAULT))
		bp_recorder_exec(path, classify(path, environment));
	if (replaces)
		bp_recorder_end(BP_END_EXEC);
	errno = saved_errno;
}

/* An exec that came back. */
static int failed(int result)
{
	int saved_errno = errno;
	bp_recorder_end_failed();
	errno = saved_errno;
	return result;
}

BP_EXPORT int execve(const char *path, char *const argv[], char *const environment[])
{
	note(path, environment, true);
	return failed(bp_real_others()->execve(path, argv, environment));
}

BP_EXPORT int execv(const char *path, char *const argv[])
{
	note(path, environ, true);
	return failed(bp_real_others()->execv(path, argv));
}

BP_EXPORT int execvp(const char *file, char *const argv[])
{
	char buffer[PATH_MAX_BYTES];
	note(search(file, buffer), environ, true);
	return failed(bp_real_others()->execvp(file, argv));
}

BP_EXPORT int execvpe(const char *file, char *const argv[], char *const environment[])
{
	char buffer[PATH_MAX_BYTES];
	note(search(file, buffer), environment, true);
	return failed(bp_real_others()->execvpe(file, argv, environment));
}

BP_EXPORT int fexecve(int descriptor, char *const argv[], char *const environment[])
{
	note(NULL, environment, true);
	return failed(bp_real_others()->fexecve(descriptor, argv, environment));
}

/* The arguments of the l-forms as an array on the caller's stack; `after`: NULL, or where the
 * pointer behind the terminator goes. */
static size_t count_arguments(va_list arguments)
{
	size_t count = 1; /* the first one, which the prototype says is there */
	while (va_arg(arguments, char *) != NULL)
		count++;
	return count;
}

static void collect_arguments(char *argv[], const char *first, va_list arguments)
{
	size_t i = 0;
	argv[i++] = (char *)first;
	while (argv[i - 1] != NULL)
		argv[i++] = va_arg(arguments, char *);
}

#define COLLECT(first)                                              \
	va_list arguments;                                          \
	va_start(arguments, first);                                 \
	size_t count = count_arguments(arguments);                  \
	va_end(arguments);                                          \
	char **argv = __builtin_alloca((count + 1) * sizeof *argv); \
	va_start(arguments, first);                                 \
	collect_arguments(argv, first, arguments)

BP_EXPORT int execl(const char *path, const char *first, ...)
{
	COLLECT(first);
	va_end(arguments);
	return execv(path, argv);
}

BP_EXPORT int execlp(const char *file, const char *first, ...)
{
	COLLECT(first);
	va_end(arguments);
	return execvp(file, argv);
}

BP_EXPORT int execle(const char *path, const char *first, ...)
{
	COLLECT(first);
	char *const *environment = va_arg(arguments, char *const *);
	va_end(arguments);
	return execve(path, argv, environment);
}

BP_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
	note(path, environment, false);
	return bp_real_others()->posix_spawn(pid, path, actions, attributes, argv, environment);
}

BP_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
	char buffer[PATH_MAX_BYTES];
	note(search(file, buffer), environment, false);
	return bp_real_others()->posix_spawnp(pid, file, actions, attributes, argv, environment);
}
