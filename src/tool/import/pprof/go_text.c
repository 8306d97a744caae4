/* SPDX-License-Identifier: MIT */
/*
 * Importer of Go's heap profiles in their text form (debug=1), with the runtime's figures of its
 * memory. go_text_lines.h reads the lines, go_mem_stats.h the figures, snapshot.h makes samples;
 * here they are put together.
 *
 * A record is a bucket of Go's: a stack, and how many samples of it were allocated and are in use,
 * with the sum of their sizes. Unlike those of the binary form these figures are not scaled, so
 * that the number of samples is in the file, and the size of an object is bytes / objects, a whole
 * number, since a bucket has objects of one size. Everything else is as in pprof.c.
 *
 * The stack is what the lines of frames say. The program counters of the record are not asked,
 * unless there are no such lines: Go leaves out the runtime's own frames next to the allocation,
 * and its binary form does the same. Frames of inlined calls have lines of their own, from which
 * their function's begin can be computed (pc - offset): lines one after the other with the same
 * begin belong to one function that was called, and it is the last of them. What one such function
 * holds is one location, so that the location of a pc is found by the lines, too.
 *
 * The records are as of the last garbage collection that was finished, and so is the time that the
 * process gets. The figures of memory are of the moment at which the file was written.
 *
 * The first line has the sums of all records, which are compared: a file in which a digit is wrong
 * is refused. A file without the figures at its end is cut off; what is whole is read.
 *
 * gperftools, TCMalloc and jemalloc have forms that begin alike: they are refused, see refuse.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "import/import.h"
#include "import/pprof/go_mem_stats.h"
#include "import/pprof/go_text_lines.h"
#include "import/pprof/pprof_file.h"
#include "import/pprof/snapshot.h"
#include "model/id_index.h"

/* Go records 128 frames at most; inlined calls have lines of their own. */
#define DEPTH_MAX 4096u
/* Lines of one location. */
#define LINES_MAX 256u

/* A line of a location, for comparison. */
struct line {
	uint64_t pc;
	struct bp_string_id function, file;
	uint32_t line;
};

/* A location of the file: one function that was called, with the calls inlined there. */
struct place {
	uint32_t first, count; /* in `lines` */
	struct bp_location_id location;
};

/* A frame of the record that is read. */
struct frame {
	struct line line;
	uint64_t begin; /* address of the function that was called; 0: not known */
	bool named;
};

struct go_text_import {
	const char *path;
	struct bp_profile *profile;
	struct bp_error *error;
	struct bp_snapshot snapshot;
	struct bp_go_mem_stats mem_stats;
	struct bp_go_text_figures told, summed; /* by the first line; over all records */
	uint64_t line_number, records;
	bool frames_seen, mem_stats_seen;
	/* the record that is read */
	bool open, cut;
	struct bp_go_text_figures figures;
	struct bp_go_text pcs;
	uint32_t depth;
	struct frame frames[DEPTH_MAX];
	struct bp_location_id stack[DEPTH_MAX];
	/* all locations */
	struct line *lines;
	struct place *places;
	uint32_t line_count, line_capacity, place_count, place_capacity;
	struct bp_id_index place_index; /* of numbers in `places`, + 1 */
};

static bool no_memory(const struct go_text_import *import)
{
	return bp_error_set(import->error, "%s: out of memory", import->path);
}

/* The other text forms have sums by stack and no sizes. jemalloc's counts are changed, too (so that
 * a formula that is wrong for mixed sizes comes out right): what was sampled cannot be told from
 * them. */
static bool refuse(const struct go_text_import *import)
{
	return bp_error_set(import->error,
		"%s: a heap profile of jemalloc or gperftools: it has sums by stack, without sizes "
		"(and jemalloc changes its counts), so that no error can be stated; record with "
		"`bytepoll run`, which works over both",
		import->path);
}

static bool is_damaged(const struct go_text_import *import)
{
	return bp_error_set(import->error,
		"%s: line %llu is none of a Go heap profile: the file is damaged: fetch it again "
		"(/debug/pprof/heap?debug=1)",
		import->path, (unsigned long long)import->line_number);
}

/* ---- places in code ---- */

static bool same_lines(const struct go_text_import *import, const struct place *place,
	const struct frame *frames, uint32_t count)
{
	if (place->count != count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct line *a = &import->lines[place->first + i], *b = &frames[i].line;
		if (a->pc != b->pc || a->function.i != b->function.i || a->file.i != b->file.i ||
			a->line != b->line)
			return false;
	}
	return true;
}

static uint32_t hash_of(const struct frame *frames, uint32_t count)
{
	uint64_t hash = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct line *line = &frames[i].line;
		hash = bp_hash_word(hash, line->pc);
		hash = bp_hash_word(hash, (uint64_t)line->function.i << 32 | line->file.i);
		hash = bp_hash_word(hash, line->line);
	}
	return bp_hash_fold(hash);
}

/* Gives the profile a new location. Its address is its number here, in a range that no code
 * has. */
static bool add_location(struct go_text_import *import, const struct frame *frames, uint32_t count,
	struct bp_location_id *ret_location)
{
	const uint64_t address =
		(uint64_t)import->snapshot.process.i << 48 | 1ull << 63 | import->place_count;
	struct bp_frame named[LINES_MAX];
	for (uint32_t i = 0; i < count; i++)
		named[i] = (struct bp_frame){ .function = frames[i].line.function,
			.system_name = frames[i].line.function,
			.source_file = frames[i].line.file,
			.line = frames[i].line.line,
			.inlined = i + 1 < count,
			.named = true };
	return bp_profile_add_location(import->profile, (struct bp_module_id){ 0 }, address, true,
		       ret_location, import->error) &&
	       bp_profile_set_frames(import->profile, *ret_location, named, count, import->error);
}

/* The location of `count` <= LINES_MAX frames, of which all but the last were inlined. */
static bool find_location(struct go_text_import *import, const struct frame *frames, uint32_t count,
	struct bp_location_id *ret_location)
{
	const uint32_t hash = hash_of(frames, count);
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(&import->place_index, hash, &position)) != 0) {
		if (!same_lines(import, &import->places[id - 1], frames, count))
			continue;
		*ret_location = import->places[id - 1].location;
		return true;
	}
	struct place place = { .first = import->line_count, .count = count };
	if (!bp_vec_reserve(&import->lines, &import->line_capacity,
		    (uint64_t)import->line_count + count, sizeof *import->lines) ||
		!bp_vec_reserve(&import->places, &import->place_capacity,
			(uint64_t)import->place_count + 1, sizeof *import->places) ||
		!bp_id_index_reserve(&import->place_index))
		return no_memory(import);
	if (!add_location(import, frames, count, &place.location))
		return false;
	for (uint32_t i = 0; i < count; i++)
		import->lines[import->line_count++] = frames[i].line;
	import->places[import->place_count++] = place;
	bp_id_index_add(&import->place_index, hash, import->place_count);
	*ret_location = place.location;
	return true;
}

/* The end of the frames from `first` on that have the same begin. */
static uint32_t end_of_begin(const struct go_text_import *import, uint32_t first)
{
	const struct frame *frames = import->frames;
	uint32_t end = first + 1;
	if (!frames[first].named || frames[first].begin == 0)
		return end;
	while (end < import->depth && frames[end].named && frames[end].begin == frames[first].begin)
		end++;
	return end;
}

/* How many frames from `first` on are in one function that was called. Those up to `end` have the
 * same begin; they are several calls where the name of the last of them comes again: a function
 * that calls itself has the same begin, and Go does not inline such functions. */
static uint32_t frames_of_call(const struct go_text_import *import, uint32_t first, uint32_t end)
{
	const struct frame *frames = import->frames;
	const struct bp_string_id called = frames[end - 1].line.function;
	uint32_t count = 1;
	while (count < LINES_MAX && frames[first + count - 1].line.function.i != called.i)
		count++;
	return count;
}

/* A place without a name. */
static bool add_address(
	struct go_text_import *import, uint64_t pc, bool exact, struct bp_location_id *ret_location)
{
	return bp_profile_add_location(import->profile, (struct bp_module_id){ 0 },
		pc <= INT64_MAX ? pc : 0, exact, ret_location, import->error);
}

/* The stack of a record by the lines of its frames. */
static bool stack_of_frames(struct go_text_import *import, uint32_t *ret_depth)
{
	uint32_t depth = 0, count, end = 0;
	for (uint32_t i = 0; i < import->depth; i += count) {
		const struct frame *frame = &import->frames[i];
		struct bp_location_id *location = &import->stack[depth++];
		end = i == end ? end_of_begin(import, i) : end;
		count = frames_of_call(import, i, end);
		if (!(frame->named ? find_location(import, frame, count, location)
				   : add_address(import, frame->line.pc, true, location)))
			return false;
	}
	*ret_depth = depth;
	return true;
}

/* The stack of a record without lines of frames, by its program counters, to which calls return. */
static bool stack_of_pcs(struct go_text_import *import, uint32_t *ret_depth)
{
	uint32_t depth = 0;
	uint64_t pc;
	while (bp_go_text_next_pc(&import->pcs, &pc)) {
		import->cut = depth == DEPTH_MAX;
		if (import->cut)
			break;
		if (!add_address(import, pc, false, &import->stack[depth++]))
			return false;
	}
	*ret_depth = depth;
	return true;
}

/* ---- records ---- */

static uint64_t sum(int64_t a, int64_t b)
{
	return (uint64_t)a + (uint64_t)b;
}

static void add_figures(struct bp_go_text_figures *sums, const struct bp_go_text_figures *figures)
{
	sums->live_objects = (int64_t)sum(sums->live_objects, figures->live_objects);
	sums->live_bytes = (int64_t)sum(sums->live_bytes, figures->live_bytes);
	sums->allocated_objects = (int64_t)sum(sums->allocated_objects, figures->allocated_objects);
	sums->allocated_bytes = (int64_t)sum(sums->allocated_bytes, figures->allocated_bytes);
}

/* Are these the samples of one size? Go's figures always are. */
static bool are_valid(const struct bp_go_text_figures *figures)
{
	int64_t live_bytes;
	if (figures->live_objects < 0 || figures->allocated_objects <= 0 ||
		figures->live_objects > figures->allocated_objects ||
		figures->allocated_bytes <= 0 ||
		figures->allocated_bytes % figures->allocated_objects != 0)
		return false;
	const int64_t size = figures->allocated_bytes / figures->allocated_objects;
	return !__builtin_mul_overflow(figures->live_objects, size, &live_bytes) &&
	       live_bytes == figures->live_bytes;
}

/* Takes the record that was read up to here, if there is one. */
static bool close_record(struct go_text_import *import)
{
	const struct bp_go_text_figures *figures = &import->figures;
	struct bp_stack_id stack;
	uint32_t depth;
	if (!import->open)
		return true;
	import->open = false;
	import->records++;
	add_figures(&import->summed, figures);
	if (figures->live_objects == 0 && figures->live_bytes == 0 &&
		figures->allocated_objects == 0 && figures->allocated_bytes == 0)
		return true;
	if (!are_valid(figures)) {
		import->snapshot.invalid++;
		return true;
	}
	if (!(import->depth > 0 ? stack_of_frames(import, &depth) : stack_of_pcs(import, &depth)) ||
		!bp_profile_add_stack(import->profile, import->stack, depth,
			import->cut ? BP_PROFILE_STACK_CUT : 0, &stack, import->error))
		return false;
	const uint64_t allocated = (uint64_t)figures->allocated_objects;
	return bp_snapshot_add_bucket(&import->snapshot, stack,
		(uint64_t)figures->allocated_bytes / allocated, allocated,
		(uint64_t)figures->live_objects);
}

static bool open_record(struct go_text_import *import, struct bp_go_text line)
{
	uint64_t pc;
	if (!bp_go_text_read_figures(&line, &import->figures))
		return import->frames_seen ? is_damaged(import) : refuse(import);
	import->pcs = line;
	while (bp_go_text_next_pc(&line, &pc)) {
	}
	if (!bp_go_text_is_empty(line))
		return is_damaged(import);
	import->open = true;
	import->cut = false;
	import->depth = 0;
	return true;
}

/* Lines that begin like a comment and are no frames are passed over, as Go's own readers do. */
static bool take_frame(struct go_text_import *import, struct bp_go_text line)
{
	struct bp_go_text_frame read;
	struct frame *frame = &import->frames[import->depth];
	if (!import->open || !bp_go_text_read_frame(line, &read))
		return true;
	import->frames_seen = true;
	import->cut = import->depth == DEPTH_MAX;
	if (import->cut)
		return true;
	*frame = (struct frame){ .line = { .pc = read.pc, .line = read.line },
		.begin = read.pc >= read.offset ? read.pc - read.offset : 0,
		.named = !bp_go_text_is_empty(read.name) };
	if (!bp_profile_string(import->profile, read.name.at,
		    (size_t)(read.name.end - read.name.at), &frame->line.function, import->error) ||
		!bp_profile_string(import->profile, read.file.at,
			(size_t)(read.file.end - read.file.at), &frame->line.file, import->error))
		return false;
	import->depth++;
	return true;
}

static bool take_line(struct go_text_import *import, struct bp_go_text line)
{
	if (import->mem_stats_seen) {
		bp_go_mem_stats_read(&import->mem_stats, line);
		return true;
	}
	if (bp_go_text_begins(line, "# runtime.MemStats")) {
		import->mem_stats_seen = true;
		return close_record(import);
	}
	if (bp_go_text_is_empty(line))
		return close_record(import);
	if (bp_go_text_begins(line, "#"))
		return take_frame(import, line);
	return close_record(import) && open_record(import, line);
}

/* ---- the whole file ---- */

static bool take_header(struct go_text_import *import, struct bp_go_text *position)
{
	struct bp_go_text line;
	uint64_t twice;
	if (!bp_go_text_next_line(position, &line)) {
		if (bp_go_text_begins(*position, "heap_v2/"))
			return refuse(import);
		return bp_error_set(import->error,
			"%s: is cut off in its first line: fetch it again "
			"(/debug/pprof/heap?debug=1)",
			import->path);
	}
	import->line_number = 1;
	if (!bp_go_text_read_header(line, &import->told, &twice))
		return refuse(import);
	if (twice % 2 != 0 || twice > INT64_MAX)
		return is_damaged(import);
	if (twice == 0 && import->profile->assume_interval == 0)
		return bp_error_set(import->error,
			"%s: does not tell the sampling interval, since sampling was off when it "
			"was written (MemProfileRate is 0): say it, if you know it, with "
			"--assume-interval",
			import->path);
	bp_snapshot_choose_interval(&import->snapshot, twice / 2);
	return true;
}

/* Go adds one to the bytes allocated where they would be those in use. */
static bool sums_agree(const struct go_text_import *import)
{
	const struct bp_go_text_figures *told = &import->told, *summed = &import->summed;
	const int64_t more = told->allocated_bytes == summed->allocated_bytes ? 0 : 1;
	return told->live_objects == summed->live_objects &&
	       told->live_bytes == summed->live_bytes &&
	       told->allocated_objects == summed->allocated_objects &&
	       (more == 0 || summed->live_bytes == summed->allocated_bytes) &&
	       (uint64_t)told->allocated_bytes == sum(summed->allocated_bytes, more);
}

static bool check_whole(const struct go_text_import *import)
{
	const unsigned long long invalid = import->snapshot.invalid;
	if (!import->mem_stats_seen && import->records == 0)
		return bp_error_set(import->error,
			"%s: has no whole record, so that it is cut off or not of Go: fetch it "
			"again (/debug/pprof/heap?debug=1)",
			import->path);
	if (!import->mem_stats_seen && !import->frames_seen)
		return refuse(import);
	if (import->mem_stats_seen && !sums_agree(import))
		return bp_error_set(import->error,
			"%s: the sums in its first line are not those of its records, so that it "
			"is damaged or was changed: fetch it again (/debug/pprof/heap?debug=1)",
			import->path);
	if (invalid > 0 && bp_snapshot_process(&import->snapshot)->samples == 0)
		return bp_error_set(import->error,
			"%s: none of its %llu records has objects of one size, as Go's have, so "
			"that no error can be stated",
			import->path, invalid);
	return true;
}

static bool finish_process(const struct go_text_import *import)
{
	struct bp_process *process = bp_snapshot_process(&import->snapshot);
	const uint64_t time_ns = import->mem_stats.figures[BP_GO_LastGC];
	bp_snapshot_end(&import->snapshot);
	process->cut_off = !import->mem_stats_seen;
	process->start_real_ns = time_ns <= INT64_MAX ? time_ns : 0;
	return bp_go_mem_stats_add(
		&import->mem_stats, import->profile, import->snapshot.process, import->error);
}

static bool import_text(struct go_text_import *import, const char *data, size_t bytes)
{
	struct bp_go_text position = { data, data + bytes }, line;
	if (!take_header(import, &position) ||
		!bp_snapshot_add_process(
			&import->snapshot, (struct bp_string_id){ 0 }, 0, 0, data, bytes))
		return false;
	while (bp_go_text_next_line(&position, &line)) {
		import->line_number++;
		if (!take_line(import, line))
			return false;
	}
	return check_whole(import) && finish_process(import);
}

static bool import_file(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	uint8_t *data;
	size_t bytes;
	if (!bp_pprof_load(path, &data, &bytes, error))
		return false;
	bool imported = false;
	struct go_text_import *import = calloc(1, sizeof *import);
	if (import == NULL) {
		bp_error_set(error, "%s: out of memory", path);
	} else {
		import->path = path;
		import->profile = profile;
		import->error = error;
		import->snapshot =
			(struct bp_snapshot){ .path = path, .profile = profile, .error = error };
		imported = import_text(import, (const char *)data, bytes);
		bp_id_index_finish(&import->place_index);
		free(import->lines);
		free(import->places);
	}
	free(import);
	free(data);
	return imported;
}

/* The other text forms, too, which are refused with a reason. */
static bool sniff(const uint8_t *head, size_t bytes)
{
	char unpacked[BP_PPROF_HEAD_BYTES];
	const size_t got = bp_pprof_unpack_head(head, bytes, (uint8_t *)unpacked);
	const struct bp_go_text text = { unpacked, unpacked + got };
	return bp_go_text_begins(text, "heap profile: ") || bp_go_text_begins(text, "heap_v2/");
}

const struct bp_importer bp_import_go_text = {
	.name = "Go heap profile in text form",
	.sniff = sniff,
	.import = import_file,
};
