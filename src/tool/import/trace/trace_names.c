/* SPDX-License-Identifier: MIT */
/*
 * Names of a host (docs/trace-format.md 3.8), by their ids in the trace. A named frame becomes a
 * location that is resolved already: nobody looks for it in a file. Its module is a name in square
 * brackets, that of the runtime; its address, which says nothing to people, keeps it apart from the
 * frames of other processes. (Equal ones come together in reports, which compare what they say.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "import/trace/trace.h"
#include "model/python_frames.h"

struct bp_trace_name_entry {
	uint64_t id; /* 64 bits wide for base/index.h */
	uint32_t line;
	struct bp_string_id text, file; /* of a frame */
	struct bp_type_id type;		/* of a type */
	struct bp_labels_id labels;	/* of labels */
	struct bp_location_id location; /* of a frame; 0: none yet */
};

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory while reading a trace");
}

static struct bp_index_keys keys_of(const struct bp_trace_name_table *table)
{
	return (struct bp_index_keys){ table->entries, sizeof *table->entries };
}

static struct bp_trace_name_entry *find(const struct bp_trace_name_table *table, uint32_t id)
{
	const uint32_t found =
		id == 0 ? BP_INDEX_NONE : bp_index_find(&table->index, keys_of(table), id);
	return found == BP_INDEX_NONE ? NULL : &table->entries[found];
}

static bool append(struct bp_trace_name_table *table, const struct bp_trace_name_entry *entry)
{
	if (!bp_vec_reserve(&table->entries, &table->capacity, (uint64_t)table->count + 1,
		    sizeof *table->entries))
		return false;
	table->entries[table->count] = *entry;
	if (!bp_index_add(&table->index, keys_of(table), table->count))
		return false;
	table->count++;
	return true;
}

bool bp_trace_names_add(struct bp_trace_names *names, enum bp_tag tag,
	const struct bp_trace_name *name, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_trace_name_table *table = tag == BP_TAG_TYPE	  ? &names->types
					    : tag == BP_TAG_FRAME ? &names->frames
								  : &names->labels;
	struct bp_trace_name_entry entry = { .id = name->id, .line = name->line };
	bool good;
	if (name->id == 0 || find(table, name->id) != NULL)
		return true;
	if (tag == BP_TAG_TYPE)
		good = bp_profile_add_named_type(
			profile, name->text.data, name->text.bytes, &entry.type, error);
	else if (tag == BP_TAG_FRAME)
		good = bp_profile_string(
			       profile, name->text.data, name->text.bytes, &entry.text, error) &&
		       bp_profile_string(
			       profile, name->file.data, name->file.bytes, &entry.file, error);
	else
		good = bp_profile_add_labels(
			profile, name->text.data, name->text.bytes, &entry.labels, error);
	return good && (append(table, &entry) || no_memory(error));
}

struct bp_type_id bp_trace_names_type(const struct bp_trace_names *names, uint32_t id)
{
	const struct bp_trace_name_entry *entry = find(&names->types, id);
	return entry == NULL ? (struct bp_type_id){ 0 } : entry->type;
}

struct bp_labels_id bp_trace_names_labels(const struct bp_trace_names *names, uint32_t id)
{
	const struct bp_trace_name_entry *entry = find(&names->labels, id);
	return entry == NULL ? (struct bp_labels_id){ 0 } : entry->labels;
}

bool bp_trace_names_begin(struct bp_trace_names *names, const struct bp_trace_reader *reader,
	struct bp_process_id process, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_module module = { .process = process };
	char path[BP_HEADER_MAX_BYTES + 2] = "[";
	const struct bp_trace_text name = reader->allocator;
	memcpy(&names->identity, reader->header.trace_id, sizeof names->identity);
	names->python = reader->header.recognition != BP_RECOGNITION_HOST;
	if (names->frames.count == 0 || names->python)
		return true;
	memcpy(path + 1, name.data, name.bytes);
	path[name.bytes + 1] = ']';
	return bp_profile_string(profile, path, name.bytes + 2, &module.path, error) &&
	       bp_profile_add_module(profile, &module, &names->module, error);
}

/* A function of Python is called by its module and its qualified name, as an import would reach it,
 * because modules have functions of the same names: json.decoder.JSONDecoder.raw_decode. What a
 * module itself runs, which Python calls <module> in all of them, is `json.decoder (module)`. */
static bool name_python(struct bp_profile *profile, struct bp_frame *frame, struct bp_error *error)
{
	char name[2 * BP_NAME_MAX_BYTES + 16];
	struct bp_module module = { 0 };
	const char *qualified = bp_profile_text(profile, frame->system_name);
	const bool is_module = strcmp(qualified, "<module>") == 0;
	bp_python_module_name(
		bp_profile_text(profile, frame->source_file), name, BP_NAME_MAX_BYTES);
	const size_t bytes = strlen(name);
	if (!bp_profile_string(profile, name, bytes, &module.path, error) ||
		!bp_profile_add_module(profile, &module, &frame->module, error))
		return false;
	if (!frame->named || bytes == 0)
		return true;
	(void)snprintf(name + bytes, sizeof name - bytes, "%s%s", is_module ? " " : ".",
		is_module ? "(module)" : qualified);
	return bp_profile_string(profile, name, strlen(name), &frame->function, error);
}

static bool make_location(struct bp_trace_names *names, const struct bp_trace_name_entry *entry,
	struct bp_profile *profile, struct bp_location_id *ret_location, struct bp_error *error)
{
	static const char unknown[] = "(frame not named)";
	struct bp_frame frame = { .function = entry->text,
		.system_name = entry->text,
		.source_file = entry->file,
		.line = entry->line,
		.module = names->module,
		.interpreted = names->python,
		.named = entry->text.i != 0 };
	if (names->python && !name_python(profile, &frame, error))
		return false;
	if (!frame.named &&
		!bp_profile_string(profile, unknown, sizeof unknown - 1, &frame.function, error))
		return false;
	const uint64_t address = names->identity << 32 | entry->id;
	return bp_profile_add_location(profile, frame.module, address, true, ret_location, error) &&
	       bp_profile_set_frames(profile, *ret_location, &frame, 1, error);
}

bool bp_trace_names_location(struct bp_trace_names *names, uint32_t id, struct bp_profile *profile,
	struct bp_location_id *ret_location, struct bp_error *error)
{
	const struct bp_trace_name_entry nameless = { .id = 0 };
	struct bp_trace_name_entry *entry = find(&names->frames, id);
	if (entry == NULL)
		return make_location(names, &nameless, profile, ret_location, error);
	if (entry->location.i == 0 &&
		!make_location(names, entry, profile, &entry->location, error))
		return false;
	*ret_location = entry->location;
	return true;
}

static void finish(struct bp_trace_name_table *table)
{
	free(table->entries);
	bp_index_finish(&table->index);
}

void bp_trace_names_finish(struct bp_trace_names *names)
{
	finish(&names->types);
	finish(&names->frames);
	finish(&names->labels);
	memset(names, 0, sizeof *names);
}
