/* SPDX-License-Identifier: MIT */
/*
 * The check for people: the totals of each process, the groups of rows (how many figures there are,
 * how many missed, and how many may), the rows that missed, those of many samples that are furthest
 * off, and the verdict last, where a terminal still shows it.
 */
#include "report/verify/verify_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "policy/shown.h"
#include "report/parts/header.h"
#include "text/escape.h"
#include "text/quantity.h"

/* Processes of a tree that are shown one by one. */
#define PROCESSES_SHOWN 5u
#define NAME_COLUMNS_MIN 20u

struct page {
	const struct bp_verify *verify;
	const struct bp_report_options *options;
	struct bp_quantity_style style;
	FILE *out;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void write_name(const struct page *page, const char *name, unsigned columns)
{
	char text[4096];
	(void)bp_report_name(page->options, name, columns, text, sizeof text);
	fputs(text, page->out);
}

static void write_padded(const struct page *page, const char *text, unsigned columns)
{
	const unsigned width = bp_text_columns(text);
	fprintf(page->out, "%*s%s", (int)(columns > width + 2 ? columns - width : 2), "", text);
}

/* One total: what was counted, what is shown. `judged`: a miss is worth a word. */
static void write_total(const struct page *page, const struct bp_verify_figure *figures,
	const char *name, bool peak, bool judged_bytes, bool judged_objects)
{
	const struct bp_verify_figure *counts = &figures[BP_VERIFY_OBJECTS];
	char counted[BP_QUANTITY_BYTES], bytes[BP_QUANTITY_BYTES], objects[BP_QUANTITY_BYTES];
	const struct bp_verify_figure *figure = &figures[BP_VERIFY_BYTES];
	const bool missed_bytes = judged_bytes && !figure->held,
		   missed_objects = judged_objects && !counts->held;
	fprintf(page->out, "  %-14s", name);
	bp_bytes_text(figure->truth, page->style, counted);
	write_padded(page, counted, 12);
	const struct bp_figure shown = peak ? bp_shown_peak(&figure->shown) : figure->shown;
	bp_bytes_figure_text(&shown, page->style, bytes);
	write_padded(page, bytes, 26);
	bp_count_text(counts->truth, counted);
	write_padded(page, counted, 15);
	const struct bp_figure number = peak ? bp_shown_peak(&counts->shown) : counts->shown;
	bp_objects_figure_text(&number, page->style, objects);
	write_padded(page, objects, 24);
	if (missed_bytes || missed_objects)
		fprintf(page->out, "  missed%s",
			!missed_bytes	  ? " (objects)"
			: !missed_objects ? " (bytes)"
					  : "");
	putc('\n', page->out);
}

static void write_metric(const struct page *page, const struct bp_verify_process *process,
	enum bp_metric metric, const char *name)
{
	write_total(page, process->totals[metric], name, metric == BP_METRIC_PEAK,
		bp_verify_is_judged(process, metric, BP_VERIFY_BYTES),
		bp_verify_is_judged(process, metric, BP_VERIFY_OBJECTS));
}

/* What keeps the exact sums from being the whole truth. */
static void write_gaps(const struct page *page, const struct bp_verify_process *process)
{
	const struct bp_process_verify_sums *verify_sums = &process->verify_sums;
	FILE *out = page->out;
	if (!process->ended)
		fputs("  It did not end in order: counted is what it had then, and an object in "
		      "flight may be missing.\n",
			out);
	if (verify_sums->uncounted_objects > 0)
		fprintf(out,
			"  %" PRIu64 " objects could not be counted one by one (no memory, or "
			"the trace is full).\n",
			verify_sums->uncounted_objects);
	if (verify_sums->missed_frees > 0)
		fprintf(out,
			"  %" PRIu64 " frees were missed: what is counted as live is too much.\n",
			verify_sums->missed_frees);
	if (verify_sums->nested_objects > 0)
		fprintf(out,
			"  %" PRIu64 " objects of signal handlers inside the recorder are in no "
			"row and no sample.\n",
			verify_sums->nested_objects);
	if (process->threads > 1)
		fprintf(out, "  %u threads: the peak is counted but for what each had in flight.\n",
			process->threads);
	if (process->size_min > process->smallest)
		fprintf(out,
			"  Intervals of objects assume none below %" PRIu64
			" bytes; the smallest has %" PRIu64 ".\n",
			process->size_min, process->smallest);
}

static void write_process(const struct page *page, const struct bp_verify_process *process)
{
	char samples[BP_QUANTITY_BYTES], interval[BP_QUANTITY_BYTES];
	const uint64_t least =
		process->interval_min != 0 ? process->interval_min : process->interval;
	bp_count_text(process->samples, samples);
	bp_sampling_text(least, process->interval, page->style, interval);
	write_name(page, base_name(process->program), 40);
	fprintf(page->out, " (pid %u): %s samples, %s\n", process->pid, samples, interval);
	fprintf(page->out, "  %-14s%12s%26s%15s%24s\n", "", "bytes", "as shown", "objects",
		"as shown");
	write_metric(page, process, BP_METRIC_ALLOCATED, "allocated");
	write_total(page, process->by_samples, "  by samples", false, true, true);
	write_metric(page, process, BP_METRIC_LIVE, "live at exit");
	write_metric(page, process, BP_METRIC_PEAK, "peak");
	write_metric(page, process, BP_METRIC_TEMPORARY, "temporary");
	write_gaps(page, process);
	putc('\n', page->out);
}

static void write_tally(const struct page *page, const struct bp_verify_tally *tally)
{
	const uint64_t missed = tally->figures - tally->held;
	fprintf(page->out, "%9" PRIu64 "%8.2f %%%9" PRIu64 "%s", missed,
		tally->figures == 0 ? 100.0 : 100.0 * (double)tally->held / (double)tally->figures,
		tally->misses_allowed, tally->good ? "" : " !");
}

static void write_groups(const struct page *page)
{
	const struct bp_verify *verify = page->verify;
	char title[BP_QUANTITY_BYTES + 32], percent[BP_QUANTITY_BYTES];
	bp_percent_text(verify->query.confidence, percent);
	snprintf(title, sizeof title, "%s %% intervals of rows", percent);
	fprintf(page->out, "%-42s  %-28s  %s\n", title, "  bytes", "  objects");
	fprintf(page->out, "  %-20s%8s%12s", "", "rows", "no sample");
	for (int unit = 0; unit < BP_VERIFY_UNITS; unit++)
		fprintf(page->out, "%s%9s%10s%9s", unit > 0 ? "  " : "", "missed", "held",
			"may miss");
	putc('\n', page->out);
	for (int i = 0; i < BP_VERIFY_GROUPS; i++) {
		const struct bp_verify_group *group = &verify->groups[i];
		char rows[BP_QUANTITY_BYTES], unsampled[BP_QUANTITY_BYTES];
		bp_count_text(group->units[0].figures, rows);
		bp_count_text(group->units[0].unsampled, unsampled);
		fprintf(page->out, "  %-9s by %-8s%8s%12s", bp_metric_names[group->metric],
			bp_key_names[group->by], rows, unsampled);
		write_tally(page, &group->units[BP_VERIFY_BYTES]);
		fputs(group->units[BP_VERIFY_BYTES].good ? "  " : "", page->out);
		write_tally(page, &group->units[BP_VERIFY_OBJECTS]);
		putc('\n', page->out);
	}
}

/* Objects once more, where the size that was assumed is the trouble. */
static void write_informed(const struct page *page)
{
	bool needed = page->verify->totals_assumed > 0;
	for (int i = 0; i < BP_VERIFY_GROUPS; i++)
		needed = needed || !page->verify->groups[i].units[BP_VERIFY_OBJECTS].good;
	if (!needed)
		return;
	fprintf(page->out, "%-42s  %-28s  %s\n", "the same, with the true smallest size", "",
		"  objects");
	for (int i = 0; i < BP_VERIFY_GROUPS; i++) {
		const struct bp_verify_group *group = &page->verify->groups[i];
		fprintf(page->out, "  %-9s by %-8s%50s", bp_metric_names[group->metric],
			bp_key_names[group->by], "");
		write_tally(page, &group->informed);
		putc('\n', page->out);
	}
}

/* The limits of a figure in full: where they miss, no digit is to be left out. */
static void limits_text(const struct page *page, const struct bp_verify_figure *figure,
	bool objects, char *text, size_t bytes)
{
	const struct bp_interval *interval = &figure->shown.interval;
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	if (objects) {
		bp_count_text((uint64_t)ceil(interval->low), low);
		bp_count_text((uint64_t)interval->high, high);
	} else {
		bp_bytes_text((uint64_t)ceil(interval->low), page->style, low);
		bp_bytes_text((uint64_t)interval->high, page->style, high);
	}
	snprintf(text, bytes, "[%s, %s]", low, high);
}

static void write_row(const struct page *page, const struct bp_verify_group *group,
	const struct bp_verify_row *row, bool missed)
{
	char truth[BP_QUANTITY_BYTES], shown[4 * BP_QUANTITY_BYTES], samples[BP_QUANTITY_BYTES];
	const unsigned width = page->options->columns;
	const bool objects = missed && row->units[BP_VERIFY_BYTES].held;
	const struct bp_verify_figure *figure =
		&row->units[objects ? BP_VERIFY_OBJECTS : BP_VERIFY_BYTES];
	if (objects)
		bp_count_text(figure->truth, truth);
	else
		bp_bytes_text(figure->truth, page->style, truth);
	if (missed)
		limits_text(page, figure, objects, shown, sizeof shown);
	else
		bp_bytes_figure_text(&figure->shown, page->style, shown);
	bp_count_text(row->samples, samples);
	fprintf(page->out, "  %s by %s: %s%s counted, %s shown", bp_metric_names[group->metric],
		bp_key_names[group->by], truth, objects ? " objects" : "", shown);
	if (!missed && figure->truth > 0)
		fprintf(page->out, " (%+.1f %%)",
			100 * (figure->shown.interval.estimate / (double)figure->truth - 1));
	fprintf(page->out, ", %s sample%s\n      ", samples, row->samples == 1 ? "" : "s");
	write_name(page, row->name, width > NAME_COLUMNS_MIN + 6 ? width - 6 : NAME_COLUMNS_MIN);
	if (page->verify->process_count > 1)
		fprintf(page->out, " (pid %u)", row->pid);
	putc('\n', page->out);
}

/* At most `most` rows of each group; what the groups by stack say again is left out. */
static void write_rows(const struct page *page, const char *title, bool missed, uint32_t most)
{
	bool titled = false;
	for (int i = 0; i < BP_VERIFY_GROUPS; i++) {
		const struct bp_verify_group *group = &page->verify->groups[i];
		const struct bp_verify_list *list = missed ? &group->missed : &group->errors;
		if (!missed && group->by != BP_KEY_FUNCTION)
			continue;
		for (uint32_t row = 0; row < list->count && row < most; row++) {
			if (!titled)
				fprintf(page->out, "\n%s\n", title);
			titled = true;
			write_row(page, group, &list->rows[row], missed);
		}
		if (missed && list->seen > most)
			fprintf(page->out, "  ... and %" PRIu64 " more %s by %s\n",
				list->seen - most, bp_metric_names[group->metric],
				bp_key_names[group->by]);
	}
}

static void write_verdict(const struct page *page)
{
	static const char *const sentences[] = {
		[BP_VERIFY_GOOD] = "GOOD: as many intervals hold what was counted as they promise.",
		[BP_VERIFY_ASSUMED] =
			"ASSUMED: bytes hold what they promise; objects would, if --min-size were "
			"no larger than\n  the smallest object.",
		[BP_VERIFY_BAD] = "BAD: more figures are wrong than chance allows.",
		[BP_VERIFY_UNSURE] = "UNSURE: not every object could be counted, so there is "
				     "nothing to compare with.",
	};
	const struct bp_verify *verify = page->verify;
	FILE *out = page->out;
	char shown[BP_QUANTITY_BYTES], judged[BP_QUANTITY_BYTES];
	bp_percent_text(verify->query.confidence, shown);
	bp_percent_text(1 - verify->error / verify->tests, judged);
	fprintf(out, "\nverdict: %s\n", sentences[verify->verdict]);
	if (verify->counts_wrong > 0)
		fprintf(out, "  %u exact totals differ from what was counted.\n",
			verify->counts_wrong);
	if (verify->totals_missed > 0)
		fprintf(out,
			"  %u totals lie outside limits that are wide enough for all chance.\n",
			verify->totals_missed);
	if (verify->verdict != BP_VERIFY_UNSURE)
		fprintf(out,
			"  (\"missed\" beside a total: it lies outside its %s %% limits, as %.3g "
			"in 100 may. The verdict\n  judges totals by limits of %s %%, and rows "
			"by how many of them miss: of rows it finds\n  gross errors only.)\n",
			shown, 100 * (1 - verify->query.confidence), judged);
	if (verify->verdict != BP_VERIFY_UNSURE)
		fprintf(out,
			"  (A profiler that is right fails this check once in %.6g times at most.)\n",
			1 / verify->error);
}

void bp_verify_write_text(
	const struct bp_verify *verify, const struct bp_report_options *options, FILE *out)
{
	const struct page page = { .verify = verify,
		.options = options,
		.style = { .utf8 = options->utf8, .si = options->si },
		.out = out };
	uint32_t shown = verify->process_count;
	if (shown > PROCESSES_SHOWN)
		shown = PROCESSES_SHOWN;
	for (uint32_t i = 0; i < shown; i++)
		write_process(&page, &verify->processes[i]);
	if (verify->process_count > shown)
		fprintf(out, "... and %u more processes\n\n", verify->process_count - shown);
	write_groups(&page);
	write_informed(&page);
	write_rows(&page, "Rows that missed (largest first):", true, 3);
	write_rows(&page, "Rows of 100 samples and more, furthest off:", false, 1);
	write_verdict(&page);
}
