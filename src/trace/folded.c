/* SPDX-License-Identifier: MIT */
/*
 * The records of folded parts; see folded.h and docs/trace-format.md, section 5. A list inside a
 * record is walked to its end when the record is decoded, with the very function that hands its
 * members out later, so that what was accepted can be read. Numbers that must not wrap are added
 * with overflow checks; an entry takes four bytes at least, so a list is bounded by its bytes.
 */
#include "trace/folded.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vec.h"

/* Longer than any run, and such that neither doubling it nor adding it to a time wraps. */
#define RESOLUTION_MAX_NS (UINT64_C(1) << 62)

uint32_t bp_trace_clock_find(
	const struct bp_trace_clock *clock, uint64_t time_ns, uint64_t sequence)
{
	uint32_t low = 0, high = clock->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct bp_trace_tick *tick = &clock->ticks[middle];
		if (tick->time_ns < time_ns ||
			(tick->time_ns == time_ns && tick->sequence < sequence))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool bp_trace_held_has(const struct bp_trace_held *held, uint64_t number)
{
	const uint32_t upto =
		bp_sorted_upto(held->ranges, sizeof *held->ranges, held->count, number);
	return upto > 0 && number - held->ranges[upto - 1].first < held->ranges[upto - 1].count;
}

static uint32_t take_u32(struct bp_bytes *fields)
{
	const uint64_t value = bp_bytes_varint(fields);
	if (value > UINT32_MAX)
		fields->failed = true;
	return (uint32_t)value;
}

/* A number that does not wrap: base + the next varint. */
static uint64_t take_growth(struct bp_bytes *fields, uint64_t base)
{
	uint64_t sum;
	if (__builtin_add_overflow(base, bp_bytes_varint(fields), &sum))
		fields->failed = true;
	return sum;
}

bool bp_trace_folded_next(struct bp_trace_folded *folded, struct bp_trace_folded_entry *ret_entry)
{
	struct bp_bytes *rest = &folded->rest;
	struct bp_trace_folded_entry entry = { 0 };
	if (rest->failed || bp_bytes_left(rest) == 0)
		return false;
	const uint64_t growth = bp_bytes_varint(rest);
	if (growth != 0)
		folded->birth = 0;
	if (__builtin_add_overflow(folded->size, growth, &folded->size))
		rest->failed = true;
	entry.size = folded->size;
	if (folded->flags & BP_FOLDED_USABLE)
		entry.usable = take_growth(rest, entry.size);
	folded->birth = take_growth(rest, folded->birth);
	const uint64_t death = take_growth(rest, folded->birth);
	const uint64_t count = bp_bytes_varint(rest);
	entry.halves = (uint8_t)(count & 3);
	if (!(folded->flags & BP_FOLDED_EXACT))
		entry.offsets = bp_bytes_varint(rest);
	if (death >= UINT32_MAX || entry.halves == 0 || count >> 2 >= BP_FOLDED_COUNT_MAX)
		rest->failed = true;
	if (rest->failed)
		return false;
	entry.birth = (uint32_t)folded->birth;
	entry.death = (uint32_t)death;
	entry.count = (uint32_t)(count >> 2) + 1;
	*ret_entry = entry;
	return true;
}

bool bp_trace_decode_folded(struct bp_bytes *fields, bool told, struct bp_trace_folded *folded)
{
	struct bp_trace_folded_entry entry;
	*folded = (struct bp_trace_folded){ .flags = bp_bytes_u8(fields) };
	folded->kind = bp_bytes_u8(fields);
	folded->thread = take_u32(fields);
	folded->stack = take_u32(fields);
	folded->interval = bp_bytes_varint(fields);
	folded->law = take_u32(fields);
	const uint64_t alignment =
		folded->flags & BP_FOLDED_ALIGNMENT ? bp_bytes_varint(fields) : 0;
	folded->alignment_log2 = (uint8_t)alignment;
	folded->told = told;
	if (told) {
		folded->labels = take_u32(fields);
		folded->type = take_u32(fields);
		folded->heap = take_u32(fields);
	}
	if (fields->failed || folded->law > BP_LAW_BERNOULLI || alignment > 63)
		return false;
	folded->rest = *fields;
	struct bp_trace_folded walk = *folded;
	while (bp_trace_folded_next(&walk, &entry)) {
		if (entry.death >= folded->tick_end)
			folded->tick_end = entry.death + 1;
		folded->objects += entry.count;
	}
	return !walk.rest.failed;
}

bool bp_trace_readings_next(
	struct bp_trace_readings *readings, struct bp_trace_reading *ret_reading)
{
	struct bp_bytes *rest = &readings->rest;
	if (rest->failed || bp_bytes_left(rest) == 0)
		return false;
	readings->time_ns = take_growth(rest, readings->time_ns);
	readings->trials = take_growth(rest, readings->trials);
	readings->objects = take_growth(rest, readings->objects);
	if (rest->failed)
		return false;
	*ret_reading = (struct bp_trace_reading){ readings->time_ns - readings->clock_offset_ns,
		readings->trials, readings->objects };
	return true;
}

bool bp_trace_decode_readings(struct bp_bytes *fields, struct bp_trace_readings *readings)
{
	struct bp_trace_reading reading;
	*readings = (struct bp_trace_readings){ .thread = take_u32(fields) };
	readings->rest = *fields;
	struct bp_trace_readings walk = *readings;
	while (bp_trace_readings_next(&walk, &reading))
		;
	return !walk.rest.failed;
}

/* The next tick of a record; `tick` holds the one before. */
static bool next_tick(struct bp_bytes *rest, struct bp_trace_tick *tick)
{
	tick->time_ns = take_growth(rest, tick->time_ns);
	tick->sequence += (uint64_t)bp_bytes_zigzag(rest);
	return !rest->failed;
}

bool bp_trace_decode_ticks(struct bp_bytes *fields, struct bp_trace_ticks *ticks)
{
	struct bp_trace_tick tick = { 0 };
	*ticks = (struct bp_trace_ticks){ .resolution_ns = bp_bytes_varint(fields) };
	ticks->rest = *fields;
	if (ticks->resolution_ns > RESOLUTION_MAX_NS)
		return false;
	for (struct bp_bytes walk = *fields; bp_bytes_left(&walk) != 0; ticks->count++)
		if (!next_tick(&walk, &tick))
			return false;
	return !fields->failed;
}

enum bp_trace_added bp_trace_clock_add(
	struct bp_trace_clock *clock, const struct bp_trace_ticks *ticks)
{
	struct bp_bytes rest = ticks->rest;
	struct bp_trace_tick tick = { 0 };
	if (!bp_vec_reserve(&clock->ticks, &clock->capacity, (uint64_t)clock->count + ticks->count,
		    sizeof *clock->ticks))
		return BP_TRACE_ADD_NO_MEMORY;
	clock->resolution_ns = ticks->resolution_ns;
	for (uint32_t i = 0; i < ticks->count; i++) {
		next_tick(&rest, &tick);
		const struct bp_trace_tick moved = { tick.time_ns - ticks->clock_offset_ns,
			tick.sequence };
		if (clock->count > 0 && moved.time_ns <= clock->ticks[clock->count - 1].time_ns)
			return BP_TRACE_NOT_IN_ORDER;
		clock->ticks[clock->count++] = moved;
	}
	return BP_TRACE_ADDED;
}

/* The next range of a record; `range` holds the one before. A range of no chunks is refused: the
 * range after it could not be distinguished from one out of order. */
static bool next_range(struct bp_bytes *rest, struct bp_trace_range *range)
{
	uint64_t end;
	range->first = take_growth(rest, range->first + range->count);
	range->count = bp_bytes_varint(rest);
	if (range->count == 0 || __builtin_add_overflow(range->first, range->count, &end))
		rest->failed = true;
	return !rest->failed;
}

bool bp_trace_decode_ranges(struct bp_bytes *fields, struct bp_trace_ranges *ranges)
{
	struct bp_trace_range range = { 0 };
	*ranges = (struct bp_trace_ranges){ .rest = *fields };
	for (struct bp_bytes walk = *fields; bp_bytes_left(&walk) != 0; ranges->count++)
		if (!next_range(&walk, &range))
			return false;
	return true;
}

enum bp_trace_added bp_trace_held_add(
	struct bp_trace_held *held, const struct bp_trace_ranges *ranges)
{
	struct bp_bytes rest = ranges->rest;
	struct bp_trace_range range = { 0 };
	if (!bp_vec_reserve(&held->ranges, &held->capacity, (uint64_t)held->count + ranges->count,
		    sizeof *held->ranges))
		return BP_TRACE_ADD_NO_MEMORY;
	for (uint32_t i = 0; i < ranges->count; i++) {
		const struct bp_trace_range *last =
			held->count == 0 ? NULL : &held->ranges[held->count - 1];
		next_range(&rest, &range);
		if (last != NULL && range.first < last->first + last->count)
			return BP_TRACE_NOT_IN_ORDER;
		held->ranges[held->count++] = range;
	}
	return BP_TRACE_ADDED;
}

void bp_trace_clock_finish(struct bp_trace_clock *clock)
{
	free(clock->ticks);
	memset(clock, 0, sizeof *clock);
}

void bp_trace_held_finish(struct bp_trace_held *held)
{
	free(held->ranges);
	memset(held, 0, sizeof *held);
}
