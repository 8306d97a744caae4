/* SPDX-License-Identifier: MIT */
/*
 * libcurl, looked for at run time, as libdebuginfod is: whoever asks no server needs none. What is
 * common to those who send requests (bucket, clickhouse, service): its functions, the numbers of
 * its options, and which of its errors are for good.
 *
 * A client serves one thread.
 */
#ifndef BP_CURL_CURL_H
#define BP_CURL_CURL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Those of curl/curl.h; they are part of the library's binary interface and never change. */
enum bp_curl_option {
	BP_CURL_LOW_SPEED_LIMIT = 19,
	BP_CURL_LOW_SPEED_TIME = 20,
	BP_CURL_NOPROGRESS = 43,
	BP_CURL_NOBODY = 44,
	BP_CURL_UPLOAD = 46,
	BP_CURL_POST = 47,
	BP_CURL_SSL_VERIFYPEER = 64,
	BP_CURL_FRESH_CONNECT = 74,
	BP_CURL_FORBID_REUSE = 75,
	BP_CURL_SSL_VERIFYHOST = 81,
	BP_CURL_NOSIGNAL = 99,
	BP_CURL_TIMEOUT_MS = 155,
	BP_CURL_CONNECTTIMEOUT_MS = 156,
	BP_CURL_PROTOCOLS = 181,
	BP_CURL_WRITEDATA = 10001,
	BP_CURL_URL = 10002,
	BP_CURL_READDATA = 10009,
	BP_CURL_ERRORBUFFER = 10010,
	BP_CURL_POSTFIELDS = 10015,
	BP_CURL_HTTPHEADER = 10023,
	BP_CURL_HEADERDATA = 10029,
	BP_CURL_CUSTOMREQUEST = 10036,
	BP_CURL_XFERINFODATA = 10057,
	BP_CURL_CAINFO = 10065,
	BP_CURL_SEEKDATA = 10168,
	BP_CURL_USERNAME = 10173,
	BP_CURL_PASSWORD = 10174,
	BP_CURL_AWS_SIGV4 = 10305,
	BP_CURL_WRITEFUNCTION = 20011,
	BP_CURL_READFUNCTION = 20012,
	BP_CURL_HEADERFUNCTION = 20079,
	BP_CURL_SEEKFUNCTION = 20167,
	BP_CURL_XFERINFOFUNCTION = 20219,
	BP_CURL_INFILESIZE_LARGE = 30115,
	BP_CURL_POSTFIELDSIZE_LARGE = 30120,
};
#define BP_CURL_RESPONSE_CODE 0x200002
#define BP_CURL_HTTP_AND_HTTPS 3L  /* of BP_CURL_PROTOCOLS */
#define BP_CURL_PROBLEM_BYTES 256u /* of BP_CURL_ERRORBUFFER */
#define BP_CURL_VERSION(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))

struct bp_curl_headers; /* a list; NULL: an empty one */

struct bp_curl {
	void *handle;
	int (*set)(void *handle, int option, ...);
	int (*get_info)(void *handle, int info, ...);
	int (*perform)(void *handle);
	void (*reset)(void *handle);
	void (*clean_up)(void *handle);
	const char *(*describe)(int code);
	struct bp_curl_headers *(*append)(struct bp_curl_headers *list, const char *text);
	void (*free_headers)(struct bp_curl_headers *list);
	int64_t (*date)(const char *text, const int64_t *now); /* seconds since 1970; -1: none */
};

/* Fills `ret_curl`. Errors: the library is not there, or older than `version_least`
 * (BP_CURL_VERSION; 0: any will do); they name `who`, such as "s3://", as what needs it. */
bool bp_curl_open(
	const char *who, unsigned version_least, struct bp_curl *ret_curl, struct bp_error *error);
void bp_curl_close(struct bp_curl *curl); /* safe on zeroed memory */

/* Adds `NAME: VALUE`; an empty value takes away a header of libcurl's own. The line may be a
 * secret: it is wiped here. False: memory. */
bool bp_curl_add_header(const struct bp_curl *curl, struct bp_curl_headers **list, const char *name,
	const char *value);

/* What a request has whoever sends it. The functions are libcurl's, and all get `context`; the line
 * and the data are not terminated, and `on_progress` ends the request by a result that is not 0. */
struct bp_curl_request {
	const char *url;
	const struct bp_curl_headers *headers;
	char *problem; /* BP_CURL_PROBLEM_BYTES at least; libcurl writes there what went wrong */
	long silent_seconds; /* without a byte it ends after so many */
	void *context;
	size_t (*on_write)(char *data, size_t size, size_t count, void *context);
	size_t (*on_header)(char *line, size_t size, size_t count, void *context);
	int (*on_progress)(
		void *context, int64_t down_all, int64_t down, int64_t up_all, int64_t up);
};

/* Forgets the options of the request before, and sets those of this one: http and https alone,
 * certificates and the name of the host are verified, no redirect is followed, no signal is used,
 * and a connection comes within 15 s. What the request points to must last until `perform` is
 * done. */
void bp_curl_begin(const struct bp_curl *curl, const struct bp_curl_request *request);

/* Is it an error of `perform` that another attempt does not help? */
bool bp_curl_is_for_good(int code);

#endif
