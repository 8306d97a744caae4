/* SPDX-License-Identifier: MIT */
/*
 * Types known by their names and sets of labels: two tables of a profile whose entries are few and
 * found by a string. See profile.h.
 */
#include <string.h>

#include "base/vec.h"
#include "model/profile.h"

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory");
}

static uint32_t hash_of(struct bp_string_id string)
{
	return bp_hash_fold(bp_hash_word(9, string.i));
}

bool bp_profile_add_named_type(struct bp_profile *profile, const char *name, size_t bytes,
	struct bp_type_id *ret_type, struct bp_error *error)
{
	struct bp_id_index *index = &profile->types_by_name;
	struct bp_type type = { .id = 0 };
	if (!bp_profile_string(profile, name, bytes, &type.name, error))
		return false;
	const uint32_t hash = hash_of(type.name);
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(index, hash, &position)) != 0)
		if (profile->types.data[id].name.i == type.name.i) {
			ret_type->i = id;
			return true;
		}
	if (!bp_id_index_reserve(index))
		return no_memory(error);
	if (!bp_profile_add_type(profile, &type, ret_type, error))
		return false;
	bp_id_index_add(index, hash, ret_type->i);
	return true;
}

/* Appends the pairs of a text to the table. */
static bool add_pairs(
	struct bp_profile *profile, const char *text, size_t bytes, struct bp_error *error)
{
	const char *const end = text + bytes;
	for (const char *at = text; at < end;) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		if (line_end == NULL)
			line_end = end;
		const char *equals = memchr(at, '=', (size_t)(line_end - at));
		const char *key_end = equals == NULL ? line_end : equals;
		const char *value = equals == NULL ? line_end : equals + 1;
		struct bp_label label;
		if (line_end > at) {
			if (!bp_profile_string(
				    profile, at, (size_t)(key_end - at), &label.key, error) ||
				!bp_profile_string(profile, value, (size_t)(line_end - value),
					&label.value, error))
				return false;
			if (!bp_vec_reserve(&profile->label_pairs.data,
				    &profile->label_pairs.capacity,
				    (uint64_t)profile->label_pairs.count + 1, sizeof label))
				return no_memory(error);
			profile->label_pairs.data[profile->label_pairs.count++] = label;
		}
		at = line_end + 1;
	}
	return true;
}

bool bp_profile_add_labels(struct bp_profile *profile, const char *text, size_t bytes,
	struct bp_labels_id *ret_labels, struct bp_error *error)
{
	struct bp_id_index *index = &profile->labels_by_text;
	struct bp_labels labels = { .first = profile->label_pairs.count };
	bytes = strnlen(text, bytes);
	if (!bp_profile_string(profile, text, bytes, &labels.text, error))
		return false;
	if (labels.text.i == 0) {
		ret_labels->i = 0;
		return true;
	}
	const uint32_t hash = hash_of(labels.text);
	uint32_t position = hash, id;
	while ((id = bp_id_index_next(index, hash, &position)) != 0)
		if (profile->labels.data[id].text.i == labels.text.i) {
			ret_labels->i = id;
			return true;
		}
	if (!bp_id_index_reserve(index) ||
		!bp_vec_reserve(&profile->labels.data, &profile->labels.capacity,
			(uint64_t)profile->labels.count + 1, sizeof labels))
		return no_memory(error);
	if (!add_pairs(profile, text, bytes, error))
		return false;
	labels.count = profile->label_pairs.count - labels.first;
	ret_labels->i = profile->labels.count++;
	profile->labels.data[ret_labels->i] = labels;
	bp_id_index_add(index, hash, ret_labels->i);
	return true;
}
