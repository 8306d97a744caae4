/* SPDX-License-Identifier: MIT */
/*
 * What a host tells of objects, read back: samples with all their fields, frees, moves in every
 * order, sweeps, listeners; and that a host that is not there takes every call.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host_trace.h"

static void nothing_there(void **state)
{
	(void)state;
	struct bp_host *none = NULL;
	const uint32_t frame = 1;
	errno = 77;
	assert_int_equal(bp_host_type(none, "x", 1), 0);
	assert_int_equal(bp_host_frame(none, "x", "y", 1), 0);
	assert_int_equal(bp_host_stack(none, &frame, 1, false), 0);
	assert_int_equal(bp_host_thread(none, "x"), 0);
	assert_false(host_sample(none, 4096, 10, 1));
	assert_false(bp_host_may_hold(none, &frame));
	assert_false(bp_host_holds(none, &frame));
	bp_host_freed(none, &frame, 1, 1, 1);
	bp_host_moved(none, &frame, none);
	bp_host_moves_end(none);
	bp_host_sweep(none, NULL, NULL);
	bp_host_counted(none, 1, 1, 1);
	bp_host_thread_end(none, 1, 1, 1);
	bp_host_interval(none, 1, 1, 1, 1);
	assert_false(bp_host_listen(none, NULL, NULL));
	assert_string_equal(bp_host_path(none), "");
	assert_string_equal(bp_host_type_name(none, 1), "");
	bp_host_close(none);
	assert_int_equal(errno, 77);
}

static void every_field(void **state)
{
	(void)state;
	struct bp_host *host = host_open("fields", 4096);
	errno = 77;
	const uint32_t thread = bp_host_thread(host, "main");
	const uint32_t type = bp_host_type(host, "node", 4);
	const uint32_t frames[] = { bp_host_frame(host, "inner", "a.x", 7),
		bp_host_frame(host, "outer", NULL, 0) };
	const uint32_t stack = bp_host_stack(host, frames, 2, true);
	struct bp_host_event event = { .kind = BP_HOST_LARGE,
		.runtime = 3,
		.type = type,
		.type_id = 99,
		.object = (const void *)0x7f0000001230,
		.size = 1000,
		.usable = 1024,
		.heap = 2,
		.thread = thread,
		.stack = stack,
		.decision = { .sampled = true, .offset = 17, .interval = 4096 },
		.trials = 5000,
		.objects = 4 };
	assert_true(bp_host_sampled(host, &event));
	event.object = (const void *)0x7f0000005678;
	event.decision = (struct bp_decision){ .sampled = true, .exact = true, .interval = 512 };
	event.type = event.usable = event.stack = 0;
	event.heap = 7;
	event.trials = 6000;
	event.objects = 5;
	assert_true(bp_host_sampled(host, &event));
	bp_host_freed(host, (const void *)0x7f0000001230, thread, 6000, 5);
	bp_host_thread_end(host, thread, 6000, 5);
	assert_int_equal(errno, 77);
	bp_host_close(host);
	const struct host_trace *trace = host_read("fields", true);
	assert_int_equal(trace->sample_count, 2);
	assert_int_equal(trace->free_count, 1);
	const struct bp_trace_sample *s = trace->samples;
	assert_true(s[0].kind == 9 && s[0].type == type && s[0].heap == 2 && s[0].size == 1000 &&
		    s[0].usable == 1024 && s[0].address == 0x7f0000001230 && s[0].offset == 17 &&
		    !s[0].exact && s[0].interval == 4096 && s[0].thread == thread &&
		    s[0].stack == stack && s[0].trials == 5000 && s[0].objects == 4 &&
		    s[0].labels == 0 && s[0].sequence == 1);
	assert_true(s[1].exact && s[1].interval == 512 && s[1].usable == 0 && s[1].type == 0 &&
		    s[1].heap == 7 && s[1].stack == 0 && s[1].sequence == 2 &&
		    s[1].time_ns >= s[0].time_ns);
	assert_true(trace->frees[0].sample_sequence == 1 && trace->frees[0].sequence == 3 &&
		    trace->frees[0].thread == thread && trace->frees[0].trials == 6000 &&
		    trace->frees[0].objects == 5);
	assert_string_equal(trace->types[type], "node");
	assert_string_equal(trace->functions[frames[0]], "inner");
	assert_string_equal(trace->files[frames[0]], "a.x");
	assert_int_equal(trace->lines[frames[0]], 7);
	assert_string_equal(trace->files[frames[1]], "");
	assert_true(trace->depths[stack] == 2 && trace->stack_flags[stack] == BP_STACK_CUT &&
		    trace->stacks[stack][0] == frames[0] && trace->stacks[stack][1] == frames[1]);
	assert_true(trace->totals.exact && trace->totals.trials_low == 6000 &&
		    trace->totals.bytes_low == 5995 && trace->totals.bytes_high == 5995);
	assert_int_equal(trace->header.recognition, BP_RECOGNITION_HOST);
}

static void life_and_death(void **state)
{
	(void)state;
	struct bp_host *host = host_open("life", 4096);
	const void *object = (const void *)0x10000;
	assert_false(bp_host_may_hold(host, object));
	assert_true(host_sample(host, 0x10000, 100, 0));
	assert_true(bp_host_may_hold(host, object) && bp_host_holds(host, object));
	/* The same page, and the same page 4 GiB on. */
	assert_true(bp_host_may_hold(host, (const void *)0x10008));
	assert_false(bp_host_holds(host, (const void *)0x10008));
	assert_false(bp_host_holds(host, (const void *)0x100010000));
	assert_false(bp_host_may_hold(host, (const void *)0x11000));
	bp_host_freed(host, (const void *)0x10008, 0, 0, 0);
	bp_host_freed(host, object, 0, 0, 0);
	assert_false(bp_host_may_hold(host, object));
	bp_host_freed(host, object, 0, 0, 0);
	/* An address that is given out again without its free. */
	assert_true(host_sample(host, 0x10000, 101, 0));
	assert_true(host_sample(host, 0x10000, 102, 0));
	assert_true(bp_host_holds(host, object));
	bp_host_freed(host, object, 0, 0, 0);
	assert_false(bp_host_holds(host, object));
	/* Nothing lives at NULL. */
	assert_false(host_sample(host, 0, 103, 0));
	bp_host_close(host);
	const struct host_trace *trace = host_read("life", true);
	assert_int_equal(trace->sample_count, 3);
	assert_int_equal(trace->free_count, 3);
	assert_int_equal(trace->state.lost[BP_LOSS_FREE], 1);
	assert_int_equal(trace->state.lost[BP_LOSS_INVALID], 1);
	/* The lost free ended the older one, before the younger began. */
	assert_true(trace->frees[1].sample_sequence == trace->samples[1].sequence &&
		    trace->frees[1].sequence < trace->samples[2].sequence);
}

/* Many at a time: the table grows, probes wrap, deletions shift. */
static void many_lives(void **state)
{
	(void)state;
	enum { COUNT = 60000 };
	static uintptr_t objects[COUNT];
	struct bp_host *host = host_open("many", 4096);
	uint64_t random = 20261122;
	uint32_t count = 0, made = 0;
	while (made < COUNT) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		if (count > 0 && random >> 62 == 0) {
			const uint32_t i = (uint32_t)((random >> 20) % count);
			assert_true(bp_host_holds(host, (const void *)objects[i]));
			bp_host_freed(host, (const void *)objects[i], 0, 0, 0);
			assert_false(bp_host_holds(host, (const void *)objects[i]));
			objects[i] = objects[--count];
			continue;
		}
		/* No address twice: 8 bytes apart, in random pages. */
		const uintptr_t object = 0x100000 + (uintptr_t)made * 8 + (random >> 40 << 32);
		assert_true(host_sample(host, object, 8, 0));
		objects[count++] = object;
		made++;
	}
	for (uint32_t i = 0; i < count; i++)
		assert_true(bp_host_holds(host, (const void *)objects[i]));
	while (count > 0)
		bp_host_freed(host, (const void *)objects[--count], 0, 0, 0);
	bp_host_close(host);
	const struct host_trace *trace = host_read("many", true);
	assert_int_equal(trace->sample_count, COUNT);
	assert_int_equal(trace->free_count, COUNT);
	assert_int_equal(trace->damaged, 0);
	for (uint32_t i = 0; i < BP_LOSS_COUNT; i++)
		assert_int_equal(trace->state.lost[i], 0);
}

static const void *at(uint64_t object)
{
	return (const void *)object;
}

/* Everyone moves to where another was: told in any order the lives go on. */
static void moves(void **state)
{
	(void)state;
	enum { COUNT = 5000 };
	struct bp_host *host = host_open("moves", 4096);
	for (uint64_t i = 1; i <= COUNT; i++)
		assert_true(host_sample(host, 64 * i, i, 0));
	/* A slide by one, forwards; then a rotation, backwards; then two that change places. */
	for (uint64_t i = 2; i <= COUNT; i++)
		bp_host_moved(host, at(64 * i), at(64 * (i - 1)));
	bp_host_freed(host, at(64), 0, 0, 0); /* the first was dead */
	bp_host_moves_end(host);
	assert_true(bp_host_holds(host, at(64)));
	assert_false(bp_host_holds(host, at(64 * COUNT)));
	for (uint64_t i = COUNT - 1; i >= 1; i--)
		bp_host_moved(host, at(64 * i), at(64 * (i % (COUNT - 1) + 1)));
	bp_host_moves_end(host);
	bp_host_moved(host, at(128), at(192));
	bp_host_moved(host, at(192), at(128));
	bp_host_moved(host, at(1 << 30), at(192)); /* was never sampled */
	bp_host_moves_end(host);
	bp_host_moves_end(host);
	/* Where is who? After slide and rotation the one of size i is at 64 * i (the last at
	 * 64). */
	bp_host_freed(host, at(64), 0, 0, 0);
	bp_host_freed(host, at(128), 0, 0, 0);
	bp_host_freed(host, at(64 * 1000), 0, 0, 0);
	/* Two to one place: one of them is lost, and counted. */
	bp_host_moved(host, at(64 * 5), at(64 * 4));
	bp_host_moves_end(host);
	bp_host_close(host);
	const struct host_trace *trace = host_read("moves", true);
	assert_int_equal(trace->sample_count, COUNT);
	assert_int_equal(trace->free_count, 5);
	const uint64_t expected[] = { 1, COUNT, 3, 1000, 5 };
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(trace->frees[i].sample_sequence, expected[i]);
	assert_int_equal(trace->state.lost[BP_LOSS_FREE], 1);
}

struct collection {
	struct bp_host *host;
	uint32_t asked;
};

/* Odd ones die, the others move far away. */
static bool survives(const void *object, void *context)
{
	struct collection *collection = context;
	const uintptr_t address = (uintptr_t)object;
	collection->asked++;
	if (address / 64 % 2 == 1)
		return false;
	bp_host_moved(collection->host, object, at(address + (1 << 20)));
	return true;
}

static bool all_live(const void *object, void *context)
{
	(void)object;
	++*(uint32_t *)context;
	return true;
}

/* In the time that it takes to answer, the object is freed and its place given out again. */
static bool replaced_meanwhile(const void *object, void *host)
{
	bp_host_freed(host, object, 0, 0, 0);
	assert_true(host_sample(host, (uintptr_t)object, 77, 0));
	return false;
}

static void sweep_beside_others(void **state)
{
	(void)state;
	struct bp_host *host = host_open("beside", 4096);
	assert_true(host_sample(host, 4096, 10, 0));
	bp_host_sweep(host, replaced_meanwhile, host);
	assert_true(bp_host_holds(host, at(4096)));
	bp_host_close(host);
	const struct host_trace *trace = host_read("beside", true);
	assert_true(trace->sample_count == 2 && trace->free_count == 1 &&
		    trace->frees[0].sample_sequence == 1);
}

static void sweeps(void **state)
{
	(void)state;
	enum { COUNT = 3000 };
	struct bp_host *host = host_open("sweeps", 4096);
	struct collection collection = { .host = host };
	uint32_t asked = 0;
	bp_host_sweep(host, survives, &collection);
	assert_int_equal(collection.asked, 0);
	for (uint64_t i = 1; i <= COUNT; i++)
		assert_true(host_sample(host, 64 * i, i, 0));
	bp_host_sweep(host, survives, &collection);
	bp_host_moves_end(host);
	assert_int_equal(collection.asked, COUNT);
	bp_host_sweep(host, all_live, &asked);
	assert_int_equal(asked, COUNT / 2);
	for (uint64_t i = 1; i <= COUNT; i++) {
		assert_false(bp_host_holds(host, at(64 * i)));
		assert_int_equal(bp_host_holds(host, at(64 * i + (1 << 20))), i % 2 == 0);
	}
	bp_host_close(host);
	const struct host_trace *trace = host_read("sweeps", true);
	assert_int_equal(trace->free_count, COUNT / 2);
	for (uint32_t i = 0; i < trace->free_count; i++)
		assert_true(
			trace->frees[i].sample_sequence % 2 == 1 && trace->frees[i].thread == 0);
}

struct heard {
	struct bp_host *host;
	uint32_t samples, ends, type;
	uint64_t amounts, lost;
	const void *last;
	bool nested;
};

static void hear(const struct bp_host_event *event, const void *object, void *context)
{
	struct heard *heard = context;
	heard->last = object;
	if (event == NULL) {
		heard->ends++;
		return;
	}
	heard->samples++;
	heard->amounts += event->amount_bytes;
	heard->lost += event->sequence == 0;
	assert_true(event->time_ns > 0 && event->object == object && event->type_id == 0);
	/* It may call the host again. */
	heard->type = bp_host_type(heard->host, "made by the listener", 20);
	if (!heard->nested) {
		heard->nested = true;
		assert_true(host_sample(heard->host, 1 << 24, 50, 0));
		bp_host_freed(heard->host, at(1 << 24), 0, 0, 0);
	}
}

static void listeners(void **state)
{
	(void)state;
	struct bp_host *host = host_open("listeners", 4096);
	struct heard heard[8] = { 0 };
	for (int i = 0; i < 8; i++) {
		heard[i].host = host;
		heard[i].nested = i > 0;
		assert_true(bp_host_listen(host, hear, &heard[i]));
	}
	assert_false(bp_host_listen(host, hear, &heard[0]));
	assert_true(host_sample(host, 4096, 100, 0));
	assert_true(host_sample(host, 8192, 1000000, 0));
	bp_host_freed(host, at(4096), 0, 0, 0);
	assert_false(host_sample(host, 0, 100, 0)); /* no listener hears what cannot be right */
	for (int i = 0; i < 8; i++) {
		assert_int_equal(heard[i].samples, 3);
		assert_int_equal(heard[i].ends, 2);
		assert_int_equal(heard[i].lost, 0);
		/* 100 / (1 - (1 - 1/4096)^101) = 4105.67, 50 -> 4055.84..., 10^6 is
		 * certain. */
		assert_in_range(heard[i].amounts, 4105 + 4040 + 1000000, 4106 + 4060 + 1000000);
	}
	assert_string_equal(bp_host_type_name(host, heard[3].type), "made by the listener");
	bp_host_close(host);
	assert_int_equal(host_read("listeners", true)->sample_count, 3);
}

static void what_cannot_be_right(void **state)
{
	(void)state;
	struct bp_host *host = host_open("wrong", 4096);
	const uint32_t thread = bp_host_thread(host, "t");
	const struct bp_host_event right = { .kind = BP_HOST_SMALL,
		.object = at(4096),
		.size = 100,
		.thread = thread,
		.decision = { .sampled = true, .interval = 4096, .offset = 100 },
		.trials = 101,
		.objects = 1 };
	struct bp_host_event wrong[8];
	for (int i = 0; i < 8; i++)
		wrong[i] = right;
	wrong[0].object = NULL;
	wrong[1].kind = BP_HOST_SMALL - 1;
	wrong[2].kind = BP_HOST_PINNED + 1;
	wrong[3].decision.interval = 0;
	wrong[4].decision.interval = BP_SAMPLER_INTERVAL_MAX + 1;
	wrong[5].decision.offset = 101; /* a host that charges more than it declared */
	wrong[6].decision.exact = true;
	wrong[7].size = UINT64_MAX;
	for (int i = 0; i < 8; i++)
		assert_false(bp_host_sampled(host, &wrong[i]));
	assert_false(bp_host_holds(host, at(4096)));
	assert_true(bp_host_sampled(host, &right));
	/* A thread that bp_host_thread did not return is an unknown one. */
	assert_true(host_sample(host, 8192, 10, 7));
	bp_host_close(host);
	const struct host_trace *trace = host_read("wrong", true);
	assert_int_equal(trace->state.lost[BP_LOSS_INVALID], 8);
	assert_true(trace->sample_count == 2 && trace->samples[0].offset == 100 &&
		    trace->samples[1].thread == 0);
}

static void frees_unseen(void **state)
{
	(void)state;
	unlink(host_path("unseen"));
	struct bp_host *host = bp_host_open(&(struct bp_host_options){ .name = "x",
		.path = host_path("unseen"),
		.interval = 4096,
		.frees_unseen = true,
		.objects_uncounted = true,
		.seed = 5,
		.seed_given = true,
		.law = BP_SAMPLER_BERNOULLI });
	const uint32_t thread = bp_host_thread(host, "t");
	assert_true(host_sample(host, 4096, 100, thread));
	assert_false(bp_host_holds(host, at(4096)));
	assert_true(host_sample(host, 4096, 100, thread));
	bp_host_close(host);
	const struct host_trace *trace = host_read("unseen", true);
	assert_int_equal(trace->header.flags_skippable,
		BP_HEADER_FREES_UNSEEN | BP_HEADER_OBJECTS_UNCOUNTED);
	assert_true(trace->sample_count == 2 && trace->free_count == 0 &&
		    trace->samples[1].objects == 0 && trace->samples[1].law == BP_LAW_BERNOULLI &&
		    trace->header.charge_bytes == 0 && trace->header.seed == 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(every_field),
		cmocka_unit_test(life_and_death),
		cmocka_unit_test(many_lives),
		cmocka_unit_test(moves),
		cmocka_unit_test(sweeps),
		cmocka_unit_test(sweep_beside_others),
		cmocka_unit_test(listeners),
		cmocka_unit_test(what_cannot_be_right),
		cmocka_unit_test(frees_unseen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
