/* SPDX-License-Identifier: MIT */
/*
 * Which recorder stands in front of CPython's allocators: the ordinary one does (python_plain.c);
 * the one that verifies does not (python_verify.c), because its exact sums are those of malloc
 * alone.
 */
#ifndef BP_HOOKS_PYTHON_H
#define BP_HOOKS_PYTHON_H

#include <stdbool.h>

bool bp_python_hooks_objects(void);

#endif
