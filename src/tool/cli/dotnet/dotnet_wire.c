/* SPDX-License-Identifier: MIT */
/* See dotnet_wire.h. */
#include "cli/dotnet/dotnet_wire.h"

#include <string.h>

#include "base/bytes.h"

#define MAGIC "DOTNET_IPC_V1"
#define MAGIC_BYTES 14u /* the zero counts */
#define HEADER_BYTES 20u
#define LENGTH_AT 14u
#define ADVERTISEMENT_MAGIC "ADVR_V1"
#define ADVERTISEMENT_MAGIC_BYTES 8u

#define PROVIDER "Microsoft-Windows-DotNETRuntime"
/* Sizes of the heap after each garbage collection: some twenty events of 1.2 KB in all for each
 * (server GC: 0.7 KB for each heap more). */
#define KEYWORD_GC ((uint64_t)0x1)
#define KEYWORD_ALLOCATION_SAMPLING ((uint64_t)0x80000000000)
#define LEVEL_INFORMATIONAL 4u
#define FORMAT_NETTRACE 1u

enum set { SET_EVENT_PIPE = 2, SET_PROCESS = 4, SET_SERVER = 0xFF };
enum command { COMMAND_STOP = 1, COMMAND_COLLECT_2 = 3, COMMAND_RESUME = 1 };
enum answer { ANSWER_OK = 0, ANSWER_ERROR = 0xFF };

static struct bp_bytes_out begin(
	struct bp_dotnet_message *message, enum set set, enum command command)
{
	struct bp_bytes_out out = bp_bytes_out_of(message->bytes, sizeof message->bytes);
	bp_bytes_put(&out, MAGIC, MAGIC_BYTES);
	bp_bytes_put_u16(&out, 0); /* length, in the end */
	bp_bytes_put_u8(&out, (uint8_t)set);
	bp_bytes_put_u8(&out, (uint8_t)command);
	bp_bytes_put_u16(&out, 0);
	return out;
}

static void end(struct bp_dotnet_message *message, const struct bp_bytes_out *out)
{
	message->length = (size_t)(out->at - message->bytes);
	const uint16_t length = (uint16_t)message->length;
	memcpy(message->bytes + LENGTH_AT, &length, sizeof length);
}

/* ASCII as UTF-16 with its length before it and a zero behind. */
static void put_text(struct bp_bytes_out *out, const char *text)
{
	const size_t length = strlen(text);
	bp_bytes_put_u32(out, (uint32_t)length + 1);
	for (size_t i = 0; i <= length; i++)
		bp_bytes_put_u16(out, (uint8_t)text[i]);
}

struct bp_dotnet_message bp_dotnet_collect(uint32_t buffer_mib, bool rundown)
{
	struct bp_dotnet_message message;
	struct bp_bytes_out out = begin(&message, SET_EVENT_PIPE, COMMAND_COLLECT_2);
	bp_bytes_put_u32(&out, buffer_mib);
	bp_bytes_put_u32(&out, FORMAT_NETTRACE);
	bp_bytes_put_u8(&out, rundown);
	bp_bytes_put_u32(&out, 1); /* provider */
	bp_bytes_put_u64(&out, KEYWORD_ALLOCATION_SAMPLING | KEYWORD_GC);
	bp_bytes_put_u32(&out, LEVEL_INFORMATIONAL);
	put_text(&out, PROVIDER);
	bp_bytes_put_u32(&out, 0); /* no arguments */
	end(&message, &out);
	return message;
}

struct bp_dotnet_message bp_dotnet_stop(uint64_t session)
{
	struct bp_dotnet_message message;
	struct bp_bytes_out out = begin(&message, SET_EVENT_PIPE, COMMAND_STOP);
	bp_bytes_put_u64(&out, session);
	end(&message, &out);
	return message;
}

struct bp_dotnet_message bp_dotnet_resume(void)
{
	struct bp_dotnet_message message;
	struct bp_bytes_out out = begin(&message, SET_PROCESS, COMMAND_RESUME);
	end(&message, &out);
	return message;
}

enum bp_dotnet_reply bp_dotnet_read_reply(
	const uint8_t *bytes, size_t length, size_t *ret_bytes, uint64_t *ret_value)
{
	const size_t known = length < MAGIC_BYTES ? length : MAGIC_BYTES;
	if (memcmp(bytes, MAGIC, known) != 0)
		return BP_DOTNET_GARBAGE;
	if (length < HEADER_BYTES)
		return BP_DOTNET_MORE;
	struct bp_bytes in = bp_bytes_of(bytes + LENGTH_AT, length - LENGTH_AT);
	const uint16_t all = bp_bytes_u16(&in);
	const uint8_t set = bp_bytes_u8(&in), answer = bp_bytes_u8(&in);
	(void)bp_bytes_u16(&in);
	if (all < HEADER_BYTES || all > BP_DOTNET_REPLY_MAX || set != SET_SERVER ||
		(answer != ANSWER_OK && answer != ANSWER_ERROR))
		return BP_DOTNET_GARBAGE;
	if (length < all)
		return BP_DOTNET_MORE;
	*ret_bytes = all;
	if (answer == ANSWER_ERROR) {
		*ret_value = all >= HEADER_BYTES + 4 ? bp_bytes_u32(&in) : 0;
		return BP_DOTNET_REFUSED;
	}
	if (all < HEADER_BYTES + 8)
		return BP_DOTNET_GARBAGE; /* without its number a session cannot be stopped */
	*ret_value = bp_bytes_u64(&in);
	return BP_DOTNET_DONE;
}

const char *bp_dotnet_error_text(uint64_t error)
{
	switch (error) {
	case 0x80131384:
		return "it does not understand the request: is it older than .NET 5?";
	case 0x80131385:
		return "it does not know the command: is it older than .NET 5?";
	case 0x80131386:
		return "it speaks another protocol";
	case 0x80004005:
		return "it has 64 sessions already: end some of them";
	default:
		return "it gave no reason known here";
	}
}

bool bp_dotnet_read_advertisement(
	const uint8_t *bytes, struct bp_dotnet_advertisement *ret_advertisement)
{
	if (memcmp(bytes, ADVERTISEMENT_MAGIC, ADVERTISEMENT_MAGIC_BYTES) != 0)
		return false;
	bytes += ADVERTISEMENT_MAGIC_BYTES;
	memcpy(ret_advertisement->cookie, bytes, sizeof ret_advertisement->cookie);
	memcpy(&ret_advertisement->pid, bytes + sizeof ret_advertisement->cookie,
		sizeof ret_advertisement->pid);
	return true;
}
