/* SPDX-License-Identifier: MIT */
/*
 * What becomes of each thing that was gathered:
 *
 *	a sample of ours that a free of ours ended before the last tick	a member of an entry
 *	an entry of the folded part so far				the same, by the new clock
 *	any other sample or free of ours				a record as before
 *	counters of a thread		the first and the last between two ticks
 *	stacks, modules, threads, ...	as they were
 *
 * Members are sorted, so that what is alike comes together: first by all that stands once in a
 * FOLDED record, then by size and ticks, which are coded as growth from entry to entry; equal ones
 * become one entry with a count. Of what stands once, sorting compares a hash alone (that was half
 * the time of folding): two that share one by chance are told apart afterwards, and cost some
 * bytes.
 */
#include "fold/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "base/vec.h"
#include "fold/ticks.h"

#define RECORD_BYTES 16384u /* a list is cut into records of about that many bytes */
#define MEMBER_BYTES_MAX (6 * BP_VARINT_MAX_BYTES)

/* A member of an entry, or an entry. */
struct member {
	uint64_t key_hash, size;
	uint32_t birth, death;
	uint64_t usable, interval, offsets;
	uint32_t thread, stack, count;
	uint32_t labels, type, heap;
	uint8_t law, flags, kind, alignment_log2, halves;
};

struct build {
	struct bp_gathered *gathered;
	const struct bp_trace_clock *clock;
	struct bp_fold_output *output;
	struct member *members;
	uint32_t member_count;
	uint8_t payload[RECORD_BYTES + 2 * MEMBER_BYTES_MAX];
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By what stands once in a record. */
static int compare_keys(const struct member *a, const struct member *b)
{
	int order;
	if ((order = compare(a->stack, b->stack)) != 0 ||
		(order = compare(a->thread, b->thread)) != 0 ||
		(order = compare(a->kind, b->kind)) != 0 ||
		(order = compare(a->flags, b->flags)) != 0 ||
		(order = compare(a->alignment_log2, b->alignment_log2)) != 0 ||
		(order = compare(a->interval, b->interval)) != 0 ||
		(order = compare(a->labels, b->labels)) != 0 ||
		(order = compare(a->type, b->type)) != 0 ||
		(order = compare(a->heap, b->heap)) != 0)
		return order;
	return compare(a->law, b->law);
}

static void set_key_hash(struct member *member)
{
	const uint64_t key[] = { (uint64_t)member->stack << 32 | member->thread, member->interval,
		(uint64_t)member->labels << 32 | member->type,
		(uint64_t)member->heap << 32 | (uint32_t)member->kind << 24 |
			(uint32_t)member->flags << 16 | (uint32_t)member->alignment_log2 << 8 |
			member->law };
	member->key_hash = 0;
	for (size_t i = 0; i < BP_COUNT(key); i++)
		member->key_hash = bp_hash_u64(member->key_hash ^ key[i]);
}

/* For sorting: by what stands once, as far as its hash tells, then by what stands in an entry. */
static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int order;
	if ((order = compare(a->key_hash, b->key_hash)) != 0 ||
		(order = compare(a->size, b->size)) != 0 ||
		(order = compare(a->birth, b->birth)) != 0 ||
		(order = compare(a->death, b->death)) != 0 ||
		(order = compare(a->halves, b->halves)) != 0)
		return order;
	return compare(a->usable, b->usable);
}

/* Where objects are not counted their counters tell nothing. */
static bool is_temporary(const struct build *build, const struct bp_trace_sample *sample,
	const struct bp_trace_free *record)
{
	return (build->gathered->header.flags_skippable & BP_HEADER_OBJECTS_UNCOUNTED) == 0 &&
	       record->thread != 0 && record->thread == sample->thread &&
	       record->objects == sample->objects;
}

static void add_item(struct build *build, struct bp_fold_item *item)
{
	const struct bp_trace_sample *sample = &item->sample;
	item->paired = false;
	if (!item->ours || item->freed_by == BP_FOLD_NONE)
		return;
	struct bp_fold_free *freed = &build->gathered->frees[item->freed_by];
	const struct bp_trace_free *record = &freed->record;
	const uint32_t birth = bp_trace_clock_find(build->clock, sample->time_ns, sample->sequence);
	const uint32_t death = bp_trace_clock_find(build->clock, record->time_ns, record->sequence);
	/* A freeing stack and a processor have no place in an entry; times that go backwards are a
	 * damaged file's. */
	if (!freed->ours || (record->flags & (BP_FREE_STACK | BP_FREE_PROCESSOR)) != 0 ||
		death < birth || death == build->clock->count)
		return;
	item->paired = freed->paired = true;
	build->members[build->member_count++] = (struct member){
		.size = sample->size,
		.usable = sample->usable,
		.interval = sample->interval,
		.offsets = sample->offset,
		.thread = sample->thread,
		.stack = sample->stack,
		.birth = birth,
		.death = death,
		.count = 1,
		.labels = sample->labels,
		.type = sample->type,
		.heap = sample->heap,
		.law = (uint8_t)sample->law,
		.flags = (uint8_t)((is_temporary(build, sample, record) ? BP_FOLDED_TEMPORARY : 0) |
				   (sample->flags & BP_SAMPLE_EXACT ? BP_FOLDED_EXACT : 0) |
				   (sample->flags & BP_SAMPLE_ALIGNMENT ? BP_FOLDED_ALIGNMENT : 0) |
				   (sample->flags & BP_SAMPLE_USABLE ? BP_FOLDED_USABLE : 0)),
		.kind = sample->kind,
		.alignment_log2 = sample->alignment_log2,
		.halves = bp_fold_halves(sample, build->gathered->header.charge_bytes),
	};
}

static void add_group(struct build *build, const struct bp_fold_group *group)
{
	const struct bp_trace_tick *ticks = build->gathered->clock.ticks;
	const struct bp_trace_tick *birth = &ticks[group->entry.birth];
	const struct bp_trace_tick *death = &ticks[group->entry.death];
	build->members[build->member_count++] = (struct member){
		.size = group->entry.size,
		.usable = group->entry.usable,
		.interval = group->key.interval,
		.offsets = group->entry.offsets,
		.thread = group->key.thread,
		.stack = group->key.stack,
		.birth = bp_trace_clock_find(build->clock, birth->time_ns, birth->sequence),
		.death = bp_trace_clock_find(build->clock, death->time_ns, death->sequence),
		.count = group->entry.count,
		.labels = group->key.labels,
		.type = group->key.type,
		.heap = group->key.heap,
		.law = (uint8_t)group->key.law,
		.flags = group->key.flags & (BP_FOLDED_TEMPORARY | BP_FOLDED_EXACT |
						    BP_FOLDED_ALIGNMENT | BP_FOLDED_USABLE),
		.kind = group->key.kind,
		.alignment_log2 = group->key.alignment_log2,
		.halves = group->entry.halves,
	};
}

/* Makes one of equal members, as far as a count goes. They must be sorted. */
static void merge_members(struct build *build)
{
	uint32_t kept = 0;
	for (uint32_t i = 1; i < build->member_count; i++) {
		struct member *last = &build->members[kept];
		const struct member *member = &build->members[i];
		if (compare_members(last, member) == 0 && compare_keys(last, member) == 0 &&
			last->count + member->count <= BP_FOLDED_COUNT_MAX &&
			!__builtin_add_overflow(last->offsets, member->offsets, &last->offsets)) {
			last->count += member->count;
			continue;
		}
		build->members[++kept] = *member;
	}
	if (build->member_count > 0)
		build->member_count = kept + 1;
}

/* More than an older reader's FOLDED has room for? */
static bool is_told(const struct member *member)
{
	return member->labels != 0 || member->type != 0 || member->heap != 0;
}

static void put_key(struct bp_bytes_out *out, const struct member *member)
{
	bp_bytes_put_u8(out, member->flags);
	bp_bytes_put_u8(out, member->kind);
	bp_bytes_put_varint(out, member->thread);
	bp_bytes_put_varint(out, member->stack);
	bp_bytes_put_varint(out, member->interval);
	bp_bytes_put_varint(out, member->law);
	if (member->flags & BP_FOLDED_ALIGNMENT)
		bp_bytes_put_varint(out, member->alignment_log2);
	if (is_told(member)) {
		bp_bytes_put_varint(out, member->labels);
		bp_bytes_put_varint(out, member->type);
		bp_bytes_put_varint(out, member->heap);
	}
}

/* `last`: the entry before in this record; NULL: this is the first. */
static void put_entry(
	struct bp_bytes_out *out, const struct member *member, const struct member *last)
{
	const uint64_t growth = member->size - (last == NULL ? 0 : last->size);
	const uint32_t base = last == NULL || growth != 0 ? 0 : last->birth;
	bp_bytes_put_varint(out, growth);
	if (member->flags & BP_FOLDED_USABLE)
		bp_bytes_put_varint(out, member->usable - member->size);
	bp_bytes_put_varint(out, member->birth - base);
	bp_bytes_put_varint(out, member->death - member->birth);
	bp_bytes_put_varint(out, (uint64_t)(member->count - 1) << 2 | member->halves);
	if (!(member->flags & BP_FOLDED_EXACT))
		bp_bytes_put_varint(out, member->offsets);
}

static void put_members(struct build *build)
{
	uint32_t i = 0;
	while (i < build->member_count) {
		const struct member *first = &build->members[i], *last = NULL;
		struct bp_bytes_out out = bp_bytes_out_of(build->payload, sizeof build->payload);
		put_key(&out, first);
		while (i < build->member_count && compare_keys(first, &build->members[i]) == 0 &&
			out.at < build->payload + RECORD_BYTES) {
			put_entry(&out, &build->members[i], last);
			last = &build->members[i++];
		}
		build->output->failed |= out.failed;
		bp_fold_put_record(build->output,
			is_told(first) ? BP_TAG_FOLDED_TOLD : BP_TAG_FOLDED, build->payload,
			(size_t)(out.at - build->payload));
	}
}

static int compare_readings(const void *left, const void *right)
{
	const struct bp_fold_reading *a = left, *b = right;
	int order;
	if ((order = compare(a->thread, b->thread)) != 0 ||
		(order = compare(a->time_ns, b->time_ns)) != 0 ||
		(order = compare(a->trials, b->trials)) != 0)
		return order;
	return compare(a->objects, b->objects);
}

/* Is the reading neither the first nor the last of its thread between two ticks? */
static bool is_between(const struct build *build, uint32_t number)
{
	const struct bp_gathered *gathered = build->gathered;
	const struct bp_fold_reading *reading = &gathered->readings[number];
	if (number == 0 || number + 1 == gathered->reading_count)
		return false;
	const struct bp_fold_reading *before = reading - 1, *after = reading + 1;
	const uint32_t tick = bp_trace_clock_find(build->clock, reading->time_ns, 0);
	return before->thread == reading->thread && after->thread == reading->thread &&
	       bp_trace_clock_find(build->clock, before->time_ns, 0) == tick &&
	       bp_trace_clock_find(build->clock, after->time_ns, 0) == tick;
}

/* Counters that go backwards are a damaged file's: left out. */
static bool put_reading(struct bp_bytes_out *out, const struct bp_fold_reading *reading,
	struct bp_fold_reading *last)
{
	if (reading->trials < last->trials || reading->objects < last->objects)
		return false;
	bp_bytes_put_varint(out, reading->time_ns - last->time_ns);
	bp_bytes_put_varint(out, reading->trials - last->trials);
	bp_bytes_put_varint(out, reading->objects - last->objects);
	*last = *reading;
	return true;
}

/* Keeps the readings that a coarser clock will want: those left out now are between still. */
static void put_readings(struct build *build)
{
	const struct bp_gathered *gathered = build->gathered;
	uint32_t i = 0;
	while (i < gathered->reading_count) {
		const uint32_t thread = gathered->readings[i].thread;
		struct bp_fold_reading last = { .thread = thread };
		struct bp_bytes_out out = bp_bytes_out_of(build->payload, sizeof build->payload);
		bp_bytes_put_varint(&out, thread);
		for (; i < gathered->reading_count && gathered->readings[i].thread == thread &&
			out.at < build->payload + RECORD_BYTES;
			i++)
			if (!is_between(build, i))
				put_reading(&out, &gathered->readings[i], &last);
		build->output->failed |= out.failed;
		bp_fold_put_record(build->output, BP_TAG_READINGS, build->payload,
			(size_t)(out.at - build->payload));
	}
}

static void put_ticks(struct build *build)
{
	uint32_t i = 0;
	while (i < build->clock->count) {
		struct bp_trace_tick last = { 0 };
		struct bp_bytes_out out = bp_bytes_out_of(build->payload, sizeof build->payload);
		bp_bytes_put_varint(&out, build->clock->resolution_ns);
		for (; i < build->clock->count && out.at < build->payload + RECORD_BYTES; i++) {
			const struct bp_trace_tick *tick = &build->clock->ticks[i];
			bp_bytes_put_varint(&out, tick->time_ns - last.time_ns);
			bp_bytes_put_zigzag(&out, (int64_t)(tick->sequence - last.sequence));
			last = *tick;
		}
		bp_fold_put_record(build->output, BP_TAG_TICKS, build->payload,
			(size_t)(out.at - build->payload));
	}
}

static void put_held(struct build *build, const struct bp_trace_held *held)
{
	uint32_t i = 0;
	while (i < held->count) {
		uint64_t end = 0;
		struct bp_bytes_out out = bp_bytes_out_of(build->payload, sizeof build->payload);
		for (; i < held->count && out.at < build->payload + RECORD_BYTES; i++) {
			bp_bytes_put_varint(&out, held->ranges[i].first - end);
			bp_bytes_put_varint(&out, held->ranges[i].count);
			end = held->ranges[i].first + held->ranges[i].count;
		}
		bp_fold_put_record(build->output, BP_TAG_HELD, build->payload,
			(size_t)(out.at - build->payload));
	}
}

/* Records that are kept as they stand, one by one, since none may be cut by the end of a chunk. */
static void put_raw(struct build *build)
{
	struct bp_bytes raw = bp_bytes_of(build->gathered->raw, build->gathered->raw_bytes);
	while (bp_bytes_left(&raw) != 0) {
		const uint8_t *record = raw.at;
		bp_bytes_u8(&raw);
		bp_bytes_take(&raw, bp_bytes_varint(&raw));
		bp_fold_put_raw(build->output, record, (size_t)(raw.at - record));
	}
}

static void put_rest(struct build *build)
{
	const struct bp_gathered *gathered = build->gathered;
	for (uint32_t i = 0; i < gathered->item_count; i++)
		if (gathered->items[i].ours && !gathered->items[i].paired)
			bp_fold_put_sample(build->output, &gathered->items[i].sample);
	for (uint32_t i = 0; i < gathered->free_count; i++)
		if (gathered->frees[i].ours && !gathered->frees[i].paired)
			bp_fold_put_free(build->output, &gathered->frees[i].record);
}

/* Chunk 0: the header of FILE, marked, and the state page with what a reader of this file alone may
 * want. */
static void put_head(const struct build *build)
{
	struct bp_trace_header header;
	struct bp_trace_state state = { 0 };
	uint8_t *bytes = build->output->bytes;
	memcpy(bytes, build->gathered->head, build->gathered->header.header_bytes);
	memcpy(&header, bytes, sizeof header);
	header.version_minor = BP_TRACE_MINOR;
	header.flags_skippable |= BP_HEADER_FOLDED;
	header.flags_skippable &= ~BP_HEADER_VERIFY;
	memcpy(bytes, &header, sizeof header);
	state.chunks_reserved = build->output->chunks;
	memcpy(bytes + BP_STATE_OFFSET, &state, sizeof state);
}

bool bp_fold_build(struct bp_gathered *gathered, const struct bp_trace_clock *clock,
	const struct bp_trace_held *held, struct bp_fold_output *output, struct bp_error *error)
{
	const size_t most = (size_t)gathered->item_count + gathered->group_count + 1;
	struct build *build = calloc(1, sizeof *build);
	bool good = build != NULL;
	if (good) {
		*build = (struct build){ .gathered = gathered, .clock = clock, .output = output };
		build->members = malloc(most * sizeof *build->members);
		good = build->members != NULL;
	}
	if (good) {
		output->interval = gathered->header.interval_bytes;
		output->law = gathered->header.law;
		for (uint32_t i = 0; i < gathered->free_count; i++)
			gathered->frees[i].paired = false;
		for (uint32_t i = 0; i < gathered->item_count; i++)
			add_item(build, &gathered->items[i]);
		for (uint32_t i = 0; i < gathered->group_count; i++)
			add_group(build, &gathered->groups[i]);
		for (uint32_t i = 0; i < build->member_count; i++)
			set_key_hash(&build->members[i]);
		qsort(build->members, build->member_count, sizeof *build->members, compare_members);
		merge_members(build);
		put_held(build, held);
		put_ticks(build);
		put_raw(build);
		put_readings(build);
		put_members(build);
		put_rest(build);
		bp_fold_output_seal(output);
		good = !output->failed;
	}
	if (good)
		put_head(build);
	if (build != NULL)
		free(build->members);
	free(build);
	return good || bp_error_set(error, "out of memory while folding");
}

void bp_fold_sort_readings(struct bp_gathered *gathered)
{
	if (gathered->reading_count > 0)
		qsort(gathered->readings, gathered->reading_count, sizeof *gathered->readings,
			compare_readings);
}
