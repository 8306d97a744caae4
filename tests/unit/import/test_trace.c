/* SPDX-License-Identifier: MIT */
/*
 * From trace files to a profile, against what tests/data/trace/make_traces.py put into them.
 * Argument: the folder of the traces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "import/import.h"
#include "trace/format.h"

static const char *folder;

static const char *trace_path(const char *name)
{
	static char path[4096];
	snprintf(path, sizeof path, "%s/%s.bpt", folder, name);
	return path;
}

static void import_trace(struct bp_profile *profile, const char *name)
{
	struct bp_error error = { .text = "" };
	if (!bp_profile_init(profile, &error) || !bp_import_file(trace_path(name), profile, &error))
		fail_msg("%s", error.text);
}

/* The sample of this sequence in the process of this pid; valid for seven more calls. */
static const struct bp_sample *sample_of(
	const struct bp_profile *profile, uint32_t pid, uint64_t sequence)
{
	static struct bp_sample found[8];
	static unsigned next;
	struct bp_sample *sample = &found[next++ % 8];
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		*sample = bp_profile_sample(profile, i);
		if (sample->sequence == sequence &&
			profile->processes.data[sample->process.i].pid == pid)
			return sample;
	}
	fail_msg("sample %u is missing", (unsigned)sequence);
	return NULL;
}

static const struct bp_process *process_of(const struct bp_profile *profile, uint32_t pid)
{
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (profile->processes.data[i].pid == pid)
			return &profile->processes.data[i];
	fail_msg("process %u is missing", pid);
	return NULL;
}

/* The place in a stack, counted from the innermost. */
static const struct bp_location *place_of(
	const struct bp_profile *profile, const struct bp_sample *sample, uint32_t depth)
{
	const struct bp_stack *stack = &profile->stacks.data[sample->stack.i];
	assert_true(sample->stack.i != 0 && depth < stack->depth);
	return &profile->locations
			.data[profile->stack_locations.data[stack->first_location + depth].i];
}

static const char *module_of(const struct bp_profile *profile, const struct bp_location *location)
{
	return bp_profile_text(profile, profile->modules.data[location->module.i].path);
}

static void process_fields(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "simple");
	assert_int_equal(profile.processes.count, 2);
	const struct bp_process *process = &profile.processes.data[1];
	assert_string_equal(bp_profile_text(&profile, process->program), "/usr/bin/program");
	assert_string_equal(bp_profile_text(&profile, process->command_line), "program argument");
	assert_string_equal(bp_profile_text(&profile, process->file), trace_path("simple"));
	assert_int_equal(process->trace_id[0], 'T');
	assert_true(process->ended && process->end_reason == BP_END_EXIT && process->profiled);
	assert_true(process->start_time_ns == 1000 && process->end_time_ns == 3100);
	assert_true(process->interval_first == 4096 && process->interval_max == 4096);
	assert_true(
		process->bytes_allocated.low == 29900 && process->bytes_allocated.high == 29900);
	assert_true(process->objects_allocated.low == 100);
	assert_true(process->samples == 4 && process->size_min == 50);
	assert_true(process->recorder_bytes == 123456 && process->damaged_chunks == 0);
	bp_profile_finish(&profile);
}

static void samples_and_their_frees(void **state)
{
	struct bp_profile profile;
	const struct bp_sample *sample;
	(void)state;
	import_trace(&profile, "simple");
	assert_int_equal(profile.samples.count, 1 + 4);
	sample = sample_of(&profile, 100, 1);
	assert_true(sample->size == 100 && sample->usable == 104 && sample->time_ns == 2000);
	assert_true(
		sample->free_time_ns == BP_TIME_NEVER && sample->free_sequence == BP_TIME_NEVER);
	assert_true(!sample->exact && !sample->bernoulli && sample->interval == 4096);
	/* Freed by the same thread with the same object counter. */
	sample = sample_of(&profile, 100, 2);
	assert_true(sample->exact && sample->kind == BP_KIND_CALLOC && sample->temporary);
	assert_true(sample->free_time_ns == 2200 && sample->free_sequence == 3);
	/* The thread made one more object before it let go of this one. */
	sample = sample_of(&profile, 100, 4);
	assert_true(sample->free_time_ns == 2400 && !sample->temporary);
	assert_true(sample_of(&profile, 100, 6)->free_time_ns == BP_TIME_NEVER);

	/* Both were freed by the thread that had made them, and the others not at all. */
	unsigned by_its_thread = 0;
	for (uint32_t i = 1; i < profile.samples.count; i++) {
		const uint32_t how = bp_samples_how_freed(&profile.samples, i);
		const bool freed = bp_profile_sample(&profile, i).free_time_ns != BP_TIME_NEVER;
		assert_true((how & BP_FREED_BY_ANOTHER) == 0);
		assert_true(freed == ((how & BP_FREED_BY_ITS_THREAD) != 0));
		by_its_thread += freed;
	}
	assert_int_equal(by_its_thread, 2);

	const struct bp_thread *thread = &profile.threads.data[sample->thread.i];
	assert_true(thread->ordinal == 1 && thread->tid == 100);
	assert_string_equal(bp_profile_text(&profile, thread->name), "main");
	assert_true(thread->bytes_allocated.low == 29900);
	bp_profile_finish(&profile);
}

static void stacks_and_modules(void **state)
{
	struct bp_profile profile;
	const struct bp_location *place;
	(void)state;
	import_trace(&profile, "simple");
	const struct bp_sample *first = sample_of(&profile, 100, 1);
	const struct bp_sample *second = sample_of(&profile, 100, 2);
	assert_int_equal(profile.stacks.data[first->stack.i].depth, 3);
	assert_int_equal(profile.stacks.data[second->stack.i].flags, BP_STACK_CUT);
	place = place_of(&profile, first, 0);
	assert_true(place->address == 0x1000 && !place->exact);
	assert_string_equal(module_of(&profile, place), "/usr/bin/program");
	const struct bp_module *module = &profile.modules.data[place->module.i];
	assert_string_equal(bp_profile_text(&profile, module->build_id),
		"abcdabcdabcdabcdabcdabcdabcdabcdabcdabcd");
	assert_true(module->file_bytes == 5000 && module->file_mtime_ns == 77);
	/* The same place in two stacks is one location. */
	assert_ptr_equal(place_of(&profile, first, 1), place_of(&profile, second, 1));
	place = place_of(&profile, second, 0);
	assert_true(place->address == 0x500 && place->exact);
	assert_string_equal(module_of(&profile, place), "[vdso]");
	/* In no module: the absolute address. */
	place = place_of(&profile, second, 2);
	assert_true(place->module.i == 0 && place->address == 0x10);
	bp_profile_finish(&profile);
}

static void any_order_of_records(void **state)
{
	struct bp_profile profile;
	const struct bp_sample *sample;
	(void)state;
	import_trace(&profile, "chunks");
	/* The free stood before the sample; another thread freed it with an equal counter. */
	sample = sample_of(&profile, 100, 101);
	assert_true(sample->free_sequence == 160 && sample->free_time_ns == 9000);
	assert_false(sample->temporary);
	assert_true(sample->bernoulli && sample->interval == 2000);
	sample = sample_of(&profile, 100, 150);
	assert_true(sample->bernoulli && sample->interval == 64);
	assert_false(sample_of(&profile, 100, 152)->bernoulli);
	assert_int_equal(profile.threads.data[sample->thread.i].ordinal, 1);
	assert_int_equal(profile.threads.data[sample_of(&profile, 100, 152)->thread.i].ordinal, 2);
	assert_int_equal(profile.threads.data[sample_of(&profile, 100, 152)->thread.i].tid, 202);
	const struct bp_process *process = &profile.processes.data[1];
	assert_true(!process->ended && process->end_time_ns == 9000);
	assert_true(process->interval_first == 1000 && process->interval_max == 2000);
	assert_true(process->damaged_chunks == 0);
	assert_true(process->unseen_execs == 1 && process->unseen_reason == BP_UNSEEN_STATIC);
	assert_string_equal(bp_profile_text(&profile, process->unseen_example), "/bin/static");
	/* Published counters and newer ones in samples, thread by thread. */
	assert_true(process->objects_allocated.low == 13 + 8);
	assert_true(process->objects_allocated.high == 13 + 10 + 8 + 5 + 1);
	bp_profile_finish(&profile);
}

static void epochs(void **state)
{
	struct bp_profile profile;
	const struct bp_location *place;
	(void)state;
	import_trace(&profile, "chunks");
	/* The same pc in epoch 0, in epoch 1 (another module there), in epoch 2 (none). */
	place = place_of(&profile, sample_of(&profile, 100, 101), 0);
	assert_string_equal(module_of(&profile, place), "/lib/first.so");
	assert_true(place->address == 0x100);
	place = place_of(&profile, sample_of(&profile, 100, 154), 0);
	assert_string_equal(module_of(&profile, place), "/lib/second.so");
	assert_true(place->address == 0x1100);
	place = place_of(&profile, sample_of(&profile, 100, 150), 0);
	assert_true(place->module.i == 0 && place->address == 0x2000);
	/* What stays is found in every epoch. */
	place = place_of(&profile, sample_of(&profile, 100, 154), 1);
	assert_string_equal(module_of(&profile, place), "/bin/main");
	bp_profile_finish(&profile);
}

static void sequences_far_apart(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "sparse");
	assert_int_equal(profile.samples.count, 1 + 500);
	for (uint64_t i = 1; i <= 500; i++) {
		const struct bp_sample *sample = sample_of(&profile, 100, i << 40);
		assert_true(sample->size == i && sample->free_time_ns == 5000 - i);
	}
	/* A module that was mapped over another takes its place from its epoch on. */
	const struct bp_location *place =
		place_of(&profile, sample_of(&profile, 100, 1ull << 40), 0);
	assert_string_equal(module_of(&profile, place), "/lib/old.so");
	place = place_of(&profile, sample_of(&profile, 100, 500ull << 40), 0);
	assert_string_equal(module_of(&profile, place), "/lib/new.so");
	bp_profile_finish(&profile);
}

static void damage_and_losses(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "damaged");
	assert_true(profile.processes.data[1].damaged_chunks == 7);
	assert_int_equal(profile.samples.count, 1 + 5);
	bp_profile_finish(&profile);

	import_trace(&profile, "killed");
	const struct bp_process *process = &profile.processes.data[1];
	assert_true(process->lost[BP_LOSS_TRACE_FULL] == 3);
	/* One counted by the recorder, one slot torn by the kill. */
	assert_true(process->lost[BP_LOSS_THREAD_SLOT] == 2);
	assert_true(process->unoffered_bytes == 12 && process->unoffered_objects == 3);
	bp_profile_finish(&profile);

	/* Cut: two samples were committed, one is there. */
	import_trace(&profile, "torn");
	process = &profile.processes.data[1];
	assert_true(process->damaged_chunks == 1 && process->cut_off);
	assert_true(process->samples == 1);
	assert_true(process->lost[BP_PROFILE_LOST_UNREADABLE] == 1);
	assert_true(process->bytes_allocated.low == 11);
	assert_true(process->bytes_allocated.high == UINT64_MAX);
	bp_profile_finish(&profile);

	import_trace(&profile, "cut_slots");
	process = &profile.processes.data[1];
	assert_true(process->cut_off && process->lost[BP_PROFILE_LOST_UNREADABLE] == 4);
	assert_true(process->objects_allocated.low == 15);
	assert_true(process->objects_allocated.high == UINT64_MAX);
	bp_profile_finish(&profile);

	import_trace(&profile, "cut_between");
	process = &profile.processes.data[1];
	assert_true(process->ended && process->cut_off && process->damaged_chunks == 1);
	assert_true(process->lost[BP_PROFILE_LOST_UNREADABLE] == 4);
	assert_true(
		process->bytes_allocated.low == 29900 && process->bytes_allocated.high == 29900);
	bp_profile_finish(&profile);
}

static void extremes_are_brought_into_range(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "extremes");
	assert_int_equal(profile.samples.count, 1 + 2);
	for (uint32_t i = 1; i < profile.samples.count; i++) {
		const struct bp_sample found = bp_profile_sample(&profile, i), *sample = &found;
		assert_true(sample->interval >= 1 && sample->time_ns != BP_TIME_NEVER);
		assert_true(sample->sequence != BP_TIME_NEVER);
		assert_true(sample->free_time_ns >= sample->time_ns);
		assert_true(sample->stack.i < profile.stacks.count);
		assert_true(sample->thread.i < profile.threads.count);
	}
	assert_true(profile.processes.data[1].size_min == 0);
	bp_profile_finish(&profile);
}

static void unprofiled_process(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "unprofiled");
	const struct bp_process *process = &profile.processes.data[1];
	assert_false(process->profiled);
	assert_int_equal(process->unprofiled_reason, BP_UNPROFILED_FOREIGN_MALLOC);
	assert_true(process->interval_max >= 1 && process->size_min == UINT64_MAX);
	assert_int_equal(profile.samples.count, 1);
	bp_profile_finish(&profile);
}

static void verify_sums(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "census");
	const struct bp_process_verify_sums *totals = &profile.processes.data[1].verify_sums;
	assert_true(totals->taken && totals->allocated_objects == 18 && totals->freed_bytes == 480);
	assert_true(totals->has_smallest && totals->smallest_size == 0);
	assert_true(totals->nested_bytes == 11 && totals->failed_bytes == 100);
	assert_int_equal(profile.verify_sums.count, 1 + 4);
	const struct bp_verify_sums *sums = &profile.verify_sums.data[1];
	assert_true(sums->stack.i != 0 && sums->stack.i == bp_profile_sample(&profile, 1).stack.i);
	assert_true(sums[3].stack.i == sums->stack.i && sums[3].allocated_bytes == 20);
	assert_true(sums[2].stack.i == 0 && sums[2].allocated_bytes == 7);
	/* Nothing was freed that was not allocated, whatever the file says. */
	assert_true(sums[1].freed_bytes == 50 && sums[1].temporary_bytes == 50);
	assert_true(sums[1].freed_objects == 5 && sums[1].temporary_objects == 5);
	bp_profile_finish(&profile);
	import_trace(&profile, "census_of_later");
	assert_false(profile.processes.data[1].verify_sums.taken);
	assert_int_equal(profile.verify_sums.count, 1);
	assert_true(profile.processes.data[1].objects_allocated.low == 21);
	bp_profile_finish(&profile);
}

static void tree(void **state)
{
	struct bp_profile profile;
	struct bp_error error = { .text = "" };
	const struct bp_process *process;
	(void)state;
	import_trace(&profile, "tree");
	/* Root, child from its file, the others from the index: 204, 205 (its file is gone), 206
	 * ... */
	assert_int_equal(profile.processes.count, 1 + 7);
	assert_int_equal(profile.samples.count, 1 + 3);
	assert_int_equal(profile.unread_files, 1);
	assert_non_null(strstr(bp_profile_text(&profile, profile.unread_example), "202.0.bpt"));
	/* The child's free of its parent's object changes nothing for the parent, nor the child's
	 * own objects. */
	assert_true(sample_of(&profile, 200, 2)->free_time_ns == BP_TIME_NEVER);
	assert_true(sample_of(&profile, 200, 1)->free_time_ns == 1400);
	assert_true(sample_of(&profile, 201, 4)->free_time_ns == BP_TIME_NEVER);
	/* Read from the file, not from the index, which says 999. */
	process = process_of(&profile, 201);
	assert_true(process->bytes_allocated.low == 33 && process->bytes_allocated.high == 133 + 1);
	assert_true(process->parent_sequence == 2 && process->interval_max == 8192);
	assert_true(process->unseen_execs == 1 && process->unseen_reason == BP_UNSEEN_PRIVILEGED);
	/* Known from the index only. */
	process = process_of(&profile, 204);
	assert_string_equal(bp_profile_text(&profile, process->program), "/tmp/a\tb\\c\nd");
	assert_string_equal(bp_profile_text(&profile, process->file), "");
	assert_true(process->bytes_allocated.low == 990 && process->bytes_allocated.high == 1190);
	assert_true(process->objects_allocated.low == 10 && process->objects_allocated.high == 210);
	assert_true(process->ended && process->end_time_ns == 1550);
	assert_true(process->interval_max == 4096 && process->charge == 1);
	process_of(&profile, 205);
	process_of(&profile, 206);
	/* In part, and all its life, while sampling was off. */
	process = process_of(&profile, 207);
	assert_true(process->bytes_allocated.low == 990 - 600);
	assert_true(process->bytes_off.low == 600 && process->bytes_off.high == 600);
	assert_true(process->objects_allocated.low == 4 && process->objects_off.low == 6);
	assert_true(process->has_pauses && process->interval_max == 65536);
	process = process_of(&profile, 208);
	assert_true(process->bytes_allocated.high == 0 && process->objects_allocated.high == 0);
	assert_true(process->bytes_off.low == 990 && process->bytes_off.high == 1190);

	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_int_equal(profile.processes.data[profile.root.i].pid, 200);
	for (uint32_t i = 1; i < profile.processes.count; i++)
		if (profile.processes.data[i].pid != 200)
			assert_int_equal(profile.processes.data[i].parent.i, profile.root.i);
	bp_profile_finish(&profile);
}

/* Sampling that was changed and paused: both parts of the totals, the pauses on the clock, every
 * T. */
static void changes_of_the_interval(void **state)
{
	struct bp_profile profile;
	(void)state;
	assert_true(bp_profile_init(&profile, NULL));
	profile.keep_readings = true;
	assert_true(bp_import_file(trace_path("switched"), &profile, NULL));
	const struct bp_process *process = &profile.processes.data[1];
	assert_true(process->automatic && process->has_pauses && process->changes == 5);
	assert_true(process->interval_first == 4096);
	assert_true(process->interval_min == 1024 && process->interval_max == 16384);
	assert_true(
		process->bytes_allocated.low == 20230 && process->bytes_allocated.high == 20230);
	assert_true(process->bytes_off.low == 5600 && process->bytes_off.high == 5600);
	assert_true(process->objects_allocated.low == 214 && process->objects_off.high == 56);
	/* Thread 2 began in the pause of thread 1 and followed its end later. */
	assert_int_equal(profile.pauses.count, 1 + 2);
	assert_true(profile.pauses.data[1].from_ns == 2500 && profile.pauses.data[1].to_ns == 3900);
	assert_true(profile.pauses.data[2].from_ns == 4500 && profile.pauses.data[2].to_ns == 4501);
	assert_int_equal(profile.intervals.count, 1 + 3);
	for (uint32_t i = 1; i < profile.threads.count; i++) {
		const struct bp_thread *thread = &profile.threads.data[i];
		if (thread->ordinal == 2)
			assert_true(thread->bytes_allocated.low == 1000 &&
				    thread->objects_allocated.high == 50);
	}
	/* Readings are of what was allocated while sampling was on. */
	unsigned found = 0;
	for (uint32_t i = 1; i < profile.threads.count; i++) {
		struct bp_readings_walk walk = bp_readings_of(&profile.readings, i);
		struct bp_reading reading;
		while (bp_readings_next(&walk, &reading)) {
			if (reading.time_ns != 4600)
				continue;
			found++;
			assert_true(reading.bytes == 8940 - 600 && reading.objects == 61 - 6);
		}
	}
	assert_int_equal(found, 1);
	bp_profile_finish(&profile);
}

/* Off from start to end, killed or not: nothing is claimed of what was allocated. */
static void never_switched_on(void **state)
{
	static const char *const names[] = { "dormant", "dormant_killed" };
	(void)state;
	for (size_t i = 0; i < BP_COUNT(names); i++) {
		struct bp_profile profile;
		import_trace(&profile, names[i]);
		const struct bp_process *process = &profile.processes.data[1];
		assert_true(process->has_pauses && process->changes == 0 && !process->automatic);
		assert_true(process->bytes_allocated.high == 0);
		assert_true(process->bytes_off.low > 0);
		assert_true(process->interval_max == 524288);
		assert_int_equal(profile.pauses.count, 1 + 1);
		assert_true(profile.pauses.data[1].from_ns == 1000);
		assert_true(profile.pauses.data[1].to_ns == process->end_time_ns);
		bp_profile_finish(&profile);
	}
}

/* A damaged file may have lost the record that says when sampling was off. */
static void pauses_of_a_damaged_file(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_trace(&profile, "switched_badly");
	const struct bp_process *process = &profile.processes.data[1];
	assert_true(process->damaged_chunks > 0 && process->has_pauses);
	assert_true(process->bytes_allocated.low == 0 && process->bytes_off.low == 0);
	assert_true(process->bytes_allocated.high == process->bytes_off.high);
	bp_profile_finish(&profile);
}

/* The trace at `name`, with so many zeros behind it that it is read by two threads. */
static void import_as_large(struct bp_profile *profile, const char *name)
{
	static const off_t bytes = 9 << 20;
	char path[] = "/tmp/bytepoll-large-XXXXXX", *buffer = calloc(1, 1 << 20);
	struct bp_error error = { .text = "" };
	FILE *from = fopen(trace_path(name), "rb");
	const int to = mkstemp(path);
	assert_true(from != NULL && to >= 0 && buffer != NULL);
	size_t got;
	while ((got = fread(buffer, 1, 1 << 20, from)) > 0)
		assert_int_equal(write(to, buffer, got), (ssize_t)got);
	assert_int_equal(ftruncate(to, bytes), 0);
	fclose(from);
	close(to);
	free(buffer);
	if (!bp_profile_init(profile, &error) || !bp_import_file(path, profile, &error))
		fail_msg("%s", error.text);
	unlink(path);
}

/* Stacks are handed from thread to thread with their frames, other records wait until read. */
static void two_threads_read_the_same(void **state)
{
	static const char *const names[] = { "simple", "killed", "chunks", "extremes", "switched",
		"random_records", "host", "damaged" };
	(void)state;
	for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
		struct bp_profile one, two;
		import_trace(&one, names[n]);
		import_as_large(&two, names[n]);
		assert_int_equal(one.samples.count, two.samples.count);
		assert_int_equal(one.locations.count, two.locations.count);
		assert_int_equal(one.stacks.count, two.stacks.count);
		assert_int_equal(one.stack_locations.count, two.stack_locations.count);
		assert_memory_equal(one.stack_locations.data, two.stack_locations.data,
			one.stack_locations.count * sizeof *one.stack_locations.data);
		for (uint32_t i = 1; i < one.locations.count; i++)
			assert_int_equal(
				one.locations.data[i].address, two.locations.data[i].address);
		for (uint32_t i = 1; i < one.samples.count; i++) {
			const struct bp_sample a = bp_profile_sample(&one, i),
					       b = bp_profile_sample(&two, i);
			assert_true(a.sequence == b.sequence && a.time_ns == b.time_ns &&
				    a.size == b.size && a.offset == b.offset &&
				    a.free_sequence == b.free_sequence &&
				    a.free_time_ns == b.free_time_ns && a.stack.i == b.stack.i &&
				    a.thread.i == b.thread.i && a.temporary == b.temporary);
		}
		bp_profile_finish(&one);
		bp_profile_finish(&two);
	}
}

static void errors(void **state)
{
	static const struct {
		const char *name, *says;
	} bad[] = {
		{ "missing", "there is no such file" },
		{ "bad_empty", "is empty" },
		{ "bad_zeros", "torn before the end of its header" },
		{ "bad_magic_only", "torn before the end of its header" },
		{ "bad_header_torn", "torn before the end of its header" },
		{ "bad_header_alone", "torn behind its header" },
		{ "bad_foreign", "no format known here" },
		{ "bad_version", "version 2.7" },
		{ "bad_flags_fatal", "does not know" },
		{ "bad_header_checksum", "damaged" },
		{ "bad_record_fatal", "kind 69" },
	};
	struct bp_profile profile;
	struct bp_error error;
	(void)state;
	for (size_t i = 0; i < BP_COUNT(bad); i++) {
		assert_true(bp_profile_init(&profile, &error));
		error.text[0] = '\0';
		assert_false(bp_import_file(trace_path(bad[i].name), &profile, &error));
		if (strstr(error.text, bad[i].says) == NULL ||
			strstr(error.text, trace_path(bad[i].name)) == NULL)
			fail_msg("%s: %s", bad[i].name, error.text);
		bp_profile_finish(&profile);
	}
	assert_true(bp_profile_init(&profile, &error));
	assert_false(bp_import_file(folder, &profile, &error));
	assert_non_null(strstr(error.text, "is a directory"));
	assert_false(bp_import_file("/dev/null", &profile, &error));
	assert_non_null(strstr(error.text, "not a regular file"));
	/* The same process twice would count twice. */
	assert_true(bp_import_file(trace_path("simple"), &profile, &error));
	assert_false(bp_import_file(trace_path("simple"), &profile, &error));
	assert_non_null(strstr(error.text, "read already"));
	bp_profile_finish(&profile);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_fields),
		cmocka_unit_test(samples_and_their_frees),
		cmocka_unit_test(stacks_and_modules),
		cmocka_unit_test(any_order_of_records),
		cmocka_unit_test(epochs),
		cmocka_unit_test(sequences_far_apart),
		cmocka_unit_test(damage_and_losses),
		cmocka_unit_test(extremes_are_brought_into_range),
		cmocka_unit_test(unprofiled_process),
		cmocka_unit_test(verify_sums),
		cmocka_unit_test(tree),
		cmocka_unit_test(changes_of_the_interval),
		cmocka_unit_test(never_switched_on),
		cmocka_unit_test(pauses_of_a_damaged_file),
		cmocka_unit_test(two_threads_read_the_same),
		cmocka_unit_test(errors),
	};
	if (argc != 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests_name("import of traces", tests, NULL, NULL);
}
