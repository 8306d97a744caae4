/* SPDX-License-Identifier: MIT */
/* See transfer.h. */
#include "clickhouse/transfer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A question of many samples may take minutes in which nothing moves; a server that is silent for
 * longer is given up. */
#define SILENT_SECONDS 600L

/* One request on its way. */
struct exchange {
	FILE *body, *sink;
	uint64_t left;
	const volatile sig_atomic_t *stopped;
	struct bp_transfer_answer *answer;
};

static bool add_header(struct bp_transfer *transfer, const char *name, const char *value)
{
	return bp_curl_add_header(&transfer->curl, &transfer->headers, name, value);
}

static bool is_plain(const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

bool bp_transfer_open(struct bp_transfer *transfer, const char *user, const char *password,
	struct bp_error *error)
{
	if (!is_plain(user) || !is_plain(password))
		return bp_error_set(
			error, "CLICKHOUSE_USER and CLICKHOUSE_PASSWORD: no control characters");
	if (!bp_curl_open("clickhouse://", 0, &transfer->curl, error))
		return false;
	/* (An empty Expect: the body is sent without waiting for leave.) */
	return (add_header(transfer, "Expect", "") &&
		       add_header(transfer, "Content-Type", "application/octet-stream") &&
		       (user == NULL || add_header(transfer, "X-ClickHouse-User", user)) &&
		       (password == NULL || add_header(transfer, "X-ClickHouse-Key", password))) ||
	       bp_error_set(error, "out of memory");
}

void bp_transfer_close(struct bp_transfer *transfer)
{
	if (transfer->headers != NULL)
		transfer->curl.free_headers(transfer->headers);
	transfer->headers = NULL;
	bp_curl_close(&transfer->curl);
}

static size_t on_read(char *to, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	size_t bytes = size * count;
	if (bytes > exchange->left)
		bytes = (size_t)exchange->left;
	bytes = fread(to, 1, bytes, exchange->body);
	exchange->left -= bytes;
	return bytes;
}

static size_t on_write(char *from, size_t size, size_t count, void *context)
{
	const struct exchange *exchange = context;
	return fwrite(from, 1, size * count, exchange->sink);
}

/* A header, or a field behind the body: the server failed after it had begun to answer. */
static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	static const char name[] = "X-ClickHouse-Exception-Code:";
	const size_t bytes = size * count;
	struct bp_transfer_answer *answer = ((struct exchange *)context)->answer;
	char value[32] = "";
	if (bytes < sizeof name || strncasecmp(line, name, sizeof name - 1) != 0)
		return bytes;
	const size_t rest = bytes - (sizeof name - 1);
	memcpy(value, line + sizeof name - 1, rest < sizeof value ? rest : sizeof value - 1);
	answer->exception = true;
	answer->exception_code = strtol(value, NULL, 10);
	return bytes;
}

static int on_progress(void *context, int64_t down_all, int64_t down, int64_t up_all, int64_t up)
{
	const struct exchange *exchange = context;
	(void)down_all, (void)down, (void)up_all, (void)up;
	return exchange->stopped != NULL && *exchange->stopped != 0;
}

static void set_options(const struct bp_transfer *transfer, const char *url,
	struct exchange *exchange, char *problem)
{
	const struct bp_curl *curl = &transfer->curl;
	void *const handle = curl->handle;
	bp_curl_begin(curl, &(struct bp_curl_request){ .url = url,
				    .headers = transfer->headers,
				    .problem = problem,
				    .silent_seconds = SILENT_SECONDS,
				    .context = exchange,
				    .on_write = on_write,
				    .on_header = on_header,
				    .on_progress = on_progress });
	curl->set(handle, BP_CURL_FRESH_CONNECT, 1L);
	curl->set(handle, BP_CURL_FORBID_REUSE, 1L);
	curl->set(handle, BP_CURL_POST, 1L);
	curl->set(handle, BP_CURL_POSTFIELDSIZE_LARGE, (int64_t)exchange->left);
	curl->set(handle, BP_CURL_READFUNCTION, on_read);
	curl->set(handle, BP_CURL_READDATA, exchange);
}

void bp_transfer_post(struct bp_transfer *transfer, const char *url, FILE *body, uint64_t bytes,
	FILE *sink, const volatile sig_atomic_t *stopped, struct bp_transfer_answer *ret_answer)
{
	struct exchange exchange = {
		.body = body, .sink = sink, .left = bytes, .stopped = stopped, .answer = ret_answer
	};
	char problem[BP_TRANSFER_TEXT_BYTES] = ""; /* BP_CURL_PROBLEM_BYTES at least */
	*ret_answer = (struct bp_transfer_answer){ .status = 0 };
	if (fseeko(body, 0, SEEK_SET) != 0) {
		snprintf(ret_answer->problem, sizeof ret_answer->problem, "input/output error");
		return;
	}
	set_options(transfer, url, &exchange, problem);
	const int code = transfer->curl.perform(transfer->curl.handle);
	transfer->curl.get_info(transfer->curl.handle, BP_CURL_RESPONSE_CODE, &ret_answer->status);
	if (code != 0) {
		ret_answer->status = 0;
		ret_answer->may_pass = !bp_curl_is_for_good(code);
		snprintf(ret_answer->problem, sizeof ret_answer->problem, "%s",
			problem[0] != '\0' ? problem : transfer->curl.describe(code));
	} else {
		ret_answer->may_pass = ret_answer->status >= 500 || ret_answer->status == 408 ||
				       ret_answer->status == 429;
	}
	transfer->curl.reset(transfer->curl.handle);
}
