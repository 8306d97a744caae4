/* SPDX-License-Identifier: MIT */
/*
 * Bytes into a gzip stream, a buffer at a time: what is written is never held as a whole. Called by
 * export_pprof.c. One thread.
 */
#ifndef BP_EXPORT_GZIP_STREAM_H
#define BP_EXPORT_GZIP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#define BP_GZIP_BUFFER_BYTES 65536u

struct bp_gzip_stream {
	FILE *out;
	z_stream zlib;
	uint8_t in[BP_GZIP_BUFFER_BYTES], packed[BP_GZIP_BUFFER_BYTES];
	size_t used;
	bool failed;
};

/* False: no memory. */
bool bp_gzip_start(struct bp_gzip_stream *stream, FILE *out);
void bp_gzip_write(struct bp_gzip_stream *stream, const void *data, size_t bytes);
/* Writes what is left and frees everything; false: zlib failed on the way (ferror says
 * whether the stream failed). */
bool bp_gzip_finish(struct bp_gzip_stream *stream);

#endif
