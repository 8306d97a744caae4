/* SPDX-License-Identifier: MIT */
/*
 * The lines of source that frames of a page point at (`--embed-source`). The paths stand in the
 * profile, which may be hostile, and the page may be passed on: only regular files are read whose
 * name ends as source code does, no link is followed in the last part of a path, and never more
 * than the lines of frames. A file that is newer than the module it went into does not say what was
 * compiled, and is left out.
 *
 * The profile is not believed about that module, because whoever made the profile could name any
 * file and any time. The module has to be here, unchanged since it was recorded, and it has to
 * belong to the caller or to root: so it is the debug information of a program of ours that names
 * the file.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "page/html_data.h"

#define FILE_BYTES_MAX (16u << 20)
#define LINES_MAX 20000u /* of all files: a page is no archive */
#define LINE_BYTES_MAX 400

/* A line that some frame points at. */
struct wanted {
	uint32_t file, line, module; /* string, number, module */
};

static bool is_source_name(const char *path)
{
	static const char *const endings[] = { "c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx",
		"c++", "inl", "ipp", "tcc", "rs", "go", "d", "zig", "nim", "ml", "hs", "f", "f90",
		"f95", "adb", "ads", "pas", "swift", "m", "mm", "cs", "fs", "vb", "java", "kt", "s",
		"S", "asm", "y", "l", "cr", "v" };
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	if (path[0] != '/' || dot == NULL || (slash != NULL && dot <= slash + 1))
		return false;
	for (size_t i = 0; i < BP_COUNT(endings); i++)
		if (strcmp(dot + 1, endings[i]) == 0)
			return true;
	return false;
}

static int compare_wanted(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* The frames' lines, sorted, each once; NULL: no memory. */
static struct wanted *collect(const struct bp_page_source *source, uint32_t *ret_count)
{
	const struct bp_page_numbers *numbers = &source->numbers;
	const struct bp_profile *profile = source->shown->profile;
	struct wanted *wanted = calloc((size_t)numbers->frame_count + 1, sizeof *wanted);
	uint32_t count = 0, kept = 0;
	if (wanted == NULL)
		return NULL;
	for (uint32_t i = BP_PAGE_CALLERS + 1; i < numbers->frame_count; i++) {
		const struct bp_frame *frame = &profile->frames.data[numbers->frame_of[i]];
		if (frame->source_file.i != 0 && frame->line != 0)
			wanted[count++] = (struct wanted){ frame->source_file.i, frame->line,
				frame->module.i };
	}
	qsort(wanted, count, sizeof *wanted, compare_wanted);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || compare_wanted(&wanted[kept - 1], &wanted[i]) != 0)
			wanted[kept++] = wanted[i];
	*ret_count = kept;
	return wanted;
}

static uint64_t modified_ns(const struct stat *status)
{
	return (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec;
}

/* When the module's file was written; 0: it is not here, not the one that was recorded, or somebody
 * else's. */
static uint64_t built_ns_of(const struct bp_profile *profile, uint32_t number)
{
	const struct bp_module *module = &profile->modules.data[number];
	struct stat status;
	if (module->file_mtime_ns == 0 ||
		stat(bp_profile_text(profile, module->path), &status) != 0 ||
		!S_ISREG(status.st_mode) || modified_ns(&status) != module->file_mtime_ns)
		return 0;
	return status.st_uid == 0 || status.st_uid == geteuid() ? module->file_mtime_ns : 0;
}

/* NULL: it is not what was compiled, or cannot be read. */
static FILE *open_source(const struct bp_profile *profile, const struct wanted *wanted)
{
	const char *path = bp_profile_text(profile, (struct bp_string_id){ wanted->file });
	const uint64_t built_ns = is_source_name(path) ? built_ns_of(profile, wanted->module) : 0;
	struct stat status;
	if (built_ns == 0)
		return NULL;
	const int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (descriptor < 0)
		return NULL;
	const bool good = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
			  (uint64_t)status.st_size <= FILE_BYTES_MAX &&
			  modified_ns(&status) <= built_ns;
	FILE *file = good ? fdopen(descriptor, "r") : NULL;
	if (file == NULL)
		close(descriptor);
	return file;
}

/* The lines of one file, `count` of `wanted`. Returns how many were there. */
static uint32_t write_lines(
	FILE *file, const struct wanted *wanted, uint32_t count, struct bp_json *json)
{
	char *line = NULL, key[16];
	size_t capacity = 0;
	uint32_t number = 0, written = 0;
	while (written < count && getline(&line, &capacity, file) > 0) {
		if (++number != wanted[written].line)
			continue;
		line[strcspn(line, "\r\n")] = '\0';
		if (strlen(line) > LINE_BYTES_MAX)
			line[LINE_BYTES_MAX] = '\0';
		snprintf(key, sizeof key, "%u", number);
		bp_page_write_text(json, key, line);
		written++;
	}
	free(line);
	return written;
}

bool bp_page_write_source(const struct bp_page_source *source, struct bp_json *json)
{
	const struct bp_profile *profile = source->shown->profile;
	uint32_t count = 0, lines = 0;
	if (!source->options->embed_source) {
		bp_json_null(json, "sources");
		return true;
	}
	struct wanted *wanted = collect(source, &count);
	if (wanted == NULL)
		return false;
	bp_json_object(json, "sources", BP_JSON_COMPACT);
	for (uint32_t i = 0, end; i < count && lines < LINES_MAX; i = end) {
		for (end = i + 1; end < count && wanted[end].file == wanted[i].file;)
			end++;
		FILE *file = open_source(profile, &wanted[i]);
		if (file == NULL)
			continue;
		bp_json_break(json, 0);
		bp_json_object(json,
			bp_profile_text(profile, (struct bp_string_id){ wanted[i].file }),
			BP_JSON_COMPACT);
		lines += write_lines(file, &wanted[i], end - i, json);
		bp_json_end(json);
		fclose(file);
	}
	bp_json_end(json);
	free(wanted);
	return true;
}
