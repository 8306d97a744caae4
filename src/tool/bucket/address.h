/* SPDX-License-Identifier: MIT */
/*
 * Where a store in buckets is: s3://BUCKET/PREFIX, and which server has it. Only names that stand
 * unchanged in a URL are taken, so that what is signed, what is sent and what a list shows are the
 * same bytes. Pure; one thread.
 */
#ifndef BP_BUCKET_ADDRESS_H
#define BP_BUCKET_ADDRESS_H

#include <stdbool.h>

#include "base/error.h"

#define BP_BUCKET_NAME_BYTES 64u
#define BP_BUCKET_PREFIX_BYTES 513u

struct bp_bucket_address {
	char base[384]; /* of URLs: the server, and the bucket where the server's name has it not */
	char name[BP_BUCKET_NAME_BYTES];
	char prefix[BP_BUCKET_PREFIX_BYTES]; /* empty, or it ends with a slash */
};

/* Does it begin with s3://? */
bool bp_bucket_is_address(const char *text);

/* `endpoint` is http(s)://HOST[:PORT], or NULL for Amazon's server of the region. Errors: `text` or
 * `endpoint` is none; an endpoint of http:// that is not this machine itself, without
 * `allow_http`. */
bool bp_bucket_address_read(const char *text, const char *endpoint, const char *region,
	bool allow_http, struct bp_bucket_address *ret_address, struct bp_error *error);

#endif
