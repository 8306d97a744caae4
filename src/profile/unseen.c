/* SPDX-License-Identifier: MIT */
/*
 * A process that ends in an exec goes on under its number, and the next image begins a trace as
 * soon as the loader has loaded the recorder. No such trace means that it did not: the loader
 * ignored LD_PRELOAD, found no such file (another root, another user's view of the folders), or
 * the trace could not be written.
 */
#include "profile/unseen.h"

#include <string.h>

#include "base/attributes.h"
#include "base/path.h"

#define END_BY_EXEC 5u /* enum bp_end_reason of the trace */

bool bp_process_went_on_elsewhere(
	const struct bp_profile *profile, const struct bp_process *process)
{
	if (process->end_reason != END_BY_EXEC)
		return false;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *other = &profile->processes.data[i];
		if (other->pid == process->pid && other->start_time_ns > process->start_time_ns)
			return false;
	}
	return true;
}

bool bp_process_went_on_unexplained(
	const struct bp_profile *profile, const struct bp_process *process)
{
	return !process->became_unseen && bp_process_went_on_elsewhere(profile, process);
}

bool bp_is_valgrind(const char *path)
{
	const char *name = bp_last_part(path);
	return strcmp(name, "valgrind") == 0 || strcmp(name, "valgrind.bin") == 0 ||
	       (strstr(path, "/valgrind/") != NULL && strstr(name, "-linux") != NULL);
}

const char *bp_unseen_text(uint32_t reason, const char *path)
{
	static const char *const texts[] = { "cannot be profiled",
		"set-uid, set-gid or with file capabilities", "statically linked",
		"not a program of this machine", "started without the recorder's environment" };
	if (bp_is_valgrind(path))
		return "valgrind, which has a malloc of its own in place of every other: run the "
		       "program without it";
	return texts[reason < BP_COUNT(texts) ? reason : 0];
}
