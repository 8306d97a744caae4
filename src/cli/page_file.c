/* SPDX-License-Identifier: MIT */
/* See page_file.h. Without --force the name is taken by link(2), which replaces nothing, even if somebody
 * made the file meanwhile. */
#include "cli/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/escape.h"
#include "report/html.h"
#include "report/quantity.h"

static bool is_standard_output(const char *path)
{
	return strcmp(path, "-") == 0;
}

bool bp_page_file_check(const char *path, bool force, struct bp_error *error)
{
	struct stat status;
	if (*path == '\0')
		return bp_error_set(error, "-o needs the name of a file");
	if (is_standard_output(path))
		return isatty(STDOUT_FILENO) == 0 ||
		       bp_error_set(error,
			       "-o -: a page is not for a terminal: send it to a file or a pipe");
	if (lstat(path, &status) != 0)
		return true;
	if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
		return bp_error_set(error, "%s is no regular file: choose another -o", path);
	return force ||
	       bp_error_set(error, "%s exists: choose another -o, or replace it by --force", path);
}

bool bp_page_file_open(
	const char *path, bool force, struct bp_page_file *ret_file, struct bp_error *error)
{
	struct bp_page_file file = { .force = force };
	if (!bp_page_file_check(path, force, error))
		return false;
	if (is_standard_output(path)) {
		file.out = stdout;
		*ret_file = file;
		return true;
	}
	if ((size_t)snprintf(file.temporary, sizeof file.temporary, "%s.XXXXXX", path) >=
		sizeof file.temporary)
		return bp_error_set(error, "%s: path too long", path);
	strcpy(file.path, path);
	const int descriptor = mkostemp(file.temporary, O_CLOEXEC); /* mode 0600 */
	if (descriptor < 0)
		return bp_error_set(error, "%s cannot be created: %s: choose another -o", path,
			strerror(errno));
	file.out = fdopen(descriptor, "w");
	if (file.out == NULL) {
		close(descriptor);
		unlink(file.temporary);
		return bp_error_set(error, "out of memory");
	}
	*ret_file = file;
	return true;
}

bool bp_page_file_close(struct bp_page_file *file, bool good, struct bp_error *error)
{
	if (file->path[0] == '\0')
		return true; /* main.c looks after standard output */
	const bool failed = ferror(file->out) != 0;
	if (fclose(file->out) != 0 || failed) {
		if (good)
			bp_error_set(
				error, "%s cannot be written: %s", file->path, strerror(errno));
		good = false;
	} else if (good) {
		good = file->force ? rename(file->temporary, file->path) == 0
				   : link(file->temporary, file->path) == 0;
		if (!good && errno == EPERM && !file->force && access(file->path, F_OK) != 0)
			good = rename(file->temporary, file->path) == 0; /* no links there */
		if (!good)
			bp_error_set(
				error, "%s cannot be written: %s", file->path, strerror(errno));
	}
	unlink(file->temporary);
	return good;
}

void bp_page_file_tell(const char *path, size_t bytes, const char *remark)
{
	char size[BP_QUANTITY_BYTES], name[1024];
	bp_bytes_text(bytes, (struct bp_quantity_style){ 0 }, size);
	bp_terminal_text(path, false, 200, name, sizeof name);
	fprintf(stderr, "bytepoll: wrote %s (%s)\n", is_standard_output(path) ? "the page" : name,
		size);
	if (*remark != '\0')
		fprintf(stderr, "bytepoll: %s\n", remark);
}

bool bp_page_file_write_difference(const char *path, bool force,
	const struct bp_difference *difference, const struct bp_diff_options *options,
	struct bp_error *error)
{
	char *json = NULL;
	size_t bytes = 0, written = 0;
	struct bp_page_file file;
	FILE *text = open_memstream(&json, &bytes);
	if (text != NULL)
		bp_write_diff_json(difference, options, text);
	bool good = text != NULL && fclose(text) == 0;
	if (!good)
		bp_error_set(error, "out of memory");
	good = good && bp_page_file_open(path, force, &file, error);
	if (good) {
		good = bp_page_write_difference(json, bytes, file.out, &written, error);
		good = bp_page_file_close(&file, good, error) && good;
		if (good)
			bp_page_file_tell(path, written, "");
	}
	free(json);
	return good;
}
