/* SPDX-License-Identifier: MIT */
/*
 * The form in which data lie in a page: gzip in base64, of letters that neither HTML nor JavaScript
 * gives a meaning. Private to the html files.
 */
#ifndef BP_PAGE_HTML_ENCODE_H
#define BP_PAGE_HTML_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Bytes on the heap; zeroed is empty. */
struct bp_page_bytes {
	char *data;
	size_t size;
};

void bp_page_bytes_finish(struct bp_page_bytes *bytes);

/* Appends to `out`, which is read when it was closed: as open_memstream. NULL: no memory. */
FILE *bp_page_bytes_open(struct bp_page_bytes *bytes);

/* `level` as of zlib: 1 quick, 9 small. The same bytes give the same bytes. */
bool bp_page_compress(const struct bp_page_bytes *bytes, int level,
	struct bp_page_bytes *ret_compressed, struct bp_error *error);

/* How many characters so many bytes take, and these. */
size_t bp_page_base64_size(size_t bytes);
void bp_page_write_base64(const struct bp_page_bytes *bytes, FILE *out);

#endif
