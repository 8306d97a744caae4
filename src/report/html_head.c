/* SPDX-License-Identifier: MIT */
/*
 * The head of a page: everything but the cells, as JSON. Figures of the whole run stand in it as they are
 * made here; what the page makes itself, it makes with the assumptions that stand here too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "profile/filter.h"
#include "report/escape.h"
#include "report/html_data.h"
#include "report/json_values.h"
#include "report/report.h"

#define FUNCTIONS_SHOWN 50

/* With all its digits. */
static void write_double(double value, FILE *out)
{
	if (isfinite(value))
		fprintf(out, "%.17g", value);
	else
		fputs("null", out);
}

bool bp_page_write_functions(const struct bp_aggregation *aggregation, FILE *out)
{
	fprintf(out, "\"%s\":[", bp_metric_names[aggregation->query.metric]);
	for (uint32_t i = 0; i < aggregation->row_count && i < FUNCTIONS_SHOWN; i++) {
		struct bp_row row;
		bp_aggregation_row(aggregation, i, &row);
		fputs(i > 0 ? ",\n{\"name\":" : "\n{\"name\":", out);
		bp_page_write_text(row.name, out);
		fprintf(out, ",\"samples\":%llu,\"bytes\":", (unsigned long long)row.samples);
		bp_write_json_figure(out, &row.bytes, 1);
		fputs(",\"objects\":", out);
		bp_write_json_figure(out, &row.objects, 1);
		putc('}', out);
	}
	putc(']', out);
	return ferror(out) == 0;
}

static void write_total(const struct bp_total *total, FILE *out)
{
	fprintf(out, "{\"samples\":%llu,\"bytes\":", (unsigned long long)total->samples);
	bp_write_json_figure(out, &total->bytes, 1);
	fputs(",\"objects\":", out);
	bp_write_json_figure(out, &total->objects, 1);
	putc('}', out);
}

static void write_totals(const struct bp_aggregation *shown, FILE *out)
{
	bool first = true;
	fputs(",\n\"metrics\":[", out);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		if (!shown->totals[metric].known)
			continue;
		fprintf(out, "%s\"%s\"", first ? "" : ",", bp_metric_names[metric]);
		first = false;
	}
	fprintf(out, "],\n\"metric\":\"%s\",\n\"totals\":{", bp_metric_names[shown->query.metric]);
	first = true;
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		const struct bp_total *total = &shown->totals[metric];
		if (!total->known)
			continue;
		fprintf(out, "%s\n\"%s\":", first ? "" : ",", bp_metric_names[metric]);
		write_total(total, out);
		first = false;
	}
	fputs("},\n\"peak_moment\":", out);
	if (shown->peak_moment.known && shown->peak_at_ns != BP_TIME_NEVER)
		write_total(&shown->peak_moment, out);
	else
		fputs("null", out);
}

/* What a warning tells to do by an option, a page does by a switch of its own, or it is written anew. */
static const char *const in_words_of_the_page[][2] = {
	{ "or pass --debuginfod URL", "or write the page anew by bytepoll html --debuginfod URL" },
};

static void write_warning(const char *warning, FILE *out)
{
	for (size_t i = 0; i < BP_COUNT(in_words_of_the_page); i++) {
		const char *option = in_words_of_the_page[i][0];
		const char *at = strstr(warning, option);
		char text[1024];
		if (at == NULL)
			continue;
		snprintf(text, sizeof text, "%.*s%s%s", (int)(at - warning), warning,
			in_words_of_the_page[i][1], at + strlen(option));
		bp_page_write_text(text, out);
		return;
	}
	bp_page_write_text(warning, out);
}

static void write_run(const struct bp_page_source *source, FILE *out)
{
	const struct bp_aggregation *shown = source->shown;
	const struct bp_profile *profile = shown->profile;
	const struct bp_process *subject = &profile->processes.data[shown->subject.i];
	const struct bp_sampling *sampling = &shown->sampling;
	fputs("{\"schema\":\"bytepoll-page-2\",\n\"version\":\"" BP_VERSION "\",\n\"program\":",
		out);
	bp_page_write_text(bp_profile_text(profile, subject->program), out);
	fputs(",\n\"name\":", out);
	bp_page_write_text(bp_process_name(profile, subject), out);
	fputs(",\n\"command_line\":", out);
	bp_page_write_text(bp_profile_text(profile, subject->command_line), out);
	fprintf(out, ",\n\"pid\":%u,\n\"processes_seen\":%u,\n\"duration_s\":%.9f", subject->pid,
		source->numbers.process_count - 1, (double)shown->duration_ns / 1e9);
	fprintf(out, ",\n\"start_real_s\":%.3f,\n\"law\":\"%s\",\n\"intervals\":[",
		(double)profile->processes.data[profile->root.i].start_real_ns / 1e9,
		subject->law == 0 ? "exact" : "bernoulli");
	for (uint32_t i = 0; i < sampling->interval_count; i++)
		fprintf(out, "%s%llu", i > 0 ? "," : "",
			(unsigned long long)sampling->intervals[i]);
	fprintf(out, "],\n\"confidence\":%.12g,\n\"samples\":%llu,\n\"lost_samples\":%llu",
		shown->query.confidence, (unsigned long long)shown->samples,
		(unsigned long long)shown->lost_samples);
	fprintf(out, ",\n\"unit\":\"%s\",\n\"live_name\":\"%s\",\n\"unrelated\":%s",
		shown->query.usable ? "usable" : "requested", bp_live_name(shown),
		profile->merged_unrelated ? "true" : "false");
	fputs(",\n\"filters\":[", out);
	for (uint32_t i = 0; i < shown->query.filter_count; i++) {
		fputs(i > 0 ? "," : "", out);
		bp_page_write_text(shown->query.filters[i].text, out);
	}
	fputs("],\n\"warnings\":[", out);
	for (uint32_t i = 0; shown->warnings[i] != NULL; i++) {
		fputs(i > 0 ? ",\n" : "", out);
		write_warning(shown->warnings[i], out);
	}
	fputs("],\n\"peak_at_s\":", out);
	if (shown->peak_at_ns != BP_TIME_NEVER)
		fprintf(out, "%.9f", (double)shown->peak_at_ns / 1e9);
	else
		fputs("null", out);
}

static void write_bounds(const char *name, const bool *bounds, FILE *out)
{
	fprintf(out, ",\"%s\":{", name);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
		fprintf(out, "%s\"%s\":%s", metric > 0 ? "," : "", bp_metric_names[metric],
			bounds[metric] ? "true" : "false");
	putc('}', out);
}

static void write_assumptions(const struct bp_page_source *source, FILE *out)
{
	const struct bp_cube *cube = source->cube;
	const struct bp_assumptions assumed = bp_aggregation_assumptions(source->shown);
	fprintf(out,
		",\n\"assumptions\":{\"interval_min\":%llu,\"interval_max\":%llu,"
		"\"interval_unseen\":%llu,\"size_min\":%llu,\"size_min_beside\":%llu,"
		"\"charge\":%u,\"ratio_max\":",
		(unsigned long long)assumed.interval_min, (unsigned long long)assumed.interval_max,
		(unsigned long long)assumed.interval_unseen, (unsigned long long)assumed.size_min,
		(unsigned long long)assumed.size_min_beside, assumed.charge);
	write_double(assumed.ratio_max, out);
	fputs(",\"turnovers\":", out);
	write_double(assumed.turnovers, out);
	fputs(",\"alpha\":", out);
	write_double(1 - source->shown->query.confidence, out);
	fprintf(out, ",\"peak_factor\":%.17g,\"classes\":%s", BP_PEAK_FACTOR,
		cube->by_classes ? "true" : "false");
	write_bounds("lower_bound", cube->lower_bound, out);
	write_bounds("upper_bound", cube->upper_bound, out);
	putc('}', out);
}

static void write_window(const struct bp_cube_window *window, FILE *out)
{
	fprintf(out, "[%u,%llu,%llu,%llu,%llu,%llu,%llu,%llu,", window->has,
		(unsigned long long)window->offered_bytes.low,
		(unsigned long long)window->offered_bytes.high,
		(unsigned long long)window->bytes.low, (unsigned long long)window->bytes.high,
		(unsigned long long)window->objects.low, (unsigned long long)window->objects.high,
		(unsigned long long)window->size_min);
	write_double(window->ratio_max, out);
	fprintf(out, ",%llu,%llu]", (unsigned long long)window->offered_objects.low,
		(unsigned long long)window->offered_objects.high);
}

static void write_sums(const struct bp_sums *sums, FILE *out)
{
	const double values[] = { (double)sums->samples, sums->bytes, sums->c1, sums->c2, sums->c3,
		sums->n1, sums->n2, sums->n3, sums->log_pi_sum, (double)sums->first_size,
		(double)sums->first_interval, sums->first_charge, sums->first_value,
		(double)(sums->has_first | sums->mixed << 1 | sums->bernoulli << 2 |
			 sums->single_size << 3),
		(double)sums->interval_max, sums->ratio_max, 0, 0 };
	putc('[', out);
	for (size_t i = 0; i < BP_COUNT(values); i++) {
		fputs(i > 0 ? "," : "", out);
		write_double(values[i], out);
	}
	putc(']', out);
}

static void write_calibration(const struct bp_cube *cube, FILE *out)
{
	fputs(",\n\"calibration\":{\"whole\":", out);
	write_window(&cube->whole, out);
	fputs(",\n\"windows\":[", out);
	for (uint32_t i = 0; i < cube->window_count; i++) {
		fputs(i > 0 ? ",\n" : "", out);
		write_window(&cube->windows[i], out);
	}
	fputs("],\n\"outside\":", out);
	if (cube->outside == NULL)
		fputs("null}", out);
	for (uint32_t i = 0; cube->outside != NULL && i <= cube->bins; i++) {
		fputs(i > 0 ? ",\n" : "[", out);
		write_sums(&cube->outside[i], out);
	}
	if (cube->outside != NULL)
		fputs("]}", out);
}

static void write_limits(const char *name, const struct bp_interval *interval, FILE *out)
{
	fprintf(out, ",\"%s\":[", name);
	bp_write_json_number(out, interval->estimate);
	putc(',', out);
	bp_write_json_number(out, interval->low);
	putc(',', out);
	bp_write_json_number(out, interval->high);
	putc(']', out);
}

static bool write_timeline(const struct bp_page_source *source, FILE *out, struct bp_error *error)
{
	const struct bp_cube *cube = source->cube;
	struct bp_moment_figures *moments = calloc(cube->bins + 1, sizeof *moments);
	if (moments == NULL)
		return bp_error_set(error, "out of memory");
	fputs(",\n\"edges_s\":[", out);
	for (uint32_t i = 0; i <= cube->bins; i++)
		fprintf(out, "%s%.9f", i > 0 ? "," : "", (double)cube->edges_ns[i] / 1e9);
	fputs("],\n\"timeline\":[", out);
	const bool has = source->live != NULL && cube->bins > 1;
	const bool good = !has || bp_cube_timeline(cube, source->live, moments, error);
	for (uint32_t i = 0; good && has && i <= cube->bins; i++) {
		fprintf(out, "%s{\"t\":%.9f,\"samples\":%llu", i > 0 ? ",\n" : "",
			(double)moments[i].time_ns / 1e9, (unsigned long long)moments[i].samples);
		write_limits("b", &moments[i].bytes.interval, out);
		write_limits("o", &moments[i].objects.interval, out);
		fprintf(out, ",\"off\":%s}", moments[i].off ? "true" : "false");
	}
	putc(']', out);
	bp_page_write_resident(source->options, out);
	free(moments);
	return good;
}

static void write_pruned(const struct bp_page_source *source, FILE *out)
{
	const struct bp_cube *cube = source->cube;
	fprintf(out,
		",\n\"pruned\":{\"stacks\":%u,\"samples\":%llu,\"cells_before\":%llu,\"cells\":%u,"
		"\"time_bins_wanted\":%u,\"time_bins\":%u,\"size_step\":%u,\"text\":",
		cube->stacks_merged, (unsigned long long)cube->samples_merged,
		(unsigned long long)cube->cells_before, cube->cell_count, cube->bins_wanted,
		cube->bins, cube->rung.size_step);
	bp_write_json_string(out, source->pruned);
	putc('}', out);
}

bool bp_page_write_head(const struct bp_page_source *source, FILE *out, struct bp_error *error)
{
	write_run(source, out);
	write_totals(source->shown, out);
	write_assumptions(source, out);
	write_calibration(source->cube, out);
	if (!write_timeline(source, out, error))
		return false;
	fputs(",\n\"functions\":{", out);
	fwrite(source->functions->data, 1, source->functions->size, out);
	putc('}', out);
	bp_page_write_names(source, out);
	if (!bp_page_write_stacks(source, out) || !bp_page_write_source(source, out))
		return bp_error_set(error, "out of memory");
	write_pruned(source, out);
	fputs("}\n", out);
	return true;
}
