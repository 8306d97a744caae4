/* SPDX-License-Identifier: MIT */
/*
 * One folding, from the lock to the unlock. In the order of this file: opening and checking what is
 * there, choosing the clock, writing FILE.fold, giving back the chunks.
 *
 * The clock: stretches of 10 ms times a power of two, so that a run has 1000 of them at most, and
 * no finer than the clock so far. If that makes FILE.fold larger than wished the stretches are
 * doubled, down to 64 of them: less would say too little about the run to be worth the disk.
 *
 * The new FILE.fold is read back before it is put in its place: what was in the chunks is nowhere
 * else once they are given back, and a damaged FILE may hold what no test here has thought of.
 *
 * What happened in the last tenth of a second of a process that still runs is not folded: a thread
 * may have a record of then in its hands yet.
 */
#include "fold/fold.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place.h"
#include "base/vec.h"
#include "fold/build.h"
#include "fold/gather.h"
#include "fold/ticks.h"
#include "trace/lock.h"

#define TEMPORARY_SUFFIX BP_FOLDED_SUFFIX ".new"
#define RESOLUTION_FINEST_NS 10000000u
#define STRETCHES_MOST 1000u
#define STRETCHES_LEAST 64u
#define MARGIN_NS 100000000u
/* Fewer new chunks are not worth writing FILE.fold again. */
#define CHUNKS_LEAST 4u

struct folding {
	const char *path;
	char part_path[PATH_MAX], temporary_path[PATH_MAX];
	struct bp_place file, part, temporary; /* all in one folder, which is open */
	int fd, part_fd;
	uid_t owner;
	gid_t group;
	struct bp_gathered gathered;
	struct bp_fold_curve curve;
	struct bp_trace_held held;
	struct bp_trace_clock clock;
	struct bp_fold_output output;
	struct bp_error *error;
};

static uint64_t disk_bytes(const struct bp_place *place)
{
	struct stat status;
	return fstatat(place->folder, bp_place_name(place), &status, 0) == 0
		       ? (uint64_t)status.st_blocks * 512
		       : 0;
}

uint64_t bp_fold_disk_bytes(const char *path)
{
	char part[PATH_MAX];
	const int length = snprintf(part, sizeof part, "%s" BP_FOLDED_SUFFIX, path);
	const struct bp_place file = { AT_FDCWD, path }, folded = { AT_FDCWD, part };
	if (length < 0 || (size_t)length >= sizeof part)
		return disk_bytes(&file);
	return disk_bytes(&file) + disk_bytes(&folded);
}

static bool fail(struct folding *folding, const char *what)
{
	return bp_error_set(folding->error, "%s: %s: %s", folding->path, what, strerror(errno));
}

static bool check_header(struct folding *folding, int fd, const char *path, bool is_part)
{
	struct bp_gathered *gathered = &folding->gathered;
	struct bp_trace_header header;
	uint8_t head[BP_HEADER_MAX_BYTES] = { 0 };
	if (pread(fd, head, sizeof head, 0) < 0)
		return fail(folding, "cannot be read");
	memcpy(&header, head, sizeof header);
	if (memcmp(header.magic, BP_TRACE_MAGIC, sizeof header.magic) != 0 ||
		header.version_major != BP_TRACE_MAJOR || header.flags_fatal != 0 ||
		header.chunk_bytes != BP_CHUNK_BYTES || header.header_bytes < sizeof header ||
		header.header_bytes > sizeof head ||
		bp_checksum(head + BP_HEADER_CHECKED_FROM,
			header.header_bytes - BP_HEADER_CHECKED_FROM) != header.checksum)
		return bp_error_set(folding->error,
			"%s: is not a trace that can be folded: see what `bytepoll report` says "
			"of it",
			path);
	if (!is_part && (header.flags_skippable & BP_HEADER_FOLDED) != 0)
		return bp_error_set(folding->error,
			"%s: is the folded part of a trace already: name the trace", path);
	if (is_part && ((header.flags_skippable & BP_HEADER_FOLDED) == 0 ||
			       memcmp(header.trace_id, gathered->header.trace_id,
				       sizeof header.trace_id) != 0))
		return bp_error_set(folding->error, "%s: does not belong to %s: move it away first",
			path, folding->path);
	if (!is_part) {
		gathered->header = header;
		memcpy(gathered->head, head, sizeof head);
	}
	return true;
}

/* Locks FILE. `*ret_busy`: somebody else holds it and we do not wait. */
static bool lock(struct folding *folding, bool wait, bool *ret_busy)
{
	char holder[BP_TRACE_HOLDER_BYTES];
	const bool locked = wait ? bp_trace_lock(folding->fd, LOCK_EX)
				 : flock(folding->fd, LOCK_EX | LOCK_NB) == 0;
	struct stat status;
	*ret_busy = false;
	/* One that `run` has packed, or that was removed, is not there any more. */
	if (locked && fstat(folding->fd, &status) == 0 && status.st_nlink == 0)
		return bp_error_set(
			folding->error, "%s: was removed while it was waited for", folding->path);
	if (locked)
		return true;
	if (errno != EWOULDBLOCK)
		return fail(folding, "cannot be locked");
	*ret_busy = !wait;
	if (!wait)
		return true;
	bp_trace_lock_holder(folding->fd, holder);
	return bp_error_set(folding->error,
		"%s: %s reads or folds it and went on while this was waited for: nothing was "
		"folded; fold it when that has ended",
		folding->path, holder);
}

/* What root makes for the owner of a trace is given to that owner: only in a folder where the
 * owner, or root alone, could have put it. */
static bool check_folder(struct folding *folding)
{
	struct stat status;
	if (folding->owner == geteuid())
		return true;
	if (fstat(folding->file.folder, &status) != 0)
		return fail(folding, "its folder cannot be looked at");
	return status.st_uid == folding->owner || status.st_uid == 0 ||
	       bp_error_set(folding->error,
		       "%s: lies in a folder that belongs neither to its owner nor to root, and "
		       "was not folded: let its owner fold it",
		       folding->path);
}

static bool open_trace(struct folding *folding)
{
	struct stat status;
	folding->fd = bp_place_open(&folding->file, O_RDWR);
	if (folding->fd < 0 && errno == EISDIR)
		return bp_error_set(
			folding->error, "%s: is a directory: name a trace file", folding->path);
	if (folding->fd < 0)
		return fail(folding, "cannot be opened for folding");
	if (fstat(folding->fd, &status) != 0)
		return fail(folding, "cannot be looked at");
	if (!S_ISREG(status.st_mode))
		return bp_error_set(folding->error, "%s: is not a regular file: name a trace file",
			folding->path);
	/* Only who may steer the recording may fold it: the owner of the file, and root. */
	if (status.st_uid != geteuid() && geteuid() != 0)
		return bp_error_set(folding->error,
			"%s: belongs to another user: only its owner can fold it", folding->path);
	folding->owner = status.st_uid;
	folding->group = status.st_gid;
	return check_folder(folding);
}

static bool open_part(struct folding *folding)
{
	folding->part_fd = bp_place_open(&folding->part, O_RDONLY);
	if (folding->part_fd < 0)
		return errno == ENOENT || bp_error_set(folding->error, "%s: cannot be opened: %s",
						  folding->part_path, strerror(errno));
	return check_header(folding, folding->part_fd, folding->part_path, true);
}

/* The ranges of chunks that FILE.fold will stand for: those so far and the new ones, merged. */
static bool merge_held(struct folding *folding)
{
	const struct bp_gathered *gathered = &folding->gathered;
	struct bp_trace_held *held = &folding->held;
	uint32_t before = 0, now = 0;
	if (!bp_vec_reserve(&held->ranges, &held->capacity,
		    (uint64_t)gathered->held.count + gathered->chunk_count + 1,
		    sizeof *held->ranges))
		return bp_error_set(folding->error, "%s: out of memory", folding->path);
	while (before < gathered->held.count || now < gathered->chunk_count) {
		struct bp_trace_range next;
		if (now == gathered->chunk_count ||
			(before < gathered->held.count &&
				gathered->held.ranges[before].first < gathered->chunks[now]))
			next = gathered->held.ranges[before++];
		else
			next = (struct bp_trace_range){ gathered->chunks[now++], 1 };
		struct bp_trace_range *last =
			held->count == 0 ? NULL : &held->ranges[held->count - 1];
		if (last != NULL && last->first + last->count == next.first)
			last->count += next.count;
		else
			held->ranges[held->count++] = next;
	}
	return true;
}

/* The last moment that may be folded. */
static uint64_t fold_until(const struct bp_gathered *gathered)
{
	const uint64_t before = gathered->clock.count == 0
					? 0
					: gathered->clock.ticks[gathered->clock.count - 1].time_ns;
	uint64_t until = gathered->last_ns;
	if (gathered->state.state == 0)
		until = until > MARGIN_NS ? until - MARGIN_NS : 0;
	if (until > gathered->last_ours_ns)
		until = gathered->last_ours_ns;
	return until > before ? until : before;
}

static bool build(struct folding *folding, uint64_t until_ns, uint64_t resolution_ns)
{
	struct bp_gathered *gathered = &folding->gathered;
	bp_trace_clock_finish(&folding->clock);
	bp_fold_output_finish(&folding->output);
	bp_fold_output_init(&folding->output);
	return bp_fold_choose_ticks(&folding->curve, gathered->header.start_monotonic_ns, until_ns,
		       resolution_ns, &folding->clock, folding->error) &&
	       bp_fold_build(
		       gathered, &folding->clock, &folding->held, &folding->output, folding->error);
}

static bool make_part(struct folding *folding, uint64_t wanted_bytes)
{
	struct bp_gathered *gathered = &folding->gathered;
	const uint64_t until = fold_until(gathered), start = gathered->header.start_monotonic_ns;
	const uint64_t length = until > start ? until - start : 0;
	uint64_t resolution = gathered->clock.resolution_ns;
	if (resolution < RESOLUTION_FINEST_NS)
		resolution = RESOLUTION_FINEST_NS;
	while (length / resolution >= STRETCHES_MOST)
		resolution *= 2;
	bp_fold_sort_readings(gathered);
	if (!merge_held(folding) || !bp_fold_curve_make(&folding->curve, gathered, folding->error))
		return false;
	for (;;) {
		if (!build(folding, until, resolution))
			return false;
		if (wanted_bytes == 0 ||
			(uint64_t)folding->output.chunks * BP_CHUNK_BYTES <= wanted_bytes ||
			length / resolution / 2 < STRETCHES_LEAST)
			return true;
		resolution *= 2;
	}
}

static bool write_all(int fd, const uint8_t *data, size_t bytes)
{
	while (bytes > 0) {
		const ssize_t written = write(fd, data, bytes);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		data += written;
		bytes -= (size_t)written;
	}
	return true;
}

/* Asked of the new file, so that nothing happens to FILE where it cannot be done. */
static bool can_punch(int fd)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, BP_CHUNK_BYTES) == 0;
}

static bool fill_temporary(struct folding *folding, int fd)
{
	if (folding->owner != geteuid() && fchown(fd, folding->owner, folding->group) != 0)
		return fail(folding, "its folded part cannot be given to its owner");
	if (!can_punch(fd))
		return bp_error_set(folding->error,
			"%s: its file system cannot give back parts of a file (%s): nothing was "
			"folded; record to another one",
			folding->path, strerror(errno));
	if (!write_all(
		    fd, folding->output.bytes, (size_t)folding->output.chunks * BP_CHUNK_BYTES) ||
		fsync(fd) != 0)
		return bp_error_set(folding->error, "%s: cannot be written: %s: nothing was folded",
			folding->temporary_path, strerror(errno));
	return bp_fold_can_be_read(fd, &folding->held, folding->path, folding->error);
}

/* Makes a rename last: what it replaces is gone soon. Failing is no failure of ours. */
static void sync_folder(int folder)
{
	const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

/* Puts the new FILE.fold in its place. */
static bool write_part(struct folding *folding)
{
	const int folder = folding->file.folder;
	const char *temporary = bp_place_name(&folding->temporary);
	/* Left by a folder that was killed: nobody else is at work, we hold the lock. */
	unlinkat(folder, temporary, 0);
	const int fd = bp_place_open(&folding->temporary, O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return bp_error_set(folding->error, "%s: cannot be created: %s: nothing was folded",
			folding->temporary_path, strerror(errno));
	bool good = fill_temporary(folding, fd);
	close(fd);
	if (good && renameat(folder, temporary, folder, bp_place_name(&folding->part)) != 0)
		good = bp_error_set(folding->error,
			"%s: cannot be replaced: %s: nothing was folded", folding->part_path,
			strerror(errno));
	if (good)
		sync_folder(folder);
	else
		unlinkat(folder, temporary, 0);
	return good;
}

/* Gives back all chunks that FILE.fold stands for, also those of a folder that came not so far. */
static bool punch(struct folding *folding, const struct bp_trace_held *held)
{
	for (uint32_t i = 0; i < held->count; i++) {
		const struct bp_trace_range *range = &held->ranges[i];
		if (range->first == 0 || range->first + range->count > INT64_MAX / BP_CHUNK_BYTES)
			return bp_error_set(folding->error, "%s: is damaged", folding->part_path);
		if (fallocate(folding->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			    (off_t)(range->first * BP_CHUNK_BYTES),
			    (off_t)(range->count * BP_CHUNK_BYTES)) != 0)
			return fail(folding, "is folded, but its disk cannot be given back");
	}
	return true;
}

static bool fold_locked(struct folding *folding, const struct bp_fold_options *options,
	struct bp_fold_result *result)
{
	struct bp_gathered *gathered = &folding->gathered;
	result->bytes_before = result->bytes_after =
		disk_bytes(&folding->file) + disk_bytes(&folding->part);
	result->folded_bytes = disk_bytes(&folding->part);
	if (result->bytes_before < options->at_least)
		return true;
	if (!open_part(folding) || !bp_fold_gather(gathered, folding->fd, folding->part_fd,
					   options->keep_bytes, folding->path, folding->error))
		return false;
	if (gathered->chunk_count < CHUNKS_LEAST)
		return punch(folding, &gathered->held);
	if (!make_part(folding, options->folded_bytes))
		return false;
	result->chunks = gathered->chunk_count;
	/* Reading back takes their memory again. */
	bp_fold_gathered_finish(gathered);
	bp_fold_curve_finish(&folding->curve);
	if (!write_part(folding) || !punch(folding, &folding->held))
		return false;
	result->folded_bytes = disk_bytes(&folding->part);
	result->bytes_after = disk_bytes(&folding->file) + result->folded_bytes;
	result->resolution_ns = folding->clock.resolution_ns;
	result->until_ns = folding->clock.ticks[folding->clock.count - 1].time_ns;
	return true;
}

static bool fold_in_folder(struct folding *folding, const struct bp_fold_options *options,
	bool wait, struct bp_fold_result *ret_result)
{
	const char *path = folding->path;
	struct bp_fold_result result = { 0 };
	snprintf(folding->part_path, sizeof folding->part_path, "%s" BP_FOLDED_SUFFIX, path);
	const int length = snprintf(folding->temporary_path, sizeof folding->temporary_path,
		"%s" TEMPORARY_SUFFIX, path);
	if (length < 0 || (size_t)length >= sizeof folding->temporary_path)
		return bp_error_set(folding->error, "%s: path too long", path);
	if (!open_trace(folding) || !lock(folding, wait, &result.busy))
		return false;
	if (!result.busy && (!check_header(folding, folding->fd, path, false) ||
				    !fold_locked(folding, options, &result)))
		return false;
	*ret_result = result;
	return true;
}

bool bp_fold_in(int folder, const char *path, const struct bp_fold_options *options, bool wait,
	struct bp_fold_result *ret_result, struct bp_error *error)
{
	struct folding *folding = calloc(1, sizeof *folding);
	if (folding == NULL)
		return bp_error_set(error, "%s: out of memory", path);
	folding->path = path;
	folding->file = (struct bp_place){ folder, path };
	folding->part = (struct bp_place){ folder, folding->part_path };
	folding->temporary = (struct bp_place){ folder, folding->temporary_path };
	folding->fd = folding->part_fd = -1;
	folding->error = error;
	const bool good = fold_in_folder(folding, options, wait, ret_result);
	bp_fold_gathered_finish(&folding->gathered);
	bp_fold_curve_finish(&folding->curve);
	bp_fold_output_finish(&folding->output);
	bp_trace_held_finish(&folding->held);
	bp_trace_clock_finish(&folding->clock);
	if (folding->part_fd >= 0)
		close(folding->part_fd);
	if (folding->fd >= 0)
		close(folding->fd); /* and with it the lock */
	free(folding);
	return good;
}

bool bp_fold(const char *path, const struct bp_fold_options *options, bool wait,
	struct bp_fold_result *ret_result, struct bp_error *error)
{
	const int folder = bp_place_open_folder(path);
	if (folder < 0)
		return bp_error_set(
			error, "%s: cannot be opened for folding: %s", path, strerror(errno));
	const bool good = bp_fold_in(folder, path, options, wait, ret_result, error);
	close(folder);
	return good;
}
