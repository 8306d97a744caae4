/* SPDX-License-Identifier: MIT */
/*
 * See http.h. The numbers of options are those of curl/curl.h; they are part of the library's
 * binary interface and never change. CURLOPT_AWS_SIGV4 signs all headers that are given, among them
 * x-amz-content-sha256, since 7.87; older versions are refused. What a server sends with an error
 * is kept up to ERROR_BYTES.
 */
#include "bucket/http.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/attributes.h"
#include "bucket/listing.h"

#define VERSION_LEAST 0x075700u /* 7.87.0 */
#define ERROR_BYTES 4096u
#define CONNECT_MS 15000L
/* A server that moves less than this for so long is given up. */
#define SLOW_BYTES_PER_SECOND 1L
#define SLOW_SECONDS 60L
#define RETRY_AFTER_MAX_S 300u
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SHA256_HEADER "x-amz-meta-bytepoll-sha256"

enum curl_option {
	CURL_WRITEDATA = 10001,
	CURL_URL = 10002,
	CURL_READDATA = 10009,
	CURL_ERRORBUFFER = 10010,
	CURL_LOW_SPEED_LIMIT = 19,
	CURL_LOW_SPEED_TIME = 20,
	CURL_HTTPHEADER = 10023,
	CURL_HEADERDATA = 10029,
	CURL_NOPROGRESS = 43,
	CURL_NOBODY = 44,
	CURL_UPLOAD = 46,
	CURL_XFERINFODATA = 10057,
	CURL_SSL_VERIFYPEER = 64,
	CURL_CAINFO = 10065,
	CURL_SSL_VERIFYHOST = 81,
	CURL_NOSIGNAL = 99,
	CURL_TIMEOUT_MS = 155,
	CURL_CONNECTTIMEOUT_MS = 156,
	CURL_USERNAME = 10173,
	CURL_PASSWORD = 10174,
	CURL_AWS_SIGV4 = 10305,
	CURL_PROTOCOLS_STR = 10318,
	CURL_WRITEFUNCTION = 20011,
	CURL_READFUNCTION = 20012,
	CURL_HEADERFUNCTION = 20079,
	CURL_SEEKFUNCTION = 20167,
	CURL_SEEKDATA = 10168,
	CURL_XFERINFOFUNCTION = 20219,
	CURL_INFILESIZE_LARGE = 30115,
};
#define CURL_RESPONSE_CODE 0x200002

/* Errors of libcurl that another attempt does not help: a malformed address or one that is refused,
 * the sink that is full, an option it does not know, and everything about certificates. */
static const int hopeless[] = { 1, 2, 3, 4, 23, 27, 42, 43, 48, 53, 54, 58, 59, 60, 66, 77, 82, 83,
	90, 91 };

struct curl_list;

struct bp_http {
	void *handle;
	int (*set)(void *handle, int option, ...);
	int (*get_info)(void *handle, int info, ...);
	int (*perform)(void *handle);
	void (*reset)(void *handle);
	void (*clean_up)(void *handle);
	const char *(*describe)(int code);
	struct curl_list *(*append)(struct curl_list *list, const char *text);
	void (*free_list)(struct curl_list *list);
	int64_t (*date)(const char *text, const int64_t *now);
};

/* One request on its way. */
struct exchange {
	const struct bp_http *http;
	const struct bp_http_request *request;
	struct bp_http_answer *answer;
	uint64_t sent, received;
	bool too_much;
	char error[ERROR_BYTES]; /* the beginning of an answer that is no 200 */
	size_t error_bytes;
};

static bool find(void *library, const char *name, void *pointer_to_function)
{
	void *symbol = dlsym(library, name);
	memcpy(pointer_to_function, &symbol, sizeof symbol);
	return symbol != NULL;
}

static void *open_library(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	void *library = NULL;
	for (size_t i = 0; library == NULL && i < BP_COUNT(names); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

/* The first fields of curl_version_info_data, which all versions have. */
struct version_info {
	int age;
	const char *version;
	unsigned number;
};

static bool load(struct bp_http *http, struct bp_error *error)
{
	void *(*create)(void);
	const struct version_info *(*version)(int age);
	void *library = open_library();
	if (library == NULL)
		return bp_error_set(error,
			"s3:// needs libcurl, which is not there: install libcurl4, or the package "
			"of your system that has libcurl.so.4");
	if (!find(library, "curl_easy_init", &create) ||
		!find(library, "curl_version_info", &version) ||
		!find(library, "curl_easy_setopt", &http->set) ||
		!find(library, "curl_easy_getinfo", &http->get_info) ||
		!find(library, "curl_easy_perform", &http->perform) ||
		!find(library, "curl_easy_reset", &http->reset) ||
		!find(library, "curl_easy_cleanup", &http->clean_up) ||
		!find(library, "curl_easy_strerror", &http->describe) ||
		!find(library, "curl_slist_append", &http->append) ||
		!find(library, "curl_slist_free_all", &http->free_list) ||
		!find(library, "curl_getdate", &http->date))
		return bp_error_set(error, "libcurl lacks a function that s3:// needs");
	const struct version_info *info = version(0);
	if (info->number < VERSION_LEAST)
		return bp_error_set(
			error, "s3:// needs libcurl 7.87 or newer; here is %.32s", info->version);
	http->handle = create();
	return http->handle != NULL || bp_error_set(error, "libcurl cannot be started");
}

struct bp_http *bp_http_create(struct bp_error *error)
{
	struct bp_http *http = calloc(1, sizeof *http);
	if (http == NULL) {
		bp_error_set(error, "out of memory");
		return NULL;
	}
	if (load(http, error))
		return http;
	free(http);
	return NULL;
}

void bp_http_destroy(struct bp_http *http)
{
	if (http == NULL)
		return;
	http->clean_up(http->handle);
	free(http);
}

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
	exchange->http->get_info(exchange->http->handle, CURL_RESPONSE_CODE, &status);
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
		answer->date_s = exchange->http->date(value, NULL);
	else if (header_value(line, bytes, "Last-Modified", value, sizeof value))
		answer->modified_s = exchange->http->date(value, NULL);
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

/* Adds `NAME: VALUE` to the list; false: memory. */
static bool add_header(
	const struct bp_http *http, struct curl_list **list, const char *name, const char *value)
{
	const size_t bytes = strlen(name) + strlen(value) + 3;
	char *line = malloc(bytes);
	if (line == NULL)
		return false;
	snprintf(line, bytes, "%s: %s", name, value);
	struct curl_list *longer = http->append(*list, line);
	explicit_bzero(line, bytes); /* (a token, perhaps) */
	free(line);
	if (longer != NULL)
		*list = longer;
	return longer != NULL;
}

static bool add_headers(const struct bp_http *http, const struct bp_http_identity *identity,
	const struct bp_http_request *request, struct curl_list **ret_list)
{
	const bool puts = request->method == BP_HTTP_PUT;
	return add_header(http, ret_list, "x-amz-content-sha256",
		       puts ? request->sha256 : EMPTY_SHA256) &&
	       (identity->token == NULL ||
		       add_header(http, ret_list, "x-amz-security-token", identity->token)) &&
	       (!puts || add_header(http, ret_list, SHA256_HEADER, request->sha256)) &&
	       (!puts || add_header(http, ret_list, "Content-Type",
				 "application/vnd.apache.parquet")) &&
	       (!request->only_if_absent || add_header(http, ret_list, "If-None-Match", "*"));
}

static void set_options(const struct bp_http *http, const struct bp_http_identity *identity,
	struct exchange *exchange, const struct curl_list *headers, char *problem)
{
	const struct bp_http_request *request = exchange->request;
	char signature[128];
	void *const handle = http->handle;
	snprintf(signature, sizeof signature, "aws:amz:%.64s:s3", identity->region);
	http->reset(handle);
	http->set(handle, CURL_URL, request->url);
	http->set(handle, CURL_PROTOCOLS_STR, "http,https");
	http->set(handle, CURL_SSL_VERIFYPEER, 1L);
	http->set(handle, CURL_SSL_VERIFYHOST, 2L);
	if (identity->authorities != NULL)
		http->set(handle, CURL_CAINFO, identity->authorities);
	http->set(handle, CURL_AWS_SIGV4, signature);
	http->set(handle, CURL_USERNAME, identity->key_id);
	http->set(handle, CURL_PASSWORD, identity->secret);
	http->set(handle, CURL_HTTPHEADER, headers);
	http->set(handle, CURL_NOSIGNAL, 1L);
	http->set(handle, CURL_CONNECTTIMEOUT_MS, CONNECT_MS);
	http->set(handle, CURL_TIMEOUT_MS, (long)request->patience_ms);
	http->set(handle, CURL_LOW_SPEED_LIMIT, SLOW_BYTES_PER_SECOND);
	http->set(handle, CURL_LOW_SPEED_TIME, SLOW_SECONDS);
	http->set(handle, CURL_ERRORBUFFER, problem);
	http->set(handle, CURL_WRITEFUNCTION, on_write);
	http->set(handle, CURL_WRITEDATA, exchange);
	http->set(handle, CURL_HEADERFUNCTION, on_header);
	http->set(handle, CURL_HEADERDATA, exchange);
	http->set(handle, CURL_NOPROGRESS, 0L);
	http->set(handle, CURL_XFERINFOFUNCTION, on_progress);
	http->set(handle, CURL_XFERINFODATA, exchange);
	if (request->method == BP_HTTP_HEAD)
		http->set(handle, CURL_NOBODY, 1L);
	if (request->method != BP_HTTP_PUT)
		return;
	http->set(handle, CURL_UPLOAD, 1L);
	http->set(handle, CURL_INFILESIZE_LARGE, (int64_t)request->bytes);
	http->set(handle, CURL_READFUNCTION, on_read);
	http->set(handle, CURL_READDATA, exchange);
	http->set(handle, CURL_SEEKFUNCTION, on_seek);
	http->set(handle, CURL_SEEKDATA, exchange);
}

/* No answer came, or not all of it. */
static void judge_failure(const struct exchange *exchange, int code, const char *problem)
{
	struct bp_http_answer *answer = exchange->answer;
	answer->status = 0;
	answer->retry = !exchange->too_much;
	for (size_t i = 0; i < BP_COUNT(hopeless); i++)
		answer->retry = answer->retry && hopeless[i] != code;
	snprintf(answer->problem, sizeof answer->problem, "%s",
		exchange->too_much   ? "the server sends more than there should be"
		: problem[0] != '\0' ? problem
				     : exchange->http->describe(code));
}

void bp_http_send(struct bp_http *http, const struct bp_http_identity *identity,
	const struct bp_http_request *request, struct bp_http_answer *ret_answer)
{
	struct exchange exchange = { .http = http, .request = request, .answer = ret_answer };
	struct curl_list *headers = NULL;
	char problem[BP_HTTP_TEXT_BYTES] = ""; /* CURL_ERROR_SIZE is 256 */
	*ret_answer = (struct bp_http_answer){ .date_s = -1, .modified_s = -1 };
	if ((request->body != NULL && fseeko(request->body, 0, SEEK_SET) != 0) ||
		!add_headers(http, identity, request, &headers)) {
		snprintf(ret_answer->problem, sizeof ret_answer->problem, "out of memory");
	} else {
		set_options(http, identity, &exchange, headers, problem);
		const int code = http->perform(http->handle);
		http->get_info(http->handle, CURL_RESPONSE_CODE, &ret_answer->status);
		if (code != 0)
			judge_failure(&exchange, code, problem);
		else
			bp_listing_error_code(exchange.error, exchange.error_bytes,
				ret_answer->code, sizeof ret_answer->code);
	}
	http->reset(http->handle); /* it forgets the secret */
	http->free_list(headers);
}
