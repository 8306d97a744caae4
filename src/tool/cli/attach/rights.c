/* SPDX-License-Identifier: MIT */
/*
 * See rights.h. Yama (Documentation/admin-guide/LSM/Yama.rst of Linux) restricts who may trace:
 * scope 1 leaves it to ancestors and to who has CAP_SYS_PTRACE, 2 to the latter alone, 3 to nobody,
 * and cannot be undone before the machine starts anew.
 */
#include "cli/attach/rights.h"

#include <stdlib.h>
#include <string.h>

enum { ANCESTORS_ONLY = 1, CAPABLE_ONLY = 2, NOBODY = 3 };

long bp_yama_scope(const char *text)
{
	const long scope = strtol(text, NULL, 10);
	return scope >= ANCESTORS_ONLY && scope <= NOBODY ? scope : 0;
}

bool bp_trace_refused(pid_t pid, long scope, bool root, struct bp_error *error)
{
	if (scope == NOBODY)
		return bp_error_set(error,
			"the kernel lets no process be traced (kernel.yama.ptrace_scope is 3, until "
			"the machine starts anew): start process %ld with bytepoll run",
			(long)pid);
	if (scope != 0 && !root)
		return bp_error_set(error,
			"the kernel does not let process %ld be traced (kernel.yama.ptrace_scope is "
			"%ld): be root, or have CAP_SYS_PTRACE%s",
			(long)pid, scope, scope == ANCESTORS_ONLY ? ", or set it to 0" : "");
	if (root)
		return bp_error_set(error,
			"the kernel does not let process %ld be traced, not even by this root: in a "
			"container, give it CAP_SYS_PTRACE (--cap-add SYS_PTRACE)",
			(long)pid);
	return bp_error_set(error,
		"the kernel does not let process %ld be traced: be root, or have CAP_SYS_PTRACE; a "
		"program that is not dumpable (set-uid, file capabilities) is root's alone",
		(long)pid);
}

bool bp_has_shadow_stacks(const char *status)
{
	/* At a line's begin, as the name of a process may be anything. */
	const char *features = strstr(status, "\nx86_Thread_features:");
	const char *end = features != NULL ? strchr(features + 1, '\n') : NULL;
	const char *found = features != NULL ? strstr(features, "shstk") : NULL;
	return found != NULL && (end == NULL || found < end);
}
