/* SPDX-License-Identifier: MIT */
/*
 * The block on top of the reports for people: what ran, how it was sampled, the four totals, and
 * everything that limits what the figures say. Called by the reports for people.
 */
#ifndef BP_REPORT_PARTS_HEADER_H
#define BP_REPORT_PARTS_HEADER_H

#include "report/report.h"
#include "text/quantity.h"

/* "0 lost", "at least 160 lost"; false: nothing was. `buffer`: BP_QUANTITY_BYTES. */
bool bp_lost_text(const struct bp_aggregation *aggregation, char *buffer);

void bp_write_header(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out);

/* Indented text, broken at spaces to the width of the terminal. */
void bp_write_wrapped(
	const struct bp_report_options *options, const char *mark, const char *text, FILE *out);

/* The same as a warning ("! ..."), and as a note in dim text. Each line has its colour to itself: a
 * pager forgets it where a line ends. */
void bp_write_warning(const struct bp_report_options *options, const char *text, FILE *out);
void bp_write_note(const struct bp_report_options *options, const char *text, FILE *out);

/* Are the names of rows by this key the words of a program, which are cut as any text, and not
 * names of functions in C++ or Rust, which name_text.h makes shorter? So are labels, and everything
 * in the recording of a host (bytepoll/host.h). */
bool bp_names_as_recorded(const struct bp_profile *profile, enum bp_key by);

/* A name for a terminal, in at most `columns` columns, by bp_terminal_name or bp_terminal_text.
 * Returns the columns it takes. */
unsigned bp_report_name(const struct bp_report_options *options, const char *name, unsigned columns,
	char *buffer, size_t bytes);

/* "live by function, cumulative, at 3.2 s": what the rows are. */
void bp_write_subject(const struct bp_aggregation *aggregation, FILE *out);

/* A line on what was allocated while sampling was off: it is in no figure, but counted. Nothing
 * where sampling was never off. */
void bp_write_pauses(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out);

/* Which allocation functions the rows leave out, whose callers are charged instead; nothing where
 * there are none, which is most often so. */
void bp_write_charged(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out);

/* Escape sequences, empty without colour. */
const char *bp_style_bold(const struct bp_report_options *options);
const char *bp_style_dim(const struct bp_report_options *options);
const char *bp_style_warn(const struct bp_report_options *options);
const char *bp_style_end(const struct bp_report_options *options);

static inline struct bp_quantity_style bp_style_of(const struct bp_report_options *options)
{
	return (struct bp_quantity_style){ .utf8 = options->utf8, .si = options->si };
}

/* Do filters leave no sample at all? Then the header has said so, and what it may hold at most. */
bool bp_nothing_matches(const struct bp_aggregation *aggregation);

#endif
