/* SPDX-License-Identifier: MIT */
/* See packing.h. */
#include "parquet/packing.h"

#include <zstd.h>

const int bp_parquet_codec = 6; /* ZSTD */

bool bp_parquet_pack(struct bp_parquet_buffer *out, const void *data, size_t bytes)
{
	const size_t most = ZSTD_compressBound(bytes);
	uint8_t *room = bp_parquet_buffer_room(out, most);
	if (room == NULL)
		return false;
	const size_t packed = ZSTD_compress(room, most, data, bytes, ZSTD_CLEVEL_DEFAULT);
	if (ZSTD_isError(packed))
		return false;
	out->bytes += packed;
	return true;
}
