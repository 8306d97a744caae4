/* SPDX-License-Identifier: MIT */
/*
 * Readings of counters as differences. See readings.h.
 *
 * Differences are taken as numbers of 64 bits that wrap around, so that whatever the numbers are,
 * they come back as they were; they are only short where counters grow a little at a time.
 */
#include "model/readings.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "base/vec.h"

#define PIECE_BYTES_FIRST 48u
#define PIECE_BYTES_MOST 4080u

struct bp_reading_piece {
	struct bp_reading_piece *next;
	uint16_t used, room; /* of the bytes */
	uint8_t bytes[];
};

static uint8_t *put_difference(uint8_t *at, uint64_t now, uint64_t before)
{
	return bp_varint_put(at, bp_zigzag((int64_t)(now - before)));
}

/* (The bytes are our own, and whole.) */
static uint64_t take_difference(const uint8_t *bytes, uint32_t *at, uint64_t before)
{
	uint64_t code = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		byte = bytes[(*at)++];
		code |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte >= 0x80);
	return before + (uint64_t)bp_unzigzag(code);
}

static struct bp_index_keys keys_of(const struct bp_readings *readings)
{
	return (struct bp_index_keys){ readings->lists, sizeof *readings->lists };
}

/* Of the list for the readings of a thread with one bound. */
static uint64_t key_of(struct bp_thread_id thread, enum bp_reading_bound bound)
{
	return (uint64_t)bound << 32 | thread.i;
}

struct bp_thread_id bp_reading_list_thread(const struct bp_reading_list *list)
{
	return (struct bp_thread_id){ (uint32_t)list->key };
}

/* The list of a key, a new one if need be; NULL: no memory. */
static struct bp_reading_list *list_of(struct bp_readings *readings, uint64_t key)
{
	if (readings->count > 0 && readings->lists[readings->found].key == key)
		return &readings->lists[readings->found];
	uint32_t found = bp_index_find(&readings->index, keys_of(readings), key);
	if (found == BP_INDEX_NONE) {
		found = readings->count;
		if (!bp_vec_reserve(&readings->lists, &readings->capacity, (uint64_t)found + 1,
			    sizeof *readings->lists))
			return NULL;
		readings->lists[found] = (struct bp_reading_list){ .key = key };
		if (!bp_index_add(&readings->index, keys_of(readings), found))
			return NULL;
		readings->count++;
	}
	readings->found = found;
	return &readings->lists[found];
}

/* Room for so many bytes at the end of a list; NULL: no memory. */
static uint8_t *room_for(struct bp_reading_list *list, size_t bytes)
{
	struct bp_reading_piece *last = list->last;
	if (last == NULL || bytes > (size_t)(last->room - last->used)) {
		size_t room = last == NULL ? PIECE_BYTES_FIRST : 2 * (size_t)last->room;
		if (room > PIECE_BYTES_MOST)
			room = PIECE_BYTES_MOST;
		struct bp_reading_piece *piece = malloc(sizeof *piece + room);
		if (piece == NULL)
			return NULL;
		*piece = (struct bp_reading_piece){ .room = (uint16_t)room };
		if (last == NULL)
			list->first = piece;
		else
			last->next = piece;
		list->last = last = piece;
	}
	uint8_t *at = last->bytes + last->used;
	last->used = (uint16_t)(last->used + bytes);
	return at;
}

bool bp_readings_add(struct bp_readings *readings, const struct bp_reading *reading)
{
	uint8_t bytes[3 * BP_VARINT_MAX_BYTES];
	struct bp_reading_list *list = list_of(readings, key_of(reading->thread, reading->bound));
	if (list == NULL)
		return false;
	uint8_t *end = put_difference(bytes, reading->time_ns, list->time_ns);
	end = put_difference(end, reading->bytes, list->bytes);
	end = put_difference(end, reading->objects, list->objects);
	uint8_t *room = room_for(list, (size_t)(end - bytes));
	if (room == NULL)
		return false;
	memcpy(room, bytes, (size_t)(end - bytes));
	list->time_ns = reading->time_ns;
	list->bytes = reading->bytes;
	list->objects = reading->objects;
	return true;
}

/* To the beginning of the thread's list with this bound. */
static void begin(
	struct bp_readings_walk *walk, struct bp_thread_id thread, enum bp_reading_bound bound)
{
	const struct bp_readings *readings = walk->readings;
	const uint32_t found =
		bp_index_find(&readings->index, keys_of(readings), key_of(thread, bound));
	*walk = (struct bp_readings_walk){ .readings = readings,
		.piece = found == BP_INDEX_NONE ? NULL : readings->lists[found].first,
		.latest = { .thread = thread, .bound = bound } };
}

struct bp_readings_walk bp_readings_of(const struct bp_readings *readings, uint32_t thread)
{
	struct bp_readings_walk walk = { .readings = readings };
	begin(&walk, (struct bp_thread_id){ thread }, BP_READING_THEN);
	return walk;
}

/* The reading that is next in the walk's piece. */
static void read_next(struct bp_readings_walk *walk)
{
	const uint8_t *bytes = walk->piece->bytes;
	struct bp_reading *latest = &walk->latest;
	latest->time_ns = take_difference(bytes, &walk->at, latest->time_ns);
	latest->bytes = take_difference(bytes, &walk->at, latest->bytes);
	latest->objects = take_difference(bytes, &walk->at, latest->objects);
}

bool bp_readings_next(struct bp_readings_walk *walk, struct bp_reading *ret_reading)
{
	if (walk->piece != NULL && walk->at == walk->piece->used) {
		walk->piece = walk->piece->next;
		walk->at = 0;
	}
	while (walk->piece == NULL && walk->latest.bound + 1u < BP_READING_BOUNDS)
		begin(walk, walk->latest.thread, walk->latest.bound + 1u);
	if (walk->piece == NULL)
		return false;
	read_next(walk);
	*ret_reading = walk->latest;
	return true;
}

static void drop_first(struct bp_reading_list *list)
{
	struct bp_reading_piece *piece = list->first;
	list->first = piece->next;
	if (list->first == NULL)
		list->last = NULL;
	free(piece);
}

bool bp_readings_take(
	struct bp_reading_list *list, struct bp_readings_walk *walk, struct bp_reading *ret_reading)
{
	if (list->first != NULL && walk->at == list->first->used) {
		drop_first(list);
		walk->at = 0;
	}
	if (list->first == NULL)
		return false;
	walk->piece = list->first;
	walk->latest.thread = bp_reading_list_thread(list);
	walk->latest.bound = (enum bp_reading_bound)(list->key >> 32);
	read_next(walk);
	*ret_reading = walk->latest;
	return true;
}

void bp_readings_finish(struct bp_readings *readings)
{
	for (uint32_t i = 0; i < readings->count; i++)
		while (readings->lists[i].first != NULL)
			drop_first(&readings->lists[i]);
	free(readings->lists);
	bp_index_finish(&readings->index);
	memset(readings, 0, sizeof *readings);
}
