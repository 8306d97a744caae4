/* SPDX-License-Identifier: MIT */
/*
 * A line is made of pieces in the order of their weight; a piece for which there is no room is left
 * out, so that a narrow terminal shows less and nothing wraps.
 */
#include "cli/live/live_head.h"

#include <math.h>
#include <string.h>

#include "policy/shown.h"
#include "report/parts/explained_text.h"
#include "report/parts/header.h"
#include "text/escape.h"
#include "trace/format.h"

#define NAME_BYTES 1024
#define PROGRAM_COLUMNS 40

struct line {
	const struct bp_live_frame *frame;
	FILE *out;
	unsigned used;
};

/* `columns`: that the text takes. */
static void put_text(struct line *line, const char *before, const char *text, unsigned columns)
{
	const unsigned gap = line->used > 0 ? 3 : 0;
	const struct bp_report_options *options = &line->frame->options;
	if (line->used + gap + columns > options->columns)
		return;
	if (gap > 0)
		fputs(options->utf8 ? " · " : " | ", line->out);
	fprintf(line->out, "%s%s%s", before, text, *before != '\0' ? bp_style_end(options) : "");
	line->used += gap + columns;
}

static void put(struct line *line, const char *text)
{
	put_text(line, "", text, bp_text_columns(text));
}

static void put_program(
	struct line *line, const struct bp_live_source *source, const struct bp_process *process)
{
	const struct bp_report_options *options = &line->frame->options;
	const unsigned room = options->columns < 60 ? options->columns / 4 : PROGRAM_COLUMNS;
	const char *program = bp_process_name(&source->profile, process);
	char name[NAME_BYTES], text[NAME_BYTES + 64];
	unsigned columns = bp_terminal_text(
		*program != '\0' ? program : "(no name)", options->utf8, room, name, sizeof name);
	const uint32_t others =
		source->profile.processes.count > 2 ? source->profile.processes.count - 2 : 0;
	int used = snprintf(text, sizeof text, "%s", name);
	if (process->pid != 0)
		used += snprintf(text + used, sizeof text - (size_t)used, " (pid %u", process->pid);
	if (process->pid != 0 && others > 0)
		used += snprintf(text + used, sizeof text - (size_t)used, " and %u more", others);
	if (process->pid != 0)
		snprintf(text + used, sizeof text - (size_t)used, ")");
	put_text(
		line, bp_style_bold(options), text, columns + bp_text_columns(text + strlen(name)));
}

static void put_state(
	struct line *line, const struct bp_live_view *view, const struct bp_live_source *source)
{
	static const char *const states[] = { [BP_LIVE_RUNS] = "running",
		[BP_LIVE_ENDED] = "ended after",
		[BP_LIVE_UNKNOWN] = "nobody seen to write, until",
		[BP_LIVE_CUT] = "cannot be read any more, until" };
	char time[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES + 64];
	const struct bp_report_options *options = &line->frame->options;
	bp_time_text(view->now_ns, time);
	/* Of a file without times nothing can be said. */
	if (source->state != BP_LIVE_CUT && view->now_ns == 0)
		snprintf(text, sizeof text, "recorded");
	else
		snprintf(text, sizeof text, "%s %s", states[source->state], time);
	put_text(line, source->state == BP_LIVE_RUNS ? "" : bp_style_warn(options), text,
		bp_text_columns(text));
	if (line->frame->paused)
		put_text(line, bp_style_warn(options), "PAUSED", 6);
}

static void put_sampling(struct line *line, const struct bp_aggregation *aggregation)
{
	const struct bp_sampling *sampling = &aggregation->sampling;
	const struct bp_report_options *options = &line->frame->options;
	char text[2 * BP_QUANTITY_BYTES + 32], count[BP_QUANTITY_BYTES];
	if (aggregation->profile->mapped) {
		put(line, "mappings");
	} else if (sampling->interval_count > 0) {
		bp_sampling_text(sampling->intervals[0],
			sampling->intervals[sampling->interval_count - 1], bp_style_of(options),
			text);
		put(line, text);
	}
	bp_count_text(aggregation->samples, count);
	const char *thing = aggregation->profile->mapped ? "object" : "sample";
	snprintf(text, sizeof text, "%s %s%s", count, thing, aggregation->samples == 1 ? "" : "s");
	put(line, text);
	const bool lost = bp_lost_text(aggregation, text);
	put_text(line, lost ? bp_style_warn(options) : "", text, bp_text_columns(text));
}

void bp_live_write_process(const struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_live_frame *frame, FILE *out)
{
	struct line line = { .frame = frame, .out = out };
	const uint32_t subject = view->made ? view->aggregation.subject.i : source->profile.root.i;
	put_program(&line, source, &source->profile.processes.data[subject]);
	put_state(&line, view, source);
	if (view->made)
		put_sampling(&line, &view->aggregation);
	putc('\n', out);
}

static void put_total(struct line *line, const struct bp_live_view *view, enum bp_metric metric)
{
	static const char *const names[] = { "live", "peak", "allocated", "temporary" };
	static const char *const of_mapped[] = { "mapped", "peak", "mapped in all", "" };
	const bool mapped = view->aggregation.profile->mapped;
	const struct bp_total *total = &view->aggregation.totals[metric];
	const struct bp_quantity_style style = bp_style_of(&line->frame->options);
	char figure[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES + 32];
	if (!total->known || (view->aggregation.absent & 1u << metric) != 0)
		return;
	const struct bp_figure *known = view->objects ? &total->objects : &total->bytes;
	const struct bp_figure shown = metric == BP_METRIC_PEAK ? bp_shown_peak(known) : *known;
	(view->objects ? bp_objects_figure_text : bp_bytes_figure_text)(&shown, style, figure);
	snprintf(text, sizeof text, "%s %s%s%s", (mapped ? of_mapped : names)[metric], figure,
		view->objects ? " objects" : "",
		mapped && metric == BP_METRIC_LIVE && shown.interval.exact ? ", exactly" : "");
	put_text(line, metric == BP_METRIC_LIVE ? bp_style_bold(&line->frame->options) : "", text,
		bp_text_columns(text));
}

/* What all threads allocated, by their counters. */
static void put_counted(
	struct line *line, const struct bp_live_view *view, const struct bp_live_source *source)
{
	const struct bp_quantity_style style = bp_style_of(&line->frame->options);
	char figure_text[BP_QUANTITY_BYTES], rate[BP_QUANTITY_BYTES] = "",
					     text[2 * BP_QUANTITY_BYTES + 32];
	struct bp_figure figure = { .interval = { .low = 0, .unknown = true } };
	for (uint32_t i = 1; i < source->profile.processes.count; i++) {
		const struct bp_process *process = &source->profile.processes.data[i];
		const uint64_t width = process->bytes_allocated.high - process->bytes_allocated.low;
		if ((process->lacks & BP_LACKS_COUNTERS) || width >= BP_ARMED_WITHOUT_LIMIT) {
			if (view->made)
				put_total(line, view, BP_METRIC_ALLOCATED);
			return;
		}
		figure.interval.low +=
			(double)(process->bytes_allocated.low + process->bytes_off.low);
		figure.interval.high +=
			(double)(process->bytes_allocated.high + process->bytes_off.high);
	}
	/* Known to the object that each thread is in the middle of. */
	if (figure.interval.high - figure.interval.low <= 1e-4 * figure.interval.high)
		bp_bytes_text((uint64_t)figure.interval.high, style, figure_text);
	else
		bp_bytes_figure_text(&figure, style, figure_text);
	if (isfinite(view->rate) && source->state == BP_LIVE_RUNS)
		bp_bytes_text((uint64_t)view->rate, style, rate);
	snprintf(text, sizeof text, "%s %s%s%s%s",
		source->profile.mapped ? "mapped in all" : "allocated", figure_text,
		*rate != '\0' ? ", " : "", rate, *rate != '\0' ? "/s" : "");
	put(line, text);
}

/* Where malloc explains little of what is resident; of a process that has ended, was resident at
 * most. What the process has beside malloc is left out where the line has no room for it. */
static void put_explained(
	struct line *line, const struct bp_live_view *view, const struct bp_live_source *source)
{
	const struct bp_explained *explained = &view->explained;
	const struct bp_report_options *options = &line->frame->options;
	const char *heap = bp_explained_heap(explained);
	char share[BP_QUANTITY_BYTES], bytes[BP_QUANTITY_BYTES], most[BP_QUANTITY_BYTES + 64] = "";
	char text[2 * BP_QUANTITY_BYTES + 128];
	const unsigned used = line->used;
	if (!explained->little)
		return;
	const struct bp_interval part = bp_explained_share(explained);
	if (explained->since_attached)
		snprintf(share, sizeof share, "what it held before is not known");
	else
		bp_share_explained_text(&part, share);
	if (source->resident_bytes == 0) {
		bp_bytes_text(explained->resident_bytes, bp_style_of(options), bytes);
		snprintf(most, sizeof most, "process at its highest %s: ", bytes);
	}
	if (heap != NULL) {
		snprintf(text, sizeof text, "%s%s, the rest has %s", most, share, heap);
		put_text(line, bp_style_warn(options), text, bp_text_columns(text));
	}
	if (line->used > used)
		return;
	snprintf(text, sizeof text, "%s%s", most, share);
	put_text(line, bp_style_warn(options), text, bp_text_columns(text));
}

/* What of all live objects was not resident at the last look, if that something was not is
 * established. */
static void put_absent(struct line *line, const struct bp_live_view *view)
{
	const struct bp_residency *residency = &view->residency.of;
	const struct bp_figure figure = { .interval = residency->absent };
	char bytes[BP_QUANTITY_BYTES], time[BP_QUANTITY_BYTES], text[2 * BP_QUANTITY_BYTES + 48];
	if (!view->shows_residency || !view->residency.known || !(residency->absent.low >= 1))
		return;
	bp_bytes_figure_text(&figure, bp_style_of(&line->frame->options), bytes);
	bp_time_text(residency->at_ns, time);
	snprintf(text, sizeof text, "live and not resident %s at %s", bytes, time);
	put(line, text);
}

void bp_live_write_totals(const struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_live_frame *frame, FILE *out)
{
	struct line line = { .frame = frame, .out = out };
	char bytes[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES + 32];
	if (view->made)
		put_total(&line, view, BP_METRIC_LIVE);
	if (source->resident_bytes > 0) {
		bp_bytes_text(source->resident_bytes, bp_style_of(&frame->options), bytes);
		snprintf(text, sizeof text, "resident %s", bytes);
		put(&line, text);
	}
	put_explained(&line, view, source);
	put_counted(&line, view, source);
	if (view->made)
		put_total(&line, view, BP_METRIC_PEAK);
	put_absent(&line, view); /* where there is room behind all that stood there before */
	putc('\n', out);
}

/* What was live at a moment: the last that was seen until then. */
static double live_at(const struct bp_live_view *view, uint64_t time_ns)
{
	double bytes = view->history[0].bytes;
	for (uint32_t i = 0; i < view->history_count && view->history[i].time_ns <= time_ns; i++)
		bytes = view->history[i].bytes;
	return bytes;
}

void bp_live_write_timeline(
	const struct bp_live_view *view, const struct bp_live_frame *frame, FILE *out)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char ascii[] = " .:-=+*#%";
	char scale[BP_QUANTITY_BYTES], span[BP_QUANTITY_BYTES], label[3 * BP_QUANTITY_BYTES];
	double most = 0;
	if (view->history_count < 2) {
		putc('\n', out);
		return;
	}
	for (uint32_t i = 0; i < view->history_count; i++)
		most = fmax(most, view->history[i].bytes);
	const uint64_t first = view->history[0].time_ns;
	const bool mapped = view->made && view->aggregation.profile->mapped;
	const uint64_t last = view->history[view->history_count - 1].time_ns;
	bp_bytes_text((uint64_t)most, bp_style_of(&frame->options), scale);
	bp_time_text(last - first, span);
	snprintf(label, sizeof label, " 0..%s %s, %s", scale, mapped ? "mapped" : "live", span);
	unsigned columns = frame->options.columns > bp_text_columns(label)
				   ? frame->options.columns - bp_text_columns(label)
				   : 0;
	if (columns > 120)
		columns = 120;
	for (unsigned i = 0; i < columns; i++) {
		const double share = columns > 1 ? (double)i / (columns - 1) : 1;
		const double bytes =
			live_at(view, first + (uint64_t)(share * (double)(last - first)));
		int level = most > 0 ? (int)ceil(bytes / most * 8) : 0;
		level = level < 0 ? 0 : level > 8 ? 8 : level;
		if (frame->options.utf8)
			fputs(blocks[level], out);
		else
			putc(ascii[level], out);
	}
	if (columns > 0)
		fprintf(out, "%s%s%s", bp_style_dim(&frame->options), label,
			bp_style_end(&frame->options));
	putc('\n', out);
}

void bp_live_write_subject(
	const struct bp_live_view *view, const struct bp_live_frame *frame, FILE *out)
{
	struct line line = { .frame = frame, .out = out };
	const struct bp_report_options *options = &frame->options;
	char text[NAME_BYTES + 64], name[NAME_BYTES], time[BP_QUANTITY_BYTES];
	const bool mapped = view->made && view->aggregation.profile->mapped;
	snprintf(text, sizeof text, "%s by %s%s%s", bp_metric_word(view->metric, mapped),
		bp_live_view_key(view), view->cumulative ? ", cumulative" : "",
		view->usable ? ", usable bytes" : "");
	put_text(&line, bp_style_bold(options), text, bp_text_columns(text));
	if (view->drilled != NULL) {
		unsigned columns = bp_terminal_text(
			view->drilled, options->utf8, options->columns / 2, name, sizeof name);
		snprintf(text, sizeof text, "under %s", name);
		put_text(&line, "", text, 6 + columns);
		if (view->by != BP_KEY_STACK)
			put(&line, "who calls whom to get there");
	} else {
		snprintf(text, sizeof text, "by %s%s", bp_live_sort_names[view->sort],
			view->ascending ? ", smallest first" : "");
		put(&line, text);
	}
	if (view->filter[0] != '\0') {
		unsigned columns = bp_terminal_text(
			view->filter, options->utf8, options->columns / 3, name, sizeof name);
		snprintf(text, sizeof text, "only %s", name);
		put_text(&line, bp_style_warn(options), text, 5 + columns);
	}
	bp_time_text(view->base_ns, time);
	if (frame->rows > 0 && view->drilled == NULL && view->metric != BP_METRIC_PEAK) {
		snprintf(text, sizeof text, "change since %s", time);
		put(&line, text);
	}
	putc('\n', out);
}

/* Text from elsewhere, cut to the width. */
static void write_said(const char *text, const struct bp_live_frame *frame, FILE *out)
{
	char cut[NAME_BYTES * 4];
	bp_terminal_text(text, frame->options.utf8, frame->options.columns, cut, sizeof cut);
	fprintf(out, "%s\n", cut);
}

static void write_keys(const struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_live_frame *frame, FILE *out)
{
	static const char *const keys[] = { "m metric", "k key", "s order", "/ filter",
		"Enter look into", "space pause" };
	struct line line = { .frame = frame, .out = out };
	char time[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES + 64];
	bp_time_text(frame->refresh_ns, time);
	put(&line, "q quit");
	put(&line, "h help");
	if (source->state == BP_LIVE_ENDED)
		put(&line, "the program has ended");
	else if (frame->lengthened)
		snprintf(text, sizeof text, "every %s, to cost little", time);
	else
		snprintf(text, sizeof text, "every %s", time);
	if (source->state != BP_LIVE_ENDED)
		put(&line, text);
	if (view->made && view->aggregation.warnings[0] != NULL)
		put(&line, "notes: h");
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		put(&line, keys[i]);
	putc('\n', out);
}

void bp_live_write_foot(const struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_live_frame *frame, FILE *out)
{
	char text[NAME_BYTES];
	fputs(bp_style_dim(&frame->options), out);
	if (frame->prompt != NULL) {
		snprintf(text, sizeof text, "/%s_", frame->prompt);
		write_said(text, frame, out);
	} else if (frame->message != NULL) {
		write_said(frame->message, frame, out);
	} else if (source->state == BP_LIVE_CUT) {
		write_said(source->failure.text, frame, out);
	} else {
		write_keys(view, source, frame, out);
	}
	fputs(bp_style_end(&frame->options), out);
}
