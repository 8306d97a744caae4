/* SPDX-License-Identifier: MIT */
/*
 * Answers of `bytepoll plan` as text, which says what it assumes and what to run next, and as JSON;
 * and the short table that stands for no question at all.
 */
#include "plan/plan_answer.h"

#include <math.h>
#include <string.h>

#include "estimate/plan.h"
#include "report/parts/header.h"
#include "text/json_writer.h"

#define LABEL_COLUMNS 44

void bp_plan_percent_text(double part, char *buffer)
{
	double percent = 100 * part;
	if (percent >= 1e7)
		snprintf(buffer, BP_QUANTITY_BYTES, "%.2e", percent);
	else if (percent > 99.95 && percent < 100)
		bp_percent_text(part, buffer);
	else if (percent > 99.95 || percent == floor(percent))
		snprintf(buffer, BP_QUANTITY_BYTES, "%.0f", percent);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "%.3g", percent);
}

/* Numbers of samples: whole ones with separators, few with a decimal. */
static void count_text(double count, char *buffer)
{
	if (count < 10 && count != floor(count))
		snprintf(buffer, BP_QUANTITY_BYTES, "%.2g", count);
	else if (count < 0x1p62)
		bp_count_text((uint64_t)llround(count), buffer);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "%.3g", count);
}

static void bytes_text(double bytes, struct bp_quantity_style style, char *buffer)
{
	if (bytes < 0x1p62)
		bp_bytes_text((uint64_t)llround(bytes), style, buffer);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "%.3g B", bytes);
}

/* "4,229 samples, 165.2 KiB, 6.34 ms" */
static void cost_text(const struct bp_plan_fact *fact, struct bp_quantity_style style, char *buffer)
{
	char samples[BP_QUANTITY_BYTES], bytes[BP_QUANTITY_BYTES], time[BP_QUANTITY_BYTES];
	count_text(fact->value, samples);
	bytes_text(fact->bytes, style, bytes);
	bp_time_text((uint64_t)fmin(fact->seconds * 1e9, 0x1p62), time);
	snprintf(buffer, BP_QUANTITY_BYTES, "%.28s samples, %.24s, %.24s", samples, bytes, time);
}

static void fact_text(const struct bp_plan_fact *fact, struct bp_quantity_style style, char *buffer)
{
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	switch (fact->unit) {
	case BP_PLAN_UNIT_COUNT:
		count_text(fact->value, buffer);
		break;
	case BP_PLAN_UNIT_BYTES:
		bytes_text(fact->value, style, buffer);
		break;
	case BP_PLAN_UNIT_INTERVAL:
		if (fact->value <= 1)
			snprintf(buffer, BP_QUANTITY_BYTES, "1 (every object)");
		else
			bytes_text(fact->value, style, buffer);
		break;
	case BP_PLAN_UNIT_COST:
		cost_text(fact, style, buffer);
		break;
	case BP_PLAN_UNIT_PERCENT:
		bp_plan_percent_text(fact->value, low);
		snprintf(buffer, BP_QUANTITY_BYTES, "%.40s %%", low);
		break;
	case BP_PLAN_UNIT_RATIO:
		snprintf(buffer, BP_QUANTITY_BYTES, "x %.4g", fact->value);
		break;
	case BP_PLAN_UNIT_LIMITS:
		bp_plan_percent_text(fabs(fact->value), low);
		bp_plan_percent_text(fact->high, high);
		if (fact->value == 0 && fact->high == 0)
			snprintf(buffer, BP_QUANTITY_BYTES, "exact");
		else
			snprintf(buffer, BP_QUANTITY_BYTES, "%s%.30s to +%.30s %%",
				fact->value == 0 ? "" : "-", low, high);
		break;
	case BP_PLAN_UNIT_SECTION:
		*buffer = '\0';
	}
}

/* The commands to go on with. A limit is repeated as it was given, if a shell can take it so. */
static void write_next(const struct bp_plan_answer *answer, FILE *out)
{
	const struct bp_plan_question *question = answer->question;
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.:=-";
	const char *limit = question->limit_text;
	char interval[BP_QUANTITY_BYTES];
	if (answer->interval == UINT64_MAX)
		return;
	/* (One that was asked about stays as it is.) */
	bp_interval_text(answer->interval == question->interval
				 ? answer->interval
				 : bp_plan_round_interval(answer->interval),
		interval);
	fprintf(out, "\nnext: bytepoll run --interval %s -o app.bpt -- PROGRAM ARGS\n", interval);
	if (question->limit > 0 && limit != NULL && limit[strspn(limit, plain)] == '\0')
		fprintf(out, "      bytepoll check app.bpt --limit %s --false-alarm %g\n", limit,
			question->false_alarm);
	else if (question->change > 0)
		fputs("      bytepoll diff base.bpt app.bpt\n", out);
	else
		fputs("      bytepoll report app.bpt\n", out);
}

static const char cost_note[] =
	"a sample with its free costs about 40 bytes of trace and 1.5 us; a process 64 KiB beside";

static void write_text(
	const struct bp_plan_answer *answer, const struct bp_report_options *options, FILE *out)
{
	char percent[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES];
	for (unsigned i = 0; i < answer->fact_count; i++) {
		const struct bp_plan_fact *fact = &answer->facts[i];
		if (fact->unit == BP_PLAN_UNIT_SECTION) {
			fprintf(out, "%s%s%s%s\n", i > 0 ? "\n" : "", bp_style_bold(options),
				fact->text, bp_style_end(options));
			continue;
		}
		fact_text(fact, answer->style, text);
		fprintf(out, "  %-*s  %s\n", LABEL_COLUMNS, fact->label, text);
	}
	fputs("\nassumes that\n", out);
	if (answer->two_sided) {
		bp_plan_percent_text(answer->question->confidence, percent);
		snprintf(text, sizeof text, "%.16s %% confidence is wanted, two-sided", percent);
		bp_write_wrapped(options, "-", text, out);
	}
	for (unsigned i = 0; i < answer->note_count; i++)
		bp_write_wrapped(options, "-", answer->notes[i], out);
	if (answer->cost)
		bp_write_wrapped(options, "-", cost_note, out);
	write_next(answer, out);
}

static void write_json_fact(const struct bp_plan_fact *fact, struct bp_json *json)
{
	switch (fact->unit) {
	case BP_PLAN_UNIT_COST:
		bp_json_object(json, fact->name, BP_JSON_SPACED);
		bp_json_number(json, "samples", fact->value);
		bp_json_number(json, "trace_bytes", fact->bytes);
		bp_json_number(json, "seconds", fact->seconds);
		bp_json_end(json);
		break;
	case BP_PLAN_UNIT_LIMITS:
		bp_json_object(json, fact->name, BP_JSON_SPACED);
		bp_json_number(json, "low", fact->value);
		bp_json_number(json, "high", fact->high);
		bp_json_end(json);
		break;
	default:
		bp_json_number(json, fact->name, fact->value);
	}
}

static void write_json_facts(const struct bp_plan_answer *answer, struct bp_json *json)
{
	bool open = false;
	bp_json_array(json, "answers", BP_JSON_LINES);
	for (unsigned i = 0; i < answer->fact_count; i++) {
		const struct bp_plan_fact *fact = &answer->facts[i];
		if (fact->unit != BP_PLAN_UNIT_SECTION) {
			write_json_fact(fact, json);
			continue;
		}
		if (open)
			bp_json_end(json);
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_text(json, "answer", fact->name);
		bp_json_text(json, "title", fact->text);
		open = true;
	}
	if (open)
		bp_json_end(json);
	bp_json_end(json);
}

static void write_json(const struct bp_plan_answer *answer, FILE *out)
{
	const struct bp_plan_question *question = answer->question;
	const bool looked_for = answer->interval != UINT64_MAX;
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-plan-1");
	bp_json_digits(&json, "confidence", question->confidence, 12);
	bp_json_digits(&json, "power", question->power, 10);
	bp_json_digits(&json, "false_alarm", question->false_alarm, 10);
	bp_json_number(&json, "interval", looked_for ? (double)answer->interval : NAN);
	write_json_facts(answer, &json);
	bp_json_array(&json, "assumes", BP_JSON_TALL);
	for (unsigned i = 0; i < answer->note_count; i++)
		bp_json_text(&json, NULL, answer->notes[i]);
	bp_json_end(&json);
	bp_json_end_document(&json);
}

/* What samples are good for. */
static const double overview_accuracies[] = { 1, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01 };
static const double overview_changes[] = { 4, 3, 2, 1.5, 1.3, 1.2, 1.1, 1.05 };

static void write_overview(
	const struct bp_plan_question *question, const struct bp_report_options *options, FILE *out)
{
	struct bp_quantity_style style = bp_style_of(options);
	double level = 1 - question->confidence;
	char confidence[BP_QUANTITY_BYTES], power[BP_QUANTITY_BYTES], bytes[BP_QUANTITY_BYTES];
	char count[BP_QUANTITY_BYTES], percent[BP_QUANTITY_BYTES];
	bp_plan_percent_text(question->confidence, confidence);
	bp_plan_percent_text(question->power, power);
	fprintf(out,
		"%sHow many samples a figure needs%s (%s %% confidence; small objects, the worst case)\n"
		"\n"
		"  within      samples   bytes at 512 KiB      change   samples before\n",
		bp_style_bold(options), bp_style_end(options), confidence);
	for (size_t i = 0; i < BP_COUNT(overview_accuracies); i++) {
		const struct bp_plan_aim aim = { overview_accuracies[i], question->power, level };
		const double samples = (double)bp_plan_samples(0, 0, aim);
		double before = (double)bp_plan_samples_for_change(
			overview_changes[i], question->power, level);
		count_text(samples, count);
		bytes_text(samples * BP_PLAN_INTERVAL_DEFAULT, style, bytes);
		bp_plan_percent_text(overview_accuracies[i], percent);
		fprintf(out, "  %s%4s %%  %10s %18s", options->utf8 ? "±" : "+-", percent, count,
			bytes);
		bp_plan_percent_text(overview_changes[i] - 1, percent);
		count_text(before, count);
		fprintf(out, "   %*s+%s %% %16s\n", (int)(6 - strlen(percent)), "", percent, count);
	}
	fprintf(out,
		"\n"
		"A figure of N bytes gets about N/T samples (T: sampling interval): T = N/samples.\n"
		"Without a sample a figure is at most %.2f T. A figure is within, and a change found,\n"
		"in %s %% of runs (--power).\n"
		"Large objects need less; objects of T bytes or more are recorded each, exactly.\n"
		"\n"
		"ask:  bytepoll plan --heap 2G --share 5%% --accuracy 10%%   T for ~100 MiB\n"
		"      bytepoll plan --heap 200M --change 10%%             T to find a change\n"
		"      bytepoll plan --limit live=200M                    T for a check in CI\n"
		"      bytepoll plan --size 64K --interval 512K           one such object\n"
		"      bytepoll plan app.bpt                              the next run\n"
		"      bytepoll plan --table                              by size and T\n",
		bp_plan_unseen(level), power);
}

static void write_json_need(struct bp_json *json, const char *key, double value, uint64_t samples)
{
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_digits(json, key, value, 6);
	bp_json_whole(json, "samples", samples);
	bp_json_end(json);
}

static void write_overview_json(const struct bp_plan_question *question, FILE *out)
{
	const double level = 1 - question->confidence, power = question->power;
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-plan-overview-1");
	bp_json_digits(&json, "confidence", question->confidence, 12);
	bp_json_digits(&json, "power", power, 10);
	bp_json_number(&json, "unseen_intervals", bp_plan_unseen(level));
	bp_json_array(&json, "accuracies", BP_JSON_SPACED);
	for (size_t i = 0; i < BP_COUNT(overview_accuracies); i++) {
		const struct bp_plan_aim aim = { overview_accuracies[i], power, level };
		write_json_need(&json, "accuracy", aim.accuracy, bp_plan_samples(0, 0, aim));
	}
	bp_json_end(&json);
	bp_json_array(&json, "changes", BP_JSON_SPACED);
	for (size_t i = 0; i < BP_COUNT(overview_changes); i++)
		write_json_need(&json, "change", overview_changes[i],
			bp_plan_samples_for_change(overview_changes[i], power, level));
	bp_json_end(&json);
	bp_json_end_document(&json);
}

void bp_plan_write_answer(const struct bp_plan_question *question, enum bp_plan_format format,
	const struct bp_report_options *options, FILE *out)
{
	/* JSON is the same on every terminal. */
	struct bp_quantity_style style =
		format == BP_PLAN_JSON ? (struct bp_quantity_style){ 0 } : bp_style_of(options);
	struct bp_plan_answer answer = bp_plan_answer_of(question, style);
	if (answer.fact_count == 0 && format == BP_PLAN_JSON)
		write_overview_json(question, out);
	else if (answer.fact_count == 0)
		write_overview(question, options, out);
	else if (format == BP_PLAN_JSON)
		write_json(&answer, out);
	else
		write_text(&answer, options, out);
}
