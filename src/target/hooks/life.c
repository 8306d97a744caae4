/* SPDX-License-Identifier: MIT */
/*
 * Functions that end the process without running the recorder's destructor, forks, the unloading of
 * modules, mallopt, and calls that would make the trace's mapping count against the program.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attributes.h"
#include "hooks/binding/late.h"
#include "hooks/binding/real_other.h"
#include "hooks/python.h"
#include "recorder/real.h"
#include "recorder/recorder.h"

BP_EXPORT void _exit(int status)
{
	bp_recorder_end(BP_END_UNDERSCORE_EXIT);
	bp_real_others()->_exit(status);
	__builtin_unreachable();
}

BP_EXPORT void _Exit(int status)
{
	bp_recorder_end(BP_END_UNDERSCORE_EXIT);
	bp_real_others()->_Exit(status);
	__builtin_unreachable();
}

BP_EXPORT void quick_exit(int status)
{
	/* Its handlers run after this; what they allocate publishes itself. */
	bp_recorder_end(BP_END_QUICK_EXIT);
	bp_real_others()->quick_exit(status);
	__builtin_unreachable();
}

BP_EXPORT void abort(void)
{
	bp_recorder_end(BP_END_ABORT);
	bp_real_others()->abort();
	__builtin_unreachable();
}

BP_EXPORT pid_t fork(void)
{
	/* The child's own trace is begun by the handlers; here only its pid is learnt. */
	pid_t pid = bp_real_others()->fork();
	if (pid > 0)
		bp_recorder_forked(pid);
	return pid;
}

BP_EXPORT int dlclose(void *handle)
{
	if (bp_unlikely(bp_late_wants_look))
		bp_late_look();
	bp_python_before_dlclose();
	int result = bp_real_others()->dlclose(handle);
	bp_recorder_unloaded();
	bp_python_after_dlclose();
	return result;
}

void bp_real_make_heap_ready(void)
{
	static bool ready;
	if (bp_likely(__atomic_load_n(&ready, __ATOMIC_RELAXED)))
		return;
	(void)bp_real_others()->mallopt(0, 0); /* a parameter that there is not */
	__atomic_store_n(&ready, true, __ATOMIC_RELAXED);
}

BP_EXPORT int mallopt(int parameter, int value)
{
	const int result = bp_real_others()->mallopt(parameter, value);
	if (parameter == M_PERTURB && result != 0)
		bp_recorder.perturb = (uint8_t)value;
	return result;
}

BP_EXPORT int mlockall(int flags)
{
	bp_recorder_before_limits();
	return bp_real_others()->mlockall(flags);
}

#define RESOURCE(resource) ((int)(resource))

BP_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	if (RESOURCE(resource) == RLIMIT_AS)
		bp_recorder_before_limits();
	return bp_real_others()->setrlimit(RESOURCE(resource), limit);
}

BP_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	if (RESOURCE(resource) == RLIMIT_AS)
		bp_recorder_before_limits();
	return bp_real_others()->setrlimit64(RESOURCE(resource), limit);
}

BP_EXPORT int prlimit(
	pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit, struct rlimit *old)
{
	if (RESOURCE(resource) == RLIMIT_AS && limit != NULL)
		bp_recorder_before_limits();
	return bp_real_others()->prlimit(pid, RESOURCE(resource), limit, old);
}

BP_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
	struct rlimit64 *old)
{
	if (RESOURCE(resource) == RLIMIT_AS && limit != NULL)
		bp_recorder_before_limits();
	return bp_real_others()->prlimit64(pid, RESOURCE(resource), limit, old);
}
