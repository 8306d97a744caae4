/* SPDX-License-Identifier: MIT */
/*
 * Importer of heap profiles in pprof form, as Go's runtime writes them: buckets become samples.
 * pprof_file.h unpacks the file, pprof_message.h decodes it, pprof_count.h counts the samples of a
 * bucket, snapshot.h makes them; here they are put together.
 *
 * A bucket has a stack, the size of its objects, and figures of what was ever allocated and of what
 * is still in use. The figures are scaled up already: what is an estimate there becomes evidence
 * again, n samples of that size, of which those not in use were freed. The law is a trial for each
 * byte, whatever the size (Bernoulli, without a charge); at T = 1 everything is in the file.
 *
 * What such a file does not have. No counters: totals are estimates. No times and no order: peak
 * and temporary are absent, and nobody can ask for a part of the run. No offsets. Files that tell
 * only what is live (types "objects" and "space", or "inuse_..." alone) have no allocated either.
 *
 * The figures are scaled by the file's period, and samples are taken as drawn with it, unless the
 * user says another interval: Go writes the rate at the end, and a program may have changed it. A
 * period of 1 or 0 means figures that are not scaled.
 *
 * Buckets that no whole number of samples explains are left out and counted as lost, which makes
 * every total a lower bound; a file of which none can be explained is refused. What has no size in
 * its label (tools can drop labels, and then merge buckets of several sizes) is such a bucket: how
 * many samples there were cannot be told from sums.
 *
 * What `bytepoll export --to pprof` has written is refused unless T = 1: see refuse_our_export.
 */
#include "import/import.h"

#include <stdlib.h>
#include <string.h>

#include "import/pprof/pprof_count.h"
#include "import/pprof/pprof_file.h"
#include "import/pprof/pprof_message.h"
#include "import/pprof/snapshot.h"

#define LINES_MAX 256u
#define NOT_THERE BP_PPROF_VALUES
/* Programs that are not position independent are mapped where their file says, near the bottom. */
#define FIXED_BELOW 0x10000000u

/* A pair of figures in the values of a bucket. */
struct columns {
	uint32_t objects, bytes;
};

struct pprof_import {
	const char *path;
	struct bp_profile *profile;
	struct bp_error *error;
	struct bp_pprof pprof;
	struct bp_snapshot snapshot;
	struct columns allocated, live;	  /* NOT_THERE: only what is live is told */
	uint64_t scaled_by;		  /* T by which the figures were scaled */
	struct bp_module_id *modules;	  /* by mapping, in the order of the file */
	struct bp_location_id *locations; /* likewise; 0: not yet */
	struct bp_location_id stack[BP_PPROF_DEPTH_MAX];
	struct bp_frame lines[LINES_MAX];
};

static bool no_memory(const struct pprof_import *import)
{
	return bp_error_set(import->error, "%s: out of memory", import->path);
}

static bool add_string(
	const struct pprof_import *import, uint64_t string, struct bp_string_id *ret_string)
{
	const struct bp_pprof_text text = bp_pprof_string(&import->pprof, string);
	return bp_profile_string(import->profile, text.at, text.bytes, ret_string, import->error);
}

/* ---- what kind of profile it is ---- */

static uint32_t find_type(const struct bp_pprof *pprof, const char *name)
{
	for (uint32_t i = 0; i < pprof->type_count; i++)
		if (bp_pprof_string_is(pprof, pprof->types[i], name))
			return i;
	return NOT_THERE;
}

static struct columns find_columns(
	const struct bp_pprof *pprof, const char *objects, const char *bytes)
{
	const struct columns columns = { find_type(pprof, objects), find_type(pprof, bytes) };
	return columns.objects == NOT_THERE || columns.bytes == NOT_THERE
		       ? (struct columns){ NOT_THERE, NOT_THERE }
		       : columns;
}

static bool refuse_types(const struct pprof_import *import)
{
	const struct bp_pprof *pprof = &import->pprof;
	const struct bp_pprof_text first =
		bp_pprof_string(pprof, pprof->type_count > 0 ? pprof->types[0] : UINT64_MAX);
	const int shown = first.bytes < 40 ? (int)first.bytes : 40;
	if (find_type(pprof, "inuse_space") != NOT_THERE ||
		find_type(pprof, "alloc_space") != NOT_THERE)
		return bp_error_set(import->error,
			"%s: a heap profile of bytes without objects: how many samples were taken "
			"cannot be told from it, so that no error can be stated",
			import->path);
	return bp_error_set(import->error,
		"%s: a pprof file, but no heap profile (it counts %.*s): of Go, fetch "
		"/debug/pprof/heap",
		import->path, first.bytes > 0 ? shown : 7, first.bytes > 0 ? first.at : "nothing");
}

/* Did `bytepoll export` write it? (bp_export_sampling_line writes the comment.) */
static bool is_our_export(const struct bp_pprof *pprof)
{
	static const char begins[] = "sampled with T =", holds[] = "; bytepoll ";
	for (uint32_t i = 0; i < pprof->comment_count; i++) {
		const struct bp_pprof_text text = bp_pprof_string(pprof, pprof->comments[i]);
		if (text.bytes >= sizeof begins - 1 &&
			memcmp(text.at, begins, sizeof begins - 1) == 0 &&
			memmem(text.at, text.bytes, holds, sizeof holds - 1) != NULL)
			return true;
	}
	return false;
}

/* Its figures are ours: other weights, calibrated by totals that are exact, rounded so that sums
 * come out right. No number of samples can be told from them, though some bucket in three looks as
 * if it could. */
static bool refuse_our_export(const struct pprof_import *import)
{
	return bp_error_set(import->error,
		"%s: was written by bytepoll export: it holds estimates, no samples, so that no "
		"error can be stated: name the recording it was made from",
		import->path);
}

static bool find_kind(struct pprof_import *import)
{
	const struct bp_pprof *pprof = &import->pprof;
	const uint64_t assumed = import->profile->assume_interval;
	import->allocated = find_columns(pprof, "alloc_objects", "alloc_space");
	import->live = find_columns(pprof, "inuse_objects", "inuse_space");
	if (import->live.objects == NOT_THERE)
		import->live = find_columns(pprof, "objects", "space");
	if (import->live.objects == NOT_THERE)
		return refuse_types(import);
	if (pprof->has_period && !bp_pprof_string_is(pprof, pprof->period_type, "space"))
		return bp_error_set(import->error,
			"%s: its period is not of type space, bytes: not a sampled heap profile",
			import->path);
	if (!pprof->has_period && assumed == 0)
		return bp_error_set(import->error,
			"%s: does not tell the sampling interval (its period): say it, if you know "
			"it, with --assume-interval",
			import->path);
	import->scaled_by = pprof->has_period ? pprof->period : assumed;
	import->scaled_by += import->scaled_by == 0; /* Go writes 0 for "everything", too */
	bp_snapshot_choose_interval(&import->snapshot, import->scaled_by);
	if (import->scaled_by > INT64_MAX)
		return bp_error_set(import->error, "%s: its period is negative", import->path);
	return import->scaled_by == 1 || !is_our_export(pprof) || refuse_our_export(import);
}

/* ---- the process ---- */

static bool add_process(struct pprof_import *import)
{
	const struct bp_pprof *pprof = &import->pprof;
	const uint64_t duration = pprof->duration_ns < pprof->time_ns ? pprof->duration_ns : 0;
	struct bp_string_id program = { 0 };
	if (pprof->mapping_count > 0 && !add_string(import, pprof->mappings[0].file, &program))
		return false;
	import->snapshot.live_only = import->allocated.objects == NOT_THERE;
	return bp_snapshot_add_process(&import->snapshot, program, pprof->time_ns - duration,
		duration, pprof->bytes.at, bp_bytes_left(&pprof->bytes));
}

/* ---- places in code ---- */

/* The lowest address at which the file of a mapping is mapped, less where in the file that is: the
 * bias, if segments keep their distance. */
static uint64_t bias_of(const struct bp_pprof *pprof, const struct bp_pprof_mapping *mapping)
{
	const struct bp_pprof_mapping *lowest = mapping;
	for (uint32_t i = 0; i < pprof->mapping_count; i++)
		if (pprof->mappings[i].file == mapping->file &&
			pprof->mappings[i].start < lowest->start)
			lowest = &pprof->mappings[i];
	if (lowest->start < FIXED_BELOW || lowest->offset > lowest->start)
		return 0;
	return lowest->start - lowest->offset;
}

/* The profile's module of a mapping of the file. */
static bool module_of(struct pprof_import *import, uint64_t id, struct bp_module_id *ret_module)
{
	const struct bp_pprof *pprof = &import->pprof;
	const struct bp_pprof_mapping *mapping = bp_pprof_find_mapping(pprof, id);
	*ret_module = (struct bp_module_id){ 0 };
	if (mapping == NULL)
		return true;
	struct bp_module_id *known = &import->modules[mapping - pprof->mappings];
	if (known->i == 0) {
		struct bp_module module = { .process = import->snapshot.process,
			.start = mapping->start,
			.end = mapping->limit,
			.bias = bias_of(pprof, mapping) };
		if (!add_string(import, mapping->file, &module.path) ||
			!add_string(import, mapping->build_id, &module.build_id) ||
			!bp_profile_add_module(import->profile, &module, known, import->error))
			return false;
	}
	*ret_module = *known;
	return true;
}

/* The frames of a location as its lines tell; none where the file was written without symbols. */
static bool read_lines(struct pprof_import *import, const struct bp_pprof_location *location,
	struct bp_module_id module, uint32_t *ret_count)
{
	struct bp_bytes position = location->message;
	struct bp_pprof_line line;
	uint32_t count = 0;
	while (count < LINES_MAX && bp_pprof_next_line(&position, &line)) {
		const struct bp_pprof_function *function =
			bp_pprof_find_function(&import->pprof, line.function);
		struct bp_frame *frame = &import->lines[count];
		if (function == NULL || bp_pprof_string(&import->pprof, function->name).bytes == 0)
			continue;
		*frame = (struct bp_frame){ .line = line.line <= UINT32_MAX ? (uint32_t)line.line
									    : 0,
			.module = module,
			.inlined = true,
			.named = true };
		if (!add_string(import, function->name, &frame->function) ||
			!add_string(import, function->system_name, &frame->system_name) ||
			!add_string(import, function->file, &frame->source_file))
			return false;
		count++;
	}
	if (count > 0)
		import->lines[count - 1].inlined = false;
	*ret_count = count;
	return true;
}

/* Makes the profile's location of one of the file's. */
static bool add_location(struct pprof_import *import, const struct bp_pprof_location *location,
	struct bp_location_id *ret_location)
{
	struct bp_profile *profile = import->profile;
	struct bp_module_id module;
	uint32_t lines;
	if (!module_of(import, location->mapping, &module) ||
		!read_lines(import, location, module, &lines))
		return false;
	const uint64_t bias = module.i == 0 ? 0 : profile->modules.data[module.i].bias;
	const uint64_t address = location->address >= bias ? location->address - bias : 0;
	if (lines == 0)
		return bp_profile_add_location(
			profile, module, address, true, ret_location, import->error);
	/* One address may be several locations here: Go cuts inlined calls where its own frames
	 * end. So the place is the file's number of it, in a range that no code has. */
	return bp_profile_add_location(profile, module,
		       (uint64_t)import->snapshot.process.i << 48 | 1ull << 63 |
			       (location->id & 0xFFFFFFFFFFFF),
		       true, ret_location, import->error) &&
	       (profile->locations.data[ret_location->i].resolved ||
		       bp_profile_set_frames(
			       profile, *ret_location, import->lines, lines, import->error));
}

static bool add_stack(struct pprof_import *import, const struct bp_pprof_sample *sample,
	struct bp_stack_id *ret_stack)
{
	uint32_t depth = 0;
	for (uint32_t i = 0; i < sample->depth; i++) {
		const struct bp_pprof_location *location =
			bp_pprof_find_location(&import->pprof, sample->locations[i]);
		if (location == NULL)
			continue;
		struct bp_location_id *known =
			&import->locations[location - import->pprof.locations];
		if (known->i == 0 && !add_location(import, location, known))
			return false;
		import->stack[depth++] = *known;
	}
	return bp_profile_add_stack(import->profile, import->stack, depth,
		sample->cut ? BP_PROFILE_STACK_CUT : 0, ret_stack, import->error);
}

/* ---- buckets ---- */

/* How many samples a pair of figures stands for. */
static bool count_samples(const struct pprof_import *import, const struct bp_pprof_sample *sample,
	struct columns columns, uint64_t *ret_count)
{
	const uint64_t objects = (uint64_t)sample->values[columns.objects];
	const uint64_t bytes = (uint64_t)sample->values[columns.bytes];
	if (objects == 0 && bytes == 0) {
		*ret_count = 0;
		return true;
	}
	return sample->size > 0 &&
	       bp_pprof_count(objects, bytes, (uint64_t)sample->size, import->scaled_by, ret_count);
}

static bool take_bucket(struct pprof_import *import, const struct bp_pprof_sample *bucket)
{
	uint64_t live, allocated;
	for (uint32_t i = 0; i < bucket->value_count; i++)
		if (bucket->values[i] < 0)
			return bp_error_set(import->error,
				"%s: has negative values: a difference of two profiles holds no "
				"samples; name the two files to `bytepoll diff`",
				import->path);
	const struct columns most = import->snapshot.live_only ? import->live : import->allocated;
	if (!count_samples(import, bucket, import->live, &live) ||
		!count_samples(import, bucket, most, &allocated) || live > allocated) {
		import->snapshot.invalid++;
		return true;
	}
	if (allocated == 0)
		return true;
	struct bp_stack_id stack;
	return add_stack(import, bucket, &stack) &&
	       bp_snapshot_add_bucket(
		       &import->snapshot, stack, (uint64_t)bucket->size, allocated, live);
}

static bool take_buckets(struct pprof_import *import)
{
	struct bp_pprof_sample sample = { 0 };
	struct bp_bytes position = import->pprof.bytes;
	struct bp_error failure = { .text = "" };
	bool good = true;
	while (good && bp_pprof_next_sample(&import->pprof, &position, &sample, &failure))
		good = take_bucket(import, &sample);
	bp_pprof_sample_finish(&sample);
	if (good && failure.text[0] != '\0')
		return bp_error_set(import->error, "%s: %s", import->path, failure.text);
	return good;
}

static bool finish_process(const struct pprof_import *import)
{
	const struct bp_process *process = bp_snapshot_process(&import->snapshot);
	if (import->snapshot.invalid > 0 && process->samples == 0 && is_our_export(&import->pprof))
		return bp_error_set(import->error,
			"%s: was written by bytepoll export without sizes: write it with --label "
			"bytes, or name the recording it was made from",
			import->path);
	if (import->snapshot.invalid > 0 && process->samples == 0)
		return bp_error_set(import->error,
			"%s: how many samples were taken cannot be told from any of its %llu "
			"buckets (they are not of one size each, or not scaled as Go does with an "
			"interval of %llu bytes), so that no error can be stated",
			import->path, (unsigned long long)import->snapshot.invalid,
			(unsigned long long)import->scaled_by);
	bp_snapshot_end(&import->snapshot);
	return true;
}

static bool import_message(struct pprof_import *import, const uint8_t *data, size_t bytes)
{
	struct bp_error failure = { .text = "" };
	if (!bp_pprof_read(&import->pprof, data, bytes, &failure))
		return bp_error_set(import->error, "%s: %s", import->path, failure.text);
	if (!find_kind(import) || !add_process(import))
		return false;
	import->modules = calloc((size_t)import->pprof.mapping_count + 1, sizeof *import->modules);
	import->locations =
		calloc((size_t)import->pprof.location_count + 1, sizeof *import->locations);
	if (import->modules == NULL || import->locations == NULL)
		return no_memory(import);
	return take_buckets(import) && finish_process(import);
}

static bool import_pprof(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	uint8_t *data;
	size_t bytes;
	if (!bp_pprof_load(path, &data, &bytes, error))
		return false;
	bool imported = false;
	struct pprof_import *import = calloc(1, sizeof *import);
	if (import == NULL) {
		bp_error_set(error, "%s: out of memory", path);
	} else {
		import->path = path;
		import->profile = profile;
		import->error = error;
		import->snapshot =
			(struct bp_snapshot){ .path = path, .profile = profile, .error = error };
		imported = import_message(import, data, bytes);
		bp_pprof_finish(&import->pprof);
		free(import->modules);
		free(import->locations);
	}
	free(import);
	free(data);
	return imported;
}

const struct bp_importer bp_import_pprof = {
	.name = "pprof heap profile",
	.sniff = bp_pprof_sniff,
	.import = import_pprof,
};
