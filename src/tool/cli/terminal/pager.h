/* SPDX-License-Identifier: MIT */
/*
 * Long output a screen at a time: what goes to standard output goes through $PAGER, or less, if
 * standard output is a terminal that is more than a dumb one. Who leaves the pager early gets no
 * error and the status of the command. Used by commands that write for people, around their
 * writing; at most one pager at a time. Not thread-safe.
 */
#ifndef BP_CLI_TERMINAL_PAGER_H
#define BP_CLI_TERMINAL_PAGER_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command.h"

#define BP_OPTION_NO_PAGER                                                                  \
	{                                                                                   \
		.name = "no-pager", .summary = "write long output to the terminal directly" \
	}

/* Starts the pager, unless --no-pager was given (the command's table must have it). Nothing happens
 * where no pager can be started: standard output is no terminal, PAGER is empty or "cat", there is
 * no less, or PAGER names a program that is not there, which bp_pager_end prints in a line on
 * stderr. Afterwards standard output may be no terminal any more: look at it before. */
void bp_pager_begin_unless(const struct bp_arguments *arguments);

/* Waits until the pager has ended; standard output is as before then. False: the pager could not be
 * started, and what was written was not seen. Harmless without a pager. */
bool bp_pager_end(struct bp_error *error);

#endif
