/* SPDX-License-Identifier: MIT */
/*
 * Decoding of profile.proto. A protobuf message is a list of fields, in any order:
 *
 *	SIZE	MEANING
 *	varint	field number << 3 | kind: 0 a varint, 1 eight bytes, 2 a length and so many bytes,
 *		5 four bytes
 *	...	the value
 *
 * Fields that are not known are skipped. Repeated numbers come one by one (kind 0) or packed in one
 * field (kind 2), as the writer likes; both are read.
 *
 * Writers put strings, locations and functions before or behind the samples that need them. So one
 * pass keeps those, and a second one, driven by the caller, decodes a sample at a time: of the
 * samples, which are most of a file, nothing is kept. Tables grow with what is in the file, a few
 * times its size at most.
 */
#include "import/pprof/pprof_message.h"

#include <string.h>

#include "base/vec.h"

enum kind { KIND_VARINT = 0, KIND_EIGHT = 1, KIND_BYTES = 2, KIND_FOUR = 5 };

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_DROP_FRAMES,
	PROFILE_KEEP_FRAMES,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE,
	PROFILE_URL
};

struct field {
	uint64_t number;
	enum kind kind;
	uint64_t value;	       /* of kind 0 */
	struct bp_bytes bytes; /* of kind 2 */
};

/* The next field; false: the end, or (from->failed) no field. */
static bool next_field(struct bp_bytes *from, struct field *ret_field)
{
	struct field field = { 0 };
	if (bp_bytes_left(from) == 0)
		return false;
	const uint64_t tag = bp_bytes_varint(from);
	field.number = tag >> 3;
	field.kind = (enum kind)(tag & 7);
	if (field.kind == KIND_VARINT) {
		field.value = bp_bytes_varint(from);
	} else if (field.kind == KIND_BYTES) {
		const uint64_t length = bp_bytes_varint(from);
		const uint8_t *at = bp_bytes_take(from, length);
		if (at != NULL)
			field.bytes = bp_bytes_of(at, (size_t)length);
	} else if (field.kind == KIND_EIGHT || field.kind == KIND_FOUR) {
		bp_bytes_take(from, field.kind == KIND_EIGHT ? 8 : 4);
	} else {
		from->failed = true;
	}
	if (from->failed || field.number == 0) {
		from->failed = true;
		return false;
	}
	*ret_field = field;
	return true;
}

/* The next of the numbers in a repeated field, packed or alone: `field` is used up. */
static bool next_number(struct field *field, uint64_t *ret_number)
{
	if (field->kind == KIND_BYTES) {
		if (bp_bytes_left(&field->bytes) == 0)
			return false;
		*ret_number = bp_bytes_varint(&field->bytes);
		return !field->bytes.failed;
	}
	if (field->kind != KIND_VARINT)
		return false;
	*ret_number = field->value;
	field->kind = KIND_FOUR; /* used up */
	return true;
}

/* Puts the varint fields 1 to `count` of a message into numbers[0] to [count - 1]. */
static bool read_numbers(struct bp_bytes message, uint64_t *numbers, unsigned count)
{
	struct field field;
	memset(numbers, 0, count * sizeof *numbers);
	while (next_field(&message, &field))
		if (field.kind == KIND_VARINT && field.number <= count)
			numbers[field.number - 1] = field.value;
	return !message.failed;
}

/* A value type has nothing but two numbers. */
static bool is_value_type(struct bp_bytes message)
{
	struct field field;
	while (next_field(&message, &field))
		if (field.kind != KIND_VARINT || field.number > 2)
			return false;
	return !message.failed;
}

bool bp_pprof_looks_right(const uint8_t *head, size_t bytes)
{
	struct bp_bytes from = bp_bytes_of(head, bytes);
	unsigned fields = 0;
	while (bp_bytes_left(&from) > 0) {
		struct field field;
		const uint8_t tag = *from.at;
		const unsigned number = tag >> 3;
		const unsigned kind = tag & 7;
		const bool message = (number >= PROFILE_SAMPLE_TYPE && number <= PROFILE_STRING) ||
				     number == PROFILE_PERIOD_TYPE;
		if (number < PROFILE_SAMPLE_TYPE || number > PROFILE_URL || tag >= 0x80)
			return false;
		if (kind != (message ? KIND_BYTES : KIND_VARINT) &&
			!(number == PROFILE_COMMENT && kind == KIND_BYTES))
			return false;
		/* The last one may be cut off by the end of the head. */
		if (!next_field(&from, &field))
			return fields > 0;
		if ((number == PROFILE_SAMPLE_TYPE || number == PROFILE_PERIOD_TYPE) &&
			!is_value_type(field.bytes))
			return false;
		fields++;
	}
	return fields > 0;
}

/* ---- the tables ---- */

static bool read_mapping(struct bp_pprof *pprof, struct bp_bytes message)
{
	uint64_t numbers[6];
	if (!read_numbers(message, numbers, 6) ||
		!bp_vec_reserve(&pprof->mappings, &pprof->mapping_capacity,
			(uint64_t)pprof->mapping_count + 1, sizeof *pprof->mappings))
		return false;
	pprof->mappings[pprof->mapping_count] = (struct bp_pprof_mapping){ .id = numbers[0],
		.start = numbers[1],
		.limit = numbers[2],
		.offset = numbers[3],
		.file = numbers[4],
		.build_id = numbers[5] };
	const struct bp_index_keys keys = { &pprof->mappings->id, sizeof *pprof->mappings };
	return bp_index_find(&pprof->mapping_index, keys, numbers[0]) != BP_INDEX_NONE ||
	       bp_index_add(&pprof->mapping_index, keys, pprof->mapping_count++);
}

static bool read_function(struct bp_pprof *pprof, struct bp_bytes message)
{
	uint64_t numbers[4];
	if (!read_numbers(message, numbers, 4) ||
		!bp_vec_reserve(&pprof->functions, &pprof->function_capacity,
			(uint64_t)pprof->function_count + 1, sizeof *pprof->functions))
		return false;
	pprof->functions[pprof->function_count] = (struct bp_pprof_function){
		.id = numbers[0], .name = numbers[1], .system_name = numbers[2], .file = numbers[3]
	};
	const struct bp_index_keys keys = { &pprof->functions->id, sizeof *pprof->functions };
	return bp_index_find(&pprof->function_index, keys, numbers[0]) != BP_INDEX_NONE ||
	       bp_index_add(&pprof->function_index, keys, pprof->function_count++);
}

static bool read_location(struct bp_pprof *pprof, struct bp_bytes message)
{
	uint64_t numbers[3];
	if (!read_numbers(message, numbers, 3) ||
		!bp_vec_reserve(&pprof->locations, &pprof->location_capacity,
			(uint64_t)pprof->location_count + 1, sizeof *pprof->locations))
		return false;
	pprof->locations[pprof->location_count] = (struct bp_pprof_location){
		.id = numbers[0], .mapping = numbers[1], .address = numbers[2], .message = message
	};
	const struct bp_index_keys keys = { &pprof->locations->id, sizeof *pprof->locations };
	return bp_index_find(&pprof->location_index, keys, numbers[0]) != BP_INDEX_NONE ||
	       bp_index_add(&pprof->location_index, keys, pprof->location_count++);
}

static bool read_string(struct bp_pprof *pprof, struct bp_bytes bytes)
{
	if (!bp_vec_reserve(&pprof->strings, &pprof->string_capacity,
		    (uint64_t)pprof->string_count + 1, sizeof *pprof->strings))
		return false;
	pprof->strings[pprof->string_count++] =
		(struct bp_pprof_text){ (const char *)bytes.at, bp_bytes_left(&bytes) };
	return true;
}

static bool read_sample_type(struct bp_pprof *pprof, struct bp_bytes message)
{
	uint64_t numbers[2];
	if (pprof->type_count == BP_PPROF_VALUES || !read_numbers(message, numbers, 2))
		return false;
	pprof->types[pprof->type_count] = numbers[0];
	pprof->units[pprof->type_count++] = numbers[1];
	return true;
}

/* One, or several packed. */
static bool read_comments(struct bp_pprof *pprof, struct field field)
{
	uint64_t string;
	while (next_number(&field, &string))
		if (pprof->comment_count < BP_PPROF_COMMENTS)
			pprof->comments[pprof->comment_count++] = string;
	return !field.bytes.failed;
}

static bool read_field(struct bp_pprof *pprof, const struct field *field)
{
	uint64_t numbers[2];
	if (field->number == PROFILE_COMMENT)
		return read_comments(pprof, *field);
	if (field->kind == KIND_BYTES) {
		switch (field->number) {
		case PROFILE_SAMPLE_TYPE:
			return read_sample_type(pprof, field->bytes);
		case PROFILE_MAPPING:
			return read_mapping(pprof, field->bytes);
		case PROFILE_LOCATION:
			return read_location(pprof, field->bytes);
		case PROFILE_FUNCTION:
			return read_function(pprof, field->bytes);
		case PROFILE_STRING:
			return read_string(pprof, field->bytes);
		case PROFILE_PERIOD_TYPE:
			if (!read_numbers(field->bytes, numbers, 2))
				return false;
			pprof->period_type = numbers[0];
			return true;
		default:
			return true;
		}
	}
	if (field->kind != KIND_VARINT)
		return true;
	if (field->number == PROFILE_PERIOD) {
		pprof->has_period = true;
		pprof->period = field->value;
	} else if (field->number == PROFILE_TIME) {
		pprof->time_ns = field->value;
	} else if (field->number == PROFILE_DURATION) {
		pprof->duration_ns = field->value;
	}
	return true;
}

bool bp_pprof_read(struct bp_pprof *pprof, const void *data, size_t bytes, struct bp_error *error)
{
	struct field field;
	struct bp_bytes from = bp_bytes_of(data, bytes);
	pprof->bytes = from;
	while (next_field(&from, &field))
		if (!read_field(pprof, &field))
			return bp_error_set(error,
				"field %llu at byte %zu cannot be read: the file is damaged",
				(unsigned long long)field.number,
				(size_t)(from.at - pprof->bytes.at));
	if (from.failed)
		return bp_error_set(
			error, "ends in the middle of a field: the file is cut off or damaged");
	return true;
}

void bp_pprof_finish(struct bp_pprof *pprof)
{
	free(pprof->strings);
	free(pprof->mappings);
	free(pprof->functions);
	free(pprof->locations);
	bp_index_finish(&pprof->mapping_index);
	bp_index_finish(&pprof->function_index);
	bp_index_finish(&pprof->location_index);
	memset(pprof, 0, sizeof *pprof);
}

/* ---- buckets ---- */

static bool read_label(
	const struct bp_pprof *pprof, struct bp_bytes message, struct bp_pprof_sample *sample)
{
	uint64_t numbers[3]; /* key, text, number */
	if (!read_numbers(message, numbers, 3))
		return false;
	if (numbers[2] != 0 && bp_pprof_string_is(pprof, numbers[0], "bytes"))
		sample->size = (int64_t)numbers[2];
	return true;
}

static bool read_locations(struct field *field, struct bp_pprof_sample *sample)
{
	uint64_t id;
	while (next_number(field, &id)) {
		if (sample->depth == BP_PPROF_DEPTH_MAX) {
			sample->cut = true;
			break;
		}
		if (!bp_vec_reserve(&sample->locations, &sample->capacity,
			    (uint64_t)sample->depth + 1, sizeof *sample->locations))
			return false;
		sample->locations[sample->depth++] = id;
	}
	return !field->bytes.failed;
}

static bool read_values(struct field *field, struct bp_pprof_sample *sample)
{
	uint64_t value;
	while (next_number(field, &value)) {
		if (sample->value_count == BP_PPROF_VALUES)
			return false;
		sample->values[sample->value_count++] = (int64_t)value;
	}
	return !field->bytes.failed;
}

static bool read_sample(
	const struct bp_pprof *pprof, struct bp_bytes message, struct bp_pprof_sample *sample)
{
	enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
	struct field field;
	sample->depth = sample->value_count = 0;
	sample->size = 0;
	sample->cut = false;
	while (next_field(&message, &field)) {
		if (field.number == SAMPLE_LOCATION && !read_locations(&field, sample))
			return false;
		if (field.number == SAMPLE_VALUE && !read_values(&field, sample))
			return false;
		if (field.number == SAMPLE_LABEL && field.kind == KIND_BYTES &&
			!read_label(pprof, field.bytes, sample))
			return false;
	}
	return !message.failed && sample->value_count == pprof->type_count;
}

bool bp_pprof_next_sample(const struct bp_pprof *pprof, struct bp_bytes *position,
	struct bp_pprof_sample *sample, struct bp_error *error)
{
	struct field field;
	while (next_field(position, &field)) {
		if (field.number != PROFILE_SAMPLE || field.kind != KIND_BYTES)
			continue;
		return read_sample(pprof, field.bytes, sample) ||
		       bp_error_set(error,
			       "the sample that ends at byte %zu cannot be read: the file is "
			       "damaged",
			       (size_t)(position->at - pprof->bytes.at));
	}
	return false;
}

void bp_pprof_sample_finish(struct bp_pprof_sample *sample)
{
	free(sample->locations);
	memset(sample, 0, sizeof *sample);
}

/* ---- look-ups ---- */

struct bp_pprof_text bp_pprof_string(const struct bp_pprof *pprof, uint64_t string)
{
	return string < pprof->string_count ? pprof->strings[string]
					    : (struct bp_pprof_text){ "", 0 };
}

bool bp_pprof_string_is(const struct bp_pprof *pprof, uint64_t string, const char *text)
{
	const struct bp_pprof_text found = bp_pprof_string(pprof, string);
	return found.bytes == strlen(text) && memcmp(found.at, text, found.bytes) == 0;
}

const struct bp_pprof_mapping *bp_pprof_find_mapping(const struct bp_pprof *pprof, uint64_t id)
{
	const struct bp_index_keys keys = { pprof->mappings, sizeof *pprof->mappings };
	const uint32_t found = bp_index_find(&pprof->mapping_index, keys, id);
	return found == BP_INDEX_NONE ? NULL : &pprof->mappings[found];
}

const struct bp_pprof_function *bp_pprof_find_function(const struct bp_pprof *pprof, uint64_t id)
{
	const struct bp_index_keys keys = { pprof->functions, sizeof *pprof->functions };
	const uint32_t found = bp_index_find(&pprof->function_index, keys, id);
	return found == BP_INDEX_NONE ? NULL : &pprof->functions[found];
}

const struct bp_pprof_location *bp_pprof_find_location(const struct bp_pprof *pprof, uint64_t id)
{
	const struct bp_index_keys keys = { pprof->locations, sizeof *pprof->locations };
	const uint32_t found = bp_index_find(&pprof->location_index, keys, id);
	return found == BP_INDEX_NONE ? NULL : &pprof->locations[found];
}

bool bp_pprof_next_line(struct bp_bytes *position, struct bp_pprof_line *ret_line)
{
	enum { LOCATION_LINE = 4 };
	struct field field;
	uint64_t numbers[2];
	while (next_field(position, &field)) {
		if (field.number != LOCATION_LINE || field.kind != KIND_BYTES ||
			!read_numbers(field.bytes, numbers, 2))
			continue;
		*ret_line = (struct bp_pprof_line){ numbers[0], numbers[1] };
		return true;
	}
	return false;
}
