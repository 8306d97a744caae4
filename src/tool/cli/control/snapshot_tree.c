/* SPDX-License-Identifier: MIT */
/*
 * The copies go to OUT.PID.new and OUT.PID.new.d (the pid is our own), which are renamed at the
 * end. What is running is copied first, as only that changes; then the files of processes that have
 * ended, for a tree's totals are theirs too. A process that ends while it is copied is one of
 * those. One that begins after the list was made is taken as its file stands, and one that begins
 * after those is left out: a tree may go on forking.
 *
 * A signal that ends the command is kept blocked and looked for: it takes effect when the pieces
 * are removed.
 */
#include "cli/control/snapshot_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files/output_file.h"
#include "cli/files/tree.h"
#include "cli/run/output_claim.h"
#include "trace/lock.h"
#include "trace/pack.h"

struct copying {
	char base[PATH_MAX]; /* OUT.PID.new */
	int folder;	     /* that OUT lies in */
	int tree;	     /* OUT.PID.new.d; -1: not made yet */
	struct bp_snapshot_sums sums;
};

/* Makes OUT.PID.new.d and opens it; `path` is its path. The number is our own: whoever has made one
 * of that name meant us to write into it. */
static bool make_tree(struct copying *copying, const char *path, struct bp_error *error)
{
	const char *name = bp_last_part(path);
	if (copying->tree >= 0)
		return true;
	if (mkdirat(copying->folder, name, 0700) == 0) {
		copying->tree = openat(
			copying->folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (copying->tree >= 0 && bp_place_is_own_folder(copying->tree))
			return true;
		errno = copying->tree >= 0 ? EPERM : errno;
	}
	return bp_error_set(
		error, "%s cannot be made: %s: choose another -o", path, strerror(errno));
}

/* Where the copy of `name` goes; makes OUT.PID.new.d if need be. `path`: room for its path. */
static bool place(struct copying *copying, bool first, const char *name, char path[PATH_MAX],
	struct bp_place *ret_place, struct bp_error *error)
{
	int written = snprintf(path, PATH_MAX, "%s%s", copying->base, first ? "" : ".d");
	if (!first && !make_tree(copying, path, error))
		return false;
	if (!first)
		written += snprintf(
			path + written, PATH_MAX - (size_t)written, "/%s", bp_last_part(name));
	if (written >= PATH_MAX)
		return bp_error_set(error, "%s: path too long", name);
	*ret_place = (struct bp_place){ first ? copying->folder : copying->tree, path };
	return true;
}

static void add(struct bp_snapshot_sums *sums, const struct bp_snapshot *one)
{
	sums->processes++;
	sums->whole.bytes += one->bytes;
	sums->whole.samples += one->samples;
	sums->whole.unknown += one->unknown;
	sums->whole.threads += one->threads;
	sums->whole.unread += one->unread;
	sums->whole.torn |= one->torn;
	if (one->refused != 0)
		sums->whole.refused = one->refused;
}

/* Keeps folders away from a trace as long as the descriptor is open; -1: it cannot be opened.
 * False: somebody else keeps its lock. */
static bool lock(const struct bp_place *place, int *ret_descriptor, struct bp_error *error)
{
	char holder[BP_TRACE_HOLDER_BYTES];
	int descriptor = bp_place_open(place, O_RDONLY);
	if (descriptor < 0 || bp_trace_lock(descriptor, LOCK_SH) || errno != EWOULDBLOCK) {
		*ret_descriptor = descriptor;
		return true;
	}
	bp_trace_lock_holder(descriptor, holder);
	close(descriptor);
	return bp_error_set(error,
		"%s: %s folds it or holds its lock (flock): take the snapshot when that has ended",
		place->path, holder);
}

static void unlock(int descriptor)
{
	if (descriptor >= 0)
		close(descriptor);
}

/* What a fold has taken out of a trace stands in a file beside it, and is part of it. */
static bool copy_folded(
	const struct bp_place *from, const struct bp_place *to, struct bp_error *error)
{
	char source[PATH_MAX + 8], target[PATH_MAX + 8];
	snprintf(source, sizeof source, "%s" BP_FOLDED_SUFFIX, from->path);
	snprintf(target, sizeof target, "%s" BP_FOLDED_SUFFIX, to->path);
	const struct bp_place from_folded = { from->folder, source };
	const struct bp_place to_folded = { to->folder, target };
	return faccessat(from->folder, bp_place_name(&from_folded), F_OK, 0) != 0 ||
	       bp_snapshot_copy(&from_folded, &to_folded, error);
}

/* One running process, to `to`; as it was left if it ends meanwhile. */
static bool copy_one(struct copying *copying, const struct bp_traced *traced,
	const struct bp_place *to, struct bp_error *error)
{
	const struct bp_place from = { AT_FDCWD, traced->path };
	struct bp_snapshot one = { 0 };
	if (bp_snapshot_write(traced, to, &one, error)) {
		add(&copying->sums, &one);
		return copy_folded(&from, to, error);
	}
	if (__atomic_load_n(&traced->state->state, __ATOMIC_ACQUIRE) != 1 ||
		!bp_snapshot_copy_open(traced->descriptor, traced->path, to, error))
		return false;
	copying->sums.ended++;
	return copy_folded(&from, to, error);
}

static bool copy_running(
	struct copying *copying, const struct bp_traced *traced, bool first, struct bp_error *error)
{
	char path[PATH_MAX];
	struct bp_place to;
	if (!place(copying, first, traced->path, path, &to, error))
		return false;
	const struct bp_place from = { AT_FDCWD, traced->path };
	int locked;
	if (!lock(&from, &locked, error))
		return false;
	bool good = copy_one(copying, traced, &to, error);
	unlock(locked);
	return good;
}

static bool in_list(const struct bp_traced_list *list, const struct bp_tree_file *file)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (memcmp(list->items[i].header.trace_id, file->header.trace_id,
			    sizeof file->header.trace_id) == 0)
			return true;
	return false;
}

/* FILE.d/packed, after the files: what was packed meanwhile is in it. */
static bool copy_packed(struct copying *copying, const struct bp_tree *tree, struct bp_error *error)
{
	char source[PATH_MAX + sizeof BP_PACK_NAME], path[PATH_MAX];
	struct bp_place to;
	if (tree->folder == NULL ||
		faccessat(dirfd(tree->folder), BP_PACK_NAME, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return true;
	snprintf(source, sizeof source, "%s/" BP_PACK_NAME, tree->directory);
	const struct bp_place from = { dirfd(tree->folder), source };
	copying->sums.ended += tree->packed_entries;
	return place(copying, false, BP_PACK_NAME, path, &to, error) &&
	       bp_snapshot_copy(&from, &to, error);
}

/* The files of FILE's tree that no process of the list writes to. */
static bool copy_ended(struct copying *copying, const struct bp_traced_list *list, const char *root,
	struct bp_error *error)
{
	struct bp_tree tree;
	bool good = true;
	if (!bp_tree_read(root, &tree, error))
		return false;
	for (size_t i = 0; good && i < tree.count; i++) {
		const struct bp_tree_file *file = &tree.files[i];
		const struct bp_place from = bp_tree_place(&tree, file);
		struct bp_place to;
		char path[PATH_MAX];
		if (in_list(list, file) || file->packed)
			continue;
		int locked;
		if (!lock(&from, &locked, error)) {
			good = false;
			break;
		}
		if (locked < 0 && errno == ENOENT) {
			copying->sums.removed++;
			continue;
		}
		good = place(copying, file->first, file->name, path, &to, error) &&
		       (locked >= 0 ? bp_snapshot_copy_open(locked, file->path, &to, error)
				    : bp_snapshot_copy(&from, &to, error)) &&
		       copy_folded(&from, &to, error);
		unlock(locked);
		copying->sums.ended += good;
	}
	good = good && copy_packed(copying, &tree, error);
	bp_tree_finish(&tree);
	return good;
}

static bool copy_all(struct copying *copying, const struct bp_traced_list *list, const char *root,
	struct bp_error *error)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct bp_traced *traced = &list->items[i];
		const bool first = root != NULL ? strcmp(traced->path, root) == 0 : i == 0;
		if (!copy_running(copying, traced, first, error))
			return false;
	}
	return root == NULL || copy_ended(copying, list, root, error);
}

/* OUT must not be one of the files that are being written. */
static bool is_source(const struct bp_traced_list *list, const char *out)
{
	struct stat there, source;
	if (stat(out, &there) != 0)
		return false;
	for (uint32_t i = 0; i < list->count; i++)
		if (fstat(list->items[i].descriptor, &source) == 0 &&
			source.st_dev == there.st_dev && source.st_ino == there.st_ino)
			return true;
	return false;
}

/* Within the folder of OUT. */
static bool rename_to(int folder, const char *from, const char *to, struct bp_error *error)
{
	const char *old = bp_last_part(from), *new = bp_last_part(to);
	if (renameat2(folder, old, folder, new, RENAME_NOREPLACE) == 0)
		return true;
	/* A file system that cannot promise that. */
	if (errno == EINVAL && faccessat(folder, new, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
		renameat(folder, old, folder, new) == 0)
		return true;
	return bp_error_set(
		error, "%s cannot be written: %s: choose another -o", to, strerror(errno));
}

static bool rename_pieces(const struct copying *copying, const char *out, struct bp_error *error)
{
	static const char *const ends[] = { ".d", BP_FOLDED_SUFFIX, "" };
	for (size_t i = 0; i < BP_COUNT(ends); i++) {
		char from[PATH_MAX + 8], to[PATH_MAX + 8];
		snprintf(from, sizeof from, "%s%s", copying->base, ends[i]);
		snprintf(to, sizeof to, "%s%s", out, ends[i]);
		if (faccessat(copying->folder, bp_last_part(from), F_OK, AT_SYMLINK_NOFOLLOW) ==
				0 &&
			!rename_to(copying->folder, from, to, error))
			return false;
	}
	return true;
}

/* Keeps the signals that end the command, but for those that are ignored (nohup), until `found` is
 * put back. */
static void hold_signals(sigset_t *ret_found)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t held;
	sigemptyset(&held);
	for (size_t i = 0; i < BP_COUNT(ending); i++) {
		struct sigaction action;
		if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&held, ending[i]);
	}
	sigprocmask(SIG_BLOCK, &held, ret_found);
}

static bool write_all(struct copying *copying, const struct bp_traced_list *list, const char *root,
	const char *out, bool force, struct bp_error *error)
{
	sigset_t found;
	hold_signals(&found);
	const bool good = copy_all(copying, list, root, error) &&
			  (!force || bp_tree_remove(out, error)) &&
			  rename_pieces(copying, out, error);
	if (!good)
		bp_tree_remove(copying->base, NULL);
	sigprocmask(SIG_SETMASK, &found, NULL);
	return good;
}

static bool write_into(struct copying *copying, const struct bp_traced_list *list, const char *root,
	const char *out, bool force, struct bp_error *error)
{
	copying->tree = -1;
	copying->folder = bp_place_open_folder(copying->base);
	if (copying->folder < 0)
		return bp_error_set(error, "%s cannot be created: %s: choose another -o",
			copying->base, strerror(errno));
	const bool good = write_all(copying, list, root, out, force, error);
	close(copying->folder);
	if (copying->tree >= 0)
		close(copying->tree);
	return good;
}

bool bp_snapshot_tree_write(const struct bp_traced_list *list, const char *root, const char *out,
	bool force, struct bp_snapshot_sums *ret_sums, struct bp_error *error)
{
	struct copying copying = { 0 };
	int written =
		snprintf(copying.base, sizeof copying.base, "%s.%ld.new", out, (long)getpid());
	if (written < 0 || (size_t)written + sizeof ".d" > sizeof copying.base)
		return bp_error_set(error, "%s: path too long", out);
	if (is_source(list, out))
		return bp_error_set(
			error, "%s is what the process writes to: choose another -o", out);
	for (uint32_t i = 0; i < list->count; i++)
		if (!bp_spares_inputs(out, "-o", (const char *[]){ list->items[i].path }, 1, error))
			return false;
	if (root != NULL && !bp_spares_inputs(out, "-o", &root, 1, error))
		return false;
	int lock;
	if (!bp_output_claim(out, &lock, error))
		return false;
	const bool good = bp_output_is_free(out, force, error) &&
			  bp_output_is_free(copying.base, false, error) &&
			  write_into(&copying, list, root, out, force, error);
	bp_output_release(lock);
	if (!good)
		return false;
	*ret_sums = copying.sums;
	return true;
}
