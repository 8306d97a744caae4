/* SPDX-License-Identifier: MIT */
/*
 * What the terminal on standard output can show: width, characters, colour. The width is the
 * terminal's own word, else COLUMNS, else 80. There is colour on terminals only, and none with
 * NO_COLOR, or where TERM is dumb or missing. Used by commands before they write for people. Sets
 * the locale's characters (LC_CTYPE), numbers keep their decimal point.
 */
#ifndef BP_CLI_TERMINAL_TERMINAL_H
#define BP_CLI_TERMINAL_TERMINAL_H

#include "report/report.h"

/* Fills columns, utf8, colour and terminal; the other options are left alone. Before a pager is
 * started: it looks at the terminal. */
void bp_terminal_look(struct bp_report_options *options);

/* Does the terminal know no escape sequences, as far as TERM tells? */
bool bp_terminal_is_dumb(void);

#endif
