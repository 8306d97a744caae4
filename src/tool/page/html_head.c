/* SPDX-License-Identifier: MIT */
/*
 * The head of a page: everything but the cells, as JSON. Figures of the whole run stand in it as
 * they are made here; what the page makes itself, it makes with the assumptions that stand here
 * too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "page/html_data.h"
#include "query/filter.h"
#include "report/report.h"

#define FUNCTIONS_SHOWN 50
#define DIGITS_ALL 17

void bp_page_write_functions(struct bp_json *json, const struct bp_aggregation *aggregation)
{
	bp_json_array(json, bp_metric_word(aggregation->query.metric, aggregation->profile->mapped),
		BP_JSON_COMPACT);
	for (uint32_t i = 0; i < aggregation->row_count && i < FUNCTIONS_SHOWN; i++) {
		struct bp_row row;
		bp_aggregation_row(aggregation, i, &row);
		bp_json_break(json, 0);
		bp_json_object(json, NULL, BP_JSON_COMPACT);
		bp_page_write_text(json, "name", row.name);
		bp_json_whole(json, "samples", row.samples);
		bp_json_figures(json, &row.bytes, &row.objects);
		bp_json_end(json);
	}
	bp_json_end(json);
}

static void write_total(struct bp_json *json, const char *key, const struct bp_total *total)
{
	bp_json_object(json, key, BP_JSON_COMPACT);
	bp_json_whole(json, "samples", total->samples);
	bp_json_figures(json, &total->bytes, &total->objects);
	bp_json_end(json);
}

static void write_totals(const struct bp_aggregation *shown, struct bp_json *json)
{
	const bool mapped = shown->profile->mapped;
	bp_json_array(json, "metrics", BP_JSON_COMPACT);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
		if (shown->totals[metric].known)
			bp_json_text(json, NULL, bp_metric_word((enum bp_metric)metric, mapped));
	bp_json_end(json);
	bp_json_text(json, "metric", bp_metric_word(shown->query.metric, mapped));
	bp_json_object(json, "totals", BP_JSON_COMPACT);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		if (!shown->totals[metric].known)
			continue;
		bp_json_break(json, 0);
		write_total(json, bp_metric_word((enum bp_metric)metric, mapped),
			&shown->totals[metric]);
	}
	bp_json_end(json);
	if (shown->peak_moment.known && shown->peak_at_ns != BP_TIME_NEVER)
		write_total(json, "peak_moment", &shown->peak_moment);
	else
		bp_json_null(json, "peak_moment");
}

/* What a warning tells to do by an option, a page does by a switch of its own, or it is written
 * anew. */
static const char *const in_words_of_the_page[][2] = {
	{ "or pass --debuginfod URL", "or write the page anew by bytepoll html --debuginfod URL" },
};

static void write_warning(const char *warning, struct bp_json *json)
{
	for (size_t i = 0; i < BP_COUNT(in_words_of_the_page); i++) {
		const char *option = in_words_of_the_page[i][0];
		const char *at = strstr(warning, option);
		char text[1024];
		if (at == NULL)
			continue;
		snprintf(text, sizeof text, "%.*s%s%s", (int)(at - warning), warning,
			in_words_of_the_page[i][1], at + strlen(option));
		bp_page_write_text(json, NULL, text);
		return;
	}
	bp_page_write_text(json, NULL, warning);
}

/* The runs of a store have no program, no command line and no time together. */
static void write_stored(const struct bp_page_source *source, uint32_t runs, struct bp_json *json)
{
	char name[64];
	snprintf(name, sizeof name, "%u run%s", runs, runs == 1 ? "" : "s");
	bp_json_text(json, "program", "");
	bp_json_text(json, "name", name);
	bp_json_text(json, "command_line", "");
	bp_json_whole(json, "pid", 0);
	bp_json_whole(json, "runs", runs);
	bp_json_whole(json, "processes_seen", source->numbers.process_count - 1);
	bp_json_seconds(json, "duration_s", 0);
	bp_json_whole(json, "start_real_s", 0);
}

static void write_program(const struct bp_page_source *source, struct bp_json *json)
{
	const struct bp_aggregation *shown = source->shown;
	const struct bp_profile *profile = shown->profile;
	const struct bp_process *subject = &profile->processes.data[shown->subject.i];
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	bp_page_write_text(json, "program", bp_profile_text(profile, subject->program));
	bp_page_write_text(json, "name", bp_process_name(profile, subject));
	bp_page_write_text(json, "command_line", bp_profile_text(profile, subject->command_line));
	bp_json_whole(json, "pid", subject->pid);
	bp_json_whole(json, "processes_seen", source->numbers.process_count - 1);
	bp_json_seconds(json, "duration_s", shown->duration_ns);
	bp_json_fixed(json, "start_real_s", (double)root->start_real_ns / 1e9, 3);
}

/* Which program, and how it was sampled. */
static void write_run(const struct bp_page_source *source, struct bp_json *json)
{
	const struct bp_aggregation *shown = source->shown;
	const struct bp_profile *profile = shown->profile;
	const struct bp_process *subject = &profile->processes.data[shown->subject.i];
	const struct bp_sampling *sampling = &shown->sampling;
	bp_json_text(json, "schema", "bytepoll-page-2");
	bp_json_text(json, "version", BP_VERSION);
	if (profile->stored_runs > 0)
		write_stored(source, profile->stored_runs, json);
	else
		write_program(source, json);
	bp_json_text(json, "law", subject->law == 0 ? "exact" : "bernoulli");
	bp_json_array(json, "intervals", BP_JSON_COMPACT);
	for (uint32_t i = 0; i < sampling->interval_count; i++)
		bp_json_whole(json, NULL, sampling->intervals[i]);
	bp_json_end(json);
	bp_json_digits(json, "confidence", shown->query.confidence, 12);
	bp_json_whole(json, "samples", shown->samples);
	bp_json_whole(json, "lost_samples", shown->lost_samples);
	bp_json_text(json, "unit", shown->query.usable ? "usable" : "requested");
	bp_json_text(
		json, "live_name", profile->mapped ? "mapped at the end" : bp_live_name(shown));
	if (profile->mapped)
		bp_json_bool(json, "mapped", true);
	bp_json_bool(json, "unrelated", profile->merged_unrelated);
}

/* What was asked, and what is to be known of the answer. */
static void write_question(const struct bp_aggregation *shown, struct bp_json *json)
{
	bp_json_array(json, "filters", BP_JSON_COMPACT);
	for (uint32_t i = 0; i < shown->query.filter_count; i++)
		bp_page_write_text(json, NULL, shown->query.filters[i].text);
	bp_json_end(json);
	bp_json_array(json, "warnings", BP_JSON_ROWS);
	for (uint32_t i = 0; shown->warnings[i] != NULL; i++)
		write_warning(shown->warnings[i], json);
	bp_json_end(json);
	if (shown->peak_at_ns != BP_TIME_NEVER)
		bp_json_seconds(json, "peak_at_s", shown->peak_at_ns);
	else
		bp_json_null(json, "peak_at_s");
}

static void write_bounds(const char *name, const bool *bounds, bool mapped, struct bp_json *json)
{
	bp_json_object(json, name, BP_JSON_COMPACT);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
		if (!mapped || metric != BP_METRIC_TEMPORARY)
			bp_json_bool(json, bp_metric_word((enum bp_metric)metric, mapped),
				bounds[metric]);
	bp_json_end(json);
}

static void write_assumptions(const struct bp_page_source *source, struct bp_json *json)
{
	const struct bp_cube *cube = source->cube;
	const struct bp_assumptions assumed = bp_aggregation_assumptions(source->shown);
	bp_json_object(json, "assumptions", BP_JSON_COMPACT);
	bp_json_whole(json, "interval_min", assumed.interval_min);
	bp_json_whole(json, "interval_max", assumed.interval_max);
	bp_json_whole(json, "interval_unseen", assumed.interval_unseen);
	bp_json_whole(json, "size_min", assumed.size_min);
	bp_json_whole(json, "size_min_beside", assumed.size_min_beside);
	bp_json_whole(json, "charge", assumed.charge);
	bp_json_digits(json, "ratio_max", assumed.ratio_max, DIGITS_ALL);
	bp_json_digits(json, "turnovers", assumed.turnovers, DIGITS_ALL);
	bp_json_digits(json, "alpha", 1 - source->shown->query.confidence, DIGITS_ALL);
	bp_json_digits(json, "peak_factor", BP_PEAK_FACTOR, DIGITS_ALL);
	bp_json_bool(json, "classes", cube->by_classes);
	const bool mapped = source->shown->profile->mapped;
	write_bounds("lower_bound", cube->lower_bound, mapped, json);
	write_bounds("upper_bound", cube->upper_bound, mapped, json);
	bp_json_end(json);
}

static void write_window(const char *key, const struct bp_cube_window *window, struct bp_json *json)
{
	const uint64_t counted[] = { window->has, window->offered_bytes.low,
		window->offered_bytes.high, window->bytes.low, window->bytes.high,
		window->objects.low, window->objects.high, window->size_min };
	bp_json_array(json, key, BP_JSON_COMPACT);
	for (size_t i = 0; i < BP_COUNT(counted); i++)
		bp_json_whole(json, NULL, counted[i]);
	bp_json_digits(json, NULL, window->ratio_max, DIGITS_ALL);
	bp_json_whole(json, NULL, window->offered_objects.low);
	bp_json_whole(json, NULL, window->offered_objects.high);
	bp_json_end(json);
}

static void write_sums(const struct bp_sums *sums, struct bp_json *json)
{
	const double values[] = { (double)sums->samples, sums->bytes, sums->c1, sums->c2, sums->c3,
		sums->n1, sums->n2, sums->n3, sums->log_pi_sum, (double)sums->first_size,
		(double)sums->first_interval, sums->first_charge, sums->first_value,
		(double)(sums->has_first | sums->mixed << 1 | sums->bernoulli << 2 |
			 sums->single_size << 3),
		(double)sums->interval_max, sums->ratio_max };
	bp_json_array(json, NULL, BP_JSON_COMPACT);
	for (size_t i = 0; i < BP_COUNT(values); i++)
		bp_json_digits(json, NULL, values[i], DIGITS_ALL);
	bp_json_end(json);
}

static void write_calibration(const struct bp_cube *cube, struct bp_json *json)
{
	bp_json_object(json, "calibration", BP_JSON_ROWS);
	write_window("whole", &cube->whole, json);
	bp_json_array(json, "windows", BP_JSON_ROWS);
	for (uint32_t i = 0; i < cube->window_count; i++)
		write_window(NULL, &cube->windows[i], json);
	bp_json_end(json);
	if (cube->outside == NULL) {
		bp_json_null(json, "outside");
	} else {
		bp_json_array(json, "outside", BP_JSON_ROWS);
		for (uint32_t i = 0; i <= cube->bins; i++)
			write_sums(&cube->outside[i], json);
		bp_json_end(json);
	}
	bp_json_end(json);
}

static void write_limits(const char *name, const struct bp_interval *interval, struct bp_json *json)
{
	bp_json_array(json, name, BP_JSON_COMPACT);
	bp_json_number(json, NULL, interval->estimate);
	bp_json_number(json, NULL, interval->low);
	bp_json_number(json, NULL, interval->high);
	bp_json_end(json);
}

static bool write_timeline(
	const struct bp_page_source *source, struct bp_json *json, struct bp_error *error)
{
	const struct bp_cube *cube = source->cube;
	struct bp_moment_figures *moments = calloc(cube->bins + 1, sizeof *moments);
	if (moments == NULL)
		return bp_error_set(error, "out of memory");
	bp_json_array(json, "edges_s", BP_JSON_COMPACT);
	for (uint32_t i = 0; i <= cube->bins; i++)
		bp_json_seconds(json, NULL, cube->edges_ns[i]);
	bp_json_end(json);
	bp_json_array(json, "timeline", BP_JSON_ROWS);
	const bool has = source->live != NULL && cube->bins > 1;
	const bool good = !has || bp_cube_timeline(cube, source->live, moments, error);
	for (uint32_t i = 0; good && has && i <= cube->bins; i++) {
		bp_json_object(json, NULL, BP_JSON_COMPACT);
		bp_json_seconds(json, "t", moments[i].time_ns);
		bp_json_whole(json, "samples", moments[i].samples);
		write_limits("b", &moments[i].bytes.interval, json);
		write_limits("o", &moments[i].objects.interval, json);
		bp_json_bool(json, "off", moments[i].off);
		bp_json_end(json);
	}
	bp_json_end(json);
	bp_page_write_resident(source->options, json);
	free(moments);
	return good;
}

static void write_pruned(const struct bp_page_source *source, struct bp_json *json)
{
	const struct bp_cube *cube = source->cube;
	bp_json_object(json, "pruned", BP_JSON_COMPACT);
	bp_json_whole(json, "stacks", cube->stacks_merged);
	bp_json_whole(json, "samples", cube->samples_merged);
	bp_json_whole(json, "cells_before", cube->cells_before);
	bp_json_whole(json, "cells", cube->cell_count);
	bp_json_whole(json, "time_bins_wanted", cube->bins_wanted);
	bp_json_whole(json, "time_bins", cube->bins);
	bp_json_whole(json, "size_step", cube->rung.size_step);
	bp_json_text(json, "text", source->pruned);
	bp_json_end(json);
}

bool bp_page_write_head(const struct bp_page_source *source, FILE *out, struct bp_error *error)
{
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_ROWS);
	write_run(source, &json);
	write_question(source->shown, &json);
	write_totals(source->shown, &json);
	write_assumptions(source, &json);
	write_calibration(source->cube, &json);
	if (!write_timeline(source, &json, error))
		return false;
	bp_json_raw(&json, "functions", source->functions->data, source->functions->size);
	bp_page_write_names(source, &json);
	if (!bp_page_write_stacks(source, &json) || !bp_page_write_source(source, &json))
		return bp_error_set(error, "out of memory");
	write_pruned(source, &json);
	bp_json_end_document(&json);
	return true;
}
