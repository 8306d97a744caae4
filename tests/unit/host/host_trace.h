/* SPDX-License-Identifier: MIT */
/* A trace that a test's host has written, read into arrays. */
#ifndef TESTS_HOST_TRACE_H
#define TESTS_HOST_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bytepoll/host.h"
#include "trace/reader.h"

#define HOST_RECORDS_MAX 200000

struct host_trace {
	struct bp_trace_header header;
	struct bp_trace_state state;
	struct bp_trace_totals totals;
	struct bp_trace_sample samples[HOST_RECORDS_MAX];
	struct bp_trace_free frees[HOST_RECORDS_MAX];
	struct bp_trace_interval intervals[100];
	uint32_t sample_count, free_count, interval_count;
	/* By id, below 100 the contents, of all how many there were. */
	char types[100][2001], functions[100][2001], files[100][2001];
	uint32_t lines[100];
	uint32_t stacks[100][512], depths[100];
	uint64_t stack_flags[100];
	char labels[100][2001];
	uint32_t type_count, frame_count, stack_count, label_count;
	uint32_t begins, ends;
	uint32_t open_threads; /* whose counters have no upper limit */
	uint64_t damaged;
};

/* A new host at a path of the test's own; `interval` T. */
struct bp_host *host_open(const char *name, uint64_t interval);

/* The path that host_open gives. */
const char *host_path(const char *name);

/* All that the trace at that path says; valid until the next call. The file is removed if
 * `remove`. */
const struct host_trace *host_read(const char *name, bool remove);

/* A sample of an object of `size` bytes there, by `thread`. */
bool host_sample(struct bp_host *host, uintptr_t object, uint64_t size, uint32_t thread);

#endif
