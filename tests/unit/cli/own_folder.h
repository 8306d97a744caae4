/* SPDX-License-Identifier: MIT */
/*
 * A folder of a test's own: fixtures of cmocka that make it and remove it with all that is in it,
 * and paths into it. One at a time.
 */
#ifndef BP_TESTS_CLI_OWN_FOLDER_H
#define BP_TESTS_CLI_OWN_FOLDER_H

int own_folder_enter(void **state);
int own_folder_leave(void **state);
/* Its path, and that of what has this name in it: the last four results are valid. */
const char *own_folder(void);
const char *own_path(const char *name);

#endif
