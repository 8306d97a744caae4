/* SPDX-License-Identifier: MIT */
/* See dotnet_runtimes.h. */
#include "cli/dotnet/dotnet_runtimes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "cli/dotnet/dotnet_session.h"

#define POLLS_BEFORE 2 /* the caller's descriptor, and the listener */

int bp_dotnet_take(struct bp_dotnet_runtimes *runtimes, uint32_t i)
{
	const int fd = runtimes->connections[i].fd;
	runtimes->connections[i] = runtimes->connections[--runtimes->count];
	return fd;
}

static void drop(struct bp_dotnet_runtimes *runtimes, uint32_t i)
{
	close(bp_dotnet_take(runtimes, i));
}

bool bp_dotnet_is_resumed(const struct bp_dotnet_runtimes *runtimes, const uint8_t *cookie)
{
	for (uint32_t i = 0; i < runtimes->resumed_count; i++)
		if (memcmp(runtimes->resumed[i].bytes, cookie, BP_DOTNET_COOKIE_BYTES) == 0)
			return true;
	return false;
}

/* Without memory for it the runtime will be resumed again, which does no harm. */
static void note_resumed(struct bp_dotnet_runtimes *runtimes, const uint8_t *cookie)
{
	if (bp_dotnet_is_resumed(runtimes, cookie) ||
		!bp_vec_reserve(&runtimes->resumed, &runtimes->resumed_capacity,
			(uint64_t)runtimes->resumed_count + 1, sizeof *runtimes->resumed))
		return;
	memcpy(runtimes->resumed[runtimes->resumed_count++].bytes, cookie, BP_DOTNET_COOKIE_BYTES);
}

void bp_dotnet_resume_one(struct bp_dotnet_connection *connection)
{
	const struct bp_dotnet_message message = bp_dotnet_resume();
	connection->commanded = true;
	/* If it cannot be sent the connection is broken, and the runtime comes again. */
	(void)bp_dotnet_send(connection->fd, &message);
}

/* No descriptor is left: one runtime that needs nothing more goes, and comes again later. */
static void make_room(struct bp_dotnet_runtimes *runtimes)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	for (uint32_t i = 0; i < runtimes->count; i++) {
		const struct bp_dotnet_connection *connection = &runtimes->connections[i];
		if (connection->known && !connection->commanded &&
			bp_dotnet_is_resumed(runtimes, connection->who.cookie)) {
			drop(runtimes, i);
			return;
		}
	}
	nanosleep(&pause, NULL);
}

static void accept_one(struct bp_dotnet_runtimes *runtimes)
{
	const int fd = accept4(runtimes->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			make_room(runtimes);
		return;
	}
	if (!bp_vec_reserve(&runtimes->connections, &runtimes->capacity,
		    (uint64_t)runtimes->count + 1, sizeof *runtimes->connections)) {
		close(fd); /* it will come again */
		return;
	}
	runtimes->connections[runtimes->count++] = (struct bp_dotnet_connection){ .fd = fd };
}

static void read_one(struct bp_dotnet_runtimes *runtimes, uint32_t i)
{
	struct bp_dotnet_connection *connection = &runtimes->connections[i];
	uint8_t rest[BP_DOTNET_REPLY_MAX];
	const size_t missing = sizeof connection->said - connection->said_bytes;
	const ssize_t got =
		connection->known
			? read(connection->fd, rest, sizeof rest)
			: read(connection->fd, connection->said + connection->said_bytes, missing);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		drop(runtimes, i);
		return;
	}
	if (connection->known) {
		if (connection->commanded)
			note_resumed(runtimes, connection->who.cookie);
		return;
	}
	connection->said_bytes += (size_t)got;
	if (connection->said_bytes < sizeof connection->said)
		return;
	connection->known = bp_dotnet_read_advertisement(connection->said, &connection->who);
	if (!connection->known)
		drop(runtimes, i);
}

bool bp_dotnet_runtimes_wait(struct bp_dotnet_runtimes *runtimes, int other,
	const struct timespec *time, const sigset_t *mask)
{
	const struct timespec soon = { .tv_nsec = 10000000 };
	const uint32_t count = runtimes->count;
	if (!bp_vec_reserve(&runtimes->polls, &runtimes->polls_capacity,
		    (uint64_t)count + POLLS_BEFORE, sizeof *runtimes->polls)) {
		nanosleep(&soon, NULL);
		return false;
	}
	struct pollfd *polls = runtimes->polls;
	polls[0] = (struct pollfd){ .fd = other, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = runtimes->listener, .events = POLLIN };
	for (uint32_t i = 0; i < count; i++)
		polls[POLLS_BEFORE + i] =
			(struct pollfd){ .fd = runtimes->connections[i].fd, .events = POLLIN };
	if (ppoll(polls, count + POLLS_BEFORE, time, mask) <= 0)
		return false;
	/* From the end: a connection that goes is replaced by the last one. */
	for (uint32_t i = count; i-- > 0;)
		if (polls[POLLS_BEFORE + i].revents != 0)
			read_one(runtimes, i);
	if (polls[1].revents != 0)
		accept_one(runtimes);
	return polls[0].revents != 0;
}

void bp_dotnet_runtimes_finish(struct bp_dotnet_runtimes *runtimes)
{
	while (runtimes->count > 0)
		drop(runtimes, runtimes->count - 1);
	free(runtimes->connections);
	free(runtimes->resumed);
	free(runtimes->polls);
	*runtimes = (struct bp_dotnet_runtimes){ .listener = -1 };
}
