/* SPDX-License-Identifier: MIT */
/*
 * See tables_write.h. What a sample's object was at the end of its program is decided here, by the
 * same view that reports have (query/view.h); everything else is written as it was recorded.
 */
#include "fleet/tables_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/index.h"
#include "base/vec.h"
#include "fleet/content_id.h"
#include "query/selection.h"

bool bp_table_writer_row(struct bp_table_writer *writer, struct bp_error *error)
{
	for (uint32_t i = 0; i < writer->table->column_count; i++) {
		struct bp_parquet_value *value = &writer->values[i];
		if (writer->table->columns[i].type != BP_PARQUET_TEXT || value->null)
			continue;
		value->text = bp_valid_text(&writer->texts[i], value->text);
		if (value->text == NULL)
			return bp_error_set(error, "out of memory");
	}
	return bp_parquet_row(writer->file, writer->values, error);
}

/* ---- stacks and frames ---- */

/* Ids that were written already. */
struct seen {
	uint64_t *ids;
	uint32_t count, capacity;
	struct bp_index index;
};

/* False: it was seen before, or there is no memory, which `*ret_good` tells. */
static bool is_new(struct seen *seen, uint64_t id, bool *ret_good)
{
	const struct bp_index_keys keys = { seen->ids, sizeof *seen->ids };
	*ret_good = true;
	if (bp_index_find(&seen->index, keys, id) != BP_INDEX_NONE)
		return false;
	*ret_good =
		bp_vec_reserve(&seen->ids, &seen->capacity, seen->count + 1u, sizeof *seen->ids);
	if (!*ret_good)
		return false;
	seen->ids[seen->count] = id;
	*ret_good = bp_index_add(
		&seen->index, (struct bp_index_keys){ seen->ids, sizeof *seen->ids }, seen->count);
	seen->count += *ret_good;
	return *ret_good;
}

static void forget(struct seen *seen)
{
	free(seen->ids);
	bp_index_finish(&seen->index);
}

struct stacks {
	uint64_t *ids;	  /* by stack of the profile */
	uint64_t *frames; /* of the stack that is looked at */
	uint32_t capacity;
};

/* The ids of the frames of a stack, innermost first. False: no memory. */
static bool frames_of(const struct bp_profile *profile, const struct bp_stack *stack,
	struct stacks *stacks, uint32_t *ret_count)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct bp_location *location =
			&profile->locations
				 .data[profile->stack_locations.data[stack->first_location + i].i];
		const uint32_t frames = location->frame_count == 0 ? 1 : location->frame_count;
		if (!bp_vec_reserve(&stacks->frames, &stacks->capacity, (uint64_t)count + frames,
			    sizeof *stacks->frames))
			return false;
		for (uint32_t j = 0; j < frames; j++) {
			const uint32_t frame =
				location->frame_count == 0 ? 0 : location->first_frame.i + j;
			stacks->frames[count++] = bp_frame_content_id(
				profile, location, &profile->frames.data[frame]);
		}
	}
	*ret_count = count;
	return true;
}

static bool put_stack(struct bp_table_writer *writer, const struct stacks *stacks, uint32_t number,
	uint32_t count, struct bp_error *error)
{
	for (uint32_t i = 0; i < count; i++) {
		bp_set_number(writer, BP_STACK_stack, (int64_t)stacks->ids[number]);
		bp_set_number(writer, BP_STACK_position, i);
		bp_set_number(writer, BP_STACK_frame, (int64_t)stacks->frames[i]);
		bp_set_number(writer, BP_STACK_flags, writer->profile->stacks.data[number].flags);
		if (!bp_table_writer_row(writer, error))
			return false;
	}
	return true;
}

/* Writes the stacks, and leaves their ids. */
static bool write_stacks(
	struct bp_table_writer *writer, struct stacks *stacks, struct bp_error *error)
{
	const struct bp_profile *profile = writer->profile;
	struct seen seen = { 0 };
	bool good = true;
	for (uint32_t i = 0; good && i < profile->stacks.count; i++) {
		const struct bp_stack *stack = &profile->stacks.data[i];
		uint32_t count = 0;
		good = frames_of(profile, stack, stacks, &count) ||
		       bp_error_set(error, "out of memory");
		if (!good)
			break;
		stacks->ids[i] = bp_stack_content_id(stack->flags, stacks->frames, count);
		bool kept;
		if (is_new(&seen, stacks->ids[i], &kept))
			good = put_stack(writer, stacks, i, count, error);
		else if (!kept)
			good = bp_error_set(error, "out of memory");
	}
	forget(&seen);
	return good;
}

static bool put_frame(struct bp_table_writer *writer, const struct bp_location *location,
	const struct bp_frame *frame, uint64_t id, struct bp_error *error)
{
	const struct bp_profile *profile = writer->profile;
	const struct bp_module *module = &profile->modules.data[frame->module.i];
	bp_set_number(writer, BP_FRAME_frame, (int64_t)id);
	bp_set_text(writer, BP_FRAME_function, bp_profile_text(profile, frame->function));
	bp_set_text(writer, BP_FRAME_system_name, bp_profile_text(profile, frame->system_name));
	bp_set_text(writer, BP_FRAME_file, bp_profile_text(profile, frame->source_file));
	bp_set_open(writer, BP_FRAME_line, frame->line == 0 ? UINT64_MAX : frame->line);
	bp_set_text(writer, BP_FRAME_module, bp_profile_text(profile, module->path));
	bp_set_text(writer, BP_FRAME_build_id, bp_profile_text(profile, module->build_id));
	bp_set_number(writer, BP_FRAME_address, (int64_t)location->address);
	bp_set_number(writer, BP_FRAME_named, frame->named);
	bp_set_number(writer, BP_FRAME_inlined, frame->inlined);
	bp_set_number(writer, BP_FRAME_python, frame->interpreted);
	return bp_table_writer_row(writer, error);
}

static bool write_frames(struct bp_table_writer *writer, struct bp_error *error)
{
	const struct bp_profile *profile = writer->profile;
	struct seen seen = { 0 };
	bool good = true;
	for (uint32_t i = 0; good && i < profile->locations.count; i++) {
		const struct bp_location *location = &profile->locations.data[i];
		const uint32_t frames = location->frame_count == 0 ? 1 : location->frame_count;
		for (uint32_t j = 0; good && j < frames; j++) {
			const struct bp_frame *frame =
				&profile->frames.data[location->frame_count == 0
							      ? 0
							      : location->first_frame.i + j];
			const uint64_t id = bp_frame_content_id(profile, location, frame);
			bool kept;
			if (is_new(&seen, id, &kept))
				good = put_frame(writer, location, frame, id, error);
			else if (!kept)
				good = bp_error_set(error, "out of memory");
		}
	}
	forget(&seen);
	return good;
}

/* ---- samples, threads, processes ---- */

static bool put_sample(struct bp_table_writer *writer, const struct bp_sample *sample,
	const uint64_t *stack_ids, struct bp_error *error)
{
	const struct bp_profile *profile = writer->profile;
	const struct bp_process *process = &profile->processes.data[sample->process.i];
	const struct bp_process_view *view = &writer->view->processes[sample->process.i];
	const uint64_t start_ns = process->start_time_ns;
	const bool freed =
		sample->free_time_ns != BP_TIME_NEVER && sample->free_time_ns <= view->end_ns;
	bp_set_text(writer, BP_SAMPLE_process, writer->process_ids[sample->process.i]);
	bp_set_number(writer, BP_SAMPLE_thread, sample->thread.i);
	bp_set_number(writer, BP_SAMPLE_time_ns, (int64_t)(sample->time_ns - start_ns));
	bp_set_number(writer, BP_SAMPLE_freed_ns, (int64_t)(sample->free_time_ns - start_ns));
	writer->values[BP_SAMPLE_freed_ns].null = !freed;
	bp_set_number(writer, BP_SAMPLE_live, bp_view_is_live(writer->view, sample, &view->live));
	bp_set_number(writer, BP_SAMPLE_temporary, sample->temporary);
	bp_set_number(writer, BP_SAMPLE_size, (int64_t)sample->size);
	bp_set_open(writer, BP_SAMPLE_usable, sample->usable == 0 ? UINT64_MAX : sample->usable);
	bp_set_number(writer, BP_SAMPLE_interval, (int64_t)sample->interval);
	bp_set_number(writer, BP_SAMPLE_charge, process->charge);
	bp_set_text(writer, BP_SAMPLE_law, sample->bernoulli ? BP_LAW_BERNOULLI : BP_LAW_EXACT);
	bp_set_number(writer, BP_SAMPLE_exact, sample->exact);
	bp_set_text(writer, BP_SAMPLE_kind, bp_type_name(profile, sample->kind));
	bp_set_text(writer, BP_SAMPLE_type,
		bp_profile_text(profile, profile->types.data[sample->type.i].name));
	bp_set_text(writer, BP_SAMPLE_labels,
		bp_profile_text(profile, profile->labels.data[sample->labels.i].text));
	bp_set_number(writer, BP_SAMPLE_stack, (int64_t)stack_ids[sample->stack.i]);
	bp_set_number(writer, BP_SAMPLE_samples, sample->more + INT64_C(1));
	return bp_table_writer_row(writer, error);
}

static bool write_samples(
	struct bp_table_writer *writer, const uint64_t *stack_ids, struct bp_error *error)
{
	for (uint32_t i = 1; i < writer->profile->samples.count; i++) {
		const struct bp_sample sample = bp_profile_sample(writer->profile, i);
		if (!put_sample(writer, &sample, stack_ids, error))
			return false;
	}
	return true;
}

static bool write_threads(struct bp_table_writer *writer, struct bp_error *error)
{
	const struct bp_profile *profile = writer->profile;
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		const struct bp_thread *thread = &profile->threads.data[i];
		bp_set_text(writer, BP_THREAD_process, writer->process_ids[thread->process.i]);
		bp_set_number(writer, BP_THREAD_thread, i);
		bp_set_number(writer, BP_THREAD_ordinal, thread->ordinal);
		bp_set_number(writer, BP_THREAD_tid, thread->tid);
		bp_set_text(writer, BP_THREAD_name, bp_profile_text(profile, thread->name));
		bp_set_number(
			writer, BP_THREAD_allocated_bytes, (int64_t)thread->bytes_allocated.low);
		bp_set_open(writer, BP_THREAD_allocated_bytes_high, thread->bytes_allocated.high);
		bp_set_number(writer, BP_THREAD_allocated_objects,
			(int64_t)thread->objects_allocated.low);
		bp_set_open(
			writer, BP_THREAD_allocated_objects_high, thread->objects_allocated.high);
		bp_set_number(writer, BP_THREAD_lost, (int64_t)thread->lost);
		if (!bp_table_writer_row(writer, error))
			return false;
	}
	return true;
}

static bool write_intervals(struct bp_table_writer *writer, struct bp_error *error)
{
	const struct bp_profile *profile = writer->profile;
	for (uint32_t i = 1; i < profile->intervals.count; i++) {
		const struct bp_interval_used *used = &profile->intervals.data[i];
		bp_set_text(writer, BP_INTERVAL_process, writer->process_ids[used->process.i]);
		bp_set_number(writer, BP_INTERVAL_interval, (int64_t)used->interval);
		bp_set_open(writer, BP_INTERVAL_trials, used->trials);
		if (!bp_table_writer_row(writer, error))
			return false;
	}
	return true;
}

static bool put_pause(struct bp_table_writer *writer, const struct bp_pause *pause, bool outage,
	struct bp_error *error)
{
	const uint64_t start_ns = writer->profile->processes.data[pause->process.i].start_time_ns;
	bp_set_text(writer, BP_PAUSE_process, writer->process_ids[pause->process.i]);
	bp_set_number(writer, BP_PAUSE_from_ns, (int64_t)(pause->from_ns - start_ns));
	bp_set_number(writer, BP_PAUSE_to_ns, (int64_t)(pause->to_ns - start_ns));
	writer->values[BP_PAUSE_to_ns].null = pause->to_ns == BP_TIME_NEVER;
	bp_set_number(writer, BP_PAUSE_outage, outage);
	return bp_table_writer_row(writer, error);
}

static bool write_pauses(struct bp_table_writer *writer, struct bp_error *error)
{
	const struct bp_profile *profile = writer->profile;
	for (uint32_t i = 1; i < profile->pauses.count; i++)
		if (!put_pause(writer, &profile->pauses.data[i], false, error))
			return false;
	for (uint32_t i = 1; i < profile->outages.count; i++)
		if (!put_pause(writer, &profile->outages.data[i], true, error))
			return false;
	return true;
}

/* "3=12 16=2": reasons and how often. */
static void losses_text(const struct bp_process *process, char *text, size_t bytes)
{
	size_t used = 0;
	text[0] = '\0';
	for (uint32_t i = 0; i < BP_PROFILE_LOSSES; i++)
		if (process->lost[i] != 0 && used < bytes)
			used += (size_t)snprintf(text + used, bytes - used, "%s%u=%llu",
				used > 0 ? " " : "", i, (unsigned long long)process->lost[i]);
}

static bool put_process(struct bp_table_writer *writer, uint32_t number, const struct bp_tags *tags,
	struct bp_error *error)
{
	const struct bp_profile *profile = writer->profile;
	struct bp_process process = profile->processes.data[number];
	char losses[BP_PROFILE_LOSSES * 24 + 1];
	process.end_time_ns = writer->view->processes[number].end_ns;
	losses_text(&process, losses, sizeof losses);
	bp_set_text(writer, BP_PROCESS_process, writer->process_ids[number]);
	bp_set_text(
		writer, BP_PROCESS_run, writer->process_ids[writer->view->processes[number].root]);
	bp_set_text(writer, BP_PROCESS_parent,
		process.parent.i == 0 ? "" : writer->process_ids[process.parent.i]);
	const struct bp_process *first =
		&profile->processes.data[writer->view->processes[number].root];
	bp_set_text(writer, BP_PROCESS_service,
		*tags->service != '\0' ? tags->service : bp_process_name(profile, first));
	bp_set_text(writer, BP_PROCESS_release, tags->release);
	bp_set_text(writer, BP_PROCESS_host, tags->host);
	bp_set_text(writer, BP_PROCESS_tags, tags->tags);
	bp_set_text(writer, BP_PROCESS_lost, losses);
	bp_set_number(writer, BP_PROCESS_unread_files,
		number == profile->root.i ? profile->unread_files : 0);
	for (uint32_t i = BP_PROCESS_HEAD_COUNT; i < bp_process_field_count; i++)
		writer->values[i] = bp_process_value(profile, &process, i);
	return bp_table_writer_row(writer, error);
}

/* ---- all tables ---- */

static bool write_rows(struct bp_table_writer *writer, enum bp_table_number number,
	const struct bp_tags *tags, struct stacks *stacks, struct bp_error *error)
{
	switch (number) {
	case BP_TABLE_SAMPLE:
		return write_samples(writer, stacks->ids, error);
	case BP_TABLE_STACK:
		return write_stacks(writer, stacks, error);
	case BP_TABLE_FRAME:
		return write_frames(writer, error);
	case BP_TABLE_THREAD:
		return write_threads(writer, error);
	case BP_TABLE_COUNTER:
		return bp_counters_write(writer, error);
	case BP_TABLE_READING:
		return bp_readings_write(writer, error);
	case BP_TABLE_INTERVAL:
		return write_intervals(writer, error);
	case BP_TABLE_PAUSE:
		return write_pauses(writer, error);
	default:
		for (uint32_t i = 1; i < writer->profile->processes.count; i++)
			if (!put_process(writer, i, tags, error))
				return false;
		return true;
	}
}

/* Where tables go: into a folder, or, `files`, into a file without a name for each. */
struct place {
	int folder;
	FILE **files;
};

static FILE *open_file(const struct place *place, enum bp_table_number number, const char *name)
{
	if (place->files != NULL) {
		/* (A descriptor of its own, since the stream is closed when the table is
		 * written.) */
		FILE *file = place->files[number] = tmpfile();
		const int copy = file == NULL ? -1 : fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
		return copy < 0 ? NULL : fdopen(copy, "w");
	}
	const int descriptor = openat(
		place->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return descriptor < 0 ? NULL : fdopen(descriptor, "w");
}

static bool write_table(struct bp_table_writer *writer, const struct place *place,
	enum bp_table_number number, const struct bp_tags *tags, struct stacks *stacks,
	struct bp_error *error)
{
	char name[64];
	writer->table = bp_table_of(number);
	snprintf(name, sizeof name, "%s.parquet", writer->table->name);
	FILE *out = open_file(place, number, name);
	if (out == NULL)
		return bp_error_set(error, "%s cannot be created: %s", name, strerror(errno));
	bool good = bp_parquet_begin(out, writer->table->columns, writer->table->column_count,
		BP_TABLES_VERSION, &writer->file, error);
	if (good)
		good = bp_parquet_end(
			writer->file, write_rows(writer, number, tags, stacks, error), error);
	errno = 0;
	const bool kept = fflush(out) == 0 && !ferror(out) &&
			  (place->files != NULL || fsync(fileno(out)) == 0);
	const int failure = errno;
	if ((fclose(out) != 0 || !kept) && good)
		good = bp_error_set(error, "%s cannot be written: %s", name,
			failure != 0 ? strerror(failure) : "input/output error");
	return good;
}

static bool write_all(struct bp_table_writer *writer, const struct bp_tags *tags,
	const struct place *place, struct stacks *stacks, struct bp_error *error)
{
	/* Samples have the ids of stacks, which are found by writing these. */
	static const enum bp_table_number order[] = { BP_TABLE_STACK, BP_TABLE_SAMPLE,
		BP_TABLE_FRAME, BP_TABLE_THREAD, BP_TABLE_COUNTER, BP_TABLE_READING,
		BP_TABLE_INTERVAL, BP_TABLE_PAUSE, BP_TABLE_PROCESS };
	const struct bp_profile *profile = writer->profile;
	stacks->ids = calloc(profile->stacks.count, sizeof *stacks->ids);
	writer->process_ids = calloc(profile->processes.count, sizeof *writer->process_ids);
	if (stacks->ids == NULL || writer->process_ids == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 1; i < profile->processes.count; i++)
		bp_process_content_id(profile, i, writer->process_ids[i]);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (!write_table(writer, place, order[i], tags, stacks, error))
			return false;
	return true;
}

static bool write_tables(const struct bp_profile *profile, const struct bp_tags *tags,
	const struct place *place, struct bp_error *error)
{
	struct stacks stacks = { 0 };
	struct bp_view view;
	if (!bp_view_init(&view, profile, &(struct bp_query){ .metric = BP_METRIC_LIVE }, error))
		return false;
	struct bp_table_writer *writer = calloc(1, sizeof *writer);
	bool good = writer != NULL || bp_error_set(error, "out of memory");
	if (good) {
		writer->profile = profile;
		writer->view = &view;
		good = write_all(writer, tags, place, &stacks, error);
		for (uint32_t i = 0; i < BP_PROCESS_FIELDS_MAX; i++)
			bp_valid_text_finish(&writer->texts[i]);
		free(writer->process_ids);
	}
	free(writer);
	free(stacks.ids);
	free(stacks.frames);
	bp_view_finish(&view);
	return good;
}

bool bp_tables_write(const struct bp_profile *profile, const struct bp_tags *tags, int folder,
	struct bp_error *error)
{
	return write_tables(profile, tags, &(struct place){ .folder = folder }, error);
}

bool bp_tables_write_unnamed(const struct bp_profile *profile, const struct bp_tags *tags,
	FILE *ret_files[BP_TABLE_COUNT], struct bp_error *error)
{
	memset(ret_files, 0, BP_TABLE_COUNT * sizeof *ret_files);
	if (write_tables(profile, tags, &(struct place){ .files = ret_files }, error))
		return true;
	for (uint32_t i = 0; i < BP_TABLE_COUNT; i++)
		if (ret_files[i] != NULL)
			fclose(ret_files[i]);
	return false;
}
