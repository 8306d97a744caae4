/* SPDX-License-Identifier: MIT */
/*
 * The file, UTF-8 text (docs/trace-format.md, section 6.1):
 *
 *	bytepoll mappings 1
 *	trace_id=HEX <tab> pid=N
 *	cut <tab> time_ns=N <tab> page_tables=N <tab> threads=N <tab> groups=N
 *	heap <tab> known=N <tab> cached_known=N <tab> areas=N ... <tab> tries=N
 *	KIND <tab> count=N <tab> size=N <tab> resident=N <tab> swapped=N <tab> NAME
 *	... a line for each group; then the second cut in the same way ...
 *	end
 *
 * Whoever reads it believes nothing: not the number of lines, not the numbers.
 */
#include "resident/mappings_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "trace/side_file.h"

#define MAGIC "bytepoll mappings 1\n"
#define FILE_BYTES_MAX (1u << 20) /* 512 lines of 400 bytes are a fifth of it */
#define LINE_BYTES 1024
/* Sums of so many groups do not overflow. */
#define NUMBER_MAX (UINT64_C(1) << 52)

struct content {
	const struct bp_mappings *mappings;
	const uint8_t *trace_id;
};

/* The fields of the line "heap", in order. */
struct heap_field {
	const char *name;
	size_t offset;
};
#define HEAP_FIELD(field)                                    \
	{                                                    \
#field, offsetof(struct bp_heap_walk, field) \
	}
static const struct heap_field heap_fields[] = { HEAP_FIELD(areas), HEAP_FIELD(area_bytes),
	HEAP_FIELD(used_bytes), HEAP_FIELD(used_chunks), HEAP_FIELD(free_bytes),
	HEAP_FIELD(free_chunks), HEAP_FIELD(cached_bytes), HEAP_FIELD(cached_chunks),
	HEAP_FIELD(top_bytes), HEAP_FIELD(other_bytes), HEAP_FIELD(tries),
	HEAP_FIELD(trimmable_bytes) };

static void write_cut(FILE *out, const struct bp_mapping_cut *cut)
{
	fprintf(out,
		"cut\ttime_ns=%" PRIu64 "\tpage_tables=%" PRIu64 "\tthreads=%" PRIu64
		"\tgroups=%" PRIu32 "\nheap\tknown=%d\tcached_known=%d",
		cut->time_ns, cut->page_table_bytes, cut->threads, cut->group_count,
		cut->heap.known, cut->heap.cached_known);
	for (size_t i = 0; i < BP_COUNT(heap_fields); i++) {
		uint64_t number;
		memcpy(&number, (const char *)&cut->heap + heap_fields[i].offset, sizeof number);
		fprintf(out, "\t%s=%" PRIu64, heap_fields[i].name, number);
	}
	putc('\n', out);
	for (uint32_t i = 0; i < cut->group_count; i++) {
		const struct bp_mapping_group *group = &cut->groups[i];
		fprintf(out,
			"%s\tcount=%" PRIu64 "\tsize=%" PRIu64 "\tresident=%" PRIu64
			"\tswapped=%" PRIu64 "\t",
			bp_mapping_kind_words[group->kind], group->count, group->size_bytes,
			group->resident_bytes, group->swapped_bytes);
		for (const char *at = group->name; *at != '\0'; at++)
			putc((unsigned char)*at < ' ' ? '?' : *at, out);
		putc('\n', out);
	}
}

static bool write_text(FILE *out, const void *pointer)
{
	const struct content *content = pointer;
	bp_side_file_put_trace_id(out, content->trace_id);
	fprintf(out, "\tpid=%" PRIu32 "\n", content->mappings->pid);
	for (int i = 0; i < BP_MAPPINGS_MOMENTS; i++)
		write_cut(out, &content->mappings->cuts[i]);
	fputs("end\n", out);
	return true;
}

bool bp_mappings_is_ours(const char *path)
{
	return bp_side_file_is(path, MAGIC);
}

void bp_mappings_remove(const char *path)
{
	bp_side_file_remove(path, MAGIC);
}

bool bp_mappings_write(const char *path, const struct bp_mappings *mappings,
	const uint8_t trace_id[16], struct bp_error *error)
{
	const struct content content = { mappings, trace_id };
	return bp_side_file_write(path, MAGIC, write_text, &content) ||
	       bp_error_set(error, "%s cannot be written, mappings are not kept: %s", path,
		       strerror(errno));
}

/* A line without its end. False: there is none, or it is too long. */
static bool next_line(FILE *in, char line[LINE_BYTES])
{
	if (fgets(line, LINE_BYTES, in) == NULL)
		return false;
	const size_t bytes = strlen(line);
	if (bytes == 0 || line[bytes - 1] != '\n')
		return false;
	line[bytes - 1] = '\0';
	return true;
}

static bool number(const char **at, const char *name, uint64_t *ret_number)
{
	return bp_side_file_number(at, name, ret_number) && *ret_number <= NUMBER_MAX;
}

static bool parse_heap(const char *line, struct bp_heap_walk *heap)
{
	uint64_t known, cached;
	if (strncmp(line, "heap", 4) != 0)
		return false;
	line += 4;
	if (!number(&line, "known", &known) || !number(&line, "cached_known", &cached) ||
		known > 1 || cached > 1)
		return false;
	heap->known = known;
	heap->cached_known = cached;
	for (size_t i = 0; i < BP_COUNT(heap_fields); i++) {
		uint64_t value;
		if (!number(&line, heap_fields[i].name, &value))
			return false;
		memcpy((char *)heap + heap_fields[i].offset, &value, sizeof value);
	}
	/* Fields may come to stand behind these. */
	return *line == '\0' || *line == '\t';
}

static bool parse_group(const char *line, struct bp_mapping_cut *cut)
{
	struct bp_mapping_group amount = { 0 };
	unsigned kind = 0;
	size_t length;
	for (; kind < BP_MAPPING_KIND_COUNT; kind++) {
		length = strlen(bp_mapping_kind_words[kind]);
		if (strncmp(line, bp_mapping_kind_words[kind], length) == 0 && line[length] == '\t')
			break;
	}
	if (kind == BP_MAPPING_KIND_COUNT)
		return false;
	line += length;
	return number(&line, "count", &amount.count) && number(&line, "size", &amount.size_bytes) &&
	       number(&line, "resident", &amount.resident_bytes) &&
	       number(&line, "swapped", &amount.swapped_bytes) && *line == '\t' &&
	       strlen(line + 1) <= BP_MAPPING_NAME_MAX &&
	       bp_mapping_cut_add(cut, (enum bp_mapping_kind)kind, line + 1, &amount);
}

static bool parse_cut(FILE *in, struct bp_mapping_cut *cut)
{
	char line[LINE_BYTES];
	const char *at = line + 3;
	uint64_t groups;
	if (!next_line(in, line) || strncmp(line, "cut", 3) != 0)
		return false;
	if (!bp_side_file_number(&at, "time_ns", &cut->time_ns) ||
		!number(&at, "page_tables", &cut->page_table_bytes) ||
		!number(&at, "threads", &cut->threads) || !number(&at, "groups", &groups) ||
		groups > BP_MAPPING_GROUPS_MAX || !next_line(in, line) ||
		!parse_heap(line, &cut->heap))
		return false;
	for (uint64_t i = 0; i < groups; i++)
		if (!next_line(in, line) || !parse_group(line, cut))
			return false;
	return true;
}

static bool parse(FILE *in, uint8_t ret_trace_id[16], struct bp_mappings *mappings)
{
	char line[LINE_BYTES];
	const char *at = line;
	uint64_t pid;
	if (fgets(line, sizeof line, in) == NULL || strcmp(line, MAGIC) != 0 ||
		!next_line(in, line) || !bp_side_file_trace_id(&at, ret_trace_id) ||
		!number(&at, "pid", &pid) || pid == 0 || pid > INT32_MAX)
		return false;
	mappings->pid = (uint32_t)pid;
	for (int i = 0; i < BP_MAPPINGS_MOMENTS; i++)
		if (!parse_cut(in, &mappings->cuts[i]))
			return false;
	mappings->count = BP_MAPPINGS_MOMENTS;
	return next_line(in, line) && strcmp(line, "end") == 0;
}

bool bp_mappings_read(const char *file, const struct bp_profile *profile,
	struct bp_mappings *ret_mappings, struct bp_error *error)
{
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	struct bp_mappings mappings = { 0 };
	uint8_t trace_id[16];
	char path[4096];
	*ret_mappings = (struct bp_mappings){ 0 };
	snprintf(path, sizeof path, "%s" BP_MAPPINGS_SUFFIX, file);
	FILE *in = profile->merged_unrelated ? NULL : bp_side_file_open(path, FILE_BYTES_MAX);
	if (in == NULL)
		return bp_error_set(error,
			"%s cannot be read: mappings were not recorded; record them by bytepoll "
			"run (without --no-resident)",
			path);
	const bool good = parse(in, trace_id, &mappings);
	fclose(in);
	if (good && memcmp(trace_id, root->trace_id, sizeof trace_id) == 0 &&
		root->pid == mappings.pid) {
		*ret_mappings = mappings;
		return true;
	}
	bp_mappings_finish(&mappings);
	return bp_error_set(error,
		good ? "%s is of another run: record again" : "%s is torn or damaged: record again",
		path);
}
