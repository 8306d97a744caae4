/* SPDX-License-Identifier: MIT */
/*
 * The messages of .NET's diagnostic port: built whole, read whole. Pure.
 *
 * A runtime trusts what it is sent: a collect command without its payload ends the process. So a
 * message exists only in one piece, its length field filled in from what was written; nothing else
 * is ever sent. Source: dotnet/diagnostics, documentation/design-docs/ipc-protocol.md, and recorded
 * sessions.
 */
#ifndef BP_CLI_DOTNET_DOTNET_WIRE_H
#define BP_CLI_DOTNET_DOTNET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest message here, and longest reply that is waited for. */
#define BP_DOTNET_MESSAGE_MAX 256u
#define BP_DOTNET_REPLY_MAX 64u
#define BP_DOTNET_ADVERTISEMENT_BYTES 34u
#define BP_DOTNET_COOKIE_BYTES 16u

struct bp_dotnet_message {
	uint8_t bytes[BP_DOTNET_MESSAGE_MAX];
	size_t length;
};

/* Begin a session that records sampled allocations. `buffer_mib` >= 1: the runtime's own buffer.
 * `rundown`: at its end the names of all methods. */
struct bp_dotnet_message bp_dotnet_collect(uint32_t buffer_mib, bool rundown);
struct bp_dotnet_message bp_dotnet_stop(uint64_t session);
/* Let a runtime go on that waits for us in its start. */
struct bp_dotnet_message bp_dotnet_resume(void);

enum bp_dotnet_reply { BP_DOTNET_MORE, BP_DOTNET_DONE, BP_DOTNET_REFUSED, BP_DOTNET_GARBAGE };

/* Reads a reply from the first `length` bytes received. MORE: not all of it is there. DONE:
 * `*ret_bytes` bytes of it; what follows is the trace. `ret_value`: the session, or the error of a
 * refusal. */
enum bp_dotnet_reply bp_dotnet_read_reply(
	const uint8_t *bytes, size_t length, size_t *ret_bytes, uint64_t *ret_value);

/* What an error means and what to do, as a clause. */
const char *bp_dotnet_error_text(uint64_t error);

/* What a runtime says when it connects. */
struct bp_dotnet_advertisement {
	uint8_t cookie
		[BP_DOTNET_COOKIE_BYTES]; /* of the runtime, the same in all its connections */
	uint64_t pid;			  /* in its own namespace */
};
/* `bytes`: BP_DOTNET_ADVERTISEMENT_BYTES of them. False: it is none. */
bool bp_dotnet_read_advertisement(
	const uint8_t *bytes, struct bp_dotnet_advertisement *ret_advertisement);

#endif
