/* SPDX-License-Identifier: MIT */
/* See service.h. */
#include "service/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/system_call.h"
#include "curl/curl.h"

#define URL_BYTES 1024u
#define PROBLEM_BYTES 512u /* BP_CURL_PROBLEM_BYTES at least */
#define ATTEMPTS 6
#define FIRST_PAUSE_NS UINT64_C(200000000)
#define STEP_NS UINT64_C(50000000) /* so often a pause looks whether it is to end */
#define RETRY_AFTER_MAX_S 60ul
#define SECOND_NS UINT64_C(1000000000)
#define SILENT_SECONDS 60L

struct bp_service {
	struct bp_curl curl;
	struct bp_curl_headers *headers;
	const volatile sig_atomic_t *stopped;
	const char *user, *password; /* of the environment; NULL: none */
	bool is_down;
	char url[URL_BYTES];
};

/* One request on its way. */
struct exchange {
	const struct bp_service *service;
	struct bp_service_answer *answer;
	uint64_t retry_after_ns; /* 0: the server does not say */
	long status;		 /* of HTTP; 0: no whole answer came */
	bool may_pass;
	char problem[PROBLEM_BYTES];
};

bool bp_service_is_address(const char *text, const char *const *kinds, unsigned *ret_kind)
{
	for (unsigned i = 0; kinds[i] != NULL; i++) {
		const size_t bytes = strlen(kinds[i]);
		if (strncmp(text, kinds[i], bytes) != 0 || text[bytes] != '+')
			continue;
		*ret_kind = i;
		return true;
	}
	return false;
}

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* The host of an URL, and whether what is sent to it leaves this machine unencrypted. */
static bool read_url(const char *url, bool *ret_open)
{
	const bool https = strncmp(url, "https://", 8) == 0;
	if (!https && strncmp(url, "http://", 7) != 0)
		return false;
	const char *host = url + (https ? 8 : 7), *end = host + strcspn(host, "/");
	const size_t bytes = (size_t)(end - host);
	if (bytes == 0 || strspn(host, "[]:.-" DIGITS LETTERS) != bytes ||
		end[strspn(end, "/_.~-" DIGITS LETTERS)] != '\0')
		return false;
	const size_t name_bytes = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
	const bool here =
		(name_bytes == 9 && strncasecmp(host, "localhost", 9) == 0) ||
		(strncmp(host, "127.", 4) == 0 && strspn(host, "." DIGITS) == name_bytes) ||
		(name_bytes == 5 && strncmp(host, "[::1]", 5) == 0);
	*ret_open = !https && !here;
	return true;
}

static bool is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static const char *secret(const char *name, bool *plain)
{
	const char *value = getenv(name);
	if (value == NULL || *value == '\0')
		return NULL;
	*plain = *plain && is_plain(value);
	return value;
}

static bool add_header(struct bp_service *service, const char *name, const char *value)
{
	return bp_curl_add_header(&service->curl, &service->headers, name, value);
}

static bool add_token(struct bp_service *service, const char *token)
{
	char *value = NULL;
	const int bytes = token == NULL ? 0 : asprintf(&value, "Bearer %s", token);
	const bool good =
		token == NULL || (bytes > 0 && add_header(service, "Authorization", value));
	if (token != NULL && bytes > 0) {
		explicit_bzero(value, (size_t)bytes);
		free(value);
	}
	return good;
}

static bool open_curl(struct bp_service *service, const char *address, const char *content_type,
	bool is_open, struct bp_error *error)
{
	bool plain = true;
	const char *token = secret("BYTEPOLL_PUSH_TOKEN", &plain);
	const char *tenant = secret("BYTEPOLL_PUSH_TENANT", &plain);
	service->user = secret("BYTEPOLL_PUSH_USER", &plain);
	service->password = secret("BYTEPOLL_PUSH_PASSWORD", &plain);
	if (!plain)
		return bp_error_set(error,
			"BYTEPOLL_PUSH_TOKEN, _USER, _PASSWORD and _TENANT: no control characters");
	if (token != NULL && service->user != NULL)
		return bp_error_set(
			error, "BYTEPOLL_PUSH_TOKEN and BYTEPOLL_PUSH_USER: set one of them");
	if (is_open && (token != NULL || service->user != NULL))
		return bp_error_set(error,
			"%.200s: a token or a password is not sent unencrypted: use https",
			address);
	if (!bp_curl_open("push to a service", 0, &service->curl, error))
		return false;
	/* (An empty Expect: the body is sent without waiting for leave.) */
	return (add_header(service, "Expect", "") &&
		       add_header(service, "Content-Type", content_type) &&
		       add_token(service, token) &&
		       (tenant == NULL || add_header(service, "X-Scope-OrgID", tenant))) ||
	       bp_error_set(error, "out of memory");
}

bool bp_service_open(const char *address, const char *path, const char *content_type,
	const volatile sig_atomic_t *stopped, struct bp_service **ret_service,
	struct bp_error *error)
{
	const char *url = strchr(address, '+') + 1;
	size_t bytes = strlen(url);
	bool is_open = false;
	if (strchr(url, '@') != NULL)
		return bp_error_set(error,
			"a user and a password do not belong into an address: set "
			"BYTEPOLL_PUSH_USER and BYTEPOLL_PUSH_PASSWORD, or BYTEPOLL_PUSH_TOKEN");
	if (!read_url(url, &is_open))
		return bp_error_set(error,
			"%.200s: write %.*shttps://HOST:PORT, or with a path behind it", address,
			(int)(url - address), address);
	struct bp_service *service = calloc(1, sizeof *service);
	if (service == NULL)
		return bp_error_set(error, "out of memory");
	while (url[bytes - 1] == '/')
		bytes--;
	if ((size_t)snprintf(service->url, URL_BYTES, "%.*s%s", (int)bytes, url, path) >=
		URL_BYTES) {
		free(service);
		return bp_error_set(error, "%.64s...: the address is too long", address);
	}
	service->stopped = stopped;
	if (!open_curl(service, address, content_type, is_open, error)) {
		bp_service_close(service);
		return false;
	}
	*ret_service = service;
	return true;
}

void bp_service_close(struct bp_service *service)
{
	if (service == NULL)
		return;
	if (service->headers != NULL)
		service->curl.free_headers(service->headers);
	bp_curl_close(&service->curl);
	free(service);
}

const char *bp_service_url(const struct bp_service *service)
{
	return service->url;
}

/* ---- one request ---- */

static size_t on_write(char *from, size_t size, size_t count, void *context)
{
	struct bp_service_answer *answer = ((struct exchange *)context)->answer;
	const size_t bytes = size * count, room = sizeof answer->bytes - answer->count;
	memcpy(answer->bytes + answer->count, from, bytes < room ? bytes : room);
	answer->count += bytes < room ? bytes : room;
	return bytes;
}

/* (A Retry-After that is a date is passed by: the pause grows by itself.) */
static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	static const char name[] = "Retry-After:";
	struct exchange *exchange = context;
	const size_t bytes = size * count;
	char value[16] = "", *end;
	if (bytes < sizeof name || strncasecmp(line, name, sizeof name - 1) != 0)
		return bytes;
	const size_t rest = bytes - (sizeof name - 1);
	memcpy(value, line + sizeof name - 1, rest < sizeof value ? rest : sizeof value - 1);
	const unsigned long seconds = strtoul(value, &end, 10);
	if (strspn(end, " \r\n") == strlen(end))
		exchange->retry_after_ns =
			(seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S) * SECOND_NS;
	return bytes;
}

static int on_progress(void *context, int64_t down_all, int64_t down, int64_t up_all, int64_t up)
{
	const struct exchange *exchange = context;
	(void)down_all, (void)down, (void)up_all, (void)up;
	return *exchange->service->stopped != 0;
}

static void set_options(
	const struct bp_service *service, struct exchange *exchange, const void *body, size_t bytes)
{
	const struct bp_curl *curl = &service->curl;
	void *const handle = curl->handle;
	bp_curl_begin(curl, &(struct bp_curl_request){ .url = service->url,
				    .headers = service->headers,
				    .problem = exchange->problem,
				    .silent_seconds = SILENT_SECONDS,
				    .context = exchange,
				    .on_write = on_write,
				    .on_header = on_header,
				    .on_progress = on_progress });
	curl->set(handle, BP_CURL_FRESH_CONNECT, 1L);
	curl->set(handle, BP_CURL_FORBID_REUSE, 1L);
	if (service->user != NULL) {
		curl->set(handle, BP_CURL_USERNAME, service->user);
		curl->set(handle, BP_CURL_PASSWORD,
			service->password != NULL ? service->password : "");
	}
	curl->set(handle, BP_CURL_POST, 1L);
	curl->set(handle, BP_CURL_POSTFIELDSIZE_LARGE, (int64_t)bytes);
	curl->set(handle, BP_CURL_POSTFIELDS, body);
}

static void post(
	const struct bp_service *service, struct exchange *exchange, const void *body, size_t bytes)
{
	const struct bp_curl *curl = &service->curl;
	exchange->answer->count = 0;
	exchange->retry_after_ns = 0;
	exchange->status = 0;
	exchange->problem[0] = '\0';
	set_options(service, exchange, body, bytes);
	const int code = curl->perform(curl->handle);
	if (code == 0)
		curl->get_info(curl->handle, BP_CURL_RESPONSE_CODE, &exchange->status);
	else if (exchange->problem[0] == '\0')
		snprintf(exchange->problem, PROBLEM_BYTES, "%s", curl->describe(code));
	exchange->may_pass = code != 0 ? !bp_curl_is_for_good(code)
				       : exchange->status >= 500 || exchange->status == 408 ||
						 exchange->status == 429;
	curl->reset(curl->handle); /* it forgets the secret */
}

/* ---- attempts ---- */

static void pause_for(const struct bp_service *service, uint64_t time_ns)
{
	for (uint64_t passed_ns = 0; passed_ns < time_ns && *service->stopped == 0;) {
		const uint64_t step_ns =
			time_ns - passed_ns < STEP_NS ? time_ns - passed_ns : STEP_NS;
		nanosleep(&(struct timespec){ 0, (long)step_ns }, NULL);
		passed_ns += step_ns;
	}
}

/* Between a half and one and a half of it, so that many pushers do not come together. */
static uint64_t spread(uint64_t mean_ns)
{
	uint32_t random;
	bp_system_random(&random, sizeof random);
	return mean_ns / 2 + mean_ns * (random >> 16) / 65536;
}

/* What the server says, in one line. */
static bool complain(
	const struct bp_service *service, const struct exchange *exchange, struct bp_error *error)
{
	const struct bp_service_answer *answer = exchange->answer;
	char line[401];
	size_t bytes = answer->count < sizeof line - 1 ? answer->count : sizeof line - 1;
	if (exchange->status == 0)
		return bp_error_set(error, "%.300s: %s", service->url, exchange->problem);
	memcpy(line, answer->bytes, bytes);
	line[bytes] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return bp_error_set(error, "%.300s: HTTP status %ld%s%s%s", service->url, exchange->status,
		line[0] != '\0' ? ": " : "", line,
		exchange->status == 401 || exchange->status == 403
			? " (BYTEPOLL_PUSH_TOKEN, or BYTEPOLL_PUSH_USER and "
			  "BYTEPOLL_PUSH_PASSWORD, say who asks)"
			: "");
}

bool bp_service_send(struct bp_service *service, const void *body, size_t bytes,
	struct bp_service_answer *ret_answer, struct bp_error *error)
{
	struct exchange exchange = { .service = service, .answer = ret_answer };
	for (int i = 0; i < ATTEMPTS && *service->stopped == 0; i++) {
		if (i > 0)
			pause_for(service, exchange.retry_after_ns != 0
						   ? exchange.retry_after_ns
						   : spread(FIRST_PAUSE_NS << (i - 1)));
		if (*service->stopped != 0)
			break;
		post(service, &exchange, body, bytes);
		if (exchange.status >= 200 && exchange.status < 300)
			return true;
		if (!exchange.may_pass)
			break;
	}
	/* (Who may not ask, or asks at a wrong address, may not or does so with every body.) */
	service->is_down = exchange.may_pass || exchange.status == 0 || exchange.status == 401 ||
			   exchange.status == 403 || exchange.status == 404;
	return *service->stopped != 0 ? bp_error_set(error, "stopped")
				      : complain(service, &exchange, error);
}

bool bp_service_is_down(const struct bp_service *service)
{
	return service->is_down;
}
