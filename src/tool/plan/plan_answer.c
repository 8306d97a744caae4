/* SPDX-License-Identifier: MIT */
/*
 * A question about accuracy becomes sections of facts, each present if the question has what it
 * needs: the accuracy wanted; the figure at a given T; objects of one size; a change to be found; a
 * limit to be decided on. Together they have one largest T, with which the command to run next is
 * made.
 */
#include "plan/plan_answer.h"

#include <math.h>
#include <string.h>

#include "estimate/plan.h"

#define GIB 0x1p30

static struct bp_plan_fact *add(struct bp_plan_answer *answer, enum bp_plan_unit unit,
	const char *name, const char *label, double value)
{
	struct bp_plan_fact *fact = &answer->facts[answer->fact_count];
	if (answer->fact_count < BP_PLAN_FACTS_MAX - 1)
		answer->fact_count++;
	*fact = (struct bp_plan_fact){ .unit = unit, .value = value };
	snprintf(fact->name, sizeof fact->name, "%s", name);
	snprintf(fact->label, sizeof fact->label, "%s", label);
	return fact;
}

static void note(struct bp_plan_answer *answer, const char *text)
{
	for (unsigned i = 0; i < answer->note_count; i++)
		if (answer->notes[i] == text)
			return;
	if (answer->note_count < BP_PLAN_NOTES_MAX)
		answer->notes[answer->note_count++] = text;
}

BP_PRINTF(3, 4)
static void section(struct bp_plan_answer *answer, const char *name, const char *format, ...)
{
	struct bp_plan_fact *fact = add(answer, BP_PLAN_UNIT_SECTION, name, "", 0);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(fact->text, sizeof fact->text, format, arguments);
	va_end(arguments);
}

static void use_interval(struct bp_plan_answer *answer, uint64_t interval)
{
	interval = interval < 1			     ? 1
		   : interval > BP_PLAN_INTERVAL_MAX ? BP_PLAN_INTERVAL_MAX
						     : interval;
	if (interval < answer->interval)
		answer->interval = interval;
	add(answer, BP_PLAN_UNIT_INTERVAL, "interval", "largest interval T", (double)interval);
}

/* The interval that was asked about, where none had to be found. */
static void take_interval(struct bp_plan_answer *answer, uint64_t interval)
{
	if (answer->interval == UINT64_MAX)
		answer->interval = interval;
}

static const char note_small[] =
	"its objects are small against T, the worst case: with larger ones (--size) fewer samples "
	"do, and objects of T bytes or more are recorded each, exactly";
static const char note_same_size[] = "all its objects have the size given";
static const char note_expected[] =
	"as many samples come as are expected: chance gives some more or fewer";
static const char note_counted[] =
	"the total is counted exactly, as that of metric allocated is, and calibrates its parts";
static const char note_change[] =
	"one figure is looked at, one run on each side at the same T, and nothing but sampling "
	"differs: among many figures diff asks for more, and where the program itself varies "
	"from run to run, several runs a side are needed";
static const char note_check[] =
	"one run is judged by the bounds of its interval; at most the false-alarm rate of runs "
	"within the limit is called exceeded, and the other way round";

static const char note_reached[] =
	"samples come by chance: so many are planned that the part of runs named above is as "
	"accurate as asked for, 80 % unless --power says otherwise";

static struct bp_plan_key key_of(const struct bp_plan_question *question)
{
	return (struct bp_plan_key){ .size = question->size,
		.share = question->counted ? question->share : 0 };
}

static struct bp_plan_aim aim_of(const struct bp_plan_question *question)
{
	return (struct bp_plan_aim){ question->accuracy, question->power,
		1 - question->confidence };
}

static double bytes_of(const struct bp_plan_question *question)
{
	return (double)question->heap * (question->share > 0 ? question->share : 1);
}

static void figure_text(const struct bp_plan_answer *answer, char *buffer, size_t bytes)
{
	const struct bp_plan_question *question = answer->question;
	char part[BP_QUANTITY_BYTES], whole[BP_QUANTITY_BYTES], percent[BP_QUANTITY_BYTES];
	bp_bytes_text((uint64_t)bytes_of(question), answer->style, part);
	bp_bytes_text(question->heap, answer->style, whole);
	bp_plan_percent_text(question->share, percent);
	if (question->share > 0)
		snprintf(buffer, bytes, "%.32s (%.16s %% of %.32s)", part, percent, whole);
	else
		snprintf(buffer, bytes, "%.32s", part);
}

static void add_cost(struct bp_plan_answer *answer, uint64_t interval)
{
	double samples = GIB / (double)interval;
	struct bp_plan_fact *fact =
		add(answer, BP_PLAN_UNIT_COST, "per_gib", "cost of each GiB allocated", samples);
	fact->bytes = samples * BP_PLAN_TRACE_BYTES_PER_SAMPLE;
	fact->seconds = samples * BP_PLAN_SECONDS_PER_SAMPLE;
	answer->cost = true;
}

static void add_limits(struct bp_plan_answer *answer, const char *name, const char *label,
	double samples, uint64_t interval)
{
	const struct bp_plan_question *question = answer->question;
	double alpha = 1 - question->confidence;
	answer->two_sided = true;
	if (samples < 0.5) {
		add(answer, BP_PLAN_UNIT_BYTES, "upper_limit", "upper limit without a sample",
			bp_plan_unseen(alpha) * (double)interval);
		return;
	}
	struct bp_plan_factors factors =
		bp_plan_factors(key_of(question), samples, interval, alpha);
	struct bp_plan_fact *fact = add(answer, BP_PLAN_UNIT_LIMITS, name, label, factors.low - 1);
	fact->high = factors.high - 1;
}

static void note_sizes(struct bp_plan_answer *answer)
{
	note(answer, answer->question->size > 0 ? note_same_size : note_small);
	if (answer->question->counted)
		note(answer, note_counted);
}

/* So accurate a figure of so many bytes: which T? */
static void answer_accuracy(struct bp_plan_answer *answer)
{
	const struct bp_plan_question *question = answer->question;
	const double bytes = bytes_of(question);
	char figure[128], percent[BP_QUANTITY_BYTES], power[BP_QUANTITY_BYTES];
	figure_text(answer, figure, sizeof figure);
	bp_plan_percent_text(question->accuracy, percent);
	bp_plan_percent_text(question->power, power);
	section(answer, "accuracy", "%s within %s%s %% in %s %% of runs", figure,
		answer->style.utf8 ? "±" : "+-", percent, power);
	uint64_t interval = bp_plan_interval(bytes, key_of(question), aim_of(question));
	if (interval > BP_PLAN_INTERVAL_MAX)
		interval = BP_PLAN_INTERVAL_MAX;
	add(answer, BP_PLAN_UNIT_COUNT, "samples", "samples it takes",
		bp_plan_expected_samples(bytes, question->size, interval));
	use_interval(answer, interval);
	answer->two_sided = true;
	if (question->share > 0)
		add(answer, BP_PLAN_UNIT_COUNT, "samples_heap", "samples of the whole",
			bp_plan_expected_samples((double)question->heap, question->size, interval));
	if (question->interval == 0)
		add_limits(answer, "at_default", "interval at the default T, 512 KiB",
			bp_plan_expected_samples(bytes, question->size, BP_PLAN_INTERVAL_DEFAULT),
			BP_PLAN_INTERVAL_DEFAULT);
	add_cost(answer, interval);
	note_sizes(answer);
	note(answer, note_reached);
}

/* The same where the bytes are not known: how many must there be? */
static void answer_samples(struct bp_plan_answer *answer)
{
	const struct bp_plan_question *question = answer->question;
	uint64_t interval = question->interval > 0 ? question->interval : BP_PLAN_INTERVAL_DEFAULT;
	double relative = (double)question->size / (double)interval;
	char percent[BP_QUANTITY_BYTES], power[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES],
		label[64];
	bp_plan_percent_text(question->accuracy, percent);
	bp_plan_percent_text(question->power, power);
	section(answer, "accuracy", "a figure within %s%s %% in %s %% of runs",
		answer->style.utf8 ? "±" : "+-", percent, power);
	note_sizes(answer);
	if (relative >= 1 || interval == 1) {
		add(answer, BP_PLAN_UNIT_COUNT, "samples", "samples it takes", 1);
		return;
	}
	double samples = (double)bp_plan_samples(
		relative, question->counted ? question->share : 0, aim_of(question));
	double each = question->size > 0
			      ? (double)question->size / bp_plan_chance(question->size, interval)
			      : (double)interval;
	add(answer, BP_PLAN_UNIT_COUNT, "samples", "samples it takes", samples);
	bp_bytes_text(interval, answer->style, text);
	snprintf(label, sizeof label, "bytes it must have at T = %.32s", text);
	add(answer, BP_PLAN_UNIT_BYTES, "bytes", label, samples * each);
	note(answer, note_reached);
	take_interval(answer, interval);
}

/* What a given T makes of a figure. */
static void answer_figure(struct bp_plan_answer *answer)
{
	const struct bp_plan_question *question = answer->question;
	uint64_t interval = question->interval;
	double bytes = bytes_of(question), alpha = 1 - question->confidence;
	double samples = bp_plan_expected_samples(bytes, question->size, interval);
	char figure[128], text[BP_QUANTITY_BYTES];
	figure_text(answer, figure, sizeof figure);
	bp_bytes_text(interval, answer->style, text);
	section(answer, "figure", "%s at T = %s", figure, text);
	add(answer, BP_PLAN_UNIT_COUNT, "expected_samples", "samples expected", samples);
	add(answer, BP_PLAN_UNIT_PERCENT, "chance", "chance of at least one",
		question->size >= interval ? 1 : bp_plan_chance((uint64_t)bytes, interval));
	add_limits(answer, "interval_relative", "interval around the estimate", samples, interval);
	if (samples >= 0.5 && interval > 1 && question->size < interval) {
		add(answer, BP_PLAN_UNIT_PERCENT, "smallest_growth",
			"smallest growth that diff will find",
			bp_plan_smallest_change(samples, question->power, alpha) - 1);
		note(answer, note_change);
	}
	add_cost(answer, interval);
	note_sizes(answer);
	note(answer, note_expected);
	take_interval(answer, interval);
}

/* One object, and many of the same size. */
static void answer_objects(struct bp_plan_answer *answer)
{
	const struct bp_plan_question *question = answer->question;
	uint64_t size = question->size;
	uint64_t interval = question->interval > 0 ? question->interval : BP_PLAN_INTERVAL_DEFAULT;
	char object[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES];
	bp_bytes_text(size, answer->style, object);
	bp_bytes_text(interval, answer->style, text);
	section(answer, "objects", "objects of %s at T = %s", object, text);
	if (size >= interval) {
		add(answer, BP_PLAN_UNIT_PERCENT, "chance", "chance that one is sampled", 1);
		add(answer, BP_PLAN_UNIT_PERCENT, "error", "error of its estimate if sampled", 0);
		note(answer, "the law is exact, as it is by default: an object of T bytes or more "
			     "is always recorded and counts as itself");
		return;
	}
	double chance = bp_plan_chance(size, interval);
	add(answer, BP_PLAN_UNIT_PERCENT, "chance", "chance that one is sampled", chance);
	add(answer, BP_PLAN_UNIT_COUNT, "objects_per_sample", "objects that a sample stands for",
		1 / chance);
	add(answer, BP_PLAN_UNIT_PERCENT, "error", "error of its estimate if sampled",
		bp_plan_error_if_sampled(size, interval));
	add(answer, BP_PLAN_UNIT_COUNT, "objects_seen", "one of so many is sampled, surely enough",
		ceil(log(1 - question->confidence) / log1p(-chance)));
	if (question->heap > 0)
		add(answer, BP_PLAN_UNIT_COUNT, "objects", "objects there are",
			bytes_of(question) / (double)size);
	note(answer, "one object is asked about: the error is the mean absolute one of its "
		     "estimate, and figures of many objects are better (--heap, --accuracy)");
	take_interval(answer, interval);
}

/* A change that shall be found. */
static void answer_change(struct bp_plan_answer *answer)
{
	const struct bp_plan_question *question = answer->question;
	double level = 1 - question->confidence;
	answer->two_sided = true;
	double samples =
		(double)bp_plan_samples_for_change(question->change, question->power, level);
	char percent[BP_QUANTITY_BYTES], figure[128] = "", power[BP_QUANTITY_BYTES];
	bp_plan_percent_text(fabs(question->change - 1), percent);
	bp_plan_percent_text(question->power, power);
	if (question->heap > 0)
		figure_text(answer, figure, sizeof figure);
	section(answer, "change", "a change of %s%s %%%s%s found in %s %% of the cases",
		question->change > 1 ? "+" : "-", percent, question->heap > 0 ? " from " : "",
		figure, power);
	add(answer, BP_PLAN_UNIT_COUNT, "samples_before", "samples it takes in the base", samples);
	if (question->heap > 0) {
		double interval = floor(bytes_of(question) / samples);
		use_interval(answer, interval < 1 ? 1 : (uint64_t)interval);
		add_cost(answer, interval < 1 ? 1 : (uint64_t)interval);
	} else {
		uint64_t interval =
			question->interval > 0 ? question->interval : BP_PLAN_INTERVAL_DEFAULT;
		char text[BP_QUANTITY_BYTES], label[64];
		bp_bytes_text(interval, answer->style, text);
		snprintf(label, sizeof label, "bytes it must have at T = %.32s", text);
		add(answer, BP_PLAN_UNIT_BYTES, "bytes", label, samples * (double)interval);
		take_interval(answer, interval);
	}
	note(answer, note_small);
	note(answer, note_change);
}

static void add_margin(struct bp_plan_answer *answer, enum bp_plan_outcome outcome, double factor)
{
	const struct bp_plan_question *question = answer->question;
	double samples =
		bp_plan_check_samples(outcome, factor, question->power, question->false_alarm);
	double bytes =
		(double)question->limit * (outcome == BP_PLAN_EXCEEDED ? factor : 1 / factor);
	char text[BP_QUANTITY_BYTES], label[96], name[48];
	const char *word = outcome == BP_PLAN_EXCEEDED ? "exceeded" : "within";
	bp_bytes_text((uint64_t)bytes, answer->style, text);
	snprintf(label, sizeof label, "'%s' at %.24s: largest T", word, text);
	snprintf(name, sizeof name, "interval_%s_%.4g", word, factor);
	double interval = fmax(1, floor((double)question->limit / samples));
	add(answer, BP_PLAN_UNIT_INTERVAL, name, label, interval);
}

/* What a given T makes of it. */
static void add_decision(struct bp_plan_answer *answer, enum bp_plan_outcome outcome, double factor)
{
	const struct bp_plan_question *question = answer->question;
	double limit = (double)question->limit;
	char text[BP_QUANTITY_BYTES], label[96], name[48];
	const char *word = outcome == BP_PLAN_EXCEEDED ? "exceeded" : "within";
	bp_bytes_text((uint64_t)(outcome == BP_PLAN_EXCEEDED ? limit * factor : limit / factor),
		answer->style, text);
	snprintf(label, sizeof label, "'%s' at %.24s: chance", word, text);
	snprintf(name, sizeof name, "chance_%s_%.4g", word, factor);
	add(answer, BP_PLAN_UNIT_PERCENT, name, label,
		bp_plan_check_power(outcome, limit / (double)question->interval, factor,
			question->false_alarm));
}

static void note_limit(struct bp_plan_answer *answer, const char *text)
{
	note(answer, note_check);
	note(answer, note_small);
	if (text != NULL && strncmp(text, "peak", 4) == 0)
		note(answer,
			"a peak takes somewhat more to be exceeded: its lower limit allows for "
			"the choice of the moment");
	if (text != NULL && strncmp(text, "allocated=", 10) == 0)
		note(answer, "the limit is on a part: all that was allocated is counted, and any T "
			     "decides on that");
}

/* A limit to be decided on: for several margins, or for the one that was given. */
static void answer_limit(struct bp_plan_answer *answer)
{
	static const double margins[] = { 1.1, 1.2, 1.5, 2, 3 }, margin_taken = 1.2;
	const struct bp_plan_question *question = answer->question;
	double limit = (double)question->limit;
	char text[BP_QUANTITY_BYTES], alarm[BP_QUANTITY_BYTES], power[BP_QUANTITY_BYTES];
	bp_bytes_text(question->limit, answer->style, text);
	bp_plan_percent_text(question->false_alarm, alarm);
	bp_plan_percent_text(question->power, power);
	bool given = question->change > 0, at_interval = question->interval > 0;
	if (at_interval)
		section(answer, "limit", "a limit of %s, false alarms at most %s %%", text, alarm);
	else
		section(answer, "limit",
			"a limit of %s, false alarms at most %s %%, decided in %s %% of the cases",
			text, alarm, power);
	for (int which = BP_PLAN_EXCEEDED; which <= BP_PLAN_WITHIN; which++)
		for (size_t i = 0; i < (given ? 1 : BP_COUNT(margins)); i++)
			(at_interval ? add_decision : add_margin)(answer,
				(enum bp_plan_outcome)which, given ? question->change : margins[i]);
	add(answer, BP_PLAN_UNIT_INTERVAL, "interval_decidable", "no 'within' at any T above",
		floor(limit / -log(question->false_alarm)));
	note_limit(answer, question->limit_text);
	if (at_interval) {
		take_interval(answer, question->interval);
		return;
	}
	double margin = given ? question->change : margin_taken;
	double samples = fmax(bp_plan_check_samples(BP_PLAN_EXCEEDED, margin, question->power,
				      question->false_alarm),
		bp_plan_check_samples(
			BP_PLAN_WITHIN, margin, question->power, question->false_alarm));
	add(answer, BP_PLAN_UNIT_RATIO, "margin", "taken: both outcomes at a margin of", margin);
	use_interval(answer, (uint64_t)fmax(1, floor(limit / samples)));
}

struct bp_plan_answer bp_plan_answer_of(
	const struct bp_plan_question *question, struct bp_quantity_style style)
{
	struct bp_plan_answer answer = {
		.question = question, .style = style, .interval = UINT64_MAX
	};
	if (question->accuracy > 0 && question->heap > 0)
		answer_accuracy(&answer);
	else if (question->accuracy > 0)
		answer_samples(&answer);
	if (question->heap > 0 && question->interval > 0)
		answer_figure(&answer);
	if (question->size > 0 && (question->heap == 0 || question->interval > 0))
		answer_objects(&answer);
	if (question->limit > 0)
		answer_limit(&answer);
	else if (question->change > 0)
		answer_change(&answer);
	return answer;
}
