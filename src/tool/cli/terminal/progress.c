/* SPDX-License-Identifier: MIT */
/*
 * The time left is the time taken so far in proportion; it is shown once enough is done for an
 * estimate. What there is to do is known from state pages: how many samples a trace says it holds.
 * It may hold others (the program still writes), so that a share above 1 is no share any more and
 * is left out.
 */
#include "cli/terminal/progress.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/system_call.h"
#include "cli/files/trace_bytes.h"
#include "cli/terminal/terminal.h"
#include "text/quantity.h"
#include "trace/format.h"
#include "trace/pack.h"

#define SILENT_NS 500000000u /* a shorter wait shows nothing */
#define PERIOD_NS 100000000u
#define COLUMNS_DEFAULT 80
#define LINE_BYTES 256

void bp_progress_begin(struct bp_progress *progress, const char *what, uint64_t total)
{
	*progress = (struct bp_progress){
		.what = what, .total = total, .on = isatty(STDERR_FILENO) && !bp_terminal_is_dumb()
	};
	if (!progress->on)
		return;
	progress->began_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	progress->next_ns = progress->began_ns + SILENT_NS;
}

/* What the line says after `elapsed_ns`, at most `columns` wide. Pure. */
static void progress_text(const struct bp_progress *progress, uint64_t done, uint64_t elapsed_ns,
	unsigned columns, char *buffer, size_t bytes)
{
	char count[BP_QUANTITY_BYTES], total[BP_QUANTITY_BYTES], text[LINE_BYTES];
	size_t used;
	bp_count_text(done, count);
	bp_count_text(progress->total, total);
	used = (size_t)snprintf(text, sizeof text, "bytepoll: %s: %s", progress->what, count);
	if (progress->total > 0 && done <= progress->total)
		used += (size_t)snprintf(text + used, sizeof text - used, " of %s, %u %%", total,
			(unsigned)(100.0 * (double)done / (double)progress->total));
	if (progress->total > done && done > 0) {
		const double left_s =
			(double)elapsed_ns / 1e9 * (double)(progress->total - done) / (double)done;
		if (left_s < 90)
			snprintf(text + used, sizeof text - used, ", %.0f s left", left_s);
		else
			snprintf(text + used, sizeof text - used, ", %.0f min left", left_s / 60);
	}
	snprintf(buffer, bytes, "%.*s", (int)columns, text);
}

/* A terminal that is as wide as the line would begin a new one. */
static unsigned columns_of_stderr(void)
{
	struct winsize size;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
		return size.ws_col - 1u;
	return COLUMNS_DEFAULT - 1;
}

void bp_progress_tell(struct bp_progress *progress, uint64_t done)
{
	char text[LINE_BYTES];
	if (!progress->on)
		return;
	const uint64_t time_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	if (time_ns < progress->next_ns)
		return;
	progress->next_ns = time_ns + PERIOD_NS;
	progress_text(progress, done, time_ns - progress->began_ns, columns_of_stderr(), text,
		sizeof text);
	const unsigned width = (unsigned)strlen(text);
	fprintf(stderr, "\r%s%*s", text,
		progress->shown > width ? (int)(progress->shown - width) : 0, "");
	fflush(stderr);
	progress->shown = width > progress->shown ? width : progress->shown;
}

void bp_progress_end(struct bp_progress *progress)
{
	if (progress->shown > 0) {
		fprintf(stderr, "\r%*s\r", (int)progress->shown, "");
		fflush(stderr);
	}
	*progress = (struct bp_progress){ 0 };
}

/* Of one file; 0: not one of our traces. */
static uint64_t samples_of(const char *path)
{
	struct bp_trace_header header;
	struct bp_trace_state state = { 0 };
	const int trace = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const bool good = trace >= 0 && bp_trace_bytes_read(trace, &header, sizeof header, 0) &&
			  memcmp(header.magic, BP_TRACE_MAGIC, sizeof header.magic) == 0 &&
			  bp_trace_bytes_read(trace, &state, sizeof state, BP_STATE_OFFSET);
	if (trace >= 0)
		close(trace);
	return good ? state.samples : 0;
}

uint64_t bp_progress_samples(const char *file)
{
	char path[PATH_MAX];
	struct dirent *entry;
	uint64_t samples = samples_of(file);
	if (samples == 0 || snprintf(path, sizeof path, "%s.fold", file) >= (int)sizeof path ||
		access(path, F_OK) == 0)
		return 0;
	if (snprintf(path, sizeof path, "%s.d/" BP_PACK_NAME, file) < (int)sizeof path &&
		access(path, F_OK) == 0)
		return 0;
	snprintf(path, sizeof path, "%s.d", file);
	DIR *directory = opendir(path);
	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		const size_t length = strlen(entry->d_name);
		if (length <= 4 || strcmp(entry->d_name + length - 4, ".bpt") != 0)
			continue;
		if (snprintf(path, sizeof path, "%s.d/%s", file, entry->d_name) < (int)sizeof path)
			samples += samples_of(path);
	}
	if (directory != NULL)
		closedir(directory);
	return samples;
}
