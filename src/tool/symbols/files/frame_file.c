/* SPDX-License-Identifier: MIT */
/*
 * Little endian:
 *
 *	OFFSET  SIZE    MEANING
 *	0       8       "BPFRAME1"; the digit is the version
 *	8       8       checksum of all that follows
 *	16      8       identity: what the answers depend on
 *	24      4       addresses (a)
 *	28      4       frames (f)
 *	32      4       bytes of texts (t)
 *	36      4       1: the module was stripped
 *	40      16 a    address u64, its first frame u32, its frames u32; ascending by address
 *	...     16 f    line, function, system name, source file, each u32; the last three are
 *	                offsets among the texts
 *	...     t       texts, each ended by a zero byte; the first is the empty one
 *
 * The checksum finds torn and rotten files, not forged ones; whatever passes it is still checked
 * as if it were hostile, so that reading can trust every offset.
 */
#include "symbols/files/frame_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/sorted.h"
#include "base/vec.h"

static const char magic[8] = "BPFRAME1";

struct file_header {
	char magic[8];
	uint64_t checksum, identity;
	uint32_t address_count, frame_count, text_bytes, stripped;
};

#define CHECKED_FROM 16u

_Static_assert(sizeof(struct file_header) == 40, "the format");
_Static_assert(sizeof(struct bp_cached_address) == 16, "the format");
_Static_assert(sizeof(struct bp_cached_frame) == 16, "the format");

/* FNV-like over words, with the folding of bp_hash_u64. */
static uint64_t checksum_of(const void *data, uint64_t bytes)
{
	const char *at = data;
	uint64_t hash = bytes, word = 0;
	for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
		memcpy(&word, at, sizeof word);
		hash = bp_hash_u64(hash ^ word);
	}
	word = 0;
	memcpy(&word, at, bytes);
	return bp_hash_u64(hash ^ word);
}

static bool frames_are_good(const struct bp_cached_frame *frames, const struct file_header *header)
{
	for (uint32_t i = 0; i < header->frame_count; i++)
		if (frames[i].function >= header->text_bytes ||
			frames[i].system_name >= header->text_bytes ||
			frames[i].source_file >= header->text_bytes)
			return false;
	return true;
}

static bool addresses_are_good(
	const struct bp_cached_address *addresses, const struct file_header *header)
{
	for (uint32_t i = 0; i < header->address_count; i++)
		if (addresses[i].frame_count > BP_FRAMES_MAX ||
			addresses[i].first_frame > header->frame_count ||
			addresses[i].frame_count > header->frame_count - addresses[i].first_frame ||
			(i > 0 && addresses[i].address <= addresses[i - 1].address))
			return false;
	return true;
}

static bool read_image(
	struct bp_frame_file *file, const char *image, uint64_t bytes, uint64_t identity)
{
	struct file_header header;
	const char *at = image + sizeof header;
	if (bytes < sizeof header || bytes > BP_FRAME_FILE_BYTES_MAX)
		return false;
	memcpy(&header, image, sizeof header);
	if (memcmp(header.magic, magic, sizeof magic) != 0 || header.identity != identity ||
		sizeof header + (uint64_t)header.address_count * sizeof *file->addresses +
				(uint64_t)header.frame_count * sizeof *file->frames +
				header.text_bytes !=
			bytes ||
		header.checksum != checksum_of(image + CHECKED_FROM, bytes - CHECKED_FROM))
		return false;
	file->addresses = (const void *)at;
	at += (uint64_t)header.address_count * sizeof *file->addresses;
	file->frames = (const void *)at;
	at += (uint64_t)header.frame_count * sizeof *file->frames;
	file->texts = at;
	file->address_count = header.address_count;
	file->stripped = header.stripped != 0;
	return header.text_bytes > 0 && image[bytes - 1] == '\0' && file->texts[0] == '\0' &&
	       frames_are_good(file->frames, &header) &&
	       addresses_are_good(file->addresses, &header);
}

bool bp_frame_file_open(struct bp_frame_file *file, void *image, uint64_t bytes, uint64_t identity)
{
	*file = (struct bp_frame_file){ .image = image };
	if (image != NULL && read_image(file, image, bytes, identity))
		return true;
	bp_frame_file_close(file);
	return false;
}

void bp_frame_file_close(struct bp_frame_file *file)
{
	free(file->image);
	*file = (struct bp_frame_file){ .image = NULL };
}

bool bp_frame_file_find(const struct bp_frame_file *file, uint64_t address,
	struct bp_found_frame *frames, uint32_t *ret_count)
{
	const uint32_t at = bp_sorted_below(
		file->addresses, sizeof *file->addresses, file->address_count, address);
	if (at == file->address_count || file->addresses[at].address != address)
		return false;
	const struct bp_cached_address *entry = &file->addresses[at];
	for (uint32_t i = 0; i < entry->frame_count; i++) {
		const struct bp_cached_frame *frame = &file->frames[entry->first_frame + i];
		frames[i] = (struct bp_found_frame){
			.function = file->texts + frame->function,
			.system_name = file->texts + frame->system_name,
			.source_file = file->texts + frame->source_file,
			.line = frame->line,
		};
	}
	*ret_count = entry->frame_count;
	return true;
}

static uint64_t list_bytes(const struct bp_frame_list *list)
{
	return sizeof(struct file_header) +
	       (uint64_t)list->address_count * sizeof *list->addresses +
	       (uint64_t)list->frame_count * sizeof *list->frames + list->text_bytes;
}

static bool append_text(struct bp_frame_list *list, const char *text, uint32_t bytes)
{
	if (!bp_vec_reserve(
		    &list->texts, &list->text_capacity, (uint64_t)list->text_bytes + bytes + 1, 1))
		return false;
	memcpy(list->texts + list->text_bytes, text, bytes);
	list->texts[list->text_bytes + bytes] = '\0';
	list->text_bytes += bytes + 1;
	return true;
}

/* The offset of the text, which is added if it is new. */
static bool put_text(struct bp_frame_list *list, const char *text, uint32_t *ret_offset)
{
	uint32_t bytes = (uint32_t)strnlen(text, BP_FRAME_TEXT_MAX), entry = 0;
	uint64_t hash = checksum_of(text, bytes);
	struct bp_index_keys keys = { list->known, sizeof *list->known };
	if (list->text_bytes == 0 && !append_text(list, "", 0))
		return false;
	if (bytes == 0) {
		*ret_offset = 0;
		return true;
	}
	entry = bp_index_find(&list->index, keys, hash);
	if (entry != BP_INDEX_NONE &&
		strncmp(list->texts + list->known[entry].offset, text, bytes) == 0 &&
		list->texts[list->known[entry].offset + bytes] == '\0') {
		*ret_offset = list->known[entry].offset;
		return true;
	}
	*ret_offset = list->text_bytes;
	if (!append_text(list, text, bytes))
		return false;
	if (entry != BP_INDEX_NONE)
		return true; /* two texts of one hash: the second stands twice */
	if (!bp_vec_reserve(&list->known, &list->known_capacity, list->known_count + 1u,
		    sizeof *list->known))
		return false;
	list->known[list->known_count++] = (struct bp_frame_text){ hash, *ret_offset };
	keys.keys = list->known;
	return bp_index_add(&list->index, keys, list->known_count - 1);
}

bool bp_frame_list_add(struct bp_frame_list *list, uint64_t address,
	const struct bp_found_frame *frames, uint32_t count)
{
	uint32_t first = list->frame_count;
	if (count > BP_FRAMES_MAX || list_bytes(list) > BP_FRAME_FILE_BYTES_MAX / 2)
		return false;
	if (!bp_vec_reserve(&list->addresses, &list->address_capacity, list->address_count + 1u,
		    sizeof *list->addresses) ||
		!bp_vec_reserve(&list->frames, &list->frame_capacity,
			(uint64_t)list->frame_count + count, sizeof *list->frames))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct bp_cached_frame frame = { .line = frames[i].line };
		if (!put_text(list, frames[i].function, &frame.function) ||
			!put_text(list, frames[i].system_name, &frame.system_name) ||
			!put_text(list, frames[i].source_file, &frame.source_file)) {
			list->frame_count = first;
			return false;
		}
		list->frames[list->frame_count++] = frame;
	}
	list->addresses[list->address_count++] =
		(struct bp_cached_address){ address, first, count };
	return true;
}

static int compare_addresses(const void *left, const void *right)
{
	const struct bp_cached_address *a = left, *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Ascending, each once. */
static void sort_addresses(struct bp_frame_list *list)
{
	uint32_t kept = 0;
	if (list->address_count > 1)
		qsort(list->addresses, list->address_count, sizeof *list->addresses,
			compare_addresses);
	for (uint32_t i = 0; i < list->address_count; i++)
		if (kept == 0 || list->addresses[kept - 1].address != list->addresses[i].address)
			list->addresses[kept++] = list->addresses[i];
	list->address_count = kept;
}

static char *put(char *at, const void *data, uint64_t bytes)
{
	if (bytes > 0)
		memcpy(at, data, bytes);
	return at + bytes;
}

void *bp_frame_list_image(
	struct bp_frame_list *list, uint64_t identity, bool stripped, uint64_t *ret_bytes)
{
	struct file_header header = { .identity = identity, .stripped = stripped };
	char *image = NULL, *at = NULL;
	if (list->text_bytes == 0 && !append_text(list, "", 0))
		return NULL;
	sort_addresses(list);
	memcpy(header.magic, magic, sizeof magic);
	header.address_count = list->address_count;
	header.frame_count = list->frame_count;
	header.text_bytes = list->text_bytes;
	*ret_bytes = list_bytes(list);
	image = malloc(*ret_bytes);
	if (image == NULL)
		return NULL;
	at = put(image, &header, sizeof header);
	at = put(at, list->addresses, (uint64_t)list->address_count * sizeof *list->addresses);
	at = put(at, list->frames, (uint64_t)list->frame_count * sizeof *list->frames);
	put(at, list->texts, list->text_bytes);
	header.checksum = checksum_of(image + CHECKED_FROM, *ret_bytes - CHECKED_FROM);
	memcpy(image, &header, sizeof header);
	return image;
}

void bp_frame_list_finish(struct bp_frame_list *list)
{
	free(list->addresses);
	free(list->frames);
	free(list->texts);
	free(list->known);
	bp_index_finish(&list->index);
	*list = (struct bp_frame_list){ .addresses = NULL };
}
