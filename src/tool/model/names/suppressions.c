/* SPDX-License-Identifier: MIT */
/* See suppressions.h. A pattern is pieces between asterisks: each is looked for behind the one
 * before, as early as can be, and no other place is tried. That is LeakSanitizer's way, and it
 * shows: `parse$` does not match parse_and_parse, whose first parse is not at the end (`*parse$`
 * neither). A file that serves both must hide the same in both, so the way is followed to the
 * letter. */
#include "model/names/suppressions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

#define FILE_BYTES_MAX (16u << 20)

/* Where `piece` stands in `text`; NULL: nowhere. */
static const char *find(const char *text, const char *piece, size_t bytes)
{
	return memmem(text, strlen(text), piece, bytes);
}

bool bp_suppression_matches(const char *pattern, const char *text)
{
	bool at_start = *pattern == '^', after_asterisk = false;
	if (*text == '\0')
		return false;
	pattern += at_start;
	while (*pattern != '\0') {
		if (*pattern == '$')
			return *text == '\0' || after_asterisk;
		if (*pattern == '*') {
			after_asterisk = true;
			pattern++;
		} else {
			const size_t bytes = strcspn(pattern, "*$");
			const char *found = find(text, pattern, bytes);
			if (found == NULL || (at_start && found != text))
				return false;
			text = found + bytes;
			pattern += bytes;
			after_asterisk = false;
		}
		at_start = false;
	}
	return true;
}

bool bp_suppressions_match(const struct bp_suppressions *suppressions,
	const struct bp_profile *profile, struct bp_frame_id id)
{
	const struct bp_frame *frame = &profile->frames.data[id.i];
	const struct bp_module *module = &profile->modules.data[frame->module.i];
	const char *texts[] = { bp_profile_text(profile, frame->function),
		bp_profile_text(profile, frame->source_file),
		bp_profile_text(profile, module->path) };
	for (uint32_t i = 0; i < suppressions->count; i++)
		for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
			if (bp_suppression_matches(suppressions->patterns[i], texts[j]))
				return true;
	return false;
}

/* ---- files ---- */

static bool read_all(const char *path, char **ret_text, size_t *ret_bytes, struct bp_error *error)
{
	struct stat status;
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	ssize_t bytes = -1;
	if (descriptor < 0)
		return bp_error_set(error, "--suppressions %s: %s", path, strerror(errno));
	if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_size > FILE_BYTES_MAX) {
		close(descriptor);
		return bp_error_set(error,
			"--suppressions %s: no file of leak:PATTERN lines (16 MiB at most)", path);
	}
	text = malloc((size_t)status.st_size + 1);
	if (text != NULL)
		bytes = read(descriptor, text, (size_t)status.st_size);
	close(descriptor);
	if (bytes < 0) {
		free(text);
		return bp_error_set(error, "--suppressions %s: cannot be read", path);
	}
	text[bytes] = '\0';
	*ret_text = text;
	*ret_bytes = (size_t)bytes;
	return true;
}

static char *trim(char *line)
{
	line += strspn(line, " \t");
	for (size_t i = strlen(line); i > 0 && strchr(" \t\r", line[i - 1]) != NULL; i--)
		line[i - 1] = '\0';
	return line;
}

static bool add_line(struct bp_suppressions *suppressions, const char *path, unsigned number,
	char *line, struct bp_error *error)
{
	line = trim(line);
	if (*line == '\0' || *line == '#')
		return true;
	if (strncmp(line, "leak:", 5) != 0 || line[5] == '\0')
		return bp_error_set(error,
			"--suppressions %s: line %u is no suppression: write leak:PATTERN", path,
			number);
	if (!bp_vec_reserve(&suppressions->patterns, &suppressions->capacity,
		    suppressions->count + 1ull, sizeof *suppressions->patterns))
		return bp_error_set(error, "out of memory");
	suppressions->patterns[suppressions->count++] = line + 5;
	return true;
}

bool bp_suppressions_read(
	const char *path, struct bp_suppressions *ret_suppressions, struct bp_error *error)
{
	struct bp_suppressions suppressions = { 0 };
	size_t bytes = 0;
	if (!read_all(path, &suppressions.text, &bytes, error))
		return false;
	bool good = memchr(suppressions.text, '\0', bytes) == NULL ||
		    bp_error_set(error, "--suppressions %s: is no text", path);
	char *rest = suppressions.text, *line;
	for (unsigned number = 1; good && (line = strsep(&rest, "\n")) != NULL; number++)
		good = add_line(&suppressions, path, number, line, error);
	if (!good) {
		bp_suppressions_finish(&suppressions);
		return false;
	}
	*ret_suppressions = suppressions;
	return true;
}

void bp_suppressions_finish(struct bp_suppressions *suppressions)
{
	free(suppressions->text);
	free(suppressions->patterns);
	*suppressions = (struct bp_suppressions){ 0 };
}
