/* SPDX-License-Identifier: MIT */
/* See python.h. */
#include "hooks/python.h"

bool bp_python_hooks_objects(void)
{
	return false;
}
