/* SPDX-License-Identifier: MIT */
/*
 * A ring of batches between two threads; see trace_ahead.h. [filled - BATCHES <= emptied <= filled, and
 * batch `emptied` is the caller's, batch `filled` the reading thread's]
 */
#include "import/trace_ahead.h"

#include <pthread.h>
#include <stdlib.h>

#define FILE_BYTES_LEAST ((uint64_t)8 << 20) /* of a file for which a thread pays */
#define BATCH_RECORDS 256u
#define BATCHES 4u

struct batch {
	struct bp_trace_record records[BATCH_RECORDS];
	uint32_t count;
	enum bp_trace_next then; /* what came behind them */
	bool alone;		 /* the last one points into the reader's memory */
};

struct bp_trace_ahead_state {
	struct bp_trace_reader *reader;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t filled, emptied;
	bool stopped;
	struct bp_error error; /* of the reader, when `then` says so */
	bool has_batch;	       /* the caller reads batch `emptied` */
	uint32_t next;	       /* in it */
	struct batch batches[BATCHES];
};

static bool is_of_numbers(const struct bp_trace_record *record)
{
	return record->tag == BP_TAG_SAMPLE || record->tag == BP_TAG_FREE;
}

static void fill(struct bp_trace_ahead_state *state, struct batch *batch)
{
	batch->count = 0;
	batch->alone = false;
	batch->then = BP_TRACE_RECORD;
	while (batch->count < BATCH_RECORDS && !batch->alone) {
		struct bp_trace_record *record = &batch->records[batch->count];
		batch->then = bp_trace_reader_next(state->reader, record, &state->error);
		if (batch->then != BP_TRACE_RECORD)
			return;
		batch->alone = !is_of_numbers(record);
		batch->count++;
	}
}

static void *read_on(void *context)
{
	struct bp_trace_ahead_state *state = context;
	bool going = true;
	while (going) {
		struct batch *batch = &state->batches[state->filled % BATCHES];
		fill(state, batch);
		going = batch->then == BP_TRACE_RECORD;
		const uint64_t most = batch->alone ? 0 : BATCHES - 1;
		pthread_mutex_lock(&state->mutex);
		state->filled++;
		pthread_cond_signal(&state->changed);
		while (going && !state->stopped && state->filled - state->emptied > most)
			pthread_cond_wait(&state->changed, &state->mutex);
		going = going && !state->stopped;
		pthread_mutex_unlock(&state->mutex);
	}
	return NULL;
}

void bp_trace_ahead_start(struct bp_trace_ahead *ahead, struct bp_trace_reader *reader)
{
	*ahead = (struct bp_trace_ahead){ .reader = reader };
	struct bp_trace_ahead_state *state = calloc(1, sizeof *state);
	if (state == NULL)
		return;
	state->reader = reader;
	ahead->state = state;
	pthread_mutex_init(&state->mutex, NULL);
	pthread_cond_init(&state->changed, NULL);
	if (!reader->part.is_open && reader->file_bytes >= FILE_BYTES_LEAST &&
		pthread_create(&state->thread, NULL, read_on, state) == 0)
		return;
	pthread_cond_destroy(&state->changed);
	pthread_mutex_destroy(&state->mutex);
	free(state);
	ahead->state = NULL;
}

/* Gives back the batch that was read, and waits for the next one. */
static const struct batch *next_batch(struct bp_trace_ahead_state *state)
{
	pthread_mutex_lock(&state->mutex);
	if (state->has_batch)
		state->emptied++;
	pthread_cond_signal(&state->changed);
	while (state->filled == state->emptied)
		pthread_cond_wait(&state->changed, &state->mutex);
	pthread_mutex_unlock(&state->mutex);
	state->has_batch = true;
	state->next = 0;
	return &state->batches[state->emptied % BATCHES];
}

enum bp_trace_next bp_trace_ahead_next(struct bp_trace_ahead *ahead, struct bp_trace_record *buffer,
	const struct bp_trace_record **ret_record, struct bp_error *error)
{
	struct bp_trace_ahead_state *state = ahead->state;
	*ret_record = buffer;
	if (state == NULL)
		return bp_trace_reader_next(ahead->reader, buffer, error);
	const struct batch *batch = &state->batches[state->emptied % BATCHES];
	while (!state->has_batch || state->next == batch->count) {
		if (state->has_batch && batch->then != BP_TRACE_RECORD) {
			*error = state->error;
			return batch->then;
		}
		batch = next_batch(state);
	}
	*ret_record = &batch->records[state->next++];
	return BP_TRACE_RECORD;
}

void bp_trace_ahead_stop(struct bp_trace_ahead *ahead)
{
	struct bp_trace_ahead_state *state = ahead->state;
	if (state == NULL)
		return;
	pthread_mutex_lock(&state->mutex);
	state->stopped = true;
	pthread_cond_signal(&state->changed);
	pthread_mutex_unlock(&state->mutex);
	pthread_join(state->thread, NULL);
	pthread_cond_destroy(&state->changed);
	pthread_mutex_destroy(&state->mutex);
	free(state);
	ahead->state = NULL;
}
