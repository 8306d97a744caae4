/* SPDX-License-Identifier: MIT */
/* See page_file.h. */
#include "cli/files/page_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options/options.h"
#include "cli/say.h"
#include "page/html.h"
#include "text/escape.h"
#include "text/quantity.h"

struct bp_written_file bp_page_file(
	const struct bp_arguments *arguments, const char *path, const char *option)
{
	return (struct bp_written_file){ .path = path,
		.option = option,
		.force = bp_option_given(arguments, "force"),
		.mode = 0600,
		.inputs = (const char *const *)arguments->operands,
		.input_count = (size_t)arguments->operand_count };
}

bool bp_page_file_check(const struct bp_written_file *file, struct bp_error *error)
{
	if (strcmp(file->path, "-") == 0 && isatty(STDOUT_FILENO))
		return bp_error_set(error,
			"%s -: a page is not for a terminal: send it to a file or a pipe",
			file->option);
	return bp_written_file_check(file, error);
}

void bp_page_file_tell(const char *path, size_t bytes, const char *remark)
{
	char size[BP_QUANTITY_BYTES], name[1024];
	bp_bytes_text(bytes, (struct bp_quantity_style){ 0 }, size);
	bp_terminal_text(path, false, 200, name, sizeof name);
	bp_say(stderr, "bytepoll: wrote %s (%s)", strcmp(path, "-") == 0 ? "the page" : name, size);
	if (*remark != '\0')
		bp_say(stderr, "bytepoll: %s", remark);
}

/* Both kinds of JSON, on the heap. */
static bool write_json(const struct bp_diff *diff, const struct bp_diff *paths,
	const struct bp_diff_options *options, struct bp_page_diff *ret_page,
	struct bp_error *error)
{
	char *rows = NULL, *tree = NULL;
	FILE *out = open_memstream(&rows, &ret_page->rows_bytes);
	if (out != NULL)
		bp_write_diff_json(diff, options, out);
	bool good = out != NULL && fclose(out) == 0;
	out = good ? open_memstream(&tree, &ret_page->paths_bytes) : NULL;
	good = out != NULL && bp_write_diff_paths(paths, out);
	good = out != NULL && fclose(out) == 0 && good;
	ret_page->rows = rows;
	ret_page->paths = tree;
	return good || bp_error_set(error, "out of memory");
}

bool bp_page_file_write_diff(struct bp_written_file *file, const struct bp_diff *diff,
	const struct bp_diff *paths, const struct bp_diff_options *options, struct bp_error *error)
{
	struct bp_page_diff page = { 0 };
	size_t written = 0;
	bool good = write_json(diff, paths, options, &page, error) &&
		    bp_page_file_check(file, error) && bp_written_file_begin(file, error);
	if (good) {
		good = bp_page_write_diff(&page, file->out, &written, error);
		good = bp_written_file_end(file, good, error);
		if (good)
			bp_page_file_tell(file->path, written, "");
	}
	free((char *)(uintptr_t)page.rows);
	free((char *)(uintptr_t)page.paths);
	return good;
}
