/* SPDX-License-Identifier: MIT */
/*
 * An outage: the file cannot grow, because the disk is full, a limit is reached, or the right to
 * open it was given up. From then on lanes write to chunks in memory, as they would to the file.
 * Their owner stops sampling (recorder/steering/control.c), so that what they get is little: the
 * last sample of each thread and its counters then, the ends of threads, and frees of objects that
 * were sampled before, of which nobody could say later when they were freed. When the file can grow
 * again the chunks are copied into it, and an OUTAGE record says from when to when nothing was
 * sampled.
 *
 * begin    the first lane that finds no room; the state page says since when hold  the next chunk
 * in memory, as long as there are some try         at most once a second: a whole chunk of the file
 * is made present. If there is disk for          it, all lanes are locked and everything that waits
 * is copied
 *
 * Until they are in the file, samples and frees are counted as lost: a process may be killed, and
 * then nothing else would say so. [Lanes have no chunk in memory when there is no outage.]
 */
#include "base/system_call.h"
#include "trace/writer/writer_file.h"

#define TRY_NS 1000000000u
#define LOCK_TRIES \
	20000 /* some tenths of a millisecond, once a second; a record takes less than a microsecond */

void bp_writer_outage_begin(struct bp_writer *writer)
{
	uint64_t none = 0;
	const uint64_t now = bp_system_time_ns(CLOCK_MONOTONIC);
	if (bp_writer_outage_since(writer) != 0)
		return;
	__atomic_store_n(&writer->outage.next_try_ns, now + TRY_NS, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(&writer->outage.since_ns, &none, now, false,
		    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		__atomic_store_n(&bp_writer_state(writer)->outage_since_ns, now, __ATOMIC_RELAXED);
}

void bp_writer_keep_spare(
	struct bp_writer *writer, uint8_t *memory, struct bp_mapping *mapping, uint64_t number)
{
	struct bp_outage *outage = &writer->outage;
	if (outage->spare != NULL) {
		mapping->users--; /* It stays a chunk of zeros. */
		return;
	}
	outage->spare = memory;
	outage->spare_mapping = mapping;
	outage->spare_number = number;
}

static uint8_t *held_chunk(const struct bp_writer *writer, uint32_t number)
{
	return writer->outage.memory + (size_t)number * BP_CHUNK_BYTES;
}

/* grow_lock held. */
static bool has_memory(struct bp_writer *writer)
{
	struct bp_outage *outage = &writer->outage;
	if (outage->memory == NULL && !writer->files_forbidden) {
		outage->memory = bp_system_memory(BP_HELD_BYTES);
		outage->chunks = outage->slots = 0;
		__builtin_memset(outage->held, 0, sizeof outage->held);
		if (outage->memory != NULL)
			(void)bp_system_advise(outage->memory, BP_HELD_BYTES, MADV_DONTFORK);
	}
	return outage->memory != NULL && outage->chunks < BP_HELD_CHUNKS;
}

bool bp_writer_hold_chunk(struct bp_writer *writer, struct bp_lane *lane)
{
	bp_lock_take(&writer->grow_lock);
	const bool has = has_memory(writer);
	const uint32_t number = has ? writer->outage.chunks++ : 0;
	bp_lock_release(&writer->grow_lock);
	if (!has) {
		__atomic_store_n(&writer->stopped, true, __ATOMIC_RELAXED);
		return false;
	}
	lane->mapping = NULL;
	lane->chunk = (struct bp_chunk_header *)held_chunk(writer, number);
	lane->ready_bytes = BP_CHUNK_BYTES;
	lane->chunk->kind = BP_CHUNK_RECORDS;
	return true;
}

static void add_lost(struct bp_writer *writer, enum bp_loss reason, uint64_t count)
{
	__atomic_fetch_add(&bp_writer_state(writer)->lost[reason], count, __ATOMIC_RELAXED);
}

void bp_writer_count_held(struct bp_writer *writer, const struct bp_lane *lane, enum bp_tag tag)
{
	const size_t number =
		(size_t)((uint8_t *)lane->chunk - writer->outage.memory) / BP_CHUNK_BYTES;
	struct bp_held *held = &writer->outage.held[number];
	if (tag == BP_TAG_SAMPLE)
		held->samples++;
	else
		held->frees++;
	add_lost(writer, tag == BP_TAG_SAMPLE ? BP_LOSS_TRACE_FULL : BP_LOSS_FREE, 1);
}

void bp_writer_give_slot(struct bp_writer *writer, struct bp_thread_slot *slot)
{
	struct bp_outage *outage = &writer->outage;
	bp_lock_take(&writer->grow_lock);
	if (outage->memory == NULL) {
		__atomic_store_n(&slot->state, 0, __ATOMIC_RELEASE);
	} else if (outage->slots < BP_HELD_SLOTS) {
		struct bp_thread_slot **slots =
			(struct bp_thread_slot **)held_chunk(writer, BP_HELD_CHUNKS);
		slots[outage->slots++] = slot;
	} /* Else it keeps the totals of its thread for good. */
	bp_lock_release(&writer->grow_lock);
}

void bp_writer_outage_stop(
	struct bp_writer *writer, uint32_t ordinal, uint64_t trials, uint64_t objects)
{
	struct bp_trace_state *state = bp_writer_state(writer);
	const uint64_t place = __atomic_fetch_add(&state->outage_stops, 1, __ATOMIC_RELAXED);
	if (place >= BP_OUTAGE_STOPS)
		return;
	struct bp_trace_stop *stop = &state->stops[place];
	stop->trials = trials;
	stop->objects = objects;
	__atomic_store_n(&stop->ordinal, ordinal, __ATOMIC_RELEASE);
}

/* What the state page says of an outage that is over; another may have begun since, of which some
 * stops are forgotten then. */
static void clear_state(struct bp_writer *writer, uint64_t since_ns)
{
	struct bp_trace_state *state = bp_writer_state(writer);
	for (uint32_t i = 0; i < BP_OUTAGE_STOPS; i++)
		__atomic_store_n(&state->stops[i].ordinal, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&state->outage_stops, 0, __ATOMIC_RELEASE);
	(void)__atomic_compare_exchange_n(
		&state->outage_since_ns, &since_ns, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* The spare chunk or another, `bytes` of it present; NULL: there is no room. */
static uint8_t *file_chunk(struct bp_writer *writer, size_t bytes)
{
	struct bp_outage *outage = &writer->outage;
	bp_lock_take(&writer->grow_lock);
	if (outage->spare == NULL) {
		const uint64_t number = writer->chunks;
		uint8_t *memory = bp_writer_hand_out(writer);
		if (memory != NULL)
			bp_writer_keep_spare(writer, memory, writer->newest, number);
	}
	bp_lock_release(&writer->grow_lock);
	/* (Whoever tries again is alone with the spare.) */
	return outage->spare != NULL && bp_writer_populate(writer, outage->spare, bytes)
		       ? outage->spare
		       : NULL;
}

/* Copies one chunk into the file; false: no room. */
static bool write_held(struct bp_writer *writer, uint32_t number)
{
	struct bp_outage *outage = &writer->outage;
	struct bp_chunk_header *from = (struct bp_chunk_header *)held_chunk(writer, number);
	const uint32_t bytes = from->committed;
	if (bytes == 0)
		return true;
	struct bp_chunk_header *to =
		(struct bp_chunk_header *)file_chunk(writer, sizeof *to + bytes);
	if (to == NULL)
		return false;
	__builtin_memcpy(to + 1, from + 1, bytes);
	struct bp_chunk_header header = *from;
	header.magic = 0;
	header.number = outage->spare_number;
	header.checksum = bp_checksum(to + 1, bytes);
	header.sealed = 1;
	*to = header;
	__atomic_store_n(&to->magic, BP_CHUNK_MAGIC, __ATOMIC_RELEASE);
	const struct bp_held held = outage->held[number];
	__atomic_fetch_add(&bp_writer_state(writer)->samples, held.samples, __ATOMIC_RELAXED);
	add_lost(writer, BP_LOSS_TRACE_FULL, -(uint64_t)held.samples);
	add_lost(writer, BP_LOSS_FREE, -(uint64_t)held.frees);
	from->committed = 0;
	outage->spare = NULL;
	bp_writer_drop_chunk(writer, outage->spare_mapping, to);
	return true;
}

/* All lanes are locked. Copies what waits; lanes whose chunk is in the file begin another. */
static bool write_all(struct bp_writer *writer)
{
	bool good = true;
	for (uint32_t i = 0; good && i < writer->outage.chunks; i++)
		good = write_held(writer, i);
	for (int i = 0; i < BP_LANES; i++) {
		struct bp_lane *lane = &writer->lanes[i];
		if (lane->chunk != NULL && lane->mapping == NULL && lane->chunk->committed == 0)
			lane->chunk = NULL;
	}
	return good;
}

void bp_writer_outage_finish(struct bp_writer *writer)
{
	struct bp_outage *outage = &writer->outage;
	bp_lock_take(&writer->grow_lock);
	if (outage->memory != NULL)
		bp_system_unmap(outage->memory, BP_HELD_BYTES);
	outage->memory = NULL;
	bp_lock_release(&writer->grow_lock);
	for (int i = 0; i < BP_LANES; i++)
		if (writer->lanes[i].mapping == NULL)
			writer->lanes[i].chunk = NULL;
}

static void give_slots(struct bp_writer *writer)
{
	struct bp_outage *outage = &writer->outage;
	struct bp_thread_slot **slots =
		(struct bp_thread_slot **)held_chunk(writer, BP_HELD_CHUNKS);
	bp_lock_take(&writer->grow_lock);
	for (uint32_t i = 0; outage->memory != NULL && i < outage->slots; i++)
		__atomic_store_n(&slots[i]->state, 0, __ATOMIC_RELEASE);
	outage->slots = 0;
	bp_lock_release(&writer->grow_lock);
}

static void unlock_lanes(struct bp_writer *writer, int count)
{
	for (int i = count - 1; i >= 0; i--)
		bp_lock_release(&writer->lanes[i].lock);
}

/* False, and none is locked: one stays locked, as by a thread that a signal handler took out of the
 * recorder for good (siglongjmp). */
static bool lock_lanes(struct bp_writer *writer)
{
	for (int i = 0; i < BP_LANES; i++) {
		int tries = 0;
		while (!bp_lock_try(&writer->lanes[i].lock)) {
			if (++tries > LOCK_TRIES) {
				unlock_lanes(writer, i);
				return false;
			}
			__atomic_signal_fence(__ATOMIC_SEQ_CST); /* (No system call: see seal.h.) */
		}
	}
	return true;
}

/* All that waits goes to the file, and lanes write there again; false: not all of it found room. */
static bool end_outage(struct bp_writer *writer)
{
	if (!lock_lanes(writer))
		return false;
	const bool ended = write_all(writer);
	if (ended) {
		give_slots(writer);
		bp_writer_outage_finish(writer);
		__atomic_store_n(&writer->stopped, false, __ATOMIC_RELAXED);
		__atomic_store_n(&writer->outage.since_ns, 0, __ATOMIC_RELEASE);
	}
	unlock_lanes(writer, BP_LANES);
	return ended;
}

void bp_writer_try_again(struct bp_writer *writer, uint64_t now_ns)
{
	struct bp_outage *outage = &writer->outage;
	uint64_t since = bp_writer_outage_since(writer);
	if (since == 0 || now_ns < __atomic_load_n(&outage->next_try_ns, __ATOMIC_RELAXED) ||
		writer->files_forbidden || !bp_lock_try(&outage->lock))
		return;
	since = bp_writer_outage_since(writer);
	const uint64_t end_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	__atomic_store_n(&outage->next_try_ns, end_ns + TRY_NS, __ATOMIC_RELAXED);
	/* With room for a few records it would be over in no time. */
	if (since != 0 && file_chunk(writer, BP_CHUNK_BYTES) != NULL && end_outage(writer)) {
		const uint64_t values[] = { since, end_ns };
		(void)bp_writer_plain(writer, BP_TAG_OUTAGE, values, 2, NULL);
		clear_state(writer, since);
	}
	bp_lock_release(&outage->lock);
}
