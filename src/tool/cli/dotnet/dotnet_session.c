/* SPDX-License-Identifier: MIT */
/* See dotnet_session.h. */
#include "cli/dotnet/dotnet_session.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES (256u << 10)

bool bp_dotnet_send(int connection, const struct bp_dotnet_message *message)
{
	/* It is far smaller than the buffer of a socket on which nothing was sent yet: all or
	 * nothing. */
	ssize_t sent;
	do
		sent = send(connection, message->bytes, message->length, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)message->length;
}

static void fail(struct bp_dotnet_session *session)
{
	session->state = BP_DOTNET_FAILED;
	bp_dotnet_session_close(session);
}

void bp_dotnet_session_begin(struct bp_dotnet_session *session, int connection, int file,
	const struct bp_dotnet_message *request)
{
	*session = (struct bp_dotnet_session){
		.state = BP_DOTNET_ASKED, .stream = connection, .stop = -1, .file = file
	};
	if (!bp_dotnet_send(connection, request)) {
		bp_error_set(&session->error, "the runtime did not take the request: %s",
			strerror(errno));
		fail(session);
	}
}

bool bp_dotnet_session_closed_in_order(const struct bp_dotnet_session *session)
{
	/* The end of the last object, and the tag that no other follows. */
	return session->last[0] == 6 && session->last[1] == 1;
}

static void write_trace(struct bp_dotnet_session *session, const uint8_t *bytes, size_t length)
{
	for (size_t i = length < 2 ? 0 : length - 2; i < length; i++) {
		session->last[0] = session->last[1];
		session->last[1] = bytes[i];
	}
	while (length != 0 && !session->file_failed) {
		const ssize_t written = write(session->file, bytes, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			bp_error_set(&session->error, "the trace cannot be written: %s",
				strerror(errno));
			session->file_failed = true;
			return;
		}
		bytes += written;
		length -= (size_t)written;
		session->bytes += (uint64_t)written;
	}
}

/* What was received while the reply is awaited; what follows it is trace. */
static void take_reply(struct bp_dotnet_session *session, const uint8_t *bytes, size_t length)
{
	const size_t room = sizeof session->reply - session->reply_bytes;
	const size_t take = length < room ? length : room;
	size_t reply_bytes = 0;
	memcpy(session->reply + session->reply_bytes, bytes, take);
	const size_t before = session->reply_bytes;
	session->reply_bytes += take;
	uint64_t value = 0;
	switch (bp_dotnet_read_reply(session->reply, session->reply_bytes, &reply_bytes, &value)) {
	case BP_DOTNET_MORE:
		return;
	case BP_DOTNET_DONE:
		session->id = value;
		session->state = BP_DOTNET_RECORDING;
		write_trace(
			session, bytes + (reply_bytes - before), length - (reply_bytes - before));
		return;
	case BP_DOTNET_REFUSED:
		bp_error_set(&session->error, "the runtime refuses to record (0x%08llx): %s",
			(unsigned long long)value, bp_dotnet_error_text(value));
		break;
	case BP_DOTNET_GARBAGE:
		bp_error_set(&session->error,
			"what answers is no .NET runtime: its reply makes no sense");
		break;
	}
	fail(session);
}

void bp_dotnet_session_read(struct bp_dotnet_session *session)
{
	static uint8_t buffer[READ_BYTES];
	const ssize_t got = read(session->stream, buffer, sizeof buffer);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got > 0 && session->state == BP_DOTNET_ASKED) {
		take_reply(session, buffer, (size_t)got);
	} else if (got > 0) {
		write_trace(session, buffer, (size_t)got);
	} else if (session->state == BP_DOTNET_ASKED) {
		bp_error_set(
			&session->error, "the runtime closed the connection without an answer");
		fail(session);
	} else {
		session->state = BP_DOTNET_ENDED;
		bp_dotnet_session_close(session);
	}
}

void bp_dotnet_session_stop(struct bp_dotnet_session *session, int connection)
{
	const struct bp_dotnet_message message = bp_dotnet_stop(session->id);
	session->stop = connection;
	session->state = BP_DOTNET_DRAINING;
	/* If it cannot be sent the runtime is ending, and the stream with it. */
	(void)bp_dotnet_send(connection, &message);
}

void bp_dotnet_session_close(struct bp_dotnet_session *session)
{
	if (session->stream >= 0)
		close(session->stream);
	if (session->stop >= 0)
		close(session->stop);
	session->stream = session->stop = -1;
}
