/* SPDX-License-Identifier: MIT */
/*
 * The file, text (docs/trace-format.md, section 6.2):
 *
 *	bytepoll pages 2
 *	trace_id=HEX <tab> pid=N <tab> time_ns=N
 *	looked START END		hexadecimal, a line for each run
 *	present START END
 *	heap START END ALONE		a part of glibc's heap; ALONE is 0 or 1
 *	COUNT LIVE CHUNKS		so many blocks of it: bytes that live; two digits for each page
 *	kept CLASS BYTES		what live chunks keep, by class of ratio
 *	touched CLASS BYTES
 *	end N				the number of lines from the third on
 *
 * Version 1 ends behind the runs. Whoever reads it believes nothing: not the number of lines, not
 * their order.
 */
#include "resident/pages/pages_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/side_file.h"

#define MAGIC "bytepoll pages 2\n"
#define MAGIC_FIRST "bytepoll pages 1\n"
/* 32,768 runs of 43 bytes are 1.4 MB, 262,144 blocks of at most 23 bytes 6 MB. */
#define FILE_BYTES_MAX (8u << 20)
#define BLOCK_PAGES BP_HEAP_BLOCK_PAGES
#define LINE_BYTES 256
#define ADDRESS_MAX (UINT64_C(1) << 62)

struct content {
	const struct bp_pages *pages;
	const uint8_t *trace_id;
};

static void write_runs(FILE *out, const char *word, const struct bp_page_runs *runs)
{
	for (uint32_t i = 0; i < runs->count; i++)
		fprintf(out, "%s %" PRIx64 " %" PRIx64 "\n", word, runs->items[i].start,
			runs->items[i].end);
}

/* Of one page "03"; of one that is not resident "--". */
static void put_page(uint8_t count, char to[2])
{
	static const char digits[] = "0123456789abcdef";
	to[0] = count == BP_HEAP_PAGE_ABSENT ? '-' : digits[count >> 4];
	to[1] = count == BP_HEAP_PAGE_ABSENT ? '-' : digits[count & 15];
}

static bool is_same_block(const struct bp_heap_pages *heap, uint32_t a, uint32_t b)
{
	return heap->live_bytes[a] == heap->live_bytes[b] &&
	       memcmp(heap->chunks + (size_t)a * BLOCK_PAGES,
		       heap->chunks + (size_t)b * BLOCK_PAGES, BLOCK_PAGES) == 0;
}

/* Blocks from `block` on that are the same. Returns the one behind them; adds to the lines. */
static uint32_t write_blocks(
	FILE *out, const struct bp_heap_pages *heap, uint32_t block, uint32_t end, uint32_t *lines)
{
	char pages[2 * BLOCK_PAGES + 1] = { 0 };
	uint32_t behind = block + 1;
	while (behind < end && is_same_block(heap, block, behind))
		behind++;
	for (uint32_t i = 0; i < BLOCK_PAGES; i++)
		put_page(heap->chunks[(size_t)block * BLOCK_PAGES + i], pages + 2 * i);
	fprintf(out, "%" PRIu32 " %" PRIu32 " %s\n", behind - block, heap->live_bytes[block],
		pages);
	(*lines)++;
	return behind;
}

static uint32_t write_classes(FILE *out, const char *word, const struct bp_ratio_classes *classes)
{
	uint32_t lines = 0;
	for (unsigned i = 0; i < BP_RATIO_CLASSES; i++)
		if (classes->bytes[i] != 0) {
			fprintf(out, "%s %u %" PRIu64 "\n", word, i, classes->bytes[i]);
			lines++;
		}
	return lines;
}

/* Returns the number of lines. */
static uint32_t write_heap(FILE *out, const struct bp_heap_pages *heap)
{
	uint32_t lines = heap->part_count;
	if (!heap->known)
		return 0;
	for (uint32_t i = 0; i < heap->part_count; i++) {
		const struct bp_heap_part *part = &heap->parts[i];
		const uint32_t end =
			i + 1 < heap->part_count ? part[1].first_block : heap->block_count;
		fprintf(out, "heap %" PRIx64 " %" PRIx64 " %d\n", part->start, part->end,
			part->alone);
		for (uint32_t block = part->first_block; block < end;)
			block = write_blocks(out, heap, block, end, &lines);
	}
	return lines + write_classes(out, "kept", &heap->kept) +
	       write_classes(out, "touched", &heap->touched);
}

static bool write_text(FILE *out, const void *pointer)
{
	const struct content *content = pointer;
	const struct bp_pages *pages = content->pages;
	bp_side_file_put_trace_id(out, content->trace_id);
	fprintf(out, "\tpid=%" PRIu32 "\ttime_ns=%" PRIu64 "\n", pages->pid, pages->time_ns);
	write_runs(out, "looked", &pages->looked);
	write_runs(out, "present", &pages->present);
	const uint32_t lines = write_heap(out, &pages->heap);
	fprintf(out, "end %" PRIu32 "\n", pages->looked.count + pages->present.count + lines);
	return true;
}

bool bp_pages_is_ours(const char *path)
{
	return bp_side_file_is(path, MAGIC) || bp_side_file_is(path, MAGIC_FIRST);
}

void bp_pages_remove(const char *path)
{
	bp_side_file_remove(path, MAGIC);
	bp_side_file_remove(path, MAGIC_FIRST);
}

bool bp_pages_write(const char *path, const struct bp_pages *pages, const uint8_t trace_id[16],
	struct bp_error *error)
{
	const struct content content = { pages, trace_id };
	/* One of the first version is ours, too. */
	bp_side_file_remove(path, MAGIC_FIRST);
	return bp_side_file_write(path, MAGIC, write_text, &content) ||
	       bp_error_set(error, "%s cannot be written, pages are not kept: %s", path,
		       strerror(errno));
}

/* How far the reading of a heap is. */
struct parsed {
	struct bp_pages *pages;
	uint32_t next_block; /* of the last part: what has no line yet */
};

static bool parse_run(const char *line, struct bp_pages *pages)
{
	struct bp_page_run run;
	char word[8], newline;
	if (sscanf(line, "%7s %" SCNx64 " %" SCNx64 "%c", word, &run.start, &run.end, &newline) !=
			4 ||
		newline != '\n' || run.start >= run.end || run.end > ADDRESS_MAX)
		return false;
	if (strcmp(word, "looked") == 0)
		return bp_page_runs_add(&pages->looked, run.start, run.end);
	return strcmp(word, "present") == 0 &&
	       bp_page_runs_add(&pages->present, run.start, run.end);
}

static bool parse_part(const char *line, struct parsed *parsed)
{
	struct bp_heap_pages *heap = &parsed->pages->heap;
	uint64_t start, end;
	unsigned alone;
	char newline;
	if (sscanf(line, "heap %" SCNx64 " %" SCNx64 " %1u%c", &start, &end, &alone, &newline) !=
			4 ||
		newline != '\n' || alone > 1 || end > ADDRESS_MAX ||
		parsed->next_block != heap->block_count ||
		!bp_heap_pages_add_part(heap, start, end, alone != 0))
		return false;
	heap->known = true;
	return true;
}

/* The value of two digits, BP_HEAP_PAGE_ABSENT of "--"; -1: they are none. */
static int page_value(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	if (text[0] == '-' && text[1] == '-')
		return BP_HEAP_PAGE_ABSENT;
	const char *high = text[0] != '\0' ? strchr(digits, text[0]) : NULL;
	const char *low = high != NULL && text[1] != '\0' ? strchr(digits, text[1]) : NULL;
	const int value = low != NULL ? (int)((high - digits) * 16 + (low - digits)) : -1;
	return value == BP_HEAP_PAGE_ABSENT ? -1 : value;
}

/* Blocks of the last part. Pages behind its end are absent. */
static bool parse_blocks(const char *line, struct parsed *parsed)
{
	struct bp_heap_pages *heap = &parsed->pages->heap;
	uint32_t count, live, present = 0;
	char text[2 * BLOCK_PAGES + 1], newline;
	uint8_t values[BLOCK_PAGES];
	if (*line < '0' || *line > '9' ||
		sscanf(line, "%" SCNu32 " %" SCNu32 " %8[-0-9a-f]%c", &count, &live, text,
			&newline) != 4 ||
		newline != '\n' || strlen(text) != 2 * BLOCK_PAGES || count == 0 ||
		count > heap->block_count - parsed->next_block)
		return false;
	for (uint32_t i = 0; i < BLOCK_PAGES; i++) {
		const int value = page_value(text + 2 * i);
		if (value < 0)
			return false;
		values[i] = (uint8_t)value;
		present += value != BP_HEAP_PAGE_ABSENT;
	}
	if (live > present * BP_HEAP_PAGE_BYTES)
		return false;
	for (; count > 0; count--, parsed->next_block++) {
		heap->live_bytes[parsed->next_block] = live;
		memcpy(heap->chunks + (size_t)parsed->next_block * BLOCK_PAGES, values,
			sizeof values);
	}
	return true;
}

static bool parse_class(const char *line, struct bp_heap_pages *heap)
{
	char word[8], newline;
	unsigned class;
	uint64_t bytes;
	if (sscanf(line, "%7s %3u %" SCNu64 "%c", word, &class, &bytes, &newline) != 4 ||
		newline != '\n' || class >= BP_RATIO_CLASSES || bytes > ADDRESS_MAX)
		return false;
	struct bp_ratio_classes *classes = *word == 'k' ? &heap->kept : &heap->touched;
	classes->bytes[class] = bytes;
	return strcmp(word, "kept") == 0 || strcmp(word, "touched") == 0;
}

static bool parse_line(const char *line, bool first_version, struct parsed *parsed)
{
	if (*line == 'l' || *line == 'p')
		return parse_run(line, parsed->pages);
	if (first_version)
		return false;
	if (*line == 'h')
		return parse_part(line, parsed);
	if (*line == 'k' || *line == 't')
		return parse_class(line, &parsed->pages->heap);
	return parse_blocks(line, parsed);
}

static bool parse(FILE *in, uint8_t ret_trace_id[16], struct bp_pages *pages)
{
	struct parsed parsed = { .pages = pages };
	char line[LINE_BYTES];
	const char *at = line;
	uint64_t pid;
	unsigned count, lines = 0;
	if (fgets(line, sizeof line, in) == NULL)
		return false;
	const bool first_version = strcmp(line, MAGIC_FIRST) == 0;
	if ((!first_version && strcmp(line, MAGIC) != 0) || fgets(line, sizeof line, in) == NULL ||
		!bp_side_file_trace_id(&at, ret_trace_id) ||
		!bp_side_file_number(&at, "pid", &pid) ||
		!bp_side_file_number(&at, "time_ns", &pages->time_ns) || pid == 0 ||
		pid > INT32_MAX)
		return false;
	pages->pid = (uint32_t)pid;
	while (fgets(line, sizeof line, in) != NULL) {
		if (sscanf(line, "end %u", &count) == 1)
			return count == lines && fgetc(in) == EOF &&
			       parsed.next_block == pages->heap.block_count;
		if (!parse_line(line, first_version, &parsed))
			return false;
		lines++;
	}
	return false;
}

bool bp_pages_read(const char *file, const struct bp_profile *profile, struct bp_pages *ret_pages,
	struct bp_error *error)
{
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	struct bp_pages pages = { 0 };
	uint8_t trace_id[16];
	char path[4096];
	*ret_pages = pages;
	snprintf(path, sizeof path, "%s" BP_PAGES_SUFFIX, file);
	if (access(path, F_OK) != 0)
		return true;
	FILE *in = bp_side_file_open(path, FILE_BYTES_MAX);
	const bool good = in != NULL && parse(in, trace_id, &pages);
	if (in != NULL)
		fclose(in);
	if (good && memcmp(trace_id, root->trace_id, sizeof trace_id) == 0 &&
		root->pid == pages.pid) {
		*ret_pages = pages;
		return true;
	}
	bp_pages_finish(&pages);
	return bp_error_set(error,
		good ? "%s is of another run: remove it" : "%s is torn or damaged: remove it",
		path);
}
