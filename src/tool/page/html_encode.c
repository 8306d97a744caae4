/* SPDX-License-Identifier: MIT */
/* See html_encode.h. */
#include "page/html_encode.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* the largest window, with a gzip header (that has no time in it) */

void bp_page_bytes_finish(struct bp_page_bytes *bytes)
{
	free(bytes->data);
	memset(bytes, 0, sizeof *bytes);
}

FILE *bp_page_bytes_open(struct bp_page_bytes *bytes)
{
	return open_memstream(&bytes->data, &bytes->size);
}

bool bp_page_compress(const struct bp_page_bytes *bytes, int level,
	struct bp_page_bytes *ret_compressed, struct bp_error *error)
{
	z_stream stream = { 0 };
	if (bytes->size > UINT_MAX / 2)
		return bp_error_set(error, "the profile is too large for a page");
	if (deflateInit2(&stream, level, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return bp_error_set(error, "out of memory");
	const size_t room = deflateBound(&stream, bytes->size);
	struct bp_page_bytes compressed = { .data = malloc(room) };
	stream.next_in = (Bytef *)bytes->data;
	stream.avail_in = (uInt)bytes->size;
	stream.next_out = (Bytef *)compressed.data;
	stream.avail_out = (uInt)room;
	const bool good = compressed.data != NULL && deflate(&stream, Z_FINISH) == Z_STREAM_END;
	compressed.size = room - stream.avail_out;
	deflateEnd(&stream);
	if (!good) {
		bp_page_bytes_finish(&compressed);
		return bp_error_set(error, "out of memory");
	}
	*ret_compressed = compressed;
	return true;
}

size_t bp_page_base64_size(size_t bytes)
{
	return (bytes + 2) / 3 * 4;
}

void bp_page_write_base64(const struct bp_page_bytes *bytes, FILE *out)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *data = (const unsigned char *)bytes->data;
	for (size_t i = 0; i < bytes->size; i += 3) {
		const size_t left = bytes->size - i;
		const unsigned word = (unsigned)data[i] << 16 |
				      (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
				      (left > 2 ? data[i + 2] : 0);
		putc(letters[word >> 18], out);
		putc(letters[word >> 12 & 63], out);
		putc(left > 1 ? letters[word >> 6 & 63] : '=', out);
		putc(left > 2 ? letters[word & 63] : '=', out);
	}
}
