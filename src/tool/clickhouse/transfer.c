/* SPDX-License-Identifier: MIT */
/*
 * See transfer.h. The numbers of options are those of curl/curl.h; they are part of the library's
 * binary interface and never change.
 */
#include "clickhouse/transfer.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/attributes.h"

#define CONNECT_MS 15000L
/* A question of many samples may take minutes in which nothing moves; a server that is silent for
 * longer is given up. */
#define SILENT_SECONDS 600L

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
	CURL_POST = 47,
	CURL_XFERINFODATA = 10057,
	CURL_SSL_VERIFYPEER = 64,
	CURL_FRESH_CONNECT = 74,
	CURL_FORBID_REUSE = 75,
	CURL_SSL_VERIFYHOST = 81,
	CURL_NOSIGNAL = 99,
	CURL_CONNECTTIMEOUT_MS = 156,
	CURL_PROTOCOLS = 181,
	CURL_WRITEFUNCTION = 20011,
	CURL_READFUNCTION = 20012,
	CURL_HEADERFUNCTION = 20079,
	CURL_XFERINFOFUNCTION = 20219,
	CURL_POSTFIELDSIZE_LARGE = 30120,
};
#define CURL_RESPONSE_CODE 0x200002
#define HTTP_AND_HTTPS 3L
/* Errors of libcurl that another attempt does not help: an address that is malformed or refused, a
 * sink that is full, an option it does not know, and everything about certificates. */
static const int hopeless[] = { 1, 2, 3, 4, 23, 27, 42, 43, 48, 53, 54, 58, 59, 60, 66, 77, 82, 83,
	90, 91 };

struct curl_list;

struct bp_transfer {
	void *handle;
	struct curl_list *headers;
	int (*set)(void *handle, int option, ...);
	int (*get_info)(void *handle, int info, ...);
	int (*perform)(void *handle);
	void (*reset)(void *handle);
	void (*clean_up)(void *handle);
	const char *(*describe)(int code);
	struct curl_list *(*append)(struct curl_list *list, const char *text);
	void (*free_list)(struct curl_list *list);
};

/* One request on its way. */
struct exchange {
	FILE *body, *sink;
	uint64_t left;
	const volatile sig_atomic_t *stopped;
	struct bp_transfer_answer *answer;
};

static bool find(void *library, const char *name, void *pointer_to_function)
{
	void *symbol = dlsym(library, name);
	memcpy(pointer_to_function, &symbol, sizeof symbol);
	return symbol != NULL;
}

static bool load(struct bp_transfer *transfer, struct bp_error *error)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	void *(*create)(void);
	void *library = NULL;
	for (size_t i = 0; library == NULL && i < BP_COUNT(names); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return bp_error_set(error,
			"clickhouse:// needs libcurl, which is not there: install libcurl4, or the "
			"package of your system that has libcurl.so.4");
	if (!find(library, "curl_easy_init", &create) ||
		!find(library, "curl_easy_setopt", &transfer->set) ||
		!find(library, "curl_easy_getinfo", &transfer->get_info) ||
		!find(library, "curl_easy_perform", &transfer->perform) ||
		!find(library, "curl_easy_reset", &transfer->reset) ||
		!find(library, "curl_easy_cleanup", &transfer->clean_up) ||
		!find(library, "curl_easy_strerror", &transfer->describe) ||
		!find(library, "curl_slist_append", &transfer->append) ||
		!find(library, "curl_slist_free_all", &transfer->free_list))
		return bp_error_set(error, "libcurl lacks a function that clickhouse:// needs");
	transfer->handle = create();
	return transfer->handle != NULL || bp_error_set(error, "libcurl cannot be started");
}

struct bp_transfer *bp_transfer_create(struct bp_error *error)
{
	struct bp_transfer *transfer = calloc(1, sizeof *transfer);
	if (transfer == NULL) {
		bp_error_set(error, "out of memory");
		return NULL;
	}
	if (load(transfer, error))
		return transfer;
	free(transfer);
	return NULL;
}

void bp_transfer_destroy(struct bp_transfer *transfer)
{
	if (transfer == NULL)
		return;
	transfer->free_list(transfer->headers);
	transfer->clean_up(transfer->handle);
	free(transfer);
}

/* Adds `NAME: VALUE`; false: memory. */
static bool add_header(struct bp_transfer *transfer, const char *name, const char *value)
{
	const size_t bytes = strlen(name) + strlen(value) + 3;
	char *line = malloc(bytes);
	if (line == NULL)
		return false;
	snprintf(line, bytes, "%s:%s%s", name, *value != '\0' ? " " : "", value);
	struct curl_list *longer = transfer->append(transfer->headers, line);
	explicit_bzero(line, bytes); /* (a password, perhaps) */
	free(line);
	if (longer != NULL)
		transfer->headers = longer;
	return longer != NULL;
}

static bool is_plain(const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

bool bp_transfer_identify(struct bp_transfer *transfer, const char *user, const char *password,
	struct bp_error *error)
{
	if (!is_plain(user) || !is_plain(password))
		return bp_error_set(
			error, "CLICKHOUSE_USER and CLICKHOUSE_PASSWORD: no control characters");
	/* (An empty Expect: the body is sent without waiting for leave.) */
	return (add_header(transfer, "Expect", "") &&
		       add_header(transfer, "Content-Type", "application/octet-stream") &&
		       (user == NULL || add_header(transfer, "X-ClickHouse-User", user)) &&
		       (password == NULL || add_header(transfer, "X-ClickHouse-Key", password))) ||
	       bp_error_set(error, "out of memory");
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
	void *const handle = transfer->handle;
	transfer->reset(handle);
	transfer->set(handle, CURL_URL, url);
	transfer->set(handle, CURL_PROTOCOLS, HTTP_AND_HTTPS);
	transfer->set(handle, CURL_SSL_VERIFYPEER, 1L);
	transfer->set(handle, CURL_SSL_VERIFYHOST, 2L);
	transfer->set(handle, CURL_FRESH_CONNECT, 1L);
	transfer->set(handle, CURL_FORBID_REUSE, 1L);
	transfer->set(handle, CURL_HTTPHEADER, transfer->headers);
	transfer->set(handle, CURL_NOSIGNAL, 1L);
	transfer->set(handle, CURL_CONNECTTIMEOUT_MS, CONNECT_MS);
	transfer->set(handle, CURL_LOW_SPEED_LIMIT, 1L);
	transfer->set(handle, CURL_LOW_SPEED_TIME, SILENT_SECONDS);
	transfer->set(handle, CURL_ERRORBUFFER, problem);
	transfer->set(handle, CURL_WRITEFUNCTION, on_write);
	transfer->set(handle, CURL_WRITEDATA, exchange);
	transfer->set(handle, CURL_HEADERFUNCTION, on_header);
	transfer->set(handle, CURL_HEADERDATA, exchange);
	transfer->set(handle, CURL_NOPROGRESS, 0L);
	transfer->set(handle, CURL_XFERINFOFUNCTION, on_progress);
	transfer->set(handle, CURL_XFERINFODATA, exchange);
	transfer->set(handle, CURL_POST, 1L);
	transfer->set(handle, CURL_POSTFIELDSIZE_LARGE, (int64_t)exchange->left);
	transfer->set(handle, CURL_READFUNCTION, on_read);
	transfer->set(handle, CURL_READDATA, exchange);
}

void bp_transfer_post(struct bp_transfer *transfer, const char *url, FILE *body, uint64_t bytes,
	FILE *sink, const volatile sig_atomic_t *stopped, struct bp_transfer_answer *ret_answer)
{
	struct exchange exchange = {
		.body = body, .sink = sink, .left = bytes, .stopped = stopped, .answer = ret_answer
	};
	char problem[BP_TRANSFER_TEXT_BYTES] = ""; /* CURL_ERROR_SIZE is 256 */
	*ret_answer = (struct bp_transfer_answer){ .status = 0 };
	if (fseeko(body, 0, SEEK_SET) != 0) {
		snprintf(ret_answer->problem, sizeof ret_answer->problem, "input/output error");
		return;
	}
	set_options(transfer, url, &exchange, problem);
	const int code = transfer->perform(transfer->handle);
	transfer->get_info(transfer->handle, CURL_RESPONSE_CODE, &ret_answer->status);
	if (code != 0) {
		ret_answer->status = 0;
		ret_answer->may_pass = true;
		for (size_t i = 0; i < BP_COUNT(hopeless); i++)
			ret_answer->may_pass = ret_answer->may_pass && hopeless[i] != code;
		snprintf(ret_answer->problem, sizeof ret_answer->problem, "%s",
			problem[0] != '\0' ? problem : transfer->describe(code));
	} else {
		ret_answer->may_pass = ret_answer->status >= 500 || ret_answer->status == 408 ||
				       ret_answer->status == 429;
	}
	transfer->reset(transfer->handle);
}
