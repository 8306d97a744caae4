/* SPDX-License-Identifier: MIT */
/*
 * Built without libzstd: what it packed stays packed, and reports say so.
 */
#include "symbols/files/zstd_unpack.h"

bool bp_zstd_available(void)
{
	return false;
}

bool bp_zstd_unpack(void *unpacked, size_t unpacked_bytes, const void *packed, size_t packed_bytes)
{
	(void)unpacked;
	(void)unpacked_bytes;
	(void)packed;
	(void)packed_bytes;
	return false;
}
