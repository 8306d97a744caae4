/* SPDX-License-Identifier: MIT */
/*
 * The answer of ListObjectsV2 (Amazon S3 API reference): which objects there are. The bytes come
 * from a server and may be anything. The reader is strict: it takes elements, texts, the XML
 * declaration and character references, and refuses what a listing never has (comments, CDATA,
 * document types, entities of its own), so that nothing in it can be expanded. Requests ask for
 * `encoding-type=url`, so a key is plain text after its percent signs are decoded.
 *
 * Pure; one thread.
 */
#ifndef BP_BUCKET_LISTING_H
#define BP_BUCKET_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A key of S3 has at most 1024 bytes. A continuation token is of the server's own choice; those
 * that are known have some hundred bytes. */
#define BP_LISTING_TEXT_BYTES 2049u

struct bp_listed_object {
	const char *key;  /* decoded, without a prefix removed */
	const char *etag; /* as it came, with its quotation marks; changes with the contents */
	uint64_t bytes;
};

struct bp_listing {
	bool more;			   /* there are objects behind these */
	char token[BP_LISTING_TEXT_BYTES]; /* with `more`: where to go on */
};

/* Calls `take` for each object; its texts are valid until it returns. `take` returns false to stop,
 * with the error set. Errors: it is no such answer, or is cut; one text too long; `more` without a
 * token. */
bool bp_listing_read(const char *xml, size_t bytes,
	bool (*take)(void *context, const struct bp_listed_object *object, struct bp_error *error),
	void *context, struct bp_listing *ret_listing, struct bp_error *error);

/* The text of <Code> in an answer that says what went wrong: letters only; empty: there is none. */
void bp_listing_error_code(const char *xml, size_t bytes, char *ret_code, size_t code_bytes);

#endif
