/* SPDX-License-Identifier: MIT */
/*
 * Sets of labels as text, and the table of texts: against a model that keeps pairs in an array, and
 * with the records that reach the trace counted instead of written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "recorder/program/labels.h"
#include "recorder/visit.h"
#include "tables/text_table.h"

/* What the engine would define. */
struct bp_recorder bp_recorder;
__thread struct bp_hot bp_hot __attribute__((tls_model("initial-exec")));

bool bp_recorder_is_on(void)
{
	return false;
}

struct bp_python bp_python;

void bp_real_look_at_python(bool allocates)
{
	(void)allocates;
	fail();
}

void bp_recorder_unmarked_child(uint64_t charged)
{
	(void)charged;
	fail();
}

void bp_recorder_end(enum bp_end_reason reason)
{
	(void)reason;
	fail();
}

void bp_thread_meet(uint64_t charged)
{
	(void)charged; /* the recorder is not late */
}

struct bp_thread *bp_thread_self(void)
{
	return NULL;
}

void bp_thread_publish(struct bp_thread *thread, uint64_t trials_left)
{
	(void)thread, (void)trials_left;
}

void bp_thread_end(struct bp_thread *thread)
{
	(void)thread;
}

void bp_listeners_end_visit(struct bp_visit *visit, uint64_t trials_left)
{
	(void)visit, (void)trials_left;
}

static uint32_t written, lost;
static char last_text[64];

bool bp_writer_plain(struct bp_writer *writer, enum bp_tag tag, const uint64_t *values,
	size_t count, const char *text)
{
	(void)writer;
	assert_int_equal(tag, BP_TAG_LABELS);
	assert_int_equal(count, 1);
	assert_true(values[0] >= 1);
	snprintf(last_text, sizeof last_text, "%s", text);
	__atomic_add_fetch(&written, 1, __ATOMIC_RELAXED);
	return true;
}

void bp_writer_lost(struct bp_writer *writer, enum bp_loss reason)
{
	(void)writer;
	assert_int_equal(reason, BP_LOSS_NAME);
	lost++;
}

static const char *with(const char *text, const char *key, const char *value)
{
	static char to[BP_LABELS_BYTES + 1];
	size_t bytes = 9999;
	if (!bp_label_set_with(text, strlen(text), key, value, to, &bytes)) {
		assert_int_equal(bytes, 9999);
		return NULL;
	}
	assert_true(bytes <= BP_LABELS_BYTES);
	to[bytes] = '\0';
	return to;
}

static void pairs_are_put_replaced_and_taken_out(void **state)
{
	(void)state;
	assert_string_equal(with("", "b", "2"), "b=2");
	assert_string_equal(with("b=2", "a", "1"), "a=1\nb=2");
	assert_string_equal(with("a=1\nb=2", "c", "=3="), "a=1\nb=2\nc==3=");
	assert_string_equal(with("a=1\nb=2", "b", "x"), "a=1\nb=x");
	assert_string_equal(with("a=1\nb=2", "a", ""), "a=\nb=2");
	assert_string_equal(with("a=1\nb=2", "a", NULL), "b=2");
	assert_string_equal(with("a=1", "a", NULL), "");
	assert_string_equal(with("a=1", "z", NULL), "a=1");
	/* Keys that begin alike are different keys, the shorter first. */
	assert_string_equal(with("ab=1", "a", "2"), "a=2\nab=1");
	assert_string_equal(with("a=2\nab=1", "ab", NULL), "a=2");
	assert_string_equal(with("a=2", "\xff", "\x1b"), "a=2\n\xff=\x1b");
}

static void wrong_ones_are_refused(void **state)
{
	char long_key[BP_LABEL_KEY_BYTES + 2], long_value[BP_LABEL_VALUE_BYTES + 2];
	(void)state;
	memset(long_key, 'k', sizeof long_key);
	memset(long_value, 'v', sizeof long_value);
	long_key[sizeof long_key - 1] = long_value[sizeof long_value - 1] = '\0';
	assert_null(with("a=1", "", "x"));
	assert_null(with("a=1", "b=", "x"));
	assert_null(with("a=1", "b\n", "x"));
	assert_null(with("a=1", "b", "x\n"));
	assert_null(with("a=1", long_key, "x"));
	assert_null(with("a=1", "b", long_value));
	assert_non_null(with("a=1", long_key + 1, long_value + 1));
	/* The whole is bounded: two of the longest values fit, a third does not. */
	char whole[BP_LABELS_BYTES + 1];
	snprintf(whole, sizeof whole, "%s", with("", "a", long_value + 1));
	snprintf(whole, sizeof whole, "%s", with(whole, "b", long_value + 1));
	assert_null(with(whole, "c", long_value + 1));
	assert_non_null(with(whole, "b", "short"));
	char fitting[BP_LABELS_BYTES];
	memset(fitting, 'f', sizeof fitting);
	fitting[BP_LABELS_BYTES - strlen(whole) - 3] = '\0'; /* "\nc=" before it */
	assert_int_equal(strlen(with(whole, "c", fitting)), BP_LABELS_BYTES);
	strcat(fitting, "f");
	assert_null(with(whole, "c", fitting));
}

/* Every step changes one of eight keys; the text must be that of the sorted pairs. */
static void is_what_a_model_says(void **state)
{
	static const char *const keys[] = { "a", "aa", "ab", "b", "ba", "c", "k", "z" };
	int values[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
	char text[BP_LABELS_BYTES + 1] = "", expected[BP_LABELS_BYTES + 1], value[16];
	uint32_t random = 1;
	(void)state;
	for (int step = 0; step < 20000; step++) {
		random = random * 1664525u + 1013904223u;
		const uint32_t key = random >> 29;
		values[key] = (int)(random >> 8 & 255) - 64;
		snprintf(value, sizeof value, "%d", values[key]);
		snprintf(text, sizeof text, "%s",
			with(text, keys[key], values[key] < 0 ? NULL : value));
		size_t used = 0;
		expected[0] = '\0';
		for (int i = 0; i < 8; i++)
			if (values[i] >= 0)
				used += (size_t)snprintf(expected + used, sizeof expected - used,
					"%s%s=%d", used == 0 ? "" : "\n", keys[i], values[i]);
		assert_string_equal(text, expected);
	}
}

static void texts_have_one_number(void **state)
{
	static struct bp_text_table table = {
		.tag = BP_TAG_LABELS, .texts_max = 3, .bytes_max = 4096, .generation = 1
	};
	(void)state;
	assert_null(bp_text_of(&table, 1));
	assert_int_equal(bp_text_id(&table, "one", 3), 1);
	assert_int_equal(bp_text_id(&table, "two!", 3), 2);
	assert_int_equal(bp_text_id(&table, "one", 3), 1);
	assert_string_equal(bp_text_of(&table, 2)->text, "two");
	assert_null(bp_text_of(&table, 0));
	assert_null(bp_text_of(&table, 3));
	assert_null(bp_text_of(&table, UINT32_MAX));
	assert_int_equal(bp_text_id(&table, "three", 5), 3);
	assert_int_equal(bp_text_id(&table, "four", 4), 0);
	assert_int_equal(bp_text_id(&table, "three", 5), 3);
	/* Each is written once, and once more into the trace of a child. */
	written = 0;
	assert_true(bp_text_write(&table, 2, NULL) && bp_text_write(&table, 2, NULL));
	assert_int_equal(written, 1);
	assert_string_equal(last_text, "two");
	assert_false(bp_text_write(&table, 0, NULL) || bp_text_write(&table, 9, NULL));
	bp_text_after_fork(&table);
	assert_true(bp_text_write(&table, 2, NULL) && bp_text_write(&table, 2, NULL));
	assert_int_equal(written, 2);
}

static struct bp_text_table busy = {
	.tag = BP_TAG_LABELS, .texts_max = 500, .bytes_max = 1 << 20, .generation = 1
};

/* Six hundred texts for five hundred places, asked for by all threads in different orders. */
static void *asking_thread(void *ret_numbers)
{
	uint32_t *numbers = ret_numbers;
	char text[32];
	for (uint32_t turn = 0; turn < 600 * 5; turn++) {
		const uint32_t i = (turn * 7 + numbers[0]) % 600;
		const size_t bytes = (size_t)snprintf(text, sizeof text, "text %u", i);
		const uint32_t id = bp_text_id(&busy, text, bytes);
		if (id == 0)
			continue;
		if (strcmp(bp_text_of(&busy, id)->text, text) != 0 ||
			(numbers[i + 1] != 0 && numbers[i + 1] != id))
			return ret_numbers;
		numbers[i + 1] = id;
	}
	return NULL;
}

static void threads_agree(void **state)
{
	static uint32_t numbers[4][601];
	pthread_t threads[4];
	void *failed;
	uint32_t known = 0;
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		numbers[i][0] = i * 150;
		assert_int_equal(pthread_create(&threads[i], NULL, asking_thread, numbers[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	for (int i = 1; i <= 600; i++) {
		for (int k = 1; k < 4; k++)
			assert_int_equal(numbers[0][i], numbers[k][i]);
		known += numbers[0][i] != 0;
	}
	assert_int_equal(known, 500);
}

static void unknown_sets_are_counted(void **state)
{
	(void)state;
	lost = 0;
	assert_int_equal(bp_labels_of(0), 0);
	assert_int_equal(lost, 0);
	assert_int_equal(bp_labels_of(7), 0);
	assert_int_equal(bp_labels_of(BP_LABELS_UNKNOWN), 0);
	assert_int_equal(lost, 2);
	/* Where the recorder is off. */
	uint32_t before = 5;
	assert_false(bp_labels_change("key", "value", &before));
	assert_int_equal(before, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_put_replaced_and_taken_out),
		cmocka_unit_test(wrong_ones_are_refused),
		cmocka_unit_test(is_what_a_model_says),
		cmocka_unit_test(texts_have_one_number),
		cmocka_unit_test(threads_agree),
		cmocka_unit_test(unknown_sets_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
