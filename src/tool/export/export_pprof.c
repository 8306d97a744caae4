/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto), gzipped,
 * as `go tool pprof`, Pyroscope, Parca, Grafana and speedscope read it. Four sample types in Go's
 * order:
 *
 *	alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes
 *
 * "inuse" is what is live at the end, at --at, or with --metric peak at the peak. A file that tells
 * of one of the pairs alone is written with that pair. Values are weighted already and period is T,
 * as Go's are: readers add them up and scale nothing.
 *
 * An error has no place in the format, but a variance has: it adds up over stacks as values do.
 * With --variances four more types follow, of the same names with _var, in squared units. Readers
 * that know nothing of them show and merge them rightly; -diff_base subtracts them, which is wrong
 * (value_types.h).
 *
 * A location is a place in code with one line for each function inlined there. What comes from
 * another pprof file has no address any more (pprof.c of import/), and none is written.
 *
 * Fields may stand in any order. Samples come first, since they say which locations there are; the
 * strings come last.
 */
#include <stdlib.h>
#include <string.h>

#include "aggregation/views/entries.h"
#include "export/clean_text.h"
#include "export/export.h"
#include "export/function_table.h"
#include "export/gzip_stream.h"
#include "export/pprof_strings.h"
#include "export/protobuf.h"
#include "export/value_types.h"
#include "model/names/allocators.h"

/* Field numbers of profile.proto. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_DROP_FRAMES,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE
};

struct pprof {
	const struct bp_export_source *source;
	const struct bp_profile *profile;
	const struct bp_aggregation *any; /* one of the pairs' */
	struct bp_entries entries;
	struct bp_function_table functions;
	struct bp_pprof_strings strings;
	struct bp_gzip_stream *gzip;
	struct bp_message message, inner;
	struct bp_value_type types[BP_VALUE_TYPES_MAX];
	uint32_t type_names[BP_VALUE_TYPES_MAX]; /* numbers of strings */
	unsigned type_count;
	uint32_t thread_key, bytes_key, bytes_unit, no_stack;
	uint32_t *location_of; /* number by location id, 0: not met */
	struct bp_location_id *locations;
	uint32_t location_count;
	bool *module_used;
	uint32_t *thread_names; /* number of the string by thread id, 0: not met */
	uint64_t *stack;	/* room for the longest */
};

/* Writes the message as a field of the profile, and clears it. */
static void emit(struct pprof *pprof, enum profile_field field)
{
	struct bp_message *outer = &pprof->inner;
	bp_message_clear(outer);
	bp_message_bytes(outer, field, pprof->message.data, pprof->message.bytes);
	bp_gzip_write(pprof->gzip, outer->data, outer->bytes);
	bp_message_clear(&pprof->message);
}

static void emit_number(struct pprof *pprof, enum profile_field field, uint64_t value)
{
	bp_message_clear(&pprof->message);
	bp_message_number(&pprof->message, field, value);
	bp_gzip_write(pprof->gzip, pprof->message.data, pprof->message.bytes);
	bp_message_clear(&pprof->message);
}

/* ---- sample types ---- */

static void put_value_type(struct pprof *pprof, uint32_t name, const char *unit)
{
	bp_message_number(&pprof->message, 1, name);
	bp_message_number(&pprof->message, 2, bp_pprof_strings_add(&pprof->strings, unit));
}

static void write_types(struct pprof *pprof)
{
	for (unsigned i = 0; i < pprof->type_count; i++) {
		pprof->type_names[i] = bp_pprof_strings_add(&pprof->strings, pprof->types[i].name);
		put_value_type(pprof, pprof->type_names[i], pprof->types[i].unit);
		emit(pprof, PROFILE_SAMPLE_TYPE);
	}
	emit_number(pprof, PROFILE_DEFAULT_TYPE,
		pprof->type_names[bp_value_types_shown(
			pprof->source, pprof->types, pprof->type_count)]);
	put_value_type(pprof, bp_pprof_strings_add(&pprof->strings, "space"), "bytes");
	emit(pprof, PROFILE_PERIOD_TYPE);
}

/* ---- samples ---- */

static uint64_t location_number(struct pprof *pprof, struct bp_location_id location)
{
	uint32_t *number = &pprof->location_of[location.i];
	if (*number == 0) {
		pprof->locations[pprof->location_count++] = location;
		*number = pprof->location_count;
		pprof->module_used[pprof->profile->locations.data[location.i].module.i] = true;
	}
	return *number;
}

/* The string of a thread's name. */
static uint32_t thread_number(struct pprof *pprof, struct bp_thread_id id)
{
	const struct bp_thread *thread = &pprof->profile->threads.data[id.i];
	uint32_t *number = &pprof->thread_names[id.i];
	char name[256];
	if (*number == 0) {
		snprintf(name, sizeof name, "%.200s (tid %u)",
			bp_profile_text(pprof->profile, thread->name), thread->tid);
		*number = bp_pprof_strings_add(&pprof->strings, name);
	}
	return *number;
}

static void put_labels(struct pprof *pprof, const struct bp_entry *entry)
{
	bp_message_clear(&pprof->inner);
	if (pprof->source->options.labels.by_thread) {
		bp_message_number(&pprof->inner, 1, pprof->thread_key);
		bp_message_number(&pprof->inner, 2, thread_number(pprof, entry->thread));
		bp_message_bytes(&pprof->message, 3, pprof->inner.data, pprof->inner.bytes);
		bp_message_clear(&pprof->inner);
	}
	if (pprof->source->options.labels.by_size) {
		bp_message_number(&pprof->inner, 1, pprof->bytes_key);
		bp_message_number(&pprof->inner, 3, entry->size);
		bp_message_number(&pprof->inner, 4, pprof->bytes_unit);
		bp_message_bytes(&pprof->message, 3, pprof->inner.data, pprof->inner.bytes);
	}
}

static void write_sample(struct pprof *pprof, const struct bp_entry *entry)
{
	const struct bp_profile *profile = pprof->profile;
	const struct bp_stack *stack = &profile->stacks.data[entry->stack.i];
	uint64_t values[BP_VALUE_TYPES_MAX];
	bool any = false;
	for (unsigned i = 0; i < pprof->type_count; i++) {
		values[i] = bp_value_next(&pprof->types[i], entry);
		any = any || values[i] != 0;
	}
	if (!any)
		return;
	for (uint32_t i = 0; i < stack->depth; i++)
		pprof->stack[i] = location_number(
			pprof, profile->stack_locations.data[stack->first_location + i]);
	/* Something must be there for it to be seen. */
	const uint64_t no_stack = pprof->no_stack;
	bp_message_numbers(&pprof->message, 1, stack->depth > 0 ? pprof->stack : &no_stack,
		stack->depth > 0 ? stack->depth : 1);
	bp_message_numbers(&pprof->message, 2, values, pprof->type_count);
	put_labels(pprof, entry);
	emit(pprof, PROFILE_SAMPLE);
}

/* ---- mappings, locations, functions ---- */

/* What is known of the functions of a module: the flags of its mapping. */
static void put_flags(struct pprof *pprof, uint32_t module)
{
	bool named = false, files = false, lines = false, inlined = false;
	for (uint32_t i = 0; i < pprof->location_count; i++) {
		const struct bp_location *location =
			&pprof->profile->locations.data[pprof->locations[i].i];
		for (uint32_t j = 0; location->module.i == module && j < location->frame_count;
			j++) {
			const struct bp_frame *frame =
				&pprof->profile->frames.data[location->first_frame.i + j];
			named = named || frame->named;
			files = files || frame->source_file.i != 0;
			lines = lines || frame->line != 0;
			inlined = inlined || frame->inlined;
		}
	}
	bp_message_number(&pprof->message, 7, named);
	bp_message_number(&pprof->message, 8, files);
	bp_message_number(&pprof->message, 9, lines);
	bp_message_number(&pprof->message, 10, inlined);
}

static void write_mapping(struct pprof *pprof, uint32_t i)
{
	const struct bp_module *module = &pprof->profile->modules.data[i];
	bp_message_number(&pprof->message, 1, i);
	bp_message_number(&pprof->message, 2, module->start);
	bp_message_number(&pprof->message, 3, module->end);
	bp_message_number(&pprof->message, 4, bp_export_file_offset(module));
	bp_message_number(
		&pprof->message, 5, bp_pprof_strings_number(&pprof->strings, module->path));
	bp_message_number(
		&pprof->message, 6, bp_pprof_strings_number(&pprof->strings, module->build_id));
	put_flags(pprof, i);
	emit(pprof, PROFILE_MAPPING);
}

/* The first mapping is the main program's. */
static void write_mappings(struct pprof *pprof)
{
	const struct bp_profile *profile = pprof->profile;
	const struct bp_process *subject = &profile->processes.data[pprof->any->subject.i];
	uint32_t first = 0;
	for (uint32_t i = 1; i < profile->modules.count && first == 0; i++)
		if (pprof->module_used[i] && profile->modules.data[i].path.i == subject->program.i)
			first = i;
	if (first != 0)
		write_mapping(pprof, first);
	for (uint32_t i = 1; i < profile->modules.count; i++)
		if (pprof->module_used[i] && i != first)
			write_mapping(pprof, i);
}

static void write_location(struct pprof *pprof, uint32_t number)
{
	const struct bp_profile *profile = pprof->profile;
	const struct bp_location *location = &profile->locations.data[pprof->locations[number].i];
	bp_message_number(&pprof->message, 1, number + 1ull);
	bp_message_number(&pprof->message, 2, location->module.i);
	bp_message_number(&pprof->message, 3, bp_export_address(profile, location));
	for (uint32_t i = 0; i < location->frame_count; i++) {
		const uint32_t frame = location->first_frame.i + i;
		if (pprof->functions.of_frame[frame] == UINT32_MAX)
			continue; /* on no stack as the report has it */
		bp_message_clear(&pprof->inner);
		bp_message_number(&pprof->inner, 1, pprof->functions.of_frame[frame] + 1ull);
		bp_message_number(&pprof->inner, 2, profile->frames.data[frame].line);
		bp_message_bytes(&pprof->message, 4, pprof->inner.data, pprof->inner.bytes);
	}
	emit(pprof, PROFILE_LOCATION);
}

static void write_function(struct pprof *pprof, uint32_t number)
{
	const struct bp_function *function = &pprof->functions.items[number];
	struct bp_pprof_strings *strings = &pprof->strings;
	const uint32_t name = bp_pprof_strings_number(strings, function->name);
	const uint32_t system_name = bp_pprof_strings_number(strings, function->system_name);
	bp_message_number(&pprof->message, 1, number + 1ull);
	bp_message_number(&pprof->message, 2, name);
	bp_message_number(&pprof->message, 3, system_name != 0 ? system_name : name);
	if (function->has_file)
		bp_message_number(
			&pprof->message, 4, bp_pprof_strings_number(strings, function->file));
	emit(pprof, PROFILE_FUNCTION);
}

/* The place of samples without a stack: behind all others. */
static void write_no_stack(struct pprof *pprof)
{
	const uint64_t function = pprof->functions.count + 1ull;
	bp_message_number(&pprof->message, 1, function);
	bp_message_number(
		&pprof->message, 2, bp_pprof_strings_add(&pprof->strings, BP_EXPORT_NO_STACK));
	emit(pprof, PROFILE_FUNCTION);
	bp_message_number(&pprof->message, 1, pprof->no_stack);
	bp_message_clear(&pprof->inner);
	bp_message_number(&pprof->inner, 1, function);
	bp_message_bytes(&pprof->message, 4, pprof->inner.data, pprof->inner.bytes);
	emit(pprof, PROFILE_LOCATION);
}

/* ---- the rest ---- */

static void write_comment(struct pprof *pprof, const char *text)
{
	uint64_t number = bp_pprof_strings_add(&pprof->strings, text);
	bp_message_clear(&pprof->message);
	bp_message_numbers(&pprof->message, PROFILE_COMMENT, &number, 1);
	bp_gzip_write(pprof->gzip, pprof->message.data, pprof->message.bytes);
	bp_message_clear(&pprof->message);
}

static void write_comments(struct pprof *pprof)
{
	char line[BP_EXPORT_LINE_BYTES];
	for (unsigned i = 0; i < BP_EXPORT_COMMENTS; i++)
		if (bp_export_comment(pprof->source, pprof->any, i, line))
			write_comment(pprof, line);
}

/* Allocation functions: what calls them is charged then, as in our report. */
static void write_drop_frames(struct pprof *pprof)
{
	char *expression = NULL;
	size_t bytes = 0;
	FILE *text = open_memstream(&expression, &bytes);
	if (text != NULL) {
		bp_allocators_write_expression(pprof->profile->allocators, text);
		fclose(text);
	}
	if (expression == NULL)
		pprof->strings.failed = true;
	else if (bytes > 0)
		emit_number(pprof, PROFILE_DROP_FRAMES,
			bp_pprof_strings_add(&pprof->strings, expression));
	free(expression);
}

static void write_times(struct pprof *pprof)
{
	const struct bp_aggregation *any = pprof->any;
	const struct bp_process *root = &pprof->profile->processes.data[pprof->profile->root.i];
	if (root->start_real_ns != 0)
		emit_number(pprof, PROFILE_TIME, root->start_real_ns + any->duration_ns);
	emit_number(pprof, PROFILE_DURATION, any->duration_ns);
	emit_number(pprof, PROFILE_PERIOD, bp_export_period(any));
	write_drop_frames(pprof);
}

static bool write_strings(struct pprof *pprof)
{
	struct bp_clean_text clean = { 0 };
	for (uint32_t i = 0; i < pprof->strings.count; i++) {
		const struct bp_pprof_string *string = &pprof->strings.items[i];
		const char *text = string->own != NULL
					   ? string->own
					   : bp_profile_text(pprof->profile, string->id);
		if (bp_clean_text(&clean, text, "", ' ') == NULL)
			return false;
		bp_message_clear(&pprof->message);
		bp_message_bytes(&pprof->message, PROFILE_STRING, clean.text, clean.bytes);
		bp_gzip_write(pprof->gzip, pprof->message.data, pprof->message.bytes);
	}
	bp_clean_text_finish(&clean);
	return true;
}

static bool write_all(struct pprof *pprof)
{
	pprof->type_count = bp_value_types_choose(pprof->source, &pprof->entries, pprof->types);
	pprof->thread_key = bp_pprof_strings_add(&pprof->strings, "thread");
	pprof->bytes_key = bp_pprof_strings_add(&pprof->strings, "bytes");
	pprof->bytes_unit = pprof->bytes_key;
	pprof->no_stack = pprof->profile->locations.count + 1;
	write_types(pprof);
	for (uint32_t i = 0; i < pprof->entries.count; i++)
		write_sample(pprof, &pprof->entries.items[i]);
	write_mappings(pprof);
	for (uint32_t i = 0; i < pprof->location_count; i++)
		write_location(pprof, i);
	for (uint32_t i = 0; i < pprof->functions.count; i++)
		write_function(pprof, i);
	write_no_stack(pprof);
	write_comments(pprof);
	write_times(pprof);
	return write_strings(pprof) && !pprof->strings.failed && !pprof->message.failed &&
	       !pprof->inner.failed;
}

static bool allocate(struct pprof *pprof)
{
	const struct bp_profile *profile = pprof->profile;
	const size_t locations = (size_t)profile->locations.count + 1;
	pprof->gzip = malloc(sizeof *pprof->gzip);
	pprof->location_of = calloc(locations, sizeof *pprof->location_of);
	pprof->locations = calloc(locations, sizeof *pprof->locations);
	pprof->module_used = calloc((size_t)profile->modules.count + 1, sizeof(bool));
	pprof->thread_names =
		calloc((size_t)profile->threads.count + 1, sizeof *pprof->thread_names);
	pprof->stack = calloc(bp_export_deepest(profile), sizeof *pprof->stack);
	return pprof->gzip != NULL && pprof->location_of != NULL && pprof->locations != NULL &&
	       pprof->module_used != NULL && pprof->thread_names != NULL && pprof->stack != NULL &&
	       bp_pprof_strings_init(&pprof->strings, profile);
}

static bool write_pprof(const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	struct pprof pprof = {
		.source = source, .profile = source->profile, .any = bp_value_types_any(source)
	};
	bool good = bp_value_entries_build(source, &pprof.entries, error);
	if (good)
		good = bp_function_table_init(&pprof.functions, pprof.any, &pprof.entries, error);
	if (good) {
		good = allocate(&pprof) && bp_gzip_start(pprof.gzip, out);
		if (good) {
			good = write_all(&pprof);
			good = bp_gzip_finish(pprof.gzip) && good;
		}
		if (!good)
			bp_error_set(error, "out of memory");
	}
	free(pprof.gzip);
	free(pprof.location_of);
	free(pprof.locations);
	free(pprof.module_used);
	free(pprof.thread_names);
	free(pprof.stack);
	bp_message_finish(&pprof.message);
	bp_message_finish(&pprof.inner);
	bp_pprof_strings_finish(&pprof.strings);
	bp_function_table_finish(&pprof.functions);
	bp_entries_finish(&pprof.entries);
	return good;
}

const struct bp_export bp_export_pprof = { .name = "pprof",
	.metrics = BP_METRIC_BIT(BP_METRIC_ALLOCATED) | BP_METRIC_BIT(BP_METRIC_LIVE),
	.refused = BP_METRIC_BIT(BP_METRIC_TEMPORARY),
	.labelled = true,
	.one_moment = true,
	.write = write_pprof };
