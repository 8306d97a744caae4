/* SPDX-License-Identifier: MIT */
/*
 * Allocation contexts and lists, each held against the step before it: a trial for every byte, one
 * countdown for all objects, the countdown folded into the limit of a context.
 *
 * The last two are equal draw for draw, so every decision is compared. The first is another random
 * sequence with the same law: both are held to the exact law, inclusions to |z| < 6 and offsets to
 * a chi-square of probability above 1e-9; with some 40 figures a correct sampler is rejected with
 * probability below 1e-6. Seeds are fixed. A host that gives sampled bytes up selectively must be
 * found out by the same figures. BYTEPOLL_LONG_TESTS=1: 10^9 bytes literally, 10^8 objects a
 * setting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "bytepoll/alloc_context.h"
#include "goodness.h"
#include "sampler/prng.h"

#define SEED 9100
#define CONTEXT_BYTES 8192u
#define SIZES 8 /* 8, 16 ... 64 bytes */

static uint64_t many(uint64_t usual, uint64_t in_long_tests)
{
	return getenv("BYTEPOLL_LONG_TESTS") != NULL ? in_long_tests : usual;
}

/* A host: contexts at addresses that come from nowhere, as nothing is stored in them. */
struct host {
	struct bp_alloc_context context;
	uint64_t random[4];
	uint32_t context_bytes;
	uint64_t slow, refills;
};

static uint64_t below(struct host *host, uint64_t bound)
{
	return bp_random_next(host->random) % bound;
}

static void refill(struct host *host, size_t least)
{
	const uintptr_t start = 0x10000 + (below(host, 1 << 20) << 13);
	const uint64_t bytes = host->context_bytes > least ? host->context_bytes : least;
	bp_alloc_context_refill(&host->context, start, start + bytes);
	host->refills++;
}

/* The code of the header's essay. */
static void allocate(struct host *host, size_t size, struct bp_decision *ret_decision)
{
	struct bp_alloc_context *context = &host->context;
	*ret_decision = (struct bp_decision){ 0 };
	if (size <= context->limit - context->pointer) {
		context->pointer += size;
		return;
	}
	host->slow++;
	while (!bp_alloc_context_slow(context, size, ret_decision))
		refill(host, size);
}

static void host_init(struct host *host, uint64_t seed, uint64_t interval, uint32_t law)
{
	*host = (struct host){ .context_bytes = CONTEXT_BYTES };
	bp_alloc_context_init(&host->context, seed, interval, law);
	bp_random_seed(host->random, ~seed);
}

/* The step before: one countdown, no contexts; `size` trials an object. */
static void charge(struct bp_sampler *sampler, struct bp_sampler_hot *hot, size_t size,
	struct bp_decision *ret_decision)
{
	*ret_decision = (struct bp_decision){ 0 };
	if (bp_sampler_crosses(hot, size - 1))
		hot->trials_left =
			bp_sampler_decide(sampler, hot->trials_left, size - 1, ret_decision);
}

static void assert_same(const struct bp_decision *a, const struct bp_decision *b)
{
	assert_int_equal(a->sampled, b->sampled);
	assert_false(a->interrupted || b->interrupted);
	if (!a->sampled)
		return;
	assert_int_equal(a->exact, b->exact);
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->interval, b->interval);
}

/* Sizes of small objects, and now and then one larger than a context. */
static size_t any_size(struct host *host)
{
	const uint64_t kind = below(host, 64);
	return kind == 0   ? 1 + below(host, 1 << 16)
	       : kind == 1 ? 1 + below(host, 4096)
			   : 8 + below(host, 200);
}

static void compare(uint64_t interval, uint32_t law, uint64_t objects)
{
	struct host host;
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	struct bp_decision folded, plain;
	uint64_t sampled = 0, bytes = 0;
	host_init(&host, SEED + interval, interval, law);
	bp_sampler_init(&sampler, SEED + interval, interval, law);
	for (uint64_t i = 0; i < objects; i++) {
		const size_t size = any_size(&host);
		const uint64_t event = below(&host, 1000);
		if (event == 0)
			bp_alloc_context_leave(&host.context); /* a collection */
		if (event == 1 || size > CONTEXT_BYTES)
			bp_alloc_context_outside(&host.context, size, &folded);
		else
			allocate(&host, size, &folded);
		charge(&sampler, &hot, size, &plain);
		assert_same(&folded, &plain);
		sampled += plain.sampled;
		bytes += size;
		assert_int_equal(bp_alloc_context_bytes(&host.context), bytes);
	}
	assert_true(sampled > 0 && host.refills > objects / 200);
	if (interval > 1 << 16) /* slow paths are refills, and few more */
		assert_true(host.slow < 2 * host.refills);
}

static void contexts_change_nothing(void **state)
{
	static const uint64_t intervals[] = { 1, 2, 17, 512, 4096, 102400, 1 << 19, 1 << 22 };
	(void)state;
	for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
		compare(intervals[i], BP_SAMPLER_EXACT, many(1500000, 100000000));
		compare(intervals[i], BP_SAMPLER_BERNOULLI, many(1500000, 100000000));
	}
}

/* How often objects of each size were sampled, and where. */
struct counts {
	uint64_t objects[SIZES], sampled[SIZES];
	struct cells offsets;
};

#define LITERAL_INTERVAL 100u

static void counts_init(struct counts *counts)
{
	*counts = (struct counts){ 0 };
	cells_of_geometric(&counts->offsets, LITERAL_INTERVAL, 8, 0.02);
}

static void count(struct counts *counts, uint64_t size, bool sampled, uint64_t offset)
{
	const size_t class = size / 8 - 1;
	counts->objects[class]++;
	counts->sampled[class] += sampled;
	if (sampled && offset < 8)
		cells_add(&counts->offsets, offset);
}

static double worst_score(const struct counts *counts)
{
	double worst = 0;
	for (size_t i = 0; i < SIZES; i++)
		worst = fmax(worst, fabs(binomial_score(counts->sampled[i], counts->objects[i],
					    inclusion(8 * (i + 1), LITERAL_INTERVAL))));
	return worst;
}

/* The specification: every byte is tried, an object's first success samples it. */
static void every_byte_is_a_trial(void **state)
{
	struct host host = { 0 };
	struct counts counts;
	const uint64_t successes = UINT64_MAX / LITERAL_INTERVAL, objects = many(2000000, 30000000);
	(void)state;
	counts_init(&counts);
	bp_random_seed(host.random, SEED);
	for (uint64_t i = 0; i < objects; i++) {
		const uint64_t size = 8 + 8 * below(&host, SIZES);
		uint64_t offset = 0;
		while (offset < size && bp_random_next(host.random) >= successes)
			offset++;
		count(&counts, size, offset < size, offset);
	}
	assert_true(worst_score(&counts) < 6);
	assert_true(cells_tail(&counts.offsets) > 1e-9);
}

static void run_law(struct counts *counts, void (*before_refill)(struct host *), uint64_t objects)
{
	struct host host;
	struct bp_decision decision;
	counts_init(counts);
	host_init(&host, SEED + 1, LITERAL_INTERVAL, BP_SAMPLER_BERNOULLI);
	host.context_bytes = 256; /* so that many objects meet an end */
	for (uint64_t i = 0; i < objects; i++) {
		const uint64_t size = 8 + 8 * below(&host, SIZES);
		if (before_refill != NULL && size > host.context.end - host.context.pointer)
			before_refill(&host);
		allocate(&host, size, &decision);
		count(counts, size, decision.sampled, decision.offset);
	}
}

static void contexts_have_the_law_of_bytes(void **state)
{
	struct counts counts;
	(void)state;
	run_law(&counts, NULL, many(4000000, 1000000000));
	assert_true(worst_score(&counts) < 6);
	assert_true(cells_tail(&counts.offsets) > 1e-9);
}

/* Gives the sampled byte up where it would have come before the end of the context: a refill that
 * looks at what was drawn. */
static void discard_what_is_near(struct host *host)
{
	struct bp_alloc_context *context = &host->context;
	if (context->sample_at >= context->end)
		return;
	context->sample_at = context->pointer + bp_sampler_restart(&context->sampler,
							context->sample_at - context->pointer);
	context->limit = context->sample_at < context->end ? context->sample_at : context->end;
}

/* Discards without looking: allowed. */
static void discard_all(struct host *host)
{
	struct bp_alloc_context *context = &host->context;
	context->sample_at = context->pointer + bp_sampler_restart(&context->sampler,
							context->sample_at - context->pointer);
	context->limit = context->sample_at < context->end ? context->sample_at : context->end;
}

static void a_selective_discard_is_found(void **state)
{
	struct counts counts;
	(void)state;
	run_law(&counts, discard_what_is_near, 4000000);
	assert_true(worst_score(&counts) > 6);
	run_law(&counts, discard_all, 4000000);
	assert_true(worst_score(&counts) < 6);
}

/* T changes, is switched off and on, by the thread itself and by another, at random: what was
 * allocated while T held is estimated without bias by what was sampled with it, and off costs
 * nothing. */
static void intervals_change_at_any_time(void **state)
{
	static const uint64_t intervals[] = { 512, BP_SAMPLER_OFF, 8192, 65536, BP_SAMPLER_OFF };
	struct host host;
	struct bp_decision decision;
	double error = 0, variance = 0;
	uint64_t bytes = 0, sampled = 0;
	(void)state;
	host_init(&host, SEED + 2, 4096, BP_SAMPLER_EXACT);
	for (uint64_t i = 0; i < many(3000000, 100000000); i++) {
		if (below(&host, 1000) == 0) {
			const uint64_t interval = intervals[below(&host, 5)];
			if (below(&host, 2) == 0)
				bp_alloc_context_set_interval(&host.context, interval);
			else
				bp_alloc_context_ask_interval(&host.context, interval);
		}
		const size_t size = any_size(&host);
		if (size > CONTEXT_BYTES)
			bp_alloc_context_outside(&host.context, size, &decision);
		else
			allocate(&host, size, &decision);
		/* What was in force when it was decided; of a change by another thread, the old T
		 * until the next slow path. */
		const uint64_t interval =
			decision.interval != 0 ? decision.interval : host.context.sampler.interval;
		bytes += size;
		sampled += decision.sampled;
		assert_true(!decision.sampled || interval != BP_SAMPLER_OFF);
		if (interval == BP_SAMPLER_OFF) {
			assert_int_equal(host.context.limit, host.context.end);
			continue;
		}
		const double pi = size >= interval ? 1 : inclusion(size, interval);
		error += (decision.sampled ? (double)size / pi : 0) - (double)size;
		variance += (double)size * (double)size * (1 - pi) / pi;
	}
	assert_int_equal(bp_alloc_context_bytes(&host.context), bytes);
	assert_true(sampled > 10000);
	assert_true(fabs(error) < 6 * sqrt(variance));
}

/* A change that another thread asks for while the next object holds the sampled byte: it is
 * sampled, under the old T, and the new one holds behind it. */
static void a_change_loses_no_success(void **state)
{
	static const uint64_t intervals[] = { 1000, 5000 };
	struct host host;
	struct bp_decision decision;
	unsigned asked = 0;
	(void)state;
	host_init(&host, SEED + 4, 1000, BP_SAMPLER_EXACT);
	for (unsigned i = 0; i < 1000000; i++) {
		struct bp_alloc_context *context = &host.context;
		const uint64_t before = context->sampler.interval;
		const bool is_next =
			context->limit < context->end && 64 > context->limit - context->pointer &&
			64 <= context->end - context->pointer && !context->sampler.undecided;
		const uint64_t wanted = intervals[i % 2];
		if (is_next)
			bp_alloc_context_ask_interval(context, wanted);
		allocate(&host, 64, &decision);
		if (!is_next)
			continue;
		asked++;
		assert_true(decision.sampled && decision.interval == before);
		assert_int_equal(context->sampler.interval, wanted);
	}
	assert_true(asked > 5000);
}

static void off_is_the_plain_limit(void **state)
{
	struct host host;
	struct bp_decision decision;
	(void)state;
	host_init(&host, SEED + 3, BP_SAMPLER_OFF, BP_SAMPLER_EXACT);
	for (unsigned i = 0; i < 1000000; i++) {
		allocate(&host, 64, &decision);
		assert_false(decision.sampled);
	}
	assert_int_equal(host.slow, host.refills); /* no look but where the context was full */
	assert_int_equal(bp_alloc_context_bytes(&host.context), 64u * 1000000u);
}

static void lists_are_charged_one_by_one(void **state)
{
	static const uint64_t intervals[] = { 1, 3, 100, 4096, 1 << 19, 1 << 23, BP_SAMPLER_OFF };
	(void)state;
	for (size_t t = 0; t < 2 * sizeof intervals / sizeof *intervals; t++) {
		struct bp_sampler listed, plain;
		struct bp_sampler_hot listed_hot = { 0 }, plain_hot = { 0 };
		struct bp_list_hit hits[512];
		uint64_t random[4];
		bp_random_seed(random, SEED + t);
		bp_sampler_init(&listed, t, intervals[t / 2], t % 2);
		bp_sampler_init(&plain, t, intervals[t / 2], t % 2);
		for (unsigned i = 0; i < many(4000, 400000); i++) {
			if (bp_random_next(random) % 16 == 0) {
				const uint64_t other = intervals[bp_random_next(random) % 7];
				bp_sampler_set_interval(&listed, other);
				bp_sampler_set_interval(&plain, other);
			}
			const size_t size = bp_random_next(random) % 9 == 0
						    ? bp_random_next(random) % 20000
						    : bp_random_next(random) % 300;
			const size_t length = bp_random_next(random) % 513;
			const size_t found = bp_sampler_charge_list(
				&listed, &listed_hot, size, length, hits, 512);
			size_t expected = 0;
			for (size_t j = 0; j < length; j++) {
				struct bp_decision decision = { 0 };
				if (bp_sampler_crosses(&plain_hot, size))
					plain_hot.trials_left = bp_sampler_decide(
						&plain, plain_hot.trials_left, size, &decision);
				if (!decision.sampled)
					continue;
				assert_int_equal(hits[expected].index, j);
				assert_same(&hits[expected++].decision, &decision);
			}
			assert_int_equal(found, expected);
			assert_int_equal(listed_hot.objects, plain_hot.objects);
			assert_int_equal(listed_hot.trials_left, plain_hot.trials_left);
		}
	}
}

static void a_full_room_loses_no_count(void **state)
{
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	struct bp_list_hit hits[2];
	(void)state;
	bp_sampler_init(&sampler, 1, 1, BP_SAMPLER_EXACT);
	assert_int_equal(bp_sampler_charge_list(&sampler, &hot, 16, 9, hits, 2), 9);
	assert_int_equal(hits[1].index, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_change_nothing),
		cmocka_unit_test(every_byte_is_a_trial),
		cmocka_unit_test(contexts_have_the_law_of_bytes),
		cmocka_unit_test(a_selective_discard_is_found),
		cmocka_unit_test(intervals_change_at_any_time),
		cmocka_unit_test(a_change_loses_no_success),
		cmocka_unit_test(off_is_the_plain_limit),
		cmocka_unit_test(lists_are_charged_one_by_one),
		cmocka_unit_test(a_full_room_loses_no_count),
	};
	return cmocka_run_group_tests_name("allocation contexts", tests, NULL, NULL);
}
