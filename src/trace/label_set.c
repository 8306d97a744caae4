/* SPDX-License-Identifier: MIT */
/* See label_set.h. */
#include "trace/label_set.h"

/* Bytes up to the end, or to `most` + 1. */
static size_t length_of(const char *text, size_t most)
{
	size_t length = 0;
	while (length <= most && text[length] != '\0')
		length++;
	return length;
}

static bool holds(const char *text, size_t bytes, char wanted)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] == wanted)
			return true;
	return false;
}

/* Bytes of the pair that begins at `text`, its newline not included. */
static size_t pair_bytes(const char *text, size_t bytes)
{
	size_t length = 0;
	while (length < bytes && text[length] != '\n')
		length++;
	return length;
}

/* How the key of a pair sorts against `key`: as bytes, the shorter first. */
static int compare_key(const char *pair, size_t bytes, const char *key, size_t key_bytes)
{
	size_t length = 0;
	while (length < bytes && pair[length] != '=')
		length++;
	const int order = __builtin_memcmp(pair, key, length < key_bytes ? length : key_bytes);
	return order != 0 ? order : (length > key_bytes) - (length < key_bytes);
}

/* A set being made. */
struct builder {
	char *to;
	size_t bytes;
	bool full;
};

static void put(struct builder *builder, const char *text, size_t bytes)
{
	if (bytes > BP_LABELS_BYTES - builder->bytes) {
		builder->full = true;
		return;
	}
	__builtin_memcpy(builder->to + builder->bytes, text, bytes);
	builder->bytes += bytes;
}

static void begin_pair(struct builder *builder)
{
	if (builder->bytes != 0)
		put(builder, "\n", 1);
}

static void put_pair(struct builder *builder, const char *key, size_t key_bytes, const char *value,
	size_t value_bytes)
{
	begin_pair(builder);
	put(builder, key, key_bytes);
	put(builder, "=", 1);
	put(builder, value, value_bytes);
}

bool bp_label_set_with(const char *text, size_t bytes, const char *key, const char *value, char *to,
	size_t *ret_bytes)
{
	struct builder builder = { .to = to };
	const size_t key_bytes = length_of(key, BP_LABEL_KEY_BYTES);
	const size_t value_bytes = value == NULL ? 0 : length_of(value, BP_LABEL_VALUE_BYTES);
	bool due = value != NULL; /* the new pair is still to be put */
	if (key_bytes == 0 || key_bytes > BP_LABEL_KEY_BYTES || holds(key, key_bytes, '=') ||
		holds(key, key_bytes, '\n') || value_bytes > BP_LABEL_VALUE_BYTES ||
		(value != NULL && holds(value, value_bytes, '\n')))
		return false;
	for (size_t at = 0; at < bytes;) {
		const size_t length = pair_bytes(text + at, bytes - at);
		const int order = compare_key(text + at, length, key, key_bytes);
		if (due && order >= 0) {
			put_pair(&builder, key, key_bytes, value, value_bytes);
			due = false;
		}
		if (order != 0) {
			begin_pair(&builder);
			put(&builder, text + at, length);
		}
		at += length + 1;
	}
	if (due)
		put_pair(&builder, key, key_bytes, value, value_bytes);
	if (builder.full)
		return false;
	*ret_bytes = builder.bytes;
	return true;
}
