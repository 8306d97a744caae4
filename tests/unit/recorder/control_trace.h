/* SPDX-License-Identifier: MIT */
/* A trace whose state page `bp_control` steers, for tests of control.c and budget.c. */
#ifndef BP_TESTS_CONTROL_TRACE_H
#define BP_TESTS_CONTROL_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "recorder/steering/budget.h"
#include "recorder/steering/control.h"
#include "recorder/recorder.h"

/* What lifecycle.c and thread.c would define. */
struct bp_recorder bp_recorder;
static char path[64];

static inline struct bp_trace_state *state_page(void)
{
	return bp_writer_state(&bp_recorder.writer);
}

static inline uint64_t word(void)
{
	return __atomic_load_n(&state_page()->control, __ATOMIC_ACQUIRE);
}

static inline void open_trace(const struct bp_config *config)
{
	static int number;
	struct bp_trace_header header = { .magic = BP_TRACE_MAGIC,
		.version_major = BP_TRACE_MAJOR,
		.version_minor = BP_TRACE_MINOR,
		.chunk_bytes = BP_CHUNK_BYTES,
		.page_bytes = 4096,
		.charge_bytes = 1,
		.recognition = BP_RECOGNITION_HEADER };
	memset(&bp_recorder, 0, sizeof bp_recorder);
	snprintf(path, sizeof path, "/tmp/bytepoll-control.%d.%d", (int)getpid(), number++);
	bp_control_configure(config);
	bp_control_describe(&header);
	assert_true(bp_writer_open(&bp_recorder.writer, path, &header, ""));
	bp_control_publish(state_page());
	bp_budget_after_fork();
}

static inline int end(void **state)
{
	(void)state;
	return unlink(path);
}

#endif
