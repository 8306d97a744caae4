/* SPDX-License-Identifier: MIT */
/*
 * The life of a host: opening and closing its trace.
 *
 * Fork. The trace's mappings are not inherited, locks may have been held, and what is counted in
 * the child is another process's. So the child's host does nothing: a page that the kernel wipes in
 * children (WIPEONFORK, Linux 4.14; before that the pid) is looked at before anything else. vfork
 * children share the memory and count as their parent.
 */
#include <errno.h>
#include <link.h>

#include "base/clock.h"
#include "host/config.h"
#include "host/host_state.h"

#define MARK_BYTES 4096u

static void describe(struct bp_trace_header *header, const struct bp_host_options *options)
{
	extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
	struct stat namespace;
	const bool has_interval = options->interval != BP_SAMPLER_OFF;
	const bool is_off = options->dormant || !has_interval;
	*header = (struct bp_trace_header){
		.magic = BP_TRACE_MAGIC,
		.version_major = BP_TRACE_MAJOR,
		.version_minor = BP_TRACE_MINOR,
		.flags_skippable = (is_off ? BP_HEADER_DORMANT : 0) |
				   (options->frees_unseen ? BP_HEADER_FREES_UNSEEN : 0) |
				   (options->objects_uncounted ? BP_HEADER_OBJECTS_UNCOUNTED : 0) |
				   (options->follows_control ? BP_HEADER_HOST_FOLLOWS : 0),
		.chunk_bytes = BP_CHUNK_BYTES,
		.page_bytes = (uint32_t)bp_system_page_bytes(),
		.pid = bp_system_pid(),
		.parent_pid = (uint32_t)syscall(SYS_getppid),
		.machine = __ehdr_start.e_machine,
		.start_monotonic_ns = bp_system_time_ns(CLOCK_MONOTONIC),
		.start_real_ns = bp_system_time_ns(CLOCK_REALTIME),
		.clock_offset_ns = bp_clock_offset_ns(),
		.interval_bytes = has_interval ? options->interval : BP_INTERVAL_DEFAULT,
		.law = options->law,
		.charge_bytes = options->charge,
		.seed = options->seed_given ? options->seed : 0,
		.seed_given = options->seed_given,
		.recognition = BP_RECOGNITION_HOST,
	};
	bp_system_random(header->trace_id, sizeof header->trace_id);
	if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &namespace, 0) == 0)
		header->pid_namespace = namespace.st_ino;
}

static bool open_trace(struct bp_host *host, const struct bp_host_options *options)
{
	struct bp_trace_header header;
	char path[BP_PATH_BYTES], strings[BP_HEADER_MAX_BYTES];
	describe(&header, options);
	header.flags_skippable |= bp_host_read_tracepoints();
	host->pid = header.pid;
	if (!bp_host_path_of(options->path, header.pid, path))
		return false;
	bp_host_strings(&header, options->name, strings);
	return bp_writer_open(&host->writer, path, &header, strings);
}

/* Without it the pid is asked for, which costs a system call. */
static void make_fork_mark(struct bp_host *host)
{
	uint32_t *mark = bp_system_memory(MARK_BYTES);
	if (mark != NULL && !bp_system_advise(mark, MARK_BYTES, MADV_WIPEONFORK)) {
		bp_system_unmap(mark, MARK_BYTES);
		mark = NULL;
	}
	if (mark != NULL)
		*mark = 1;
	host->fork_mark = mark;
}

static uint64_t own_bytes(const struct bp_host *host)
{
	return sizeof *host + host->memory.bytes + host->live.bytes;
}

static void release(struct bp_host *host)
{
	bp_host_live_finish(&host->live);
	bp_host_memory_finish(&host->memory);
	if (host->fork_mark != NULL)
		bp_system_unmap(host->fork_mark, MARK_BYTES);
	bp_system_unmap(host, sizeof *host);
}

struct bp_host *bp_host_open(const struct bp_host_options *options)
{
	if (options->name == NULL || options->law > BP_SAMPLER_BERNOULLI ||
		options->interval > BP_SAMPLER_INTERVAL_MAX || options->charge > 1 ||
		(options->follows_control && options->interval > BP_INTERVAL_MAX)) {
		errno = EINVAL;
		return NULL;
	}
	struct bp_host *host = bp_system_memory(sizeof *host);
	if (host == NULL)
		return NULL;
	make_fork_mark(host);
	if (!bp_host_live_init(&host->live) || !open_trace(host, options)) {
		const int why = errno;
		release(host);
		errno = why;
		return NULL;
	}
	host->options = *options;
	bp_host_interval_begin(host);
	host->options.name = host->options.path = NULL;
	host->filter.pages = host->live.pages;
	return host;
}

const char *bp_host_path(const struct bp_host *host)
{
	return bp_host_is_here(host) ? host->writer.path : "";
}

static void write_end(struct bp_host *host)
{
	struct bp_trace_state *state = bp_writer_state(&host->writer);
	const struct bp_host_end end = bp_host_threads_finish(&host->threads);
	state->end_trials = end.totals.trials;
	state->end_objects = end.totals.objects;
	state->open_threads = end.open_threads;
	state->open_trials = end.open_trials;
	state->end_time_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	state->last_sequence = host->sequence;
	state->own_bytes = own_bytes(host);
	state->end_reason = BP_END_EXIT;
	__atomic_store_n(&state->state, 1, __ATOMIC_RELEASE);
}

void bp_host_close(struct bp_host *host)
{
	const int saved_errno = errno;
	if (host == NULL)
		return;
	if (bp_host_is_here(host)) {
		write_end(host);
		bp_writer_close(&host->writer);
	} else if (host->writer.head != NULL) {
		/* Of the trace a child has the state page alone: other things may lie where the
		 * rest was. */
		const uintptr_t state = (uintptr_t)host->writer.head + BP_STATE_OFFSET;
		const uintptr_t page = bp_system_page_of(state);
		bp_system_unmap((void *)page, state + BP_STATE_OFFSET - page);
	}
	release(host);
	errno = saved_errno;
}
