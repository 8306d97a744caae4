/* SPDX-License-Identifier: MIT */
/*
 * Prints one line for each sample of a trace (and of the tree that belongs to it), for drivers that
 * count in thousands of runs: pid, thread ordinal, sequence number, requested size, interval in
 * force, 1 if taken with certainty, when it was freed (sequence number, 0 never), 1 if temporary,
 * the number of its stack (0 not known), the depth of that stack. Tab-separated, in the order of
 * the profile.
 */
#include <stdio.h>

#include "import/import.h"

static void print_sample(const struct bp_profile *profile, const struct bp_sample *sample)
{
	const struct bp_process *process = &profile->processes.data[sample->process.i];
	const struct bp_thread *thread = &profile->threads.data[sample->thread.i];
	bool freed = sample->free_time_ns != BP_TIME_NEVER;
	printf("%u\t%u\t%llu\t%llu\t%llu\t%d\t%llu\t%d\t%u\t%u\n", process->pid, thread->ordinal,
		(unsigned long long)sample->sequence, (unsigned long long)sample->size,
		(unsigned long long)sample->interval, sample->exact,
		freed ? (unsigned long long)sample->free_sequence : 0, sample->temporary,
		sample->stack.i, profile->stacks.data[sample->stack.i].depth);
}

int main(int argument_count, char **arguments)
{
	struct bp_profile profile;
	struct bp_error error = { 0 };
	if (argument_count != 2 || !bp_profile_init(&profile, &error))
		return 2;
	if (!bp_import_file(arguments[1], &profile, &error) ||
		!bp_profile_finish_import(&profile, false, &error)) {
		fprintf(stderr, "sample_lines: %s\n", error.text);
		return 1;
	}
	for (uint32_t i = 1; i < profile.samples.count; i++) {
		const struct bp_sample sample = bp_profile_sample(&profile, i);
		for (uint32_t j = 0; j <= sample.more; j++)
			print_sample(&profile, &sample);
	}
	bp_profile_finish(&profile);
	return 0;
}
