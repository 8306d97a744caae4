/* SPDX-License-Identifier: MIT */
/*
 * The estimation of the page that `bytepoll html` writes: src/tool/estimate, compiled to
 * WebAssembly, under a few functions that take and give doubles. Which of its methods is used
 * follows src/tool/aggregation/figures.c, so that the page shows for a selection what `bytepoll
 * report` shows for the same one (docs/page-format.md has the contract, tests/scenario/test_html.py
 * compares the two).
 *
 * A record of sums is 16 doubles: struct bp_sums in its order, with its bits as one number. The
 * page owns the room behind bp_page_memory(); everything here is one thread and keeps what it was
 * told in statics.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "estimate/estimate.h"
#include "estimate/size_classes.h"

#define EXPORT __attribute__((visibility("default"), used))

enum {
	SAMPLES,
	BYTES,
	C1,
	C2,
	C3,
	N1,
	N2,
	N3,
	LOG_PI_SUM,
	FIRST_SIZE,
	FIRST_INTERVAL,
	FIRST_CHARGE,
	FIRST_VALUE,
	BITS,
	INTERVAL_MAX,
	RATIO_MAX,
	RECORD
};
enum { HAS_FIRST = 1, MIXED = 2, BERNOULLI = 4, SINGLE_SIZE = 8 };
enum { LIVE, PEAK, ALLOCATED, TEMPORARY, WINDOW_TOTAL };
/* What is counted of the window: a cap, a total that rows are parts of, limits of the total. */
enum { CAPS = 1, PARTS = 2, NARROWS = 4 };

struct totals {
	unsigned has;
	uint64_t offered_low, offered_high, offered_objects_low, offered_objects_high;
	double bytes_low, bytes_high, objects_low, objects_high;
	/* that can be among the row's objects, and among all else */
	uint64_t size_min, size_min_beside;
	double ratio_max;
};

static struct {
	uint64_t interval_unseen;
	uint32_t charge;
	double turnovers, alpha;
	int usable, by_classes;
} assumed = { 1, 1, 0, 0.05, 0, 0 };
static struct totals counted;
static double buffer[2 * RECORD];
static double class_records[BP_SIZE_CLASSES * RECORD];
static struct bp_size_classes classes;

/* From a double that may be 2^64, which stands for "not known". */
static uint64_t whole_number(double value)
{
	if (!(value > 0))
		return 0;
	return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

static void read_record(const double *record, struct bp_sums *ret_sums)
{
	const unsigned bits = (unsigned)record[BITS];
	*ret_sums = (struct bp_sums){ .samples = whole_number(record[SAMPLES]),
		.bytes = record[BYTES],
		.c1 = record[C1],
		.c2 = record[C2],
		.c3 = record[C3],
		.n1 = record[N1],
		.n2 = record[N2],
		.n3 = record[N3],
		.log_pi_sum = record[LOG_PI_SUM],
		.first_size = whole_number(record[FIRST_SIZE]),
		.first_interval = whole_number(record[FIRST_INTERVAL]),
		.first_charge = (uint32_t)record[FIRST_CHARGE],
		.first_value = record[FIRST_VALUE],
		.has_first = (bits & HAS_FIRST) != 0,
		.mixed = (bits & MIXED) != 0,
		.bernoulli = (bits & BERNOULLI) != 0,
		.interval_max = whole_number(record[INTERVAL_MAX]),
		.ratio_max = record[RATIO_MAX],
		.single_size = (bits & SINGLE_SIZE) != 0 };
}

static void write_record(double *record, const struct bp_sums *sums)
{
	record[SAMPLES] = (double)sums->samples;
	record[BYTES] = sums->bytes;
	record[C1] = sums->c1;
	record[C2] = sums->c2;
	record[C3] = sums->c3;
	record[N1] = sums->n1;
	record[N2] = sums->n2;
	record[N3] = sums->n3;
	record[LOG_PI_SUM] = sums->log_pi_sum;
	record[FIRST_SIZE] = (double)sums->first_size;
	record[FIRST_INTERVAL] = (double)sums->first_interval;
	record[FIRST_CHARGE] = sums->first_charge;
	record[FIRST_VALUE] = sums->first_value;
	record[BITS] = (sums->has_first ? HAS_FIRST : 0) + (sums->mixed ? MIXED : 0) +
		       (sums->bernoulli ? BERNOULLI : 0) + (sums->single_size ? SINGLE_SIZE : 0);
	record[INTERVAL_MAX] = (double)sums->interval_max;
	record[RATIO_MAX] = sums->ratio_max;
}

static void merge_one(double *to, const double *from)
{
	struct bp_sums sums, more;
	read_record(to, &sums);
	read_record(from, &more);
	bp_sums_merge(&sums, &more);
	write_record(to, &sums);
}

/* Memory. */

extern unsigned char __heap_base;

/* Room for `count` doubles behind everything else, always at the same address; 0: there is none. */
EXPORT double *bp_page_memory(double count)
{
	const size_t page = 65536, start = ((size_t)&__heap_base + 15) / 16 * 16;
	const size_t end = start + (size_t)count * sizeof(double);
	const size_t now = __builtin_wasm_memory_size(0) * page;
	if (!(count >= 0 && count < 0x1p28))
		return NULL;
	if (end > now && __builtin_wasm_memory_grow(0, (end - now + page - 1) / page) == (size_t)-1)
		return NULL;
	return (double *)start;
}

EXPORT double *bp_page_buffer(void)
{
	return buffer;
}

EXPORT double *bp_page_classes(void)
{
	return class_records;
}

/* Sums. */

EXPORT void bp_page_merge(double *to, const double *from, int count)
{
	for (int i = 0; i < count; i++)
		merge_one(to + (size_t)i * RECORD, from + (size_t)i * RECORD);
}

/* Pairs of numbers of records, one of `to` and one of `from`. */
EXPORT void bp_page_merge_pairs(double *to, const double *from, const uint32_t *pairs, int count)
{
	for (int i = 0; i < count; i++)
		merge_one(to + (size_t)pairs[2 * i] * RECORD,
			from + (size_t)pairs[2 * i + 1] * RECORD);
}

/* Assumptions. */

EXPORT void bp_page_assume(double interval_unseen, double charge, double turnovers, double alpha,
	int usable, int by_classes)
{
	assumed.interval_unseen = interval_unseen >= 1 ? whole_number(interval_unseen) : 1;
	assumed.charge = (uint32_t)charge;
	assumed.turnovers = turnovers >= 0 ? turnovers : 0;
	assumed.alpha = alpha > 0 && alpha < 1 ? alpha : 0.05;
	assumed.usable = usable;
	assumed.by_classes = by_classes;
}

EXPORT void bp_page_calibrate(double has, double offered_low, double offered_high, double bytes_low,
	double bytes_high, double objects_low, double objects_high, double size_min,
	double ratio_max, double offered_objects_low, double offered_objects_high,
	double size_min_beside)
{
	counted = (struct totals){ (unsigned)has, whole_number(offered_low),
		whole_number(offered_high), whole_number(offered_objects_low),
		whole_number(offered_objects_high), bytes_low, bytes_high, objects_low,
		objects_high, whole_number(size_min), whole_number(size_min_beside), ratio_max };
}

/* Estimation: see src/tool/aggregation/figures.c, function by function. */

static struct bp_interval values_of(const struct bp_sums *sums, double alpha)
{
	const double ratio = assumed.usable ? counted.ratio_max : 1;
	if (assumed.by_classes)
		return bp_estimate_values_by_classes(
			&classes, assumed.interval_unseen, ratio, alpha);
	return bp_estimate_values(sums, assumed.interval_unseen, ratio, alpha);
}

/* `complement`: all else of the counted number; NULL: it is part of none. */
static struct bp_interval objects_of(
	const struct bp_sums *sums, const struct bp_sums *complement, int metric, double alpha)
{
	if (complement != NULL) {
		const uint64_t low = counted.offered_objects_low;
		const uint64_t high = counted.offered_objects_high;
		struct bp_interval objects = bp_estimate_known_objects(sums, complement,
			assumed.interval_unseen, low, high, alpha,
			(struct bp_size_min){ counted.size_min, counted.size_min_beside },
			assumed.charge);
		if (metric == PEAK || bp_objects_are_missing_beside(sums, complement, low, high))
			bp_uncalibrate_objects(&objects, sums);
		return objects;
	}
	if (assumed.by_classes)
		return bp_estimate_objects_by_classes(
			&classes, assumed.interval_unseen, alpha, counted.size_min, assumed.charge);
	return bp_estimate_objects(
		sums, assumed.interval_unseen, alpha, counted.size_min, assumed.charge);
}

static void cap(struct bp_interval *interval, double total)
{
	if (interval->unknown || !(interval->high > total) || interval->low > total)
		return;
	interval->high = total;
	interval->estimate = fmin(interval->estimate, total);
	interval->exact = interval->low == interval->high;
}

static void narrow(struct bp_interval *interval, double low, double high)
{
	if (interval->exact)
		return;
	interval->low = fmin(fmax(interval->low, low), high);
	interval->high = fmax(fmin(interval->high, high), low);
	interval->estimate = fmin(fmax(interval->estimate, interval->low), interval->high);
	interval->exact = low == high; /* (limits may also meet by losses) */
	interval->unknown = false;
}

static void read_classes(void)
{
	for (unsigned b = 0; b < BP_SIZE_CLASSES; b++)
		read_record(class_records + (size_t)b * RECORD, &classes.of[b]);
}

static void write_interval(double *to, const struct bp_interval *interval)
{
	to[0] = interval->estimate;
	to[1] = interval->low;
	to[2] = interval->high;
	to[3] = interval->exact;
	to[4] = interval->unknown;
}

/* The figures of the row in the buffer, to the buffer. 0: no such metric. */
EXPORT int bp_page_estimate(int metric)
{
	struct bp_sums row, complement;
	if (metric < LIVE || metric > WINDOW_TOTAL)
		return 0;
	read_record(buffer, &row);
	read_record(buffer + RECORD, &complement);
	if (assumed.by_classes)
		read_classes();
	const int part = metric != WINDOW_TOTAL && counted.has & PARTS && !assumed.by_classes;
	const struct bp_sums *others = part ? &complement : NULL;
	struct bp_interval bytes = values_of(&row, assumed.alpha);
	struct bp_interval objects = objects_of(&row, others, metric, assumed.alpha);
	if (part && metric != PEAK && !assumed.usable)
		bytes = bp_estimate_known_total(&row, &complement, assumed.interval_unseen,
			counted.offered_low, counted.offered_high, assumed.alpha);
	if (metric == PEAK) {
		const double level =
			2 * bp_peak_lower_level(assumed.alpha, assumed.turnovers, BP_PEAK_FACTOR);
		bytes = bp_peak_moment_interval(bytes, values_of(&row, level));
		objects = bp_peak_moment_interval(objects, objects_of(&row, others, metric, level));
	}
	if (counted.has & CAPS && !assumed.usable)
		cap(&bytes, counted.bytes_high);
	if (counted.has & CAPS)
		cap(&objects, counted.objects_high);
	if (metric == WINDOW_TOTAL && counted.has & NARROWS) {
		if (!assumed.usable)
			narrow(&bytes, counted.bytes_low, counted.bytes_high);
		narrow(&objects, counted.objects_low, counted.objects_high);
	}
	write_interval(buffer, &bytes);
	write_interval(buffer + 5, &objects);
	return 1;
}
