/* SPDX-License-Identifier: MIT */
/*
 * The process that reads a module, with a reader of this test in it that crashes, lies or talks too
 * much: the path says how. Whatever it does is an answer.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbols/module_resolver.h"
#include "symbols/worker.h"

static void recurse(volatile char *above)
{
	char here[65536];
	here[0] = above[0];
	if (here[0] == 0)
		recurse(here);
	here[1] = here[0];
}

/* Gives frame number i of address `index` texts that tell both. */
static bool send_some(bp_frames_found found, void *context, uint32_t index, uint32_t count)
{
	struct bp_found_frame frames[BP_FRAMES_MAX];
	char names[BP_FRAMES_MAX][32];
	for (uint32_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof names[i], "f%" PRIu32 "_%" PRIu32, index, i);
		frames[i] = (struct bp_found_frame){ names[i], "", "file.c", index * 1000 + i };
	}
	return found(context, index, frames, count);
}

static bool send_long(bp_frames_found found, void *context)
{
	char *text = malloc((1u << 20) + 1);
	struct bp_found_frame frames[BP_FRAMES_MAX];
	bool sent = false;
	if (text == NULL)
		return false;
	memset(text, 'x', 1u << 20);
	text[1u << 20] = '\0';
	for (uint32_t i = 0; i < BP_FRAMES_MAX; i++)
		frames[i] = (struct bp_found_frame){ text, text, text, i };
	sent = found(context, 0, frames, BP_FRAMES_MAX);
	free(text);
	return sent;
}

/* Takes memory without touching it (that counts against the limit all the same) until there is no
 * more; false where a tebibyte was to be had. */
static bool eat_memory(void)
{
	for (int i = 0; i < 16384; i++)
		if (mmap(NULL, 64u << 20, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			return true;
	return false;
}

bool bp_module_resolve(const struct bp_module_request *request, bp_frames_found found,
	void *context, struct bp_module_answer *ret_answer)
{
	const char *how = request->path;
	static char top[1];
	*ret_answer = (struct bp_module_answer){ .state = BP_MODULE_READ, .stripped = true };
	for (uint32_t i = 0; i < request->count && strcmp(how, "long") != 0; i++) {
		if (i == 2 && strcmp(how, "abort") == 0)
			abort();
		if (i == 2 && strcmp(how, "overflow") == 0)
			recurse(top);
		if (i == 2 && strcmp(how, "exit") == 0)
			_exit(0);
		if (i == 2 && strcmp(how, "memory") == 0 && eat_memory())
			return false;
		if (!send_some(found, context, i, i % 7 + 1))
			return false;
	}
	if (strcmp(how, "outside") == 0)
		return send_some(found, context, request->count + 5, 1);
	if (strcmp(how, "long") == 0)
		return send_long(found, context);
	if (strcmp(how, "state") == 0)
		ret_answer->state = (enum bp_module_state)77;
	return true;
}

struct received {
	uint32_t calls, frames, longest;
	bool wrong, stop;
};

static bool receive(
	void *context, uint32_t index, const struct bp_found_frame *frames, uint32_t count)
{
	struct received *received = context;
	char name[32];
	if (received->stop)
		return false;
	received->calls++;
	received->frames += count;
	for (uint32_t i = 0; i < count; i++) {
		snprintf(name, sizeof name, "f%" PRIu32 "_%" PRIu32, index, i);
		if (strcmp(frames[i].function, name) != 0 ||
			strcmp(frames[i].source_file, "file.c") != 0 ||
			frames[i].system_name[0] != '\0' || frames[i].line != index * 1000 + i)
			received->wrong = true;
		if (strlen(frames[i].function) > received->longest)
			received->longest = (uint32_t)strlen(frames[i].function);
	}
	return true;
}

/* bp_workers_resolve of one job. */
static bool resolve_one(const struct bp_module_request *request, bp_frames_found found,
	void *context, struct bp_module_answer *ret_answer)
{
	struct bp_worker_job job = { .request = *request, .found = found, .context = context };
	if (!bp_workers_resolve(&job, 1, 1))
		return false;
	*ret_answer = job.answer;
	return true;
}

static bool run(
	const char *how, uint32_t count, struct received *received, struct bp_module_answer *answer)
{
	struct bp_module_request request = { .path = how, .build_id = "", .count = count };
	return resolve_one(&request, receive, received, answer);
}

/* No worker may be left behind. */
static void check_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_all_arrives(void **state)
{
	struct received received = { 0 };
	struct bp_module_answer answer = { 0 };
	(void)state;
	assert_true(run("good", 70000, &received, &answer));
	assert_int_equal(received.calls, 70000);
	assert_int_equal(received.frames, 70000 / 7 * 28);
	assert_false(received.wrong);
	assert_int_equal(answer.state, BP_MODULE_READ);
	assert_true(answer.stripped);
	assert_false(answer.compressed);
	check_no_child();
}

static void check_failure(const char *how)
{
	struct received received = { 0 };
	struct bp_module_answer answer = { 0 };
	assert_true(run(how, 5, &received, &answer));
	assert_int_equal(answer.state, BP_MODULE_FAILED);
	assert_false(received.wrong);
	assert_true(received.calls <= 5);
	check_no_child();
}

static void test_crashes(void **state)
{
	(void)state;
	check_failure("abort");
	check_failure("overflow");
	check_failure("exit");
	check_failure("outside");
	check_failure("state");
}

/* The worker's memory has a limit. */
static void test_memory(void **state)
{
	(void)state;
	check_failure("memory");
}

static void test_long_texts_are_cut(void **state)
{
	struct received received = { 0 };
	struct bp_module_answer answer = { 0 };
	(void)state;
	assert_true(run("long", 1, &received, &answer));
	assert_int_equal(received.calls, 1);
	assert_int_equal(received.frames, BP_FRAMES_MAX);
	assert_int_equal(received.longest, BP_FRAME_TEXT_MAX);
	assert_int_equal(answer.state, BP_MODULE_READ);
}

static void test_receiver_may_stop(void **state)
{
	struct received received = { .stop = true };
	struct bp_module_answer answer = { 0 };
	(void)state;
	assert_false(run("good", 70000, &received, &answer));
	check_no_child();
}

/* The program around may ignore SIGCHLD, so that there is nobody to wait for. */
static void test_ignored_children(void **state)
{
	struct received received = { 0 };
	struct bp_module_answer answer = { 0 };
	(void)state;
	signal(SIGCHLD, SIG_IGN);
	assert_true(run("good", 10, &received, &answer));
	signal(SIGCHLD, SIG_DFL);
	assert_int_equal(received.calls, 10);
	assert_int_equal(answer.state, BP_MODULE_READ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_arrives),
		cmocka_unit_test(test_crashes),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_long_texts_are_cut),
		cmocka_unit_test(test_receiver_may_stop),
		cmocka_unit_test(test_ignored_children),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
