/* SPDX-License-Identifier: MIT */
/*
 * What a trace and its folded part say, gathered for folding; private to fold/. All samples and
 * frees that can be read are gathered, since the curve of live bytes is made of all of them; `ours`
 * are those of chunks that will be given back, and of the folded part so far.
 */
#ifndef BP_FOLD_GATHER_H
#define BP_FOLD_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/index.h"
#include "trace/decode.h"
#include "trace/folded.h"
#include "trace/format.h"

#define BP_FOLD_NONE UINT32_MAX

struct bp_fold_item {
	struct bp_trace_sample sample;
	uint32_t freed_by; /* index of its free, or BP_FOLD_NONE */
	bool ours;
	bool paired; /* it and its free are in an entry */
};

struct bp_fold_free {
	struct bp_trace_free record;
	bool ours, paired;
};

/* An entry of the folded part so far. */
struct bp_fold_group {
	struct bp_trace_folded key; /* what its entries have in common */
	struct bp_trace_folded_entry entry;
};

struct bp_fold_reading {
	uint64_t time_ns, trials, objects;
	uint32_t thread;
};

/* Ids that were met. */
struct bp_fold_ids {
	uint64_t *ids;
	uint32_t count, capacity;
	struct bp_index index;
};

struct bp_gathered {
	uint8_t head[BP_HEADER_MAX_BYTES];
	struct bp_trace_header header; /* of FILE */
	struct bp_trace_state state;
	struct bp_fold_item *items;
	struct bp_fold_free *frees;
	struct bp_fold_group *groups;
	struct bp_fold_reading *readings;
	uint8_t *raw;	  /* records that are kept as they are, one behind the other */
	uint64_t *chunks; /* numbers of the chunks of FILE that can be given back, growing */
	uint32_t item_count, item_capacity, free_count, free_capacity, group_count, group_capacity;
	uint32_t reading_count, reading_capacity, raw_bytes, raw_capacity;
	uint32_t chunk_count, chunk_capacity;
	struct bp_trace_clock clock; /* of the folded part so far */
	struct bp_trace_held held;
	struct bp_fold_ids stacks, modules;
	struct bp_index by_sequence;
	uint64_t last_ns;      /* latest time of all */
	uint64_t last_ours_ns; /* latest time of the chunks that are given back */
};

/* Reads FILE, open at `fd`, and FILE.fold, open at `part_fd` (-1: there is none). The newest
 * `keep_bytes` of FILE are not ours. `path`: of FILE, for errors. */
bool bp_fold_gather(struct bp_gathered *gathered, int fd, int part_fd, uint64_t keep_bytes,
	const char *path, struct bp_error *error);

/* Can a FILE.fold just written, open at `part_fd`, be read to its end as bp_fold_gather reads it,
 * and does it stand for just the chunks in `held`? It takes memory as that does. `path`: of FILE,
 * for errors. */
bool bp_fold_can_be_read(
	int part_fd, const struct bp_trace_held *held, const char *path, struct bp_error *error);

void bp_fold_gathered_finish(struct bp_gathered *gathered);

#endif
