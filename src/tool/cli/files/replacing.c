/* SPDX-License-Identifier: MIT */
/*
 * See replacing.h. Two names are one file if device and inode are the same, so hard and symbolic
 * links are seen through. A name that does not exist yet is compared by its folder and its last
 * part: a new file called FILE.fold would be read as a part of FILE from then on.
 */
#include "cli/files/replacing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/path.h"
#include "base/place.h"
#include "cli/files/tree.h"
#include "jit/jit_file.h"
#include "resident/mappings_file.h"
#include "resident/pages/pages_file.h"
#include "resident/resident_file.h"
#include "trace/format.h"

#define MAGIC_BYTES 8
#define NETTRACE_MAGIC "Nettrace"
#define FOLDER_SUFFIX ".d"

/* What a recording of `run` consists of beside FILE. */
static const char *const pieces[] = { FOLDER_SUFFIX, BP_FOLDED_SUFFIX, BP_FOLDED_SUFFIX ".new",
	BP_RESIDENT_SUFFIX, BP_JIT_SUFFIX, BP_MAPPINGS_SUFFIX, BP_PAGES_SUFFIX };

/* A text file beside FILE may be somebody else's, and is left where it is then. */
static bool is_foreign_text(const char *path, const char *suffix)
{
	return (strcmp(suffix, BP_RESIDENT_SUFFIX) == 0 && !bp_resident_is_ours(path)) ||
	       (strcmp(suffix, BP_JIT_SUFFIX) == 0 && !bp_jit_file_is_ours(path)) ||
	       (strcmp(suffix, BP_MAPPINGS_SUFFIX) == 0 && !bp_mappings_is_ours(path)) ||
	       (strcmp(suffix, BP_PAGES_SUFFIX) == 0 && !bp_pages_is_ours(path));
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* PATH and SUFFIX; false: too long. */
static bool join(const char *path, const char *suffix, char *ret_joined)
{
	const int length = snprintf(ret_joined, PATH_MAX, "%s%s", path, suffix);
	return length >= 0 && length < PATH_MAX;
}

/* Reads the first bytes; how many there are, or -1. */
static ssize_t read_magic(const char *path, char magic[MAGIC_BYTES])
{
	struct stat status;
	const int descriptor =
		open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (descriptor < 0)
		return -1;
	ssize_t got = -1;
	if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
		got = pread(descriptor, magic, MAGIC_BYTES, 0);
	close(descriptor);
	return got;
}

enum bp_recording_kind bp_recording_kind_of(const char *path)
{
	char magic[MAGIC_BYTES];
	const ssize_t got = read_magic(path, magic);
	if (got == 0)
		return BP_RECORDING_EMPTY;
	if (got == MAGIC_BYTES && memcmp(magic, BP_TRACE_MAGIC, MAGIC_BYTES) == 0)
		return BP_RECORDING_TRACE;
	if (got == MAGIC_BYTES && memcmp(magic, NETTRACE_MAGIC, MAGIC_BYTES) == 0)
		return BP_RECORDING_NETTRACE;
	return BP_RECORDING_NONE;
}

/* ---- inputs ---- */

static bool stat_folder_of(const char *path, struct stat *ret_status)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	if (slash == NULL)
		return stat(".", ret_status) == 0;
	snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return stat(folder, ret_status) == 0;
}

/* Is one of the files in the folder this one? */
static bool has_file(const char *folder, const struct stat *wanted)
{
	struct dirent *entry;
	struct stat status;
	bool found = false;
	DIR *stream = opendir(folder);
	while (stream != NULL && !found && (entry = readdir(stream)) != NULL)
		found = fstatat(dirfd(stream), entry->d_name, &status, 0) == 0 &&
			is_same(&status, wanted);
	if (stream != NULL)
		closedir(stream);
	return found;
}

/* Does `path` name FILE.fold or the like, or something in FILE.d, whether or not it is there? */
static bool is_named_as_piece(const char *path, const char *piece)
{
	struct stat folder, folder_of_piece;
	if (!stat_folder_of(path, &folder))
		return false;
	if (stat(piece, &folder_of_piece) == 0 && S_ISDIR(folder_of_piece.st_mode) &&
		is_same(&folder, &folder_of_piece))
		return true;
	return strcmp(bp_last_part(path), bp_last_part(piece)) == 0 &&
	       stat_folder_of(piece, &folder_of_piece) && is_same(&folder, &folder_of_piece);
}

/* Does `path` belong to the trace `file`? `output`: its status; NULL: it does not exist. */
static bool is_piece(const char *path, const struct stat *output, const char *file)
{
	char piece[PATH_MAX];
	struct stat status;
	for (size_t i = 0; i < BP_COUNT(pieces); i++) {
		if (!join(file, pieces[i], piece))
			continue;
		if (is_named_as_piece(path, piece))
			return true;
		if (output != NULL && stat(piece, &status) == 0 &&
			(is_same(&status, output) ||
				(S_ISDIR(status.st_mode) && has_file(piece, output))))
			return true;
	}
	return false;
}

/* The trace of whose FILE.d `file` is a part; false: of none. */
static bool owner_of(const char *file, char *ret_owner)
{
	const char *slash = strrchr(file, '/');
	const size_t suffix = sizeof FOLDER_SUFFIX - 1;
	if (slash == NULL || (size_t)(slash - file) <= suffix || slash - file >= PATH_MAX ||
		memcmp(slash - suffix, FOLDER_SUFFIX, suffix) != 0)
		return false;
	snprintf(ret_owner, PATH_MAX, "%.*s", (int)(slash - file - (ssize_t)suffix), file);
	return true;
}

/* Reads through symbolic links, as the importers do. */
static bool is_trace(const char *file)
{
	char resolved[PATH_MAX];
	return realpath(file, resolved) != NULL &&
	       bp_recording_kind_of(resolved) == BP_RECORDING_TRACE;
}

bool bp_spares_inputs(const char *path, const char *option, const char *const *files, size_t count,
	struct bp_error *error)
{
	struct stat output, input;
	const bool exists = stat(path, &output) == 0;
	for (size_t i = 0; i < count; i++) {
		char owner[PATH_MAX];
		const char *file = files[i];
		if (exists && stat(file, &input) == 0 && is_same(&input, &output))
			return bp_error_set(error,
				"%s is one of the files to be read: choose another %s", path,
				option);
		if (is_trace(file) && is_piece(path, exists ? &output : NULL, file))
			return bp_error_set(error,
				"%s belongs to %s, which is to be read: choose another %s", path,
				file, option);
		if (owner_of(file, owner) && is_trace(owner) &&
			is_piece(path, exists ? &output : NULL, owner))
			return bp_error_set(error,
				"%s belongs to %s, as %s does: choose another %s", path, owner,
				file, option);
	}
	return true;
}

/* ---- what a recording may replace ---- */

/* A part of a recording that was cut short has no header yet. */
static bool is_unwritten(const char *path)
{
	static const char nothing[MAGIC_BYTES];
	char magic[MAGIC_BYTES];
	return read_magic(path, magic) == MAGIC_BYTES && memcmp(magic, nothing, MAGIC_BYTES) == 0;
}

static bool is_part(const char *path)
{
	const enum bp_recording_kind kind = bp_recording_kind_of(path);
	return kind == BP_RECORDING_TRACE || kind == BP_RECORDING_EMPTY || is_unwritten(path);
}

static bool spares_folder(const char *folder, struct bp_error *error)
{
	struct stat status;
	struct dirent *entry;
	bool good = true;
	if (lstat(folder, &status) != 0)
		return true;
	if (!S_ISDIR(status.st_mode))
		return bp_error_set(error, "%s is no folder: choose another -o", folder);
	/* Looked at once more when it is removed, by its descriptor (tree.h). */
	if (!bp_place_is_own(&status))
		return bp_error_set(error,
			"%s is not a folder of this user's that nobody else can write to: look at "
			"it and remove it, or choose another -o",
			folder);
	DIR *stream = opendir(folder);
	if (stream == NULL)
		return bp_error_set(
			error, "%s cannot be read: %s: choose another -o", folder, strerror(errno));
	while (good && (entry = readdir(stream)) != NULL) {
		char path[PATH_MAX + sizeof entry->d_name];
		const char *name = entry->d_name;
		snprintf(path, sizeof path, "%s/%s", folder, name);
		good = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		       (bp_tree_keeps(name) && (strstr(name, ".bpt") == NULL || is_part(path))) ||
		       bp_error_set(error,
			       "%s holds %s, which is no recording of bytepoll: choose another -o",
			       folder, name);
	}
	closedir(stream);
	return good;
}

bool bp_spares_strangers(const char *path, enum bp_recording_kind kind, struct bp_error *error)
{
	struct stat status;
	char piece[PATH_MAX];
	if (lstat(path, &status) == 0) {
		const enum bp_recording_kind found = bp_recording_kind_of(path);
		if (!S_ISREG(status.st_mode))
			return bp_error_set(
				error, "%s is no regular file: choose another -o", path);
		if (found != kind && found != BP_RECORDING_EMPTY &&
			!(kind == BP_RECORDING_TRACE && is_unwritten(path)))
			return bp_error_set(error,
				"%s exists and is no %s, so nothing replaces it: choose another "
				"-o, or remove it",
				path,
				kind == BP_RECORDING_TRACE ? "recording of bytepoll"
							   : ".nettrace file");
	}
	if (kind != BP_RECORDING_TRACE)
		return true;
	if (join(path, FOLDER_SUFFIX, piece) && !spares_folder(piece, error))
		return false;
	for (size_t i = 0; i < BP_COUNT(pieces); i++)
		if (join(path, pieces[i], piece) && lstat(piece, &status) == 0 &&
			strcmp(pieces[i], FOLDER_SUFFIX) != 0 &&
			strcmp(pieces[i], BP_RESIDENT_SUFFIX) != 0 &&
			strcmp(pieces[i], BP_JIT_SUFFIX) != 0 &&
			strcmp(pieces[i], BP_MAPPINGS_SUFFIX) != 0 &&
			strcmp(pieces[i], BP_PAGES_SUFFIX) != 0 && !is_part(piece))
			return bp_error_set(error,
				"%s exists and is no recording of bytepoll: choose another -o, or "
				"remove it",
				piece);
	return true;
}

/* ---- setting a recording aside ---- */

/* Renames FILE, and of a trace all that belongs to it: the parts whose bits are in `wanted`. What
 * is missing is passed over; `*ret_moved` gets the bits of what was renamed, on failure, too. */
static bool rename_all(const char *from, const char *to, enum bp_recording_kind kind,
	uint32_t wanted, uint32_t *ret_moved, struct bp_error *error)
{
	const size_t count = kind == BP_RECORDING_TRACE ? BP_COUNT(pieces) : 0;
	*ret_moved = 0;
	for (size_t i = 0; i <= count; i++) {
		const uint32_t bit = (uint32_t)1 << i;
		if ((wanted & bit) == 0)
			continue;
		const char *suffix = i < count ? pieces[i] : "";
		char old[PATH_MAX], new[PATH_MAX];
		if (!join(from, suffix, old) || !join(to, suffix, new))
			return bp_error_set(error, "%s: path too long", from);
		if (is_foreign_text(old, suffix))
			continue;
		/* Or by rename, on a file system that cannot promise to replace nothing. */
		if (renameat2(AT_FDCWD, old, AT_FDCWD, new, RENAME_NOREPLACE) == 0 ||
			(errno == EINVAL && access(new, F_OK) != 0 && rename(old, new) == 0)) {
			*ret_moved |= bit;
			continue;
		}
		if (errno == ENOENT)
			continue;
		return bp_error_set(error, "%s cannot be replaced: %s: choose another -o", old,
			strerror(errno));
	}
	return true;
}

bool bp_set_aside(const char *path, enum bp_recording_kind kind, struct bp_set_aside *ret_recording,
	struct bp_error *error)
{
	struct bp_set_aside recording = { .kind = kind };
	char suffix[32];
	snprintf(suffix, sizeof suffix, ".%ld.old", (long)getpid());
	if (!join(path, "", recording.path) || !join(path, suffix, recording.aside))
		return bp_error_set(error, "%s: path too long", path);
	if (!rename_all(
		    recording.path, recording.aside, kind, UINT32_MAX, &recording.moved, error)) {
		bp_set_aside_restore(&recording);
		return false;
	}
	*ret_recording = recording;
	return true;
}

void bp_set_aside_restore(struct bp_set_aside *recording)
{
	uint32_t moved;
	if (recording->path[0] != '\0')
		(void)rename_all(recording->aside, recording->path, recording->kind,
			recording->moved, &moved, NULL);
	*recording = (struct bp_set_aside){ 0 };
}

bool bp_set_aside_remove(struct bp_set_aside *recording, struct bp_error *error)
{
	const bool good = recording->path[0] == '\0' || bp_tree_remove(recording->aside, error);
	*recording = (struct bp_set_aside){ 0 };
	return good;
}
