/* SPDX-License-Identifier: MIT */
/*
 * Reading of pprof files. A profile is a snapshot, not a stream: it is unpacked into memory as a
 * whole, up to a limit that also a bomb of 1000 : 1 meets. zlib reads plain files too (gzread);
 * what gzip's checksum says of a packed one is believed.
 */
#include "import/pprof/pprof_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "import/pprof/pprof_message.h"

static bool is_gzip(const uint8_t *head, size_t bytes)
{
	return bytes > 2 && head[0] == 0x1f && head[1] == 0x8b;
}

size_t bp_pprof_unpack_head(
	const uint8_t *head, size_t bytes, uint8_t unpacked[BP_PPROF_HEAD_BYTES])
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)head,
		.avail_in = (uInt)bytes,
		.next_out = unpacked,
		.avail_out = BP_PPROF_HEAD_BYTES };
	if (!is_gzip(head, bytes)) {
		bytes = bytes < BP_PPROF_HEAD_BYTES ? bytes : BP_PPROF_HEAD_BYTES;
		memcpy(unpacked, head, bytes);
		return bytes;
	}
	if (inflateInit2(&stream, 15 + 16) != Z_OK) /* + 16: gzip */
		return 0;
	const int result = inflate(&stream, Z_SYNC_FLUSH);
	const size_t got = BP_PPROF_HEAD_BYTES - stream.avail_out;
	inflateEnd(&stream);
	return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? got : 0;
}

bool bp_pprof_sniff(const uint8_t *head, size_t bytes)
{
	uint8_t unpacked[BP_PPROF_HEAD_BYTES];
	return bp_pprof_looks_right(unpacked, bp_pprof_unpack_head(head, bytes, unpacked));
}

/* Reads to the end of the file or to the limit; true: the end. */
static bool read_all(gzFile file, uint8_t **ret_data, size_t *ret_bytes, const char **ret_why)
{
	uint8_t *data = NULL;
	size_t bytes = 0, capacity = 1u << 16;
	int got = 1;
	while (got > 0) {
		capacity = data == NULL ? capacity : capacity * 2;
		uint8_t *grown = realloc(data, capacity);
		if (grown == NULL) {
			*ret_why = "out of memory";
			goto fail;
		}
		data = grown;
		while (bytes < capacity && got > 0) {
			got = gzread(file, data + bytes, (unsigned)(capacity - bytes));
			bytes += got > 0 ? (size_t)got : 0;
		}
		if (bytes > BP_PPROF_FILE_MAX_BYTES) {
			*ret_why = "unpacks to more than 128 MiB, which no heap profile has";
			goto fail;
		}
	}
	/* A packed file that is cut off ends like any other, but for this. */
	int state;
	gzerror(file, &state);
	if (got < 0 || state != Z_OK) {
		*ret_why = "cannot be unpacked: it is cut off or damaged";
		goto fail;
	}
	*ret_data = data;
	*ret_bytes = bytes;
	return true;
fail:
	free(data);
	return false;
}

bool bp_pprof_load(const char *path, uint8_t **ret_data, size_t *ret_bytes, struct bp_error *error)
{
	const char *why = NULL;
	/* The file was looked at before; what has its name by now may be a FIFO, which must not
	 * hold us up. */
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;
	gzFile file = descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)
			      ? gzdopen(descriptor, "rb")
			      : NULL;
	if (file == NULL) {
		if (descriptor >= 0)
			close(descriptor);
		return bp_error_set(error, "%s: cannot be read", path);
	}
	uint8_t *data = NULL;
	size_t bytes;
	const bool read = read_all(file, &data, &bytes, &why);
	gzclose_r(file);
	if (!read)
		return bp_error_set(error, "%s: %s", path, why);
	*ret_data = data;
	*ret_bytes = bytes;
	return true;
}
