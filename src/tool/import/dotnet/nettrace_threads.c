/* SPDX-License-Identifier: MIT */
/*
 * Who captured how many events, and how many of them are missing (nettrace_reader.h, "Lost
 * events"). Numbers are 32 bits wide and wrap; within a session each thread's begin at 1.
 */
#include "import/dotnet/nettrace_blocks.h"

#include "base/vec.h"

static struct bp_index_keys thread_keys(const struct bp_nettrace_reader *reader)
{
	return (struct bp_index_keys){ &reader->threads->key, sizeof *reader->threads };
}

struct bp_nettrace_thread *bp_nettrace_thread_of(struct bp_nettrace_reader *reader, uint64_t key)
{
	uint32_t found = BP_INDEX_NONE;
	if (reader->thread_count != 0)
		found = bp_index_find(&reader->threads_by_key, thread_keys(reader), key);
	if (found != BP_INDEX_NONE)
		return &reader->threads[found];
	if (!bp_vec_reserve(&reader->threads, &reader->thread_capacity,
		    (uint64_t)reader->thread_count + 1, sizeof *reader->threads))
		return NULL;
	reader->threads[reader->thread_count] =
		(struct bp_nettrace_thread){ .key = key, .tid = key };
	if (!bp_index_add(&reader->threads_by_key, thread_keys(reader), reader->thread_count))
		return NULL;
	return &reader->threads[reader->thread_count++];
}

/* How far `sequence` is beyond the last; behind it (a thread id used again): 0. */
static uint32_t beyond(const struct bp_nettrace_thread *thread, uint32_t sequence)
{
	const uint32_t distance = sequence - thread->sequence;
	return distance > UINT32_MAX / 2 ? 0 : distance;
}

bool bp_nettrace_captured(struct bp_nettrace_reader *reader, uint64_t key, uint32_t sequence)
{
	struct bp_nettrace_thread *thread = bp_nettrace_thread_of(reader, key);
	if (thread == NULL)
		return false;
	const uint32_t distance = beyond(thread, sequence);
	if (distance > 1)
		thread->lost += distance - 1;
	thread->sequence = sequence;
	thread->events++;
	return true;
}

bool bp_nettrace_reached(struct bp_nettrace_reader *reader, uint64_t key, uint32_t sequence)
{
	struct bp_nettrace_thread *thread = bp_nettrace_thread_of(reader, key);
	if (thread == NULL)
		return false;
	const uint32_t distance = beyond(thread, sequence);
	thread->lost += distance;
	if (distance != 0)
		thread->sequence = sequence;
	return true;
}
