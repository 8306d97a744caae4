/* SPDX-License-Identifier: MIT */
/*
 * What stands between a program and being profiled, as far as its file tells: found, executable,
 * and of a kind whose loader takes LD_PRELOAD. `run` asks before it starts the program, `doctor` to
 * tell the user. Reads files only; starts nothing.
 */
#ifndef BP_CLI_RUN_PROGRAM_H
#define BP_CLI_RUN_PROGRAM_H

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

enum bp_obstacle {
	BP_OBSTACLE_NONE,
	BP_OBSTACLE_STATIC,	/* no dynamic loader: nothing can be preloaded */
	BP_OBSTACLE_PRIVILEGED, /* set-uid, set-gid or file capabilities: the loader refuses */
	BP_OBSTACLE_FOREIGN,	/* ELF file of another machine or word size */
	BP_OBSTACLE_MUSL,	/* a loader that is not glibc's */
	BP_OBSTACLE_SANITIZER,	/* a sanitizer's runtime owns malloc and wants to be first */
	BP_OBSTACLE_VALGRIND,	/* runs programs under a malloc of its own */
	BP_OBSTACLE_SCRIPT,	/* neither ELF nor #!: the shell runs it, which can be profiled */
};

struct bp_program {
	char path[PATH_MAX];   /* what will be executed */
	char image[PATH_MAX];  /* the ELF file in the end: the interpreter of a script */
	char loader[PATH_MAX]; /* PT_INTERP of the image; "" if static */
	enum bp_obstacle obstacle;
	uint16_t machine;
	bool is_32_bit;
};

/* Finds `name` as a shell would: by PATH unless it contains a slash. On failure `*ret_status` is
 * the exit status of a shell: 127 not found, 126 found but not executable. */
bool bp_program_find(
	const char *name, struct bp_program *ret_program, int *ret_status, struct bp_error *error);
/* Fills image, loader and obstacle from program->path; an unreadable file has no obstacle known. */
void bp_program_examine(struct bp_program *program);
/* One clause of what is in the way and what can be done, for "PROGRAM ..."; "" for none. */
const char *bp_obstacle_text(enum bp_obstacle obstacle);
/* Whom that clause is about: the image, or the path that was typed where it is what matters. */
const char *bp_obstacle_subject(const struct bp_program *program);
/* Would the environment of `run` break this program or be noise, so that it must stay out? */
bool bp_obstacle_refuses_preload(enum bp_obstacle obstacle);
/* Does executing `path`, whose status is `file`, change privileges, so that the loader ignores
 * LD_PRELOAD? */
bool bp_file_is_privileged(const char *path, const struct stat *file);

#endif
