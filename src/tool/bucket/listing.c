/* SPDX-License-Identifier: MIT */
/*
 * See listing.h. One pass with a cursor; of the elements that are open only the names are kept.
 * The text of an element is taken when the element closes and has no other in it.
 */
#include "bucket/listing.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8
#define NAME_BYTES 64

struct reader {
	const char *at, *end;
	char names[DEPTH_MAX][NAME_BYTES]; /* of the open elements */
	int depth;
	bool root_seen;
	char text[BP_LISTING_TEXT_BYTES]; /* of the innermost one */
	size_t text_bytes;
	/* Of the object that is being read: */
	char key[BP_LISTING_TEXT_BYTES], etag[BP_LISTING_TEXT_BYTES];
	uint64_t bytes;
	bool has_key, has_bytes;
};

static bool wrong(struct bp_error *error)
{
	return bp_error_set(error, "the server's answer is no list of objects");
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == ':';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool read_name(struct reader *reader, char ret_name[NAME_BYTES])
{
	size_t bytes = 0;
	while (reader->at < reader->end && is_name(*reader->at)) {
		if (bytes + 1 == NAME_BYTES)
			return false;
		ret_name[bytes++] = *reader->at++;
	}
	ret_name[bytes] = '\0';
	return bytes > 0;
}

/* To the `>` of a tag, over attributes, whose values may have a `>`. `ret_empty`: it ends in `/>`.
 */
static bool skip_attributes(struct reader *reader, bool *ret_empty)
{
	char quote = '\0';
	*ret_empty = false;
	for (; reader->at < reader->end; reader->at++) {
		const char c = *reader->at;
		if (quote != '\0') {
			if (c == quote)
				quote = '\0';
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '<') {
			return false;
		} else if (c == '>') {
			*ret_empty = reader->at[-1] == '/';
			reader->at++;
			return true;
		}
	}
	return false;
}

static bool add(struct reader *reader, char c)
{
	if (reader->text_bytes + 1 >= sizeof reader->text || c == '\0')
		return false;
	reader->text[reader->text_bytes++] = c;
	return true;
}

/* A reference to a character of ASCII, or one of the five entities that XML itself has. */
static bool read_reference(struct reader *reader)
{
	static const struct {
		const char *name;
		char character;
	} entities[] = { { "amp;", '&' }, { "lt;", '<' }, { "gt;", '>' }, { "quot;", '"' },
		{ "apos;", '\'' } };
	const char *at = ++reader->at;
	const size_t left = (size_t)(reader->end - at);
	for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
		const size_t bytes = strlen(entities[i].name);
		if (left < bytes || memcmp(at, entities[i].name, bytes) != 0)
			continue;
		reader->at += bytes;
		return add(reader, entities[i].character);
	}
	if (left < 3 || *at++ != '#')
		return false;
	const bool hexadecimal = *at == 'x';
	at += hexadecimal;
	unsigned value = 0, digits = 0;
	for (; at < reader->end && *at != ';'; at++, digits++) {
		static const char all[] = "0123456789abcdef";
		const char lower = *at >= 'A' && *at <= 'F' ? (char)(*at + 'a' - 'A') : *at;
		const char *found = lower == '\0' ? NULL : strchr(all, lower);
		if (found == NULL || digits == 6 || (!hexadecimal && found - all > 9))
			return false;
		value = value * (hexadecimal ? 16u : 10u) + (unsigned)(found - all);
	}
	if (at == reader->end || digits == 0 || value > 0x7f)
		return false;
	reader->at = at + 1;
	return add(reader, (char)value);
}

static int hexadecimal_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* %2F and the like, in place. A plus sign is itself: MinIO writes a space as one, and names of ours
 * have neither. */
static bool decode(char *text)
{
	char *to = text;
	for (const char *at = text; *at != '\0'; at++) {
		if (*at != '%') {
			*to++ = *at;
			continue;
		}
		const int high = hexadecimal_digit(at[1]);
		const int low = high < 0 ? -1 : hexadecimal_digit(at[2]);
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*to++ = (char)(high << 4 | low);
		at += 2;
	}
	*to = '\0';
	return true;
}

static bool read_number(const char *text, uint64_t *ret_number)
{
	uint64_t number = 0;
	if (*text == '\0' || strlen(text) > 18)
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		number = number * 10 + (uint64_t)(*text - '0');
	}
	*ret_number = number;
	return true;
}

static bool is_open(const struct reader *reader, int depth, const char *name)
{
	return reader->depth == depth && strcmp(reader->names[depth - 1], name) == 0;
}

/* An element closes, with its text. */
static bool close_element(struct reader *reader, struct bp_listing *listing,
	bool (*take)(void *context, const struct bp_listed_object *object, struct bp_error *error),
	void *context, struct bp_error *error)
{
	reader->text[reader->text_bytes] = '\0';
	const bool in_object = reader->depth == 3 && strcmp(reader->names[1], "Contents") == 0;
	if (in_object && is_open(reader, 3, "Key")) {
		memcpy(reader->key, reader->text, reader->text_bytes + 1);
		reader->has_key = decode(reader->key);
		if (!reader->has_key)
			return wrong(error);
	} else if (in_object && is_open(reader, 3, "ETag")) {
		memcpy(reader->etag, reader->text, reader->text_bytes + 1);
	} else if (in_object && is_open(reader, 3, "Size")) {
		reader->has_bytes = read_number(reader->text, &reader->bytes);
		if (!reader->has_bytes)
			return wrong(error);
	} else if (is_open(reader, 2, "IsTruncated")) {
		listing->more = strcmp(reader->text, "true") == 0;
	} else if (is_open(reader, 2, "NextContinuationToken")) {
		memcpy(listing->token, reader->text, reader->text_bytes + 1);
	} else if (is_open(reader, 2, "Contents")) {
		const struct bp_listed_object object = {
			.key = reader->key, .etag = reader->etag, .bytes = reader->bytes
		};
		if (!reader->has_key || !reader->has_bytes)
			return wrong(error);
		if (!take(context, &object, error))
			return false;
	}
	reader->depth--;
	reader->text_bytes = 0;
	return true;
}

static bool open_element(struct reader *reader, bool *ret_empty)
{
	char name[NAME_BYTES];
	if (!read_name(reader, name) || !skip_attributes(reader, ret_empty) ||
		reader->depth == DEPTH_MAX)
		return false;
	if (reader->depth == 0 && (reader->root_seen || strcmp(name, "ListBucketResult") != 0))
		return false;
	reader->root_seen = true;
	strcpy(reader->names[reader->depth++], name);
	reader->text_bytes = 0;
	if (is_open(reader, 2, "Contents")) {
		reader->has_key = reader->has_bytes = false;
		reader->etag[0] = '\0';
	}
	return true;
}

static bool end_tag_matches(struct reader *reader)
{
	char name[NAME_BYTES];
	reader->at++; /* the slash */
	if (!read_name(reader, name) || reader->depth == 0 ||
		strcmp(name, reader->names[reader->depth - 1]) != 0)
		return false;
	while (reader->at < reader->end && is_space(*reader->at))
		reader->at++;
	return reader->at < reader->end && *reader->at++ == '>';
}

/* `<?xml ... ?>`, at the very beginning. */
static bool skip_declaration(struct reader *reader)
{
	static const char mark[] = "<?xml ";
	const size_t left = (size_t)(reader->end - reader->at);
	if (left < sizeof mark - 1 || memcmp(reader->at, mark, sizeof mark - 1) != 0)
		return true;
	const char *end = memmem(reader->at, left, "?>", 2);
	if (end == NULL)
		return false;
	reader->at = end + 2;
	return true;
}

bool bp_listing_read(const char *xml, size_t bytes,
	bool (*take)(void *context, const struct bp_listed_object *object, struct bp_error *error),
	void *context, struct bp_listing *ret_listing, struct bp_error *error)
{
	struct reader reader = { .at = xml, .end = xml + bytes };
	struct bp_listing listing = { .more = false };
	if (!skip_declaration(&reader))
		return wrong(error);
	while (reader.at < reader.end) {
		bool empty = false, closes = false;
		if (*reader.at == '&') {
			if (reader.depth == 0 || !read_reference(&reader))
				return wrong(error);
			continue;
		}
		if (*reader.at != '<') {
			const char c = *reader.at++;
			if (reader.depth == 0 ? !is_space(c) : !add(&reader, c))
				return wrong(error);
			continue;
		}
		reader.at++;
		closes = reader.at < reader.end && *reader.at == '/';
		if (closes ? !end_tag_matches(&reader) : !open_element(&reader, &empty))
			return wrong(error);
		if ((closes || empty) && !close_element(&reader, &listing, take, context, error))
			return false;
	}
	if (!reader.root_seen || reader.depth != 0 || (listing.more && listing.token[0] == '\0'))
		return wrong(error);
	*ret_listing = listing;
	return true;
}

void bp_listing_error_code(const char *xml, size_t bytes, char *ret_code, size_t code_bytes)
{
	static const char mark[] = "<Code>";
	const char *at = bytes == 0 ? NULL : memmem(xml, bytes, mark, sizeof mark - 1);
	size_t length = 0;
	if (at != NULL)
		for (at += sizeof mark - 1; at < xml + bytes && length + 1 < code_bytes; at++) {
			if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')))
				break;
			ret_code[length++] = *at;
		}
	ret_code[length] = '\0';
}
