/* SPDX-License-Identifier: MIT */
/* Names of a host: equal ones have one number, any bytes, lengths, depths, and from many threads at
 * once. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "host_trace.h"

static void types(void **state)
{
	(void)state;
	char longest[3000];
	memset(longest, 'x', sizeof longest);
	struct bp_host *host = host_open("types", 4096);
	assert_int_equal(bp_host_type(host, "a", 1), 1);
	assert_int_equal(bp_host_type(host, "b", 1), 2);
	assert_int_equal(bp_host_type(host, "a", 1), 1);
	assert_int_equal(bp_host_type(host, "", 0), 3);
	assert_int_equal(bp_host_type(host, "a\0b", 3), 4);
	assert_int_equal(bp_host_type(host, "a\0c", 3), 5);
	assert_int_equal(bp_host_type(host, longest, 2000), 6);
	assert_int_equal(bp_host_type(host, longest, 2001), 6);
	assert_int_equal(bp_host_type(host, longest, 3000), 6);
	assert_int_equal(bp_host_type(host, longest, 1999), 7);
	assert_int_equal(bp_host_type(host, "\xff\x1b[31m", 6), 8);
	assert_string_equal(bp_host_type_name(host, 2), "b");
	assert_string_equal(bp_host_type_name(host, 3), "");
	assert_int_equal(strlen(bp_host_type_name(host, 6)), 2000);
	assert_string_equal(bp_host_type_name(host, 9), "");
	assert_string_equal(bp_host_type_name(host, UINT32_MAX), "");
	bp_host_close(host);
	const struct host_trace *trace = host_read("types", true);
	assert_int_equal(trace->type_count, 8);
	assert_string_equal(trace->types[8], "\xff\x1b[31m");
	assert_memory_equal(trace->types[5], "a\0c", 3);
	assert_int_equal(strlen(trace->types[6]), 2000);
}

static void frames(void **state)
{
	(void)state;
	char longest[3000];
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	struct bp_host *host = host_open("frames", 4096);
	assert_int_equal(bp_host_frame(host, "f", "g", 1), 1);
	assert_int_equal(bp_host_frame(host, "f", "g", 2), 2);
	assert_int_equal(bp_host_frame(host, "fg", "", 1), 3);
	assert_int_equal(bp_host_frame(host, "", "fg", 1), 4);
	assert_int_equal(bp_host_frame(host, "fg", NULL, 1), 3);
	assert_int_equal(bp_host_frame(host, NULL, NULL, 0), 5);
	assert_int_equal(bp_host_frame(host, longest, longest, UINT32_MAX), 6);
	assert_int_equal(bp_host_frame(host, "f", "g", 1), 1);
	bp_host_close(host);
	const struct host_trace *trace = host_read("frames", true);
	assert_int_equal(trace->frame_count, 6);
	assert_string_equal(trace->functions[3], "fg");
	assert_string_equal(trace->files[4], "fg");
	assert_int_equal(strlen(trace->functions[6]), 2000);
	assert_int_equal(strlen(trace->files[6]), 2000);
	assert_int_equal(trace->lines[6], UINT32_MAX);
}

static void stacks(void **state)
{
	(void)state;
	uint32_t ids[600];
	for (uint32_t i = 0; i < 600; i++)
		ids[i] = i * 7919 % 613; /* falling and rising, 0 among them */
	struct bp_host *host = host_open("stacks", 4096);
	assert_int_equal(bp_host_stack(host, ids, 0, false), 0);
	assert_int_equal(bp_host_stack(host, ids, 1, false), 1);
	assert_int_equal(bp_host_stack(host, ids, 2, false), 2);
	assert_int_equal(bp_host_stack(host, ids, 2, true), 3);
	assert_int_equal(bp_host_stack(host, ids, 512, false), 4);
	assert_int_equal(bp_host_stack(host, ids, 600, false), 5);
	assert_int_equal(bp_host_stack(host, ids, 512, true), 5);
	assert_int_equal(bp_host_stack(host, ids + 1, 1, false), 6);
	assert_int_equal(bp_host_stack(host, ids, 2, false), 2);
	bp_host_close(host);
	const struct host_trace *trace = host_read("stacks", true);
	assert_int_equal(trace->stack_count, 6);
	assert_true(trace->depths[4] == 512 && trace->stack_flags[4] == 0);
	assert_true(trace->depths[5] == 512 && trace->stack_flags[5] == BP_STACK_CUT);
	assert_memory_equal(trace->stacks[4], ids, 512 * sizeof *ids);
	assert_memory_equal(trace->stacks[5], ids, 512 * sizeof *ids);
}

struct namer {
	pthread_t thread;
	struct bp_host *host;
	uint32_t types[20000], frames[20000], stacks[20000];
};

static void *name_all(void *from)
{
	struct namer *namer = from;
	char name[40];
	for (uint32_t i = 0; i < 20000; i++) {
		snprintf(name, sizeof name, "name %u", i);
		namer->types[i] = bp_host_type(namer->host, name, strlen(name));
		namer->frames[i] = bp_host_frame(namer->host, name, "f", i % 3);
		const uint32_t ids[] = { namer->frames[i], namer->frames[i / 2] };
		namer->stacks[i] = bp_host_stack(namer->host, ids, 2, false);
	}
	return NULL;
}

static void labels(void **state)
{
	(void)state;
	struct bp_host *host = host_open("labels", 4096);
	const struct bp_host_label set[] = { { "tenant", "b" }, { "request", "" },
		{ "tenant", "a" } };
	const struct bp_host_label sorted[] = { { "request", "" }, { "tenant", "a" } };
	const struct bp_host_label wrong[] = { { "", "x" }, { "a=b", "x" }, { "a\nb", "x" },
		{ "a", "x\ny" }, { "a", NULL }, { NULL, "x" } };
	assert_int_equal(bp_host_labels(host, set, 0), 0);
	assert_int_equal(bp_host_labels(host, set, 3), 1);
	assert_int_equal(bp_host_labels(host, sorted, 2), 1);
	assert_int_equal(bp_host_labels(host, set, 1), 2);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(bp_host_labels(host, &wrong[i], 1), 0);
	assert_true(
		bp_host_sampled(host, &(struct bp_host_event){ .kind = BP_HOST_SMALL,
					      .object = host,
					      .size = 10,
					      .labels = 2,
					      .decision = { .sampled = true, .interval = 4096 } }));
	bp_host_close(host);
	const struct host_trace *trace = host_read("labels", true);
	assert_string_equal(trace->labels[1], "request=\ntenant=a");
	assert_string_equal(trace->labels[2], "tenant=b");
	assert_int_equal(trace->label_count, 2);
	assert_int_equal(trace->samples[0].labels, 2);
	assert_int_equal(trace->state.lost[BP_LOSS_NAME], 6);
}

static void by_many_threads(void **state)
{
	(void)state;
	static struct namer namers[4];
	struct bp_host *host = host_open("namers", 4096);
	for (int i = 0; i < 4; i++) {
		namers[i].host = host;
		pthread_create(&namers[i].thread, NULL, name_all, &namers[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(namers[i].thread, NULL);
	for (int i = 1; i < 4; i++) {
		assert_memory_equal(namers[0].types, namers[i].types, sizeof namers[0].types);
		assert_memory_equal(namers[0].frames, namers[i].frames, sizeof namers[0].frames);
		assert_memory_equal(namers[0].stacks, namers[i].stacks, sizeof namers[0].stacks);
	}
	assert_string_equal(bp_host_type_name(host, namers[0].types[19999]), "name 19999");
	bp_host_close(host);
	const struct host_trace *trace = host_read("namers", true);
	assert_true(trace->type_count == 20000 && trace->frame_count == 20000 &&
		    trace->stack_count == 20000 && trace->damaged == 0);
}

/* Memory for names is bounded: what comes later has no number, and what was known keeps its own. */
static void no_room(void **state)
{
	(void)state;
	char name[2000];
	uint32_t lost = 0;
	memset(name, 'x', sizeof name);
	struct bp_host *host = host_open("room", 4096);
	for (uint32_t i = 0; i < 40000; i++) {
		memcpy(name, &i, sizeof i);
		lost += bp_host_type(host, name, sizeof name) == 0;
	}
	assert_true(lost > 5000 && lost < 12000);
	memset(name, 0, 4);
	assert_int_equal(bp_host_type(host, name, sizeof name), 1);
	assert_true(host_sample(host, 4096, 100, 0));
	bp_host_close(host);
	const struct host_trace *trace = host_read("room", true);
	assert_int_equal(trace->state.lost[BP_LOSS_NAME], lost);
	assert_int_equal(trace->type_count, 40000 - lost);
	assert_true(trace->state.own_bytes < (80 << 20));
	assert_int_equal(trace->sample_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types),
		cmocka_unit_test(frames),
		cmocka_unit_test(stacks),
		cmocka_unit_test(labels),
		cmocka_unit_test(by_many_threads),
		cmocka_unit_test(no_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
