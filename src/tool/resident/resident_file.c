/* SPDX-License-Identifier: MIT */
/*
 * The file, UTF-8 text (docs/trace-format.md, section 6):
 *
 *	bytepoll resident 1
 *	trace_id=HEX <tab> pid=N <tab> period_ns=N <tab> uncertain_bytes=N <tab> most_bytes=N <tab> end_ns=N
 *	time_ns <tab> anonymous <tab> file <tab> shared <tab> swapped <tab> stack <tab> high
 *	... a line of seven numbers for each point ...
 *	end N
 *
 * The last line says how many points stand before it: without it the file is torn. Whoever reads it
 * believes nothing: not the number of lines, not the numbers, not their order.
 *
 * It is written again and again while the program runs, each time whole, beside its place, and then
 * moved there, so that a reader never finds a part of it and a `run` that is killed leaves the last
 * one.
 */
#include "resident/resident_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/side_file.h"

#define MAGIC "bytepoll resident 1\n"
#define COLUMNS_LINE "time_ns\tanonymous\tfile\tshared\tswapped\tstack\thigh\n"
#define COLUMNS 7
#define FILE_BYTES_MAX (1u << 20) /* 4096 lines of 7 numbers of 20 digits are 602,112 bytes */
#define NUMBER_MAX (UINT64_C(1) << 62)
#define LINE_BYTES 512

struct content {
	const struct bp_resident *resident;
	const uint8_t *trace_id;
};

static bool write_text(FILE *out, const void *pointer)
{
	const struct content *content = pointer;
	const struct bp_resident *resident = content->resident;
	bp_side_file_put_trace_id(out, content->trace_id);
	fprintf(out,
		"\tpid=%" PRIu32 "\tperiod_ns=%" PRIu64 "\tuncertain_bytes=%" PRIu64
		"\tmost_bytes=%" PRIu64 "\tend_ns=%" PRIu64 "\n" COLUMNS_LINE,
		resident->pid, resident->period_ns, resident->uncertain_bytes, resident->most_bytes,
		resident->end_ns);
	for (uint32_t i = 0; i < resident->count; i++) {
		const struct bp_resident_point *p = &resident->points[i];
		fprintf(out,
			"%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			"\t%" PRIu64 "\n",
			p->time_ns, p->anonymous, p->file, p->shared, p->swapped, p->stack,
			p->high);
	}
	fprintf(out, "end %" PRIu32 "\n", resident->count);
	return true;
}

bool bp_resident_is_ours(const char *path)
{
	return bp_side_file_is(path, MAGIC);
}

void bp_resident_remove(const char *path)
{
	bp_side_file_remove(path, MAGIC);
}

bool bp_resident_write(const char *path, const struct bp_resident *resident,
	const uint8_t trace_id[16], struct bp_error *error)
{
	const struct content content = { resident, trace_id };
	return bp_side_file_write(path, MAGIC, write_text, &content) ||
	       bp_error_set(error, "%s cannot be written, resident memory is not kept: %s", path,
		       strerror(errno));
}

static bool parse_head(const char *line, uint8_t ret_trace_id[16], struct bp_resident *resident)
{
	uint64_t pid;
	if (!bp_side_file_trace_id(&line, ret_trace_id) ||
		!bp_side_file_number(&line, "pid", &pid) ||
		!bp_side_file_number(&line, "period_ns", &resident->period_ns) ||
		!bp_side_file_number(&line, "uncertain_bytes", &resident->uncertain_bytes) ||
		!bp_side_file_number(&line, "most_bytes", &resident->most_bytes) ||
		!bp_side_file_number(&line, "end_ns", &resident->end_ns))
		return false;
	resident->pid = (uint32_t)pid;
	/* Fields may come to stand behind these. */
	return pid > 0 && pid <= INT32_MAX && resident->period_ns > 0 &&
	       resident->period_ns < NUMBER_MAX / 4 && (*line == '\t' || *line == '\n');
}

static bool parse_point(const char *line, struct bp_resident_point *ret_point)
{
	uint64_t numbers[COLUMNS];
	for (int i = 0; i < COLUMNS; i++) {
		char *end;
		if (*line < '0' || *line > '9')
			return false;
		errno = 0;
		numbers[i] = strtoull(line, &end, 10);
		if (errno != 0 || numbers[i] > NUMBER_MAX / 8 ||
			*end != (i < COLUMNS - 1 ? '\t' : '\n'))
			return false;
		line = end + 1;
	}
	*ret_point = (struct bp_resident_point){ .time_ns = numbers[0],
		.anonymous = numbers[1],
		.file = numbers[2],
		.shared = numbers[3],
		.swapped = numbers[4],
		.stack = numbers[5],
		.high = numbers[6] };
	return true;
}

/* The points and the end. */
static bool parse_points(FILE *in, struct bp_resident *resident)
{
	char line[LINE_BYTES];
	resident->points = malloc(BP_RESIDENT_POINTS_MAX * sizeof *resident->points);
	while (resident->points != NULL && fgets(line, sizeof line, in) != NULL) {
		struct bp_resident_point point;
		unsigned count;
		char newline, more;
		if (sscanf(line, "end %u%c%c", &count, &newline, &more) == 2 && newline == '\n')
			return count == resident->count && fgetc(in) == EOF;
		if (resident->count == BP_RESIDENT_POINTS_MAX || !parse_point(line, &point) ||
			(resident->count > 0 &&
				point.time_ns <= resident->points[resident->count - 1].time_ns))
			return false;
		resident->points[resident->count++] = point;
	}
	return false;
}

static bool parse(const char *path, uint8_t ret_trace_id[16], struct bp_resident *ret_resident,
	struct bp_error *error)
{
	struct bp_resident resident = { 0 };
	uint8_t trace_id[16];
	char line[LINE_BYTES];
	FILE *in = bp_side_file_open(path, FILE_BYTES_MAX);
	if (in == NULL)
		return bp_error_set(error, "%s cannot be read: resident memory is not shown", path);
	const bool good = fgets(line, sizeof line, in) != NULL && strcmp(line, MAGIC) == 0 &&
			  fgets(line, sizeof line, in) != NULL &&
			  parse_head(line, trace_id, &resident) &&
			  fgets(line, sizeof line, in) != NULL && strcmp(line, COLUMNS_LINE) == 0 &&
			  parse_points(in, &resident);
	fclose(in);
	if (!good) {
		bp_resident_finish(&resident);
		return bp_error_set(
			error, "%s is torn or damaged: resident memory is not shown", path);
	}
	memcpy(ret_trace_id, trace_id, sizeof trace_id);
	*ret_resident = resident;
	return true;
}

bool bp_resident_read(const char *file, const struct bp_profile *profile,
	struct bp_resident *ret_resident, struct bp_error *error)
{
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	struct bp_resident resident;
	uint8_t trace_id[16];
	char *path = NULL;
	*ret_resident = (struct bp_resident){ 0 };
	if (profile->merged_unrelated || asprintf(&path, "%s" BP_RESIDENT_SUFFIX, file) < 0)
		return true;
	bool good = access(path, F_OK) != 0;
	if (good || !parse(path, trace_id, &resident, error)) {
		free(path);
		return good;
	}
	good = memcmp(trace_id, root->trace_id, sizeof trace_id) == 0 && root->pid == resident.pid;
	if (good)
		*ret_resident = resident;
	else
		bp_resident_finish(&resident);
	if (!good)
		bp_error_set(error, "%s is of another run: resident memory is not shown", path);
	free(path);
	return good;
}
