/* SPDX-License-Identifier: MIT */
/*
 * The hash SHA-256 (FIPS 180-4), by which a request is signed together with what it carries, and by
 * which a table that comes back is compared with the one that was put. Pure; a state belongs to
 * its caller.
 */
#ifndef BP_BUCKET_SHA256_H
#define BP_BUCKET_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BP_SHA256_TEXT_BYTES 65u /* 64 hexadecimal digits and the end */

struct bp_sha256 {
	uint32_t state[8];
	uint64_t bytes;	   /* hashed so far */
	uint8_t block[64]; /* the first bytes % 64 of it are not hashed yet */
};

void bp_sha256_begin(struct bp_sha256 *hash);
void bp_sha256_add(struct bp_sha256 *hash, const void *data, size_t bytes);
/* The hash as hexadecimal digits; the state is used up. */
void bp_sha256_end(struct bp_sha256 *hash, char ret_text[BP_SHA256_TEXT_BYTES]);

#endif
