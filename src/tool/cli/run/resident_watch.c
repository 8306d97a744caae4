/* SPDX-License-Identifier: MIT */
/*
 * Looking on. /proc/PID/status is opened once: it goes on telling of the same process after an
 * exec, whatever user it becomes. A look is one pread and takes some 15 us of our own time; ten a
 * second are 0.02 % of a processor.
 *
 * The first looks come at 1, 2, 4 ... ms, so that short programs have some too; from 100 ms on they
 * come every period. When the table is full every second point goes and the period doubles, so that
 * the table never holds less than half of what it can hold, whatever the run lasts.
 *
 * What was seen is written to FILE.resident at the first looks and then every second (WRITE_NS and
 * the time for each point, so that writing a long table takes .03 % of a processor): whatever kills
 * `run`, the last one stays, and says by an end of 0 that it is not the end.
 *
 * /proc/PID/smaps tells more, and its reader holds a lock that an mmap of the program waits for:
 * it is read rarely (cli/mappings/mappings_watch.h). What the kernel sums lazily (threads or
 * processors hold back some pages each) is part of the reading's uncertainty.
 */
#include "base/clock.h"
#include "base/system_call.h"
#include "cli/run/resident_watch.h"
#include "resident/mappings_file.h"
#include "resident/pages/pages_file.h"
#include "resident/resident_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"
#include "cli/files/trace_bytes.h"
#include "cli/process/processes.h"
#include "cli/say.h"
#include "trace/format.h"

#define PERIOD_FIRST_NS 100000000u
#define WAIT_FIRST_NS 1000000u
#define WRITE_NS 1000000000u
#define WRITE_POINT_NS 2000000u

/* Before Linux 6.2 a thread holds back up to 64 pages of a counter; since then a processor up to
 * max(32, 2 n) of them, with n processors. */
#define PAGES_BY_THREAD 64u
#define PAGES_BY_PROCESSOR 32u

/* A size of the text, in bytes. */
static bool size(const char *text, const char *name, uint64_t *ret_bytes)
{
	uint64_t kibibytes;
	if (bp_process_status_numbers(text, name, &kibibytes, 1) != 1)
		return false;
	*ret_bytes = kibibytes * 1024;
	return true;
}

/* False: the process has ended, or has no memory of its own. */
static bool look(struct bp_resident_watch *watch, struct bp_resident_point *ret_point)
{
	char text[BP_PROCESS_STATUS_BYTES];
	struct bp_resident_point point = { 0 };
	uint64_t threads = 1;
	if (!bp_process_status_read(watch->status, text))
		return false;
	point.time_ns = bp_system_time_ns(CLOCK_MONOTONIC) - watch->clock_offset_ns;
	if (!size(text, "VmHWM", &point.high) || !size(text, "RssAnon", &point.anonymous) ||
		!size(text, "RssFile", &point.file) || !size(text, "RssShmem", &point.shared) ||
		!size(text, "VmStk", &point.stack))
		return false;
	size(text, "VmSwap", &point.swapped);
	bp_process_status_numbers(text, "Threads", &threads, 1);
	if (threads > watch->threads_most && threads < UINT32_MAX)
		watch->threads_most = (uint32_t)threads;
	*ret_point = point;
	return true;
}

void bp_resident_watch_begin(struct bp_resident_watch *watch, pid_t pid, const char *file)
{
	*watch = (struct bp_resident_watch){
		.resident = { .pid = (uint32_t)pid, .period_ns = PERIOD_FIRST_NS }, .file = file
	};
	watch->resident.points = malloc(BP_RESIDENT_POINTS_MAX * sizeof *watch->resident.points);
	if (watch->resident.points == NULL)
		return;
	watch->status = bp_process_status_open(pid);
	watch->on = watch->status >= 0;
	watch->began_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	watch->clock_offset_ns = bp_clock_offset_ns();
	watch->next_ns = watch->began_ns + WAIT_FIRST_NS;
	bp_mappings_watch_begin(&watch->mappings, pid, file);
}

/* When to look next: twice as late as now at first, later every period. */
static void plan_next(struct bp_resident_watch *watch, uint64_t time_ns)
{
	uint64_t wait_ns = time_ns - watch->began_ns;
	if (wait_ns > watch->resident.period_ns)
		wait_ns = watch->resident.period_ns;
	watch->next_ns = time_ns + (wait_ns > WAIT_FIRST_NS ? wait_ns : WAIT_FIRST_NS);
}

/* Each kind may be off by so much. */
static uint64_t uncertain_bytes(uint32_t threads)
{
	const long configured = sysconf(_SC_NPROCESSORS_CONF), page = sysconf(_SC_PAGESIZE);
	const uint64_t processors = configured > 0 ? (uint64_t)configured : 1;
	const uint64_t batch =
		2 * processors > PAGES_BY_PROCESSOR ? 2 * processors : PAGES_BY_PROCESSOR;
	const uint64_t by_processors = batch * processors;
	const uint64_t by_threads = PAGES_BY_THREAD * (uint64_t)threads;
	return (by_threads > by_processors ? by_threads : by_processors) * (uint64_t)page;
}

/* False: there is no trace, or not yet, or another one stands there (an earlier recording that was
 * brought back because the program could not be started). One without samples tells something, too:
 * that none of the memory was malloc'ed. */
static bool read_trace_id(const char *file, uint32_t pid, uint8_t ret_trace_id[16])
{
	struct bp_trace_header header;
	const int trace = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const bool good = trace >= 0 && bp_trace_bytes_read(trace, &header, sizeof header, 0) &&
			  memcmp(header.magic, BP_TRACE_MAGIC, sizeof header.magic) == 0 &&
			  header.pid == pid;
	if (trace >= 0)
		close(trace);
	if (good)
		memcpy(ret_trace_id, header.trace_id, sizeof header.trace_id);
	return good;
}

/* Writes FILE.resident as it is now. True: there is nothing to say about it. */
static bool write_file(struct bp_resident_watch *watch, struct bp_error *error)
{
	uint8_t trace_id[16];
	char *path = NULL;
	if (watch->resident.count == 0 ||
		!read_trace_id(watch->file, watch->resident.pid, trace_id) ||
		asprintf(&path, "%s" BP_RESIDENT_SUFFIX, watch->file) < 0)
		return true;
	watch->resident.uncertain_bytes = uncertain_bytes(watch->threads_most);
	const bool good = bp_resident_write(path, &watch->resident, trace_id, error);
	free(path);
	return good;
}

/* FILE.mappings and FILE.pages, after a look. What is wrong with it is not said: it is for one
 * report. */
static void write_mappings(const struct bp_resident_watch *watch)
{
	uint8_t trace_id[16];
	char *path = NULL;
	if (!read_trace_id(watch->file, watch->resident.pid, trace_id) ||
		asprintf(&path, "%s" BP_MAPPINGS_SUFFIX, watch->file) < 0)
		return;
	(void)bp_mappings_write(path, &watch->mappings.mappings, trace_id, NULL);
	free(path);
	if (asprintf(&path, "%s" BP_PAGES_SUFFIX, watch->file) < 0)
		return;
	/* What an earlier look saw is no longer so. */
	if (watch->mappings.pages.pid != 0)
		(void)bp_pages_write(path, &watch->mappings.pages, trace_id, NULL);
	else
		bp_pages_remove(path);
	free(path);
}

/* Is it time to write again? While the looks double, at each of them; later by the clock. */
static void write_now_and_then(struct bp_resident_watch *watch)
{
	const uint64_t now_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	const uint64_t wait_ns = WRITE_NS + WRITE_POINT_NS * (uint64_t)watch->resident.count;
	if (now_ns - watch->began_ns > 2 * (uint64_t)PERIOD_FIRST_NS &&
		now_ns - watch->written_ns < wait_ns)
		return;
	watch->written_ns = now_ns;
	/* Why it cannot be written is said at the end. */
	(void)write_file(watch, NULL);
}

uint64_t bp_resident_watch_step(struct bp_resident_watch *watch)
{
	struct bp_resident_point point;
	uint64_t time_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	if (!watch->on)
		return UINT64_MAX;
	if (time_ns >= watch->next_ns) {
		if (look(watch, &point)) {
			bp_resident_add(&watch->resident, &point, BP_RESIDENT_POINTS_MAX);
			write_now_and_then(watch);
			if (bp_mappings_watch_look(
				    &watch->mappings, bp_resident_sum(&point), time_ns))
				write_mappings(watch);
		}
		plan_next(watch, bp_system_time_ns(CLOCK_MONOTONIC));
		time_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	}
	return watch->next_ns > time_ns ? watch->next_ns - time_ns : 0;
}

bool bp_resident_watch_wait(struct bp_resident_watch *watch, int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	if (!watch->on || pidfd < 0)
		return false;
	for (;;) {
		const uint64_t wait_ns = bp_resident_watch_step(watch);
		const struct timespec timeout = { (time_t)(wait_ns / 1000000000u),
			(long)(wait_ns % 1000000000u) };
		int ready = ppoll(&ended, 1, &timeout, NULL);
		if (ready > 0)
			return (ended.revents & POLLIN) != 0;
		if (ready < 0 && errno != EINTR)
			return false;
	}
}

void bp_resident_watch_end(struct bp_resident_watch *watch, uint64_t most_bytes)
{
	struct bp_error error;
	struct bp_resident_point point;
	if (watch->on) {
		if (most_bytes == 0 && look(watch, &point)) {
			bp_resident_add(&watch->resident, &point, BP_RESIDENT_POINTS_MAX);
			most_bytes = point.high;
		}
		watch->resident.end_ns =
			bp_system_time_ns(CLOCK_MONOTONIC) - watch->clock_offset_ns;
		watch->resident.most_bytes = most_bytes;
		if (!write_file(watch, &error))
			bp_say(stderr, "bytepoll: %s", error.text);
		if (bp_mappings_watch_end(&watch->mappings, bp_system_time_ns(CLOCK_MONOTONIC)))
			write_mappings(watch);
		close(watch->status);
	}
	bp_resident_finish(&watch->resident);
	bp_mappings_watch_finish(&watch->mappings);
	watch->on = false;
}
