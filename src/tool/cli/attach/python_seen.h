/* SPDX-License-Identifier: MIT */
/* What is recorded of the CPython in a process that was just attached to. */
#ifndef BP_CLI_ATTACH_PYTHON_SEEN_H
#define BP_CLI_ATTACH_PYTHON_SEEN_H

/* Prints to standard error, indented, what of the interpreter's functions and small objects the
 * trace at `file` has, and what it lacks and why, as reports say it. Waits a moment for the
 * interpreter, whose threads run. Prints nothing where there is none. */
void bp_python_seen_say(const char *file);

#endif
