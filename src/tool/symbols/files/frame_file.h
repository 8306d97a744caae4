/* SPDX-License-Identifier: MIT */
/*
 * The format of a file of the cache of frames (frame_cache.h), and nothing of where it lies.
 */
#ifndef BP_SYMBOLS_FILES_FRAME_FILE_H
#define BP_SYMBOLS_FILES_FRAME_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"
#include "symbols/module_request.h"

/* Largest file that is written or read. */
#define BP_FRAME_FILE_BYTES_MAX (64u << 20)

struct bp_cached_address {
	uint64_t address;
	uint32_t first_frame, frame_count;
};

struct bp_cached_frame {
	uint32_t line;
	uint32_t function, system_name, source_file; /* offsets among the texts */
};

/* A file that was read and found good. */
struct bp_frame_file {
	void *image;				   /* NULL: none */
	const struct bp_cached_address *addresses; /* ascending */
	const struct bp_cached_frame *frames;
	const char *texts;
	uint32_t address_count;
	bool stripped;
};

/* Takes the image (malloc'ed) over; false, and frees it, where it is not whole, of another version
 * or identity, or damaged in any way. */
bool bp_frame_file_open(struct bp_frame_file *file, void *image, uint64_t bytes, uint64_t identity);
void bp_frame_file_close(struct bp_frame_file *file);

/* As bp_frame_cache_find. */
bool bp_frame_file_find(const struct bp_frame_file *file, uint64_t address,
	struct bp_found_frame *frames, uint32_t *ret_count);

/* What a file is made of. Zeroed memory is an empty list. */
struct bp_frame_list {
	struct bp_cached_address *addresses;
	struct bp_cached_frame *frames;
	char *texts;
	struct bp_frame_text {
		uint64_t hash;
		uint32_t offset;
	} * known;
	struct bp_index index; /* of `known` */
	uint32_t address_count, address_capacity, frame_count, frame_capacity;
	uint32_t text_bytes, text_capacity, known_count, known_capacity;
};

/* False (nothing added): no memory, or the file would become too large. */
bool bp_frame_list_add(struct bp_frame_list *list, uint64_t address,
	const struct bp_found_frame *frames, uint32_t count);
/* The file as it is to be written, malloc'ed; NULL without memory. Sorts the list. */
void *bp_frame_list_image(
	struct bp_frame_list *list, uint64_t identity, bool stripped, uint64_t *ret_bytes);
void bp_frame_list_finish(struct bp_frame_list *list);

#endif
