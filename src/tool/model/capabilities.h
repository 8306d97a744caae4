/* SPDX-License-Identifier: MIT */
/*
 * What a file cannot tell. Our own recorder tells everything below; runtimes that sample for
 * themselves, other tools' files and snapshots tell less. An importer sets these bits for each
 * process, bp_profile_finish_import joins them for the whole profile, and an aggregation joins
 * those of the processes that it looks at. Whoever has to know whether a figure can be there asks
 * these sets, or bp_absent_metrics of them (query/query.h), and nothing else. An empty set lacks
 * nothing.
 */
#ifndef BP_MODEL_CAPABILITIES_H
#define BP_MODEL_CAPABILITIES_H

enum bp_lack {
	/* Threads have no counters: totals are estimates, too. */
	BP_LACKS_COUNTERS = 1u << 0,
	/* Bytes were counted, objects were not: totals of objects are estimates, and what is
	 * temporary is not known. */
	BP_LACKS_OBJECT_COUNTERS = 1u << 1,
	/* Frees were not recorded: live, peak and temporary are not known. */
	BP_LACKS_FREES = 1u << 2,
	/* Events have no times and samples no offsets, because the file is a snapshot: peak and
	 * temporary are not known, and nothing can be asked about a part of the run. */
	BP_LACKS_TIMES = 1u << 3,
	/* Only what is live was recorded: allocated is not known. */
	BP_LACKS_FREED_OBJECTS = 1u << 4,
	/* The sampling interval is not in the file: the one of its writer is assumed. */
	BP_LACKS_INTERVAL = 1u << 5
};

#endif
