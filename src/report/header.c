/* SPDX-License-Identifier: MIT */
/* The header block of reports for people; see header.h. */
#include "report/header.h"

#include <string.h>

#include "profile/filter.h"
#include "report/escape.h"

#define INTERVALS_MAX 8 /* different sampling intervals named */
#define NAME_COLUMNS 60

const char *bp_style_bold(const struct bp_report_options *options)
{
	return options->colour ? "\033[1m" : "";
}

const char *bp_style_dim(const struct bp_report_options *options)
{
	return options->colour ? "\033[2m" : "";
}

const char *bp_style_warn(const struct bp_report_options *options)
{
	return options->colour ? "\033[33m" : "";
}

const char *bp_style_end(const struct bp_report_options *options)
{
	return options->colour ? "\033[0m" : "";
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* "T = 512 KiB", or all the intervals there were. */
static void write_intervals(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_profile *profile = aggregation->profile;
	uint64_t seen[INTERVALS_MAX];
	unsigned count = 0;
	char text[BP_QUANTITY_BYTES];
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		const uint64_t intervals[] = { process->interval_first, process->interval_max };
		for (int j = 0; j < 2 && process->profiled; j++) {
			unsigned k = 0;
			while (k < count && seen[k] != intervals[j])
				k++;
			if (k == count && count < INTERVALS_MAX && intervals[j] != 0)
				seen[count++] = intervals[j];
		}
	}
	for (unsigned i = 0; i < count; i++) {
		bp_bytes_text(seen[i], bp_style_of(options), text);
		fprintf(out, "%s%s", i == 0 ? "T = " : ", ", text);
	}
	if (count == 0)
		fputs("not profiled", out);
}

static uint64_t count_lost(const struct bp_aggregation *aggregation)
{
	uint64_t lost = 0;
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
		lost += aggregation->lost[reason];
	return lost;
}

static void write_first_line(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *subject = &profile->processes.data[aggregation->subject.i];
	const char *separator = options->utf8 ? " · " : " | ";
	char name[512], count[BP_QUANTITY_BYTES];
	uint32_t processes = profile->processes.count - 1;
	bp_terminal_text(last_part(bp_profile_text(profile, subject->program)), options->utf8,
		NAME_COLUMNS, name, sizeof name);
	fprintf(out, "%s%s%s", bp_style_bold(options), name, bp_style_end(options));
	if (aggregation->query.pid != 0)
		fprintf(out, "%spid %u alone", separator, aggregation->query.pid);
	else
		fprintf(out, "%spid %u", separator, subject->pid);
	if (processes > 1 && aggregation->query.pid == 0)
		fprintf(out, " and %u more process%s", processes - 1, processes == 2 ? "" : "es");
	bp_time_text(aggregation->duration_ns, count);
	fprintf(out, "%s%s%s", separator, count, separator);
	write_intervals(aggregation, options, out);
	bp_count_text(aggregation->samples, count);
	fprintf(out, "%s%s sample%s", separator, count, aggregation->samples == 1 ? "" : "s");
	bp_count_text(count_lost(aggregation), count);
	fprintf(out, "%s%s lost%s%g %% intervals\n", separator, count, separator,
		100 * aggregation->query.confidence);
}

/* What stands behind a total. */
static void write_remark(const struct bp_aggregation *aggregation, enum bp_metric metric, FILE *out)
{
	const struct bp_total *total = &aggregation->totals[metric];
	char time[BP_QUANTITY_BYTES];
	bp_time_text(aggregation->peak_at_ns, time);
	if (metric == BP_METRIC_PEAK && aggregation->peak_at_ns != BP_TIME_NEVER)
		fprintf(out, "at %s", time);
	else if (metric == BP_METRIC_TEMPORARY)
		fputs("freed before the next allocation", out);
	else if (total->bytes.interval.exact && total->objects.interval.exact)
		fputs("both exact", out);
	else if (total->bytes.interval.unknown)
		fputs("counted, not ended in order", out);
}

static void write_total(const struct bp_aggregation *aggregation, enum bp_metric metric,
	const struct bp_report_options *options, FILE *out)
{
	static const char *const names[BP_METRIC_COUNT] = { "live at exit", "peak", "allocated",
		"temporary" };
	const struct bp_total *total = &aggregation->totals[metric];
	char bytes[BP_QUANTITY_BYTES], objects[BP_QUANTITY_BYTES], name[BP_QUANTITY_BYTES + 16];
	snprintf(name, sizeof name, "%s", names[metric]);
	if (metric == BP_METRIC_LIVE && aggregation->query.has_at) {
		bp_time_text(aggregation->at_ns, bytes);
		snprintf(name, sizeof name, "live at %s", bytes);
	}
	if (!total->known) {
		fprintf(out, "  %-14s not known\n", name);
		return;
	}
	bp_bytes_figure_text(&total->bytes, bp_style_of(options), bytes);
	bp_objects_figure_text(&total->objects, bp_style_of(options), objects);
	strncat(objects, " objects", sizeof objects - strlen(objects) - 1);
	fprintf(out, "  %-14s %s%*s  %s%*s  %s", name, bytes,
		(int)(28 > bp_text_columns(bytes) ? 28 - bp_text_columns(bytes) : 0), "", objects,
		(int)(28 > bp_text_columns(objects) ? 28 - bp_text_columns(objects) : 0), "",
		bp_style_dim(options));
	write_remark(aggregation, metric, out);
	fprintf(out, "%s\n", bp_style_end(options));
}

void bp_write_wrapped(
	const struct bp_report_options *options, const char *mark, const char *text, FILE *out)
{
	char safe[4096];
	unsigned columns = options->columns < 40 ? 40 : options->columns, used = 4;
	bp_terminal_text(text, options->utf8, 2048, safe, sizeof safe);
	fprintf(out, "  %s ", mark);
	for (char *word = safe; *word != '\0';) {
		size_t bytes = strcspn(word, " ");
		char kept = word[bytes];
		word[bytes] = '\0';
		unsigned width = bp_text_columns(word);
		if (used > 4 && used + 1 + width > columns) {
			fputs("\n    ", out);
			used = 4;
		} else if (used > 4) {
			putc(' ', out);
			used++;
		}
		fputs(word, out);
		used += width;
		word += bytes + (kept != '\0');
	}
	putc('\n', out);
}

void bp_write_header(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_query *query = &aggregation->query;
	write_first_line(aggregation, options, out);
	if (query->has_from || query->has_to) {
		fprintf(out, "  from %.6g s to ",
			query->has_from ? (double)query->from_ns / 1e9 : 0.0);
		if (query->has_to)
			fprintf(out, "%.6g s\n", (double)query->to_ns / 1e9);
		else
			fputs("the end\n", out);
	}
	for (uint32_t i = 0; i < query->filter_count; i++)
		bp_write_wrapped(options, "only", query->filters[i].text, out);
	putc('\n', out);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
		write_total(aggregation, (enum bp_metric)metric, options, out);
	if (*aggregation->warnings != NULL)
		putc('\n', out);
	for (char **warning = aggregation->warnings; *warning != NULL; warning++) {
		fputs(bp_style_warn(options), out);
		bp_write_wrapped(options, "!", *warning, out);
		fputs(bp_style_end(options), out);
	}
}

void bp_write_subject(const struct bp_aggregation *aggregation, FILE *out)
{
	const struct bp_query *query = &aggregation->query;
	fprintf(out, "%s by %s", bp_metric_names[query->metric], bp_key_names[query->by]);
	if (query->cumulative)
		fputs(", cumulative", out);
	if (query->usable)
		fputs(", usable bytes", out);
}
