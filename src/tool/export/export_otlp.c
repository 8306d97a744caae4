/* SPDX-License-Identifier: MIT */
/*
 * OpenTelemetry's profiles: an ExportProfilesServiceRequest of opentelemetry-proto 1.11.0
 * (opentelemetry/proto/profiles/v1development, status alpha), as OTLP/HTTP takes it for
 * /v1development/profiles. A profile of that format has one sample type, so there is one profile
 * for each of the types of value_types.h. They share one dictionary. The one to be shown first is
 * profile 0.
 *
 * The dictionary's tables (otlp_table.h) hold what some sample refers to and nothing else: items
 * are inserted when the first sample, location or stack refers to them. A message is preceded by
 * its length, so that everything is in memory until the end.
 *
 * The time of a profile is the start of the recording, and it lasts until its end, also where the
 * values are those of one moment: the format's description prefers that. A frame, a place without
 * an address and a sample without a stack are written as export_pprof.c writes them.
 */
#include <stdlib.h>
#include <string.h>

#include "export/clean_text.h"
#include "export/export.h"
#include "export/function_table.h"
#include "export/otlp_table.h"
#include "export/protobuf.h"
#include "export/value_types.h"
#include "fleet/content_id.h"
#include "model/names/allocators.h"

/* The tables of ProfilesDictionary, by their field numbers. */
enum table {
	TABLE_MAPPING = 1,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK,
	TABLE_COUNT
};

/* Field numbers of Profile. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_ID,
	PROFILE_ATTRIBUTES = 11
};

/* Of AnyValue. */
enum value_field { VALUE_STRING = 1, VALUE_INT = 3, VALUE_ARRAY = 5 };

#define PROFILE_ID_BYTES 16u

struct otlp {
	const struct bp_export_source *source;
	const struct bp_profile *profile;
	const struct bp_aggregation *any; /* one of the pairs' */
	struct bp_entries entries;
	struct bp_function_table functions;
	struct bp_value_type types[BP_VALUE_TYPES_MAX];
	unsigned type_count;
	struct bp_otlp_table tables[TABLE_COUNT];
	struct bp_otlp_table samples; /* of one profile: what identifies each */
	uint64_t *values;	      /* of these samples */
	/* Numbers by id of the profile, plus 1; 0: not met. */
	uint32_t *string_of, *module_of, *location_of, *stack_of;
	uint64_t *places; /* room for the longest stack */
	struct bp_clean_text clean;
	struct bp_message value, item, line,
		sample; /* each is put together, then put into another */
	struct bp_message profiles[BP_VALUE_TYPES_MAX], dictionary, outer, request;
};

/* The number of the item that the message is, which is cleared. */
static uint32_t add_item(struct bp_otlp_table *table, struct bp_message *item)
{
	const uint32_t number = bp_otlp_table_number(table, item->data, item->bytes);
	bp_message_clear(item);
	return number;
}

/* Puts a message into another as a field, and clears it. */
static void put_message(struct bp_message *into, unsigned field, struct bp_message *message)
{
	bp_message_bytes(into, field, message->data, message->bytes);
	bp_message_clear(message);
}

/* ---- strings and attributes ---- */

/* The text as it may be passed on; `bytes` of clean is its length. */
static const char *clean(struct otlp *otlp, const char *text)
{
	const char *cleaned = bp_clean_text(&otlp->clean, text, "", ' ');
	if (cleaned == NULL)
		otlp->tables[TABLE_STRING].failed = true;
	return cleaned == NULL ? "" : cleaned;
}

static uint32_t text_number(struct otlp *otlp, const char *text)
{
	const char *cleaned = clean(otlp, text);
	return bp_otlp_table_number(&otlp->tables[TABLE_STRING], cleaned, strlen(cleaned));
}

static uint32_t string_number(struct otlp *otlp, struct bp_string_id string)
{
	uint32_t *number = &otlp->string_of[string.i];
	if (*number == 0)
		*number = 1 + text_number(otlp, bp_profile_text(otlp->profile, string));
	return *number - 1;
}

static void put_text_value(struct otlp *otlp, const char *text)
{
	const char *cleaned = clean(otlp, text);
	bp_message_bytes(&otlp->value, VALUE_STRING, cleaned, strlen(cleaned));
}

static void put_int_value(struct otlp *otlp, uint64_t value)
{
	static const uint8_t zero[] = { VALUE_INT << 3, 0 }; /* without it there is no value */
	bp_message_number(&otlp->value, VALUE_INT, value);
	if (value == 0)
		bp_message_raw(&otlp->value, zero, sizeof zero);
}

/* The number of an attribute with what stands in `value`, which is cleared. */
static uint32_t attribute_number(struct otlp *otlp, const char *key, const char *unit)
{
	bp_message_clear(&otlp->item);
	bp_message_number(&otlp->item, 1, text_number(otlp, key));
	put_message(&otlp->item, 2, &otlp->value);
	bp_message_number(&otlp->item, 3, text_number(otlp, unit));
	return add_item(&otlp->tables[TABLE_ATTRIBUTE], &otlp->item);
}

/* ---- places in code ---- */

static uint32_t module_number(struct otlp *otlp, struct bp_module_id id)
{
	const struct bp_module *module = &otlp->profile->modules.data[id.i];
	uint32_t *number = &otlp->module_of[id.i];
	if (*number != 0 || id.i == 0)
		return id.i == 0 ? 0 : *number - 1;
	const char *build_id = bp_profile_text(otlp->profile, module->build_id);
	uint64_t attribute = 0;
	if (*build_id != '\0') {
		put_text_value(otlp, build_id);
		attribute = attribute_number(otlp, "process.executable.build_id.gnu", "");
	}
	const uint32_t path = string_number(otlp, module->path);
	bp_message_number(&otlp->item, 1, module->start);
	bp_message_number(&otlp->item, 2, module->end);
	bp_message_number(&otlp->item, 3, bp_export_file_offset(module));
	bp_message_number(&otlp->item, 4, path);
	bp_message_numbers(&otlp->item, 5, &attribute, attribute != 0);
	*number = 1 + add_item(&otlp->tables[TABLE_MAPPING], &otlp->item);
	return *number - 1;
}

static uint32_t function_number(struct otlp *otlp, const struct bp_function *function)
{
	const uint32_t name = string_number(otlp, function->name);
	const uint32_t system_name = string_number(otlp, function->system_name);
	const uint32_t file = function->has_file ? string_number(otlp, function->file) : 0;
	bp_message_number(&otlp->item, 1, name);
	bp_message_number(&otlp->item, 2, system_name != 0 ? system_name : name);
	bp_message_number(&otlp->item, 3, file);
	return add_item(&otlp->tables[TABLE_FUNCTION], &otlp->item);
}

static uint32_t location_number(struct otlp *otlp, struct bp_location_id id)
{
	const struct bp_location *location = &otlp->profile->locations.data[id.i];
	uint32_t *number = &otlp->location_of[id.i];
	if (*number != 0)
		return *number - 1;
	bp_message_clear(&otlp->sample);
	bp_message_number(&otlp->sample, 1, module_number(otlp, location->module));
	bp_message_number(&otlp->sample, 2, bp_export_address(otlp->profile, location));
	for (uint32_t i = 0; i < location->frame_count; i++) {
		const uint32_t frame = location->first_frame.i + i;
		const uint32_t function = otlp->functions.of_frame[frame];
		if (function == UINT32_MAX)
			continue; /* on no stack as the report has it */
		bp_message_number(
			&otlp->line, 1, function_number(otlp, &otlp->functions.items[function]));
		bp_message_number(&otlp->line, 2, otlp->profile->frames.data[frame].line);
		put_message(&otlp->sample, 3, &otlp->line);
	}
	*number = 1 + add_item(&otlp->tables[TABLE_LOCATION], &otlp->sample);
	return *number - 1;
}

/* The place of samples without a stack: something must be there for them to be seen. */
static uint32_t no_stack_number(struct otlp *otlp)
{
	bp_message_number(&otlp->item, 1, text_number(otlp, BP_EXPORT_NO_STACK));
	bp_message_number(&otlp->line, 1, add_item(&otlp->tables[TABLE_FUNCTION], &otlp->item));
	put_message(&otlp->item, 3, &otlp->line);
	return add_item(&otlp->tables[TABLE_LOCATION], &otlp->item);
}

static uint32_t stack_number(struct otlp *otlp, struct bp_stack_id id)
{
	const struct bp_profile *profile = otlp->profile;
	const struct bp_stack *stack = &profile->stacks.data[id.i];
	uint32_t *number = &otlp->stack_of[id.i];
	if (*number != 0)
		return *number - 1;
	for (uint32_t i = 0; i < stack->depth; i++)
		otlp->places[i] = location_number(
			otlp, profile->stack_locations.data[stack->first_location + i]);
	if (stack->depth == 0)
		otlp->places[0] = no_stack_number(otlp);
	bp_message_numbers(&otlp->item, 1, otlp->places, stack->depth > 0 ? stack->depth : 1);
	*number = 1 + add_item(&otlp->tables[TABLE_STACK], &otlp->item);
	return *number - 1;
}

/* ---- samples and profiles ---- */

static void put_labels(struct otlp *otlp, const struct bp_entry *entry)
{
	const struct bp_thread *thread = &otlp->profile->threads.data[entry->thread.i];
	uint64_t attributes[3];
	size_t count = 0;
	if (otlp->source->options.labels.by_thread) {
		put_int_value(otlp, thread->tid);
		attributes[count++] = attribute_number(otlp, "thread.id", "");
		put_text_value(otlp, bp_profile_text(otlp->profile, thread->name));
		attributes[count++] = attribute_number(otlp, "thread.name", "");
	}
	if (otlp->source->options.labels.by_size) {
		put_int_value(otlp, entry->size);
		attributes[count++] = attribute_number(otlp, "allocation_size", "By");
	}
	bp_message_numbers(&otlp->sample, 2, attributes, count);
}

/* The number of the sample that an entry belongs to. A sample is identified by its stack and its
 * attributes. Several entries may have the same: they differ in what the format does not hold. */
static uint32_t sample_number(struct otlp *otlp, const struct bp_entry *entry)
{
	const uint32_t stack = stack_number(otlp, entry->stack);
	bp_message_clear(&otlp->sample);
	bp_message_number(&otlp->sample, 1, stack);
	put_labels(otlp, entry);
	return add_item(&otlp->samples, &otlp->sample);
}

static void put_samples(struct otlp *otlp, struct bp_message *profile, struct bp_value_type *type)
{
	bp_otlp_table_finish(&otlp->samples);
	bp_otlp_table_init(&otlp->samples, NULL, 0);
	memset(otlp->values, 0, ((size_t)otlp->entries.count + 1) * sizeof *otlp->values);
	for (uint32_t i = 0; i < otlp->entries.count; i++) {
		const uint64_t value = bp_value_next(type, &otlp->entries.items[i]);
		if (value != 0)
			otlp->values[sample_number(otlp, &otlp->entries.items[i])] += value;
	}
	for (uint32_t i = 1; i < otlp->samples.count; i++) {
		const struct bp_otlp_item *item = &otlp->samples.items[i];
		bp_message_raw(&otlp->sample, otlp->samples.content.data + item->at, item->bytes);
		bp_message_numbers(&otlp->sample, 4, &otlp->values[i], 1);
		put_message(profile, PROFILE_SAMPLE, &otlp->sample);
	}
	profile->failed = profile->failed || otlp->samples.failed;
}

static void put_value_type(struct otlp *otlp, struct bp_message *profile, enum profile_field field,
	const char *name, const char *unit)
{
	bp_message_clear(&otlp->item);
	bp_message_number(&otlp->item, 1, text_number(otlp, name));
	bp_message_number(&otlp->item, 2, text_number(otlp, unit));
	put_message(profile, field, &otlp->item);
}

static uint32_t comments_number(struct otlp *otlp)
{
	char line[BP_EXPORT_LINE_BYTES];
	struct bp_message *array = &otlp->line;
	bp_message_clear(array);
	for (unsigned i = 0; i < BP_EXPORT_COMMENTS; i++) {
		if (!bp_export_comment(otlp->source, otlp->any, i, line))
			continue;
		put_text_value(otlp, line);
		put_message(array, 1, &otlp->value);
	}
	put_message(&otlp->value, VALUE_ARRAY, array);
	return attribute_number(otlp, "pprof.profile.comment", "");
}

/* What is said of the whole profile: the comments, and which functions are to be left out. */
static void put_attributes(struct otlp *otlp, struct bp_message *profile)
{
	uint64_t attributes[2] = { comments_number(otlp) };
	size_t count = 1, bytes = 0;
	char *expression = NULL;
	FILE *text = open_memstream(&expression, &bytes);
	if (text != NULL) {
		bp_allocators_write_expression(otlp->profile->allocators, text);
		fclose(text);
	}
	if (expression == NULL)
		otlp->tables[TABLE_STRING].failed = true;
	else if (bytes > 0) {
		put_text_value(otlp, expression);
		attributes[count++] = attribute_number(otlp, "pprof.profile.drop_frames", "");
	}
	free(expression);
	bp_message_numbers(profile, PROFILE_ATTRIBUTES, attributes, count);
}

static void put_profile(struct otlp *otlp, struct bp_message *profile, struct bp_value_type *type)
{
	const struct bp_process *root = &otlp->profile->processes.data[otlp->profile->root.i];
	put_value_type(otlp, profile, PROFILE_SAMPLE_TYPE, type->name, type->unit);
	put_samples(otlp, profile, type);
	bp_message_fixed(profile, PROFILE_TIME, root->start_real_ns);
	bp_message_number(profile, PROFILE_DURATION, otlp->any->duration_ns);
	put_value_type(otlp, profile, PROFILE_PERIOD_TYPE, "space", "bytes");
	bp_message_number(profile, PROFILE_PERIOD, bp_export_period(otlp->any));
	put_attributes(otlp, profile);
}

/* ---- what the profiles are of ---- */

/* Does a tag say this itself? Keys are to be unique. */
static bool is_tagged(const struct bp_tags *tags, const char *key)
{
	const size_t bytes = strlen(key);
	for (const char *line = tags->tags; line != NULL && *line != '\0';
		line = strchr(line, '\n'), line = line != NULL ? line + 1 : NULL)
		if (strncmp(line, key, bytes) == 0 && line[bytes] == '=')
			return true;
	return false;
}

/* A KeyValue of the resource, with what stands in `value`, which is cleared. */
static void put_resource(struct otlp *otlp, const char *key)
{
	if (!is_tagged(otlp->source->tags, key)) {
		bp_message_bytes(&otlp->item, 1, key, strlen(key));
		bp_message_bytes(&otlp->item, 2, otlp->value.data, otlp->value.bytes);
		put_message(&otlp->outer, 1, &otlp->item);
	}
	bp_message_clear(&otlp->value);
}

static void put_resource_text(struct otlp *otlp, const char *key, const char *text)
{
	if (*text == '\0')
		return;
	put_text_value(otlp, text);
	put_resource(otlp, key);
}

static void put_tag(struct otlp *otlp, const char *tag)
{
	const char *cleaned = clean(otlp, tag);
	const size_t key_bytes = strcspn(cleaned, "=");
	const char *value = cleaned + key_bytes + (cleaned[key_bytes] == '=');
	bp_message_bytes(&otlp->value, VALUE_STRING, value, strlen(value));
	bp_message_bytes(&otlp->item, 1, cleaned, key_bytes);
	put_message(&otlp->item, 2, &otlp->value);
	put_message(&otlp->outer, 1, &otlp->item);
}

/* `tags`: a line for each. */
static void put_tags(struct otlp *otlp, const char *tags)
{
	while (*tags != '\0') {
		const size_t bytes = strcspn(tags, "\n");
		char *tag = strndup(tags, bytes);
		if (tag == NULL) {
			otlp->outer.failed = true;
			return;
		}
		put_tag(otlp, tag);
		free(tag);
		tags += bytes + (tags[bytes] == '\n');
	}
}

static void put_resources(struct otlp *otlp)
{
	const struct bp_profile *profile = otlp->profile;
	const struct bp_tags *tags = otlp->source->tags;
	const struct bp_process *subject = &profile->processes.data[otlp->any->subject.i];
	put_resource_text(otlp, "service.name",
		*tags->service != '\0' ? tags->service : bp_process_name(profile, subject));
	put_resource_text(otlp, "service.version", tags->release);
	put_resource_text(otlp, "host.name", tags->host);
	if (subject->pid != 0) {
		put_int_value(otlp, subject->pid);
		put_resource(otlp, "process.pid");
	}
	put_resource_text(
		otlp, "process.executable.path", bp_profile_text(profile, subject->program));
	put_resource_text(
		otlp, "process.command_line", bp_profile_text(profile, subject->command_line));
	put_tags(otlp, tags->tags);
}

/* ---- the request ---- */

static void put_dictionary(struct otlp *otlp)
{
	for (unsigned i = TABLE_MAPPING; i < TABLE_COUNT; i++)
		bp_otlp_table_write(&otlp->tables[i], &otlp->dictionary, i);
}

/* Made of what the profile holds, so that a profile that is sent twice can be recognised. */
static void put_id(struct otlp *otlp, struct bp_message *profile)
{
	uint8_t id[PROFILE_ID_BYTES];
	char process[BP_PROCESS_ID_BYTES];
	bp_process_content_id(otlp->profile, otlp->any->subject.i, process);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t hash = bp_hash_bytes(i, process, sizeof process);
		hash = bp_hash_bytes(hash, otlp->dictionary.data, otlp->dictionary.bytes);
		hash = bp_hash_bytes(hash, profile->data, profile->bytes);
		for (unsigned j = 0; j < 8; j++)
			id[8 * i + j] = (uint8_t)(hash >> 8 * j);
	}
	bp_message_bytes(profile, PROFILE_ID, id, sizeof id);
}

static void put_request(struct otlp *otlp, unsigned shown)
{
	struct bp_message *resource_profiles = &otlp->sample, *scope_profiles = &otlp->line;
	bp_message_clear(resource_profiles);
	bp_message_clear(scope_profiles);
	put_resources(otlp);
	put_message(resource_profiles, 1, &otlp->outer);
	bp_message_bytes(&otlp->item, 1, "bytepoll", strlen("bytepoll"));
	bp_message_bytes(&otlp->item, 2, BP_VERSION, strlen(BP_VERSION));
	put_message(scope_profiles, 1, &otlp->item);
	put_message(scope_profiles, 2, &otlp->profiles[shown]);
	for (unsigned i = 0; i < otlp->type_count; i++)
		if (i != shown)
			put_message(scope_profiles, 2, &otlp->profiles[i]);
	put_message(resource_profiles, 2, scope_profiles);
	put_message(&otlp->request, 1, resource_profiles);
	put_message(&otlp->request, 2, &otlp->dictionary);
}

static bool has_failed(const struct otlp *otlp)
{
	bool failed = otlp->value.failed || otlp->item.failed || otlp->line.failed ||
		      otlp->sample.failed || otlp->dictionary.failed || otlp->outer.failed ||
		      otlp->request.failed;
	for (unsigned i = TABLE_MAPPING; i < TABLE_COUNT; i++)
		failed = failed || otlp->tables[i].failed;
	for (unsigned i = 0; i < otlp->type_count; i++)
		failed = failed || otlp->profiles[i].failed;
	return failed;
}

static bool write_all(struct otlp *otlp, FILE *out)
{
	otlp->type_count = bp_value_types_choose(otlp->source, &otlp->entries, otlp->types);
	for (unsigned i = 0; i < otlp->type_count; i++)
		put_profile(otlp, &otlp->profiles[i], &otlp->types[i]);
	put_dictionary(otlp);
	for (unsigned i = 0; i < otlp->type_count; i++)
		put_id(otlp, &otlp->profiles[i]);
	put_request(otlp, bp_value_types_shown(otlp->source, otlp->types, otlp->type_count));
	if (has_failed(otlp))
		return false;
	fwrite(otlp->request.data, 1, otlp->request.bytes, out);
	return true;
}

static bool allocate(struct otlp *otlp)
{
	/* The ids of trace and span, of 16 and 8 zeros: some readers insist on these lengths. */
	static const uint8_t no_link[2 + 16 + 2 + 8] = { 1 << 3 | 2,
		16, [18] = 2 << 3 | 2, [19] = 8 };
	const struct bp_profile *profile = otlp->profile;
	for (unsigned i = TABLE_MAPPING; i < TABLE_COUNT; i++)
		bp_otlp_table_init(&otlp->tables[i], i == TABLE_LINK ? no_link : NULL,
			i == TABLE_LINK ? sizeof no_link : 0);
	otlp->string_of = calloc((size_t)profile->strings.count + 1, sizeof *otlp->string_of);
	otlp->module_of = calloc((size_t)profile->modules.count + 1, sizeof *otlp->module_of);
	otlp->location_of = calloc((size_t)profile->locations.count + 1, sizeof *otlp->location_of);
	otlp->stack_of = calloc((size_t)profile->stacks.count + 1, sizeof *otlp->stack_of);
	otlp->places = calloc(bp_export_deepest(profile), sizeof *otlp->places);
	otlp->values = calloc((size_t)otlp->entries.count + 1, sizeof *otlp->values);
	return otlp->values != NULL && otlp->string_of != NULL && otlp->module_of != NULL &&
	       otlp->location_of != NULL && otlp->stack_of != NULL && otlp->places != NULL;
}

static void finish(struct otlp *otlp)
{
	struct bp_message *messages[] = { &otlp->value, &otlp->item, &otlp->line, &otlp->sample,
		&otlp->dictionary, &otlp->outer, &otlp->request };
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
		bp_message_finish(messages[i]);
	for (unsigned i = 0; i < BP_VALUE_TYPES_MAX; i++)
		bp_message_finish(&otlp->profiles[i]);
	for (unsigned i = 0; i < TABLE_COUNT; i++)
		bp_otlp_table_finish(&otlp->tables[i]);
	bp_otlp_table_finish(&otlp->samples);
	free(otlp->values);
	free(otlp->string_of);
	free(otlp->module_of);
	free(otlp->location_of);
	free(otlp->stack_of);
	free(otlp->places);
	bp_clean_text_finish(&otlp->clean);
	bp_function_table_finish(&otlp->functions);
	bp_entries_finish(&otlp->entries);
}

static bool write_otlp(const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	struct otlp otlp = {
		.source = source, .profile = source->profile, .any = bp_value_types_any(source)
	};
	const bool good = bp_value_entries_build(source, &otlp.entries, error) &&
			  bp_function_table_init(&otlp.functions, otlp.any, &otlp.entries, error) &&
			  ((allocate(&otlp) && write_all(&otlp, out)) ||
				  bp_error_set(error, "out of memory"));
	finish(&otlp);
	return good;
}

const struct bp_export bp_export_otlp = { .name = "otlp",
	.metrics = BP_METRIC_BIT(BP_METRIC_ALLOCATED) | BP_METRIC_BIT(BP_METRIC_LIVE),
	.refused = BP_METRIC_BIT(BP_METRIC_TEMPORARY),
	.tagged = true,
	.labelled = true,
	.one_moment = true,
	.write = write_otlp };
