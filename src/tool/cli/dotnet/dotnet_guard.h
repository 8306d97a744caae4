/* SPDX-License-Identifier: MIT */
/*
 * The guard of suspended runtimes. A .NET program that finds our socket in its environment does
 * nothing until it gets the command to resume, for ever if need be. So a process must listen as
 * long as any process has that environment: after bytepoll was killed, and after the end of a
 * program that left others in the background.
 *
 * It is a process of its own, forked before the program: it sleeps until bytepoll is gone, then
 * resumes every runtime that connects, and ends, and removes the socket, when no process is left
 * that could.
 */
#ifndef BP_CLI_DOTNET_DOTNET_GUARD_H
#define BP_CLI_DOTNET_DOTNET_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/dotnet/dotnet_port.h"

struct bp_dotnet_guard {
	pid_t pid; /* 0: none */
	int hold;  /* when this is closed, in whatever way, it goes on duty */
};

bool bp_dotnet_guard_begin(const struct bp_dotnet_listener *listener,
	struct bp_dotnet_guard *ret_guard, struct bp_error *error);

/* Dismisses it, or, if a process with the socket in its environment is left, puts it on duty: then
 * the socket's files are its own, and true is returned. */
bool bp_dotnet_guard_end(struct bp_dotnet_guard *guard, const struct bp_dotnet_listener *listener);

#endif
