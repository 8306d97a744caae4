/* SPDX-License-Identifier: MIT */
/*
 * One request to a server of the S3 protocol, signed (AWS Signature Version 4) and sent by libcurl.
 * The library is looked for at run time, as libdebuginfod is: a machine that pushes into folders
 * needs none. It verifies certificates and the name of the host, follows no redirect, and speaks
 * http:// and https:// alone.
 *
 * Called by bucket.c. One client serves one thread.
 */
#ifndef BP_BUCKET_HTTP_H
#define BP_BUCKET_HTTP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "bucket/sha256.h"
#include "curl/curl.h"

#define BP_HTTP_TEXT_BYTES 512u
#define BP_HTTP_CURL_LEAST BP_CURL_VERSION(7u, 87u, 0u) /* older ones do not sign all headers */

/* Who asks: texts of the caller. They are in no message and no argument of a process. */
struct bp_http_identity {
	const char *key_id, *secret;
	const char *token;	 /* NULL: none */
	const char *region;	 /* letters, digits and dashes */
	const char *authorities; /* a file of certificates to trust; NULL: the system's */
};

enum bp_http_method { BP_HTTP_GET, BP_HTTP_HEAD, BP_HTTP_PUT, BP_HTTP_DELETE };

struct bp_http_request {
	enum bp_http_method method;
	const char *url; /* with a query that is sorted and encoded already */
	/* PUT: what is sent, `bytes` from the beginning of a file, and its hash. */
	FILE *body;
	uint64_t bytes;
	const char *sha256;
	bool only_if_absent; /* If-None-Match: * */
	/* GET: where the answer goes if its status is 200; more than `bytes_max` is an error. */
	FILE *sink;
	uint64_t bytes_max;
	uint64_t patience_ms;		      /* for the whole request, > 0 */
	const volatile sig_atomic_t *stopped; /* ends it when it is not 0; NULL: nothing does */
};

struct bp_http_answer {
	long status;		    /* 0: no answer came */
	bool retry;		    /* without an answer: another attempt may help */
	uint64_t retry_after_ms;    /* what the server asked for; 0: nothing */
	int64_t date_s, modified_s; /* by the server's clock, since 1970; -1: it did not say */
	char sha256[BP_SHA256_TEXT_BYTES]; /* as it was given with the PUT; empty: none */
	char region[64];		   /* that the server names; empty: none */
	char code[64];			   /* of an error, one word of letters; empty: none */
	char problem[BP_HTTP_TEXT_BYTES];  /* without an answer: why */
};

/* Sends it, once, by a client of BP_HTTP_CURL_LEAST or newer. What went wrong is in the answer. */
void bp_http_send(const struct bp_curl *curl, const struct bp_http_identity *identity,
	const struct bp_http_request *request, struct bp_http_answer *ret_answer);

#endif
