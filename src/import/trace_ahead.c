/* SPDX-License-Identifier: MIT */
/*
 * A ring of batches between two threads; see trace_ahead.h. [filled - BATCHES <= emptied <= filled, and
 * batch `emptied` is the caller's, batch `filled` the reading thread's] Who has to wait does so until the
 * ring is half full, or half empty: waking up costs as much as a batch.
 */
#include "import/trace_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "base/vec.h"

#define FILE_BYTES_LEAST ((uint64_t)8 << 20) /* of a file for which a thread pays */
#define BATCHES 128u
#define HALF (BATCHES / 2)

struct bp_trace_ahead_state {
	struct bp_trace_reader *reader;
	struct bp_trace_join *join;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t filled, emptied;
	bool has_thread, stopped;
	bool pausing;		 /* nothing is read before all is emptied, or for good */
	struct bp_error error;	 /* of the reader, when `then` says so */
	bool has_batch;		 /* the caller reads batch `emptied` */
	enum bp_trace_next then; /* what comes behind what the caller was given */
	struct bp_trace_batch batches[BATCHES];
};

static bool is_of_numbers(const struct bp_trace_record *record)
{
	return record->tag == BP_TAG_SAMPLE || record->tag == BP_TAG_FREE;
}

/* Gives a stack frames of its own, those of the batch, so that nobody has to wait until it was
 * read: of stacks there are thousands. False: it is none, or there is no memory. */
static bool keep_frames(struct bp_trace_batch *batch, struct bp_trace_record *record)
{
	struct bp_trace_stack *stack = &record->stack;
	if ((record->tag != BP_TAG_STACK && record->tag != BP_TAG_NAMED_STACK) ||
		!bp_vec_reserve(&batch->frames, &batch->frame_capacity, stack->depth,
			sizeof *batch->frames))
		return false;
	if (stack->depth > 0)
		memcpy(batch->frames, stack->frames, stack->depth * sizeof *batch->frames);
	stack->frames = batch->frames;
	return true;
}

static void read_batch(struct bp_trace_ahead_state *state, struct bp_trace_batch *batch)
{
	enum bp_trace_next then = BP_TRACE_RECORD;
	bool alone = false, kept = false;
	uint32_t count = 0;
	while (count < BP_TRACE_BATCH_RECORDS && !alone) {
		struct bp_trace_record *record = &batch->records[count];
		uint32_t numbers = 0;
		if (!bp_trace_reader_numbers(state->reader, record, BP_TRACE_BATCH_RECORDS - count,
			    &numbers, &state->error)) {
			then = BP_TRACE_ERROR;
			break;
		}
		count += numbers;
		if (numbers > 0)
			continue;
		then = bp_trace_reader_next(state->reader, record, &state->error);
		if (then != BP_TRACE_RECORD)
			break;
		alone = !is_of_numbers(record);
		kept = alone && keep_frames(batch, record);
		count++;
	}
	batch->count = count;
	batch->alone = alone;
	batch->borrowed = alone && !kept;
	batch->then = then;
}

static void fill(struct bp_trace_ahead_state *state, struct bp_trace_batch *batch)
{
	read_batch(state, batch);
	bp_trace_join_number(
		state->join, batch->records, batch->count - batch->alone, &batch->numbered);
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
		state->pausing = batch->borrowed || !going;
		if (state->pausing || full(state) >= HALF)
			pthread_cond_signal(&state->changed);
		if (going && (state->pausing || full(state) == BATCHES))
			while (!state->stopped && full(state) > (state->pausing ? 0 : HALF))
				pthread_cond_wait(&state->changed, &state->mutex);
		if (state->pausing && going) {
			bp_trace_join_resume(state->join);
			state->pausing = false;
		}
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
	if (reader->part.is_open || reader->file_bytes < FILE_BYTES_LEAST)
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
	if (full(state) <= (state->pausing ? 0 : HALF))
		pthread_cond_signal(&state->changed);
	if (full(state) == 0)
		while (full(state) < (state->pausing ? 1 : HALF))
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
		free(state->batches[i].frames);
	free(state);
	ahead->state = NULL;
}
