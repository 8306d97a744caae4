/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD as `run` writes it: a list of files, separated by colons or spaces. A process has one
 * recorder: where `run` itself runs below another `run`, the inner one's program is recorded by the
 * inner one alone, even if the outer one's is another file (--verify, another installation).
 */
#ifndef BP_CLI_RUN_PRELOAD_H
#define BP_CLI_RUN_PRELOAD_H

#include <stdbool.h>

/* `recorder`, and then of `before` (NULL: not set) everything but recorders. To be freed; NULL: no
 * memory. */
char *bp_preload_with(const char *recorder, const char *before);

/* Is there a recorder in the list? */
bool bp_preload_has_recorder(const char *list);

#endif
