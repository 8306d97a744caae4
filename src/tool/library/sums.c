/* SPDX-License-Identifier: MIT */
/*
 * The sums behind figures as plain numbers: out of a table, added up, and made figures of by the
 * rules of aggregation/figures.c. Records come from wherever the caller kept them, so each is
 * looked at before estimate/ is called, whose functions trust theirs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/row_sums.h"
#include "base/saturated.h"
#include "estimate/size_classes.h"
#include "library/handles.h"

static struct bytepoll_sums sums_given(
	const struct bp_sums *sums, unsigned size_class, uint64_t one_size)
{
	return (struct bytepoll_sums){ .size_class = size_class,
		.flags = (sums->has_first ? BYTEPOLL_SUMS_FIRST : 0u) |
			 (sums->mixed ? BYTEPOLL_SUMS_MIXED : 0u) |
			 (sums->bernoulli ? BYTEPOLL_SUMS_BERNOULLI : 0u),
		.samples = sums->samples,
		.bytes = sums->bytes,
		.c1 = sums->c1,
		.c2 = sums->c2,
		.c3 = sums->c3,
		.n1 = sums->n1,
		.n2 = sums->n2,
		.n3 = sums->n3,
		.log_pi_sum = sums->log_pi_sum,
		.first_size = sums->first_size,
		.first_interval = sums->first_interval,
		.first_value = sums->first_value,
		.first_charge = sums->first_charge,
		.interval_max = sums->interval_max,
		.ratio_max = sums->ratio_max,
		.one_size = one_size };
}

static bool is_amount(double number)
{
	return isfinite(number) && number >= 0;
}

/* Are these sums of value g, value^2 g (1 + g), value^3 g (1 + g) (1 + 2 g) over samples? Then, by
 * Cauchy and Schwarz, the second squared is at most the product of the others. (The slack is for
 * rounding, in the sums of millions.) */
static bool are_cumulants(double first, double second, double third)
{
	if (!is_amount(first) || !is_amount(second) || !is_amount(third))
		return false;
	if (first == 0 || second == 0)
		return first == 0 && second == 0 && third == 0;
	return second / first <= third / second * (1 + 1e-6);
}

/* A caller's record, if it can be one. */
static bool read_sums(const struct bytepoll_sums *given, struct bytepoll_sums *ret_known,
	struct bp_sums *ret_sums)
{
	struct bytepoll_sums r;
	if (given == NULL || !bp_struct_take(&r, sizeof r, given, "the sums", NULL))
		return false;
	const bool first = (r.flags & BYTEPOLL_SUMS_FIRST) != 0;
	const uint32_t known_flags =
		BYTEPOLL_SUMS_FIRST | BYTEPOLL_SUMS_MIXED | BYTEPOLL_SUMS_BERNOULLI;
	if (r.size_class >= BP_SIZE_CLASSES || (r.flags & ~known_flags) != 0 ||
		!is_amount(r.bytes) || !are_cumulants(r.c1, r.c2, r.c3) ||
		!are_cumulants(r.n1, r.n2, r.n3) || !is_amount(-r.log_pi_sum) ||
		!is_amount(r.ratio_max) || !is_amount(r.first_value) ||
		(first && r.first_interval == 0) ||
		(r.samples == 0 && (r.bytes > 0 || r.c1 > 0 || r.n1 > 0)))
		return false;
	*ret_known = r;
	*ret_sums = (struct bp_sums){ .samples = r.samples,
		.bytes = r.bytes,
		.c1 = r.c1,
		.c2 = r.c2,
		.c3 = r.c3,
		.n1 = r.n1,
		.n2 = r.n2,
		.n3 = r.n3,
		.log_pi_sum = r.log_pi_sum,
		.first_size = r.first_size,
		.first_interval = r.first_interval,
		.first_charge = r.first_charge,
		.first_value = r.first_value,
		.has_first = first,
		.mixed = (r.flags & BYTEPOLL_SUMS_MIXED) != 0,
		.bernoulli = (r.flags & BYTEPOLL_SUMS_BERNOULLI) != 0,
		.interval_max = r.interval_max,
		.ratio_max = r.ratio_max };
	return true;
}

static size_t give_parts(struct bp_row_parts parts, struct bytepoll_sums *ret_records, size_t room)
{
	unsigned char *at = (unsigned char *)ret_records;
	size_t count = 0, record_bytes = 0;
	if (room > 0)
		memcpy(&record_bytes, at,
			sizeof record_bytes); /* of the caller's, which are alike */
	for (unsigned c = 0; c < BP_SIZE_CLASSES; c++) {
		const struct bp_sums *sums =
			parts.classes != NULL ? &parts.classes->of[c] : parts.sums;
		if (c > 0 && (parts.classes == NULL || sums->samples == 0))
			continue;
		const struct bytepoll_sums record = sums_given(sums, c, parts.one_size);
		if (count < room && !bp_struct_give(at, &record, sizeof record))
			return 0;
		count++;
		at += count < room ? record_bytes : 0;
	}
	return count;
}

size_t bytepoll_table_row_sums(const struct bytepoll_table *table, uint32_t i,
	struct bytepoll_sums *ret_records, size_t room)
{
	const struct bp_aggregation *a = &table->aggregation;
	if (i >= a->row_count || !bp_aggregation_is_of_sums(a))
		return 0;
	return give_parts(bp_aggregation_row_parts(a, i), ret_records, room);
}

size_t bytepoll_table_total_sums(
	const struct bytepoll_table *table, struct bytepoll_sums *ret_records, size_t room)
{
	const struct bp_aggregation *a = &table->aggregation;
	return bp_aggregation_is_of_sums(a)
		       ? give_parts(bp_aggregation_total_parts(a), ret_records, room)
		       : 0;
}

size_t bytepoll_table_outside_sums(
	const struct bytepoll_table *table, struct bytepoll_sums *ret_records, size_t room)
{
	const struct bp_aggregation *a = &table->aggregation;
	return bp_aggregation_is_of_sums(a)
		       ? give_parts(bp_aggregation_outside_parts(a), ret_records, room)
		       : 0;
}

bool bytepoll_table_assumptions(
	const struct bytepoll_table *table, struct bytepoll_assumptions *ret_assumptions)
{
	const struct bp_aggregation *a = &table->aggregation;
	const struct bp_assumptions assumed = bp_aggregation_assumptions(a);
	const struct bp_row_bounds bounds = bp_aggregation_row_bounds(a);
	const struct bytepoll_assumptions given = {
		.flags = (bounds.parts ? BYTEPOLL_ASSUME_CALIBRATED : 0u) |
			 (bounds.lower_bound ? BYTEPOLL_ASSUME_LOWER_BOUND : 0u) |
			 (bounds.upper_bound ? BYTEPOLL_ASSUME_UPPER_BOUND : 0u) |
			 (a->query.usable ? BYTEPOLL_ASSUME_USABLE : 0u),
		.charge = assumed.charge,
		.interval = assumed.interval_unseen,
		.size_min = bounds.size_min.key,
		.size_min_beside = bounds.size_min.beside,
		.ratio_max = assumed.ratio_max,
		.bytes = bp_count_given(bounds.bytes),
		.objects = bp_count_given(bounds.objects),
		.offered = bp_count_given(bounds.offered),
		.offered_objects = bp_count_given(bounds.offered_objects),
	};
	return bp_struct_give(ret_assumptions, &given, sizeof given);
}

/* The same record of several: theirs must not differ to be of one size. */
static uint64_t common_size(const struct bytepoll_sums *a, const struct bytepoll_sums *b)
{
	if (a->samples == 0)
		return b->one_size;
	return b->samples == 0 || a->one_size == b->one_size ? a->one_size : 0;
}

bool bytepoll_sums_merge(struct bytepoll_sums *sums, const struct bytepoll_sums *other)
{
	struct bytepoll_sums known, more;
	struct bp_sums sum, term;
	if (!read_sums(sums, &known, &sum) || !read_sums(other, &more, &term))
		return false;
	const bool nothing = known.samples == 0 && known.bytes == 0;
	if (!nothing && known.size_class != more.size_class)
		return false;
	if (__builtin_add_overflow(sum.samples, term.samples, &(uint64_t){ 0 }))
		return false;
	bp_sums_merge(&sum, &term);
	const struct bytepoll_sums merged = sums_given(
		&sum, nothing ? more.size_class : known.size_class, common_size(&known, &more));
	return bp_struct_give(sums, &merged, sizeof merged);
}

static struct bytepoll_count both(struct bytepoll_count a, struct bytepoll_count b)
{
	return (struct bytepoll_count){ bp_add_saturated(a.low, b.low),
		bp_add_saturated(a.high, b.high) };
}

static struct bytepoll_assumptions merged(
	const struct bytepoll_assumptions *a, const struct bytepoll_assumptions *b)
{
	const uint32_t all = a->flags & b->flags, any = a->flags | b->flags;
	return (struct bytepoll_assumptions){
		.flags = (all & BYTEPOLL_ASSUME_CALIBRATED) |
			 (any & ~(uint32_t)BYTEPOLL_ASSUME_CALIBRATED),
		.charge = (uint32_t)bp_min_u64(a->charge, b->charge),
		.interval = a->interval > b->interval ? a->interval : b->interval,
		.ratio_max = fmax(a->ratio_max, b->ratio_max),
		.bytes = both(a->bytes, b->bytes),
		.objects = both(a->objects, b->objects),
		.offered = both(a->offered, b->offered),
		.offered_objects = both(a->offered_objects, b->offered_objects),
		.size_min = bp_min_u64(a->size_min, b->size_min),
		.size_min_beside = bp_min_u64(a->size_min_beside, b->size_min_beside),
	};
}

bool bytepoll_assumptions_merge(
	struct bytepoll_assumptions *assumptions, const struct bytepoll_assumptions *other)
{
	struct bytepoll_assumptions a, b;
	if (!bp_struct_take(&a, sizeof a, assumptions, "the assumptions", NULL) ||
		!bp_struct_take(&b, sizeof b, other, "the assumptions", NULL))
		return false;
	const bool nothing = a.interval == 0; /* cleared: the first one to be merged into it */
	const struct bytepoll_assumptions sum = nothing ? b : merged(&a, &b);
	return bp_struct_give(assumptions, &sum, sizeof sum);
}

/* Everything that is to become one figure. */
struct key {
	struct bp_size_classes classes;
	struct bp_sums all; /* of them, merged */
	bool by_class;	    /* there is more than class 0 */
	uint64_t one_size;
};

static bool gather(const struct bytepoll_sums *records, size_t count, struct key *key,
	struct bytepoll_error *error)
{
	struct bytepoll_sums known;
	struct bp_sums sums;
	const unsigned char *at = (const unsigned char *)records;
	for (size_t i = 0, bytes = 0; i < count; i++, at += bytes) {
		memcpy(&bytes, at, sizeof bytes);
		if (!read_sums((const struct bytepoll_sums *)(const void *)at, &known, &sums))
			return bp_call_wrong(error, "record %zu: these are no sums", i);
		const struct bytepoll_sums before = { .samples = key->all.samples,
			.one_size = key->one_size };
		key->one_size = common_size(&before, &known);
		bp_size_classes_add(&key->classes, known.size_class, &sums);
		bp_sums_merge(&key->all, &sums);
		key->by_class = key->by_class || known.size_class > 0;
	}
	return true;
}

static bool check_assumptions(
	const struct bytepoll_assumptions *a, double confidence, struct bytepoll_error *error)
{
	if (!(confidence >= 1e-12 && confidence <= 1 - 1e-12))
		return bp_call_wrong(
			error, "confidence %g: must be from 1e-12 to 0.999999999999", confidence);
	if (a->interval == 0 || !is_amount(a->ratio_max) || a->ratio_max == 0 ||
		a->bytes.low > a->bytes.high || a->objects.low > a->objects.high ||
		a->offered.low > a->offered.high ||
		a->offered_objects.low > a->offered_objects.high)
		return bp_call_wrong(error, "the assumptions are not those of a table");
	return true;
}

/* What is part of a counted total is not more than it (aggregation/figures.c). */
static void cap(struct bp_interval *interval, struct bytepoll_count total)
{
	const double most = (double)total.high;
	if (total.high == UINT64_MAX || interval->unknown || !(interval->high > most) ||
		interval->low > most)
		return;
	interval->high = most;
	interval->estimate = fmin(interval->estimate, most);
	interval->exact = interval->low == interval->high;
}

static struct bytepoll_figure figure_of(
	struct bp_interval interval, const struct bytepoll_assumptions *assumed)
{
	const struct bp_figure figure = { .interval = interval,
		.lower_bound = (assumed->flags & BYTEPOLL_ASSUME_LOWER_BOUND) != 0,
		.upper_bound = (assumed->flags & BYTEPOLL_ASSUME_UPPER_BOUND) != 0 };
	struct bytepoll_figure given = bp_figure_given(&figure);
	if (figure.lower_bound || figure.upper_bound)
		given.flags &= ~(uint32_t)BYTEPOLL_EXACT;
	return given;
}

/* Objects that are part of a counted number (aggregation/figures.c, objects_of). */
static struct bp_interval known_objects(const struct key *key, const struct key *others,
	const struct bytepoll_assumptions *a, double alpha, uint64_t size_min)
{
	const struct bytepoll_count *total = &a->offered_objects;
	struct bp_interval objects = bp_estimate_known_objects(&key->all, &others->all, a->interval,
		total->low, total->high, alpha,
		(struct bp_size_min){ size_min, a->size_min_beside }, a->charge);
	if (bp_objects_are_missing_beside(&key->all, &others->all, total->low, total->high))
		bp_uncalibrate_objects(&objects, &key->all);
	return objects;
}

static void estimate(const struct key *key, const struct key *others,
	const struct bytepoll_assumptions *a, double alpha, struct bytepoll_figure *ret_bytes,
	struct bytepoll_figure *ret_objects)
{
	const uint64_t size_min = key->one_size > a->size_min ? key->one_size : a->size_min;
	const double ratio = a->ratio_max;
	const bool part = others != NULL && (a->flags & BYTEPOLL_ASSUME_CALIBRATED) != 0;
	struct bp_interval bytes, objects;
	if (part && (a->flags & BYTEPOLL_ASSUME_USABLE) == 0)
		bytes = bp_estimate_known_total(&key->all, &others->all, a->interval,
			a->offered.low, a->offered.high, alpha);
	else if (key->by_class)
		bytes = bp_estimate_values_by_classes(&key->classes, a->interval, ratio, alpha);
	else
		bytes = bp_estimate_values(&key->all, a->interval, ratio, alpha);
	if (part)
		objects = known_objects(key, others, a, alpha, size_min);
	else if (key->by_class)
		objects = bp_estimate_objects_by_classes(
			&key->classes, a->interval, alpha, size_min, a->charge);
	else
		objects = bp_estimate_objects(&key->all, a->interval, alpha, size_min, a->charge);
	cap(&bytes, a->bytes);
	cap(&objects, a->objects);
	*ret_bytes = figure_of(bytes, a);
	*ret_objects = figure_of(objects, a);
}

bool bytepoll_sums_estimate(const struct bytepoll_sums *records, size_t count,
	const struct bytepoll_sums *others, size_t other_count,
	const struct bytepoll_assumptions *assumptions, double confidence,
	struct bytepoll_figure *ret_bytes, struct bytepoll_figure *ret_objects,
	struct bytepoll_error *error)
{
	const double wanted = confidence == 0 ? BP_CONFIDENCE_DEFAULT : confidence;
	struct bytepoll_assumptions assumed;
	if (assumptions == NULL)
		return bp_call_wrong(error, "no assumptions given");
	if (!bp_struct_take(&assumed, sizeof assumed, assumptions, "the assumptions", error) ||
		!check_assumptions(&assumed, wanted, error))
		return false;
	struct key *key = calloc(2, sizeof *key);
	if (key == NULL)
		return bp_call_wrong(error, "out of memory");
	const bool good = gather(records, count, &key[0], error) &&
			  (others == NULL || gather(others, other_count, &key[1], error));
	if (good)
		estimate(&key[0], others != NULL ? &key[1] : NULL, &assumed, 1 - wanted, ret_bytes,
			ret_objects);
	free(key);
	return good;
}
