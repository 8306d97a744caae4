/* SPDX-License-Identifier: MIT */
/*
 * The folded part of a trace into the profile (docs/trace-format.md, section 5). Objects in entries
 * become samples that stand for several; everything else of the time before the last tick is told
 * by the same clock, so that a tick shows the heap as it was and no figure mixes two clocks:
 *
 *	deaths	at (time of the tick, 0): before all births, so that on the way from one tick to the next
 *		there is never more than at one of them
 *	births	at (time of the tick, its sequence), all at the same moment: whichever of them the search
 *		for a peak ends at, it sees all others too
 *
 * The draw of the halves (docs/statistics.md, "Peak") goes by sequence and time as recorded, and is
 * made before the time is changed.
 */
#include "estimate/estimate.h"
#include "import/trace/trace_join.h"

uint64_t bp_import_told_ns(const struct bp_trace_clock *clock, uint64_t time_ns, uint64_t sequence)
{
	const uint32_t tick = bp_trace_clock_find(clock, time_ns, sequence);
	return tick < clock->count ? clock->ticks[tick].time_ns : time_ns;
}

/* The tick's sequence; that of the last one would be after everything, and mean "never". */
static uint64_t birth_sequence(const struct bp_trace_tick *tick)
{
	return tick->sequence < BP_TIME_NEVER - 2 ? tick->sequence : BP_TIME_NEVER - 2;
}

static void draw_halves(struct bp_sample *sample, uint32_t charge)
{
	const struct bp_half_split split = bp_split_in_halves(
		bp_trials(sample->size, charge), sample->interval, sample->exact);
	sample->halves =
		bp_draw_halves(split, bp_draw_identity(sample->sequence, sample->time_ns)) & 3;
}

static uint64_t last_of(const struct bp_trace_clock *clock)
{
	return clock->ticks[clock->count - 1].time_ns;
}

void bp_import_tell_birth(
	const struct bp_trace_clock *clock, uint32_t charge, struct bp_sample *sample)
{
	if (clock->count == 0 || sample->time_ns > last_of(clock))
		return;
	draw_halves(sample, charge);
	const uint32_t birth = bp_trace_clock_find(clock, sample->time_ns, sample->sequence);
	if (birth < clock->count) {
		sample->time_ns = clock->ticks[birth].time_ns;
		sample->sequence = birth_sequence(&clock->ticks[birth]);
	}
}

void bp_import_tell_death(const struct bp_trace_clock *clock, uint64_t birth_ns,
	uint64_t *free_time_ns, uint64_t *free_sequence)
{
	if (clock->count == 0 || birth_ns > last_of(clock) || *free_time_ns > last_of(clock))
		return;
	*free_time_ns = bp_import_told_ns(clock, *free_time_ns, *free_sequence);
	*free_sequence = 0;
}

/* What is added; entries of a folded part have their halves, and their times. */
struct addition {
	struct bp_sample sample;
	uint32_t stack;
	struct bp_packed *beside;
};

static bool add_samples(struct bp_profile *profile, struct addition *addition, uint64_t offset,
	uint32_t count, struct bp_error *error)
{
	const struct bp_packed_row nothing = { { 0 } };
	if (count == 0)
		return true;
	addition->sample.offset = offset;
	addition->sample.more = (count - 1) & (BP_FOLDED_COUNT_MAX - 1);
	if (!bp_packed_add(addition->beside, &nothing, BP_BESIDE_COLUMNS))
		return bp_error_set(error, "out of memory");
	if (!bp_samples_add(&profile->samples, &addition->sample, addition->stack, error))
		return false;
	bp_profile_tell_progress(profile);
	return true;
}

bool bp_import_folded(const struct bp_trace_reader *reader, const struct bp_trace_folded *folded,
	struct bp_process_id process, uint32_t stack, struct bp_packed *beside,
	struct bp_profile *profile, struct bp_error *error)
{
	struct addition addition = { .stack = stack, .beside = beside };
	/* Opened as a trace of its own a folded part has its clock just so; see reader.h. */
	const struct bp_trace_tick *ticks = reader->part.clock.ticks;
	struct bp_trace_folded walk = *folded;
	struct bp_trace_folded_entry entry;
	while (bp_trace_folded_next(&walk, &entry)) {
		addition.sample = (struct bp_sample){
			.size = entry.size,
			.usable = entry.usable,
			.interval = folded->interval == 0 ? 1 : folded->interval,
			.sequence = birth_sequence(&ticks[entry.birth]),
			.time_ns = ticks[entry.birth].time_ns,
			.free_time_ns = ticks[entry.death].time_ns,
			.process = process,
			.thread = { folded->thread },
			.type = { folded->type },
			.labels = { folded->labels },
			.kind = folded->kind & 15,
			.exact = folded->flags & BP_FOLDED_EXACT,
			.bernoulli = folded->law == BP_LAW_BERNOULLI,
			.temporary = folded->flags & BP_FOLDED_TEMPORARY,
			.halves = entry.halves & 3,
		};
		/* Their offsets as even as their sum allows. */
		const uint32_t larger = (uint32_t)(entry.offsets % entry.count);
		const uint64_t offset = entry.offsets / entry.count;
		if (!add_samples(profile, &addition, offset + 1, larger, error) ||
			!add_samples(profile, &addition, offset, entry.count - larger, error))
			return false;
	}
	return true;
}

bool bp_import_folded_readings(const struct bp_trace_reader *reader,
	const struct bp_trace_readings *readings, struct bp_readings *added)
{
	const uint32_t charge = reader->header.charge_bytes;
	struct bp_trace_readings walk = *readings;
	struct bp_trace_reading from;
	while (bp_trace_readings_next(&walk, &from)) {
		const uint64_t charged = from.objects * charge;
		const struct bp_reading reading = { .thread = { readings->thread },
			.time_ns = from.time_ns,
			.bytes = from.trials > charged ? from.trials - charged : 0,
			.objects = from.objects };
		if (readings->thread != 0 && !bp_readings_add(added, &reading))
			return false;
	}
	return true;
}
