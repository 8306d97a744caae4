/* SPDX-License-Identifier: MIT */
/* The header block of reports for people; see header.h. */
#include "report/parts/header.h"

#include <string.h>

#include "base/path.h"
#include "policy/shown.h"
#include "query/filter.h"
#include "query/time_text.h"
#include "report/parts/explained_text.h"
#include "report/parts/objects_column.h"
#include "report/parts/resident_text.h"
#include "text/escape.h"
#include "text/name_text.h"

#define END_BY_DETACHING 6u /* enum bp_end_reason of the trace */
#define NAME_COLUMNS 60
#define WRAPPED_COLUMNS_MIN 20
#define CHARGED_NAMED 3 /* of allocation functions */
#define CHARGED_COLUMNS 40

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

/* "1 sample per 512 KiB", or between which intervals. */
static void intervals_text(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, char *to, size_t bytes)
{
	const struct bp_sampling *sampling = &aggregation->sampling;
	const uint32_t count = sampling->interval_count;
	char text[BP_QUANTITY_BYTES] = "not profiled";
	if (count > 0)
		bp_sampling_text(sampling->intervals[0], sampling->intervals[count - 1],
			bp_style_of(options), text);
	snprintf(to, bytes, "%s%s", text, count > 0 && sampling->automatic ? " (automatic)" : "");
}

static uint64_t count_lost(const struct bp_aggregation *aggregation)
{
	uint64_t lost = 0;
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
		lost += aggregation->lost[reason];
	return lost;
}

bool bp_lost_text(const struct bp_aggregation *aggregation, char *buffer)
{
	const uint64_t lost = count_lost(aggregation);
	char count[BP_QUANTITY_BYTES];
	bp_count_text(lost, count);
	if (aggregation->lost_more && lost == 0)
		snprintf(buffer, BP_QUANTITY_BYTES, "a part lost");
	else
		snprintf(buffer, BP_QUANTITY_BYTES, "%s%.32s lost",
			aggregation->lost_more ? "at least " : "", count);
	return lost > 0 || aggregation->lost_more;
}

/* The first line, broken between its pieces where the terminal ends. */
struct pieces {
	const struct bp_report_options *options;
	FILE *out;
	unsigned used; /* columns of the line so far */
};

static void put_piece(struct pieces *pieces, const char *text)
{
	unsigned width = bp_text_columns(text);
	if (pieces->used > 0 && pieces->used + 3 + width > pieces->options->columns) {
		fputs("\n  ", pieces->out);
		pieces->used = 2;
	} else if (pieces->used > 0) {
		fputs(pieces->options->utf8 ? " · " : " | ", pieces->out);
		pieces->used += 3;
	}
	fputs(text, pieces->out);
	pieces->used += width;
}

static void put_process(struct pieces *pieces, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *subject = &profile->processes.data[aggregation->subject.i];
	uint32_t others = profile->processes.count - 2;
	char text[64];
	if (aggregation->query.pid != 0)
		snprintf(text, sizeof text, "pid %u alone", aggregation->query.pid);
	else if (others > 0)
		snprintf(text, sizeof text, "pid %u and %u more process%s", subject->pid, others,
			others == 1 ? "" : "es");
	else
		snprintf(text, sizeof text, "pid %u", subject->pid);
	put_piece(pieces, text);
}

/* Of a process that ran before: since when the figures are, and whether some calls are not seen. */
static void put_attached(struct pieces *pieces, const struct bp_process *process)
{
	char text[96];
	if (!process->attached)
		return;
	if (process->covered_objects < process->loaded_objects)
		snprintf(text, sizeof text, "since attached, in %llu of %llu loaded files",
			(unsigned long long)process->covered_objects,
			(unsigned long long)process->loaded_objects);
	else
		snprintf(text, sizeof text, "since attached");
	put_piece(pieces, text);
}

/* Whose malloc it is, where it is not libc's; of a host, whose objects. */
static void put_allocator(
	struct pieces *pieces, const struct bp_profile *profile, const struct bp_process *process)
{
	const char *path = bp_profile_text(profile, process->allocator);
	const char *file = process->host ? path : bp_last_part(path);
	char name[NAME_COLUMNS + 1], text[NAME_COLUMNS + 16];
	if (profile->mapped || *file == '\0' || strncmp(file, "libc.so", 7) == 0 ||
		strncmp(file, "libc-", 5) == 0)
		return;
	bp_terminal_text(file, pieces->options->utf8, NAME_COLUMNS, name, sizeof name);
	snprintf(text, sizeof text, process->host ? "objects of %s" : "malloc of %s", name);
	put_piece(pieces, text);
}

/* How the figures were made: by which interval, from how many samples, with which certainty. */
static void put_method(struct pieces *pieces, const struct bp_aggregation *aggregation)
{
	const struct bp_query *query = &aggregation->query;
	char text[512], count[BP_QUANTITY_BYTES];
	if (aggregation->profile->mapped) {
		const struct bp_figure *live = &aggregation->totals[BP_METRIC_LIVE].bytes;
		put_piece(pieces, live->lower_bound || live->upper_bound
					  ? "what it mapped itself, as far as it was recorded"
					  : "what it mapped itself, exactly");
		return;
	}
	intervals_text(aggregation, pieces->options, text, sizeof text);
	put_piece(pieces, text);
	bp_count_text(aggregation->samples, count);
	snprintf(text, sizeof text, "%s sample%s", count, aggregation->samples == 1 ? "" : "s");
	put_piece(pieces, text);
	bp_lost_text(aggregation, text);
	put_piece(pieces, text);
	bp_percent_text(query->confidence, count);
	snprintf(text, sizeof text, "%s %% intervals", count);
	put_piece(pieces, text);
	if (query->estimator != BP_ESTIMATOR_DEFAULT) {
		snprintf(text, sizeof text, "estimator %s", bp_estimator_names[query->estimator]);
		put_piece(pieces, text);
	}
	if (query->method != BP_METHOD_DEFAULT) {
		snprintf(text, sizeof text, "interval method %s", bp_method_names[query->method]);
		put_piece(pieces, text);
	}
}

static void write_first_line(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *subject = &profile->processes.data[aggregation->subject.i];
	struct pieces pieces = { .options = options, .out = out };
	char text[512], count[BP_QUANTITY_BYTES];
	const char *name = bp_process_name(profile, subject);
	if (*name == '\0') /* a file that does not name its program */
		name = bp_last_part(bp_profile_text(profile, subject->file));
	bp_terminal_text(name, options->utf8, NAME_COLUMNS, text, sizeof text);
	fputs(bp_style_bold(options), out);
	put_piece(&pieces, text);
	fputs(bp_style_end(options), out);
	if (subject->pid != 0 || profile->processes.count > 2)
		put_process(&pieces, aggregation);
	bp_time_text(aggregation->duration_ns, count);
	put_piece(&pieces, (subject->lacks & BP_LACKS_TIMES) != 0 ? "a snapshot" : count);
	put_attached(&pieces, subject);
	put_allocator(&pieces, profile, subject);
	put_method(&pieces, aggregation);
	putc('\n', out);
}

/* What stands behind a total. */
static void remark_text(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, enum bp_metric metric, char *to, size_t bytes)
{
	const struct bp_profile *profile = aggregation->profile;
	const uint64_t start_ns = profile->processes.data[profile->root.i].start_time_ns;
	const struct bp_total *total = &aggregation->totals[metric];
	char time[BP_QUANTITY_BYTES], resident[BP_QUANTITY_BYTES + 16];
	*to = '\0';
	bp_time_text(aggregation->peak_at_ns, time);
	if (metric == BP_METRIC_PEAK && aggregation->peak_at_ns != BP_TIME_NEVER) {
		bp_resident_remark(
			aggregation, options, start_ns + aggregation->peak_at_ns, resident);
		snprintf(to, bytes, "at %s%s%s", time, *resident != '\0' ? ", " : "", resident);
		return;
	}
	if (metric == BP_METRIC_LIVE) {
		bp_resident_remark(aggregation, options, start_ns + aggregation->at_ns, resident);
		snprintf(to, bytes, "%s", resident);
	}
	if (*to != '\0')
		return;
	if (metric == BP_METRIC_TEMPORARY)
		snprintf(to, bytes, "freed before the next allocation");
	else if (total->bytes.interval.exact && total->objects.interval.exact)
		snprintf(to, bytes, "both exact");
	else if (total->bytes.interval.unknown)
		snprintf(to, bytes, "counted, not ended in order");
}

const char *bp_live_name(const struct bp_aggregation *aggregation)
{
	const struct bp_process *subject =
		&aggregation->profile->processes.data[aggregation->subject.i];
	if (subject->attached && subject->end_reason == END_BY_DETACHING)
		return "live at the end";
	return subject->ended || (subject->lacks & BP_LACKS_COUNTERS) ? "live at exit"
								      : "live at the end";
}

/* A line of the totals as text. */
struct total_line {
	char name[BP_QUANTITY_BYTES + 16], bytes[BP_QUANTITY_BYTES];
	char objects[BP_QUANTITY_BYTES + 16], remark[2 * BP_QUANTITY_BYTES + 32];
};

static void fill_figures(const struct bp_total *total, bool peak, const struct bp_query *query,
	const struct bp_report_options *options, struct total_line *line)
{
	const struct bp_figure bytes = peak ? bp_shown_peak(&total->bytes) : total->bytes;
	const struct bp_figure objects = peak ? bp_shown_peak(&total->objects) : total->objects;
	char text[BP_QUANTITY_BYTES];
	bp_bytes_figure_text(&bytes, bp_style_of(options), line->bytes);
	bp_objects_figure_text(&objects, bp_style_of(options), text);
	if (!bp_objects_are_asked(query) && !total->objects.interval.unknown &&
		bp_figure_is_wide(&total->objects))
		return;
	snprintf(line->objects, sizeof line->objects,
		strcmp(text, "1") == 0		 ? "%s object"
		: strcmp(text, "not known") == 0 ? "%s"
						 : "%s objects",
		text);
}

/* Is what was live at the moment of the peak shown, too? */
static bool has_peak_moment(const struct bp_aggregation *aggregation)
{
	return aggregation->query.metric == BP_METRIC_PEAK &&
	       aggregation->peak_at_ns != BP_TIME_NEVER;
}

static void fill_total(const struct bp_aggregation *aggregation, enum bp_metric metric,
	const struct bp_report_options *options, struct total_line *line)
{
	const bool mapped = aggregation->profile->mapped;
	const char *const names[BP_METRIC_COUNT] = { mapped ? "mapped at the end"
							    : bp_live_name(aggregation),
		mapped ? "mapped at the peak" : "peak", mapped ? "mapped in all" : "allocated",
		"temporary" };
	const struct bp_total *total = &aggregation->totals[metric];
	char text[BP_QUANTITY_BYTES];
	*line = (struct total_line){ 0 };
	snprintf(line->name, sizeof line->name, "%s", names[metric]);
	if (metric == BP_METRIC_LIVE && aggregation->query.has_at) {
		if (aggregation->query.of_day)
			bp_moment_text(aggregation->at_ns, true, text, sizeof text);
		else
			bp_time_text(aggregation->at_ns, text);
		snprintf(line->name, sizeof line->name, "%s at %s", mapped ? "mapped" : "live",
			text);
	}
	if (!total->known) {
		snprintf(line->bytes, sizeof line->bytes, "not known");
		return;
	}
	fill_figures(total, metric == BP_METRIC_PEAK, &aggregation->query, options, line);
	remark_text(aggregation, options, metric, line->remark, sizeof line->remark);
}

/* What was live at the moment that is named as the peak's, which rows of metric peak add up to. */
static void fill_peak_moment(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, struct total_line *line)
{
	char text[BP_QUANTITY_BYTES];
	*line = (struct total_line){ .remark = "what the rows add up to" };
	bp_time_text(aggregation->peak_at_ns, text);
	snprintf(line->name, sizeof line->name, "%s at %s",
		aggregation->profile->mapped ? "mapped" : "live", text);
	fill_figures(&aggregation->peak_moment, false, &aggregation->query, options, line);
}

static void put_padded(const char *text, unsigned columns, FILE *out)
{
	unsigned width = bp_text_columns(text);
	fprintf(out, "%s%*s", text, (int)(columns > width ? columns - width : 0), "");
}

/* Widths of the columns. On a narrow terminal the gaps shrink, then objects go. */
struct total_layout {
	unsigned name, bytes, objects, gap;
};

static void write_total(const struct total_line *line, const struct total_layout *layout,
	const struct bp_report_options *options, FILE *out)
{
	const unsigned gap = layout->gap;
	const unsigned used = 2 + layout->name + gap + layout->bytes;
	const unsigned whole = used + gap + layout->objects;
	const bool has_objects = whole <= options->columns && line->objects[0] != '\0';
	const bool has_remark = line->remark[0] != '\0' &&
				whole + gap + bp_text_columns(line->remark) <= options->columns;
	fputs("  ", out);
	if (used > options->columns)
		fprintf(out, "%s\n    ", line->name);
	else
		put_padded(line->name, layout->name + gap, out);
	put_padded(line->bytes, has_objects || has_remark ? layout->bytes + gap : 0, out);
	if (has_objects || has_remark)
		put_padded(line->objects, has_remark ? layout->objects + gap : 0, out);
	if (has_remark)
		fprintf(out, "%s%s%s", bp_style_dim(options), line->remark, bp_style_end(options));
	putc('\n', out);
}

/* The totals in columns as wide as they need; a remark that does not fit is left out. */
static void write_totals(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	struct total_line lines[BP_METRIC_COUNT + 1];
	struct total_layout layout = { .name = 12, .gap = 3 };
	unsigned count = 0;
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		if (aggregation->absent & 1u << metric)
			continue;
		fill_total(aggregation, (enum bp_metric)metric, options, &lines[count++]);
		if (metric == BP_METRIC_PEAK && has_peak_moment(aggregation))
			fill_peak_moment(aggregation, options, &lines[count++]);
	}
	for (unsigned i = 0; i < count; i++) {
		unsigned widths[] = { bp_text_columns(lines[i].name),
			bp_text_columns(lines[i].bytes), bp_text_columns(lines[i].objects) };
		layout.name = widths[0] > layout.name ? widths[0] : layout.name;
		layout.bytes = widths[1] > layout.bytes ? widths[1] : layout.bytes;
		layout.objects = widths[2] > layout.objects ? widths[2] : layout.objects;
	}
	if (2 + layout.name + 3 + layout.bytes + 3 + layout.objects > options->columns)
		layout.gap = 1;
	for (unsigned i = 0; i < count; i++)
		write_total(&lines[i], &layout, options, out);
}

/* Words, with a style on each line; `end` ends it. */
static void write_words(const struct bp_report_options *options, const char *style,
	const char *mark, const char *text, FILE *out)
{
	const char *end = *style != '\0' ? bp_style_end(options) : "";
	const unsigned columns =
		options->columns < WRAPPED_COLUMNS_MIN ? WRAPPED_COLUMNS_MIN : options->columns;
	char safe[4096];
	unsigned used = 3 + bp_text_columns(mark);
	bool begun = false;
	bp_terminal_text(text, options->utf8, 2048, safe, sizeof safe);
	fprintf(out, "%s  %s ", style, mark);
	for (char *word = safe; *word != '\0';) {
		size_t bytes = strcspn(word, " ");
		char kept = word[bytes];
		word[bytes] = '\0';
		unsigned width = bp_text_columns(word);
		if (begun && used + 1 + width > columns) {
			fprintf(out, "%s\n%s    ", end, style);
			used = 4;
		} else if (begun) {
			putc(' ', out);
			used++;
		}
		fputs(word, out);
		used += width;
		begun = true;
		word += bytes + (kept != '\0');
	}
	fprintf(out, "%s\n", end);
}

void bp_write_wrapped(
	const struct bp_report_options *options, const char *mark, const char *text, FILE *out)
{
	write_words(options, "", mark, text, out);
}

void bp_write_warning(const struct bp_report_options *options, const char *text, FILE *out)
{
	write_words(options, bp_style_warn(options), "!", text, out);
}

void bp_write_note(const struct bp_report_options *options, const char *text, FILE *out)
{
	write_words(options, bp_style_dim(options), " ", text, out);
}

bool bp_nothing_matches(const struct bp_aggregation *aggregation)
{
	return aggregation->query.filter_count > 0 && aggregation->samples > 0 &&
	       aggregation->totals[BP_METRIC_ALLOCATED].samples == 0 &&
	       aggregation->totals[aggregation->query.metric].samples == 0;
}

/* What the figures are about: a window, filters. */
static void write_selection(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_query *query = &aggregation->query;
	char from[64] = "the beginning", to[64] = "the end";
	if (query->has_from || !query->of_day)
		bp_moment_text(
			query->has_from ? query->from_ns : 0, query->of_day, from, sizeof from);
	if (query->has_to)
		bp_moment_text(query->to_ns, query->of_day, to, sizeof to);
	if (query->has_from || query->has_to)
		fprintf(out, "  from %s to %s\n", from, to);
	for (uint32_t i = 0; i < query->filter_count; i++)
		bp_write_wrapped(options, "only", query->filters[i].text, out);
}

/* Why a metric is not there. */
static void write_absent(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	unsigned absent = aggregation->absent;
	if (bp_without_what_lives(&aggregation->query)) {
		fprintf(out, "  %slive is absent: what lives at the end was not freed%s\n",
			bp_style_dim(options), bp_style_end(options));
		absent &= ~(1u << BP_METRIC_LIVE);
	}
	if (aggregation->lacks & BP_LACKS_FREES)
		fprintf(out,
			"  %slive, peak and temporary are absent: this file does not tell what was freed%s\n",
			bp_style_dim(options), bp_style_end(options));
	else if (absent == 1u << BP_METRIC_TEMPORARY && !aggregation->profile->mapped)
		fprintf(out, "  %stemporary is absent: objects were not counted%s\n",
			bp_style_dim(options), bp_style_end(options));
	else if ((absent & ~(1u << BP_METRIC_TEMPORARY)) != 0)
		fprintf(out, "  %s%speak and temporary are absent: this file is a snapshot%s\n",
			bp_style_dim(options),
			absent & 1u << BP_METRIC_ALLOCATED ? "allocated, " : "",
			bp_style_end(options));
}

/* The totals, and what must be said beside them. */
static void write_figures(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	write_totals(aggregation, options, out);
	if (aggregation->peak_instead)
		bp_write_note(options,
			"Rows are of the peak, because no more than a quarter of it is live at "
			"exit (--metric live shows that).",
			out);
	bp_write_resident_line(aggregation, options, out);
	write_absent(aggregation, options, out);
}

/* Upper limits of what nothing was seen of are the same for every metric: one line. */
static void write_nothing(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	char text[BP_QUANTITY_BYTES];
	bp_bytes_figure_text(
		&aggregation->totals[aggregation->query.metric].bytes, bp_style_of(options), text);
	fprintf(out, "  nothing was sampled of it: %s\n", text);
}

void bp_write_header(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	write_first_line(aggregation, options, out);
	write_selection(aggregation, options, out);
	bp_write_explained(options, out);
	putc('\n', out);
	if (bp_nothing_matches(aggregation))
		write_nothing(aggregation, options, out);
	else
		write_figures(aggregation, options, out);
	if (*aggregation->warnings != NULL || aggregation->sampling.paused)
		putc('\n', out);
	bp_write_pauses(aggregation, options, out);
	for (char **warning = aggregation->warnings; *warning != NULL; warning++) {
		bp_write_warning(options, *warning, out);
	}
}

bool bp_names_as_recorded(const struct bp_profile *profile, enum bp_key by)
{
	bool hosts = false, others = false;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (process->samples > 0)
			*(process->host ? &hosts : &others) = true;
	}
	return by == BP_KEY_LABEL || by == BP_KEY_ORIGIN || (hosts && !others);
}

unsigned bp_report_name(const struct bp_report_options *options, const char *name, unsigned columns,
	char *buffer, size_t bytes)
{
	return (options->names_as_recorded ? bp_terminal_text : bp_terminal_name)(
		name, options->utf8, columns, buffer, bytes);
}

void bp_write_charged(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const char *names[CHARGED_NAMED];
	const uint32_t count = bp_aggregation_charged_to_callers(aggregation, names, CHARGED_NAMED);
	char text[1024], name[BP_QUANTITY_BYTES + 4 * NAME_COLUMNS];
	size_t used = (size_t)snprintf(text, sizeof text, "charged to their callers:");
	if (count == 0)
		return;
	for (uint32_t i = 0; i < count && i < CHARGED_NAMED; i++) {
		bp_report_name(options, names[i], CHARGED_COLUMNS, name, sizeof name);
		used += (size_t)snprintf(
			text + used, sizeof text - used, "%s %s", i > 0 ? "," : "", name);
	}
	if (count > CHARGED_NAMED)
		used += (size_t)snprintf(
			text + used, sizeof text - used, " and %u more", count - CHARGED_NAMED);
	snprintf(text + used, sizeof text - used, " (--allocators none shows them)");
	bp_write_note(options, text, out);
}

void bp_write_subject(const struct bp_aggregation *aggregation, FILE *out)
{
	const struct bp_query *query = &aggregation->query;
	fprintf(out, "%s by %s", bp_metric_word(query->metric, aggregation->profile->mapped),
		bp_query_by(query));
	if (query->cumulative)
		fputs(", cumulative", out);
	if (query->usable)
		fputs(", usable bytes", out);
}
