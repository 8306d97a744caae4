/* SPDX-License-Identifier: MIT */
/* See bucket_options.h. */
#include "cli/options/bucket_options.h"

bool bp_bucket_options_open(const struct bp_arguments *arguments, const char *text,
	struct bp_bucket *ret_bucket, struct bp_error *error)
{
	return bp_bucket_open(text, bp_option_value(arguments, "endpoint"),
		bp_option_given(arguments, "allow-http"), ret_bucket, error);
}

bool bp_bucket_options_refuse(const struct bp_arguments *arguments, struct bp_error *error)
{
	const char *given = bp_option_given(arguments, "endpoint")     ? "endpoint"
			    : bp_option_given(arguments, "allow-http") ? "allow-http"
								       : NULL;
	return given == NULL ||
	       bp_error_set(error, "--%s is for a store s3://BUCKET/PREFIX: leave it out", given);
}
