/* SPDX-License-Identifier: MIT */
/*
 * What the terminal on standard output can show: width, characters, colour. NO_COLOR and TERM=dumb
 * are respected, COLUMNS goes before the terminal's own word. Used by commands before they write
 * for people. Sets the locale's characters (LC_CTYPE), numbers keep their decimal point.
 */
#ifndef BP_CLI_TERMINAL_H
#define BP_CLI_TERMINAL_H

#include "report/report.h"

/* Fills columns, utf8 and colour; the other options are left alone. */
void bp_terminal_look(struct bp_report_options *options);

#endif
