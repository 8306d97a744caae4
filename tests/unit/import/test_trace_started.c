/* SPDX-License-Identifier: MIT */
/* Programs that vfork children became: which EXEC records count, and which of them have a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import/trace/trace_started.h"
#include "model/gaps/unseen.h"

#define SHELL_PID 10u

/* An image in a profile; number 1 is the shell. */
static struct bp_process_id add_image(struct bp_profile *profile, uint32_t pid, uint64_t start_ns)
{
	struct bp_process process = { .pid = pid, .start_time_ns = start_ns };
	struct bp_process_id id;
	struct bp_error error;
	memcpy(process.trace_id, &profile->processes.count, sizeof profile->processes.count);
	assert_true(bp_profile_add_process(profile, &process, &id, &error));
	return id;
}

static int begin(void **state)
{
	struct bp_profile *profile = calloc(1, sizeof *profile);
	struct bp_error error;
	if (profile == NULL || !bp_profile_init(profile, &error))
		return -1;
	assert_int_equal(add_image(profile, SHELL_PID, 100).i, 1);
	*state = profile;
	return 0;
}

static int end(void **state)
{
	bp_profile_finish(*state);
	free(*state);
	return 0;
}

static void add(struct bp_profile *profile, uint32_t pid, uint64_t time_ns, enum bp_unseen unseen,
	const char *path)
{
	struct bp_error error;
	const struct bp_trace_exec exec = { .time_ns = time_ns,
		.pid = pid,
		.unseen = unseen,
		.path = { .data = path, .bytes = (uint32_t)strlen(path) } };
	assert_true(bp_trace_started_add(profile, (struct bp_process_id){ 1 }, &exec, &error));
}

/* The paths of those without a trace, separated by spaces. */
static void assert_missing(const struct bp_profile *profile, const char *paths)
{
	char text[4096] = "";
	uint32_t *numbers, count;
	assert_true(bp_started_without_trace(profile, &numbers, &count));
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_started *started = &profile->started.data[numbers[i]];
		assert_int_equal(started->by.i, 1);
		strcat(strcat(text, i > 0 ? " " : ""), bp_profile_text(profile, started->path));
	}
	free(numbers);
	assert_string_equal(text, paths);
}

static void images_with_a_trace_are_not_missing(void **state)
{
	struct bp_profile *profile = *state;
	add(profile, 11, 200, BP_UNSEEN_NO, "/bin/seen");
	add(profile, 12, 300, BP_UNSEEN_NO, "/bin/gone");
	add(profile, 13, 400, BP_UNSEEN_NO, "/bin/at-once");
	add_image(profile, 11, 250);
	add_image(profile, 13, 400);
	assert_missing(profile, "/bin/gone");
	/* It goes on as another program: the first one had a trace. */
	add_image(profile, 11, 900);
	assert_missing(profile, "/bin/gone");
}

/* The number was another process's before. */
static void numbers_come_again(void **state)
{
	struct bp_profile *profile = *state;
	add_image(profile, 11, 150);
	add(profile, 11, 200, BP_UNSEEN_NO, "/bin/gone");
	assert_missing(profile, "/bin/gone");
	add_image(profile, 11, 201);
	assert_missing(profile, "");
}

static void its_own_exec_and_others_reasons_are_none(void **state)
{
	struct bp_profile *profile = *state;
	add(profile, SHELL_PID, 200, BP_UNSEEN_NO, "/bin/next");
	add(profile, 11, 200, BP_UNSEEN_STATIC, "/bin/static");
	add(profile, 12, 200, BP_UNSEEN_NO, "name-not-found");
	assert_int_equal(profile->started.count, 0);
	assert_missing(profile, "");
}

/* One child tries several paths, with children of other threads between. */
static void the_last_attempt_counts(void **state)
{
	struct bp_profile *profile = *state;
	add(profile, 11, 200, BP_UNSEEN_NO, "/usr/local/bin/tool");
	add(profile, 12, 210, BP_UNSEEN_NO, "/bin/other");
	add(profile, 11, 220, BP_UNSEEN_NO, "/usr/bin/tool");
	assert_int_equal(profile->started.count, 2);
	assert_missing(profile, "/usr/bin/tool /bin/other");
	add(profile, 11, 230, BP_UNSEEN_PRIVILEGED, "/bin/tool");
	assert_missing(profile, "/bin/other");
	add(profile, 12, 240, BP_UNSEEN_STATIC, "/bin/static");
	assert_int_equal(profile->started.count, 0);
}

static void many_children(void **state)
{
	struct bp_profile *profile = *state;
	for (uint32_t i = 0; i < 20000; i++) {
		add(profile, 100 + i, 1000 + 10 * i, BP_UNSEEN_NO, "/bin/many");
		if (i != 7777)
			add_image(profile, 100 + i, 1005 + 10 * i);
	}
	assert_int_equal(profile->started.count, 20000);
	assert_missing(profile, "/bin/many");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(images_with_a_trace_are_not_missing, begin, end),
		cmocka_unit_test_setup_teardown(numbers_come_again, begin, end),
		cmocka_unit_test_setup_teardown(
			its_own_exec_and_others_reasons_are_none, begin, end),
		cmocka_unit_test_setup_teardown(the_last_attempt_counts, begin, end),
		cmocka_unit_test_setup_teardown(many_children, begin, end),
	};
	return cmocka_run_group_tests_name("trace started", tests, NULL, NULL);
}
