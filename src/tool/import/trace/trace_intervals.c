/* SPDX-License-Identifier: MIT */
/*
 * What became of the sampling interval in one process (docs/trace-format.md 1.8, 3.7): which T were
 * in force, how often it was changed, and when sampling was paused.
 *
 * Threads follow a change one after another, each when it next comes to the recorder, so that a
 * pause of the process is the union of the pauses of its threads. A thread that slept through the
 * end of a pause never says that it is over: for it the pause ends where the first thread to know
 * of a later change says so (or with the thread). What it still allocates until it follows, 1 MiB
 * at most, is counted as allocated in the pause all the same: only the clock is blurred, no counter
 * is.
 */
#include <stdlib.h>

#include "import/trace/trace.h"

/* More T than anybody steers by hand, or the automatic choice makes in years: a damaged or hostile
 * file. Which trials were made under which is not told then. */
#define INTERVALS_MOST 4096u

struct span {
	uint64_t from_ns, to_ns;
};

struct pauses {
	const struct bp_trace_reader *reader;
	const struct bp_process *process;
	uint64_t *resumed_ns; /* when some thread was switched on, sorted */
	uint32_t resumed_count;
	struct span *spans;
	uint32_t count;
};

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

static int compare_spans(const void *left, const void *right)
{
	const struct span *a = left, *b = right;
	const int order = compare_numbers(&a->from_ns, &b->from_ns);
	return order != 0 ? order : compare_numbers(&a->to_ns, &b->to_ns);
}

/* Sorts, drops what is there twice, and returns how many are left. */
static uint32_t sort_once(uint64_t *numbers, uint32_t count)
{
	uint32_t kept = 0;
	qsort(numbers, count, sizeof *numbers, compare_numbers);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || numbers[i] != numbers[kept - 1])
			numbers[kept++] = numbers[i];
	return kept;
}

/* When sampling was first switched on after a moment; `otherwise` if it never was. */
static uint64_t resumed_after(const struct pauses *pauses, uint64_t time_ns, uint64_t otherwise)
{
	uint32_t low = 0, high = pauses->resumed_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (pauses->resumed_ns[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	const bool found = low < pauses->resumed_count && pauses->resumed_ns[low] < otherwise;
	return found ? pauses->resumed_ns[low] : otherwise;
}

static void add_span(struct pauses *pauses, uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns > from_ns)
		pauses->spans[pauses->count++] = (struct span){ from_ns, to_ns };
}

/* A pause of a thread that goes on for as long as anything is known of it. */
static void add_open_span(
	struct pauses *pauses, const struct bp_trace_thread *thread, uint64_t from_ns)
{
	uint64_t end_ns = pauses->process->end_time_ns;
	if (thread != NULL && thread->ended && thread->end_time_ns < end_ns)
		end_ns = thread->end_time_ns;
	add_span(pauses, from_ns, resumed_after(pauses, from_ns, end_ns));
}

static const struct bp_trace_thread *thread_of(
	const struct bp_trace_reader *reader, uint32_t ordinal)
{
	const struct bp_index_keys ordinals = { reader->threads, sizeof *reader->threads };
	const uint32_t found = bp_index_find(&reader->thread_index, ordinals, ordinal);
	return found == BP_INDEX_NONE ? NULL : &reader->threads[found];
}

/* The pauses of every thread that follows a change. */
static void add_threads(struct pauses *pauses)
{
	const struct bp_trace_reader *reader = pauses->reader;
	const bool began_off = (reader->header.flags_skippable & BP_HEADER_DORMANT) != 0;
	bool off = false;
	uint64_t from_ns = 0;
	for (uint32_t i = 0; i < reader->switch_count; i++) {
		const struct bp_trace_interval *change = &reader->switches[i].change;
		const bool last = i + 1 == reader->switch_count ||
				  change->thread != reader->switches[i + 1].change.thread;
		if (i == 0 || reader->switches[i - 1].change.thread != change->thread) {
			off = began_off;
			from_ns = reader->header.start_monotonic_ns;
		}
		if (off && change->interval != 0)
			add_span(pauses, from_ns, change->time_ns);
		if (!off && change->interval == 0)
			from_ns = change->time_ns;
		off = change->interval == 0;
		if (off && last)
			add_open_span(pauses, thread_of(reader, change->thread), from_ns);
	}
	if (began_off)
		add_open_span(pauses, NULL, reader->header.start_monotonic_ns);
}

/* Their union, into the profile. */
static bool add_pauses(const struct pauses *pauses, struct bp_process_id process,
	struct bp_profile *profile, struct bp_error *error)
{
	qsort(pauses->spans, pauses->count, sizeof *pauses->spans, compare_spans);
	for (uint32_t i = 0; i < pauses->count;) {
		struct bp_pause pause = { process, pauses->spans[i].from_ns,
			pauses->spans[i].to_ns };
		for (i++; i < pauses->count && pauses->spans[i].from_ns <= pause.to_ns; i++)
			if (pauses->spans[i].to_ns > pause.to_ns)
				pause.to_ns = pauses->spans[i].to_ns;
		if (!bp_profile_add_pause(profile, &pause, error))
			return false;
	}
	return true;
}

static bool import_pauses(const struct bp_trace_reader *reader, struct bp_process_id process,
	struct bp_profile *profile, struct bp_error *error)
{
	const size_t most = (size_t)reader->switch_count + 2;
	struct pauses pauses = { .reader = reader,
		.process = &profile->processes.data[process.i],
		.resumed_ns = calloc(most, sizeof *pauses.resumed_ns),
		.spans = calloc(most, sizeof *pauses.spans) };
	bool good = pauses.resumed_ns != NULL && pauses.spans != NULL;
	if (!good)
		bp_error_set(error, "out of memory");
	for (uint32_t i = 0; good && i < reader->switch_count; i++)
		if (reader->switches[i].change.interval != 0)
			pauses.resumed_ns[pauses.resumed_count++] =
				reader->switches[i].change.time_ns;
	if (good) {
		pauses.resumed_count = sort_once(pauses.resumed_ns, pauses.resumed_count);
		add_threads(&pauses);
		good = add_pauses(&pauses, process, profile, error);
	}
	free(pauses.resumed_ns);
	free(pauses.spans);
	return good;
}

static bool import_outages(const struct bp_trace_reader *reader, struct bp_process_id process,
	struct bp_profile *profile, struct bp_error *error)
{
	for (uint32_t i = 0; i < reader->outage_count; i++) {
		const struct bp_trace_outage *from = &reader->outages[i];
		const struct bp_pause outage = { process, from->from_ns, from->to_ns };
		if (!bp_profile_add_outage(profile, &outage, error))
			return false;
	}
	return true;
}

/* What the profile has of this process: every T once, growing, so that each is soon found. A trace
 * may name as many as it has records. */
struct used_intervals {
	struct bp_interval_used *data;
	uint32_t count;
};

/* The entry of a T; NULL: it has none. */
static struct bp_interval_used *used_of(const struct used_intervals *used, uint64_t interval)
{
	uint32_t low = 0, high = used->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (used->data[middle].interval < interval)
			low = middle + 1;
		else
			high = middle;
	}
	const bool found = low < used->count && used->data[low].interval == interval;
	return found ? &used->data[low] : NULL;
}

static void add_trials(
	const struct used_intervals *intervals, uint64_t interval, uint64_t from, uint64_t to)
{
	struct bp_interval_used *used =
		interval == 0 || to <= from ? NULL : used_of(intervals, interval);
	if (used != NULL && __builtin_add_overflow(used->trials, to - from, &used->trials))
		used->trials = UINT64_MAX;
}

/* How many trials were made under each T: thread by thread, piece by piece. What the threads do not
 * account for is given to the largest. */
static void import_trials(
	const struct bp_trace_reader *reader, const struct used_intervals *intervals)
{
	const bool began_off = (reader->header.flags_skippable & BP_HEADER_DORMANT) != 0;
	const uint64_t first = began_off ? 0 : reader->header.interval_bytes;
	const uint64_t total = bp_trace_reader_totals(reader).trials_high;
	uint64_t accounted = 0;
	for (uint32_t i = 0; i < reader->thread_count; i++) {
		const struct bp_trace_thread *thread = &reader->threads[i];
		uint32_t at = bp_trace_reader_first_switch(reader, (uint32_t)thread->ordinal);
		uint64_t interval = first, from = 0;
		for (; at < reader->switch_count &&
			reader->switches[at].change.thread == thread->ordinal;
			at++) {
			const struct bp_trace_interval *change = &reader->switches[at].change;
			add_trials(intervals, interval, from, change->trials);
			interval = change->interval;
			from = change->trials;
		}
		add_trials(intervals, interval, from, thread->trials_high);
		if (__builtin_add_overflow(accounted, thread->trials_high, &accounted))
			accounted = UINT64_MAX;
	}
	add_trials(intervals, reader->interval_max, accounted, total);
}

/* Is every record there that says what was made under which T? */
static bool are_trials_known(const struct bp_trace_reader *reader, const struct bp_profile *profile,
	struct bp_process_id id)
{
	const struct bp_process *process = &profile->processes.data[id.i];
	bool known = process->damaged_chunks == 0;
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
		known = known && process->lost[reason] == 0;
	for (uint32_t i = 0; i < reader->thread_count; i++)
		known = known && reader->threads[i].published;
	return known;
}

/* Every T that was in force, and the number of changes that were followed. */
static bool import_intervals(const struct bp_trace_reader *reader, uint64_t *numbers,
	struct bp_process_id id, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_process *process = &profile->processes.data[id.i];
	bool known = are_trials_known(reader, profile, id);
	const uint32_t entries = profile->intervals.count;
	uint32_t count = 0;
	/* Number 0 says nothing of a change: a step of the fine start, or a moment that was
	 * noted. */
	for (uint32_t i = 0; i < reader->switch_count; i++)
		if (reader->switches[i].change.command != 0)
			numbers[count++] = reader->switches[i].change.command;
	process->changes = sort_once(numbers, count);
	count = 0;
	numbers[count++] = process->interval_min;
	numbers[count++] = process->interval_max;
	numbers[count++] = process->interval_first;
	for (uint32_t i = 0; i < reader->switch_count; i++)
		if (reader->switches[i].change.interval != 0)
			numbers[count++] = reader->switches[i].change.interval;
	count = sort_once(numbers, count);
	const bool all = count <= INTERVALS_MOST;
	if (!all) {
		known = false;
		numbers[1] = numbers[count - 1];
		count = 2;
	}
	for (uint32_t i = 0; i < count && process->profiled; i++) {
		const struct bp_interval_used used = { id, numbers[i], known ? 0 : UINT64_MAX };
		if (!bp_profile_add_interval(profile, &used, error))
			return false;
	}
	process->trials_by_interval = process->profiled && all;
	const struct used_intervals intervals = { profile->intervals.data + entries,
		profile->intervals.count - entries };
	if (known)
		import_trials(reader, &intervals);
	return true;
}

/* T at the first moment at which sampling was on for some thread. */
static uint64_t first_interval(const struct bp_trace_reader *reader)
{
	uint64_t first = reader->header.interval_bytes, time_ns = UINT64_MAX;
	if ((reader->header.flags_skippable & BP_HEADER_DORMANT) == 0)
		return first;
	for (uint32_t i = 0; i < reader->switch_count; i++) {
		const struct bp_trace_interval *change = &reader->switches[i].change;
		if (change->interval == 0 || change->time_ns >= time_ns)
			continue;
		first = change->interval;
		time_ns = change->time_ns;
	}
	return first;
}

bool bp_import_trace_intervals(const struct bp_trace_reader *reader, struct bp_process_id id,
	struct bp_profile *profile, struct bp_error *error)
{
	struct bp_process *process = &profile->processes.data[id.i];
	const uint64_t first = first_interval(reader);
	uint64_t *numbers = calloc((size_t)reader->switch_count + 3, sizeof *numbers);
	if (numbers == NULL)
		return bp_error_set(error, "out of memory");
	process->interval_first = first == 0 ? 1 : first;
	process->interval_min =
		reader->interval_min == 0 ? process->interval_first : reader->interval_min;
	process->interval_max =
		reader->interval_max == 0 ? process->interval_first : reader->interval_max;
	process->automatic = (reader->header.flags_skippable & BP_HEADER_AUTO) != 0 ||
			     (reader->state.control & BP_CONTROL_AUTO) != 0;
	process->fine_start = (reader->header.flags_skippable & BP_HEADER_FINE_START) != 0;
	const bool good = import_intervals(reader, numbers, id, profile, error) &&
			  import_pauses(reader, id, profile, error) &&
			  import_outages(reader, id, profile, error);
	free(numbers);
	return good;
}

void bp_import_doubt_pauses(struct bp_process *process, const struct bp_trace_reader *reader,
	const struct bp_trace_totals *totals)
{
	/* (What an outage lost that went on at the end is bounded by the reader.) */
	const bool only_outage =
		reader->outage_count == 1 && reader->outages[0].to_ns == UINT64_MAX;
	const bool full =
		process->lost[BP_LOSS_TRACE_FULL] > 0 || process->lost[BP_LOSS_TRACE_REOPEN] > 0;
	const bool missing = process->damaged_chunks > 0 || (full && !only_outage) ||
			     process->lost[BP_LOSS_LANES_BUSY] > 0;
	process->has_pauses = process->objects_off.high > 0;
	if (!missing || !process->has_pauses)
		return;
	process->bytes_allocated = process->bytes_off =
		(struct bp_known_total){ 0, totals->bytes_high };
	process->objects_allocated = process->objects_off =
		(struct bp_known_total){ 0, totals->objects_high };
}
