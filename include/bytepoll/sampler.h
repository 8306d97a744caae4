/* SPDX-License-Identifier: MIT */
/*
 * The byte-counter sampler, for embedding in any allocator: every allocated byte is an independent
 * coin flip with probability 1/T, and an object is sampled when one of its bytes comes up.
 *
 * How it works. An object of `size` bytes makes m = size + 1 trials (the one more lets objects of
 * zero bytes be sampled). The hot half, two words per thread, holds the failed trials left before
 * the next look (`trials_left`) and the objects made (`objects`); charging an object is one
 * subtraction with its borrow and costs two instructions on x86-64, four on aarch64. When the
 * subtraction borrows, the cold half decides. Under the law `exact` an object with m >= T is always
 * taken, with weight 1, because the countdown never exceeds T - 1; smaller ones are taken at their
 * first successful trial, with probability 1 - (1 - 1/T)^m. The countdown is never longer than 1
 * MiB either, so that every thread looks up now and then; when it trips without a success it is
 * drawn anew, which changes nothing (the geometric law has no memory).
 *
 * At any moment trials made = sampler.trials + (sampler.armed - hot.trials_left), so allocated
 * bytes = trials made - objects are known exactly, at no cost.
 *
 * Changing T (bp_sampler_set_interval) takes effect at the next look: the current object is decided
 * wholly under the old T. T may depend on everything that has happened so far, and each sample
 * carries the T that it was decided under. So estimates stay unbiased, however often T changes.
 *
 * Off (T = BP_SAMPLER_OFF) is one more state of the cold half, which the hot half does not know:
 * objects are charged and counted as before, the cold half is entered every 1 MiB, and no object is
 * sampled. So totals stay exact, and switching on again is a change of T like any other.
 *
 * The cold half takes constant time, whatever the object's size: two draws of the generator at
 * most.
 *
 * An object that must not be sampled is not charged. After a pause call bp_sampler_restart; to
 * sample the next object instead would be biased.
 *
 * Freestanding: no libc, no libm. Thread-safety: one sampler belongs to one thread. Derivations:
 * docs/statistics.md, "The law".
 */
#ifndef BYTEPOLL_SAMPLER_H
#define BYTEPOLL_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Trials an object makes beyond its size. */
#define BP_SAMPLER_CHARGE 1u
/* Longest countdown between two looks, in trials. */
#define BP_SAMPLER_LOOK_MAX ((uint64_t)1 << 20)

enum bp_sampler_law {
	BP_SAMPLER_EXACT = 0,	 /* objects with m >= T are taken with certainty */
	BP_SAMPLER_BERNOULLI = 1 /* every object is tried, whatever its size */
};

/* As interval: sampling is off. */
#define BP_SAMPLER_OFF 0u
/* Largest interval. */
#define BP_SAMPLER_INTERVAL_MAX ((uint64_t)1 << 56)

/* What every allocation touches. Zeroed memory is valid: the first object takes the cold path. */
struct bp_sampler_hot {
	uint64_t trials_left; /* failed trials left before the cold path must look */
	uint64_t objects;     /* objects made so far */
};

/* The cold half. bp_sampler_init before use. */
struct bp_sampler {
	uint64_t random[4]; /* state of the generator (xoshiro256++) */
	/* T that the current countdown was drawn with, bytes, or BP_SAMPLER_OFF */
	uint64_t interval;
	uint64_t interval_wanted; /* T from the next draw on */
	uint64_t armed;		  /* trials_left when it was last set */
	uint64_t trials;	  /* trials accounted for up to then */
	uint64_t look_max;	  /* longest countdown under `interval` */
	double gap_scale;	  /* 1 / lambda, lambda = -log1p(-1/interval) */
	uint32_t law;		  /* enum bp_sampler_law */
	bool undecided;		  /* the countdown ends in another draw, not in a success */
};

/* What the cold half decided about one object. */
struct bp_decision {
	bool sampled;
	bool exact;	   /* taken with certainty: weight 1, no offset */
	bool interrupted;  /* a signal handler charged an object in between: it was counted, but not
			    * offered (its trials went past the success), and a fresh gap drawn */
	uint64_t offset;   /* failed trials of this object before its success */
	uint64_t interval; /* T it was decided under */
};

/* Seeds the generator from `seed` through SplitMix64 and arms an empty countdown, so that the first
 * object is looked at. `interval`: 1 to BP_SAMPLER_INTERVAL_MAX bytes, or BP_SAMPLER_OFF. Never
 * seed from an address or a clock alone. */
void bp_sampler_init(struct bp_sampler *sampler, uint64_t seed, uint64_t interval, uint32_t law);

/* To be called when charging an object of `size` bytes borrowed. `trials_left` is the wrapped value
 * the subtraction left behind; returns the value to store in its place. size + 1 must not
 * overflow. */
uint64_t bp_sampler_decide(struct bp_sampler *sampler, uint64_t trials_left, size_t size,
	struct bp_decision *ret_decision);

/* One object of a list that was sampled. */
struct bp_list_hit {
	size_t index; /* in the list, from 0 */
	struct bp_decision decision;
};

/* Charges `count` objects of `size` bytes each, handed out together (a list of free cells, say),
 * and decides them as if they had been charged one after the other; `index` is the place of an
 * object in that order. Writes the first `room` objects sampled to `ret_hits` and returns how many
 * were: with room for `count` none is left out. Time grows with those that are looked at, not with
 * `count`. size + 1 must not overflow. */
size_t bp_sampler_charge_list(struct bp_sampler *sampler, struct bp_sampler_hot *hot, size_t size,
	size_t count, struct bp_list_hit *ret_hits, size_t room);

/* Sets a new mean interval, or off, as above. It is in force after the next object for which the
 * cold half is entered was decided. */
void bp_sampler_set_interval(struct bp_sampler *sampler, uint64_t interval);

/* Discards the countdown `trials_left` and draws anew; returns the value to store. Called after
 * every pause and interruption. */
uint64_t bp_sampler_restart(struct bp_sampler *sampler, uint64_t trials_left);

/* Discards the countdown `trials_left` so that the next object takes the cold path, whatever its
 * size (its gap is drawn there); returns 0, the value to store. For a thread that is about to
 * end. */
uint64_t bp_sampler_look_next(struct bp_sampler *sampler, uint64_t trials_left);

/* Trials made so far, given the hot word's present value. */
static inline uint64_t bp_sampler_trials(const struct bp_sampler *sampler, uint64_t trials_left)
{
	return sampler->trials + (sampler->armed - trials_left);
}

/* Charges one object of `size` bytes and counts it; true if the cold path must decide. The asm
 * makes of it `subq $-1, objects; sbb size, trials_left`: the first always carries (but at 2^64
 * objects), so the second subtracts size + 1, and its borrow is the answer, size = SIZE_MAX
 * included. */
static inline bool bp_sampler_crosses(struct bp_sampler_hot *hot, size_t size)
{
#if defined(__x86_64__) && defined(__GNUC__)
	bool borrow;
	__asm__("subq $-1, %1\n\tsbbq %3, %0"
		: "+m"(hot->trials_left), "+m"(hot->objects), "=@ccb"(borrow)
		: "r"((uint64_t)size)
		: "memory");
	return borrow;
#elif defined(__aarch64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
	/* There the carry says that nothing was borrowed, so adding one to the count, which never
	 * carries, is what makes the second instruction subtract size + 1. A signal handler that
	 * charges between the loads and the stores is not seen: see docs/internals/machines.md. */
	uint64_t left = hot->trials_left, objects = hot->objects;
	bool borrow;
	__asm__("adds %1, %1, #1\n\tsbcs %0, %0, %3"
		: "+r"(left), "+r"(objects), "=@cccc"(borrow)
		: "r"((uint64_t)size));
	hot->trials_left = left;
	hot->objects = objects;
	return borrow;
#else
	uint64_t left = hot->trials_left;
	hot->objects += 1;
	hot->trials_left = left - size - 1;
	return left <= size;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
