/* SPDX-License-Identifier: MIT */
/*
 * A process that ends in an exec goes on under its number, and the next image begins a trace as
 * soon as the loader has loaded the recorder. No such trace means that it did not: the loader
 * ignored LD_PRELOAD, found no such file (another root, another user's view of the folders), or the
 * trace could not be written. The same holds of what a process started by vfork, under another
 * number.
 */
#include "model/gaps/unseen.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/path.h"
#include "base/sorted.h"

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

static int compare_births(const void *a, const void *b)
{
	const struct bp_birth *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

void bp_births_sort(struct bp_birth *births, uint32_t count)
{
	qsort(births, count, sizeof *births, compare_births);
}

bool bp_births_have(const struct bp_birth *births, uint32_t count, uint32_t pid, uint64_t since_ns)
{
	const uint32_t upto = bp_sorted_upto(births, sizeof *births, count, pid);
	/* The latest of that number. */
	return upto > 0 && births[upto - 1].pid == pid && births[upto - 1].time_ns >= since_ns;
}

bool bp_started_without_trace(
	const struct bp_profile *profile, uint32_t **ret_numbers, uint32_t *ret_count)
{
	const uint32_t images = profile->processes.count;
	struct bp_birth *births = calloc((size_t)images + 1, sizeof *births);
	uint32_t *numbers = calloc((size_t)profile->started.count + 1, sizeof *numbers);
	uint32_t count = 0;
	if (births == NULL || numbers == NULL) {
		free(births);
		free(numbers);
		return false;
	}
	for (uint32_t i = 0; i < images; i++)
		births[i] = (struct bp_birth){ profile->processes.data[i].pid,
			profile->processes.data[i].start_time_ns };
	bp_births_sort(births, images);
	for (uint32_t i = 0; i < profile->started.count; i++) {
		const struct bp_started *started = &profile->started.data[i];
		if (!bp_births_have(births, images, started->pid, started->time_ns))
			numbers[count++] = i;
	}
	free(births);
	*ret_numbers = numbers;
	*ret_count = count;
	return true;
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
