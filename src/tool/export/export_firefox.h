/* SPDX-License-Identifier: MIT */
/*
 * What stands in a file of the Firefox Profiler, before it is written: export_firefox.c gathers it
 * from a profile, export_firefox_write.c writes it. Private to these two.
 */
#ifndef BP_EXPORT_EXPORT_FIREFOX_H
#define BP_EXPORT_EXPORT_FIREFOX_H

#include "aggregation/views/entries.h"
#include "export/export.h"
#include "export/function_table.h"
#include "model/id_index.h"
#include "text/json_writer.h"

#define BP_FIREFOX_NONE UINT32_MAX

struct bp_firefox_node {
	uint32_t prefix, frame; /* prefix: BP_FIREFOX_NONE at a root */
};

struct bp_firefox_event {
	uint64_t time_ns;
	int64_t weight;
	uint32_t node, number, process, tid;
};

struct bp_firefox {
	const struct bp_aggregation *aggregation;
	const struct bp_profile *profile;
	struct bp_entries entries;
	struct bp_function_table functions;
	bool balanced;
	uint32_t *number_of_frame; /* by frame id; BP_FIREFOX_NONE: not met */
	struct bp_frame_id *frames;
	const struct bp_location **places; /* where each is */
	uint32_t frame_count;
	struct bp_firefox_node *nodes;
	uint32_t node_count, node_capacity;
	struct bp_id_index node_index;
	uint32_t *node_of_stack; /* by stack id; BP_FIREFOX_NONE: not met */
	struct bp_firefox_event *events;
	uint32_t event_count, event_capacity;
	uint32_t samples;
	struct bp_rounding freed, kept; /* apart, so that what is kept adds up by itself */
	struct bp_json json;
};

/* All of it, with the end of its last line. */
void bp_firefox_write(struct bp_firefox *to);

#endif
