/* SPDX-License-Identifier: MIT */
/*
 * See http.h. CURLOPT_AWS_SIGV4 signs all headers that are given, among them x-amz-content-sha256,
 * since libcurl 7.87; older versions are refused. What a server sends with an error is kept up to
 * ERROR_BYTES.
 */
#include "bucket/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bucket/listing.h"

#define ERROR_BYTES 4096u
/* A server that moves less than this for so long is given up. */
#define SLOW_SECONDS 60L
#define RETRY_AFTER_MAX_S 300u
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SHA256_HEADER "x-amz-meta-bytepoll-sha256"

/* One request on its way. */
struct exchange {
	const struct bp_curl *curl;
	const struct bp_http_request *request;
	struct bp_http_answer *answer;
	uint64_t sent, received;
	bool too_much;
	char error[ERROR_BYTES]; /* the beginning of an answer that is no 200 */
	size_t error_bytes;
};

static size_t on_read(char *to, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	const uint64_t left = exchange->request->bytes - exchange->sent;
	size_t bytes = size * count;
	if (bytes > left)
		bytes = (size_t)left;
	bytes = fread(to, 1, bytes, exchange->request->body);
	exchange->sent += bytes;
	return bytes;
}

/* libcurl begins anew where a kept connection turns out to be closed. */
static int on_seek(void *context, int64_t offset, int origin)
{
	struct exchange *exchange = context;
	if (origin != SEEK_SET || fseeko(exchange->request->body, (off_t)offset, SEEK_SET) != 0)
		return 1;
	exchange->sent = (uint64_t)offset;
	return 0;
}

static size_t on_write(char *from, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	size_t bytes = size * count;
	long status = 0;
	exchange->curl->get_info(exchange->curl->handle, BP_CURL_RESPONSE_CODE, &status);
	if (status != 200 || exchange->request->sink == NULL) {
		size_t room = ERROR_BYTES - exchange->error_bytes;
		room = room < bytes ? room : bytes;
		memcpy(exchange->error + exchange->error_bytes, from, room);
		exchange->error_bytes += room;
		return bytes;
	}
	exchange->received += bytes;
	exchange->too_much = exchange->received > exchange->request->bytes_max;
	return exchange->too_much ? 0 : fwrite(from, 1, bytes, exchange->request->sink);
}

/* A header's value without spaces around it, if the line is one of that name. */
static bool header_value(
	const char *line, size_t bytes, const char *name, char *ret_value, size_t value_bytes)
{
	const size_t of_name = strlen(name);
	if (bytes <= of_name || strncasecmp(line, name, of_name) != 0 || line[of_name] != ':')
		return false;
	const char *from = line + of_name + 1, *end = line + bytes;
	while (from < end && (*from == ' ' || *from == '\t'))
		from++;
	while (end > from && (unsigned char)end[-1] <= ' ')
		end--;
	if ((size_t)(end - from) >= value_bytes)
		return false;
	memcpy(ret_value, from, (size_t)(end - from));
	ret_value[end - from] = '\0';
	return true;
}

static uint64_t retry_after_ms(const char *value)
{
	char *end;
	const unsigned long seconds = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end != '\0')
		return 0; /* a date: the pause grows by itself */
	return (seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S) * UINT64_C(1000);
}

static bool is_word(const char *text)
{
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	struct bp_http_answer *answer = exchange->answer;
	const size_t bytes = size * count;
	char value[128];
	if (header_value(line, bytes, "Retry-After", value, sizeof value))
		answer->retry_after_ms = retry_after_ms(value);
	else if (header_value(line, bytes, "Date", value, sizeof value))
		answer->date_s = exchange->curl->date(value, NULL);
	else if (header_value(line, bytes, "Last-Modified", value, sizeof value))
		answer->modified_s = exchange->curl->date(value, NULL);
	else if (header_value(line, bytes, SHA256_HEADER, value, BP_SHA256_TEXT_BYTES) &&
		 is_word(value))
		strcpy(answer->sha256, value);
	else if (header_value(line, bytes, "x-amz-bucket-region", value, sizeof answer->region) &&
		 is_word(value))
		strcpy(answer->region, value);
	return bytes;
}

static int on_progress(void *context, int64_t down_all, int64_t down, int64_t up_all, int64_t up)
{
	const struct exchange *exchange = context;
	(void)down_all, (void)down, (void)up_all, (void)up;
	return exchange->request->stopped != NULL && *exchange->request->stopped != 0;
}

static bool add_headers(const struct bp_curl *curl, const struct bp_http_identity *identity,
	const struct bp_http_request *request, struct bp_curl_headers **ret_list)
{
	const bool puts = request->method == BP_HTTP_PUT;
	return bp_curl_add_header(curl, ret_list, "x-amz-content-sha256",
		       puts ? request->sha256 : EMPTY_SHA256) &&
	       (identity->token == NULL || bp_curl_add_header(curl, ret_list,
						   "x-amz-security-token", identity->token)) &&
	       (!puts || bp_curl_add_header(curl, ret_list, SHA256_HEADER, request->sha256)) &&
	       (!puts || bp_curl_add_header(curl, ret_list, "Content-Type",
				 "application/vnd.apache.parquet")) &&
	       (!request->only_if_absent ||
		       bp_curl_add_header(curl, ret_list, "If-None-Match", "*"));
}

static void set_options(const struct bp_curl *curl, const struct bp_http_identity *identity,
	struct exchange *exchange, const struct bp_curl_headers *headers, char *problem)
{
	const struct bp_http_request *request = exchange->request;
	char signature[128];
	void *const handle = curl->handle;
	snprintf(signature, sizeof signature, "aws:amz:%.64s:s3", identity->region);
	bp_curl_begin(curl, &(struct bp_curl_request){ .url = request->url,
				    .headers = headers,
				    .problem = problem,
				    .silent_seconds = SLOW_SECONDS,
				    .context = exchange,
				    .on_write = on_write,
				    .on_header = on_header,
				    .on_progress = on_progress });
	if (identity->authorities != NULL)
		curl->set(handle, BP_CURL_CAINFO, identity->authorities);
	curl->set(handle, BP_CURL_AWS_SIGV4, signature);
	curl->set(handle, BP_CURL_USERNAME, identity->key_id);
	curl->set(handle, BP_CURL_PASSWORD, identity->secret);
	curl->set(handle, BP_CURL_TIMEOUT_MS, (long)request->patience_ms);
	if (request->method == BP_HTTP_HEAD)
		curl->set(handle, BP_CURL_NOBODY, 1L);
	if (request->method == BP_HTTP_DELETE)
		curl->set(handle, BP_CURL_CUSTOMREQUEST, "DELETE");
	if (request->method != BP_HTTP_PUT)
		return;
	curl->set(handle, BP_CURL_UPLOAD, 1L);
	curl->set(handle, BP_CURL_INFILESIZE_LARGE, (int64_t)request->bytes);
	curl->set(handle, BP_CURL_READFUNCTION, on_read);
	curl->set(handle, BP_CURL_READDATA, exchange);
	curl->set(handle, BP_CURL_SEEKFUNCTION, on_seek);
	curl->set(handle, BP_CURL_SEEKDATA, exchange);
}

/* No answer came, or not all of it. */
static void judge_failure(const struct exchange *exchange, int code, const char *problem)
{
	struct bp_http_answer *answer = exchange->answer;
	answer->status = 0;
	answer->retry = !exchange->too_much && !bp_curl_is_for_good(code);
	snprintf(answer->problem, sizeof answer->problem, "%s",
		exchange->too_much   ? "the server sends more than there should be"
		: problem[0] != '\0' ? problem
				     : exchange->curl->describe(code));
}

void bp_http_send(const struct bp_curl *curl, const struct bp_http_identity *identity,
	const struct bp_http_request *request, struct bp_http_answer *ret_answer)
{
	struct exchange exchange = { .curl = curl, .request = request, .answer = ret_answer };
	struct bp_curl_headers *headers = NULL;
	char problem[BP_HTTP_TEXT_BYTES] = ""; /* BP_CURL_PROBLEM_BYTES at least */
	*ret_answer = (struct bp_http_answer){ .date_s = -1, .modified_s = -1 };
	if ((request->body != NULL && fseeko(request->body, 0, SEEK_SET) != 0) ||
		!add_headers(curl, identity, request, &headers)) {
		snprintf(ret_answer->problem, sizeof ret_answer->problem, "out of memory");
	} else {
		set_options(curl, identity, &exchange, headers, problem);
		const int code = curl->perform(curl->handle);
		curl->get_info(curl->handle, BP_CURL_RESPONSE_CODE, &ret_answer->status);
		if (code != 0)
			judge_failure(&exchange, code, problem);
		else
			bp_listing_error_code(exchange.error, exchange.error_bytes,
				ret_answer->code, sizeof ret_answer->code);
	}
	curl->reset(curl->handle); /* it forgets the secret */
	curl->free_headers(headers);
}
