/* SPDX-License-Identifier: MIT */
/*
 * See laws.h. A host for each form, with what happens to a real one meanwhile. What it does depends
 * on random numbers of its own, never on the sampler's: except where a discard is planted.
 *
 * All forms are offered sizes, not sizes plus a charge: an object of k bytes makes k trials. Which
 * T decides an object is what the contract of each form says: the byte counter's and the list's
 * takes up a change after the next object that is looked at, the context's before it.
 */
#include "laws.h"

#include <stddef.h>
#include <string.h>

#include "bytepoll/alloc_context.h"
#include "implicit_context.h"
#include "sampler/prng.h"
#include "steps.h"

#define EVENT_EVERY 32
#define EVENT_EVERY_PLANTED 16
#define LIST_MAX 64
#define OFF REGIMES /* in place of a regime */

struct host {
	const struct law_case *law_case;
	const struct design *design;
	struct tally *tally;
	uint64_t random[4];
	uint64_t event_every;
	uint32_t law;
	struct bp_sampler sampler; /* FORM_COUNTER, FORM_LIST */
	struct bp_sampler_hot hot;
	struct bp_alloc_context context; /* FORM_CONTEXT, FORM_IMPLICIT_CONTEXT */
	uint64_t refills;
	struct step_thread step; /* FORM_STEP */
	bool started;
};

static bool is(const struct host *host, unsigned with)
{
	return host->law_case->with & with;
}

static bool in_context(const struct host *host)
{
	return host->law_case->form == FORM_CONTEXT ||
	       host->law_case->form == FORM_IMPLICIT_CONTEXT;
}

static unsigned regime_of(const struct host *host, uint64_t interval)
{
	unsigned regime = 0;
	while (regime < REGIMES && host->design->interval[regime] != interval)
		regime++;
	return regime; /* OFF if it is none of them */
}

/* ---- what was decided goes to the tally ---- */

static void see(
	struct host *host, unsigned class, uint64_t interval, const struct bp_decision *decision)
{
	const unsigned regime = regime_of(host, interval);
	const uint64_t size = host->design->size[class];
	if (regime == OFF)
		host->tally->broken |= decision->sampled;
	else if (host->law == BP_SAMPLER_EXACT && size >= interval)
		host->tally->broken |= !decision->sampled || !decision->exact;
	else if (!decision->sampled)
		tally_pass(host->tally, regime, class, 1);
	else if (decision->offset >= size || decision->exact || decision->interval != interval)
		host->tally->broken = true;
	else
		tally_hit(host->tally, regime, class, decision->offset);
}

/* ---- the byte counter, and lists ---- */

static void allocate_counted(struct host *host, unsigned class)
{
	const size_t size = host->design->size[class] - BP_SAMPLER_CHARGE;
	const uint64_t interval = host->sampler.interval;
	struct bp_decision decision = { 0 };
	if (bp_sampler_crosses(&host->hot, size))
		host->hot.trials_left =
			bp_sampler_decide(&host->sampler, host->hot.trials_left, size, &decision);
	see(host, class, interval, &decision);
}

/* While a change of T waits, lists have one object: within a longer one nobody sees where it came
 * into force. (That lists are charged one by one then, too, test_alloc_context.c shows.) */
static void allocate_list(struct host *host, unsigned class, size_t count)
{
	struct bp_list_hit hits[LIST_MAX];
	const size_t size = host->design->size[class] - BP_SAMPLER_CHARGE;
	const uint64_t interval = host->sampler.interval;
	const size_t found =
		bp_sampler_charge_list(&host->sampler, &host->hot, size, count, hits, LIST_MAX);
	const struct bp_decision passed = { 0 };
	size_t next = 0;
	for (size_t i = 0; i < count; i++) {
		const bool hit = next < found && hits[next].index == i;
		see(host, class, interval, hit ? &hits[next].decision : &passed);
		next += hit;
	}
}

/* ---- contexts ---- */

static void restart_context(struct bp_alloc_context *context)
{
	const uint64_t trials =
		bp_sampler_restart(&context->sampler, context->sample_at - context->pointer);
	context->sample_at = context->pointer + trials;
	context->limit = context->end;
	if (context->sampler.interval != BP_SAMPLER_OFF && trials < context->end - context->pointer)
		context->limit = context->sample_at;
}

static void discard_if_near(struct host *host)
{
	struct bp_alloc_context *context = &host->context;
	if (!in_context(host)) {
		if (host->hot.trials_left < host->design->near_bytes)
			host->hot.trials_left =
				bp_sampler_restart(&host->sampler, host->hot.trials_left);
		return;
	}
	if (context->sample_at - context->pointer < host->design->near_bytes)
		restart_context(context);
}

static void refill(struct host *host, size_t size)
{
	const uint64_t bytes = host->design->context_bytes;
	const uintptr_t start = (uintptr_t)(1 + (++host->refills & 0xfffff)) << 20;
	const uintptr_t end = start + (size > bytes ? size : bytes);
	if (host->law_case->form == FORM_IMPLICIT_CONTEXT)
		implicit_context_refill(&host->context, start, end);
	else
		bp_alloc_context_refill(&host->context, start, end);
	if (host->law_case->with == PLANTED_DISCARD)
		discard_if_near(host);
}

static void allocate_in_context(struct host *host, unsigned class)
{
	struct bp_alloc_context *context = &host->context;
	const size_t size = host->design->size[class];
	struct bp_decision decision = { 0 };
	if (class >= CLASSES_SMALL && is(host, WITH_OUTSIDE)) {
		bp_alloc_context_outside(context, size, &decision);
	} else if (size <= context->limit - context->pointer) {
		context->pointer += size;
		decision.interval = context->sampler.interval;
	} else {
		if (is(host, WITH_CHANGES) &&
			is(host, PLANTED_DISCARD)) /* the success at hand is lost */
			bp_alloc_context_set_interval(context, context->interval_wanted);
		while (!bp_alloc_context_slow(context, size, &decision))
			refill(host, size);
	}
	see(host, class, decision.interval, &decision);
}

/* ---- what happens meanwhile ---- */

static void change_interval(struct host *host, uint64_t interval, bool by_another)
{
	if (!in_context(host))
		bp_sampler_set_interval(&host->sampler, interval);
	else if (by_another)
		bp_alloc_context_ask_interval(&host->context, interval);
	else
		bp_alloc_context_set_interval(&host->context, interval);
}

static void happen(struct host *host, uint64_t bits)
{
	const bool restarts = is(host, WITH_RESTARTS);
	const bool changes = is(host, WITH_CHANGES) && host->started;
	if (changes && (!restarts || bits % 2 == 0)) {
		/* The byte counter takes a change up after a MiB, when it is off: not often. */
		const bool off = bits / 2 % (in_context(host) ? 4 : 1024) == 0;
		change_interval(host,
			off ? BP_SAMPLER_OFF : host->design->interval[bits / 2048 % REGIMES],
			bits / 4096 % 2);
	} else if (restarts && in_context(host)) {
		bp_alloc_context_leave(&host->context);
	} else if (restarts && !is(host, PLANTED_DISCARD)) {
		host->hot.trials_left = bp_sampler_restart(&host->sampler, host->hot.trials_left);
	}
	if (is(host, PLANTED_DISCARD) && (restarts || !in_context(host)))
		discard_if_near(host);
}

/* ---- the program ---- */

static unsigned class_of(uint64_t bits)
{
	return bits % 64 == 0 ? CLASSES_SMALL + bits / 64 % (CLASSES - CLASSES_SMALL)
			      : bits / 64 % CLASSES_SMALL;
}

static void allocate_step(struct host *host, unsigned class)
{
	uint64_t offset;
	if (step_allocate(&host->step, host->design->size[class], &offset))
		tally_hit(host->tally, 0, class, offset);
	else
		tally_pass(host->tally, 0, class, 1);
}

static uint64_t allocate(struct host *host, uint64_t bits)
{
	const unsigned class = class_of(bits);
	size_t count = 1;
	switch (host->law_case->form) {
	case FORM_COUNTER:
		allocate_counted(host, class);
		break;
	case FORM_LIST:
		if (host->sampler.interval == host->sampler.interval_wanted)
			count = 1 + (bits >> 16) % LIST_MAX;
		if (host->law_case->with == PLANTED_DISCARD)
			discard_if_near(host);
		allocate_list(host, class, count);
		break;
	case FORM_STEP:
		allocate_step(host, class);
		break;
	default:
		allocate_in_context(host, class);
	}
	return count;
}

void allocate_case(const struct law_case *law_case, const struct design *design, uint64_t seed,
	uint64_t objects, struct tally *tally)
{
	struct host host = { .law_case = law_case, .design = design, .tally = tally };
	const bool late = law_case->with & WITH_LATE_START;
	const uint64_t interval = late ? BP_SAMPLER_OFF : design->interval[0];
	host.law = law_case->with & WITH_EXACT_LAW ? BP_SAMPLER_EXACT : BP_SAMPLER_BERNOULLI;
	host.event_every = is(&host, PLANTED_DISCARD) ? EVENT_EVERY_PLANTED : EVENT_EVERY;
	bp_random_seed(host.random, seed + 500000);
	bp_sampler_init(&host.sampler, seed, interval, host.law);
	bp_alloc_context_init(&host.context, seed, interval, host.law);
	step_init(&host.step, law_case->step, seed, interval, design->context_bytes);
	host.started = !late;
	for (uint64_t done = 0; done < objects;) {
		const uint64_t bits = bp_random_next(host.random);
		if ((bits >> 32) % host.event_every == 0)
			happen(&host, bits >> 48);
		done += allocate(&host, bits & UINT32_MAX);
		if (!host.started && done > objects / 10) {
			host.started = true;
			change_interval(&host, design->interval[0], true);
		}
	}
}
