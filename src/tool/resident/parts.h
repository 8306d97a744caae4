/* SPDX-License-Identifier: MIT */
/*
 * Resident memory taken apart: one line for each thing that it goes to, so that the lines and what
 * is left unexplained add up to what the kernel counts. Lines are made of facts that were read from
 * outside (mappings.h), which are exact, and of estimates of live objects at that moment, which
 * have intervals. How: parts.c and docs/resident.md.
 *
 * Called by report/, page/ and cli/. Pure but for memory.
 */
#ifndef BP_RESIDENT_PARTS_H
#define BP_RESIDENT_PARTS_H

#include "aggregation/aggregate.h"
#include "resident/mappings.h"

#define BP_PART_OWNERS 3u
#define BP_PARTS_MAX 16u

struct bp_part_owner {
	char *name; /* owned; bytes of any kind */
	struct bp_interval bytes;
};

struct bp_part {
	const char *name;	  /* as in JSON and in the table */
	struct bp_interval bytes; /* of "not resident" negative: it is taken off */
	struct bp_part_owner owners[BP_PART_OWNERS]; /* the largest */
	uint32_t owner_count;
};

struct bp_parts {
	uint32_t pid;
	uint64_t at_ns;	      /* since the start of the process */
	uint64_t total_bytes; /* by the kernel: resident, and page tables */
	uint64_t resident_bytes, page_table_bytes, swapped_bytes;
	struct bp_heap_walk heap;
	struct bp_part parts[BP_PARTS_MAX];
	uint32_t count;
	/* the total less the lines: the estimate adds up, the limits are those of the lines */
	struct bp_interval unexplained;
	/* whose figures these are: NULL: the kernel's. Else those of a runtime ("Go"), of what
	 * it has from the kernel and did not give back; then nothing above is known but at_ns
	 * (BP_TIME_NEVER: when the file was written), total_bytes and the lines. Importers refuse
	 * figures so large that sums of them would not fit. */
	const char *runtime;
	bool total_stated;	   /* the runtime said the total; else it is the sum of the lines */
	uint64_t given_back_bytes; /* by the runtime: it has the addresses, and no pages */
	/* the most that the process ever had resident, by the kernel; 0: not known */
	uint64_t high_water_bytes;
};

/* Takes `cut` apart. The query says which metric's live objects own memory and by which key; its
 * metric, moment and process are set here. */
bool bp_parts_make(const struct bp_profile *profile, const struct bp_query *query,
	const struct bp_mapping_cut *cut, uint32_t pid, struct bp_parts *ret_parts,
	struct bp_error *error);
/* What the runtime of a profile's first process said of its memory (model/runtime_parts.h), as a
 * table of the same form: of the last moment it told of, or of that at which it held most; of those
 * of which it told a total, where there are such. False without error text: it told of none. */
bool bp_runtime_parts_make(const struct bp_profile *profile, const struct bp_query *query,
	bool highest, struct bp_parts *ret_parts, struct bp_error *error);

void bp_parts_finish(struct bp_parts *parts);
/* Adds the largest rows as the owners of a line; false: no memory. */
bool bp_parts_add_rows(struct bp_part *part, const struct bp_aggregation *aggregation);

#endif
