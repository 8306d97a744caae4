/* SPDX-License-Identifier: MIT */
/*
 * Frames of addresses that were found before, kept on disk: one file for each build-id and each
 * state of the files that name it (identity). Used by module_resolver.c only, in its process. All
 * of it is optional: whatever goes wrong means that there is no cache, never an error.
 */
#ifndef BP_SYMBOLS_FILES_FRAME_CACHE_H
#define BP_SYMBOLS_FILES_FRAME_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/files/frame_file.h"
#include "symbols/module_request.h"

struct bp_frame_cache {
	int directory; /* descriptor; -1: no cache */
	char name[192];
	uint64_t identity;
	struct bp_frame_file stored; /* as read; empty where there is none */
	struct bp_frame_list fresh;  /* found since */
};

/* Opens the directory ($XDG_CACHE_HOME or ~/.cache, then bytepoll/symbols), made with mode 0700
 * where it is missing, and reads what is kept for this module. Directories and files that are not
 * the user's own, or that others may write to, are not used. Finish in any case. */
void bp_frame_cache_open(struct bp_frame_cache *cache, const char *build_id, uint64_t identity);

/* Is the address known? Then `*ret_count` frames are (0: known to have none) in `frames`, which
 * holds BP_FRAMES_MAX; their texts live as long as the cache. */
bool bp_frame_cache_find(const struct bp_frame_cache *cache, uint64_t address,
	struct bp_found_frame *frames, uint32_t *ret_count);

/* Remembers the frames of an address that was not known. */
void bp_frame_cache_add(struct bp_frame_cache *cache, uint64_t address,
	const struct bp_found_frame *frames, uint32_t count);

/* Writes what is new, together with what others have written meanwhile, and keeps the directory
 * below its bound. `stripped` is kept, too. */
void bp_frame_cache_save(struct bp_frame_cache *cache, bool stripped);
void bp_frame_cache_finish(struct bp_frame_cache *cache);

#endif
