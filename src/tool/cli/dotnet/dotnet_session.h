/* SPDX-License-Identifier: MIT */
/*
 * One recording session of a .NET runtime: from the request to the end of its stream, which goes to
 * a file as it comes. One thread, one poll loop; nothing that the target does or does not do can
 * hang it, but for the rest of a trace that the target is still writing.
 *
 *	asked -> (reply) -> recording -> (stop asked for) -> draining -> (stream ends) -> ended
 *
 * Stopping: the runtime answers a stop only when the rest of the stream has been read. So it is
 * sent over a second connection, and the first one is read on.
 */
#ifndef BP_CLI_DOTNET_DOTNET_SESSION_H
#define BP_CLI_DOTNET_DOTNET_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/dotnet/dotnet_wire.h"

enum bp_dotnet_state {
	BP_DOTNET_ASKED,
	BP_DOTNET_RECORDING,
	BP_DOTNET_DRAINING,
	BP_DOTNET_ENDED, /* the stream came to its end */
	BP_DOTNET_FAILED /* refused, or garbage: see the error */
};

struct bp_dotnet_session {
	enum bp_dotnet_state state;
	int stream; /* connection that carries the trace; -1: closed */
	int stop;   /* second connection; -1: none */
	int file;
	uint64_t id;
	uint64_t bytes; /* of the trace, written */
	uint8_t reply[BP_DOTNET_REPLY_MAX];
	size_t reply_bytes;
	uint8_t last[2];  /* bytes of it */
	bool file_failed; /* what came afterwards was read and thrown away */
	struct bp_error error;
};

/* Takes over a connection that nothing was said on, and asks for a session. `file`: open for
 * writing; stays the caller's. */
void bp_dotnet_session_begin(struct bp_dotnet_session *session, int connection, int file,
	const struct bp_dotnet_message *request);

/* To be called when `stream` is readable. */
void bp_dotnet_session_read(struct bp_dotnet_session *session);

/* Sends the stop over a connection that it takes over. Afterwards the stream is to be read to its
 * end. */
void bp_dotnet_session_stop(struct bp_dotnet_session *session, int connection);

/* Did the stream end as a runtime ends it, rather than being broken off between two blocks? */
bool bp_dotnet_session_closed_in_order(const struct bp_dotnet_session *session);

/* Closes the connections: the runtime ends a session whose reader has gone. */
void bp_dotnet_session_close(struct bp_dotnet_session *session);

/* Sends a whole message on a fresh connection; false: it could not be sent whole. */
bool bp_dotnet_send(int connection, const struct bp_dotnet_message *message);

#endif
