/* SPDX-License-Identifier: MIT */
/*
 * Importer number one: our own trace. One file is one process image; the other files of its tree
 * are found by trace_tree.c.
 *
 * Records arrive in file order, which is the order of no clock: several lanes write at once. So a
 * free may come before its sample, and a stack, a module or a thread's name after the sample that
 * needs it. Samples and frees are joined by trace_join.c and go straight to where the profile keeps
 * samples: with a number for their stack, whose meaning is told at the end, and the ordinal of
 * their thread in what is alike of them, in the place of which the thread is put at the end. No
 * allocation for single records.
 *
 * What a hostile file can do here is to be wrong, not to break anything: limits are those of the
 * reader, a second sample with the same sequence is left out and counted, senseless times and sizes
 * are brought into range.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "import/trace/trace.h"
#include "import/trace/trace_ahead.h"
#include "import/trace/trace_join.h"
#include "import/trace/trace_mapped.h"
#include "import/trace/trace_started.h"

struct thread_name {
	uint64_t ordinal; /* 64 bits wide for base/index.h */
	struct bp_string_id name;
};

struct trace_import {
	struct bp_profile *profile;
	struct bp_error *error;
	struct bp_trace_reader reader;
	struct bp_process_id process;
	uint32_t first_alike;
	struct bp_trace_join join;
	struct bp_readings readings; /* by ordinal, until finish_readings */
	struct thread_name *names;
	uint32_t name_count, name_capacity;
	struct bp_index by_ordinal;
	struct bp_trace_stacks stacks;
	struct bp_trace_names told;
	struct bp_trace_jit jit;
	struct bp_trace_mapped mapped; /* with profile->mapped alone */
	uint32_t spawned_pid;	       /* of the last vfork child seen to start a program */
	uint64_t own_execs;	       /* by this process itself, or by posix_spawn */
};

static bool no_memory(struct trace_import *import)
{
	return bp_error_set(import->error, "out of memory while reading a trace: use a machine "
					   "with more, or a larger sampling interval");
}

static struct bp_process *process_of(struct trace_import *import)
{
	return &import->profile->processes.data[import->process.i];
}

static bool add_text(
	struct trace_import *import, struct bp_trace_text text, struct bp_string_id *ret_string)
{
	return bp_profile_string(import->profile, text.data, text.bytes, ret_string, import->error);
}

static enum bp_imported add_process(struct trace_import *import, const char *path)
{
	const struct bp_trace_header *header = &import->reader.header;
	uint32_t count = import->profile->processes.count;
	struct bp_process process = {
		.parent_sequence = header->parent_sequence,
		.pid = header->pid,
		.parent_pid = header->parent_pid,
		.exec_number = header->exec_number,
		.start_time_ns = header->start_monotonic_ns,
		.start_real_ns = header->start_real_ns,
		.profiled = header->recognition != BP_RECOGNITION_NONE,
		.misread = (uint32_t)(header->flags_skippable >> BP_HEADER_MISREAD_SHIFT),
		.unprofiled_reason = header->unprofiled_reason,
		.law = header->law,
		.charge = header->charge_bytes,
		.host = header->recognition == BP_RECOGNITION_HOST,
		.samples_in_slots = header->recognition == BP_RECOGNITION_HEADER,
		.lacks = (header->flags_skippable & BP_HEADER_FREES_UNSEEN ? BP_LACKS_FREES : 0u) |
			 (header->flags_skippable & BP_HEADER_OBJECTS_UNCOUNTED
					 ? BP_LACKS_OBJECT_COUNTERS
					 : 0u),
		.attached = (header->flags_skippable & BP_HEADER_ATTACHED) != 0,
		.free_stacks = (header->flags_skippable & BP_HEADER_FREE_STACKS) != 0,
		.mappings_known = (header->flags_skippable & BP_HEADER_MAPPED) != 0,
		.size_min = UINT64_MAX,
	};
	memcpy(process.trace_id, header->trace_id, sizeof process.trace_id);
	memcpy(process.parent_trace_id, header->parent_trace_id, sizeof process.parent_trace_id);
	if (!add_text(import, import->reader.program, &process.program) ||
		!add_text(import, import->reader.allocator, &process.allocator) ||
		!bp_import_command_line(
			&import->reader, import->profile, &process.command_line, import->error) ||
		!bp_profile_string(
			import->profile, path, strlen(path), &process.file, import->error) ||
		!bp_profile_add_process(import->profile, &process, &import->process, import->error))
		return BP_IMPORT_ABORTED;
	if (import->profile->processes.count == count) {
		bp_error_set(import->error,
			"%s: is the trace of a process that was read already: name each file once",
			path);
		return BP_IMPORTED_BEFORE;
	}
	return BP_IMPORTED;
}

/* Keeps the counters of a thread, which say that of it at `time_ns` which `bound` says. */
static bool add_reading(struct trace_import *import, uint32_t ordinal, enum bp_counters_bound bound,
	uint64_t time_ns, uint64_t trials, uint64_t objects)
{
	uint64_t charged = objects * import->reader.header.charge_bytes;
	struct bp_reading reading = { .thread = { ordinal },
		.bound = (enum bp_reading_bound)bound, /* the same numbers */
		.time_ns = time_ns,
		.bytes = trials > charged ? trials - charged : 0,
		.objects = objects };
	return !import->profile->keep_readings || ordinal == 0 ||
	       bp_readings_add(&import->readings, &reading) || no_memory(import);
}

static bool name_thread(struct trace_import *import, const struct bp_trace_thread_event *event)
{
	struct bp_string_id name;
	uint32_t found = bp_index_find(&import->by_ordinal,
		(struct bp_index_keys){ import->names, sizeof *import->names }, event->ordinal);
	if (event->name.bytes == 0)
		return true;
	if (!add_text(import, event->name, &name))
		return false;
	if (found != BP_INDEX_NONE) {
		import->names[found].name = name;
		return true;
	}
	if (!bp_vec_reserve(&import->names, &import->name_capacity,
		    (uint64_t)import->name_count + 1, sizeof *import->names))
		return no_memory(import);
	import->names[import->name_count] =
		(struct thread_name){ .ordinal = event->ordinal, .name = name };
	if (!bp_index_add(&import->by_ordinal,
		    (struct bp_index_keys){ import->names, sizeof *import->names },
		    import->name_count))
		return no_memory(import);
	import->name_count++;
	return true;
}

/* A program that was started beside this one: by posix_spawn, which bears our pid, or by a vfork
 * child, which may try several paths under its own. The exec that ended this image is none. Without
 * a slash it is a name that was not found. */
static void add_spawned(struct trace_import *import, const struct bp_trace_exec *exec)
{
	struct bp_process *process = process_of(import);
	const bool child = exec->pid != process->pid;
	if (memchr(exec->path.data, '/', exec->path.bytes) == NULL ||
		(child && exec->pid == import->spawned_pid))
		return;
	import->spawned_pid = exec->pid;
	import->own_execs += !child;
	process->spawned +=
		child || import->own_execs > (import->reader.state.end_reason == BP_END_EXEC);
}

static bool add_exec(struct trace_import *import, const struct bp_trace_exec *exec)
{
	struct bp_process *process = process_of(import);
	if (!bp_trace_started_add(import->profile, import->process, exec, import->error))
		return false;
	if (exec->pid == process->pid) {
		process->became_unseen = exec->unseen != BP_UNSEEN_NO;
		if (!add_text(import, exec->path, &process->became))
			return false;
	}
	if (exec->unseen == BP_UNSEEN_NO) {
		add_spawned(import, exec);
		return true;
	}
	if (process->unseen_execs++ > 0)
		return true;
	process->unseen_reason = exec->unseen;
	return add_text(import, exec->path, &process->unseen_example);
}

static bool add_folded(struct trace_import *import, const struct bp_trace_folded *folded)
{
	struct bp_trace_join *join = &import->join;
	uint32_t stack;
	if (import->profile->mapped)
		return true;
	return bp_trace_join_stack(join, folded->stack, UINT64_MAX, &stack, import->error) &&
	       bp_import_folded(&import->reader, folded, import->process, stack, &join->beside,
		       import->profile, import->error);
}

static bool add_interpreter(
	struct trace_import *import, const struct bp_trace_interpreter *interpreter)
{
	struct bp_process_python *python = &process_of(import)->python;
	import->stacks.interpreter_address = interpreter->address;
	bp_trace_python_add(interpreter, python);
	return add_text(import, interpreter->name, &python->name);
}

static bool add_record(struct trace_import *import, const struct bp_trace_record *record)
{
	switch (record->tag) {
	case BP_TAG_SAMPLE: /* See add_batch. */
	case BP_TAG_FREE:
		return true;
	case BP_TAG_STACK:
	case BP_TAG_NAMED_STACK:
	case BP_TAG_MIXED_STACK:
		return bp_trace_stacks_add_stack(&import->stacks, &record->stack) ||
		       no_memory(import);
	case BP_TAG_TYPE:
	case BP_TAG_FRAME:
	case BP_TAG_LABELS:
		return bp_trace_names_add(
			&import->told, record->tag, &record->name, import->profile, import->error);
	case BP_TAG_MODULE:
		return bp_trace_stacks_add_module(&import->stacks, &record->module, import->process,
			import->profile, import->error);
	case BP_TAG_MODULE_GONE:
		return bp_trace_stacks_add_gone(&import->stacks, &record->module) ||
		       no_memory(import);
	case BP_TAG_THREAD_BEGIN:
	case BP_TAG_THREAD_END:
		return add_reading(import, record->thread.ordinal, BP_COUNTERS_THEN,
			       record->thread.time_ns, record->thread.trials,
			       record->thread.objects) &&
		       name_thread(import, &record->thread);
	case BP_TAG_EXEC:
		return add_exec(import, &record->exec);
	case BP_TAG_FORK:
		process_of(import)->forks++; /* The child's own header says more. */
		return true;
	case BP_TAG_FOLDED:
		return add_folded(import, &record->folded);
	case BP_TAG_READINGS:
		return !import->profile->keep_readings ||
		       bp_import_folded_readings(
			       &import->reader, &record->readings, &import->readings) ||
		       no_memory(import);
	case BP_TAG_TICKS:
	case BP_TAG_HELD:	 /* The reader keeps them. */
	case BP_TAG_OUTAGE:	 /* Likewise. */
	case BP_TAG_FOLDED_TOLD: /* Told as FOLDED. */
		return true;
	case BP_TAG_MAPPING:
		return !import->profile->mapped ||
		       bp_trace_mapped_add(&import->mapped, &record->mapping, import->error);
	case BP_TAG_INTERPRETER:
		return add_interpreter(import, &record->interpreter);
	case BP_TAG_INTERVAL: /* The reader keeps it: see trace_intervals.c. */
		return add_reading(import, record->interval.thread, record->interval.bound,
			record->interval.time_ns, record->interval.trials,
			record->interval.objects);
	}
	return true;
}

static bool add_readings(
	struct trace_import *import, const struct bp_trace_record *records, uint32_t count)
{
	bool good = true;
	for (uint32_t i = 0; i < count && good; i++) {
		/* (Or a free, which begins alike.) */
		const struct bp_trace_sample *of = &records[i].sample;
		if (records[i].tag == BP_TAG_SAMPLE || records[i].tag == BP_TAG_FREE)
			good = add_reading(import, of->thread, BP_COUNTERS_THEN, of->time_ns,
				of->trials, of->objects);
	}
	return good;
}

/* Samples and frees first, then the others: of no record it matters whether it comes before or
 * after one of the other kind, but that those of a folded part, which add samples, end their
 * batch. */
static bool add_batch(struct trace_import *import, const struct bp_trace_batch *batch)
{
	const struct bp_join_numbered *numbered = &batch->numbered;
	if (import->profile->keep_readings && !add_readings(import, batch->records, batch->count))
		return false;
	bool good = import->profile->mapped ||
		    bp_trace_join_take(&import->join, batch->records, numbered, import->error);
	for (uint32_t i = 0; i < numbered->other_count && good; i++)
		good = add_record(import, &batch->records[numbered->others[i]]);
	return good;
}

/* Where objects are not counted each has a byte at least. */
static struct bp_known_total uncounted_objects(struct bp_known_total bytes)
{
	return (struct bp_known_total){ 0, bytes.high };
}

static struct bp_known_total known_total(struct bp_trace_limits limits)
{
	const bool open = limits.high - limits.low >= BP_ARMED_WITHOUT_LIMIT;
	return (struct bp_known_total){ limits.low, open ? UINT64_MAX : limits.high };
}

/* Adds the threads to the profile; `ids` gets one for each thread of the reader. */
static bool add_threads(struct trace_import *import, struct bp_thread_id *ids)
{
	for (uint32_t i = 0; i < import->reader.thread_count; i++) {
		const struct bp_trace_thread *known = &import->reader.threads[i];
		struct bp_thread thread = {
			.process = import->process,
			.ordinal = (uint32_t)known->ordinal,
			.tid = known->tid,
			.bytes_allocated = known_total(known->on_bytes),
			.objects_allocated = known_total(known->on_objects),
		};
		if (!known->published)
			thread.bytes_allocated.high = thread.objects_allocated.high = UINT64_MAX;
		if (process_of(import)->lacks & BP_LACKS_OBJECT_COUNTERS)
			thread.objects_allocated = uncounted_objects(thread.bytes_allocated);
		uint32_t named = bp_index_find(&import->by_ordinal,
			(struct bp_index_keys){ import->names, sizeof *import->names },
			known->ordinal);
		if (named != BP_INDEX_NONE)
			thread.name = import->names[named].name;
		if (!bp_profile_add_thread(import->profile, &thread, &ids[i], import->error))
			return false;
	}
	return true;
}

/* The profile's number of a thread of this process; 0: not known. */
static uint32_t thread_id(
	const struct trace_import *import, const struct bp_thread_id *ids, uint32_t ordinal)
{
	const struct bp_trace_reader *reader = &import->reader;
	const struct bp_index_keys ordinals = { reader->threads, sizeof *reader->threads };
	uint32_t thread = ordinal == 0 ? BP_INDEX_NONE
				       : bp_index_find(&reader->thread_index, ordinals, ordinal);
	return thread == BP_INDEX_NONE ? 0 : ids[thread].i;
}

/* Puts the readings of one thread, `list`, into the profile: of what was allocated while sampling
 * was on. */
static bool move_readings(
	struct trace_import *import, struct bp_reading_list *list, struct bp_thread_id thread)
{
	const uint32_t ordinal = bp_reading_list_thread(list).i;
	struct bp_readings_walk walk = { 0 };
	struct bp_reading reading;
	bool good = true;
	while (good && bp_readings_take(list, &walk, &reading)) {
		reading.time_ns = bp_import_told_ns(&import->reader.part.clock, reading.time_ns, 0);
		reading.bytes -= bp_trace_reader_off_bytes(&import->reader, ordinal, reading.bytes);
		reading.objects -=
			bp_trace_reader_off_objects(&import->reader, ordinal, reading.objects);
		reading.thread = thread;
		good = bp_profile_add_reading(import->profile, &reading, import->error);
	}
	return good;
}

/* (Those of a thread that is not known bound nothing.) */
static bool finish_readings(struct trace_import *import, const struct bp_thread_id *ids)
{
	bool good = true;
	for (uint32_t i = 0; good && i < import->readings.count; i++) {
		struct bp_reading_list *list = &import->readings.lists[i];
		const struct bp_thread_id thread = { thread_id(
			import, ids, bp_reading_list_thread(list).i) };
		good = thread.i == 0 || move_readings(import, list, thread);
	}
	bp_readings_finish(&import->readings);
	return good;
}

/* Puts the profile's stacks, threads, types and labels in the place of the recorded numbers. */
static bool finish_samples(struct trace_import *import)
{
	struct bp_thread_id *ids = calloc((size_t)import->reader.thread_count + 1, sizeof *ids);
	if (ids == NULL)
		return no_memory(import);
	if (!add_threads(import, ids) ||
		!bp_trace_names_begin(&import->told, &import->reader, import->process,
			import->profile, import->error) ||
		!bp_trace_stacks_resolve(
			&import->stacks, &import->told, import->profile, import->error)) {
		free(ids);
		return false;
	}
	struct bp_samples *samples = &import->profile->samples;
	for (uint32_t i = import->first_alike; i < samples->alike_count; i++) {
		struct bp_alike *alike = &samples->alike[i];
		alike->thread.i = thread_id(import, ids, alike->thread.i);
		alike->type = bp_trace_names_type(&import->told, alike->type.i);
		alike->labels = bp_trace_names_labels(&import->told, alike->labels.i);
	}
	import->jit.python = import->told.python && import->told.frames.count > 0 &&
			     import->profile->frames_shown.python != BP_PYTHON_FRAMES_NATIVE;
	const bool good = bp_trace_join_tell_stacks(
				  &import->join, &import->stacks, &import->jit, import->error) &&
			  finish_readings(import, ids);
	free(ids);
	return good;
}

_Static_assert((int)BP_LOSS_MAX == BP_PROFILE_LOSSES, "copied one by one");

/* What the file does not tell, although it was written. `whole`: it was read to its end. */
static void count_missing(const struct trace_import *import, struct bp_process *process, bool whole)
{
	const struct bp_trace_reader *reader = &import->reader;
	process->cut_off = reader->is_cut;
	process->damaged_chunks = reader->damaged_chunks;
	if (process->damaged_chunks == 0 &&
		(!bp_trace_reader_is_whole(reader) || import->join.repeated_samples > 0 || !whole))
		process->damaged_chunks = 1;
	/* A host counts what cannot be right, as readers of other formats do. */
	process->lost[BP_PROFILE_LOST_INVALID] += process->lost[BP_LOSS_INVALID];
	process->lost[BP_LOSS_INVALID] = 0;
	if (reader->samples < reader->state.samples)
		process->lost[BP_PROFILE_LOST_UNREADABLE] +=
			reader->state.samples - reader->samples;
}

/* The end, or the last moment at which the process is known to have lived: a record's, or one that
 * a snapshot or whoever waited for it wrote down. */
static uint64_t last_known(const struct bp_trace_reader *reader, bool ended)
{
	const uint64_t end_ns = reader->state.end_time_ns;
	return ended || end_ns > reader->time_last_ns ? end_ns : reader->time_last_ns;
}

static void finish_process(struct trace_import *import, bool whole)
{
	const struct bp_trace_reader *reader = &import->reader;
	const struct bp_trace_totals totals = bp_trace_reader_totals(reader);
	struct bp_process *process = process_of(import);
	process->ended = reader->state.state == 1 && !reader->state.unmarked_fork;
	/* Where the end is not believed a thread went on behind it. */
	process->open_threads = !process->ended || totals.exact	 ? 0
				: reader->state.open_threads > 0 ? reader->state.open_threads
								 : 1;
	process->end_signal = process->ended || reader->state.end_signal >= NSIG
				      ? 0
				      : (uint32_t)reader->state.end_signal;
	process->end_reason = process->ended ? (uint32_t)reader->state.end_reason : BP_END_NONE;
	process->end_time_ns = last_known(reader, process->ended);
	process->bytes_allocated = known_total(totals.on_bytes);
	process->objects_allocated = known_total(totals.on_objects);
	process->bytes_off = known_total(totals.off_bytes);
	process->objects_off = known_total(totals.off_objects);
	if (process->lacks & BP_LACKS_OBJECT_COUNTERS) {
		process->objects_allocated = uncounted_objects(process->bytes_allocated);
		process->objects_off = uncounted_objects(process->bytes_off);
	}
	process->unoffered_bytes = totals.unoffered_trials;
	process->unoffered_objects = totals.unoffered_objects;
	process->folded_ns = reader->part.clock.resolution_ns;
	if (reader->part.clock.count > 0)
		process->folded_until_ns =
			reader->part.clock.ticks[reader->part.clock.count - 1].time_ns;
	process->recorder_bytes = reader->state.own_bytes;
	process->loaded_objects = reader->state.objects;
	process->covered_objects = reader->state.covered_objects;
	bp_trace_python_finish(reader, &process->python);
	memcpy(process->lost, reader->state.lost, sizeof process->lost);
	process->lost[BP_LOSS_MAPPING] = 0; /* which says nothing of samples */
	/* A slot torn by the kill: its upper limits may be too low, as without a slot. */
	if (!totals.exact)
		process->lost[BP_LOSS_THREAD_SLOT] += reader->torn_slots;
	count_missing(import, process, whole);
	process->fold_missing = reader->has_hole && !reader->part.is_open &&
				reader->damaged_chunks == 0 &&
				reader->samples < reader->state.samples;
	bp_import_doubt_pauses(process, reader, &totals);
	/* (Damage that only the importer sees is no different from what the reader finds.) */
	if (process->damaged_chunks > 0 && reader->state.state != 1)
		process->bytes_allocated.high = process->objects_allocated.high = UINT64_MAX;
	const struct bp_samples *samples = &import->profile->samples;
	for (uint32_t i = import->first_alike; i < samples->alike_count; i++) {
		const struct bp_alike *alike = &samples->alike[i];
		const uint64_t count = (uint64_t)alike->count * (alike->more + (uint64_t)1);
		process->samples += count;
		process->sampled_bytes += alike->size * count;
		if (alike->size < process->size_min)
			process->size_min = alike->size;
	}
}

static enum bp_imported import_records(struct trace_import *import)
{
	struct bp_trace_ahead ahead;
	const struct bp_trace_batch *batch;
	struct bp_error failure = { .text = "" };
	enum bp_trace_next next = BP_TRACE_END;
	bool good = bp_trace_ahead_start(&ahead, &import->reader, &import->join, import->error);
	while (good && (next = bp_trace_ahead_next(&ahead, &batch, &failure)) == BP_TRACE_RECORD)
		good = add_batch(import, batch);
	bp_trace_ahead_stop(&ahead);
	if (!good ||
		!(import->profile->mapped ? bp_trace_mapped_finish(
						    &import->mapped, &import->join, import->error)
					  : bp_trace_join_finish(&import->join, import->error)) ||
		!finish_samples(import) ||
		!bp_import_trace_verify_sums(&import->reader, &import->stacks, &import->jit,
			import->process, import->profile, import->error))
		return BP_IMPORT_ABORTED;
	finish_process(import, next == BP_TRACE_END);
	if (import->profile->mapped)
		bp_trace_mapped_tell_totals(
			&import->reader, import->process, import->first_alike, import->profile);
	else if (!bp_import_check_counters(&import->reader, import->process, import->first_alike,
			 import->profile, import->error) ||
		 !bp_import_trace_intervals(
			 &import->reader, import->process, import->profile, import->error))
		return BP_IMPORT_ABORTED;
	if (next == BP_TRACE_END)
		return BP_IMPORTED;
	bp_error_set(import->error, "%s: %s",
		bp_profile_text(import->profile, process_of(import)->file), failure.text);
	return BP_IMPORT_BAD_FILE;
}

/* Imports the trace that `import->reader` has opened, and closes it. */
static enum bp_imported import_opened(
	struct trace_import *import, const char *path, struct bp_process_id *ret_process)
{
	enum bp_imported imported = BP_IMPORT_BAD_FILE;
	bp_trace_reader_use_machine_clock(&import->reader);
	if ((import->reader.header.flags_skippable & BP_HEADER_FOLDED) != 0) {
		bp_error_set(import->error,
			"%s: is the folded part of a trace: name that one, beside which it lies",
			path);
		bp_trace_reader_close(&import->reader);
		return imported;
	}
	imported = add_process(import, path);
	bp_trace_join_init(&import->join, &import->reader, import->process, import->profile);
	bp_trace_jit_begin(&import->jit, &import->reader, import->process, import->profile);
	import->join.jit = import->jit.timed;
	if (imported == BP_IMPORTED)
		imported = import_records(import);
	if (imported == BP_IMPORTED)
		*ret_process = import->process;
	bp_trace_join_release(&import->join);
	bp_readings_finish(&import->readings);
	free(import->names);
	bp_index_finish(&import->by_ordinal);
	bp_trace_mapped_release(&import->mapped);
	bp_trace_stacks_finish(&import->stacks);
	bp_trace_names_finish(&import->told);
	bp_trace_reader_close(&import->reader);
	return imported;
}

static struct trace_import import_into(struct bp_profile *profile, struct bp_error *error)
{
	return (struct trace_import){
		.profile = profile,
		.error = error,
		.first_alike = profile->samples.alike_count,
	};
}

enum bp_imported bp_import_trace_process(const char *path, struct bp_profile *profile,
	struct bp_process_id *ret_process, struct bp_error *error)
{
	struct trace_import import = import_into(profile, error);
	if (!bp_trace_reader_open(&import.reader, path, error))
		return BP_IMPORT_BAD_FILE;
	return import_opened(&import, path, ret_process);
}

enum bp_imported bp_import_trace_files(int fd, int part_fd, const char *path,
	struct bp_profile *profile, struct bp_process_id *ret_process, struct bp_error *error)
{
	struct trace_import import = import_into(profile, error);
	if (!bp_trace_reader_open_files(&import.reader, fd, part_fd, path, error))
		return BP_IMPORT_BAD_FILE;
	return import_opened(&import, path, ret_process);
}

bool bp_import_one_process(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_process_id process;
	return bp_import_trace_process(path, profile, &process, error) == BP_IMPORTED;
}
