/* SPDX-License-Identifier: MIT */
/*
 * Profiles for other tools. A new format is one file with a `struct bp_export` and one line in
 * exports.h; docs/exports.md says what each format can hold.
 * What is written are the figures of the report: a format that has no place for intervals gets the
 * estimates, rounded to whole numbers so that their sums stay (bp_round_next), and the totals with
 * their intervals where it takes a comment or a title.
 *
 * Called by cli/export.c. Names come from files and programs that may be hostile: no format passes
 * control characters or invalid UTF-8 on.
 */
#ifndef BP_EXPORT_EXPORT_H
#define BP_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregation/aggregate.h"
#include "aggregation/views/entries.h"
#include "base/error.h"
#include "export/exports.h"
#include "fleet/process_fields.h"

struct bp_export_options {
	struct bp_entry_options labels; /* of pprof and otlp */
	bool variances;			/* of pprof and otlp: further sample types */
	bool objects;			/* of collapsed: objects, not bytes */
};

/* What there is to write. */
struct bp_export_source {
	const struct bp_profile *profile;
	const struct bp_aggregation *asked; /* the metric asked for */
	/* The metrics that the format needs, by stack; NULL where the file does not tell them. */
	const struct bp_aggregation *metrics[BP_METRIC_COUNT];
	struct bp_export_options options;
	const struct bp_tags *tags; /* whose recording it is; NULL: nobody said */
};

#define BP_METRIC_BIT(metric) (1u << (metric))

struct bp_export {
	const char *name;	/* as in --to */
	unsigned metrics;	/* beside the one asked for; bits of enum bp_metric */
	unsigned refused;	/* metrics it has no place for, likewise */
	bool by_rows;		/* shows rows of any --by; otherwise stacks */
	bool live_only;		/* is about what lives at the end, whatever else there is */
	bool by_metrics;	/* has the metrics side by side, whichever was asked for */
	bool keeps_allocators;	/* has whole stacks, the allocation functions included */
	bool without_intervals; /* has no place for intervals */
	bool tagged;		/* says whose recording it is: --service and others */
	bool labelled;		/* takes --label and --variances */
	bool mapped;		/* may be of what the programs mapped themselves */
	bool one_moment;	/* shows what lived at one moment: the peak, where little lives at
			  * the end and nobody chose (policy/shown.h) */
	/* Writes to `out`; errors of the stream are the caller's to find (ferror). */
	bool (*write)(const struct bp_export_source *source, FILE *out, struct bp_error *error);
	/* Instead of it, for a format that is a folder of files and holds the whole profile: writes
	 * into `folder`, an empty one. NULL: it is a file. */
	bool (*write_folder)(const struct bp_profile *profile, const struct bp_tags *tags,
		int folder, struct bp_error *error);
};

const struct bp_export *bp_export_find(const char *name);

#define BP_EXPORT_DECLARED(name) extern const struct bp_export bp_export_##name;
BP_EXPORTS(BP_EXPORT_DECLARED)
#undef BP_EXPORT_DECLARED

/* ---- for the formats ---- */

#define BP_EXPORT_NO_STACK "(no stack recorded)"

/* The total of a metric with its intervals, as a line of text: "live at exit: 12.3 MiB ±0.8
 * (12897484 bytes [...]; ...". */
#define BP_EXPORT_LINE_BYTES 512
void bp_export_total_line(
	const struct bp_aggregation *aggregation, enum bp_metric metric, char *buffer);

/* How it was sampled: "T = 512 KiB, law exact, 1234 samples". */
void bp_export_sampling_line(const struct bp_aggregation *aggregation, char *buffer);

/* What a format that takes comments says, number `i` < BP_EXPORT_COMMENTS: the command line, how it
 * was sampled, the total of each metric there is. False: this one says nothing. */
#define BP_EXPORT_COMMENTS (2u + BP_METRIC_COUNT)
bool bp_export_comment(const struct bp_export_source *source, const struct bp_aggregation *any,
	unsigned i, char *buffer);

/* The largest T in force, bytes; at least 1. */
uint64_t bp_export_period(const struct bp_aggregation *aggregation);

/* Places of the deepest stack; at least 1. */
uint32_t bp_export_deepest(const struct bp_profile *profile);

/* The address of a place in code in the memory of its process, that of the call for a frame that
 * called; 0: it has none. */
uint64_t bp_export_address(const struct bp_profile *profile, const struct bp_location *location);

/* Where in its file the mapped addresses of a module begin, bytes; 0 also where that is not
 * known. */
uint64_t bp_export_file_offset(const struct bp_module *module);

/* Entries in the order of their functions, outermost first, so that equal ones are neighbours. */
void bp_export_sort(const struct bp_aggregation *aggregation, struct bp_entries *entries);

/* Do two stacks read as the same functions? */
bool bp_export_same_functions(
	const struct bp_aggregation *aggregation, struct bp_stack_id a, struct bp_stack_id b);

#endif
