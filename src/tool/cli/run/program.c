/* SPDX-License-Identifier: MIT */
/*
 * Finding a program and judging it by its ELF headers, in the order in which the kernel would: the
 * file, the interpreter of a script (and of an interpreter that is a script, at most five deep, the
 * kernel's own limit), the loader in PT_INTERP.
 */
#include "cli/run/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/attributes.h"
#include "cli/process/elf_file.h"
#include "model/gaps/unseen.h"

#define SCRIPT_DEPTH_MAX 5
#define SCRIPT_LINE_MAX 256 /* BINPRM_BUF_SIZE of the kernel */

/* The machine this bytepoll, and so its recorder, is built for. */
static uint16_t own_machine(void)
{
	struct bp_elf_file self;
	uint16_t machine = EM_X86_64;
	if (bp_elf_file_open("/proc/self/exe", &self, NULL)) {
		if (self.is_elf)
			machine = self.machine;
		bp_elf_file_close(&self);
	}
	return machine;
}

static bool is_executable_file(const char *path)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return false;
	if (!S_ISREG(status.st_mode)) {
		errno = S_ISDIR(status.st_mode) ? EISDIR : EACCES;
		return false;
	}
	return access(path, X_OK) == 0;
}

/* Walks PATH; leaves the first executable in `path`, or returns 0 and the reason in errno. */
static bool search_path(const char *name, char *path, size_t capacity)
{
	const char *directories = getenv("PATH");
	int reason = ENOENT;
	if (directories == NULL)
		directories = "/bin:/usr/bin";
	for (;;) {
		size_t length = strcspn(directories, ":");
		int written = snprintf(path, capacity, "%.*s%s%s", (int)length, directories,
			length > 0 ? "/" : "./", name);
		if (written > 0 && (size_t)written < capacity) {
			if (is_executable_file(path))
				return true;
			if (errno == EACCES)
				reason = EACCES;
		}
		if (directories[length] == '\0')
			break;
		directories += length + 1;
	}
	errno = reason;
	return false;
}

bool bp_program_find(
	const char *name, struct bp_program *ret_program, int *ret_status, struct bp_error *error)
{
	bool has_slash = strchr(name, '/') != NULL, found;
	if (strlen(name) >= sizeof ret_program->path) {
		*ret_status = 127;
		return bp_error_set(error, "the program's path is too long");
	}
	*ret_program = (struct bp_program){ 0 };
	if (has_slash) {
		strcpy(ret_program->path, name);
		found = is_executable_file(name);
	} else {
		errno = ENOENT;
		found = *name != '\0' &&
			search_path(name, ret_program->path, sizeof ret_program->path);
	}
	if (found)
		return true;
	*ret_status = errno == ENOENT || errno == ENOTDIR ? 127 : 126;
	if (*ret_status == 127 && has_slash)
		return bp_error_set(error, "%s: no such program: check the path", name);
	if (*ret_status == 127)
		return bp_error_set(
			error, "%s: not found in PATH: check the name, or give its path", name);
	if (errno == EISDIR)
		return bp_error_set(error, "%s is a directory, not a program", name);
	return bp_error_set(
		error, "%s cannot be executed: %s: check its permissions", name, strerror(errno));
}

bool bp_file_is_privileged(const char *path, const struct stat *file)
{
	struct statvfs filesystem;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	if (statvfs(path, &filesystem) == 0 && (filesystem.f_flag & ST_NOSUID))
		return false;
	if ((file->st_mode & S_ISUID) && file->st_uid != getuid())
		return true;
	if ((file->st_mode & S_ISGID) && (file->st_mode & S_IXGRP) && file->st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Copies the next word of a script's first line, which ends at `end`; false if there is none. */
static bool next_word(const char **at, const char *end, char *ret_word, size_t capacity)
{
	const char *start = *at, *after;
	while (start < end && (*start == ' ' || *start == '\t'))
		start++;
	after = start;
	while (after < end && *after != '\0' && !isspace((unsigned char)*after))
		after++;
	*at = after;
	if (after == start || (size_t)(after - start) >= capacity)
		return false;
	memcpy(ret_word, start, (size_t)(after - start));
	ret_word[after - start] = '\0';
	return true;
}

/* The interpreter named on the first line of a script; false if `file` is none. `env` is looked
 * through: of "#!/usr/bin/env python3" the interpreter is python3, which takes env's place. */
static bool script_interpreter(const struct bp_elf_file *file, char *ret_path, size_t capacity)
{
	const char *at = (const char *)file->data, *end;
	char word[SCRIPT_LINE_MAX];
	const char *slash;
	if (file->bytes < 3 || at[0] != '#' || at[1] != '!')
		return false;
	end = at + (file->bytes < SCRIPT_LINE_MAX ? file->bytes : SCRIPT_LINE_MAX);
	at += 2;
	if (!next_word(&at, end, ret_path, capacity))
		return false;
	slash = strrchr(ret_path, '/');
	if (slash == NULL || strcmp(slash, "/env") != 0)
		return true;
	while (at < end && *at != '\n' && next_word(&at, end, word, sizeof word)) {
		char found[PATH_MAX];
		if (word[0] == '-' || strchr(word, '=') != NULL)
			continue;
		if (search_path(word, found, sizeof found))
			snprintf(ret_path, capacity, "%s", found);
		break;
	}
	return true;
}

/* A program loader started by hand ("/lib64/ld-linux-x86-64.so.2 PROGRAM") has no PT_INTERP but
 * does preload. */
static bool is_loader(const struct bp_elf_file *file)
{
	const char *name = bp_elf_dynamic_string(file, DT_SONAME, 0);
	return name != NULL && strncmp(name, "ld-linux", 8) == 0;
}

/* A sanitizer's runtime, as a library or linked in: malloc is its own. */
static bool has_sanitizer(const struct bp_elf_file *file)
{
	static const char *const libraries[] = { "libasan.so", "libtsan.so", "liblsan.so",
		"libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan" };
	static const char *const functions[] = { "__asan_init", "__tsan_init", "__msan_init",
		"__hwasan_init", "__lsan_init" };
	const char *needed;
	for (unsigned i = 0; (needed = bp_elf_dynamic_string(file, DT_NEEDED, i)) != NULL; i++)
		for (size_t j = 0; j < BP_COUNT(libraries); j++)
			if (strncmp(needed, libraries[j], strlen(libraries[j])) == 0)
				return true;
	for (size_t j = 0; j < BP_COUNT(functions); j++)
		if (bp_elf_exports(file, functions[j]))
			return true;
	/* gcc keeps those of a runtime that is linked in to itself; the recorder knows it
	 * likewise. */
	return bp_elf_exports(file, "malloc") && bp_elf_exports(file, "strcmp") &&
	       bp_elf_exports(file, "clock_gettime");
}

static enum bp_obstacle judge(const struct bp_elf_file *file, struct bp_program *program)
{
	const char *loader;
	program->machine = file->machine;
	program->is_32_bit = file->is_32_bit;
	if (!file->is_elf)
		return BP_OBSTACLE_SCRIPT;
	if (!file->readable || file->machine != own_machine())
		return BP_OBSTACLE_FOREIGN;
	loader = bp_elf_interpreter(file);
	if (loader == NULL)
		return is_loader(file) ? BP_OBSTACLE_NONE : BP_OBSTACLE_STATIC;
	snprintf(program->loader, sizeof program->loader, "%s", loader);
	if (strstr(loader, "ld-musl") != NULL)
		return BP_OBSTACLE_MUSL;
	return has_sanitizer(file) ? BP_OBSTACLE_SANITIZER : BP_OBSTACLE_NONE;
}

void bp_program_examine(struct bp_program *program)
{
	struct bp_elf_file file;
	struct stat status;
	bool valgrind = false;
	strcpy(program->image, program->path);
	program->obstacle = BP_OBSTACLE_NONE;
	for (int depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
		char next[PATH_MAX];
		valgrind = valgrind || bp_is_valgrind(program->image);
		if (!bp_elf_file_open(program->image, &file, NULL))
			break; /* executable but not readable: nothing is known */
		if (script_interpreter(&file, next, sizeof next)) {
			bp_elf_file_close(&file);
			strcpy(program->image, next);
			continue;
		}
		program->obstacle = judge(&file, program);
		bp_elf_file_close(&file);
		break;
	}
	/* Last, so that it overrides what was found before. Set-uid on a script is ignored by
	 * Linux, so it is the image whose mode counts. */
	if (stat(program->image, &status) == 0 && bp_file_is_privileged(program->image, &status))
		program->obstacle = BP_OBSTACLE_PRIVILEGED;
	if (valgrind)
		program->obstacle = BP_OBSTACLE_VALGRIND;
}

const char *bp_obstacle_text(enum bp_obstacle obstacle)
{
	static const char *const texts[] = {
		[BP_OBSTACLE_NONE] = "",
		[BP_OBSTACLE_STATIC] = "is statically linked, so nothing can be preloaded into it: "
				       "link it dynamically to profile it",
		[BP_OBSTACLE_PRIVILEGED] =
			"is set-uid, set-gid or has file capabilities, so the loader refuses to "
			"preload: profile a copy without them (cp makes one), or as its owner",
		[BP_OBSTACLE_FOREIGN] = "is built for another machine or word size than bytepoll: "
					"use a bytepoll built for it",
		[BP_OBSTACLE_MUSL] = "uses musl's loader, and the recorder is built for glibc: "
				     "profile a build of it for glibc",
		[BP_OBSTACLE_SANITIZER] =
			"is built with a sanitizer, whose runtime owns malloc: build "
			"it without to profile it",
		[BP_OBSTACLE_VALGRIND] =
			"runs programs under a malloc of its own, in place of every other: "
			"run the program without it",
		[BP_OBSTACLE_SCRIPT] = "",
	};
	return texts[obstacle];
}

const char *bp_obstacle_subject(const struct bp_program *program)
{
	return program->obstacle == BP_OBSTACLE_VALGRIND ? program->path : program->image;
}

bool bp_obstacle_refuses_preload(enum bp_obstacle obstacle)
{
	return obstacle == BP_OBSTACLE_MUSL || obstacle == BP_OBSTACLE_FOREIGN ||
	       obstacle == BP_OBSTACLE_SANITIZER;
}
