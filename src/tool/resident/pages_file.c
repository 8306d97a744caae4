/* SPDX-License-Identifier: MIT */
/*
 * The file, text (docs/trace-format.md, section 6.2):
 *
 *	bytepoll pages 1
 *	trace_id=HEX <tab> pid=N <tab> time_ns=N
 *	looked START END		hexadecimal, a line for each run
 *	present START END
 *	end N				the number of runs
 *
 * Whoever reads it believes nothing: not the number of lines, not their order.
 */
#include "resident/pages_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/side_file.h"

#define MAGIC "bytepoll pages 1\n"
#define FILE_BYTES_MAX (2u << 20) /* 32,768 lines of 43 bytes are 1.4 MB */
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

static bool write_text(FILE *out, const void *pointer)
{
	const struct content *content = pointer;
	const struct bp_pages *pages = content->pages;
	bp_side_file_put_trace_id(out, content->trace_id);
	fprintf(out, "\tpid=%" PRIu32 "\ttime_ns=%" PRIu64 "\n", pages->pid, pages->time_ns);
	write_runs(out, "looked", &pages->looked);
	write_runs(out, "present", &pages->present);
	fprintf(out, "end %" PRIu32 "\n", pages->looked.count + pages->present.count);
	return true;
}

bool bp_pages_is_ours(const char *path)
{
	return bp_side_file_is(path, MAGIC);
}

void bp_pages_remove(const char *path)
{
	bp_side_file_remove(path, MAGIC);
}

bool bp_pages_write(const char *path, const struct bp_pages *pages, const uint8_t trace_id[16],
	struct bp_error *error)
{
	const struct content content = { pages, trace_id };
	return bp_side_file_write(path, MAGIC, write_text, &content) ||
	       bp_error_set(error, "%s cannot be written, pages are not kept: %s", path,
		       strerror(errno));
}

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

static bool parse(FILE *in, uint8_t ret_trace_id[16], struct bp_pages *pages)
{
	char line[LINE_BYTES];
	const char *at = line;
	uint64_t pid;
	unsigned count, runs = 0;
	if (fgets(line, sizeof line, in) == NULL || strcmp(line, MAGIC) != 0 ||
		fgets(line, sizeof line, in) == NULL || !bp_side_file_trace_id(&at, ret_trace_id) ||
		!bp_side_file_number(&at, "pid", &pid) ||
		!bp_side_file_number(&at, "time_ns", &pages->time_ns) || pid == 0 ||
		pid > INT32_MAX)
		return false;
	pages->pid = (uint32_t)pid;
	while (fgets(line, sizeof line, in) != NULL) {
		if (sscanf(line, "end %u", &count) == 1)
			return count == runs && fgetc(in) == EOF;
		if (!parse_run(line, pages))
			return false;
		runs++;
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
