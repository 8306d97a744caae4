/* SPDX-License-Identifier: MIT */
/*
 * FILE.d/index (docs/trace-format.md, section 4). It is written to a temporary name and renamed, so
 * that a reader never sees half of it, and only then are the files without samples removed: what is
 * removed is in the index. What stands in FILE.d/packed needs no line. All of it happens by the
 * descriptor of FILE.d, and only if that is a folder of ours.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place.h"
#include "cli/files/tree.h"

#define INDEX_NAME BP_TREE_INDEX
#define INDEX_TEMPORARY BP_TREE_INDEX_TEMPORARY

/* A value of the index: tab, newline and backslash are escaped. */
static void print_value(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\t')
			fputs("\\t", out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\')
			fputs("\\\\", out);
		else
			putc(*text, out);
	}
}

static void print_id(FILE *out, const char *key, const uint8_t id[16])
{
	fprintf(out, "\t%s=", key);
	for (int i = 0; i < 16; i++)
		fprintf(out, "%02x", id[i]);
}

static void print_number(FILE *out, const char *key, uint64_t number)
{
	fprintf(out, "\t%s=%llu", key, (unsigned long long)number);
}

static bool is_removable(const struct bp_tree_file *file)
{
	return !file->first && !file->packed && file->state.samples == 0 && !file->keeps_notes &&
	       !file->went_on && (file->header.flags_skippable & BP_HEADER_VERIFY) == 0;
}

/* `first`: FILE, which says what a line need not repeat. */
static void print_line(FILE *out, const struct bp_tree_file *file, const struct bp_tree_file *first)
{
	fputs("file=", out);
	print_value(out, is_removable(file) ? "-" : file->name);
	print_id(out, "trace_id", file->header.trace_id);
	print_id(out, "parent_trace_id", file->header.parent_trace_id);
	print_number(out, "parent_sequence", file->header.parent_sequence);
	print_number(out, "pid", file->header.pid);
	print_number(out, "exec_number", file->header.exec_number);
	print_number(out, "start_monotonic_ns",
		bp_trace_machine_ns(&file->header, file->header.start_monotonic_ns));
	print_number(out, "end_time_ns",
		file->state.end_time_ns == 0
			? 0
			: bp_trace_machine_ns(&file->header, file->state.end_time_ns));
	print_number(out, "end_reason", file->state.end_reason);
	print_number(out, "samples", file->state.samples);
	print_number(out, "trials_low", file->trials_low);
	print_number(out, "trials_high", file->trials_high);
	print_number(out, "objects_low", file->objects_low);
	print_number(out, "objects_high", file->objects_high);
	if (file->off_objects.high > 0) {
		print_number(out, "off_bytes_low", file->off_bytes.low);
		print_number(out, "off_bytes_high", file->off_bytes.high);
		print_number(out, "off_objects_low", file->off_objects.low);
		print_number(out, "off_objects_high", file->off_objects.high);
	}
	if (file->header.recognition == 0)
		print_number(out, "unprofiled_reason", file->header.unprofiled_reason);
	if (file->interval_max != 0 &&
		(file->interval_max != first->header.interval_bytes || bp_tree_has_control(first)))
		print_number(out, "interval_bytes", file->interval_max);
	fputs("\tprogram=", out);
	print_value(out, file->program);
	putc('\n', out);
}

/* In the folder itself: no link is followed, and a file of that name that is there goes first, for
 * it may have another name elsewhere. */
static bool write_index_file(
	const struct bp_tree *tree, const struct bp_place *temporary, struct bp_error *error)
{
	const int folder = temporary->folder;
	unlinkat(folder, INDEX_TEMPORARY, 0);
	int descriptor = bp_place_open(temporary, O_WRONLY | O_CREAT | O_EXCL);
	FILE *out = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
	if (out == NULL) {
		if (descriptor >= 0)
			close(descriptor);
		return bp_error_set(
			error, "%s cannot be written: %s", temporary->path, strerror(errno));
	}
	fputs("bytepoll index 1\n", out);
	for (size_t i = 0; i < tree->count; i++)
		if (!tree->files[i].packed)
			print_line(out, &tree->files[i], &tree->files[0]);
	bool good = !ferror(out);
	good = fclose(out) == 0 && good;
	if (good && renameat(folder, INDEX_TEMPORARY, folder, INDEX_NAME) == 0)
		return true;
	bp_error_set(error, "%s cannot be written: %s", temporary->path, strerror(errno));
	unlinkat(folder, INDEX_TEMPORARY, 0);
	return false;
}

/* Is it the folder of another user's process that root attached to? Its recorder made it. */
static bool is_of_traced(const struct bp_tree *tree)
{
	struct stat trace, folder;
	return geteuid() == 0 && tree->folder != NULL && fstat(dirfd(tree->folder), &folder) == 0 &&
	       lstat(tree->file, &trace) == 0 && S_ISREG(trace.st_mode) &&
	       folder.st_uid == trace.st_uid && (folder.st_mode & 022) == 0;
}

bool bp_tree_write_index(struct bp_tree *tree, struct bp_error *error)
{
	char temporary[PATH_MAX + sizeof INDEX_TEMPORARY];
	struct bp_tree_sums sums;
	struct stat status;
	bp_tree_sum(tree, &sums);
	if (sums.running > 0 || !tree->has_directory)
		return true;
	if (!bp_tree_owns_folder(tree) && is_of_traced(tree))
		return true; /* Without an index every file is read. */
	if (!bp_tree_owns_folder(tree))
		return bp_error_set(error,
			"%s is a link, belongs to another user or can be written to by others: "
			"nothing was changed there, and it has no index: choose another -o",
			tree->directory);
	if (rmdir(tree->directory) == 0)
		return true;
	bp_tree_read_rest(tree);
	snprintf(temporary, sizeof temporary, "%s/" INDEX_TEMPORARY, tree->directory);
	const struct bp_place place = { dirfd(tree->folder), temporary };
	if (!write_index_file(tree, &place, error))
		return false;
	for (size_t i = 0; i < tree->count; i++)
		if (is_removable(&tree->files[i]) &&
			unlinkat(place.folder, tree->files[i].name, 0) == 0)
			tree->files[i].disk_bytes = 0;
	if (fstatat(place.folder, INDEX_NAME, &status, AT_SYMLINK_NOFOLLOW) == 0)
		tree->index_bytes = (uint64_t)status.st_blocks * 512;
	return true;
}
