/* SPDX-License-Identifier: MIT */
/*
 * Edges of windows, threads, and parts of a counted number of objects.
 *
 * Windows, with the samples themselves as the clock: trials of one byte, hits with probability 1/T.
 * A window of about W intervals begins and ends at fixed moments, or at hits. A fixed end looks at
 * nothing and needs no correction; a hit that is both the edge and counted is one too many. Held
 * against this: N3, and the negative binomial interval in its three forms. Which combinations hold
 * is known (the table `expected`), and both sides of that are asserted: the right ones do, the
 * traps do not.
 *
 * Windows and threads, through the real aggregation: a schedule of objects of many sizes in 4, 16
 * or 64 threads, the same in every run, sampled anew each time. Rows by thread in a window [from,
 * to) hold their truth; the sum of their intervals is an interval too, but a multiple of the width
 * of the total's, which pools the samples. Where the counters of threads are known at their
 * samples, they bound the total, and the rows are parts of it: bounds that come at the moments of
 * samples must not spoil that. Without a window rows by thread are counted, and right to the byte.
 *
 * A method that should hold may miss on a side as often as one that errs in exactly 2.75 % does
 * with probability 1e-10. A trap misses in 3.3 % and more, which 200000 repetitions tell from 2.75
 * by 8 standard errors. At about 60 assertions the false-alarm rate of a run is below 1e-8. Seeds
 * are recorded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "chance.h"
#include "estimate/numeric/negative_binomial.h"
#include "query/filter.h"
#include "small_profile.h"

#define INTERVAL UINT64_C(65536)
#define SAMPLES_MAX 400

static const double false_alarm = 1e-10, tail = .0275;
static FILE *table;
static bool is_long;

/* ---- edges ---- */

enum edge_kind {
	EDGES_FIXED,	    /* both ends at fixed moments */
	EDGES_AFTER_HIT,    /* from just after a hit to a fixed end */
	EDGES_WITH_HIT,	    /* from a hit, which is counted, to a fixed end */
	EDGES_LAST_HIT,	    /* from a fixed start to the last hit before a fixed moment */
	EDGES_NUMBERED_HIT, /* from a fixed start to hit number W */
	EDGES_COUNT
};

static const char *const edge_names[EDGES_COUNT] = { "fixed to fixed", "after a hit to fixed",
	"a hit, counted, to fixed", "fixed to the last hit, tail dropped",
	"fixed to the W-th hit" };

enum { FORM_N3, FORM_AT_SAMPLES, FORM_END, FORM_BOTH, FORM_COUNT };
static const enum bp_window_edges form_edges[FORM_COUNT] = { [FORM_AT_SAMPLES] =
								     BP_EDGES_AT_SAMPLES,
	[FORM_END] = BP_EDGES_END,
	[FORM_BOTH] = BP_EDGES_BOTH };
static const char *const form_names[FORM_COUNT] = { "N3", "[s, s]", "[s, s + 1]",
	"[s - 1, s + 1]" };

/* What must be: holds, fails above or below at one W at least, or nothing said. */
enum expectation { HOLDS, FAILS, OPEN };
static const enum expectation expected[EDGES_COUNT][FORM_COUNT] = {
	{ HOLDS, FAILS, HOLDS, HOLDS },
	{ HOLDS, FAILS, HOLDS, HOLDS },
	{ FAILS, OPEN, FAILS, OPEN },
	{ FAILS, FAILS, FAILS, OPEN },
	{ HOLDS, HOLDS, HOLDS, HOLDS },
};

static struct bp_interval intervals[FORM_COUNT][SAMPLES_MAX];

/* Of s samples of one byte, without charge. */
static void tabulate(void)
{
	struct bp_sums sums = { .interval_max = INTERVAL };
	for (unsigned s = 0; s < SAMPLES_MAX; s++) {
		intervals[FORM_N3][s] = bp_estimate_bytes(&sums, INTERVAL, .05);
		for (int form = FORM_AT_SAMPLES; form < FORM_COUNT; form++)
			intervals[form][s] = bp_estimate_negative_binomial(
				BP_NEGATIVE_BINOMIAL_EXACT, form_edges[form], s, s, INTERVAL, .05);
		bp_sums_add(&sums, 1, 1, 0, INTERVAL, false);
	}
}

/* Trials up to and including the next hit. */
static double next_hit(struct stream *stream)
{
	return 1 + floor(-log(stream_uniform(stream)) / bp_lambda(INTERVAL));
}

/* One window: its true trials and its hits. */
static unsigned draw_window(
	struct stream *stream, enum edge_kind kind, unsigned width, double *ret_truth)
{
	double end = width * (double)INTERVAL, at = 0, last = 0;
	unsigned hits = 0;
	if (kind == EDGES_NUMBERED_HIT) {
		for (; hits < width; hits++)
			at += next_hit(stream);
		*ret_truth = at;
		return hits;
	}
	if (kind == EDGES_WITH_HIT) {
		hits = 1;
		at = 1;
	}
	for (;;) {
		at += next_hit(stream);
		if (at > end)
			break;
		hits++;
		last = at;
	}
	*ret_truth = kind == EDGES_LAST_HIT ? last : end;
	return hits;
}

static void check_edges(enum edge_kind kind, unsigned repetitions, bool (*failed)[FORM_COUNT])
{
	static const unsigned widths[] = { 3, 10, 30 };
	double most = binomial_limit(repetitions, tail, false_alarm);
	unsigned low[FORM_COUNT][3] = { 0 }, high[FORM_COUNT][3] = { 0 };
	for (unsigned w = 0; w < 3; w++) {
		struct stream stream = { 300 + 10 * kind + w };
		for (unsigned i = 0; i < repetitions; i++) {
			double truth;
			unsigned hits = draw_window(&stream, kind, widths[w], &truth);
			assert_true(hits < SAMPLES_MAX);
			for (int form = 0; form < FORM_COUNT; form++) {
				low[form][w] += truth < intervals[form][hits].low - .5;
				high[form][w] += truth > intervals[form][hits].high + 1.5;
			}
		}
	}
	for (int form = 0; form < FORM_COUNT; form++) {
		if (table != NULL)
			fprintf(table, "| %s | %s ", edge_names[kind], form_names[form]);
		for (unsigned w = 0; w < 3; w++) {
			double below = 100.0 * low[form][w] / repetitions;
			double above = 100.0 * high[form][w] / repetitions;
			print_message("# %s, %s, %u T: misses %.2f %% below, %.2f above\n",
				edge_names[kind], form_names[form], widths[w], below, above);
			if (table != NULL)
				fprintf(table, "| %.2f / %.2f ", below, above);
			if (low[form][w] > most || high[form][w] > most)
				(*failed)[form] = true;
		}
		if (table != NULL)
			fprintf(table, "|\n");
	}
}

static void edges(void **state)
{
	(void)state;
	tabulate();
	if (table != NULL)
		fprintf(table, "| window | interval | W = 3 | 10 | 30 |\n|-|-|-|-|-|\n");
	for (int kind = 0; kind < EDGES_COUNT; kind++) {
		bool failed[FORM_COUNT] = { false };
		check_edges((enum edge_kind)kind, is_long ? 400000 : 200000, &failed);
		for (int form = 0; form < FORM_COUNT; form++)
			if (expected[kind][form] != OPEN)
				assert_int_equal(failed[form], expected[kind][form] == FAILS);
	}
}

/* ---- threads ---- */

#define OBJECTS 24000

/* The same objects in every run: most are small, a few are of some T. Object i is made at
 * microsecond 1000 + i, by the threads in turn. */
static uint64_t size_of(unsigned i)
{
	double u = fmod((i + 1) * .6180339887498949, 1);
	double size = 24 * pow(1 - u, -.9);
	return (uint64_t)fmin(size, 3.0 * INTERVAL);
}

static uint64_t time_of(unsigned i)
{
	return (1000 + i) * UINT64_C(1000);
}

struct truth {
	uint64_t bytes, objects;
};

struct scene {
	unsigned threads;
	bool window; /* the middle half of the run */
	/* the threads' counters are known at every sample, as records of a trace tell */
	bool readings;
};

/* What a record tells of its thread: the counters so far, the object at hand included. */
static void read_counters(struct bp_profile *profile, struct bp_thread_id thread, uint64_t time_ns)
{
	struct bp_error error;
	const struct bp_thread *entry = &profile->threads.data[thread.i];
	struct bp_reading reading = { .thread = thread,
		.time_ns = time_ns,
		.bytes = entry->bytes_allocated.low,
		.objects = entry->objects_allocated.low };
	assert_true(bp_profile_add_reading(profile, &reading, &error));
}

static void make_profile(struct bp_profile *profile, const struct scene *scene,
	struct stream *stream, struct truth *truths)
{
	struct bp_thread_id threads[64];
	uint64_t bytes = 0;
	small_init(profile);
	profile->keep_readings = scene->readings;
	struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 1, INTERVAL);
	struct bp_stack_id stack = small_stack(profile, "work;main");
	memset(truths, 0, 64 * sizeof *truths);
	for (unsigned t = 0; t < scene->threads; t++) {
		char name[16];
		snprintf(name, sizeof name, "t%u", t);
		threads[t] = small_thread(profile, process, t + 1, name);
	}
	for (unsigned i = 0; i < OBJECTS; i++) {
		unsigned t = i % scene->threads;
		uint64_t size = size_of(i);
		bool inside = !scene->window || (i >= OBJECTS / 4 && i < 3 * OBJECTS / 4);
		truths[t].bytes += inside ? size : 0;
		truths[t].objects += inside;
		profile->threads.data[threads[t].i].bytes_allocated.low += size;
		profile->threads.data[threads[t].i].objects_allocated.low++;
		bytes += size;
		if (size + 1 < INTERVAL &&
			stream_uniform(stream) > bp_inclusion_probability(size + 1, INTERVAL))
			continue;
		struct bp_sample *sample = small_sample(profile, process, stack, size, 0, -1);
		sample->time_ns = SMALL_BASE_NS + time_of(i);
		sample->sequence = 2 * i + 2;
		sample->thread = threads[t];
		if (scene->readings)
			read_counters(profile, threads[t], sample->time_ns);
	}
	for (unsigned t = 0; t < scene->threads; t++) {
		struct bp_thread *thread = &profile->threads.data[threads[t].i];
		thread->bytes_allocated.high = thread->bytes_allocated.low;
		thread->objects_allocated.high = thread->objects_allocated.low;
	}
	small_totals(profile, process, bytes, bytes, OBJECTS, OBJECTS);
}

struct counts {
	unsigned figures, low, high, total_low, total_high;
	double sum_of_widths, width; /* of the rows together, of the total */
};

/* The intervals of the rows by thread; a thread without a sample has no row. */
static void find_rows(const struct bp_aggregation *aggregation, struct bp_interval *rows)
{
	for (unsigned t = 0; t < 64; t++)
		rows[t] = (struct bp_interval){ .high = -log(.025) / bp_lambda(INTERVAL) };
	for (uint32_t i = 0; i < aggregation->row_count; i++) {
		struct bp_row row;
		unsigned t;
		bp_aggregation_row(aggregation, i, &row);
		assert_int_equal(sscanf(row.name, "t%u", &t), 1);
		assert_true(t < 64);
		rows[t] = row.bytes.interval;
	}
}

static void count(struct counts *counts, const struct bp_aggregation *aggregation,
	const struct scene *scene, const struct truth *truths)
{
	struct bp_interval rows[64];
	double bytes = 0;
	find_rows(aggregation, rows);
	for (unsigned t = 0; t < scene->threads; t++) {
		double truth = (double)truths[t].bytes;
		bytes += truth;
		counts->figures++;
		counts->low += truth < rows[t].low - .5;
		counts->high += truth > rows[t].high + .5;
		counts->sum_of_widths += rows[t].high - rows[t].low;
	}
	const struct bp_interval *total = &aggregation->totals[BP_METRIC_ALLOCATED].bytes.interval;
	counts->total_low += bytes < total->low - .5;
	counts->total_high += bytes > total->high + .5;
	counts->width += total->high - total->low;
}

static struct counts run_scene(const struct scene *scene, unsigned repetitions)
{
	struct counts counts = { 0 };
	struct stream stream = { 500 + scene->threads };
	for (unsigned i = 0; i < repetitions; i++) {
		struct bp_profile profile;
		struct truth truths[64];
		struct bp_query query = { .metric = BP_METRIC_ALLOCATED, .by = BP_KEY_THREAD };
		if (scene->window) {
			query.has_from = query.has_to = true;
			query.from_ns = time_of(OBJECTS / 4);
			query.to_ns = time_of(3 * OBJECTS / 4);
		}
		make_profile(&profile, scene, &stream, truths);
		struct bp_aggregation aggregation = small_aggregate(&profile, &query);
		count(&counts, &aggregation, scene, truths);
		bp_aggregation_finish(&aggregation);
		bp_profile_finish(&profile);
	}
	return counts;
}

static void check_threads(const struct scene *scene, unsigned repetitions)
{
	struct counts counts = run_scene(scene, repetitions);
	double factor = counts.sum_of_widths / counts.width, n = counts.figures;
	double low = 100 * counts.low / n, high = 100 * counts.high / n;
	double total_low = 100.0 * counts.total_low / repetitions;
	double total_high = 100.0 * counts.total_high / repetitions;
	print_message("# %u threads%s: rows miss %.2f %% below, %.2f above; the total %.2f, %.2f; "
		      "intervals added up are %.2f times as wide; width of the total %.3g\n",
		scene->threads, scene->readings ? ", counters read" : "", low, high, total_low,
		total_high, factor, counts.width / repetitions);
	if (table != NULL)
		fprintf(table, "| %u | %s | %.2f / %.2f | %.2f / %.2f | %.2f | %.1f |\n",
			scene->threads, scene->readings ? "yes" : "no", low, high, total_low,
			total_high, counts.width / repetitions / (double)INTERVAL, factor);
	double most = binomial_limit(repetitions, tail, false_alarm);
	assert_true(counts.total_low <= most && counts.total_high <= most);
	most = binomial_limit(n, tail, false_alarm);
	assert_true(counts.low <= most && counts.high <= most);
	/* Independent errors would add up to a half, a quarter, an eighth of the sum. */
	assert_true(scene->readings || factor > .9 * sqrt(scene->threads));
}

static void threads_in_a_window(void **state)
{
	static const unsigned numbers[] = { 4, 16, 64 };
	(void)state;
	if (table != NULL)
		fprintf(table,
			"\n| threads | counters read | rows miss below / above | the total | its "
			"width, T | sum of the rows' intervals, times the total's |\n"
			"|-|-|-|-|-|-|\n");
	for (unsigned i = 0; i < BP_COUNT(numbers); i++)
		for (int readings = 0; readings < 2; readings++) {
			struct scene scene = { numbers[i], true, readings };
			check_threads(&scene, is_long ? 4000 : 300);
		}
}

static void threads_are_counted(void **state)
{
	struct scene scene = { 16, false, false };
	(void)state;
	struct counts counts = run_scene(&scene, 20);
	assert_int_equal(counts.figures, 16 * 20);
	assert_int_equal(counts.low + counts.high, 0);
	assert_true(counts.sum_of_widths == 0);
}

/* ---- parts of a counted number of objects ---- */

/* 3855 objects of 16 B, of which one is sampled on average, among 640 of 1 KiB. The number of all
 * is counted, so what is said of the tiny ones decides what is left for the others: the smallest
 * size that can occur is that of the whole process, whatever row or filter is looked at. (It is
 * told; the smallest size that happened to be sampled would not do.) */
static void make_two_sizes(struct bp_profile *profile, struct stream *stream)
{
	enum { TINY = 3855, SMALL = 640 };
	small_init(profile);
	struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 1, INTERVAL);
	struct bp_stack_id stack = small_stack(profile, "work;main");
	for (unsigned i = 0; i < TINY + SMALL; i++) {
		uint64_t size = i < TINY ? 16 : 1024;
		if (stream_uniform(stream) > bp_inclusion_probability(size + 1, INTERVAL))
			continue;
		struct bp_sample *sample = small_sample(profile, process, stack, size, 0, -1);
		sample->time_ns = SMALL_BASE_NS + time_of(i);
		sample->sequence = 2 * i + 2;
	}
	uint64_t bytes = TINY * 16 + SMALL * 1024;
	small_totals(profile, process, bytes, bytes, TINY + SMALL, TINY + SMALL);
}

static void objects_of_a_size_are_part_of_all(void **state)
{
	static const double truth = 640;
	unsigned repetitions = is_long ? 20000 : 2000;
	struct bp_filter filter = { .key = BP_KEY_SIZE, .size_low = 1024, .size_high = UINT64_MAX };
	(void)state;
	for (int filtered = 0; filtered < 2; filtered++) {
		struct stream stream = { 900 };
		unsigned low = 0, high = 0;
		for (unsigned i = 0; i < repetitions; i++) {
			struct bp_profile profile;
			struct bp_query query = { .metric = BP_METRIC_ALLOCATED,
				.by = BP_KEY_SIZE,
				.has_size_min = true,
				.size_min = 16,
				.filters = filtered ? &filter : NULL,
				.filter_count = (uint32_t)filtered };
			make_two_sizes(&profile, &stream);
			struct bp_aggregation aggregation = small_aggregate(&profile, &query);
			struct bp_interval objects =
				aggregation.totals[BP_METRIC_ALLOCATED].objects.interval;
			bool found = filtered;
			for (uint32_t row = 0; row < aggregation.row_count && !found; row++) {
				struct bp_row shown;
				bp_aggregation_row(&aggregation, row, &shown);
				found = strncmp(shown.name, "1024", 4) == 0;
				objects = shown.objects.interval;
			}
			low += found && truth < objects.low - 1e-6;
			high += found && truth > objects.high + 1e-6;
			bp_aggregation_finish(&aggregation);
			bp_profile_finish(&profile);
		}
		print_message("# objects of 1 KiB by %s: misses %.2f %% below, %.2f above\n",
			filtered ? "filter" : "size", 100.0 * low / repetitions,
			100.0 * high / repetitions);
		double most = binomial_limit(repetitions, tail, false_alarm);
		assert_true(low <= most && high <= most);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges),
		cmocka_unit_test(threads_in_a_window),
		cmocka_unit_test(threads_are_counted),
		cmocka_unit_test(objects_of_a_size_are_part_of_all),
	};
	const char *setting = getenv("BYTEPOLL_LONG_TESTS");
	is_long = setting != NULL && *setting != '\0' && strcmp(setting, "0") != 0;
	if (argc == 3 && strcmp(argv[1], "--table") == 0)
		table = fopen(argv[2], "w");
	int failed = cmocka_run_group_tests_name("windows, simulated", tests, NULL, NULL);
	if (table != NULL)
		fclose(table);
	return failed;
}
