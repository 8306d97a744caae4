/* SPDX-License-Identifier: MIT */
/*
 * A status as lines for people, and as JSON for scripts. Numbers that are not known are null in
 * JSON; fields may be added under the same schema, never changed.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/control/control_status.h"
#include "model/gaps/losses.h"
#include "text/escape.h"
#include "text/json_writer.h"

#define PPM_PER_PERCENT 10000.0
#define JSON_INDENT 5 /* of the lines of a process but its first */

/* T of the threads. */
static void write_in_force(
	const struct bp_status *status, struct bp_quantity_style style, FILE *out)
{
	char text[BP_QUANTITY_BYTES];
	if (status->in_force.low == 0 && status->off_threads == 0)
		return;
	bp_sampling_text(status->in_force.low, status->in_force.high, style, text);
	fputs("  in force   ", out);
	if (status->in_force.low == 0)
		fputs("no thread samples\n", out);
	else
		fputs(text, out);
	if (status->in_force.low != 0 && status->off_threads > 0)
		fprintf(out, "; %" PRIu32 " of %" PRIu32 " threads do not sample",
			status->off_threads, status->following.running);
	if (status->in_force.low != 0)
		putc('\n', out);
}

static void write_sampling(
	const struct bp_status *status, struct bp_quantity_style style, FILE *out)
{
	const struct bp_control *control = &status->control;
	char interval[BP_QUANTITY_BYTES], window[BP_SCHEDULE_TEXT_BYTES];
	bp_sampling_text(control->interval, control->interval, style, interval);
	fprintf(out, "  sampling   %s%s",
		control->on ? "on, "
			    : "off (dormant): objects are counted, none is sampled; start takes "
			      "up ",
		interval);
	if (control->automatic && control->budget_ppm != 0)
		fprintf(out, ", automatic within %g %% of CPU",
			(double)control->budget_ppm / PPM_PER_PERCENT);
	else if (control->automatic)
		fputs(", automatic", out);
	else if (control->fine_start)
		fputs(", finer at the start", out);
	putc('\n', out);
	if (control->fine_start)
		write_in_force(status, style, out);
	bp_schedule_text(&status->window, window);
	if (*window != '\0')
		fprintf(out, "  window     sampling %s, whatever start or stop say before\n",
			window);
}

static void write_outage(const struct bp_status *status, FILE *out)
{
	char since[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES];
	if (status->outage_ns == 0)
		return;
	const uint64_t uptime_ns = status->uptime_ns;
	bp_time_text(uptime_ns > status->outage_ns ? uptime_ns - status->outage_ns : 0, since);
	bp_time_text(status->outage_ns, text);
	fprintf(out,
		"  outage     nothing has been recorded since %s, for %s: the trace cannot grow "
		"(is the disk full?)\n             it is tried again once a second\n",
		since, text);
}

static void write_following(
	const struct bp_status *status, struct bp_quantity_style style, FILE *out)
{
	const struct bp_following *f = &status->following;
	const uint32_t others = f->running - f->following;
	char most[BP_QUANTITY_BYTES], sum[BP_QUANTITY_BYTES];
	fprintf(out, "  change     number %" PRIu32 "; ", status->control.number);
	if (others == 0) {
		fprintf(out,
			f->running == 1 ? "its thread follows\n"
					: "all %" PRIu32 " threads follow\n",
			f->running);
		return;
	}
	bp_bytes_text(f->left_max, style, most);
	bp_bytes_text(f->left_sum, style, sum);
	fprintf(out,
		"%" PRIu32 " of %" PRIu32
		" threads follow; each other one will at most %s of its own allocation later",
		f->following, f->running, most);
	if (others > 1)
		fprintf(out, " (%s together)", sum);
	putc('\n', out);
	if (!status->control.fine_start)
		write_in_force(status, style, out);
}

static void write_allocated(
	const struct bp_status *status, struct bp_quantity_style style, FILE *out)
{
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES], objects_low[BP_QUANTITY_BYTES],
		objects_high[BP_QUANTITY_BYTES];
	bp_bytes_text(status->bytes.low, style, low);
	bp_bytes_text(status->bytes.high, style, high);
	bp_count_text(status->objects.low, objects_low);
	bp_count_text(status->objects.high, objects_high);
	if (status->bytes.high - status->bytes.low >= BP_ARMED_WITHOUT_LIMIT) {
		fprintf(out, "  allocated  at least %s in at least %s objects so far\n", low,
			objects_low);
		return;
	}
	if (strcmp(low, high) == 0)
		fprintf(out, "  allocated  %s in ", low);
	else
		fprintf(out, "  allocated  %s to %s in ", low, high);
	if (status->objects.high - status->objects.low <= 1)
		fprintf(out, "%s objects so far\n", objects_low);
	else
		fprintf(out, "%s to %s objects so far\n", objects_low, objects_high);
	if (status->refused != 0)
		fprintf(out,
			"             (as its threads last published: its memory cannot be read: %s)\n",
			strerror(status->refused));
}

void bp_status_write_text(const struct bp_status *status, struct bp_quantity_style style, FILE *out)
{
	const struct bp_traced *traced = status->traced;
	char name[4 * sizeof traced->name], path[4 * PATH_MAX], text[BP_QUANTITY_BYTES],
		live[BP_QUANTITY_BYTES];
	uint64_t lost = 0;
	for (int i = 0; i < BP_LOSS_MAX; i++)
		lost += status->lost[i];
	bp_terminal_text(traced->name, style.utf8, BP_STATUS_NAME_COLUMNS, name, sizeof name);
	bp_terminal_text(traced->path, style.utf8, PATH_MAX, path, sizeof path);
	bp_time_text(status->uptime_ns, text);
	fprintf(out, "%s (pid %ld), for %s\n", name, (long)traced->pid, text);
	write_sampling(status, style, out);
	write_outage(status, out);
	write_following(status, style, out);
	write_allocated(status, style, out);
	bp_count_text(status->samples, text);
	bp_count_text(status->live_samples, live);
	fprintf(out, "  samples    %s, of which live: %s", text, live);
	bp_count_text(lost, text);
	fprintf(out, "; lost: %s\n", text);
	for (int i = 0; i < BP_LOSS_MAX; i++) {
		const struct bp_loss_kind kind = bp_loss_kind((uint32_t)i);
		if (status->lost[i] == 0)
			continue;
		bp_count_text(status->lost[i], text);
		fprintf(out, "             %s %s: %s\n", text, kind.what, kind.text);
	}
	bp_bytes_text(status->file_bytes, style, text);
	fprintf(out, "  trace      %s (%s)\n", path, text);
}

static void write_limits(
	struct bp_json *json, const char *name, const struct bp_trace_limits *limits)
{
	bp_json_object(json, name, BP_JSON_SPACED);
	bp_json_whole(json, "low", limits->low);
	bp_json_whole(json, "high", limits->high);
	bp_json_end(json);
}

/* A time of the window that is still to come. */
static void write_seconds(struct bp_json *json, const char *name, uint64_t time_ns)
{
	if (time_ns == 0)
		bp_json_null(json, name);
	else
		bp_json_fixed(json, name, (double)time_ns / 1e9, 3);
}

static void write_words(struct bp_json *json, const struct bp_status *status)
{
	const struct bp_control *control = &status->control;
	bp_json_break(json, JSON_INDENT);
	bp_json_text(json, "state", control->on ? "on" : "dormant");
	bp_json_bool(json, "automatic", control->automatic);
	bp_json_bool(json, "fine_start", control->fine_start);
	bp_json_break(json, JSON_INDENT);
	bp_json_whole(json, "interval", control->interval);
	bp_json_break(json, JSON_INDENT);
	if (status->in_force.low == 0)
		bp_json_null(json, "in_force");
	else
		write_limits(json, "in_force", &status->in_force);
	bp_json_whole(json, "change", control->number);
	if (control->automatic && control->budget_ppm != 0)
		bp_json_digits(
			json, "budget_percent", (double)control->budget_ppm / PPM_PER_PERCENT, 6);
	else
		bp_json_null(json, "budget_percent");
	bp_json_break(json, JSON_INDENT);
	if (status->outage_ns != 0) {
		bp_json_fixed(json, "outage_s", (double)status->outage_ns / 1e9, 3);
		bp_json_break(json, JSON_INDENT);
	}
	write_seconds(json, "begins_in_s", status->window.begins_ns);
	write_seconds(json, "ends_in_s", status->window.ends_ns);
}

static void write_lost(struct bp_json *json, const struct bp_status *status)
{
	bp_json_object(json, "lost", BP_JSON_SPACED);
	for (int i = 0; i < BP_LOSS_COUNT; i++)
		if (status->lost[i] != 0)
			bp_json_whole(json, bp_loss_kind((uint32_t)i).name, status->lost[i]);
	bp_json_end(json);
}

static void write_process(struct bp_json *json, const struct bp_status *status)
{
	const struct bp_following *f = &status->following;
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_signed(json, "pid", status->traced->pid);
	bp_json_text(json, "program", status->traced->program);
	bp_json_text(json, "name", status->traced->name);
	bp_json_text(json, "trace", status->traced->path);
	bp_json_whole(json, "trace_bytes", status->file_bytes);
	bp_json_fixed(json, "uptime_s", (double)status->uptime_ns / 1e9, 3);
	write_words(json, status);
	bp_json_break(json, JSON_INDENT);
	bp_json_object(json, "threads", BP_JSON_SPACED);
	bp_json_whole(json, "running", f->running);
	bp_json_whole(json, "following", f->following);
	bp_json_whole(json, "off", status->off_threads);
	bp_json_whole(json, "left_bytes_max", f->left_max);
	bp_json_whole(json, "left_bytes_sum", f->left_sum);
	bp_json_end(json);
	bp_json_break(json, JSON_INDENT);
	bp_json_whole(json, "samples", status->samples);
	bp_json_whole(json, "live_samples", status->live_samples);
	write_lost(json, status);
	bp_json_break(json, JSON_INDENT);
	bp_json_object(json, "allocated", BP_JSON_SPACED);
	write_limits(json, "bytes", &status->bytes);
	write_limits(json, "objects", &status->objects);
	bp_json_end(json);
	bp_json_bool(json, "counters_read", status->current);
	bp_json_end(json);
}

void bp_status_write_json(const struct bp_status *statuses, uint32_t count, FILE *out)
{
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-control-1");
	bp_json_array(&json, "processes", BP_JSON_TALL);
	for (uint32_t i = 0; i < count; i++)
		write_process(&json, &statuses[i]);
	bp_json_end(&json);
	bp_json_end_document(&json);
}
