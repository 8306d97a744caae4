/* SPDX-License-Identifier: MIT */
/*
 * The file, text (docs/trace-format.md, section 8):
 *
 *	bytepoll jit 1
 *	trace_id=HEX <tab> pid=N <tab> names=N
 *	START <tab> BYTES <tab> TIME_NS <tab> NAME
 *	... a line for each of these names, START and BYTES hexadecimal ...
 *	... and so on, for each process ...
 *	end N
 *
 * The last line says of how many processes it tells: without it the file is torn. Whoever reads it
 * believes nothing of it.
 */
#include "jit/jit_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "trace/side_file.h"

#define MAGIC "bytepoll jit 1\n"
#define LINE_BYTES (BP_JIT_NAME_BYTES + 64)
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

struct bp_jit_process *bp_jit_file_add(
	struct bp_jit_file *file, const uint8_t trace_id[16], uint32_t pid)
{
	if (!bp_vec_reserve(&file->processes, &file->capacity, (uint64_t)file->count + 1,
		    sizeof *file->processes))
		return NULL;
	struct bp_jit_process *process = &file->processes[file->count++];
	*process = (struct bp_jit_process){ .pid = pid };
	memcpy(process->trace_id, trace_id, sizeof process->trace_id);
	return process;
}

static bool write_text(FILE *out, const void *pointer)
{
	const struct bp_jit_file *file = pointer;
	for (uint32_t i = 0; i < file->count; i++) {
		const struct bp_jit_names *names = &file->processes[i].names;
		bp_side_file_put_trace_id(out, file->processes[i].trace_id);
		fprintf(out, "\tpid=%" PRIu32 "\tnames=%" PRIu32 "\n", file->processes[i].pid,
			names->count);
		for (uint32_t k = 0; k < names->count; k++)
			fprintf(out, "%" PRIx64 "\t%" PRIx64 "\t%" PRIu64 "\t%s\n",
				names->items[k].start, names->items[k].bytes,
				names->items[k].time_ns, names->texts + names->items[k].text);
	}
	fprintf(out, "end %" PRIu32 "\n", file->count);
	return true;
}

bool bp_jit_file_write(const char *path, const struct bp_jit_file *file, struct bp_error *error)
{
	return bp_side_file_write(path, MAGIC, write_text, file) ||
	       bp_error_set(error,
		       "%s cannot be written, names of code made at run time are not kept: %s",
		       path, strerror(errno));
}

bool bp_jit_file_is_ours(const char *path)
{
	return bp_side_file_is(path, MAGIC);
}

void bp_jit_file_remove(const char *path)
{
	bp_side_file_remove(path, MAGIC);
}

/* A number of digits of `base`, and the tab behind it. */
static bool take_number(const char **at, int base, uint64_t *ret_number)
{
	char *end;
	if (strspn(*at, base == 16 ? "0123456789abcdef" : "0123456789") == 0)
		return false;
	errno = 0;
	*ret_number = strtoull(*at, &end, base);
	const bool good = errno == 0 && *end == '\t';
	*at = end + (good ? 1 : 0);
	return good;
}

static bool parse_head(const char *line, struct bp_jit_file *file, uint64_t *ret_names)
{
	uint8_t trace_id[16];
	uint64_t pid;
	/* Fields may come to stand behind these. */
	return bp_side_file_trace_id(&line, trace_id) && bp_side_file_number(&line, "pid", &pid) &&
	       bp_side_file_number(&line, "names", ret_names) && pid <= INT32_MAX &&
	       *ret_names <= BP_JIT_NAMES_MAX && (*line == '\t' || *line == '\n') &&
	       bp_jit_file_add(file, trace_id, (uint32_t)pid) != NULL;
}

static bool parse_name(const char *line, struct bp_jit_names *names)
{
	struct bp_jit_name range = { .text = 0 };
	const char *end = strchr(line, '\n');
	return end != NULL && take_number(&line, 16, &range.start) &&
	       take_number(&line, 16, &range.bytes) && take_number(&line, 10, &range.time_ns) &&
	       bp_jit_names_add(names, &range, line, (size_t)(end - line), NULL);
}

static bool parse(FILE *in, struct bp_jit_file *file)
{
	char line[LINE_BYTES];
	uint64_t left = 0;
	if (fgets(line, sizeof line, in) == NULL || strcmp(line, MAGIC) != 0)
		return false;
	while (fgets(line, sizeof line, in) != NULL) {
		unsigned count;
		char newline, more;
		if (left > 0) {
			left--;
			if (!parse_name(line, &file->processes[file->count - 1].names))
				return false;
		} else if (sscanf(line, "end %u%c%c", &count, &newline, &more) == 2 &&
			   newline == '\n') {
			return count == file->count && fgetc(in) == EOF;
		} else if (!parse_head(line, file, &left)) {
			return false;
		}
	}
	return false;
}

bool bp_jit_file_finish(struct bp_jit_file *file, struct bp_error *error)
{
	bool good = true;
	for (uint32_t i = 0; good && i < file->count; i++)
		if (file->processes[i].names.ends == NULL)
			good = bp_jit_names_finish(&file->processes[i].names, error);
	return good;
}

static bool read_from(const char *path, struct bp_jit_file *file, struct bp_error *error)
{
	errno = 0;
	FILE *in = bp_side_file_open(path, FILE_BYTES_MAX);
	if (in == NULL && errno == ENOENT)
		return true;
	if (in == NULL)
		return bp_error_set(
			error, "%s cannot be read: code made at run time has no names", path);
	const bool good = parse(in, file);
	fclose(in);
	return (good && bp_jit_file_finish(file, error)) ||
	       bp_error_set(
		       error, "%s is torn or damaged: code made at run time has no names", path);
}

bool bp_jit_file_read(const char *trace, struct bp_jit_file *ret_file, struct bp_error *error)
{
	char *path;
	*ret_file = (struct bp_jit_file){ .processes = NULL };
	if (asprintf(&path, "%s" BP_JIT_SUFFIX, trace) < 0)
		return bp_error_set(error, "out of memory");
	const bool good = read_from(path, ret_file, error);
	free(path);
	if (!good)
		bp_jit_file_free(ret_file);
	return good;
}

const struct bp_jit_names *bp_jit_file_find(
	const struct bp_jit_file *file, const uint8_t trace_id[16])
{
	for (uint32_t i = file->count; i > 0; i--)
		if (memcmp(file->processes[i - 1].trace_id, trace_id, 16) == 0)
			return &file->processes[i - 1].names;
	return NULL;
}

void bp_jit_file_free(struct bp_jit_file *file)
{
	for (uint32_t i = 0; i < file->count; i++)
		bp_jit_names_free(&file->processes[i].names);
	free(file->processes);
	*file = (struct bp_jit_file){ .processes = NULL };
}
