/* SPDX-License-Identifier: MIT */
/*
 * What the recorder can lose, by the index it has in a trace (docs/trace-format.md 1.4): the name
 * in JSON, a sentence for people, and what a loss does to figures. Called by aggregate.c and
 * reports.
 */
#ifndef BP_MODEL_GAPS_LOSSES_H
#define BP_MODEL_GAPS_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

struct bp_loss_kind {
	const char *name; /* in JSON */
	const char *text; /* "the trace could not grow (disk full or size limit)" */
	const char *what; /* unit: "samples" */
	bool samples;	  /* estimates become lower bounds */
	bool frees;	  /* live and peak become upper bounds, temporary a lower one */
	bool totals;	  /* counted totals become lower bounds too */
};

/* The kind of a reason; unknown ones (of a newer recorder) count as lost samples. */
struct bp_loss_kind bp_loss_kind(uint32_t reason);

#define BP_LOSS_KINDS_KNOWN 12
#define BP_LOSS_KIND_CHILDREN \
	10 /* "child_trace": counted in the trace of the process that forked them */
/* "mapping": in a profile of what programs mapped themselves alone, and in JSON only then. */
#define BP_LOSS_KIND_MAPPING 13

#endif
