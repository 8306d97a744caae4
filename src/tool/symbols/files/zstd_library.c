/* SPDX-License-Identifier: MIT */
/*
 * libzstd does it; the size it must come to is known.
 */
#include "symbols/files/zstd_unpack.h"

#include <zstd.h>

bool bp_zstd_available(void)
{
	return true;
}

bool bp_zstd_unpack(void *unpacked, size_t unpacked_bytes, const void *packed, size_t packed_bytes)
{
	return ZSTD_decompress(unpacked, unpacked_bytes, packed, packed_bytes) == unpacked_bytes;
}
