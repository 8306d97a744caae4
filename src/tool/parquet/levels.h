/* SPDX-License-Identifier: MIT */
/* Small numbers in Parquet's hybrid of runs and packed bits (Encodings.md, "RLE / Bit-Packing
 * Hybrid"). Pure, but for memory. */
#ifndef BP_PARQUET_LEVELS_H
#define BP_PARQUET_LEVELS_H

#include "parquet/buffer.h"

/* The bits that numbers below `count` need; 0 where there is one number only. */
unsigned bp_parquet_width(uint32_t count);

/* Appends `count` numbers of `width` bits, 0 to 32. */
void bp_parquet_levels(
	struct bp_parquet_buffer *out, const uint32_t *numbers, size_t count, unsigned width);

#endif
