/* SPDX-License-Identifier: MIT */
/*
 * What the numbers of a page stand for: names, frames, threads, processes, types. Only what its
 * cells use is in it, beside threads and processes, which are rows by their counters. Numbers go by
 * first use, so that equal profiles give equal pages.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "page/html_data.h"

#define NAME_BYTES_MAX 2000 /* nobody reads on */

static const char callers_text[] = "[callers of small stacks]";

static uint32_t *table(uint32_t count)
{
	return calloc((size_t)count + 2, sizeof(uint32_t));
}

void bp_page_numbers_finish(struct bp_page_numbers *numbers)
{
	free(numbers->names);
	free(numbers->name_of);
	free(numbers->frames);
	free(numbers->frame_of);
	free(numbers->threads);
	free(numbers->thread_of);
	free(numbers->processes);
	free(numbers->process_of);
	free(numbers->thread_sums);
	free(numbers->process_sums);
	memset(numbers, 0, sizeof *numbers);
}

static void use_name(struct bp_page_numbers *numbers, struct bp_string_id string)
{
	if (string.i == 0 || numbers->names[string.i] != 0)
		return;
	numbers->names[string.i] = numbers->name_count;
	numbers->name_of[numbers->name_count++] = string.i;
}

static void use_frame(
	struct bp_page_numbers *numbers, const struct bp_profile *profile, uint32_t id)
{
	if (id == 0 || id == BP_CUBE_CALLERS || numbers->frames[id] != 0)
		return;
	const struct bp_frame *frame = &profile->frames.data[id];
	numbers->frames[id] = numbers->frame_count;
	numbers->frame_of[numbers->frame_count++] = id;
	use_name(numbers, frame->function);
	use_name(numbers, frame->source_file);
	use_name(numbers, profile->modules.data[frame->module.i].path);
}

static bool is_included(const struct bp_aggregation *shown, uint32_t process)
{
	const uint32_t pid = shown->query.pid;
	return pid == 0 || shown->profile->processes.data[process].pid == pid;
}

static void use_threads(struct bp_page_numbers *numbers, const struct bp_aggregation *shown)
{
	const struct bp_profile *profile = shown->profile;
	numbers->thread_count = numbers->process_count = 1;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		if (!is_included(shown, i))
			continue;
		numbers->processes[i] = numbers->process_count;
		numbers->process_of[numbers->process_count++] = i;
	}
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		if (!is_included(shown, profile->threads.data[i].process.i) ||
			numbers->thread_count > BP_PAGE_ENTRIES_MAX)
			continue;
		numbers->threads[i] = numbers->thread_count;
		numbers->thread_of[numbers->thread_count++] = i;
	}
}

static void sum_samples(struct bp_page_numbers *numbers, const struct bp_profile *profile,
	const struct bp_cube *cube)
{
	for (uint32_t i = 0; i < cube->cell_count; i++) {
		const uint32_t thread = cube->cells[i].thread;
		const struct bp_sums *sums = &cube->records[cube->cells[i].record];
		struct bp_page_sampled *to[] = { &numbers->thread_sums[thread],
			&numbers->process_sums[profile->threads.data[thread].process.i] };
		for (unsigned k = 0; k < BP_COUNT(to); k++) {
			to[k]->samples += sums->samples;
			to[k]->bytes += sums->bytes;
		}
	}
}

bool bp_page_numbers_init(struct bp_page_numbers *numbers, const struct bp_aggregation *shown,
	const struct bp_cube *cube, struct bp_error *error)
{
	const struct bp_profile *profile = shown->profile;
	*numbers = (struct bp_page_numbers){ .names = table(profile->strings.count),
		.name_of = table(profile->strings.count),
		.frames = table(profile->frames.count),
		.frame_of = table(profile->frames.count),
		.threads = table(profile->threads.count),
		.thread_of = table(profile->threads.count),
		.processes = table(profile->processes.count),
		.process_of = table(profile->processes.count),
		.thread_sums = calloc(profile->threads.count, sizeof *numbers->thread_sums),
		.process_sums = calloc(profile->processes.count, sizeof *numbers->process_sums),
		.name_count = 1,
		.frame_count = BP_PAGE_CALLERS + 1 };
	if (numbers->names == NULL || numbers->name_of == NULL || numbers->frames == NULL ||
		numbers->frame_of == NULL || numbers->threads == NULL ||
		numbers->thread_of == NULL || numbers->processes == NULL ||
		numbers->process_of == NULL || numbers->thread_sums == NULL ||
		numbers->process_sums == NULL) {
		bp_page_numbers_finish(numbers);
		return bp_error_set(error, "out of memory");
	}
	for (uint32_t i = 0; i < cube->stack_frame_count; i++)
		use_frame(numbers, profile, cube->stack_frames[i].i);
	numbers->callers_name = numbers->name_count;
	use_threads(numbers, shown);
	sum_samples(numbers, profile, cube);
	return true;
}

void bp_page_write_text(struct bp_json *json, const char *key, const char *text)
{
	char cut[NAME_BYTES_MAX + 4];
	if (strlen(text) > NAME_BYTES_MAX) {
		size_t bytes = NAME_BYTES_MAX;
		while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
			bytes--;
		memcpy(cut, text, bytes);
		strcpy(cut + bytes, "\xe2\x80\xa6");
		text = cut;
	}
	bp_json_text(json, key, text);
}

static void write_numbers(struct bp_json *json, const uint32_t *numbers, size_t count)
{
	bp_json_array(json, NULL, BP_JSON_COMPACT);
	for (size_t i = 0; i < count; i++)
		bp_json_whole(json, NULL, numbers[i]);
	bp_json_end(json);
}

static void write_frames(const struct bp_page_source *source, struct bp_json *json)
{
	const struct bp_profile *profile = source->shown->profile;
	const struct bp_page_numbers *numbers = &source->numbers;
	const uint32_t first[][5] = { { 0 }, { numbers->callers_name } };
	bp_json_array(json, "frames", BP_JSON_COMPACT);
	write_numbers(json, first[0], BP_COUNT(first[0]));
	write_numbers(json, first[1], BP_COUNT(first[1]));
	for (uint32_t i = BP_PAGE_CALLERS + 1; i < numbers->frame_count; i++) {
		const struct bp_frame *frame = &profile->frames.data[numbers->frame_of[i]];
		const uint32_t values[] = { numbers->names[frame->function.i],
			numbers->names[frame->source_file.i], frame->line,
			numbers->names[profile->modules.data[frame->module.i].path.i],
			frame->inlined };
		write_numbers(json, values, BP_COUNT(values));
	}
	bp_json_end(json);
}

/* What was counted of a thread or process; not where fewer than were sampled. */
static void write_own(
	const struct bp_page_source *source, bool thread, uint32_t id, struct bp_json *json)
{
	const struct bp_page_sampled *sampled =
		thread ? &source->numbers.thread_sums[id] : &source->numbers.process_sums[id];
	struct bp_known_total bytes, objects;
	if (!bp_cube_own_counters(source->shown, thread, id, &bytes, &objects) ||
		objects.high < sampled->samples || (double)bytes.high < sampled->bytes) {
		bp_json_null(json, NULL);
		return;
	}
	bp_json_array(json, NULL, BP_JSON_COMPACT);
	bp_json_whole(json, NULL, bytes.low);
	bp_json_whole(json, NULL, bytes.high);
	bp_json_whole(json, NULL, objects.low);
	bp_json_whole(json, NULL, objects.high);
	bp_json_end(json);
}

/* Number 0 of the threads and of the processes. */
static void write_nobody(struct bp_json *json, bool thread)
{
	bp_json_array(json, NULL, BP_JSON_COMPACT);
	bp_json_text(json, NULL, "");
	bp_json_whole(json, NULL, 0);
	if (thread)
		bp_json_whole(json, NULL, 0);
	bp_json_null(json, NULL);
	bp_json_end(json);
}

static void write_threads(const struct bp_page_source *source, struct bp_json *json)
{
	const struct bp_profile *profile = source->shown->profile;
	const struct bp_page_numbers *numbers = &source->numbers;
	bp_json_array(json, "threads", BP_JSON_ROWS);
	write_nobody(json, true);
	for (uint32_t i = 1; i < numbers->thread_count; i++) {
		const struct bp_thread *thread = &profile->threads.data[numbers->thread_of[i]];
		bp_json_array(json, NULL, BP_JSON_COMPACT);
		bp_page_write_text(json, NULL, bp_profile_text(profile, thread->name));
		bp_json_whole(json, NULL, thread->tid);
		bp_json_whole(json, NULL, numbers->processes[thread->process.i]);
		write_own(source, true, numbers->thread_of[i], json);
		bp_json_end(json);
	}
	bp_json_end(json);
}

static void write_processes(const struct bp_page_source *source, struct bp_json *json)
{
	const struct bp_profile *profile = source->shown->profile;
	const struct bp_page_numbers *numbers = &source->numbers;
	bp_json_array(json, "processes", BP_JSON_ROWS);
	write_nobody(json, false);
	for (uint32_t i = 1; i < numbers->process_count; i++) {
		const struct bp_process *process = &profile->processes.data[numbers->process_of[i]];
		bp_json_array(json, NULL, BP_JSON_COMPACT);
		bp_page_write_text(json, NULL, bp_process_name(profile, process));
		bp_json_whole(json, NULL, process->pid);
		write_own(source, false, numbers->process_of[i], json);
		bp_json_end(json);
	}
	bp_json_end(json);
}

void bp_page_write_names(const struct bp_page_source *source, struct bp_json *json)
{
	const struct bp_profile *profile = source->shown->profile;
	const struct bp_page_numbers *numbers = &source->numbers;
	const uint32_t types = source->cube->type_count < BP_PAGE_ENTRIES_MAX
				       ? source->cube->type_count
				       : BP_PAGE_ENTRIES_MAX;
	bp_json_array(json, "names", BP_JSON_ROWS);
	bp_json_text(json, NULL, "");
	for (uint32_t i = 1; i < numbers->name_count; i++)
		bp_page_write_text(json, NULL, profile->strings.data[numbers->name_of[i]]);
	bp_json_text(json, NULL, callers_text);
	bp_json_end(json);
	write_frames(source, json);
	write_threads(source, json);
	write_processes(source, json);
	bp_json_array(json, "types", BP_JSON_ROWS);
	for (uint32_t i = 0; i < types; i++)
		bp_page_write_text(json, NULL, bp_cube_type_name(source->cube, i));
	if (types < source->cube->type_count)
		bp_json_text(json, NULL, "[other types]");
	bp_json_end(json);
}
