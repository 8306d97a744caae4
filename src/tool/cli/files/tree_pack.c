/* SPDX-License-Identifier: MIT */
/*
 * Packing. A trace is locked (flock) from before it is read until its file is gone, so that nobody
 * folds it meanwhile; one that is locked, or that a reader has open, is left for the next time. The
 * file goes before its folded part: a trace without its folded part would say less than there is,
 * and a folded part that is left alone is removed by the next packing. See tree_packed.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/files/tree_packed.h"

/* Of one block; each trace holds a descriptor until the block is written. */
#define TRACES_MOST 64u
#define BLOCK_BYTES ((uint32_t)1 << 20)

struct batch {
	struct bp_tree_packing *packing;
	int folder;
	struct {
		const char *name;
		int fd;
	} items[TRACES_MOST];
	uint32_t count;
};

static void folded_name(const char *name, char path[NAME_MAX + sizeof BP_FOLDED_SUFFIX])
{
	snprintf(path, NAME_MAX + sizeof BP_FOLDED_SUFFIX, "%.*s" BP_FOLDED_SUFFIX, NAME_MAX, name);
}

static void remove_files(int folder, const char *name)
{
	char folded[NAME_MAX + sizeof BP_FOLDED_SUFFIX];
	folded_name(name, folded);
	unlinkat(folder, name, 0);
	unlinkat(folder, folded, 0);
}

/* Is the file of that name there, and with that id? */
static bool has_id(int folder, const char *name, const struct bp_trace_header *wanted)
{
	const struct bp_place place = { folder, name };
	struct bp_trace_header header;
	const int fd = bp_place_open(&place, O_RDONLY);
	const bool has = fd >= 0 && pread(fd, &header, sizeof header, 0) == sizeof header &&
			 memcmp(header.trace_id, wanted->trace_id, sizeof header.trace_id) == 0;
	if (fd >= 0)
		close(fd);
	return has;
}

/* What a packing that was killed left: files of an entry. */
static void remove_packed(const struct bp_pack_entry *entry, void *of)
{
	const int folder = *(const int *)of;
	char folded[NAME_MAX + sizeof BP_FOLDED_SUFFIX];
	folded_name(entry->name, folded);
	if (has_id(folder, entry->name, &entry->header))
		remove_files(folder, entry->name);
	else if (entry->part_bytes > 0 && has_id(folder, folded, &entry->header))
		unlinkat(folder, folded, 0);
}

static bool can_be_packed(const struct bp_tree_packing *packing, const struct bp_tree *tree,
	const struct bp_tree_file *file)
{
	if (file->first || file->packed || file->running ||
		(file->header.flags_skippable & BP_HEADER_VERIFY) != 0 ||
		(file->state.state != 1 && file->header.pid == (uint32_t)packing->spared))
		return false;
	if (packing->only_empty && (file->state.samples > 0 || file->keeps_notes))
		return false;
	return bp_tree_is_over(tree, file);
}

/* Writes the block, and removes the files that are in it. */
static bool flush(struct batch *batch, struct bp_error *error)
{
	const bool good = bp_pack_output_append(&batch->packing->output);
	if (!good)
		bp_error_set(error, "traces of processes that ended cannot be packed: %s",
			strerror(errno));
	for (uint32_t i = 0; i < batch->count; i++) {
		if (good)
			remove_files(batch->folder, batch->items[i].name);
		close(batch->items[i].fd);
	}
	batch->count = 0;
	return good;
}

/* Opens the folded part of a trace; `*ret_fd` is -1 if there is none. False: it cannot be read, or
 * is another trace's. */
static bool open_part(int folder, const struct bp_tree_file *file, int *ret_fd)
{
	char folded[NAME_MAX + sizeof BP_FOLDED_SUFFIX];
	folded_name(file->name, folded);
	const struct bp_place place = { folder, folded };
	*ret_fd = bp_place_open(&place, O_RDONLY);
	if (*ret_fd < 0)
		return errno == ENOENT;
	if (has_id(folder, folded, &file->header))
		return true;
	close(*ret_fd);
	return false;
}

/* Adds a trace that is open and locked. */
static bool add(struct batch *batch, const struct bp_tree_file *file, int fd)
{
	int part_fd;
	if (!open_part(batch->folder, file, &part_fd))
		return false;
	const bool good = bp_pack_output_add(&batch->packing->output, file->name, fd, part_fd);
	if (part_fd >= 0)
		close(part_fd);
	return good;
}

static bool pack_file(struct batch *batch, const struct bp_tree *tree,
	const struct bp_tree_file *file, struct bp_error *error)
{
	const int fd = bp_tree_open(tree, file, O_RDONLY);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (fd >= 0)
			close(fd);
		return true;
	}
	/* One that does not fit begins the next block; one that is larger stays as it is. */
	if (!add(batch, file, fd) &&
		(batch->count == 0 || !flush(batch, error) || !add(batch, file, fd))) {
		close(fd);
		return error == NULL || error->text[0] == '\0';
	}
	batch->items[batch->count].name = file->name;
	batch->items[batch->count++].fd = fd;
	return (batch->count < TRACES_MOST && batch->packing->output.raw_bytes < BLOCK_BYTES) ||
	       flush(batch, error);
}

static bool open_output(
	struct bp_tree_packing *packing, const struct bp_tree *tree, struct bp_error *error)
{
	char path[PATH_MAX + sizeof BP_PACK_NAME];
	int folder = dirfd(tree->folder);
	if (packing->is_open)
		return true;
	snprintf(path, sizeof path, "%s/" BP_PACK_NAME, tree->directory);
	const struct bp_place place = { folder, path };
	packing->is_open =
		bp_pack_output_open(&packing->output, &place, remove_packed, &folder, error);
	return packing->is_open;
}

bool bp_tree_pack(
	struct bp_tree_packing *packing, const struct bp_tree *tree, struct bp_error *error)
{
	struct bp_error failure = { .text = "" };
	size_t count = 0;
	if (tree->folder == NULL || !bp_tree_owns_folder(tree))
		return true;
	for (size_t i = 0; i < tree->count; i++)
		count += can_be_packed(packing, tree, &tree->files[i]);
	if (count == 0 || count < packing->at_least)
		return true;
	if (!open_output(packing, tree, error))
		return false;
	struct batch batch = { .packing = packing, .folder = dirfd(tree->folder) };
	bool good = true;
	for (size_t i = 0; good && i < tree->count; i++)
		if (can_be_packed(packing, tree, &tree->files[i]))
			good = pack_file(&batch, tree, &tree->files[i], &failure);
	good = flush(&batch, &failure) && good;
	return good || bp_error_set(error, "%s: %s", tree->directory, failure.text);
}
