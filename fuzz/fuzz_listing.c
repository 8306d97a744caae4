/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing of the reader of an object store's answers: a list of objects, and the word of an error.
 * The input is the answer. Texts that come out are whole and within their bounds, and a list that
 * goes on says where.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bucket/listing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int condition)
{
	if (!condition)
		abort();
}

static bool take(void *context, const struct bp_listed_object *object, struct bp_error *error)
{
	size_t *objects = context;
	(void)error;
	require(strlen(object->key) < BP_LISTING_TEXT_BYTES);
	require(strlen(object->etag) < BP_LISTING_TEXT_BYTES);
	++*objects;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	/* (The sanitizers see a read behind the end of this copy.) */
	char *xml = malloc(bytes > 0 ? bytes : 1), code[16];
	struct bp_listing listing;
	struct bp_error error;
	size_t objects = 0;
	require(xml != NULL);
	if (bytes > 0)
		memcpy(xml, data, bytes);
	if (bp_listing_read(xml, bytes, take, &objects, &listing, &error)) {
		require(!listing.more || listing.token[0] != '\0');
		require(strlen(listing.token) < BP_LISTING_TEXT_BYTES);
		require(objects <= bytes / strlen("<Contents></Contents>"));
	}
	bp_listing_error_code(xml, bytes, code, sizeof code);
	require(strlen(code) < sizeof code);
	free(xml);
	return 0;
}
