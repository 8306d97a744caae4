/* SPDX-License-Identifier: MIT */
/* Totals of processes that ended in order, of which the counters are not all, or not right: never
 * exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "import/import.h"
#include "trace/format.h"

static const char *folder;
static struct bp_profile profile;

static const struct bp_process *import(const char *name)
{
	struct bp_error error = { .text = "" };
	char path[4096];
	snprintf(path, sizeof path, "%s/%s.bpt", folder, name);
	if (!bp_profile_init(&profile, &error) || !bp_import_file(path, &profile, &error))
		fail_msg("%s", error.text);
	const struct bp_process *process = &profile.processes.data[1];
	assert_true(process->ended && process->end_reason == BP_END_EXIT);
	return process;
}

static void expect(struct bp_known_total total, uint64_t low, uint64_t high)
{
	assert_int_equal(total.low, low);
	assert_int_equal(total.high, high);
}

/* No upper limit, or one so large. */
static void expect_open(struct bp_known_total total, uint64_t low)
{
	assert_int_equal(total.low, low);
	assert_true(total.high - total.low >= BP_ARMED_WITHOUT_LIMIT);
}

static const struct bp_thread *thread(uint32_t ordinal)
{
	for (uint32_t i = 1; i < profile.threads.count; i++)
		if (profile.threads.data[i].ordinal == ordinal)
			return &profile.threads.data[i];
	fail_msg("thread %u is missing", ordinal);
	return NULL;
}

static void threads_that_did_not_end(void **state)
{
	(void)state;
	const struct bp_process *process = import("host_waits");
	expect_open(process->bytes_allocated, 3200 - 32);
	expect_open(process->objects_allocated, 32);
	assert_int_equal(process->open_threads, 2);
	expect(thread(1)->bytes_allocated, 1980, 1980);
	expect_open(thread(2)->bytes_allocated, 495);
	expect_open(thread(3)->objects_allocated, 7); /* whatever its end said */
	bp_profile_finish(&profile);
}

static void threads_that_are_not_known(void **state)
{
	(void)state;
	const struct bp_process *process = import("host_unknown");
	/* What the unknown one told is certain: 1980 bytes, and 3960 of thread 7; or what was
	 * sampled of all. */
	expect_open(process->bytes_allocated, 1980 + 3960);
	expect_open(process->objects_allocated, 60);
	assert_int_equal(process->unknown_samples, 2);
	assert_int_equal(process->lost[BP_PROFILE_LOST_COUNTERS], 0);
	expect(thread(1)->objects_allocated, 20, 20);
	bp_profile_finish(&profile);
}

static void counters_below_their_samples(void **state)
{
	(void)state;
	const struct bp_process *process = import("host_less");
	expect_open(process->bytes_allocated, 1500); /* sampled; counted are 1494 */
	expect_open(process->objects_allocated, 6);
	assert_int_equal(process->lost[BP_PROFILE_LOST_COUNTERS], 1);
	expect_open(thread(1)->bytes_allocated, 1400);
	expect_open(thread(1)->objects_allocated, 2);
	expect(thread(2)->bytes_allocated, 495, 495);
	bp_profile_finish(&profile);
}

static void a_thread_gone_without_a_word(void **state)
{
	(void)state;
	const struct bp_process *process = import("thread_gone");
	expect(process->bytes_allocated, 1980, 1980 + 300 + 1);
	expect(process->objects_allocated, 20, 20 + 300 + 1);
	assert_int_equal(process->open_threads, 1);
	expect(thread(1)->bytes_allocated, 1980, 2280);
	bp_profile_finish(&profile);
}

static void a_thread_behind_the_end(void **state)
{
	(void)state;
	const struct bp_process *process = import("went_on");
	expect(process->bytes_allocated, 2475, 2475 + 300 + 1);
	expect(process->objects_allocated, 25, 25 + 300 + 1);
	bp_profile_finish(&profile);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_did_not_end),
		cmocka_unit_test(threads_that_are_not_known),
		cmocka_unit_test(counters_below_their_samples),
		cmocka_unit_test(a_thread_gone_without_a_word),
		cmocka_unit_test(a_thread_behind_the_end),
	};
	if (argc < 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
