/* SPDX-License-Identifier: MIT */
/*
 * The sums of a profile in many dimensions at once: for every stack, thread, type, class of sizes,
 * bin of time in which objects were made and bin in which they were freed, the record from which
 * figures of any union of such cells are made (estimate.h). It is what `bytepoll html` writes into
 * a page, which then answers questions that nobody asked here.
 *
 * Of the samples that the aggregation selects: its processes and filters. Bins of time lie between
 * edges: an object is live at edge j if made < j and freed >= j, which is what `report --metric
 * live --at EDGE` counts, and at the last edge what is live at exit; with i <= made < j it was
 * allocated in the window from edge i to edge j (to the last edge: from edge i on). No sample's
 * time falls on an edge between the first and the last.
 *
 * A cube that is too large is made coarser, rung by rung: fewer bins of time, wider classes of
 * sizes, stacks of few samples merged into one for the frame that is charged. Sums are only ever
 * added up, so that what a coarser cube can answer, it answers as the finer one did. Merging stops
 * short of the charged frame: figures by function, line, file and module stay.
 *
 * Life: bp_cube_init, bp_cube_coarsen as often as need be, bp_cube_pack, read, bp_cube_finish. One
 * thread. The aggregation must outlive it.
 */
#ifndef BP_PAGE_CUBE_H
#define BP_PAGE_CUBE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregation/aggregate.h"

#define BP_CUBE_BINS_MAX 120u
#define BP_CUBE_NEVER 255u    /* freed: lives at the last edge */
#define BP_CUBE_NO_BYTES 255u /* size class: objects of 0 bytes */
/* The frame in the place of the callers of merged stacks. */
#define BP_CUBE_CALLERS (UINT32_MAX - 1)

enum bp_cube_flag { BP_CUBE_TEMPORARY = 1, BP_CUBE_PEAK = 2 };

struct bp_cube_cell {
	uint32_t stack;	    /* into stacks */
	uint32_t record;    /* into records; cells of equal sums share one */
	uint32_t thread;    /* id in the profile */
	uint32_t type;	    /* into type_keys */
	uint8_t size_class; /* floor(log2(size)), rounded down to a multiple of `size_step` */
	uint8_t made, freed;
	uint8_t flags;	/* enum bp_cube_flag */
	uint8_t number; /* class of size_classes.h */
};

struct bp_cube_stack {
	uint32_t first, count; /* into stack_frames, innermost first */
	uint32_t charged;      /* which of them `--by function` charges */
};

/* What is counted of a window: how bp_page_calibrate of web/estimate/page.c takes it. */
enum bp_cube_counted { BP_CUBE_CAPS = 1, BP_CUBE_PARTS = 2, BP_CUBE_NARROWS = 4 };
struct bp_cube_window {
	unsigned has; /* enum bp_cube_counted */
	struct bp_known_total offered_bytes, offered_objects, bytes, objects;
	uint64_t size_min;
	double ratio_max;
};

/* How coarse it is. */
struct bp_cube_rung {
	uint32_t bins, size_step, stack_samples; /* stacks of fewer samples are merged */
	bool merged_threads;
};

struct bp_cube_build; /* private: what is needed until it is packed */

struct bp_cube {
	uint32_t bins;	    /* 1: nothing is known of times, or nothing was kept */
	uint64_t *edges_ns; /* bins + 1, since the start */
	struct bp_cube_rung rung;
	uint32_t bins_wanted;
	uint64_t cells_before;		  /* of the finest cube, or at least so many */
	bool cells_before_at_least;	  /* it was never finished */
	uint32_t stacks_merged;		  /* so many stacks ... */
	uint64_t samples_merged, samples; /* ... with so many of all samples */
	/* After bp_cube_pack. */
	struct bp_cube_cell *cells;
	uint32_t cell_count;
	struct bp_sums *records;
	uint32_t record_count;
	struct bp_cube_stack *stacks;
	uint32_t stack_count;
	struct bp_frame_id *stack_frames; /* BP_CUBE_CALLERS among them */
	uint32_t stack_frame_count;
	uint64_t *type_keys; /* of selection.h */
	uint32_t type_count;
	struct bp_sums *outside; /* by bin, bins + 1: what filters left out; NULL without filters */
	struct bp_cube_window whole,
		*windows; /* (0, 1), (0, 2) ... (1, 2) ...; none if bins is 1 */
	uint32_t window_count;
	bool by_classes; /* some cell's number is not 0: figures are made class by class */
	bool lower_bound[BP_METRIC_COUNT],
		upper_bound[BP_METRIC_COUNT]; /* of rows, see bp_figure */
	struct bp_cube_build *build;
};

/* Errors: memory. While it is built it is made coarser whenever it holds more than `cells_max`
 * cells. */
bool bp_cube_init(const struct bp_aggregation *aggregation, uint32_t cells_max,
	struct bp_cube *ret_cube, struct bp_error *error);

/* One rung down; `*ret_coarser` false: there is none. Also after it was packed. */
bool bp_cube_coarsen(struct bp_cube *cube, bool *ret_coarser, struct bp_error *error);

/* Cells in an order in which they compress, equal records once, the stacks that are left. */
bool bp_cube_pack(struct bp_cube *cube, struct bp_error *error);
void bp_cube_finish(struct bp_cube *cube);

/* Name of a type key; as `--by type` shows it. */
const char *bp_cube_type_name(const struct bp_cube *cube, uint32_t type);

/* What was live at each edge, `ret_moments` having room for bins + 1; `live`: the same query, of
 * metric live. */
bool bp_cube_timeline(const struct bp_cube *cube, const struct bp_aggregation *live,
	struct bp_moment_figures *ret_moments, struct bp_error *error);

/* Known of the counters of a thread or process as a row of allocated (`--by thread`, `--by
 * process`); false: it is estimated like others. */
bool bp_cube_own_counters(const struct bp_aggregation *aggregation, bool thread, uint32_t id,
	struct bp_known_total *ret_bytes, struct bp_known_total *ret_objects);

#endif
