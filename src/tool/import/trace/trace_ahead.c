/* SPDX-License-Identifier: MIT */
/*
 * A ring of batches between two threads; see trace_ahead.h. [filled - BATCHES <= emptied <= filled,
 * and batch `emptied` is the caller's, batch `filled` the reading thread's] Who has to wait does so
 * until the ring is half full, or half empty: waking up costs as much as a batch.
 */
#include "import/trace/trace_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "base/vec.h"

#define FILE_BYTES_LEAST ((uint64_t)8 << 20) /* of a file for which a thread pays */
#define BATCHES 128u
#define HALF (BATCHES / 2)
#define KEPT_BYTES (16u << 10) /* for frames and texts of a batch: some thirty stacks */

struct bp_trace_ahead_state {
	struct bp_trace_reader *reader;
	struct bp_trace_join *join;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t filled, emptied;
	bool has_thread, stopped;
	bool at_end; /* nothing more will be filled */
	/* Read already, and the first of the next batch: there was no room for its frames or
	 * texts. */
	struct bp_trace_record left_over;
	bool has_left_over;
	struct bp_error error;	 /* of the reader, when `then` says so */
	bool has_batch;		 /* the caller reads batch `emptied` */
	enum bp_trace_next then; /* what comes behind what the caller was given */
	struct bp_trace_batch batches[BATCHES];
};

/* What a record points to in the reader's memory: frames of a stack, or up to two texts. */
struct borrowed {
	const struct bp_trace_frame **frames;
	uint32_t depth;
	struct bp_trace_text *texts[2];
};

/* False: a record of a folded part, of which nothing is known here. */
static bool find_borrowed(struct bp_trace_record *record, struct borrowed *ret_borrowed)
{
	*ret_borrowed = (struct borrowed){ .frames = NULL };
	switch (record->tag) {
	case BP_TAG_STACK:
	case BP_TAG_NAMED_STACK:
	case BP_TAG_MIXED_STACK:
		ret_borrowed->frames = &record->stack.frames;
		ret_borrowed->depth = record->stack.depth;
		return true;
	case BP_TAG_TYPE:
	case BP_TAG_FRAME:
	case BP_TAG_LABELS:
		ret_borrowed->texts[0] = &record->name.text;
		if (record->tag == BP_TAG_FRAME)
			ret_borrowed->texts[1] = &record->name.file;
		return true;
	case BP_TAG_MODULE:
		ret_borrowed->texts[0] = &record->module.build_id;
		ret_borrowed->texts[1] = &record->module.path;
		return true;
	case BP_TAG_THREAD_BEGIN:
	case BP_TAG_THREAD_END:
		ret_borrowed->texts[0] = &record->thread.name;
		return true;
	case BP_TAG_INTERPRETER:
		ret_borrowed->texts[0] = &record->interpreter.name;
		return true;
	case BP_TAG_EXEC:
		ret_borrowed->texts[0] = &record->exec.path;
		return true;
	case BP_TAG_SAMPLE:
	case BP_TAG_FREE:
	case BP_TAG_MODULE_GONE:
	case BP_TAG_FORK:
	case BP_TAG_INTERVAL:
	case BP_TAG_OUTAGE:
	case BP_TAG_MAPPING:
		return true;
	case BP_TAG_FOLDED:
	case BP_TAG_FOLDED_TOLD:
	case BP_TAG_READINGS:
	case BP_TAG_TICKS:
	case BP_TAG_HELD:
		break;
	}
	return false;
}

static uint64_t bytes_of(const struct borrowed *borrowed)
{
	uint64_t bytes = (uint64_t)borrowed->depth * sizeof **borrowed->frames;
	for (int i = 0; i < 2; i++)
		bytes += borrowed->texts[i] == NULL ? 0 : borrowed->texts[i]->bytes;
	return bytes;
}

/* Room for so many more bytes of a batch. An empty batch gets what it needs; one that records point
 * into stays where it is, and ends. */
enum room { ROOM, ROOM_IN_THE_NEXT, ROOM_NOWHERE };

static enum room make_room(struct bp_trace_batch *batch, uint64_t bytes)
{
	if (bytes <= batch->kept_capacity - batch->kept_bytes)
		return ROOM;
	if (batch->kept_bytes > 0)
		return ROOM_IN_THE_NEXT;
	return bp_vec_reserve(&batch->kept, &batch->kept_capacity,
		       bytes > KEPT_BYTES ? bytes : KEPT_BYTES, 1)
		       ? ROOM
		       : ROOM_NOWHERE;
}

static const void *copy(struct bp_trace_batch *batch, const void *data, size_t bytes)
{
	uint8_t *to = batch->kept + batch->kept_bytes;
	if (bytes > 0)
		memcpy(to, data, bytes);
	batch->kept_bytes += (uint32_t)bytes;
	return to;
}

/* Gives a record frames and texts of its own, those of the batch. */
static enum room keep(struct bp_trace_batch *batch, const struct borrowed *borrowed)
{
	const uint64_t bytes = bytes_of(borrowed);
	const uint64_t whole = sizeof **borrowed->frames; /* so that frames are aligned */
	const enum room room =
		bytes == 0 ? ROOM : make_room(batch, (bytes + whole - 1) / whole * whole);
	if (room != ROOM || bytes == 0)
		return room;
	if (borrowed->frames != NULL)
		*borrowed->frames = copy(batch, *borrowed->frames, bytes);
	for (int i = 0; i < 2; i++)
		if (borrowed->texts[i] != NULL)
			borrowed->texts[i]->data =
				copy(batch, borrowed->texts[i]->data, borrowed->texts[i]->bytes);
	batch->kept_bytes = (uint32_t)((batch->kept_bytes + whole - 1) / whole * whole);
	return ROOM;
}

/* Reads on, behind `count` records of the batch. */
static enum bp_trace_next read_some(
	struct bp_trace_ahead_state *state, struct bp_trace_record *records, uint32_t *count)
{
	uint32_t numbers = 0;
	if (state->has_left_over) {
		records[(*count)++] = state->left_over;
		state->has_left_over = false;
		return BP_TRACE_RECORD;
	}
	if (!bp_trace_reader_numbers(state->reader, &records[*count],
		    BP_TRACE_BATCH_RECORDS - *count, &numbers, &state->error))
		return BP_TRACE_ERROR;
	*count += numbers;
	if (numbers > 0)
		return BP_TRACE_RECORD;
	const enum bp_trace_next then =
		bp_trace_reader_next(state->reader, &records[*count], &state->error);
	*count += then == BP_TRACE_RECORD;
	return then;
}

static void read_batch(struct bp_trace_ahead_state *state, struct bp_trace_batch *batch)
{
	bool ended = false;
	batch->count = batch->kept_bytes = 0;
	batch->then = BP_TRACE_RECORD;
	while (batch->count < BP_TRACE_BATCH_RECORDS && batch->then == BP_TRACE_RECORD && !ended) {
		struct borrowed borrowed;
		batch->then = read_some(state, batch->records, &batch->count);
		if (batch->then != BP_TRACE_RECORD)
			break;
		/* (Before it stand others that were looked at, or numbers.) */
		struct bp_trace_record *last = &batch->records[batch->count - 1];
		ended = !find_borrowed(last, &borrowed);
		const enum room room = ended ? ROOM : keep(batch, &borrowed);
		if (room == ROOM)
			continue;
		batch->count--;
		state->left_over = *last;
		state->has_left_over = ended = room == ROOM_IN_THE_NEXT;
		if (room == ROOM_NOWHERE) {
			bp_error_set(&state->error, "out of memory while reading a trace");
			batch->then = BP_TRACE_ERROR;
		}
	}
}

static void fill(struct bp_trace_ahead_state *state, struct bp_trace_batch *batch)
{
	read_batch(state, batch);
	bp_trace_join_number(state->join, batch->records, batch->count, &batch->numbered);
}

static uint64_t full(const struct bp_trace_ahead_state *state)
{
	return state->filled - state->emptied;
}

static void *read_on(void *context)
{
	struct bp_trace_ahead_state *state = context;
	bool going = true;
	while (going) {
		struct bp_trace_batch *batch = &state->batches[state->filled % BATCHES];
		fill(state, batch);
		going = batch->then == BP_TRACE_RECORD;
		pthread_mutex_lock(&state->mutex);
		state->filled++;
		state->at_end = !going;
		if (state->at_end || full(state) >= HALF)
			pthread_cond_signal(&state->changed);
		if (going && full(state) == BATCHES)
			while (!state->stopped && full(state) > HALF)
				pthread_cond_wait(&state->changed, &state->mutex);
		going = going && !state->stopped;
		pthread_mutex_unlock(&state->mutex);
	}
	return NULL;
}

bool bp_trace_ahead_start(struct bp_trace_ahead *ahead, struct bp_trace_reader *reader,
	struct bp_trace_join *join, struct bp_error *error)
{
	struct bp_trace_ahead_state *state = ahead->state = calloc(1, sizeof *state);
	if (state == NULL)
		return bp_error_set(error, "out of memory while reading a trace");
	state->reader = reader;
	state->join = join;
	state->then = BP_TRACE_RECORD;
	if (reader->part.is_open || reader->header.flags_skippable & BP_HEADER_FOLDED ||
		reader->file_bytes < FILE_BYTES_LEAST)
		return true;
	pthread_mutex_init(&state->mutex, NULL);
	pthread_cond_init(&state->changed, NULL);
	state->has_thread = bp_thread_start(&state->thread, read_on, state);
	if (!state->has_thread) {
		pthread_cond_destroy(&state->changed);
		pthread_mutex_destroy(&state->mutex);
	}
	return true;
}

/* Gives back the batch that was read, and waits for the next one. */
static const struct bp_trace_batch *next_batch(struct bp_trace_ahead_state *state)
{
	if (!state->has_thread) {
		bp_trace_join_resume(state->join);
		fill(state, &state->batches[0]);
		return &state->batches[0];
	}
	pthread_mutex_lock(&state->mutex);
	if (state->has_batch)
		state->emptied++;
	if (full(state) <= HALF)
		pthread_cond_signal(&state->changed);
	if (full(state) == 0)
		while (full(state) < (state->at_end ? 1 : HALF))
			pthread_cond_wait(&state->changed, &state->mutex);
	pthread_mutex_unlock(&state->mutex);
	state->has_batch = true;
	return &state->batches[state->emptied % BATCHES];
}

enum bp_trace_next bp_trace_ahead_next(struct bp_trace_ahead *ahead,
	const struct bp_trace_batch **ret_batch, struct bp_error *error)
{
	struct bp_trace_ahead_state *state = ahead->state;
	if (state->then == BP_TRACE_RECORD) {
		const struct bp_trace_batch *batch = next_batch(state);
		state->then = batch->then;
		*ret_batch = batch;
		if (batch->count > 0)
			return BP_TRACE_RECORD;
	}
	*error = state->error;
	return state->then;
}

void bp_trace_ahead_stop(struct bp_trace_ahead *ahead)
{
	struct bp_trace_ahead_state *state = ahead->state;
	if (state != NULL && state->has_thread) {
		pthread_mutex_lock(&state->mutex);
		state->stopped = true;
		pthread_cond_signal(&state->changed);
		pthread_mutex_unlock(&state->mutex);
		pthread_join(state->thread, NULL);
		pthread_cond_destroy(&state->changed);
		pthread_mutex_destroy(&state->mutex);
	}
	for (uint32_t i = 0; state != NULL && i < BATCHES; i++)
		free(state->batches[i].kept);
	free(state);
	ahead->state = NULL;
}
