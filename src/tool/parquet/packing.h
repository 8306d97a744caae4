/* SPDX-License-Identifier: MIT */
/* How pages are packed: by libzstd where the build found it, otherwise by zlib as gzip. The build
 * chooses the file. Pure, but for memory. */
#ifndef BP_PARQUET_PACKING_H
#define BP_PARQUET_PACKING_H

#include "parquet/buffer.h"

/* CompressionCodec of parquet.thrift. */
extern const int bp_parquet_codec;

/* Appends `data`, packed. Equal bytes give equal bytes. False: no memory. */
bool bp_parquet_pack(struct bp_parquet_buffer *out, const void *data, size_t bytes);

#endif
