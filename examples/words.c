// SPDX-License-Identifier: MIT
/*
 * An index of words: on which lines of some files does each word stand? `make demo` profiles it.
 *
 *   words FILE...
 *
 * Files are read whole and cut into lines and words. A word is kept once, in a table of hashes,
 * with the lines where it stands and, on the way there, with the words that follow it. In the end
 * the most frequent word is looked up. Nothing is freed that is still needed, and the index is
 * needed to the end.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
	uint32_t file, line;
};

struct word {
	struct word *next; /* of the same bucket */
	char *text;
	struct place *places;
	size_t places_count, places_room;
	struct pair *pairs;
};

/* Two words, one behind the other. */
struct pair {
	struct pair *next; /* of the same first word */
	const struct word *second;
	size_t count;
};

static struct word **buckets;
static size_t buckets_count, words_count, pairs_count;

static void *checked(void *memory)
{
	if (memory == NULL) {
		fputs("words: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}

static void grow_table(void)
{
	const size_t count = buckets_count == 0 ? 1024 : 2 * buckets_count;
	struct word **grown = checked(calloc(count, sizeof *grown));
	for (size_t i = 0; i < buckets_count; i++) {
		while (buckets[i] != NULL) {
			struct word *word = buckets[i];
			struct word **bucket = &grown[hash_text(word->text) % count];
			buckets[i] = word->next;
			word->next = *bucket;
			*bucket = word;
		}
	}
	free(buckets);
	buckets = grown;
	buckets_count = count;
}

static struct word *new_word(const char *text)
{
	struct word *word = checked(calloc(1, sizeof *word));
	word->text = checked(strdup(text));
	words_count++;
	return word;
}

static struct word *find_word(const char *text)
{
	if (words_count >= buckets_count)
		grow_table();
	struct word **bucket = &buckets[hash_text(text) % buckets_count];
	for (struct word *word = *bucket; word != NULL; word = word->next)
		if (strcmp(word->text, text) == 0)
			return word;
	struct word *word = new_word(text);
	word->next = *bucket;
	*bucket = word;
	return word;
}

static void add_place(struct word *word, uint32_t file, uint32_t line)
{
	if (word->places_count == word->places_room) {
		word->places_room = word->places_room == 0 ? 4 : 2 * word->places_room;
		word->places =
			checked(realloc(word->places, word->places_room * sizeof *word->places));
	}
	word->places[word->places_count++] = (struct place){ file, line };
}

static void count_pair(struct word *first, const struct word *second)
{
	struct pair **link = &first->pairs;
	while (*link != NULL && (*link)->second != second)
		link = &(*link)->next;
	struct pair *pair = *link;
	if (pair == NULL) {
		pair = checked(calloc(1, sizeof *pair));
		pair->second = second;
		pairs_count++;
	} else {
		*link = pair->next;
	}
	pair->count++;
	pair->next = first->pairs; /* what was asked for last stands first */
	first->pairs = pair;
}

static char *copy_lower_case(const char *text, size_t bytes)
{
	char *copy = checked(malloc(bytes + 1));
	for (size_t i = 0; i < bytes; i++)
		copy[i] = (char)tolower((unsigned char)text[i]);
	copy[bytes] = '\0';
	return copy;
}

static void index_line(const char *line, uint32_t file, uint32_t number)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	char *copy = copy_lower_case(line, strcspn(line, "\n"));
	struct word *before = NULL;
	for (char *text = copy + strcspn(copy, letters); *text != '\0';
		text += strcspn(text, letters)) {
		char *end = text + strspn(text, letters);
		const char kept = *end;
		*end = '\0';
		struct word *word = find_word(text);
		add_place(word, file, number);
		if (before != NULL)
			count_pair(before, word);
		before = word;
		*end = kept;
		text = end;
	}
	free(copy);
}

/* The whole file, with a null behind it; NULL if it cannot be read. */
static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	if (file == NULL)
		return NULL;
	char *text = NULL;
	size_t bytes = 0, read;
	do {
		text = checked(realloc(text, bytes + 65536 + 1));
		read = fread(text + bytes, 1, 65536, file);
		bytes += read;
	} while (read > 0);
	fclose(file);
	text[bytes] = '\0';
	return text;
}

static int index_file(const char *path, uint32_t file)
{
	char *text = read_text(path);
	if (text == NULL) {
		perror(path);
		return 1;
	}
	uint32_t number = 1;
	for (const char *line = text; *line != '\0'; number++) {
		index_line(line, file, number);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	free(text);
	return 0;
}

static const struct word *most_frequent(void)
{
	const struct word *most = NULL;
	for (size_t i = 0; i < buckets_count; i++)
		for (const struct word *word = buckets[i]; word != NULL; word = word->next)
			if (most == NULL || word->places_count > most->places_count)
				most = word;
	return most;
}

int main(int count, char **arguments)
{
	int status = 0;
	for (int i = 1; i < count; i++)
		status |= index_file(arguments[i], (uint32_t)i);
	const struct word *most = most_frequent();
	if (most != NULL)
		printf("%d files, %zu words, %zu pairs of words; most often, %zu times: %s\n",
			count - 1, words_count, pairs_count, most->places_count, most->text);
	return status;
}
