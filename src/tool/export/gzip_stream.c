/* SPDX-License-Identifier: MIT */
/* See gzip_stream.h. No time and no name stand in the header: equal profiles are equal files. */
#include "export/gzip_stream.h"

#include <string.h>

#define GZIP_WINDOW (15 + 16) /* largest window, with gzip's header and checksum */

bool bp_gzip_start(struct bp_gzip_stream *stream, FILE *out)
{
	memset(&stream->zlib, 0, sizeof stream->zlib);
	stream->out = out;
	stream->used = 0;
	stream->failed = false;
	return deflateInit2(&stream->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
		       Z_DEFAULT_STRATEGY) == Z_OK;
}

static void pack(struct bp_gzip_stream *stream, int flush)
{
	stream->zlib.next_in = stream->in;
	stream->zlib.avail_in = (uInt)stream->used;
	do {
		stream->zlib.next_out = stream->packed;
		stream->zlib.avail_out = sizeof stream->packed;
		int status = deflate(&stream->zlib, flush);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			stream->failed = true;
		fwrite(stream->packed, 1, sizeof stream->packed - stream->zlib.avail_out,
			stream->out);
	} while (stream->zlib.avail_out == 0 && !stream->failed);
	stream->used = 0;
}

void bp_gzip_write(struct bp_gzip_stream *stream, const void *data, size_t bytes)
{
	const uint8_t *from = data;
	while (bytes > 0) {
		size_t room = sizeof stream->in - stream->used;
		size_t part = bytes < room ? bytes : room;
		memcpy(stream->in + stream->used, from, part);
		stream->used += part;
		from += part;
		bytes -= part;
		if (stream->used == sizeof stream->in)
			pack(stream, Z_NO_FLUSH);
	}
}

bool bp_gzip_finish(struct bp_gzip_stream *stream)
{
	pack(stream, Z_FINISH);
	deflateEnd(&stream->zlib);
	return !stream->failed;
}
