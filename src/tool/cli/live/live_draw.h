/* SPDX-License-Identifier: MIT */
/*
 * A live view as text: a frame of lines that fit a terminal of any size, or plain text for a file.
 * Names are made safe (text/escape.h); nothing else in a frame comes from the profile. Pure but
 * for memory.
 */
#ifndef BP_CLI_LIVE_LIVE_DRAW_H
#define BP_CLI_LIVE_LIVE_DRAW_H

#include "cli/live/live_view.h"
#include "report/report.h"

/* What a frame says beside the figures. */
struct bp_live_frame {
	struct bp_report_options options; /* columns, utf8, colour, si */
	unsigned rows;			  /* lines; 0: as many as there are, for a file */
	bool paused, help;
	uint64_t refresh_ns; /* time between readings */
	bool lengthened;     /* it is longer than was asked for */
	const char *prompt;  /* a filter being typed; NULL: none */
	const char *message; /* one line that goes away again; NULL: none */
};

/* The frame, to be freed; NULL: no memory. Moves view->cursor and view->first into bounds. */
char *bp_live_draw(struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_live_frame *frame);

/* Lines of rows that a frame has room for: a page. */
unsigned bp_live_page(const struct bp_live_frame *frame);

#endif
