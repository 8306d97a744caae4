/* SPDX-License-Identifier: MIT */
/*
 * Reading packed traces. Every block is deflate with one dictionary, the beginning of the first
 * block: the children of a server are alike, and one block that is damaged, unless it is the first,
 * does not cost those behind it. Nothing is trusted further than the bytes that are there: lengths
 * are compared with the file and with limits before anything is allocated, and the pieces of an
 * entry are all looked at before it is handed out. See pack.h.
 */
#include "trace/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/vec.h"

/* Longer than any trace: an offset in a file must not overflow. */
#define FILE_BYTES_MAX ((uint64_t)1 << 48)

static bool read_all(int fd, void *data, size_t bytes, uint64_t offset)
{
	size_t done = 0;
	while (done < bytes) {
		const ssize_t got =
			pread(fd, (char *)data + done, bytes - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static bool write_all(int fd, const uint8_t *data, size_t bytes, uint64_t offset)
{
	size_t done = 0;
	while (done < bytes) {
		const ssize_t put = pwrite(fd, data + done, bytes - done, (off_t)(offset + done));
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		done += (size_t)put;
	}
	return true;
}

bool bp_pack_open(struct bp_pack *pack, const struct bp_place *place, struct bp_error *error)
{
	struct stat status;
	*pack = (struct bp_pack){ .expanded = { -1, -1 } };
	pack->fd = bp_place_open(place, O_RDONLY);
	if (pack->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return true;
	if (pack->fd >= 0 && fstat(pack->fd, &status) == 0 && S_ISREG(status.st_mode))
		return true;
	return bp_error_set(error, "%s: cannot be read: %s", place->path,
		pack->fd < 0 ? strerror(errno) : "it is not a regular file");
}

/* Inflates the stored bytes into `raw`. */
static bool inflate_block(struct bp_pack *pack, const struct bp_pack_block *block)
{
	z_stream stream = { .next_in = pack->stored,
		.avail_in = block->stored_bytes,
		.next_out = pack->raw,
		.avail_out = block->raw_bytes };
	if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
		return false;
	bool good = pack->dictionary_bytes == 0 ||
		    inflateSetDictionary(&stream, pack->dictionary, pack->dictionary_bytes) == Z_OK;
	good = good && inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0 &&
	       stream.avail_in == 0;
	inflateEnd(&stream);
	return good;
}

static void take_dictionary(struct bp_pack *pack)
{
	pack->has_dictionary = true;
	pack->dictionary_bytes = pack->raw_bytes < sizeof pack->dictionary
					 ? pack->raw_bytes
					 : (uint32_t)sizeof pack->dictionary;
	memcpy(pack->dictionary, pack->raw, pack->dictionary_bytes);
}

enum loaded { BLOCK_LOADED, BLOCK_DAMAGED, NO_MORE_BLOCKS, NO_MEMORY };

/* Reads the next block. */
static enum loaded load_block(struct bp_pack *pack)
{
	struct bp_pack_block block;
	struct stat status;
	pack->at = pack->raw_bytes = pack->entries_left = 0;
	if (fstat(pack->fd, &status) != 0 ||
		pack->offset + sizeof block > (uint64_t)status.st_size ||
		!read_all(pack->fd, &block, sizeof block, pack->offset))
		return NO_MORE_BLOCKS;
	if (block.magic != BP_PACK_MAGIC || bp_pack_own_checksum(&block) != block.own_checksum ||
		block.raw_bytes > BP_PACK_RAW_MAX ||
		block.stored_bytes > compressBound(BP_PACK_RAW_MAX)) {
		/* Where the next block begins is not known. */
		pack->damaged_blocks++;
		return NO_MORE_BLOCKS;
	}
	const uint64_t end =
		pack->offset + sizeof block + ((block.stored_bytes + (uint64_t)7) & ~(uint64_t)7);
	if (end > (uint64_t)status.st_size)
		return NO_MORE_BLOCKS;
	if (!bp_vec_reserve(&pack->stored, &pack->stored_capacity, block.stored_bytes + 1u, 1) ||
		!bp_vec_reserve(&pack->raw, &pack->raw_capacity, block.raw_bytes + 1u, 1))
		return NO_MEMORY;
	const bool read =
		read_all(pack->fd, pack->stored, block.stored_bytes, pack->offset + sizeof block);
	const bool first = pack->offset == 0;
	pack->offset = end;
	if (!read || bp_checksum(pack->stored, block.stored_bytes) != block.checksum ||
		!inflate_block(pack, &block)) {
		/* (Without a dictionary no other block inflates to anything.) */
		pack->has_dictionary = true;
		return BLOCK_DAMAGED;
	}
	pack->raw_bytes = block.raw_bytes;
	pack->entries_left = block.entries;
	if (first)
		take_dictionary(pack);
	return BLOCK_LOADED;
}

/* Takes what of a piece lies in the first two pages: header and state. */
static void take_head(struct bp_pack_entry *entry, uint8_t *head, size_t head_bytes,
	const struct bp_pack_piece *piece, const uint8_t *data)
{
	if (piece->offset >= head_bytes)
		return;
	const uint64_t room = head_bytes - piece->offset;
	memcpy(head + piece->offset, data, piece->bytes < room ? piece->bytes : room);
	memcpy(&entry->header, head, sizeof entry->header);
	memcpy(&entry->state, head + BP_STATE_OFFSET, sizeof entry->state);
}

/* Looks at all pieces of an entry. */
static bool check_pieces(struct bp_pack_entry *entry)
{
	uint8_t head[BP_SLOTS_OFFSET] = { 0 };
	const uint8_t *at = entry->pieces, *end = at + entry->pieces_bytes;
	while (at < end) {
		struct bp_pack_piece piece;
		if ((size_t)(end - at) < sizeof piece)
			return false;
		memcpy(&piece, at, sizeof piece);
		at += sizeof piece;
		const bool of_part = (piece.offset & BP_PACK_OF_PART) != 0;
		const uint64_t length = of_part ? entry->part_bytes : entry->file_bytes;
		const uint64_t offset = piece.offset & ~BP_PACK_OF_PART;
		if (piece.bytes > (size_t)(end - at) || offset > length ||
			piece.bytes > length - offset)
			return false;
		if (!of_part)
			take_head(entry, head, sizeof head, &piece, at);
		at += piece.bytes;
	}
	return true;
}

/* Takes the next entry of the block that is loaded; false: it is damaged. */
static bool take_entry(struct bp_pack *pack, struct bp_pack_entry *entry)
{
	struct bp_pack_entry_head head;
	const uint32_t left = pack->raw_bytes - pack->at;
	const uint8_t *at = pack->raw + pack->at;
	memset(entry, 0, sizeof *entry);
	if (left < sizeof head)
		return false;
	memcpy(&head, at, sizeof head);
	if (head.entry_bytes > left || head.entry_bytes < sizeof head ||
		head.name_bytes > head.entry_bytes - sizeof head ||
		head.name_bytes >= sizeof entry->name || head.file_bytes > FILE_BYTES_MAX ||
		head.part_bytes > FILE_BYTES_MAX)
		return false;
	memcpy(entry->name, at + sizeof head, head.name_bytes);
	entry->file_bytes = head.file_bytes;
	entry->part_bytes = head.part_bytes;
	entry->pieces = at + sizeof head + head.name_bytes;
	entry->pieces_bytes = head.entry_bytes - sizeof head - head.name_bytes;
	pack->at += head.entry_bytes;
	pack->entries_left--;
	/* The name is shown, and never opened. */
	return strlen(entry->name) == head.name_bytes && strchr(entry->name, '/') == NULL &&
	       check_pieces(entry);
}

bool bp_pack_next(struct bp_pack *pack, struct bp_pack_entry *entry, struct bp_error *error)
{
	while (pack->fd >= 0) {
		if (pack->entries_left > 0) {
			if (take_entry(pack, entry))
				return true;
			pack->damaged_blocks++;
			pack->entries_left = 0;
		}
		switch (load_block(pack)) {
		case BLOCK_LOADED:
			break;
		case BLOCK_DAMAGED:
			pack->damaged_blocks++;
			break;
		case NO_MORE_BLOCKS:
			return false;
		case NO_MEMORY:
			return bp_error_set(error, "out of memory");
		}
	}
	return false;
}

/* A file in memory of that length, with nothing in it. */
static int empty_file(struct bp_pack *pack, int number, uint64_t bytes)
{
	if (pack->expanded[number] < 0)
		pack->expanded[number] = memfd_create("bytepoll-packed", MFD_CLOEXEC);
	const int fd = pack->expanded[number];
	return fd >= 0 && ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)bytes) == 0 ? fd : -1;
}

bool bp_pack_expand(struct bp_pack *pack, const struct bp_pack_entry *entry, int *ret_fd,
	int *ret_part_fd, struct bp_error *error)
{
	const uint8_t *at = entry->pieces, *end = at + entry->pieces_bytes;
	const bool has_part = entry->part_bytes > 0;
	const int fd = empty_file(pack, 0, entry->file_bytes);
	const int part_fd = has_part ? empty_file(pack, 1, entry->part_bytes) : -1;
	bool good = fd >= 0 && (part_fd >= 0 || !has_part);
	while (good && at < end) {
		struct bp_pack_piece piece;
		memcpy(&piece, at, sizeof piece);
		at += sizeof piece;
		const bool of_part = (piece.offset & BP_PACK_OF_PART) != 0;
		good = (!of_part || has_part) && write_all(of_part ? part_fd : fd, at, piece.bytes,
							 piece.offset & ~BP_PACK_OF_PART);
		at += piece.bytes;
	}
	const int copy = good ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	const int part_copy = good && has_part ? fcntl(part_fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (copy >= 0 && (part_copy >= 0 || !has_part)) {
		*ret_fd = copy;
		*ret_part_fd = part_copy;
		return true;
	}
	if (copy >= 0)
		close(copy);
	return bp_error_set(error, "%s: no memory to unpack it: %s", entry->name, strerror(errno));
}

void bp_pack_close(struct bp_pack *pack)
{
	if (pack->fd >= 0)
		close(pack->fd);
	for (int i = 0; i < 2; i++)
		if (pack->expanded[i] >= 0)
			close(pack->expanded[i]);
	free(pack->stored);
	free(pack->raw);
	*pack = (struct bp_pack){ .fd = -1, .expanded = { -1, -1 } };
}
