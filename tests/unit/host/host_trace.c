/* SPDX-License-Identifier: MIT */
/* See host_trace.h. */
#include "host_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *host_path(const char *name)
{
	static char path[200];
	const char *folder = getenv("TMPDIR");
	snprintf(path, sizeof path, "%s/bytepoll-host-%ld-%s.bpt", folder == NULL ? "/tmp" : folder,
		(long)getpid(), name);
	return path;
}

struct bp_host *host_open(const char *name, uint64_t interval)
{
	unlink(host_path(name));
	return bp_host_open(&(struct bp_host_options){ .name = "test 1",
		.path = host_path(name),
		.interval = interval,
		.charge = BP_SAMPLER_CHARGE });
}

static void copy(char *to, struct bp_trace_text text)
{
	assert_true(text.bytes <= 2000);
	memcpy(to, text.data, text.bytes);
	to[text.bytes] = '\0';
}

static void take_stack(struct host_trace *trace, const struct bp_trace_stack *stack)
{
	trace->stack_count++;
	if (stack->id >= 100)
		return;
	assert_true(stack->named && stack->depth <= 512);
	trace->depths[stack->id] = stack->depth;
	trace->stack_flags[stack->id] = stack->flags;
	for (uint32_t i = 0; i < stack->depth; i++)
		trace->stacks[stack->id][i] = (uint32_t)stack->frames[i].pc;
}

static void take_name(struct host_trace *trace, enum bp_tag tag, const struct bp_trace_name *name)
{
	assert_true(name->id > 0);
	trace->type_count += tag == BP_TAG_TYPE;
	trace->frame_count += tag == BP_TAG_FRAME;
	trace->label_count += tag == BP_TAG_LABELS;
	if (name->id >= 100)
		return;
	copy(tag == BP_TAG_TYPE	       ? trace->types[name->id]
		: tag == BP_TAG_LABELS ? trace->labels[name->id]
				       : trace->functions[name->id],
		name->text);
	if (tag != BP_TAG_FRAME)
		return;
	copy(trace->files[name->id], name->file);
	trace->lines[name->id] = name->line;
}

static void take(struct host_trace *trace, const struct bp_trace_record *record)
{
	switch (record->tag) {
	case BP_TAG_SAMPLE:
		assert_true(trace->sample_count < HOST_RECORDS_MAX);
		trace->samples[trace->sample_count++] = record->sample;
		break;
	case BP_TAG_FREE:
		assert_true(trace->free_count < HOST_RECORDS_MAX);
		trace->frees[trace->free_count++] = record->free;
		break;
	case BP_TAG_INTERVAL:
		assert_true(trace->interval_count < 100);
		trace->intervals[trace->interval_count++] = record->interval;
		break;
	case BP_TAG_NAMED_STACK:
		take_stack(trace, &record->stack);
		break;
	case BP_TAG_TYPE:
	case BP_TAG_FRAME:
	case BP_TAG_LABELS:
		take_name(trace, record->tag, &record->name);
		break;
	case BP_TAG_THREAD_BEGIN:
		trace->begins++;
		break;
	case BP_TAG_THREAD_END:
		trace->ends++;
		break;
	default:
		fail_msg("a record of kind %d", (int)record->tag);
	}
}

const struct host_trace *host_read(const char *name, bool remove)
{
	static struct host_trace trace;
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error = { .text = "" };
	enum bp_trace_next next;
	memset(&trace, 0, sizeof trace);
	if (!bp_trace_reader_open(&reader, host_path(name), &error))
		fail_msg("%s", error.text);
	while ((next = bp_trace_reader_next(&reader, &record, &error)) == BP_TRACE_RECORD)
		take(&trace, &record);
	assert_int_equal(next, BP_TRACE_END);
	trace.header = reader.header;
	trace.state = reader.state;
	trace.totals = bp_trace_reader_totals(&reader);
	trace.damaged = reader.damaged_chunks;
	for (uint32_t i = 0; i < reader.thread_count; i++)
		trace.open_threads += reader.threads[i].bytes_high != reader.threads[i].bytes_low;
	assert_int_equal(reader.skipped_records, 0);
	bp_trace_reader_close(&reader);
	if (remove)
		unlink(host_path(name));
	return &trace;
}

bool host_sample(struct bp_host *host, uintptr_t object, uint64_t size, uint32_t thread)
{
	return bp_host_sampled(
		host, &(struct bp_host_event){ .kind = BP_HOST_SMALL,
			      .object = (const void *)object,
			      .size = size,
			      .thread = thread,
			      .decision = { .sampled = true, .interval = 4096, .offset = size / 2 },
			      .trials = size + 1,
			      .objects = 1 });
}
