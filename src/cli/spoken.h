/* SPDX-License-Identifier: MIT */
/* What commands that record say on standard error: paths as the user would type them, figures as the
 * terminal can show them. */
#ifndef BP_CLI_SPOKEN_H
#define BP_CLI_SPOKEN_H

#include "report/quantity.h"

/* A path to standard error: without the current directory, and quoted where a shell would take it apart. */
void bp_spoken_path(const char *path);

/* By the locale of the environment. */
struct bp_quantity_style bp_spoken_style(void);

#endif
