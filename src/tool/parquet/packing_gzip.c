/* SPDX-License-Identifier: MIT */
/* See packing.h. */
#include <zlib.h>

#include "parquet/packing.h"

#define GZIP_WINDOW (15 + 16) /* largest window, with gzip's header and checksum */

const int bp_parquet_codec = 2; /* GZIP */

bool bp_parquet_pack(struct bp_parquet_buffer *out, const void *data, size_t bytes)
{
	z_stream stream = { .next_in = (z_const Bytef *)data, .avail_in = (uInt)bytes };
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	const size_t most = deflateBound(&stream, (uLong)bytes);
	uint8_t *room = bp_parquet_buffer_room(out, most);
	stream.next_out = room;
	stream.avail_out = (uInt)most;
	const bool good = room != NULL && deflate(&stream, Z_FINISH) == Z_STREAM_END;
	out->bytes += good ? stream.total_out : 0;
	deflateEnd(&stream);
	return good;
}
