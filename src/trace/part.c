/* SPDX-License-Identifier: MIT */
/*
 * Finding the folded part. A folder holds FILE locked while it puts the new FILE.fold in the place
 * of the old one and gives back the chunks of FILE that it stands for; readers lock FILE too, all
 * of them together, so that they see both files as they belong together. See part.h.
 *
 * Anybody who can read FILE can keep its lock for ever. So a reader that has waited long enough
 * reads without it, and looks at the end whether FILE.fold is the file that it was: chunks are
 * given back only after a new one was put in its place.
 */
#include "trace/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/lock.h"

void bp_trace_part_lock(struct bp_trace_reader *reader)
{
	reader->part.unlocked = !bp_trace_lock(reader->fd, LOCK_SH) && errno == EWOULDBLOCK;
}

bool bp_trace_part_check(const struct bp_trace_reader *reader, struct bp_error *error)
{
	const struct bp_trace_part *part = &reader->part;
	const struct bp_place place = { part->folder, part->path };
	char holder[BP_TRACE_HOLDER_BYTES];
	struct stat status;
	if (!part->unlocked)
		return true;
	const bool found =
		fstatat(part->folder, bp_place_name(&place), &status, AT_SYMLINK_NOFOLLOW) == 0;
	/* The one that was opened is open, so that no other file has its number by now. */
	if (found == part->was_there &&
		(!found || (status.st_dev == part->device && status.st_ino == part->inode)))
		return true;
	bp_trace_lock_holder(reader->fd, holder);
	return bp_error_set(error,
		"trace: it was folded while it was read, for %s holds its lock (flock): read it "
		"again when that has ended",
		holder);
}

void bp_trace_part_close(struct bp_trace_part *part)
{
	if (part->is_open)
		close(part->fd);
	free(part->path);
	bp_trace_held_finish(&part->held);
	bp_trace_clock_finish(&part->clock);
	memset(part, 0, sizeof *part);
}

/* Is what lies at FILE.fold the folded part of this trace? Its strings need not be looked at. */
static bool belongs(const struct bp_trace_reader *reader, int fd)
{
	struct bp_trace_header header;
	return pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
	       memcmp(header.magic, BP_TRACE_MAGIC, sizeof header.magic) == 0 &&
	       header.version_major == BP_TRACE_MAJOR && header.flags_fatal == 0 &&
	       header.chunk_bytes == BP_CHUNK_BYTES &&
	       (header.flags_skippable & BP_HEADER_FOLDED) != 0 &&
	       memcmp(header.trace_id, reader->header.trace_id, sizeof header.trace_id) == 0;
}

static uint64_t chunks_reserved(int fd)
{
	const off_t at = BP_STATE_OFFSET + offsetof(struct bp_trace_state, chunks_reserved);
	uint64_t chunks;
	return pread(fd, &chunks, sizeof chunks, at) == (ssize_t)sizeof chunks ? chunks : 1;
}

bool bp_trace_part_adopt(struct bp_trace_reader *reader, int fd)
{
	struct stat status;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !belongs(reader, fd))
		return false;
	reader->part.fd = fd;
	reader->part.is_open = true;
	reader->part.file_bytes = (uint64_t)status.st_size;
	reader->part.chunks_reserved = chunks_reserved(fd);
	return true;
}

bool bp_trace_part_open(
	struct bp_trace_reader *reader, const struct bp_place *place, struct bp_error *error)
{
	char name[4096 + sizeof BP_FOLDED_SUFFIX];
	const char *path = place->path;
	const struct bp_place part = { place->folder, name };
	struct stat status;
	const size_t length = strlen(path);
	if (length >= 4096)
		return true;
	memcpy(name, path, length);
	memcpy(name + length, BP_FOLDED_SUFFIX, sizeof BP_FOLDED_SUFFIX);
	if (reader->part.unlocked && (reader->part.path = strdup(name)) == NULL)
		return bp_error_set(error, "%s: out of memory", path);
	reader->part.folder = place->folder;
	const int fd = bp_place_open(&part, O_RDONLY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return true;
	if (fd < 0)
		return bp_error_set(error,
			"%s: the folded part of %s cannot be opened: %s: they are read together",
			name, path, strerror(errno));
	const bool known = fstat(fd, &status) == 0;
	reader->part.was_there = true;
	reader->part.device = known ? status.st_dev : 0;
	reader->part.inode = known ? status.st_ino : 0;
	if (!bp_trace_part_adopt(reader, fd))
		close(fd);
	return true;
}

enum bp_trace_added bp_trace_part_take(
	struct bp_trace_reader *reader, const struct bp_trace_record *record)
{
	struct bp_trace_part *part = &reader->part;
	if (record->tag == BP_TAG_TICKS)
		return bp_trace_clock_add(&part->clock, &record->ticks);
	if (record->tag == BP_TAG_HELD)
		return bp_trace_held_add(&part->held, &record->ranges);
	if (record->tag == BP_TAG_FOLDED && record->folded.tick_end > part->clock.count)
		return BP_TRACE_NOT_IN_ORDER;
	return BP_TRACE_ADDED;
}
