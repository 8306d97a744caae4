/* SPDX-License-Identifier: MIT */
/*
 * The JSON of valgrind's DHAT, version 2, as dh_view.html and the Firefox Profiler read it. Of each
 * stack: what was allocated in all (tb, tbk), how long it lived (tl, in microseconds), what of it
 * was live at the peak (gb, gbk) and at the end (eb, ebk). "mb, mbk", the most a stack ever held by
 * itself, is not estimated; the larger of the two moments stands there. Accesses are not known
 * (bkacc is false). Where the file does not tell of frees or of times, bklt is false and only
 * totals are there.
 *
 * A viewer refuses a file in which two stacks are equal. Frames are texts with an address in front,
 * and stacks of equal texts are added up here.
 */
#include <stdlib.h>
#include <string.h>

#include "aggregation/views/entries.h"
#include "base/vec.h"
#include "export/export.h"
#include "model/id_index.h"
#include "text/json_values.h"

enum { TOTAL, PEAK, END, MOMENTS };

/* A stack of the file: entries of equal frames. */
struct point {
	uint32_t first_frame, depth; /* into point_frames, innermost first */
	double lifetime_ns;
	double bytes[MOMENTS], objects[MOMENTS];
};

/* A frame of the file. */
struct frame {
	uint64_t address;
	struct bp_string_id function, file, module;
	uint32_t line;
};

struct dhat {
	const struct bp_profile *profile;
	const struct bp_aggregation *any;
	uint64_t peak_at_ns; /* BP_TIME_NEVER: not known */
	bool moments;	     /* live at the peak and at the end are known */
	struct bp_entries entries;
	struct frame *frames;
	uint32_t frame_count, frame_capacity;
	uint32_t *point_frames;
	uint32_t point_frame_count, point_frame_capacity;
	struct point *points;
	uint32_t point_count, point_capacity;
	struct bp_id_index frame_index, point_index;
	struct bp_json json;
};

/* ---- tables ---- */

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->address == b->address && a->function.i == b->function.i &&
	       a->file.i == b->file.i && a->module.i == b->module.i && a->line == b->line;
}

/* The number of a frame; 0 is the root. */
static bool frame_number(struct dhat *dhat, const struct frame *frame, uint32_t *ret_number)
{
	uint64_t hash = bp_hash_word(bp_hash_word(frame->address, frame->function.i),
		(uint64_t)frame->file.i << 32 | frame->line);
	uint32_t folded = bp_hash_fold(hash), position = folded, number;
	while ((number = bp_id_index_next(&dhat->frame_index, folded, &position)) != 0)
		if (same_frame(&dhat->frames[number - 1], frame)) {
			*ret_number = number;
			return true;
		}
	if (!bp_vec_reserve(&dhat->frames, &dhat->frame_capacity, dhat->frame_count + 1ull,
		    sizeof *dhat->frames) ||
		!bp_id_index_reserve(&dhat->frame_index))
		return false;
	bp_id_index_add(&dhat->frame_index, folded, dhat->frame_count + 1);
	dhat->frames[dhat->frame_count++] = *frame;
	*ret_number = dhat->frame_count;
	return true;
}

static bool add_frame(
	struct dhat *dhat, const struct bp_location *location, const struct bp_frame *from)
{
	const struct bp_profile *profile = dhat->profile;
	const struct bp_module *module = &profile->modules.data[location->module.i];
	const uint64_t beyond = 1ull << 63; /* places without an address */
	struct frame frame = { .function = from->function,
		.file = from->source_file,
		.module = module->path,
		.line = from->line };
	if (location->address < beyond)
		frame.address = location->address + module->bias;
	return bp_vec_reserve(&dhat->point_frames, &dhat->point_frame_capacity,
		       dhat->point_frame_count + 1ull, sizeof *dhat->point_frames) &&
	       frame_number(dhat, &frame, &dhat->point_frames[dhat->point_frame_count]) &&
	       ++dhat->point_frame_count > 0;
}

/* Appends the frames of a stack to point_frames. */
static bool add_frames(struct dhat *dhat, struct bp_stack_id id)
{
	const struct bp_profile *profile = dhat->profile;
	const struct bp_stack *stack = &profile->stacks.data[id.i];
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct bp_location *location =
			&profile->locations
				 .data[profile->stack_locations.data[stack->first_location + i].i];
		for (uint32_t j = 0; j < location->frame_count; j++)
			if (!add_frame(dhat, location,
				    &profile->frames.data[location->first_frame.i + j]))
				return false;
	}
	static const struct bp_location nowhere;
	static const struct bp_frame nothing;
	return stack->depth > 0 || add_frame(dhat, &nowhere, &nothing);
}

/* The point whose frames are the last ones appended, which are dropped again if it is known. */
static struct point *point_of(struct dhat *dhat, uint32_t first_frame)
{
	const uint32_t depth = dhat->point_frame_count - first_frame;
	const uint32_t *frames = dhat->point_frames + first_frame;
	uint64_t hash = depth;
	for (uint32_t i = 0; i < depth; i++)
		hash = bp_hash_word(hash, frames[i]);
	uint32_t folded = bp_hash_fold(hash), position = folded, number;
	while ((number = bp_id_index_next(&dhat->point_index, folded, &position)) != 0) {
		struct point *point = &dhat->points[number - 1];
		if (point->depth != depth || memcmp(dhat->point_frames + point->first_frame, frames,
						     depth * sizeof *frames) != 0)
			continue;
		dhat->point_frame_count = first_frame;
		return point;
	}
	if (!bp_vec_reserve(&dhat->points, &dhat->point_capacity, dhat->point_count + 1ull,
		    sizeof *dhat->points) ||
		!bp_id_index_reserve(&dhat->point_index))
		return NULL;
	bp_id_index_add(&dhat->point_index, folded, dhat->point_count + 1);
	struct point *point = &dhat->points[dhat->point_count++];
	*point = (struct point){ .first_frame = first_frame, .depth = depth };
	return point;
}

static bool make_points(struct dhat *dhat)
{
	for (uint32_t i = 0; i < dhat->entries.count; i++) {
		const struct bp_entry *entry = &dhat->entries.items[i];
		const uint32_t first_frame = dhat->point_frame_count;
		if (!add_frames(dhat, entry->stack))
			return false;
		struct point *point = point_of(dhat, first_frame);
		if (point == NULL)
			return false;
		point->lifetime_ns += entry->lifetime_ns;
		for (int moment = 0; moment < MOMENTS; moment++) {
			point->bytes[moment] += entry->metrics[moment].bytes;
			point->objects[moment] += entry->metrics[moment].objects;
		}
	}
	return true;
}

/* ---- output ---- */

static long long larger(long long a, long long b)
{
	return a > b ? a : b;
}

static void write_point(struct dhat *dhat, const struct point *point, struct bp_rounding bytes[],
	struct bp_rounding objects[])
{
	struct bp_json *json = &dhat->json;
	long long b[MOMENTS], n[MOMENTS];
	for (int moment = 0; moment < MOMENTS; moment++) {
		b[moment] = bp_round_next(&bytes[moment], point->bytes[moment]);
		n[moment] = bp_round_next(&objects[moment], point->objects[moment]);
	}
	bp_json_break(json, 0);
	bp_json_object(json, NULL, BP_JSON_COMPACT);
	bp_json_signed(json, "tb", b[TOTAL]);
	bp_json_signed(json, "tbk", n[TOTAL]);
	if (dhat->moments) {
		bp_json_fixed(json, "tl", point->lifetime_ns / 1e3, 0);
		bp_json_signed(json, "mb", larger(b[PEAK], b[END]));
		bp_json_signed(json, "mbk", larger(n[PEAK], n[END]));
		bp_json_signed(json, "gb", b[PEAK]);
		bp_json_signed(json, "gbk", n[PEAK]);
		bp_json_signed(json, "eb", b[END]);
		bp_json_signed(json, "ebk", n[END]);
	}
	bp_json_array(json, "fs", BP_JSON_COMPACT);
	for (uint32_t i = 0; i < point->depth; i++)
		bp_json_whole(json, NULL, dhat->point_frames[point->first_frame + i]);
	bp_json_end(json);
	bp_json_end(json);
}

/* "0x401136: parse (parse.c:12)", or "(in /usr/bin/program)" without a source file. */
static void write_frame(struct dhat *dhat, const struct frame *frame)
{
	struct bp_json *json = &dhat->json;
	const char *name = bp_profile_text(dhat->profile, frame->function);
	const char *file = bp_profile_text(dhat->profile, frame->file);
	const char *module = bp_profile_text(dhat->profile, frame->module);
	char number[32];
	snprintf(number, sizeof number, "0x%llX: ", (unsigned long long)frame->address);
	bp_json_text_begin(json, NULL);
	bp_json_text_part(json, number);
	bp_json_text_part(json, *name != '\0' ? name : BP_EXPORT_NO_STACK);
	bp_json_text_part(json, *file != '\0' ? " (" : " (in ");
	bp_json_text_part(json, *file != '\0' ? file : *module != '\0' ? module : "?");
	snprintf(number, sizeof number, ":%u", frame->line);
	if (*file != '\0' && frame->line != 0)
		bp_json_text_part(json, number);
	bp_json_text_part(json, ")");
	bp_json_text_end(json);
}

/* A line begins where valgrind begins one. */
static void write_head(struct dhat *dhat)
{
	struct bp_json *json = &dhat->json;
	const struct bp_aggregation *any = dhat->any;
	const struct bp_process *subject = &dhat->profile->processes.data[any->subject.i];
	bp_json_whole(json, "dhatFileVersion", 2);
	bp_json_break(json, 0);
	bp_json_text(json, "mode", "heap");
	bp_json_text(json, "verb", "Allocated");
	bp_json_break(json, 0);
	bp_json_bool(json, "bklt", dhat->moments);
	bp_json_bool(json, "bkacc", false);
	bp_json_break(json, 0);
	if (dhat->moments) {
		bp_json_whole(json, "tuth", 500);
		bp_json_break(json, 0);
		bp_json_whole(json, "tg", dhat->peak_at_ns / 1000);
		bp_json_break(json, 0);
	}
	bp_json_text(json, "bu", "byte");
	bp_json_text(json, "bsu", "bytes");
	bp_json_text(json, "bksu", "blocks");
	bp_json_break(json, 0);
	bp_json_text(json, "tu", "us");
	bp_json_text(json, "Mtu", "s");
	bp_json_break(json, 0);
	bp_json_whole(json, "te", any->duration_ns / 1000 + 1);
	bp_json_break(json, 0);
	bp_json_whole(json, "pid", subject->pid);
	bp_json_break(json, 0);
	bp_json_name(json, "cmd", dhat->profile, subject->command_line);
}

static void write_points(struct dhat *dhat)
{
	struct bp_json *json = &dhat->json;
	struct bp_rounding bytes[MOMENTS] = { 0 }, objects[MOMENTS] = { 0 };
	bp_json_object(json, NULL, BP_JSON_COMMAS_FIRST);
	write_head(dhat);
	bp_json_break(json, 0);
	bp_json_array(json, "pps", BP_JSON_COMPACT);
	for (uint32_t i = 0; i < dhat->point_count; i++)
		write_point(dhat, &dhat->points[i], bytes, objects);
	bp_json_end(json);
	bp_json_break(json, 0);
	bp_json_array(json, "ftbl", BP_JSON_ROWS);
	bp_json_text(json, NULL, "[root]");
	for (uint32_t i = 0; i < dhat->frame_count; i++)
		write_frame(dhat, &dhat->frames[i]);
	bp_json_end(json);
	bp_json_end_document(json);
}

static bool write_dhat(const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	const struct bp_aggregation *moments[MOMENTS] = { source->metrics[BP_METRIC_ALLOCATED],
		source->metrics[BP_METRIC_PEAK], source->metrics[BP_METRIC_LIVE] };
	struct dhat dhat = {
		.profile = source->profile, .any = moments[TOTAL], .json = bp_json_begin(out)
	};
	if (dhat.any == NULL)
		return bp_error_set(error,
			"this file does not tell what was allocated in all, which DHAT's format "
			"must have: choose --to pprof or --to collapsed");
	dhat.peak_at_ns = moments[PEAK] != NULL ? moments[PEAK]->peak_at_ns : BP_TIME_NEVER;
	dhat.moments = moments[END] != NULL && dhat.peak_at_ns != BP_TIME_NEVER;
	if (!dhat.moments)
		moments[PEAK] = moments[END] = NULL;
	if (!bp_entries_build(
		    moments, MOMENTS, (struct bp_entry_options){ 0 }, &dhat.entries, error))
		return false;
	const bool good = make_points(&dhat);
	if (good)
		write_points(&dhat);
	free(dhat.frames);
	free(dhat.point_frames);
	free(dhat.points);
	bp_id_index_finish(&dhat.frame_index);
	bp_id_index_finish(&dhat.point_index);
	bp_entries_finish(&dhat.entries);
	return good || bp_error_set(error, "out of memory");
}

const struct bp_export bp_export_dhat = { .name = "dhat",
	.metrics = BP_METRIC_BIT(BP_METRIC_ALLOCATED) | BP_METRIC_BIT(BP_METRIC_PEAK) |
		   BP_METRIC_BIT(BP_METRIC_LIVE),
	.by_metrics = true,
	.keeps_allocators = true,
	.without_intervals = true,
	.write = write_dhat };
