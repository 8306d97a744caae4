/* SPDX-License-Identifier: MIT */
/*
 * T that changes while the program runs, for reasons that have to do with what was sampled, and
 * pauses; through the real aggregation. One process, two threads, 6000 objects of five functions
 * with sizes from 16 bytes to some times the largest T, so that some are taken exactly under one T
 * and by trial under the next. The objects are the same in every run; they are sampled anew.
 *
 * A rule sets the T wanted, a thread follows it where the recorder's threads do: after an object
 * that was sampled, or when it has made LOOK trials since it looked last. The rules:
 *
 *	doubling   twice T after every 24 samples: what an automatic interval does, at its worst, because
 *	           the change comes right after a sample, and so few of them
 *	both ways  twice T after 8 samples in a short time, half after a long time without
 *	hunted     coarse after each sample of function 0, fine after each of function 1
 *	late       fine, and the largest T for the last 300 objects: under it little was allocated, which is
 *	           what bounds the unseen
 *	by hand    other T and pauses, at random moments
 *	fine start T doubled three times, each time after as many samples as are expected before it: by the sum
 *	           of the trials that the threads have told when they looked (start/fine_start.h, which has
 *	           2048 samples for each step where this has some 500)
 *
 * Truths are of what was allocated while sampling was on. Counted are the misses of the totals
 * (live, peak, temporary, live at a moment, allocated in a window; of allocated, which is counted,
 * what all samples say) and of all rows, those without a sample included, in bytes and objects. Of
 * the n figures of a kind no more may miss on a side than a method that errs in exactly 2.75 %
 * exceeds with probability 1e-10; that is 94.5 % coverage. At 230 such counts a run's false-alarm
 * rate is below 3e-8. (Rows of one run share their T and their total, so they are not quite
 * independent; what that adds is far less than the quarter of a per cent left free.)
 *
 * The trap: all samples weighted by the T at the start, not by the one they were drawn with. It
 * must be found. Seeds are recorded. BYTEPOLL_LONG_TESTS=1 takes 20 times the repetitions, 60 times
 * for the fine start; --table FILE writes the table of the documentation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "chance.h"
#include "small_profile.h"

enum { OBJECTS = 6000, ROWS = 5, THREADS = 2, REPETITIONS = 350 };
#define LOOK UINT64_C(65536)
#define T_LEAST UINT64_C(2048)
#define T_MOST UINT64_C(262144)
#define SIZE_LEAST 16
#define NEVER UINT32_MAX
#define FINE_SAMPLES 500
#define FINE_STEPS 3

static const double false_alarm = 1e-10, tail = .0275;
static FILE *table;
static bool is_long;

static const char *const row_names[ROWS] = { "row0", "row1", "row2", "row3", "row4" };

struct object {
	uint64_t size;
	uint32_t row, death; /* death: before the birth of that object; NEVER */
	uint32_t next_dead;  /* the next one that dies at that moment */
	bool temporary;
};

static struct object objects[OBJECTS];
static uint32_t first_dead[OBJECTS + 1];

/* Rows of a half and a third of the small objects; some of middle sizes; few beyond the usual T;
 * and some that are now above T, now below. */
static void make_object(struct stream *stream, struct object *object, uint32_t number)
{
	static const double shares[ROWS] = { .55, .88, .97, .98, 1 };
	static const double smallest[ROWS] = { SIZE_LEAST, 24, 600, 90000, 3000 };
	static const double spread[ROWS] = { 40, 20, 20, 4, 60 };
	const double u = stream_uniform(stream), life = stream_uniform(stream);
	uint32_t row = 0;
	while (u > shares[row])
		row++;
	object->row = row;
	object->size = (uint64_t)(smallest[row] * pow(spread[row], pow(stream_uniform(stream), 2)));
	object->temporary = row == 1 && life < .4;
	const double length = object->temporary ? 1 : 1 - 400 * log(stream_uniform(stream));
	object->death = life > .9 || length > OBJECTS - number ? NEVER : number + (uint32_t)length;
	if (object->death == NEVER || object->death >= OBJECTS)
		object->death = NEVER;
}

static void make_objects(void)
{
	struct stream stream = { 4711 };
	for (uint32_t i = 0; i <= OBJECTS; i++)
		first_dead[i] = NEVER;
	for (uint32_t i = 0; i < OBJECTS; i++) {
		make_object(&stream, &objects[i], i);
		if (objects[i].death == NEVER)
			continue;
		objects[i].next_dead = first_dead[objects[i].death];
		first_dead[objects[i].death] = i;
	}
}

enum rule { DOUBLING, BOTH_WAYS, HUNTED, LATE, BY_HAND, FINE_START, RULES };
static const char *const rule_names[RULES] = { "doubling", "both ways", "hunted", "late", "by hand",
	"fine start" };

/* What is wanted, and what the rule remembers. */
struct control {
	enum rule rule;
	uint64_t wanted;
	uint32_t samples, since; /* since the last change */
	uint64_t trials;	 /* of the fine start: told by the threads */
};

static void begin_control(struct control *control, enum rule rule)
{
	*control =
		(struct control){ .rule = rule, .wanted = rule == HUNTED ? 8 * T_LEAST : T_LEAST };
}

static void want(struct control *control, uint64_t interval)
{
	control->wanted = interval < T_LEAST && interval != 0 ? T_LEAST
			  : interval > T_MOST		      ? T_MOST
							      : interval;
	control->samples = control->since = 0;
}

/* A thread tells what it has made since it last did. */
static void tell(struct control *control, uint64_t trials)
{
	unsigned steps = 0;
	control->trials += trials;
	while (steps < FINE_STEPS &&
		control->trials >= FINE_SAMPLES * T_LEAST * ((2u << steps) - 1))
		steps++;
	if (control->rule == FINE_START)
		want(control, T_LEAST << steps);
}

/* After an object. */
static void apply_rule(
	struct control *control, const struct object *object, bool sampled, struct stream *stream)
{
	static const uint64_t by_hand[] = { 0, 4096, 16384, 65536, 0, 131072 };
	control->samples += sampled;
	control->since++;
	switch (control->rule) {
	case DOUBLING:
		if (control->samples >= 24)
			want(control, 2 * control->wanted);
		break;
	case BOTH_WAYS:
		if (control->samples >= 8 && control->since < 200)
			want(control, 2 * control->wanted);
		else if (control->since >= 200)
			want(control, control->samples < 4 ? control->wanted / 2 : control->wanted);
		break;
	case HUNTED:
		if (sampled && object->row <= 1)
			want(control, object->row == 0 ? T_MOST / 2 : 2 * T_LEAST);
		break;
	case LATE:
		if (control->since >= OBJECTS - 300)
			want(control, T_MOST);
		break;
	case BY_HAND:
		if (stream_uniform(stream) < 1. / 700)
			want(control, by_hand[stream_next(stream) % BP_COUNT(by_hand)]);
		break;
	default:
		break; /* see tell */
	}
}

/* What is looked at: the metrics; what was live at a moment in the middle; and what was allocated
 * in a window, of which the threads' counters in records tell. */
enum figure { LIVE, PEAK, ALLOCATED, TEMPORARY, AT_MOMENT, IN_WINDOW, FIGURES };
static const char *const figure_names[FIGURES] = { "live", "peak", "allocated", "temporary",
	"live at a moment", "allocated in a window" };
enum { MOMENT = 3100, WINDOW_FROM = 1500, WINDOW_TO = 4500 };

/* A number for each figure and unit, of the total and of rows. */
enum { BYTES, NUMBER, UNITS };
struct truths {
	double total[FIGURES][UNITS], rows[FIGURES][ROWS][UNITS];
};

struct thread_state {
	uint64_t interval, trials; /* trials: since it looked last */
	uint64_t on_bytes, on_objects;
};

/* One run as it goes along. */
struct run {
	struct bp_profile profile;
	struct bp_process_id process;
	struct bp_thread_id threads[THREADS];
	struct bp_stack_id stacks[ROWS];
	struct stream *stream;
	struct control control;
	struct thread_state states[THREADS];
	struct truths truths;
	double live[UNITS];
	uint32_t samples[OBJECTS]; /* 0: not sampled */
	bool on[OBJECTS];
	uint64_t trials[20]; /* made under T_LEAST << i */
	uint64_t interval_min, interval_max;
	bool trap;
};

static uint64_t time_ns_of(uint32_t number)
{
	return SMALL_BASE_NS + (1000 + number) * UINT64_C(1000);
}

static void note_interval(struct run *run, uint64_t interval)
{
	if (interval == 0)
		return;
	run->interval_min = interval < run->interval_min ? interval : run->interval_min;
	run->interval_max = interval > run->interval_max ? interval : run->interval_max;
}

static void add_truth(struct run *run, enum figure figure, const struct object *object)
{
	const double amount[UNITS] = { (double)object->size, 1 };
	for (int unit = 0; unit < UNITS; unit++) {
		run->truths.total[figure][unit] += amount[unit];
		run->truths.rows[figure][object->row][unit] += amount[unit];
	}
}

static void end_objects(struct run *run, uint32_t number)
{
	for (uint32_t i = first_dead[number]; i != NEVER; i = objects[i].next_dead) {
		if (!run->on[i])
			continue;
		run->live[BYTES] -= (double)objects[i].size;
		run->live[NUMBER]--;
		if (run->samples[i] == 0)
			continue;
		struct bp_sample *sample = &run->profile.added.data[run->samples[i]];
		sample->free_time_ns = time_ns_of(number);
		sample->free_sequence = 2 * number + 1; /* before the birth of that object */
	}
}

static void count_object(struct run *run, uint32_t number)
{
	const struct object *object = &objects[number];
	add_truth(run, ALLOCATED, object);
	if (object->temporary)
		add_truth(run, TEMPORARY, object);
	if (object->death == NEVER)
		add_truth(run, LIVE, object);
	if (number <= MOMENT && object->death > MOMENT)
		add_truth(run, AT_MOMENT, object);
	if (number >= WINDOW_FROM && number < WINDOW_TO)
		add_truth(run, IN_WINDOW, object);
	run->live[BYTES] += (double)object->size;
	run->live[NUMBER]++;
	double *peak = run->truths.total[PEAK];
	if (run->live[BYTES] > peak[BYTES]) {
		peak[BYTES] = run->live[BYTES];
		peak[NUMBER] = run->live[NUMBER];
	}
}

static void add_sample(struct run *run, uint32_t number, uint64_t interval)
{
	const struct object *object = &objects[number];
	struct bp_sample *sample = small_sample(
		&run->profile, run->process, run->stacks[object->row], object->size, 0, -1);
	sample->time_ns = time_ns_of(number);
	sample->sequence = 2 * number + 2;
	sample->thread = run->threads[number % THREADS];
	sample->temporary = object->temporary;
	sample->interval = interval;
	sample->exact = object->size + 1 >= run->states[number % THREADS].interval;
	run->samples[number] = run->profile.added.count - 1;
}

static void add_reading(struct run *run, uint32_t number)
{
	const struct thread_state *thread = &run->states[number % THREADS];
	const struct bp_reading reading = { .thread = run->threads[number % THREADS],
		.time_ns = time_ns_of(number),
		.bytes = thread->on_bytes,
		.objects = thread->on_objects };
	assert_true(bp_profile_add_reading(&run->profile, &reading, NULL));
}

static void make_one(struct run *run, uint32_t number)
{
	const struct object *object = &objects[number];
	struct thread_state *thread = &run->states[number % THREADS];
	const uint64_t trials = object->size + 1, interval = thread->interval;
	bool sampled = false;
	end_objects(run, number);
	run->on[number] = interval != 0;
	if (interval != 0) {
		sampled = trials >= interval ||
			  stream_uniform(run->stream) < bp_inclusion_probability(trials, interval);
		count_object(run, number);
		thread->on_bytes += object->size;
		thread->on_objects++;
		run->trials[__builtin_ctzll(interval / T_LEAST)] += trials;
	}
	apply_rule(&run->control, object, sampled, run->stream);
	if (sampled)
		add_sample(run, number, run->trap ? T_LEAST : interval);
	/* Samples, and the records of changes, tell the thread's counters. */
	if (sampled || (interval == 0 && thread->trials + trials >= LOOK))
		add_reading(run, number);
	thread->trials += trials;
	if (!sampled && thread->trials < LOOK)
		return;
	tell(&run->control, thread->trials);
	thread->trials = 0;
	thread->interval = run->control.wanted;
	note_interval(run, thread->interval);
}

static void begin_run(struct run *run, enum rule rule, bool trap, struct stream *stream)
{
	memset(run, 0, sizeof *run);
	run->stream = stream;
	run->trap = trap;
	run->interval_min = UINT64_MAX;
	begin_control(&run->control, rule);
	small_init(&run->profile);
	run->profile.keep_readings = true;
	run->process = small_process(&run->profile, 1, 1, 0, 0, 1, run->control.wanted);
	for (int t = 0; t < THREADS; t++) {
		run->threads[t] = small_thread(
			&run->profile, run->process, (uint32_t)t + 1, t == 0 ? "a" : "b");
		run->states[t].interval = run->control.wanted;
		note_interval(run, run->control.wanted);
	}
	for (int i = 0; i < ROWS; i++) {
		char stack[16];
		snprintf(stack, sizeof stack, "%s;main", row_names[i]);
		run->stacks[i] = small_stack(&run->profile, stack);
	}
}

static void make_run(struct run *run, enum rule rule, bool trap, struct stream *stream)
{
	begin_run(run, rule, trap, stream);
	for (uint32_t i = 0; i < OBJECTS; i++)
		make_one(run, i);
	struct bp_process *process = &run->profile.processes.data[run->process.i];
	process->interval_min = run->interval_min;
	process->interval_max = run->interval_max;
	process->trials_by_interval = true;
	for (unsigned i = 0; i < BP_COUNT(run->trials); i++) {
		const struct bp_interval_used used = { run->process, T_LEAST << i, run->trials[i] };
		if (used.interval >= run->interval_min && used.interval <= run->interval_max)
			assert_true(bp_profile_add_interval(&run->profile, &used, NULL));
	}
	uint64_t bytes = 0, number = 0;
	for (int t = 0; t < THREADS; t++) {
		struct bp_thread *thread = &run->profile.threads.data[run->threads[t].i];
		const uint64_t on[UNITS] = { run->states[t].on_bytes, run->states[t].on_objects };
		thread->bytes_allocated = (struct bp_known_total){ on[BYTES], on[BYTES] };
		thread->objects_allocated = (struct bp_known_total){ on[NUMBER], on[NUMBER] };
		bytes += on[BYTES];
		number += on[NUMBER];
	}
	small_totals(&run->profile, run->process, bytes, bytes, number, number);
	assert_true((double)bytes == run->truths.total[ALLOCATED][BYTES]);
}

struct sides {
	unsigned figures, low, high;
};

struct counts {
	struct sides total[FIGURES][UNITS], rows[FIGURES][UNITS];
	double ratio, squares; /* of the estimate of all bytes, over the truth */
};

static void judge_interval(struct sides *sides, double truth, const struct bp_interval *interval)
{
	sides->figures++;
	sides->low += truth < interval->low * (1 - 1e-12) - .5;
	sides->high += truth > interval->high * (1 + 1e-12) + .5;
}

/* What is claimed of a row that has no sample. */
static struct bp_row row_of(const struct bp_aggregation *aggregation, const char *name)
{
	const struct bp_assumptions assumed = bp_aggregation_assumptions(aggregation);
	const struct bp_sums none = { 0 };
	struct bp_row row = { .samples = 0 };
	if (small_has_row(aggregation, name))
		return small_row(aggregation, name);
	row.bytes.interval = bp_estimate_bytes(&none, assumed.interval_unseen, .05);
	row.objects.interval = bp_estimate_objects(
		&none, assumed.interval_unseen, .05, assumed.size_min, assumed.charge);
	return row;
}

static void judge_total(struct counts *counts, const struct run *run, enum figure figure,
	const struct bp_total *total)
{
	const double *truth = run->truths.total[figure];
	judge_interval(&counts->total[figure][BYTES], truth[BYTES], &total->bytes.interval);
	/* Objects at the peak belong to a moment, and the samples may have chosen another. */
	if (figure != PEAK)
		judge_interval(
			&counts->total[figure][NUMBER], truth[NUMBER], &total->objects.interval);
}

/* What was allocated is counted; here it is held against what its samples alone say. */
static void judge_samples(
	struct counts *counts, const struct run *run, const struct bp_aggregation *aggregation)
{
	const struct bp_sums *sums = bp_aggregation_total_sums(aggregation, BP_METRIC_ALLOCATED);
	const struct bp_assumptions assumed = bp_aggregation_assumptions(aggregation);
	struct bp_total total = aggregation->totals[BP_METRIC_ALLOCATED];
	const double truth = run->truths.total[ALLOCATED][BYTES];
	assert_true(total.bytes.interval.exact && total.bytes.interval.low == truth);
	total.bytes.interval = bp_estimate_bytes(sums, assumed.interval_unseen, .05);
	total.objects.interval =
		bp_estimate_objects(sums, assumed.interval_unseen, .05, SIZE_LEAST, 1);
	judge_total(counts, run, ALLOCATED, &total);
	const double ratio = total.bytes.interval.estimate / truth;
	counts->ratio += ratio;
	counts->squares += ratio * ratio;
}

static struct bp_query query_of(enum figure figure)
{
	struct bp_query query = {
		.by = BP_KEY_FUNCTION, .has_size_min = true, .size_min = SIZE_LEAST
	};
	query.metric = figure == AT_MOMENT   ? BP_METRIC_LIVE
		       : figure == IN_WINDOW ? BP_METRIC_ALLOCATED
					     : (enum bp_metric)figure;
	query.has_at = figure == AT_MOMENT;
	query.at_ns = time_ns_of(MOMENT) - SMALL_BASE_NS;
	query.has_from = query.has_to = figure == IN_WINDOW;
	query.from_ns = time_ns_of(WINDOW_FROM) - SMALL_BASE_NS;
	query.to_ns = time_ns_of(WINDOW_TO) - SMALL_BASE_NS;
	return query;
}

/* Rows and total of one figure. */
static void look_at(struct counts *counts, struct run *run, enum figure figure)
{
	const struct bp_query query = query_of(figure);
	struct bp_aggregation aggregation = small_aggregate(&run->profile, &query);
	for (int i = 0; i < ROWS; i++) {
		const struct bp_row row = row_of(&aggregation, row_names[i]);
		const double *truth = run->truths.rows[figure][i];
		judge_interval(&counts->rows[figure][BYTES], truth[BYTES], &row.bytes.interval);
		judge_interval(&counts->rows[figure][NUMBER], truth[NUMBER], &row.objects.interval);
	}
	if (figure == ALLOCATED) {
		judge_samples(counts, run, &aggregation);
		judge_total(counts, run, PEAK, &aggregation.totals[BP_METRIC_PEAK]);
	} else {
		judge_total(counts, run, figure, &aggregation.totals[query.metric]);
	}
	bp_aggregation_finish(&aggregation);
}

static struct counts simulate(enum rule rule, bool trap, unsigned repetitions)
{
	static struct run run; /* large */
	struct counts counts = { 0 };
	struct stream stream = { 1000 + 10 * (uint64_t)rule };
	for (unsigned i = 0; i < repetitions; i++) {
		make_run(&run, rule, trap, &stream);
		for (int figure = 0; figure < FIGURES; figure++)
			if (figure != PEAK)
				look_at(&counts, &run, (enum figure)figure);
		bp_profile_finish(&run.profile);
	}
	return counts;
}

static bool holds(const struct sides *sides)
{
	const double most =
		sides->figures == 0 ? 0 : binomial_limit(sides->figures, tail, false_alarm);
	return sides->low <= most && sides->high <= most;
}

static void report(const char *what, const struct sides *sides)
{
	static const char *const units[UNITS] = { "bytes", "objects" };
	if (table != NULL)
		fprintf(table, "| %s ", what);
	for (int unit = 0; unit < UNITS; unit++) {
		if (sides[unit].figures == 0) {
			if (table != NULL)
				fprintf(table, "| ");
			continue;
		}
		const double low = 100.0 * sides[unit].low / sides[unit].figures;
		const double high = 100.0 * sides[unit].high / sides[unit].figures;
		print_message("#   %s, %s: %u figures, misses %.2f %% below, %.2f above\n", what,
			units[unit], sides[unit].figures, low, high);
		if (table != NULL)
			fprintf(table, "| %.2f / %.2f ", low, high);
	}
	if (table != NULL)
		fprintf(table, "|\n");
}

static void intervals_hold(void **state)
{
	(void)state;
	if (table != NULL)
		fprintf(table, "| figure | bytes miss below / above | objects |\n|-|-|-|\n");
	for (int rule = 0; rule < RULES; rule++) {
		const unsigned repetitions =
			(is_long ? 20 : 1) * (rule == FINE_START ? 3 : 1) * REPETITIONS;
		const struct counts counts = simulate((enum rule)rule, false, repetitions);
		const double n = repetitions, mean = counts.ratio / n;
		const double error = sqrt((counts.squares / n - mean * mean) / n);
		print_message("# %s, %u runs: estimate of all bytes %+.2f +- %.2f %%\n",
			rule_names[rule], repetitions, 100 * (mean - 1), 100 * error);
		for (int figure = 0; figure < FIGURES; figure++) {
			char text[96];
			snprintf(text, sizeof text, "%s: %s", rule_names[rule],
				figure_names[figure]);
			report(text, counts.total[figure]);
			if (counts.rows[figure][BYTES].figures == 0)
				continue;
			snprintf(text, sizeof text, "%s: %s, by function", rule_names[rule],
				figure_names[figure]);
			report(text, counts.rows[figure]);
		}
		assert_true(fabs(mean - 1) < 6.5 * error);
		for (int figure = 0; figure < FIGURES; figure++)
			for (int unit = 0; unit < UNITS; unit++) {
				assert_true(holds(&counts.total[figure][unit]));
				assert_true(holds(&counts.rows[figure][unit]));
			}
	}
}

static void the_trap_is_found(void **state)
{
	(void)state;
	const struct counts counts = simulate(DOUBLING, true, 200);
	const double n = 200, mean = counts.ratio / n;
	const double error = sqrt((counts.squares / n - mean * mean) / n);
	print_message(
		"# trap: estimate of all bytes %+.2f +- %.2f %%\n", 100 * (mean - 1), 100 * error);
	report("trap: allocated", counts.total[ALLOCATED]);
	assert_true(fabs(mean - 1) > 6.5 * error);
	assert_false(holds(&counts.total[ALLOCATED][BYTES]));
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(intervals_hold),
		cmocka_unit_test(the_trap_is_found) };
	const char *setting = getenv("BYTEPOLL_LONG_TESTS");
	is_long = setting != NULL && *setting != '\0' && strcmp(setting, "0") != 0;
	if (argc == 3 && strcmp(argv[1], "--table") == 0)
		table = fopen(argv[2], "w");
	make_objects();
	int failed = cmocka_run_group_tests_name("changes, simulated", tests, NULL, NULL);
	if (table != NULL)
		fclose(table);
	return failed;
}
