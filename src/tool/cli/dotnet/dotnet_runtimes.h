/* SPDX-License-Identifier: MIT */
/*
 * The runtimes that connect to our own socket: each says who it is and then waits for one command.
 * After a command it connects again, with the same cookie. A runtime that was started suspended
 * does nothing until it gets the command to resume, so none may ever be forgotten: there is no
 * limit on how many connect, and a resume counts only when it was answered.
 */
#ifndef BP_CLI_DOTNET_DOTNET_RUNTIMES_H
#define BP_CLI_DOTNET_DOTNET_RUNTIMES_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "cli/dotnet/dotnet_wire.h"

struct bp_dotnet_connection {
	int fd;
	uint8_t said[BP_DOTNET_ADVERTISEMENT_BYTES];
	size_t said_bytes;
	bool known;	/* it has said who it is */
	bool commanded; /* it was sent a resume, and is kept for the answer */
	struct bp_dotnet_advertisement who;
};

struct bp_dotnet_cookie {
	uint8_t bytes[BP_DOTNET_COOKIE_BYTES];
};

struct bp_dotnet_runtimes {
	int listener; /* the caller's; -1: none */
	struct bp_dotnet_connection *connections;
	uint32_t count, capacity;
	struct bp_dotnet_cookie *resumed; /* of runtimes that have answered a resume */
	uint32_t resumed_count, resumed_capacity;
	struct pollfd *polls;
	uint32_t polls_capacity;
};

/* Waits for the listener, the connections and `other` (-1: none), with the signals of `mask` let in
 * (NULL: no change); accepts and reads what comes. `time` NULL: for ever. True: `other` can be
 * read. */
bool bp_dotnet_runtimes_wait(struct bp_dotnet_runtimes *runtimes, int other,
	const struct timespec *time, const sigset_t *mask);

/* Has this runtime answered a resume? */
bool bp_dotnet_is_resumed(const struct bp_dotnet_runtimes *runtimes, const uint8_t *cookie);

/* Sends the resume. */
void bp_dotnet_resume_one(struct bp_dotnet_connection *connection);

/* Takes a connection out of the list; its descriptor is the caller's. */
int bp_dotnet_take(struct bp_dotnet_runtimes *runtimes, uint32_t i);

/* Closes all connections. Safe on zeroed input. */
void bp_dotnet_runtimes_finish(struct bp_dotnet_runtimes *runtimes);

#endif
