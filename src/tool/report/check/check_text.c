/* SPDX-License-Identifier: MIT */
/*
 * The check for people: a line a limit, verdict first, and below it what to do where there is
 * something to do. See check.h.
 */
#include <string.h>

#include "report/check/check_report.h"
#include "report/parts/header.h"
#include "text/escape.h"

#define NAME_BYTES 4096
#define LIMIT_COLUMNS_MAX 48

static const char *verdict_colour(enum bp_outcome outcome, const struct bp_report_options *options)
{
	static const char *const colours[BP_OUTCOME_COUNT] = { "\033[32m", "\033[1;31m",
		"\033[33m" };
	return options->colour ? colours[outcome] : "";
}

static void put_name(const char *name, const struct bp_report_options *options, FILE *out)
{
	char text[NAME_BYTES];
	bp_terminal_text(name, options->utf8, options->columns, text, sizeof text);
	fputs(text, out);
}

static void write_head(
	const struct bp_check *check, const struct bp_report_options *options, FILE *out)
{
	bool stricter = false;
	for (uint32_t i = 0; i < check->count; i++)
		stricter = stricter || check->results[i].error < check->results[i].a;
	char percent[BP_QUANTITY_BYTES];
	bp_percent_text(1 - 2 * check->false_alarm / check->count, percent);
	fprintf(out, "%sfalse-alarm rate %g %%", bp_style_dim(options), 100 * check->false_alarm);
	if (check->count > 1)
		fprintf(out, " in all, %.3g %% for each of %u limits",
			100 * check->false_alarm / check->count, check->count);
	fprintf(out, "; intervals of %s %%%s%s\n", percent, stricter ? " and more" : "",
		bp_style_end(options));
}

/* The line that says whose limits follow. */
static void write_subject(const struct bp_check *check, const struct bp_check_result *result,
	const struct bp_report_options *options, FILE *out)
{
	putc('\n', out);
	put_name(result->file, options, out);
	if (result->limit->growth) {
		if (result->new_runs > 1)
			fprintf(out, " and %u more", result->new_runs - 1);
		fputs(" against ", out);
		put_name(check->base[0], options, out);
		if (result->base_runs > 1)
			fprintf(out, " and %u more", result->base_runs - 1);
	}
	putc('\n', out);
	for (uint32_t i = 0; i < check->warning_count; i++)
		if (check->warnings[i].first && strcmp(check->warnings[i].file, result->file) == 0)
			bp_write_warning(options, check->warnings[i].sentence, out);
}

static unsigned limit_columns(const struct bp_check *check, const struct bp_report_options *options)
{
	char text[NAME_BYTES];
	unsigned most = 0;
	for (uint32_t i = 0; i < check->count; i++) {
		unsigned columns = bp_terminal_text(check->results[i].limit->text, options->utf8,
			LIMIT_COLUMNS_MAX, text, sizeof text);
		most = columns > most ? columns : most;
	}
	return most;
}

static void write_judgement(const struct bp_check_result *result, unsigned columns,
	const struct bp_report_options *options, FILE *out)
{
	char limit[NAME_BYTES], words[BP_CHECK_WORDS_BYTES];
	const char *arrow = options->utf8 ? "→" : "->";
	unsigned width = bp_terminal_text(
		result->limit->text, options->utf8, LIMIT_COLUMNS_MAX, limit, sizeof limit);
	bp_check_finding(result, bp_style_of(options), words);
	fprintf(out, "  %s%-9s%s  %s%*s  %s\n", verdict_colour(result->outcome, options),
		bp_outcome_names[result->outcome], bp_style_end(options), limit,
		(int)(columns > width ? columns - width : 0), "", words);
	bp_check_advice(result, words);
	if (*words != '\0')
		bp_write_wrapped(options, arrow, words, out);
	/* What is common to all growths stands once, at the end. */
	bp_check_note(result, words);
	if (result->nothing_matches)
		bp_write_wrapped(options, arrow, words, out);
}

static void write_notes(
	const struct bp_check *check, const struct bp_report_options *options, FILE *out)
{
	char words[BP_CHECK_WORDS_BYTES];
	bool any = false, warned = false;
	for (uint32_t i = 0; i < check->warning_count; i++)
		warned = warned || !check->warnings[i].first;
	for (uint32_t i = 0; i < check->count && !any; i++) {
		struct bp_check_result result = check->results[i];
		result.nothing_matches = false;
		bp_check_note(&result, words);
		any = *words != '\0';
	}
	if (any || warned)
		putc('\n', out);
	if (any)
		bp_write_wrapped(options, "!", words, out);
	for (uint32_t i = 0; i < check->warning_count; i++) {
		char line[NAME_BYTES];
		if (check->warnings[i].first)
			continue;
		snprintf(line, sizeof line, "%.1000s: %.2000s", check->warnings[i].file,
			check->warnings[i].sentence);
		bp_write_warning(options, line, out);
	}
}

void bp_check_write_text(
	const struct bp_check *check, const struct bp_report_options *options, FILE *out)
{
	unsigned columns = limit_columns(check, options);
	write_head(check, options, out);
	for (uint32_t i = 0; i < check->count; i++) {
		const struct bp_check_result *result = &check->results[i], *last = result - 1;
		if (i == 0 || strcmp(result->file, last->file) != 0 ||
			result->limit->growth != last->limit->growth)
			write_subject(check, result, options, out);
		write_judgement(result, columns, options, out);
	}
	write_notes(check, options, out);
	fprintf(out, "\ncheck: %s%s%s%s\n", verdict_colour(check->verdict, options),
		bp_outcome_names[check->verdict], bp_style_end(options),
		check->verdict == BP_OUTCOME_UNDECIDED && check->undecided_allowed
			? ", which is allowed"
			: "");
}
