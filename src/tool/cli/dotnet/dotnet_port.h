/* SPDX-License-Identifier: MIT */
/*
 * Sockets to .NET runtimes: the one that every runtime listens on, found by pid, and one of our own
 * that a started program's runtime connects to. Own user only: both lie where others cannot reach
 * them.
 */
#ifndef BP_CLI_DOTNET_DOTNET_PORT_H
#define BP_CLI_DOTNET_DOTNET_PORT_H

#include <limits.h>
#include <sys/types.h>

#include "base/error.h"

/* A connection to the runtime in process `pid` (in its own file system and namespaces); -1: the
 * error says whether the process is there, ours, and a .NET program. Closed on exec,
 * non-blocking. */
int bp_dotnet_port_connect(pid_t pid, struct bp_error *error);

/* Does it have a diagnostic port, as far as files tell? */
bool bp_dotnet_port_exists(pid_t pid);

/* A socket of our own, in a folder that only we can enter. */
struct bp_dotnet_listener {
	int fd; /* non-blocking, closed on exec */
	char folder[PATH_MAX], path[PATH_MAX];
};
bool bp_dotnet_listen(struct bp_dotnet_listener *ret_listener, struct bp_error *error);
/* Closes it and removes its files. Safe on {.fd = -1}. */
void bp_dotnet_listen_end(struct bp_dotnet_listener *listener);

#endif
