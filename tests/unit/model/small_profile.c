/* SPDX-License-Identifier: MIT */
/* See small_profile.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "small_profile.h"

void small_init(struct bp_profile *profile)
{
	struct bp_error error;
	assert_true(bp_profile_init(profile, &error));
}

struct bp_string_id small_string(struct bp_profile *profile, const char *text)
{
	struct bp_string_id id;
	struct bp_error error;
	assert_true(bp_profile_string(profile, text, strlen(text), &id, &error));
	return id;
}

static uint64_t moment_ns(double seconds)
{
	return SMALL_BASE_NS + (uint64_t)llround(seconds * SMALL_SECOND);
}

struct bp_process_id small_process(struct bp_profile *profile, uint32_t pid, unsigned number,
	unsigned parent, double start_s, double end_s, uint64_t interval)
{
	struct bp_process_id id;
	struct bp_error error;
	char path[64];
	snprintf(path, sizeof path, "/usr/bin/program%u", number);
	struct bp_process process = { .program = small_string(profile, path),
		.pid = pid,
		.parent_pid = parent,
		.start_time_ns = moment_ns(start_s),
		.end_time_ns = moment_ns(end_s),
		.ended = true,
		.end_reason = 1,
		.profiled = true,
		.charge = 1,
		.interval_first = interval,
		.interval_max = interval };
	process.trace_id[0] = (uint8_t)number;
	process.parent_trace_id[0] = (uint8_t)parent;
	assert_true(bp_profile_add_process(profile, &process, &id, &error));
	return id;
}

void small_totals(struct bp_profile *profile, struct bp_process_id process, uint64_t bytes_low,
	uint64_t bytes_high, uint64_t objects_low, uint64_t objects_high)
{
	struct bp_process *entry = &profile->processes.data[process.i];
	entry->bytes_allocated = (struct bp_known_total){ bytes_low, bytes_high };
	entry->objects_allocated = (struct bp_known_total){ objects_low, objects_high };
}

struct bp_thread_id small_thread(struct bp_profile *profile, struct bp_process_id process,
	uint32_t ordinal, const char *name)
{
	struct bp_thread_id id;
	struct bp_error error;
	struct bp_thread thread = { .process = process,
		.ordinal = ordinal,
		.tid = 1000 + ordinal,
		.name = small_string(profile, name) };
	assert_true(bp_profile_add_thread(profile, &thread, &id, &error));
	return id;
}

/* The frame of one name; its address is the string's id, so that equal names are one location. */
static struct bp_frame frame_of(struct bp_profile *profile, const char *name)
{
	char file[256];
	bool inlined = strchr(name, '@') != NULL;
	snprintf(file, sizeof file, "src/%.200s.c", name);
	return (struct bp_frame){ .function = small_string(profile, name),
		.source_file = small_string(profile, file),
		.line = (uint32_t)strlen(name),
		.inlined = inlined,
		.named = true };
}

static struct bp_location_id location_of(
	struct bp_profile *profile, const struct bp_frame *frames, uint32_t count)
{
	struct bp_location_id id;
	struct bp_error error;
	uint64_t address = 0;
	for (uint32_t i = 0; i < count; i++)
		address = address * 65536 + frames[i].function.i;
	struct bp_module_id none = { 0 };
	assert_true(bp_profile_add_location(profile, none, address, false, &id, &error));
	if (!profile->locations.data[id.i].resolved)
		assert_true(bp_profile_set_frames(profile, id, frames, count, &error));
	return id;
}

struct bp_stack_id small_stack(struct bp_profile *profile, const char *functions)
{
	struct bp_location_id locations[64];
	struct bp_frame frames[8];
	struct bp_stack_id id;
	struct bp_error error;
	uint32_t depth = 0, count = 0;
	char copy[1024], *rest = copy, *name;
	snprintf(copy, sizeof copy, "%s", functions);
	while ((name = strsep(&rest, ";")) != NULL && *name != '\0') {
		frames[count++] = frame_of(profile, name);
		if (frames[count - 1].inlined)
			continue;
		locations[depth++] = location_of(profile, frames, count);
		count = 0;
	}
	assert_int_equal(count, 0);
	assert_true(bp_profile_add_stack(profile, locations, depth, 0, &id, &error));
	return id;
}

struct bp_sample *small_sample(struct bp_profile *profile, struct bp_process_id process,
	struct bp_stack_id stack, uint64_t size, double time_s, double free_s)
{
	struct bp_error error;
	uint64_t interval = profile->processes.data[process.i].interval_max;
	struct bp_sample sample = { .size = size,
		.interval = interval,
		.sequence = 2 * profile->added.count,
		.free_sequence = BP_TIME_NEVER,
		.time_ns = moment_ns(time_s),
		.free_time_ns = BP_TIME_NEVER,
		.stack = stack,
		.process = process,
		.kind = 1,
		.exact = interval == 1 || size + 1 >= interval };
	if (free_s >= 0) {
		sample.free_time_ns = moment_ns(free_s);
		sample.free_sequence = sample.sequence + 100000;
	}
	assert_true(bp_profile_add_sample(profile, &sample, &error));
	profile->processes.data[process.i].samples++;
	return &profile->added.data[profile->added.count - 1];
}

struct bp_aggregation small_aggregate(struct bp_profile *profile, const struct bp_query *query)
{
	struct bp_aggregation aggregation;
	struct bp_error error;
	assert_true(bp_profile_finish_import(profile, false, &error));
	if (!bp_aggregate(profile, query, &aggregation, &error))
		fail_msg("%s", error.text);
	return aggregation;
}

static bool find(const struct bp_aggregation *aggregation, const char *name, struct bp_row *row)
{
	for (uint32_t i = 0; i < aggregation->row_count; i++) {
		bp_aggregation_row(aggregation, i, row);
		if (row->name != NULL && strcmp(row->name, name) == 0)
			return true;
	}
	return false;
}

struct bp_row small_row(const struct bp_aggregation *aggregation, const char *name)
{
	struct bp_row row;
	if (!find(aggregation, name, &row))
		fail_msg("no row is named %s", name);
	return row;
}

bool small_has_row(const struct bp_aggregation *aggregation, const char *name)
{
	struct bp_row row;
	return find(aggregation, name, &row);
}

void small_assert_exact(struct bp_figure figure, double value)
{
	assert_true(figure.interval.exact);
	assert_false(figure.interval.unknown);
	assert_true(figure.interval.estimate == value);
	assert_true(figure.interval.low == value);
	assert_true(figure.interval.high == value);
}

struct bp_process_id small_exact(struct bp_profile *profile)
{
	small_init(profile);
	struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 1);
	struct bp_thread_id main_thread = small_thread(profile, process, 1, "main");
	struct bp_thread_id worker = small_thread(profile, process, 2, "worker-7");
	struct bp_stack_id parse = small_stack(profile, "malloc;parse;load;main");
	struct bp_stack_id make = small_stack(profile, "operator new(unsigned long);make;main");
	struct bp_stack_id loop = small_stack(profile, "tiny@;loop;loop;run;main");
	small_sample(profile, process, parse, 100, 1, -1)->thread = main_thread;
	small_sample(profile, process, parse, 50, 2, 4)->thread = main_thread;
	struct bp_sample *made = small_sample(profile, process, make, 30, 3, -1);
	made->thread = worker;
	made->kind = 5;
	struct bp_sample *brief = small_sample(profile, process, loop, 64, 5, 5.5);
	brief->thread = worker;
	brief->temporary = true;
	small_sample(profile, process, (struct bp_stack_id){ 0 }, 7, 6, -1)->thread = main_thread;
	small_totals(profile, process, 251, 251, 5, 5);
	return process;
}

bool small_has_warning(const struct bp_aggregation *aggregation, const char *part)
{
	for (char **w = aggregation->warnings; *w != NULL; w++)
		if (strstr(*w, part) != NULL)
			return true;
	return false;
}
