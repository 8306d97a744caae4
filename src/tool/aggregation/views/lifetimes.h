/* SPDX-License-Identifier: MIT */
/*
 * How long the objects of each row live, and which share of what was freed another thread freed
 * than the one that had allocated it. The estimates and their limits are those of
 * estimate/lifetime.h.
 *
 * Called by report/lifetimes.c; pairs.c takes samples one by one in the same way. Pure but for
 * memory. Thread-safety: as an aggregation.
 */
#ifndef BP_AGGREGATION_VIEWS_LIFETIMES_H
#define BP_AGGREGATION_VIEWS_LIFETIMES_H

#include "aggregation/aggregate.h"
#include "estimate/lifetime_between.h"
#include "model/sample_weight.h"
#include "model/samples.h"

/* What ages are counted in. */
enum bp_age_unit {
	BP_AGE_NS,
	BP_AGE_BYTES /* that all threads of the process allocated in the meantime */
};

#define BP_LIFETIME_AGES 7 /* 1 ms, 10 ms ... 1000 s; 4 KiB, 64 KiB ... 64 GiB */
extern const uint64_t bp_lifetime_ages[][BP_LIFETIME_AGES]; /* by unit */

/* In bytes, or in objects. */
struct bp_lifetime_figures {
	struct bp_figure freed_within[BP_LIFETIME_AGES]; /* shares, from 0 to 1 */
	struct bp_interval median;   /* an age; INFINITY: not reached; see estimate/lifetime.h */
	struct bp_figure by_another; /* share of what was freed; `unknown` without such a sample */
	/* likewise, on another processor than it had been allocated on; only with `processors` */
	struct bp_figure on_another;
};

struct bp_row_lifetimes {
	uint64_t samples; /* that the figures are made of */
	uint64_t freed;	  /* of these */
	uint64_t threads; /* of the freed ones: of so many it is known which thread freed them */
	struct bp_lifetime_figures bytes, objects;
};

struct bp_lifetimes {
	bool known; /* false: the file does not tell, and there are no rows */
	enum bp_age_unit unit;
	uint64_t resolution_ns; /* of folded traces: lifetimes may be off by so much; else 0 */
	uint64_t longest;	/* the greatest age of any sample: nothing older was seen */
	bool processors;	/* it is known of some samples on which processors these were */
	uint64_t width;		/* of nine in ten samples' ages in bytes the limits are no
				      * further apart; UINT64_MAX: without an upper limit */
	struct bp_row_lifetimes all;   /* everything that is selected */
	struct bp_row_lifetimes *rows; /* `row_count`, in the order of the aggregation */
	uint32_t row_count;
};

/* Of the first `rows` <= row_count rows of the aggregation, whose metric must be allocated. What is
 * live at the end of its process, or of the query's window, is censored then. `complete`: what was
 * not freed by then is left out instead, which makes lifetimes too short. Ages in bytes need a
 * profile that kept its readings; a file without any does not tell them. */
bool bp_lifetimes_make(const struct bp_aggregation *aggregation, uint32_t rows, bool complete,
	enum bp_age_unit unit, struct bp_lifetimes *ret_lifetimes, struct bp_error *error);
void bp_lifetimes_finish(struct bp_lifetimes *lifetimes);

/* A sample as the estimates take it. */
struct bp_lifetime_entry {
	struct bp_lifetime
		lifetime; /* in bytes; first, so that bp_lifetime_compare sorts entries */
	uint32_t how;	  /* BP_FREED_... of model/samples.h */
};

/* Of sample `number`, which is `sample` and weighs `weight`; its age is in ns. */
struct bp_lifetime_entry bp_lifetime_entry_of(const struct bp_aggregation *aggregation,
	uint32_t number, const struct bp_sample *sample, const struct bp_sample_weight *weight);

/* Of an entry that was freed: is it known by which thread, and on which processors? */
static inline bool bp_lifetime_threads_known(const struct bp_lifetime_entry *entry)
{
	return (entry->how & (BP_FREED_BY_ITS_THREAD | BP_FREED_BY_ANOTHER)) != 0;
}
static inline bool bp_lifetime_processors_known(const struct bp_lifetime_entry *entry)
{
	return (entry->how & (BP_FREED_ON_ITS_PROCESSOR | BP_FREED_ON_ANOTHER_PROCESSOR)) != 0;
}
/* Its lifetime, which counts as ended if it was freed as the bits `how` say: a share of such
 * lifetimes that ended (bp_lifetime_ended) is the share of what was freed so. */
static inline struct bp_lifetime bp_lifetime_as_share(
	const struct bp_lifetime_entry *entry, uint32_t how)
{
	struct bp_lifetime lifetime = entry->lifetime;
	lifetime.ended = (entry->how & how) != 0;
	return lifetime;
}

/* The limits of the age of `sample` in bytes, by the clock of its process; a point between them
 * takes the place of the entry's age in ns. `resolution_ns`: times may be off by so much. */
struct bp_byte_clock;
struct bp_known_total bp_lifetime_age_in_bytes(const struct bp_byte_clock *clock,
	uint64_t resolution_ns, const struct bp_sample *sample, struct bp_lifetime_entry *entry);

/* How far apart limits are; UINT64_MAX without an upper one. */
static inline uint64_t bp_lifetime_width_of(const struct bp_known_total *age)
{
	return age->high == UINT64_MAX ? UINT64_MAX : age->high - age->low;
}
/* Sorts `count` of these, and returns what nine in ten are at most; 0 without any. */
uint64_t bp_lifetime_width(uint64_t *widths, size_t count);

/* What may be there unseen of some part of what is selected, in bytes and in objects. `objects`:
 * the interval of the objects of the part; `sums`: of its samples; `size`: its smallest size, if it
 * is known, else 0. */
struct bp_lifetime_unseen {
	double bytes, objects;
};
struct bp_lifetime_unseen bp_lifetime_unseen_of(const struct bp_aggregation *aggregation,
	const struct bp_interval *objects, const struct bp_sums *sums, uint64_t size);

#endif
