/* SPDX-License-Identifier: MIT */
/*
 * The options about stores in buckets: which server has s3://BUCKET/PREFIX. Not thread-safe, as
 * options.h.
 */
#ifndef BP_CLI_OPTIONS_BUCKET_OPTIONS_H
#define BP_CLI_OPTIONS_BUCKET_OPTIONS_H

#include "bucket/bucket.h"
#include "cli/options/options.h"

/* Opens the store `text`, s3://BUCKET/PREFIX, by these options. Errors: bp_bucket_open's. */
bool bp_bucket_options_open(const struct bp_arguments *arguments, const char *text,
	struct bp_bucket *ret_bucket, struct bp_error *error);

/* Of stores that are folders, where these options would change nothing. Errors: one is given. */
bool bp_bucket_options_refuse(const struct bp_arguments *arguments, struct bp_error *error);

#define BP_OPTION_BUCKET                                                                    \
	{ .name = "endpoint",                                                               \
		.argument = "URL",                                                          \
		.summary = "s3://: the server, https://HOST:PORT (default: "                \
			   "AWS_ENDPOINT_URL, or Amazon's)" },                              \
	{                                                                                   \
		.name = "allow-http", .summary = "s3://: http:// also to another machine, " \
						 "unencrypted"                              \
	}

#endif
