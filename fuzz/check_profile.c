/* SPDX-License-Identifier: MIT */
/* See check_profile.h. */
#include "check_profile.h"

#include <stdio.h>
#include <stdlib.h>

#include "import/import.h"

void bp_fuzz_require(bool condition)
{
	if (!condition)
		abort();
}

/* Types and labels. */
static void check_told(const struct bp_profile *profile)
{
	for (uint32_t i = 1; i < profile->types.count; i++) {
		const struct bp_type *type = &profile->types.data[i];
		bp_fuzz_require(type->name.i < profile->strings.count);
		bp_fuzz_require(type->process.i < profile->processes.count);
	}
	for (uint32_t i = 1; i < profile->labels.count; i++) {
		const struct bp_labels *labels = &profile->labels.data[i];
		bp_fuzz_require(labels->text.i != 0 && labels->text.i < profile->strings.count);
		bp_fuzz_require(
			(uint64_t)labels->first + labels->count <= profile->label_pairs.count);
	}
}

void bp_fuzz_check_profile(const struct bp_profile *profile)
{
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		const struct bp_sample found = bp_profile_sample(profile, i), *sample = &found;
		bp_fuzz_require(sample->stack.i < profile->stacks.count);
		bp_fuzz_require(sample->thread.i < profile->threads.count);
		bp_fuzz_require(sample->type.i < profile->types.count);
		bp_fuzz_require(sample->labels.i < profile->labels.count);
		bp_fuzz_require(
			sample->process.i < profile->processes.count && sample->process.i != 0);
		bp_fuzz_require(sample->interval >= 1 && sample->free_time_ns >= sample->time_ns);
		bp_fuzz_require((sample->free_time_ns == BP_TIME_NEVER) ==
				(sample->free_sequence == BP_TIME_NEVER));
	}
	for (uint32_t i = 1; i < profile->verify_sums.count; i++) {
		const struct bp_verify_sums *sums = &profile->verify_sums.data[i];
		bp_fuzz_require(sums->stack.i < profile->stacks.count && sums->process.i != 0);
		bp_fuzz_require(sums->freed_bytes <= sums->allocated_bytes);
		bp_fuzz_require(sums->temporary_objects <= sums->freed_objects);
	}
	for (uint32_t i = 1; i < profile->stacks.count; i++) {
		const struct bp_stack *stack = &profile->stacks.data[i];
		bp_fuzz_require((uint64_t)stack->first_location + stack->depth <=
				profile->stack_locations.count);
	}
	for (uint32_t i = 0; i < profile->stack_locations.count; i++)
		bp_fuzz_require(profile->stack_locations.data[i].i < profile->locations.count);
	for (uint32_t i = 1; i < profile->locations.count; i++)
		bp_fuzz_require(profile->locations.data[i].module.i < profile->modules.count);
	for (uint32_t i = 1; i < profile->locations.count; i++)
		bp_fuzz_require((uint64_t)profile->locations.data[i].first_frame.i +
					profile->locations.data[i].frame_count <=
				profile->frames.count);
	for (uint32_t i = 1; i < profile->frames.count; i++) {
		const struct bp_frame *frame = &profile->frames.data[i];
		bp_fuzz_require(frame->function.i < profile->strings.count);
		bp_fuzz_require(frame->module.i < profile->modules.count);
	}
	check_told(profile);
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		bp_fuzz_require(process->bytes_allocated.low <= process->bytes_allocated.high);
		bp_fuzz_require(process->objects_allocated.low <= process->objects_allocated.high);
		bp_fuzz_require(process->interval_max >= 1);
		bp_fuzz_require(process->bytes_off.low <= process->bytes_off.high);
		bp_fuzz_require(process->objects_off.low <= process->objects_off.high);
		bp_fuzz_require(process->has_pauses || process->objects_off.high == 0);
	}
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		const struct bp_thread *thread = &profile->threads.data[i];
		bp_fuzz_require(thread->bytes_allocated.low <= thread->bytes_allocated.high);
		bp_fuzz_require(thread->objects_allocated.low <= thread->objects_allocated.high);
	}
	for (uint32_t i = 1; i < profile->pauses.count; i++) {
		const struct bp_pause *pause = &profile->pauses.data[i];
		bp_fuzz_require(
			pause->process.i < profile->processes.count && pause->process.i != 0);
		bp_fuzz_require(pause->from_ns < pause->to_ns);
		bp_fuzz_require(i == 1 || pause[-1].process.i != pause->process.i ||
				pause[-1].to_ns < pause->from_ns);
	}
	for (uint32_t i = 1; i < profile->intervals.count; i++)
		bp_fuzz_require(profile->intervals.data[i].interval >= 1);
}

void bp_fuzz_import(int fd, struct bp_frame_choice frames, bool mapped)
{
	struct bp_profile profile;
	struct bp_error error = { .text = "" };
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	bp_fuzz_require(bp_profile_init(&profile, &error));
	profile.frames_shown = frames;
	profile.mapped = mapped;
	if (bp_import_file(path, &profile, &error)) {
		bp_fuzz_check_profile(&profile);
		bp_fuzz_require(bp_profile_finish_import(&profile, false, &error));
		bp_fuzz_check_profile(&profile);
	} else {
		bp_fuzz_require(error.text[0] != '\0');
	}
	bp_profile_finish(&profile);
}
