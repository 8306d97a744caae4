/* SPDX-License-Identifier: MIT */
/*
 * See entry.h. Two calls are made by threads of the process (thread_call.h): dlopen of the
 * recorder, unless it is loaded already, and then the recorder's own bytepoll_attach or
 * bytepoll_detach, which show in the object bytepoll_attached how that went (trace/format.h).
 */
#include "cli/attach/entry.h"

#include <limits.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "cli/process/processes.h"
#include "cli/process/recorder_file.h"
#include "trace/format.h"

#define RTLD_NOW_VALUE 2u
#define POLL_NS 500000
/* How long a thread that was let go may take to come back from the function: it has to get a
 * processor, and dlopen reads files. */
#define RETURN_LIMIT_NS 30000000000u
/* When the recorder is asked again whether all threads have come out of it. */
#define AGAIN_NS 50000000

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool read_attached(const struct bp_entry *entry, struct bp_attached *ret_attached)
{
	const uint64_t address =
		entry->image.recorder == NULL
			? 0
			: bp_target_symbol(entry->image.recorder, "bytepoll_attached");
	const struct iovec own = { ret_attached, sizeof *ret_attached };
	const struct iovec its = { (void *)address, sizeof *ret_attached };
	return address != 0 &&
	       process_vm_readv(entry->pid, &own, 1, &its, 1, 0) == (long)sizeof *ret_attached;
}

static bool is_gone(const struct bp_entry *entry)
{
	struct bp_process_stat stat;
	return !bp_process_stat_read(entry->pid, &stat) || stat.state == 'Z' || stat.state == 'X';
}

static void add_stops(struct bp_entry *entry, const struct bp_thread_call_result *result)
{
	entry->stops.unsafe += result->unsafe;
	if (result->stood_ns > entry->stops.stood_ns)
		entry->stops.stood_ns = result->stood_ns;
	if (result->longest_ns > entry->stops.longest_ns)
		entry->stops.longest_ns = result->longest_ns;
}

/* Reads what is mapped anew, until the recorder is ready. */
static bool wait_until_loaded(struct bp_entry *entry, const char *path, struct bp_error *error)
{
	const uint64_t until_ns = now_ns() + RETURN_LIMIT_NS;
	struct bp_attached attached;
	while (!is_gone(entry) && now_ns() < until_ns) {
		bp_target_image_close(&entry->image);
		if (!bp_target_image_open(entry->pid, &entry->image, error))
			return false;
		if (read_attached(entry, &attached) && attached.ready == 1)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 20 * POLL_NS }, NULL);
		if (entry->image.recorder == NULL &&
			now_ns() + RETURN_LIMIT_NS > until_ns + 5000000000u)
			break;
	}
	return is_gone(entry)
		       ? bp_error_set(error, "process %ld has ended", (long)entry->pid)
		       : bp_error_set(error,
				 "process %ld did not load %s: its user must be allowed to read it",
				 (long)entry->pid, path);
}

static bool load_recorder(struct bp_entry *entry, struct bp_error *error)
{
	char found[PATH_MAX];
	const char *path = entry->recorder != NULL ? entry->recorder : found;
	struct bp_thread_call_result result = { 0 };
	if (entry->recorder == NULL &&
		!bp_recorder_file_find(BP_RECORDER_FILE, found, sizeof found, error))
		return false;
	const struct bp_thread_call call = { .function =
						     bp_target_symbol(entry->image.libc, "dlopen"),
		.text = path,
		.second = RTLD_NOW_VALUE };
	if (!bp_thread_call(&entry->image, &call, entry->until_ns, &result, error))
		return false;
	add_stops(entry, &result);
	return wait_until_loaded(entry, path, error);
}

static bool say_result(
	const struct bp_entry *entry, const struct bp_attached *attached, struct bp_error *error)
{
	const long pid = (long)entry->pid;
	switch (attached->result) {
	case BP_ATTACH_DONE:
		return true;
	case BP_ATTACH_ALREADY:
		return bp_error_set(error,
			entry->settings != NULL ? "process %ld is being recorded already"
						: "process %ld is not attached",
			pid);
	case BP_ATTACH_SETTINGS:
		return bp_error_set(error, "process %ld could not read %s: %s", pid,
			entry->settings, strerror(attached->error));
	case BP_ATTACH_MALLOC:
		return bp_error_set(error,
			"process %ld has a malloc that cannot be hooked while it runs: start it "
			"with bytepoll run",
			pid);
	case BP_ATTACH_TRACE:
		return bp_error_set(error, "process %ld could not create %s: %s", pid, entry->file,
			strerror(attached->error));
	case BP_ATTACH_NOT_QUIET:
		return bp_error_set(error,
			"a thread of process %ld does not come out of the recorder (it gets no "
			"processor, or a signal handler holds it): nothing is sampled any more, "
			"and a later bytepoll detach %ld closes the recording",
			pid, pid);
	default:
		return bp_error_set(error,
			"process %ld runs under bytepoll from its start on: bytepoll control "
			"steers it",
			pid);
	}
}

/* Has a thread of the process call it, and waits until it is done. */
static bool call_once(struct bp_entry *entry, const char *name, struct bp_attached *ret_attached,
	struct bp_error *error)
{
	struct bp_attached before;
	struct bp_thread_call_result result = { 0 };
	if (!read_attached(entry, &before) || before.ready != 1) {
		*ret_attached = (struct bp_attached){ .result = BP_ATTACH_NOT_LATE };
		return true;
	}
	const struct bp_thread_call call = {
		.function = bp_target_symbol(entry->image.recorder, name), .text = entry->settings
	};
	if (!bp_thread_call(&entry->image, &call, entry->until_ns, &result, error))
		return false;
	add_stops(entry, &result);
	const uint64_t until_ns = now_ns() + RETURN_LIMIT_NS;
	while (now_ns() < until_ns && !is_gone(entry)) {
		if (read_attached(entry, ret_attached) && ret_attached->calls != before.calls)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
	}
	return is_gone(entry) ? bp_error_set(error, "process %ld has ended", (long)entry->pid)
			      : bp_error_set(error,
					"a thread of process %ld was let go, and has not come back "
					"from the recorder: it gets no processor",
					(long)entry->pid);
}

/* Again, as long as another thread is within the recorder. */
static bool call_entry(struct bp_entry *entry, const char *name, struct bp_error *error)
{
	struct bp_attached now;
	for (;;) {
		if (!call_once(entry, name, &now, error))
			return false;
		if (now.result != BP_ATTACH_NOT_QUIET || now_ns() >= entry->until_ns)
			return say_result(entry, &now, error);
		nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
	}
}

bool bp_entry_attach(struct bp_entry *entry, struct bp_error *error)
{
	return bp_target_image_open(entry->pid, &entry->image, error) &&
	       (entry->image.recorder != NULL || load_recorder(entry, error)) &&
	       call_entry(entry, "bytepoll_attach", error);
}

bool bp_entry_detach(struct bp_entry *entry, struct bp_error *error)
{
	if (!bp_target_image_open(entry->pid, &entry->image, error))
		return false;
	if (entry->image.recorder == NULL)
		return bp_error_set(error, "process %ld is not attached", (long)entry->pid);
	return call_entry(entry, "bytepoll_detach", error);
}

void bp_entry_finish(struct bp_entry *entry)
{
	bp_target_image_close(&entry->image);
}
