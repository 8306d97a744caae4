/* SPDX-License-Identifier: MIT */
/*
 * What a runtime with a heap of its own (Go, .NET) says of its memory: at some moments, how many
 * bytes each part of it had. These are the runtime's figures, exact and without owners, and no
 * samples. Importers add them (bp_profile_add_runtime_part), the parts of one moment one after the
 * other; `report --resident` shows them. Thread-safety: as of the profile.
 */
#ifndef BP_MODEL_RUNTIME_PARTS_H
#define BP_MODEL_RUNTIME_PARTS_H

#include <stdint.h>

#include "model/sample.h"

enum bp_runtime_part_kind {
	BP_RUNTIME_HELD,       /* of the memory that it has from the kernel, and kept */
	BP_RUNTIME_GIVEN_BACK, /* it has the addresses, and gave the pages back */
	/* all that it has from the kernel, as it says itself: what is held and what is given back,
	 * and whatever no part names; 0 or 1 of a moment */
	BP_RUNTIME_TOTAL,
	/* the most that the process ever had resident, by the kernel; 0 or 1 of a moment */
	BP_RUNTIME_HIGH_WATER
};

struct bp_runtime_part {
	struct bp_process_id process;
	enum bp_runtime_part_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC; BP_TIME_NEVER: when the file was written */
	struct bp_string_id name;
	uint64_t bytes; /* sums of a moment's parts fit into 64 bits */
	/* the part that the sampled objects of the metric live lie in: its owners are their rows */
	bool has_live;
};

#endif
