/* SPDX-License-Identifier: MIT */
/*
 * How much of a process's resident memory malloc explains, and where it explains little, why. A
 * heap profile of a program that takes its memory elsewhere is right and misleading, so that
 * whatever shows one says this first.
 *
 * The rule: malloc explains little where the upper limit of what was live is below half of what was
 * resident at the same moment, and at least BP_EXPLAINED_LEAST_BYTES lie between the two. The
 * recorder's own memory is taken off what was resident before. The moment is that of the highest
 * resident memory that was seen.
 *
 * Called by report/, cli/live and cli/check. Pure functions.
 */
#ifndef BP_RESIDENT_EXPLAINED_H
#define BP_RESIDENT_EXPLAINED_H

#include "model/gaps/own_heap.h"
#include "resident/resident.h"

/* Below this difference nothing is said: it is the code and data of the program and its
 * libraries. */
#define BP_EXPLAINED_LEAST_BYTES (UINT64_C(16) << 20)

struct bp_explained {
	bool little;
	/* the first process of a tree: of the others resident memory is not known */
	bool one_of_several;
	bool since_attached; /* what malloc had given before the process was attached to is not in
			      * malloc_live, nor anywhere else */
	uint64_t time_ns;    /* since the start of the process */
	uint64_t resident_bytes; /* in all, at that moment */
	uint64_t file_bytes;	 /* of these: pages of files, shared memory */
	struct bp_figure malloc_live;
	/* Why; meaningful where `little`. Several may hold, none too: then it is not known. */
	bp_own_heaps heaps; /* that the process is known to have */
	/* a quarter or more of what malloc does not explain are pages of files */
	bool files;
	bool mappings_known;   /* and who mapped memory beside malloc was recorded */
	bool kept;	       /* malloc held more before, and may keep it free; if so: */
	struct bp_figure peak; /* the most that it held */
	/* At least so much of the peak was resident at no time: the lower limit of malloc's peak
	 * less the most that was ever resident of the process. 0: nothing worth a word. */
	uint64_t peak_beyond_bytes;
};

/* The rule alone. `apart_bytes`: memory of the recorder, resident at most. */
bool bp_explains_little(
	const struct bp_interval *live, uint64_t resident_bytes, uint64_t apart_bytes);

/* Fills `ret_explained` from a recording; the aggregation may be of any metric, `heaps` are those
 * of the process that was watched. False: resident memory was not recorded, or what was live is not
 * known. */
bool bp_explain(const struct bp_aggregation *aggregation, const struct bp_resident *resident,
	bp_own_heaps heaps, struct bp_explained *ret_explained);

/* What malloc explains of it: 0 to 1, or more where live objects are not resident. */
struct bp_interval bp_explained_share(const struct bp_explained *explained);

#endif
