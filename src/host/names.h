/* SPDX-License-Identifier: MIT */
/*
 * Contents to small numbers, each written to the trace once: names of types, frames, stacks. Contents
 * that collide in the hash are compared byte by byte. Thread-safe; one that is known is found without a
 * lock.
 */
#ifndef BP_HOST_NAMES_H
#define BP_HOST_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "host/memory.h"

#define BP_HOST_BUCKETS 16384u
/* Most contents: pages of so many. */
#define BP_HOST_NAMES_IN_PAGE 1024u
#define BP_HOST_NAME_PAGES 1024u

struct bp_host_name;

/* Zeroed memory is an empty, valid value; it lives as long as the memory it is given. */
struct bp_host_names {
	struct bp_lock lock;
	struct bp_host_name **buckets;
	uint32_t last_id;
	struct bp_host_name **pages[BP_HOST_NAME_PAGES]; /* by number */
};

/* Writes the record that gives `content` the number `id`; false: it could not. */
typedef bool bp_host_write_name(void *context, uint32_t id, const void *content, size_t bytes);

/* The number (>= 1) of a content; 0: no room, for it or for its record. */
uint32_t bp_host_names_id(struct bp_host_names *names, struct bp_host_memory *memory,
	const void *content, size_t bytes, bp_host_write_name *write, void *context);

/* The content of a number, and a zero behind it; "" if there is none. Takes no lock. */
const char *bp_host_names_content(const struct bp_host_names *names, uint32_t id);

#endif
