/* SPDX-License-Identifier: MIT */
/*
 * The order makes the copy consistent:
 *
 *	1. sealed chunks, which never change again: the bulk
 *	2. the counters of all threads
 *	3. the cut: how much of each other chunk is committed, read until two rounds agree, so that all of
 *	   it was so at one moment
 *	4. the counters once more
 *	5. what was committed at the cut
 *	6. chunk 0: header, state page, and slots made of 2 and 4
 *
 * A thread's samples up to the counters of 2 are in the copy, since a thread that is in the middle
 * of writing one is not read but waited for; and no sample in the copy is newer than 4. So what the
 * process had allocated at the moment of the cut lies between the two sums: the slots get the first
 * as published and the difference as armed, which is nothing for a thread at rest and a few objects
 * for a busy one. 2 to 4 take microseconds, unless another process gets our processor in between:
 * so they are done several times, and the best is taken. A thread that is gone at 4 has written its
 * end before, which a second cut then takes in.
 *
 * The file may be folded meanwhile (docs/trace-format.md 5) unless the caller holds its lock.
 */
#include "cli/control/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system_call.h"
#include "cli/files/trace_bytes.h"
#include "cli/traced/live_threads.h"

#define CUT_ROUNDS 1000
#define TRIES 20
#define TRIES_NS 1000000000u /* and no new try after that */
#define GOOD_ENOUGH 256	     /* trials a thread */

/* What was found at one cut: the counters before and after, and how far each chunk was
 * committed. */
struct moment {
	struct bp_live_threads before, after;
	struct bp_chunk_header *headers; /* by chunk number; those copied before are not filled */
	uint64_t count, capacity;	 /* chunks, chunk 0 included */
	uint64_t open;			 /* trials that lie between the two readings */
	uint64_t time_ns;		 /* of the cut, by the clock of the process */
	uint64_t samples;
	bool torn;  /* no two rounds agreed */
	bool ended; /* a thread did, in between */
};

struct job {
	const struct bp_traced *traced;
	int to;
	const char *path;
	bool *copied; /* by chunk number: sealed, and in the copy for good */
	uint64_t copied_count;
	uint64_t length; /* of the copy */
	struct moment best, other;
	struct bp_snapshot snapshot;
};

static bool cannot_write(const char *path, struct bp_error *error)
{
	return bp_error_set(
		error, "%s cannot be written: %s: choose another -o", path, strerror(errno));
}

static bool cannot_read(const char *path, struct bp_error *error)
{
	return bp_error_set(error, "%s cannot be read: %s", path, strerror(errno));
}

/* Has a signal come that ends the command (INT, TERM, HUP), while the caller keeps it blocked? Then
 * the functions above fail soon. */
static bool is_stopped(void)
{
	sigset_t pending;
	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		       sigismember(&pending, SIGHUP) == 1);
}

static bool go_on(struct bp_error *error)
{
	return !is_stopped() || bp_error_set(error, "stopped by a signal");
}

static bool write_at(int descriptor, const void *data, size_t bytes, uint64_t offset)
{
	const char *from = data;
	while (bytes > 0) {
		ssize_t put = pwrite(descriptor, from, bytes, (off_t)offset);
		if (put <= 0 && errno != EINTR)
			return false;
		from += put > 0 ? put : 0;
		offset += put > 0 ? (uint64_t)put : 0;
		bytes -= put > 0 ? (size_t)put : 0;
	}
	return true;
}

static bool is_begun(const struct bp_chunk_header *header)
{
	return header->magic == BP_CHUNK_MAGIC && header->committed <= BP_PAYLOAD_BYTES;
}

static bool is_sealed(const struct bp_chunk_header *header)
{
	return is_begun(header) && header->kind == BP_CHUNK_RECORDS && header->sealed == 1;
}

/* Bytes of a chunk that the copy needs, its header included. */
static size_t needed_bytes(const struct bp_chunk_header *header)
{
	if (!is_begun(header))
		return 0;
	return header->kind == BP_CHUNK_RECORDS ? sizeof *header + header->committed
						: BP_CHUNK_BYTES;
}

/* Copies a chunk as far as `header` says, and under that header. */
static bool copy_chunk(struct job *job, uint64_t number, const struct bp_chunk_header *header,
	struct bp_error *error)
{
	static uint8_t buffer[BP_CHUNK_BYTES];
	const size_t bytes = needed_bytes(header);
	const uint64_t offset = number * BP_CHUNK_BYTES;
	if (bytes == 0)
		return true;
	if (!go_on(error))
		return false;
	if (!bp_trace_bytes_read(job->traced->descriptor, buffer, bytes, offset))
		return cannot_read(job->traced->path, error);
	memcpy(buffer, header, sizeof *header);
	if (!write_at(job->to, buffer, bytes, offset))
		return cannot_write(job->path, error);
	return true;
}

static uint64_t chunks_now(const struct bp_traced *traced)
{
	struct stat status;
	const uint64_t count = __atomic_load_n(&traced->state->chunks_reserved, __ATOMIC_ACQUIRE);
	if (fstat(traced->descriptor, &status) != 0)
		return 1;
	const uint64_t in_file = ((uint64_t)status.st_size + BP_CHUNK_BYTES - 1) / BP_CHUNK_BYTES;
	return count < in_file ? count : in_file;
}

static bool read_chunk_header(
	const struct job *job, uint64_t number, struct bp_chunk_header *ret_header)
{
	return bp_trace_bytes_read(
		job->traced->descriptor, ret_header, sizeof *ret_header, number * BP_CHUNK_BYTES);
}

static void lengthen(struct job *job, uint64_t number, const struct bp_chunk_header *header)
{
	const uint64_t end = number * BP_CHUNK_BYTES + needed_bytes(header);
	if (needed_bytes(header) != 0 && end > job->length)
		job->length = end;
}

/* Step 1. */
static bool copy_sealed(struct job *job, struct bp_error *error)
{
	const uint64_t count = chunks_now(job->traced);
	job->copied = calloc(count, sizeof *job->copied);
	if (job->copied == NULL)
		return bp_error_set(error, "out of memory");
	job->copied_count = count;
	for (uint64_t i = 1; i < count; i++) {
		struct bp_chunk_header header;
		if (!read_chunk_header(job, i, &header))
			return cannot_read(job->traced->path, error);
		if (!is_sealed(&header))
			continue;
		if (!copy_chunk(job, i, &header, error))
			return false;
		job->copied[i] = true;
		lengthen(job, i, &header);
	}
	return true;
}

static bool is_copied(const struct job *job, uint64_t number)
{
	return number < job->copied_count && job->copied[number];
}

/* Makes room for the chunks there are by now. */
static bool count_chunks(const struct job *job, struct moment *moment, struct bp_error *error)
{
	const uint64_t count = chunks_now(job->traced);
	if (count > moment->capacity) {
		void *grown = realloc(moment->headers, count * sizeof *moment->headers);
		if (grown == NULL)
			return bp_error_set(error, "out of memory");
		moment->headers = grown;
		moment->capacity = count;
	}
	if (count > moment->count)
		memset(moment->headers + moment->count, 0,
			(count - moment->count) * sizeof *moment->headers);
	moment->count = count;
	return true;
}

/* One round over the chunks that still change; `*ret_same` if nothing did since the last one. */
static bool look_round(
	const struct job *job, struct moment *moment, bool *ret_same, struct bp_error *error)
{
	const uint64_t count = moment->count;
	if (!count_chunks(job, moment, error))
		return false;
	bool same = moment->count == count;
	for (uint64_t i = 1; i < moment->count; i++) {
		struct bp_chunk_header header;
		if (is_copied(job, i))
			continue;
		if (!read_chunk_header(job, i, &header))
			return cannot_read(job->traced->path, error);
		same = same && header.magic == moment->headers[i].magic &&
		       header.committed == moment->headers[i].committed;
		moment->headers[i] = header;
	}
	*ret_same = same;
	return true;
}

/* Step 3. */
static bool cut(const struct job *job, struct moment *moment, struct bp_error *error)
{
	bool same = false;
	moment->count = 0;
	moment->time_ns = bp_clock_machine_ns() + job->traced->header.clock_offset_ns;
	for (int i = 0; i < CUT_ROUNDS && !same; i++)
		if (!look_round(job, moment, &same, error))
			return false;
	moment->torn = !same;
	moment->samples = __atomic_load_n(&job->traced->state->samples, __ATOMIC_RELAXED);
	return true;
}

/* The slot that says of a thread what the two readings know. */
static struct bp_thread_slot merged_slot(
	const struct moment *moment, const struct bp_live_thread *after)
{
	const struct bp_live_thread *before =
		bp_live_threads_find(&moment->before, after->slot.ordinal);
	struct bp_thread_slot slot = after->slot;
	slot.generation = 0;
	slot.trials = before != NULL ? before->trials_low : 0;
	slot.objects = before != NULL ? before->objects_low : 0;
	const uint64_t trials =
		after->trials_high > slot.trials ? after->trials_high - slot.trials : 0;
	const uint64_t objects =
		after->objects_high > slot.objects ? after->objects_high - slot.objects : 0;
	slot.armed = trials > objects ? trials : objects;
	return slot;
}

/* Steps 2 to 4. */
static bool look(const struct job *job, struct moment *moment, struct bp_error *error)
{
	if (!bp_live_threads_read(job->traced, true, &moment->before, error) ||
		!cut(job, moment, error) ||
		!bp_live_threads_read(job->traced, true, &moment->after, error))
		return false;
	moment->open = 0;
	moment->ended = false;
	for (uint32_t i = 0; i < moment->after.count; i++)
		moment->open += merged_slot(moment, &moment->after.items[i]).armed;
	for (uint32_t i = 0; i < moment->before.count && !moment->ended; i++)
		moment->ended = bp_live_threads_find(&moment->after,
					moment->before.items[i].slot.ordinal) == NULL;
	return true;
}

static bool is_better(const struct moment *a, const struct moment *b)
{
	if (a->torn + a->ended != b->torn + b->ended)
		return a->torn + a->ended < b->torn + b->ended;
	return a->open < b->open;
}

static bool is_good(const struct moment *moment)
{
	return !moment->torn && !moment->ended &&
	       (moment->open <= (uint64_t)GOOD_ENOUGH * moment->after.count ||
		       moment->after.refused != 0);
}

/* The best of several tries, as many as a second allows. */
static bool find_moment(struct job *job, struct bp_error *error)
{
	const uint64_t end_ns = bp_system_time_ns(CLOCK_MONOTONIC) + TRIES_NS;
	if (!look(job, &job->best, error))
		return false;
	for (int i = 1;
		i < TRIES && !is_good(&job->best) && bp_system_time_ns(CLOCK_MONOTONIC) < end_ns;
		i++) {
		if (!go_on(error) || !look(job, &job->other, error))
			return false;
		if (!is_better(&job->other, &job->best))
			continue;
		const struct moment better = job->other;
		job->other = job->best;
		job->best = better;
	}
	/* Every time a thread ended: what it left is taken in, and all that was written until
	 * then. */
	return !job->best.ended || cut(job, &job->best, error);
}

/* Step 5. */
static bool copy_open(struct job *job, struct bp_error *error)
{
	for (uint64_t i = 1; i < job->best.count; i++) {
		struct bp_chunk_header header = job->best.headers[i];
		if (is_copied(job, i))
			continue;
		if (!is_sealed(&header))
			header.sealed = 0;
		if (!copy_chunk(job, i, &header, error))
			return false;
		lengthen(job, i, &header);
	}
	return true;
}

/* Slots of chunks beyond chunk 0 were copied as they were: none of them counts but those written
 * here. */
static bool clear_slots(struct job *job, struct bp_error *error)
{
	static const uint8_t zeros[BP_PAYLOAD_BYTES];
	for (uint64_t i = 1; i < job->best.count; i++) {
		const struct bp_chunk_header *header = &job->best.headers[i];
		if (!is_copied(job, i) && is_begun(header) && header->kind == BP_CHUNK_THREADS &&
			!write_at(
				job->to, zeros, sizeof zeros, i * BP_CHUNK_BYTES + sizeof *header))
			return cannot_write(job->path, error);
	}
	return true;
}

static bool write_slots(struct job *job, struct bp_error *error)
{
	if (!clear_slots(job, error))
		return false;
	for (uint32_t i = 0; i < job->best.after.count; i++) {
		const struct bp_live_thread *thread = &job->best.after.items[i];
		const struct bp_thread_slot slot = merged_slot(&job->best, thread);
		/* A chunk of slots that was begun after the cut is not in the copy. */
		if (thread->offset < job->best.count * BP_CHUNK_BYTES &&
			!write_at(job->to, &slot, sizeof slot, thread->offset))
			return cannot_write(job->path, error);
		job->snapshot.unread += !thread->current;
	}
	return true;
}

/* Step 6. */
static bool write_head(struct job *job, struct bp_error *error)
{
	static uint8_t head[BP_SLOTS_OFFSET];
	struct bp_trace_state *state = (struct bp_trace_state *)(head + BP_STATE_OFFSET);
	if (!bp_trace_bytes_read(job->traced->descriptor, head, sizeof head, 0))
		return cannot_read(job->traced->path, error);
	if (state->state == 1)
		return bp_error_set(error,
			"the process of %s ended while it was copied: its trace is whole now, "
			"report it instead",
			job->traced->path);
	/* Chunks that were handed out and not begun are not in the copy. */
	state->chunks_reserved = (job->length - 1) / BP_CHUNK_BYTES + 1;
	state->samples = job->best.samples;
	state->end_time_ns = job->best.time_ns;
	if (!write_slots(job, error))
		return false;
	if (!write_at(job->to, head, sizeof head, 0) || ftruncate(job->to, (off_t)job->length) != 0)
		return cannot_write(job->path, error);
	return true;
}

static bool copy_all(struct job *job, struct bp_error *error)
{
	if (!copy_sealed(job, error) || !find_moment(job, error) || !copy_open(job, error) ||
		!write_head(job, error))
		return false;
	job->snapshot.bytes = job->length;
	job->snapshot.samples = job->best.samples;
	job->snapshot.unknown = job->best.open;
	job->snapshot.threads = job->best.after.count;
	job->snapshot.refused = job->best.after.refused;
	job->snapshot.torn = job->best.torn;
	return true;
}

static void finish_moment(struct moment *moment)
{
	bp_live_threads_finish(&moment->before);
	bp_live_threads_finish(&moment->after);
	free(moment->headers);
}

static int create(const struct bp_place *place, struct bp_error *error)
{
	int descriptor = bp_place_open(place, O_RDWR | O_CREAT | O_EXCL);
	if (descriptor < 0)
		bp_error_set(error, "%s cannot be created: %s: choose another -o", place->path,
			strerror(errno));
	return descriptor;
}

/* Closes a file that was created and written; takes it away again if that failed. */
static bool finish_copy(
	const struct bp_place *place, int descriptor, bool good, struct bp_error *error)
{
	if (close(descriptor) != 0 && good)
		good = cannot_write(place->path, error);
	if (!good)
		unlinkat(place->folder, bp_place_name(place), 0);
	return good;
}

bool bp_snapshot_write_open(const struct bp_traced *traced, int descriptor, const char *name,
	struct bp_snapshot *ret_snapshot, struct bp_error *error)
{
	struct job job = {
		.traced = traced, .to = descriptor, .path = name, .length = BP_CHUNK_BYTES
	};
	const bool good = copy_all(&job, error);
	if (good)
		*ret_snapshot = job.snapshot;
	finish_moment(&job.best);
	finish_moment(&job.other);
	free(job.copied);
	return good;
}

bool bp_snapshot_write(const struct bp_traced *traced, const struct bp_place *to,
	struct bp_snapshot *ret_snapshot, struct bp_error *error)
{
	const int target = create(to, error);
	if (target < 0)
		return false;
	const bool good = bp_snapshot_write_open(traced, target, to->path, ret_snapshot, error);
	return finish_copy(to, target, good, error);
}

static bool is_zero(const uint8_t *data, size_t bytes)
{
	return bytes == 0 || (data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0);
}

/* The next piece of data from `*offset` on: moves that over holes and returns the bytes to be read
 * there, at most a chunk; 0: no more data. Where a file system cannot tell, all of it is data. */
static size_t next_piece(int source, uint64_t *offset, uint64_t length)
{
	const off_t data = lseek(source, (off_t)*offset, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		*offset = length;
	else if (data > (off_t)*offset)
		*offset = (uint64_t)data;
	if (*offset >= length)
		return 0;
	const uint64_t left = length - *offset;
	return left < BP_CHUNK_BYTES ? (size_t)left : BP_CHUNK_BYTES;
}

static bool copy_data(int source, int target, const char *from, const char *to, uint64_t length,
	struct bp_error *error)
{
	static uint8_t buffer[BP_CHUNK_BYTES];
	uint64_t offset = 0;
	size_t bytes;
	while ((bytes = next_piece(source, &offset, length)) > 0) {
		if (!go_on(error))
			return false;
		if (!bp_trace_bytes_read(source, buffer, bytes, offset))
			return cannot_read(from, error);
		if (!is_zero(buffer, bytes) && !write_at(target, buffer, bytes, offset))
			return cannot_write(to, error);
		offset += bytes;
	}
	return ftruncate(target, (off_t)length) == 0 || cannot_write(to, error);
}

bool bp_snapshot_copy_open(
	int source, const char *from, const struct bp_place *to, struct bp_error *error)
{
	struct stat status;
	if (fstat(source, &status) != 0)
		return cannot_read(from, error);
	int target = create(to, error);
	if (target < 0)
		return false;
	const bool good =
		copy_data(source, target, from, to->path, (uint64_t)status.st_size, error);
	return finish_copy(to, target, good, error);
}

bool bp_snapshot_copy(
	const struct bp_place *from, const struct bp_place *to, struct bp_error *error)
{
	struct stat status;
	int source = bp_place_open(from, O_RDONLY);
	if (source < 0)
		return cannot_read(from->path, error);
	bool good = (fstat(source, &status) == 0 && S_ISREG(status.st_mode)) ||
		    bp_error_set(error, "%s: is not a regular file", from->path);
	good = good && bp_snapshot_copy_open(source, from->path, to, error);
	close(source);
	return good;
}
