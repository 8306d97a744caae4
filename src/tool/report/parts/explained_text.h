/* SPDX-License-Identifier: MIT */
/*
 * "malloc explains 18 %" in words (resident/explained.h): what stands first wherever a recording is
 * shown of whose process malloc explains little, the same words everywhere. Pure but for the
 * stream.
 */
#ifndef BP_REPORT_PARTS_EXPLAINED_TEXT_H
#define BP_REPORT_PARTS_EXPLAINED_TEXT_H

#include "report/report.h"
#include "resident/explained.h"
#include "text/json_writer.h"
#include "text/quantity.h"

/* Enough for any text made here. */
#define BP_EXPLAINED_BYTES 768

/* "malloc explains 18 %", "at most 8 %", "less than 1 %". */
void bp_share_explained_text(const struct bp_interval *share, char *buffer);

/* What holds: "process at its highest 269 MiB (at 1.21 s); malloc then 49 MiB [44, 62]: malloc
 * explains 18 %". */
void bp_explained_text(
	const struct bp_explained *explained, struct bp_quantity_style style, char *buffer);

/* Why malloc explains so little, as far as that is known, and what to do: a sentence without its
 * full stop. */
void bp_explained_advice(
	const struct bp_explained *explained, struct bp_quantity_style style, char *buffer);

/* Where the peak is beyond what was ever resident: by how much, and what that means; empty where it
 * is not. A sentence without its full stop. */
void bp_explained_beyond_text(
	const struct bp_explained *explained, struct bp_quantity_style style, char *buffer);

/* What heap it has beside malloc's, in a few words: "Python's arenas"; NULL: none is known. */
const char *bp_explained_heap(const struct bp_explained *explained);

/* What of the process is neither malloc's nor of files, in a few words for a list of its parts: "
 * (Python's arenas among it)", or empty where nothing is known of it. `explained` may be NULL. */
void bp_explained_rest_text(const struct bp_explained *explained, char *buffer, size_t bytes);

/* The member "explained" of bytepoll-report-1. */
void bp_json_explained(struct bp_json *json, const struct bp_explained *explained);

/* All of them as warnings of a report's header; nothing unless malloc explains little, or its peak
 * is beyond what was resident. */
void bp_write_explained(const struct bp_report_options *options, FILE *out);

#endif
