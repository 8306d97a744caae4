/* SPDX-License-Identifier: MIT */
/*
 * The check as one JSON object, schema bytepoll-check-1; see check.h. `limits` has one entry for
 * each limit and file, of growth one for each limit. `bound` is the limit in bytes or objects, or
 * the largest allowed new / base; `interval` is what was found, in the same unit, its low and high
 * being one-sided limits of error `false_alarm` at most. Numbers that are not known, infinite ones
 * too, are null. Fields may be added under the same schema, never changed.
 */
#include <math.h>

#include "report/check.h"
#include "report/escape.h"
#include "report/json_values.h"

static void write_text(FILE *out, const char *text)
{
	if (text == NULL || *text == '\0')
		fputs("null", out);
	else
		bp_write_json_string(out, text);
}

static void write_texts(FILE *out, const char *name, const char *const *texts, uint32_t count)
{
	fprintf(out, "  \"%s\": [", name);
	for (uint32_t i = 0; i < count; i++) {
		fputs(i > 0 ? ", " : "", out);
		bp_write_json_string(out, texts[i]);
	}
	fputs("],\n", out);
}

static void write_interval(FILE *out, const struct bp_judgement *judgement)
{
	const struct bp_interval *interval = &judgement->figure.interval;
	fputs("\"interval\": {\"estimate\": ", out);
	bp_write_json_number(out, interval->unknown ? NAN : interval->estimate);
	fputs(", \"low\": ", out);
	bp_write_json_number(out, judgement->low_holds ? interval->low : NAN);
	fputs(", \"high\": ", out);
	bp_write_json_number(out, judgement->high_holds ? interval->high : NAN);
	fprintf(out, "%s, \"confidence\": %.10g}", judgement->counted ? ", \"exact\": true" : "",
		1 - 2 * judgement->error);
}

static void write_need(FILE *out, const struct bp_judgement *judgement)
{
	const struct bp_gate_need *need = &judgement->need;
	if (judgement->reason != BP_REASON_SAMPLES) {
		fputs("\"needs\": null", out);
		return;
	}
	fputs("\"needs\": {\"samples\": ", out);
	bp_write_json_number(out, need->samples);
	fputs(", \"samples_now\": ", out);
	bp_write_json_number(out, need->samples_now);
	fprintf(out, ", \"interval\": %llu}", (unsigned long long)need->interval);
}

static void write_growth(FILE *out, const struct bp_judgement *judgement)
{
	fputs("     \"new\": {\"estimate\": ", out);
	bp_write_json_number(out, judgement->new_estimate);
	fprintf(out, ", \"samples\": %llu, \"runs\": %u}, \"base\": {\"estimate\": ",
		(unsigned long long)judgement->samples, judgement->new_runs);
	bp_write_json_number(out, judgement->base_estimate);
	fprintf(out, ", \"samples\": %llu, \"runs\": %u},\n",
		(unsigned long long)judgement->base_samples, judgement->base_runs);
}

static void write_judgement(FILE *out, const struct bp_judgement *judgement)
{
	const struct bp_limit *limit = judgement->limit;
	char words[BP_CHECK_WORDS_BYTES];
	const char *reason = bp_reason_name(judgement);
	fputs("\n    {\"limit\": ", out);
	bp_write_json_string(out, limit->text);
	fprintf(out, ", \"kind\": \"%s\", \"file\": ", limit->growth ? "growth" : "limit");
	bp_write_json_string(out, judgement->file);
	fprintf(out, ",\n     \"metric\": \"%s\", \"unit\": \"%s\", \"filter\": ",
		bp_limit_metric_name(limit), limit->objects ? "objects" : "bytes");
	write_text(out, limit->filter_text);
	fprintf(out,
		",\n     \"verdict\": \"%s\", \"bound\": ", bp_outcome_names[judgement->outcome]);
	bp_write_json_number(out, limit->most);
	fputs(",\n     ", out);
	write_interval(out, judgement);
	fprintf(out,
		",\n     \"false_alarm\": %.10g, \"samples\": %llu, \"sampling_interval\": %llu",
		judgement->a, (unsigned long long)judgement->samples,
		(unsigned long long)judgement->interval_max);
	fputs(",\n", out);
	if (limit->growth)
		write_growth(out, judgement);
	fputs("     \"reason\": ", out);
	write_text(out, reason);
	fputs(", ", out);
	write_need(out, judgement);
	bp_check_advice(judgement, words);
	fputs(",\n     \"advice\": ", out);
	write_text(out, words);
	bp_check_note(judgement, words);
	fputs(", \"note\": ", out);
	write_text(out, words);
	putc('}', out);
}

void bp_check_write_json(const struct bp_check *check, FILE *out)
{
	fprintf(out, "{\n  \"schema\": \"bytepoll-check-1\",\n  \"verdict\": \"%s\",\n",
		bp_outcome_names[check->verdict]);
	fprintf(out, "  \"false_alarm\": %.10g,\n", check->false_alarm);
	write_texts(out, "files", (const char *const *)check->files, check->file_count);
	write_texts(out, "against", check->base, check->base_count);
	fputs("  \"limits\": [", out);
	for (uint32_t i = 0; i < check->count; i++) {
		fputs(i > 0 ? "," : "", out);
		write_judgement(out, &check->judgements[i]);
	}
	fputs("\n  ],\n  \"warnings\": [", out);
	for (uint32_t i = 0; i < check->warning_count; i++) {
		fputs(i > 0 ? ",\n    {\"file\": " : "\n    {\"file\": ", out);
		bp_write_json_string(out, check->warnings[i].file);
		fputs(", \"text\": ", out);
		bp_write_json_string(out, check->warnings[i].sentence);
		putc('}', out);
	}
	fprintf(out, "%s]\n}\n", check->warning_count > 0 ? "\n  " : "");
}
