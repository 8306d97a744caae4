/* SPDX-License-Identifier: MIT */
/*
 * Objects of a store in a bucket: look, put, get, list, remove. A request that fails for a reason
 * that may pass (no connection, an answer that was cut, status 408, 409, 429, 500, 502, 503 or 504)
 * is sent again, up to BP_BUCKET_ATTEMPTS times, after pauses that double from 0.2 s to 20 s, drawn
 * between a half and one and a half of that, and never shorter than the server's Retry-After. All
 * requests may be repeated without harm. Keys are relative to the prefix of the store.
 *
 * The key, the secret and the token are those of the environment: AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; likewise AWS_REGION, AWS_ENDPOINT_URL and
 * AWS_CA_BUNDLE.
 *
 * Called by cli/push and cli/fleet. One thread.
 */
#ifndef BP_BUCKET_BUCKET_H
#define BP_BUCKET_BUCKET_H

#include "bucket/address.h"
#include "bucket/http.h"
#include "bucket/listing.h"

#define BP_BUCKET_ATTEMPTS 6

struct bp_bucket {
	struct bp_bucket_address address;
	struct bp_http_identity identity;
	struct bp_curl curl;
	const volatile sig_atomic_t *stopped; /* ends requests and pauses; NULL: nothing does */
	uint64_t deadline_ns; /* of the monotonic clock, for all that is asked; 0: none */
	int attempts;	      /* of the last request */
	bool failed;	      /* the server failed or refused; cleared by the caller */
};

/* `text` is s3://BUCKET/PREFIX; `endpoint` may be NULL. Errors: of usage, which nothing but the
 * user can mend; `ret_bucket` is then untouched. */
bool bp_bucket_open(const char *text, const char *endpoint, bool allow_http,
	struct bp_bucket *ret_bucket, struct bp_error *error);
void bp_bucket_close(struct bp_bucket *bucket);

struct bp_bucket_object {
	bool there;
	char sha256[BP_SHA256_TEXT_BYTES]; /* as whoever put it said; empty: nobody did */
	int64_t age_s;			   /* by the server's clock; -1: not known */
};

/* Is there such an object? */
bool bp_bucket_look(struct bp_bucket *bucket, const char *key, struct bp_bucket_object *ret_object,
	struct bp_error *error);

/* Puts `bytes` of a file. With `only_if_absent` an object that is there stays, if the server knows
 * conditional puts, and `*ret_put` is false. */
bool bp_bucket_put(struct bp_bucket *bucket, const char *key, FILE *body, uint64_t bytes,
	const char *sha256, bool only_if_absent, bool *ret_put, struct bp_error *error);

/* Gets an object of at most `bytes_max` into a file, which is emptied before. What arrives must
 * have the hash that was put with it. */
bool bp_bucket_get(struct bp_bucket *bucket, const char *key, FILE *sink, uint64_t bytes_max,
	struct bp_error *error);

/* Removes an object; one that is not there is removed already. */
bool bp_bucket_remove(struct bp_bucket *bucket, const char *key, struct bp_error *error);

/* Calls `take` for each object whose key begins with `prefix`, a key or a part of one; keys are
 * given relative to the store. */
bool bp_bucket_list(struct bp_bucket *bucket, const char *prefix,
	bool (*take)(void *context, const struct bp_listed_object *object, struct bp_error *error),
	void *context, struct bp_error *error);

#endif
