/* SPDX-License-Identifier: MIT */
/*
 * A table that gives each content (the name of a type, a frame, a stack) a small number, and writes
 * it to the trace once. Contents with the same hash are compared byte by byte. Thread-safe; a
 * content that is in the table is found without a lock.
 */
#ifndef BP_HOST_NAMES_H
#define BP_HOST_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "host/memory.h"

#define BP_HOST_BUCKETS 16384u
/* The most contents: so many pages of so many contents. */
#define BP_HOST_NAMES_IN_PAGE 1024u
#define BP_HOST_NAME_PAGES 1024u

struct bp_host_name;

/* Zeroed memory is an empty, valid value. It lives as long as the memory that is passed to
 * bp_host_names_id. */
struct bp_host_names {
	struct bp_lock lock;
	struct bp_host_name **buckets;
	uint32_t last_id;
	struct bp_host_name **pages[BP_HOST_NAME_PAGES]; /* by number */
};

/* Writes the record that gives `content` the number `id`; false: it could not be written. */
typedef bool bp_host_write_name(void *context, uint32_t id, const void *content, size_t bytes);

/* Returns the number (>= 1) of a content; 0: there is no room for it, or for its record. */
uint32_t bp_host_names_id(struct bp_host_names *names, struct bp_host_memory *memory,
	const void *content, size_t bytes, bp_host_write_name *write, void *context);

/* Returns the content of a number, followed by a zero; "" if there is none. Takes no lock. */
const char *bp_host_names_content(const struct bp_host_names *names, uint32_t id);

#endif
