/* SPDX-License-Identifier: MIT */
/*
 * What rows are by, as it is written; and rows by label, which have a name of their own in that: a
 * key that only the program knows ("label:tenant"). Labels are few, samples many: a value is looked
 * up once for each set of labels. See aggregate.h and selection.h.
 */
#include <string.h>

#include "query/query.h"
#include "query/selection.h"

bool bp_label_key_is_good(const char *key, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (key[i] < ' ' || key[i] > '~' || strchr("\"\\=", key[i]) != NULL)
			return false;
	return bytes >= 1 && bytes <= 100;
}

bool bp_query_set_by(struct bp_query *query, const char *text, struct bp_error *error)
{
	const size_t prefix = strlen(BP_LABEL_PREFIX);
	const int index = bp_word_index(bp_key_names, BP_KEY_COUNT, text);
	const bool one_label = strncmp(text, BP_LABEL_PREFIX, prefix) == 0;
	if (index < 0 && !one_label)
		return bp_error_set(error, "--by %.200s: no such key", text);
	if (one_label && !bp_label_key_is_good(text + prefix, strlen(text + prefix)))
		return bp_error_set(error,
			"--by %.200s: write label:KEY, a key of 1 to 100 letters, digits and signs",
			text);
	query->by = one_label ? BP_KEY_LABEL : (enum bp_key)index;
	query->label = one_label ? text : NULL;
	return true;
}

bool bp_query_set_by_origin(struct bp_query *query, const char *text)
{
	static const char *const words[] = { "service", "release", "host" };
	const size_t prefix = strlen(BP_TAG_PREFIX);
	const bool tag = strncmp(text, BP_TAG_PREFIX, prefix) == 0 &&
			 bp_label_key_is_good(text + prefix, strlen(text + prefix));
	if (!tag && bp_word_index(words, 3, text) < 0)
		return false;
	query->by = BP_KEY_ORIGIN;
	query->label = text;
	return true;
}

/* The value of the label `key`, of `key_bytes` bytes, in a set. False: it has no such label. */
static bool label_of_key(const struct bp_profile *profile, const char *key, size_t key_bytes,
	struct bp_labels_id labels, struct bp_string_id *ret_value)
{
	const struct bp_labels *set = &profile->labels.data[labels.i];
	for (uint32_t i = 0; i < set->count; i++) {
		const struct bp_label *pair = &profile->label_pairs.data[set->first + i];
		const char *text = bp_profile_text(profile, pair->key);
		if (strncmp(text, key, key_bytes) == 0 && text[key_bytes] == '\0') {
			*ret_value = pair->value;
			return true;
		}
	}
	return false;
}

bool bp_label_value(const struct bp_profile *profile, const char *label, struct bp_labels_id labels,
	struct bp_string_id *ret_value)
{
	if (label != NULL) {
		const char *key = label + strlen(BP_LABEL_PREFIX);
		return label_of_key(profile, key, strlen(key), labels, ret_value);
	}
	*ret_value = profile->labels.data[labels.i].text;
	return labels.i != 0;
}

const char *bp_label_name(const struct bp_profile *profile, const char *label, bool has_label,
	struct bp_string_id value, char *buffer, size_t bytes)
{
	const char *text = bp_profile_text(profile, value);
	size_t used = 0;
	if (!has_label)
		return label == NULL ? "(no label)" : "(no such label)";
	if (*text == '\0')
		return "(empty)";
	if (label != NULL)
		return text;
	/* A set: its lines one behind the other. */
	for (; *text != '\0' && used + 3 < bytes; text++) {
		if (*text == '\n')
			buffer[used++] = ',';
		buffer[used++] = *text == '\n' ? ' ' : *text;
	}
	buffer[used] = '\0';
	return buffer;
}
