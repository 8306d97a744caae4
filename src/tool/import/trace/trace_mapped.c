/* SPDX-License-Identifier: MIT */
/*
 * See trace_mapped.h. The calls are done again on a map of addresses, in the order of their
 * numbers. A call that gives memory back did so at its first number, before another thread could
 * get the memory, and what a call maps was mapped at its second one; mremap does both. Times follow
 * the numbers: where a call has an earlier time than one with a smaller number (threads read the
 * clock a moment later than they take the number), it is told at that later time.
 */
#include "import/trace/trace_mapped.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/vec.h"
#include "model/address_map.h"

#define ACCESS (PROT_READ | PROT_WRITE | PROT_EXEC)
#define HUGE_SHIFT 26u
#define HUGE_MASK 63u
#define HUGE_LOG2_USUAL 21u /* of x86-64, and of aarch64 with pages of 4 KiB */

/* Half of a call, at one of its numbers. */
struct step {
	uint64_t sequence;
	uint32_t record;
	bool is_first; /* what the call gives back, not what it maps */
};

struct replay {
	const struct bp_trace_mapping *records;
	struct bp_trace_join *join;
	struct bp_error *error;
	struct bp_address_map map;
	struct origin *origins; /* by record: what its ranges have in common */
	uint64_t page_bytes;
	uint64_t now_ns, now_sequence;
};

/* A call that mapped memory, or made it accessible. */
struct origin {
	uint64_t time_ns, sequence;
	uint32_t kind;
	bool old_accessible; /* of a remap: was the old range accessible? */
};

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory while reading what was mapped");
}

bool bp_trace_mapped_add(struct bp_trace_mapped *mapped, const struct bp_trace_mapping *record,
	struct bp_error *error)
{
	if (!bp_vec_reserve(&mapped->records, &mapped->capacity, (uint64_t)mapped->count + 1,
		    sizeof *mapped->records))
		return no_memory(error);
	mapped->records[mapped->count++] = *record;
	return true;
}

void bp_trace_mapped_release(struct bp_trace_mapped *mapped)
{
	free(mapped->records);
	*mapped = (struct bp_trace_mapped){ 0 };
}

/* ---- samples ---- */

static bool add_sample(struct replay *replay, const struct bp_address_range *range, bool ended)
{
	const struct bp_trace_mapping *record = &replay->records[range->origin];
	const struct origin *origin = &replay->origins[range->origin];
	struct bp_samples *samples = &replay->join->profile->samples;
	uint32_t stack;
	struct bp_sample sample = {
		.size = range->end - range->start,
		.interval = 1,
		.sequence = origin->sequence,
		.time_ns = origin->time_ns,
		.free_sequence = ended ? replay->now_sequence : BP_TIME_NEVER,
		.free_time_ns = ended ? replay->now_ns : BP_TIME_NEVER,
		.process = replay->join->process,
		.thread = { record->thread },
		.kind = origin->kind,
		.exact = true,
	};
	if (record->stack == 0)
		stack = 0;
	else if (!bp_trace_join_stack(
			 replay->join, record->stack, origin->time_ns, &stack, replay->error))
		return false;
	return bp_samples_add(samples, &sample, stack, replay->error);
}

static bool end_range(void *context, const struct bp_address_range *range)
{
	return add_sample(context, range, true);
}

/* ---- calls ---- */

/* False: there is no such range of whole pages, so that no kernel did that. */
static bool round_range(const struct replay *replay, uint64_t address, uint64_t bytes,
	uint32_t flags, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t unit = replay->page_bytes;
	if ((flags & (MAP_ANONYMOUS | MAP_HUGETLB)) == (MAP_ANONYMOUS | MAP_HUGETLB)) {
		const uint32_t log2 = flags >> HUGE_SHIFT & HUGE_MASK;
		unit = (uint64_t)1 << (log2 != 0 ? log2 : HUGE_LOG2_USUAL);
	}
	const uint64_t whole = (bytes + unit - 1) & ~(unit - 1);
	*ret_start = address & ~(replay->page_bytes - 1);
	*ret_end = *ret_start + whole;
	return bytes != 0 && whole >= bytes && *ret_end > *ret_start;
}

static uint32_t kind_of(const struct bp_trace_mapping *record)
{
	if (record->what == BP_MAPPING_BREAK)
		return BP_PROFILE_KIND_BREAK;
	if ((record->flags & MAP_SHARED) != 0) /* (MAP_SHARED_VALIDATE too) */
		return BP_PROFILE_KIND_SHARED;
	return record->what == BP_MAPPING_MAP && (record->flags & MAP_ANONYMOUS) == 0
		       ? (uint32_t)BP_PROFILE_KIND_MAPPED_FILE
		       : (uint32_t)BP_KIND_MMAP;
}

/* The kind of what lies at an address, else of anonymous memory. */
static uint32_t kind_at(const struct replay *replay, uint64_t address)
{
	const struct bp_address_range *found = bp_address_map_find(&replay->map, address);
	return found == NULL ? (uint32_t)BP_KIND_MMAP : replay->origins[found->origin].kind;
}

static bool give_back(struct replay *replay, uint32_t number)
{
	const struct bp_trace_mapping *record = &replay->records[number];
	struct origin *origin = &replay->origins[number];
	uint64_t start, end;
	if (record->what == BP_MAPPING_REMAP) {
		const struct bp_address_range *old =
			bp_address_map_find(&replay->map, record->old_address);
		origin->old_accessible = old == NULL || old->accessible;
		origin->kind = kind_at(replay, record->old_address);
		return (record->flags & BP_DONTUNMAP) != 0 ||
		       !round_range(
			       replay, record->old_address, record->old_bytes, 0, &start, &end) ||
		       bp_address_map_remove(&replay->map, start, end);
	}
	if (record->what == BP_MAPPING_BREAK)
		return record->address >= record->old_address ||
		       bp_address_map_remove(&replay->map, record->address, record->old_address);
	if (record->what == BP_MAPPING_UNMAP)
		return !round_range(replay, record->address, record->bytes, 0, &start, &end) ||
		       bp_address_map_remove(&replay->map, start, end);
	/* A segment that was attached and perhaps cut since: all that is left of it. */
	const struct bp_address_range *found = bp_address_map_find(&replay->map, record->address);
	if (found == NULL || replay->records[found->origin].what != BP_MAPPING_ATTACH)
		return true;
	const struct bp_trace_mapping *attached = &replay->records[found->origin];
	return !round_range(replay, attached->address, attached->bytes, 0, &start, &end) ||
	       bp_address_map_remove(&replay->map, start, end);
}

static bool map(struct replay *replay, uint32_t number)
{
	const struct bp_trace_mapping *record = &replay->records[number];
	struct origin *origin = &replay->origins[number];
	bool accessible = (record->protection & ACCESS) != 0;
	uint64_t start, end;
	origin->time_ns = replay->now_ns;
	origin->sequence = replay->now_sequence;
	if (record->what == BP_MAPPING_BREAK)
		return record->address <= record->old_address ||
		       bp_address_map_add(
			       &replay->map, record->old_address, record->address, true, number);
	if (record->what == BP_MAPPING_REMAP)
		accessible = origin->old_accessible;
	if (!round_range(replay, record->address, record->bytes,
		    record->what == BP_MAPPING_MAP ? record->flags : 0, &start, &end))
		return true;
	if (record->what != BP_MAPPING_PROTECT)
		return bp_address_map_add(&replay->map, start, end, accessible, number);
	origin->kind = kind_at(replay, start);
	return bp_address_map_protect(&replay->map, start, end, accessible, number);
}

static int compare(const void *left, const void *right)
{
	const struct step *a = left, *b = right;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	if (a->record != b->record)
		return a->record < b->record ? -1 : 1;
	return b->is_first - a->is_first;
}

static bool is_mapping(enum bp_mapping_what what)
{
	return what != BP_MAPPING_UNMAP && what != BP_MAPPING_DETACH;
}

static bool is_giving_back(enum bp_mapping_what what)
{
	return what == BP_MAPPING_UNMAP || what == BP_MAPPING_DETACH || what == BP_MAPPING_REMAP ||
	       what == BP_MAPPING_BREAK;
}

static uint32_t make_steps(const struct bp_trace_mapped *mapped, struct step *steps)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < mapped->count; i++) {
		const struct bp_trace_mapping *record = &mapped->records[i];
		if (is_giving_back(record->what))
			steps[count++] = (struct step){ record->before, i, true };
		if (is_mapping(record->what))
			steps[count++] = (struct step){ record->sequence, i, false };
	}
	qsort(steps, count, sizeof *steps, compare);
	return count;
}

static bool run(struct replay *replay, const struct step *steps, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct step *step = &steps[i];
		const uint64_t time_ns = replay->records[step->record].time_ns;
		replay->now_ns = time_ns > replay->now_ns ? time_ns : replay->now_ns;
		replay->now_sequence = step->sequence;
		if (!(step->is_first ? give_back : map)(replay, step->record))
			return false;
	}
	for (uint32_t i = 0; i < replay->map.count; i++)
		if (replay->map.ranges[i].accessible &&
			!add_sample(replay, &replay->map.ranges[i], false))
			return false;
	return true;
}

bool bp_trace_mapped_finish(
	struct bp_trace_mapped *mapped, struct bp_trace_join *join, struct bp_error *error)
{
	struct replay replay = { .records = mapped->records,
		.join = join,
		.error = error,
		.map = { .ended = end_range, .context = &replay },
		.page_bytes = join->reader->header.page_bytes };
	if (replay.page_bytes == 0 || (replay.page_bytes & (replay.page_bytes - 1)) != 0)
		replay.page_bytes = 4096;
	struct step *steps = malloc(((size_t)mapped->count + 1) * 2 * sizeof *steps);
	replay.origins = calloc((size_t)mapped->count + 1, sizeof *replay.origins);
	bool good = steps != NULL && replay.origins != NULL;
	if (!good)
		(void)no_memory(error);
	for (uint32_t i = 0; good && i < mapped->count; i++)
		replay.origins[i].kind = kind_of(&mapped->records[i]);
	good = good && run(&replay, steps, make_steps(mapped, steps));
	if (!good && error->text[0] == '\0')
		(void)no_memory(error);
	bp_address_map_finish(&replay.map);
	free(replay.origins);
	free(steps);
	return good;
}

/* ---- totals ---- */

static void add_total(struct bp_known_total *total, uint64_t number)
{
	total->low += number;
	total->high = total->low;
}

void bp_trace_mapped_tell_totals(const struct bp_trace_reader *reader, struct bp_process_id id,
	uint32_t first_alike, struct bp_profile *profile)
{
	struct bp_process *process = &profile->processes.data[id.i];
	const struct bp_known_total none = { 0, 0 };
	memset(process->lost, 0, sizeof process->lost); /* of samples */
	process->lost[BP_LOSS_MAPPING] = reader->state.lost[BP_LOSS_MAPPING];
	process->law = BP_LAW_EXACT;
	process->interval_first = process->interval_max = 1;
	process->charge = 0;
	process->bytes_allocated = process->objects_allocated = none;
	process->bytes_off = process->objects_off = none;
	process->unoffered_bytes = process->unoffered_objects = 0;
	process->has_pauses = process->fine_start = process->automatic = false;
	process->samples_in_slots = process->fold_missing = false;
	process->folded_ns = process->folded_until_ns = 0;
	for (uint32_t i = profile->threads.count - reader->thread_count; i < profile->threads.count;
		i++)
		profile->threads.data[i].bytes_allocated =
			profile->threads.data[i].objects_allocated = none;
	for (uint32_t i = first_alike; i < profile->samples.alike_count; i++) {
		const struct bp_alike *alike = &profile->samples.alike[i];
		struct bp_thread *thread = &profile->threads.data[alike->thread.i];
		const uint64_t bytes = alike->size * alike->count;
		add_total(&process->bytes_allocated, bytes);
		add_total(&process->objects_allocated, alike->count);
		if (alike->thread.i != 0) {
			add_total(&thread->bytes_allocated, bytes);
			add_total(&thread->objects_allocated, alike->count);
		}
	}
	if (process->lost[BP_LOSS_MAPPING] > 0 || process->damaged_chunks > 0)
		process->bytes_allocated.high = process->objects_allocated.high = UINT64_MAX;
}
