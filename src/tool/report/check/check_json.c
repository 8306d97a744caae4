/* SPDX-License-Identifier: MIT */
/*
 * The check as one JSON object, schema bytepoll-check-1; see check.h. `limits` has one entry for
 * each limit and file, of growth one for each limit. `bound` is the limit in bytes or objects, or
 * the largest allowed new / base; `interval` is what was found, in the same unit, its low and high
 * being one-sided limits of error `false_alarm` at most. Numbers that are not known, infinite ones
 * too, are null. Fields may be added under the same schema, never changed.
 */
#include <math.h>

#include "report/check/check_report.h"
#include "text/json_writer.h"

#define INDENT 5 /* of the lines of a limit but its first */

/* Empty is null. */
static void write_text(struct bp_json *json, const char *key, const char *text)
{
	bp_json_text(json, key, text == NULL || *text == '\0' ? NULL : text);
}

static void write_texts(
	struct bp_json *json, const char *name, const char *const *texts, uint32_t count)
{
	bp_json_array(json, name, BP_JSON_SPACED);
	for (uint32_t i = 0; i < count; i++)
		bp_json_text(json, NULL, texts[i]);
	bp_json_end(json);
}

static void write_interval(struct bp_json *json, const struct bp_check_result *result)
{
	const struct bp_interval *interval = &result->figure.interval;
	bp_json_object(json, "interval", BP_JSON_SPACED);
	bp_json_number(json, "estimate", interval->unknown ? NAN : interval->estimate);
	bp_json_number(json, "low", result->low_holds ? interval->low : NAN);
	bp_json_number(json, "high", result->high_holds ? interval->high : NAN);
	if (result->counted)
		bp_json_bool(json, "exact", true);
	bp_json_digits(json, "confidence", 1 - 2 * result->error, 12);
	bp_json_end(json);
}

static void write_need(struct bp_json *json, const struct bp_check_result *result)
{
	const struct bp_check_need *need = &result->need;
	if (result->reason != BP_REASON_SAMPLES) {
		bp_json_null(json, "needs");
		return;
	}
	bp_json_object(json, "needs", BP_JSON_SPACED);
	bp_json_number(json, "samples", need->samples);
	bp_json_number(json, "samples_now", need->samples_now);
	bp_json_whole(json, "interval", need->interval);
	bp_json_end(json);
}

static void write_side(
	struct bp_json *json, const char *name, double estimate, uint64_t samples, uint32_t runs)
{
	bp_json_object(json, name, BP_JSON_SPACED);
	bp_json_number(json, "estimate", estimate);
	bp_json_whole(json, "samples", samples);
	bp_json_whole(json, "runs", runs);
	bp_json_end(json);
}

static void write_judgement(struct bp_json *json, const struct bp_check_result *result)
{
	const struct bp_limit *limit = result->limit;
	char words[BP_CHECK_WORDS_BYTES];
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_text(json, "limit", limit->text);
	bp_json_text(json, "kind", limit->growth ? "growth" : "limit");
	bp_json_text(json, "file", result->file);
	bp_json_break(json, INDENT);
	bp_json_text(json, "metric", bp_limit_metric_name(limit));
	bp_json_text(json, "unit", limit->objects ? "objects" : "bytes");
	write_text(json, "filter", limit->filter_text);
	bp_json_break(json, INDENT);
	bp_json_text(json, "verdict", bp_outcome_names[result->outcome]);
	bp_json_number(json, "bound", limit->most);
	bp_json_break(json, INDENT);
	write_interval(json, result);
	bp_json_break(json, INDENT);
	bp_json_digits(json, "false_alarm", result->a, 10);
	bp_json_whole(json, "samples", result->samples);
	bp_json_whole(json, "sampling_interval", result->interval_max);
	bp_json_break(json, INDENT);
	if (limit->growth) {
		write_side(json, "new", result->new_estimate, result->samples, result->new_runs);
		write_side(json, "base", result->base_estimate, result->base_samples,
			result->base_runs);
		bp_json_break(json, INDENT);
	}
	write_text(json, "reason", bp_reason_name(result));
	write_need(json, result);
	bp_json_break(json, INDENT);
	bp_check_advice(result, words);
	write_text(json, "advice", words);
	bp_check_note(result, words);
	write_text(json, "note", words);
	bp_json_end(json);
}

void bp_check_write_json(const struct bp_check *check, FILE *out)
{
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-check-1");
	bp_json_text(&json, "verdict", bp_outcome_names[check->verdict]);
	bp_json_digits(&json, "false_alarm", check->false_alarm, 10);
	write_texts(&json, "files", (const char *const *)check->files, check->file_count);
	write_texts(&json, "against", check->base, check->base_count);
	bp_json_array(&json, "limits", BP_JSON_TALL);
	for (uint32_t i = 0; i < check->count; i++)
		write_judgement(&json, &check->results[i]);
	bp_json_end(&json);
	bp_json_array(&json, "warnings", BP_JSON_LINES);
	for (uint32_t i = 0; i < check->warning_count; i++) {
		bp_json_object(&json, NULL, BP_JSON_SPACED);
		bp_json_text(&json, "file", check->warnings[i].file);
		bp_json_text(&json, "text", check->warnings[i].sentence);
		bp_json_end(&json);
	}
	bp_json_end(&json);
	bp_json_end_document(&json);
}
