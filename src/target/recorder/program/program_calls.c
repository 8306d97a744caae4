/* SPDX-License-Identifier: MIT */
/*
 * A moment F between two readings of all threads' counters:
 *
 *   reading 1   what each thread has made is written (INTERVAL, docs/trace-format.md 3.7, which
 *               changes nothing: T is the one that the thread follows), with a time before F
 *   F           the clock is read until it has moved on from all of that
 *   reading 2   the same again, with the time F
 *
 * A report on a window that begins or ends at F then knows for each thread: it had made at least
 * what reading 1 says, at most what reading 2 says. The calling thread stands still meanwhile, so
 * that its two are the same; those of a thread that goes on allocating differ by what it makes in
 * some microseconds. Everything that the caller recorded before has a time before F, everything
 * after it F or later.
 *
 * A window asks for nothing to be kept: its token has the facts of its first moment, and stopping
 * subtracts. Only those that want sampling switched on are counted.
 */
#include "recorder/program/program_calls.h"

#include "recognition/slots.h"
#include "recorder/program/listeners.h"
#include "recorder/steering/control.h"
#include "recorder/verify.h"
#include "tables/arena.h"

#define TOKEN_MAGIC 0x77696e646f773101u

/* ---- readings ---- */

/* How long a thread that is inside the recorder is waited for: a visit takes a microsecond or
 * so. */
#define READ_ATTEMPTS 2000u

struct reading {
	const struct bp_visit *visit;
	uint64_t sequence; /* of the moment */
	uint64_t time_ns;  /* that the record has; 0: now */
	uint64_t trials, objects;
	uint64_t armed; /* what unread threads may have made beyond */
	uint32_t threads, unread;
	bool brief; /* only the caller's is written */
};

/* The caller stands still. What another thread has made is read at no time that is known: before
 * the time that reading 1 writes, after that of reading 2. */
static enum bp_counters_bound bound_of(
	const struct reading *reading, const struct bp_thread *thread)
{
	if (thread == reading->visit->thread)
		return BP_COUNTERS_THEN;
	return reading->time_ns == 0 ? BP_COUNTERS_AT_LEAST : BP_COUNTERS_AT_MOST;
}

/* The record sorts before any change of T that the thread makes at these very counters, since the
 * moment's number was taken before they were read. */
static void write_counters(const struct reading *reading, struct bp_thread *thread,
	const struct bp_thread_counters *counters)
{
	const enum bp_counters_bound bound = bound_of(reading, thread);
	const uint64_t time_ns =
		reading->time_ns != 0 ? reading->time_ns : bp_system_time_ns(CLOCK_MONOTONIC);
	const uint64_t values[] = { thread->ordinal, time_ns, reading->sequence - 1,
		counters->trials, counters->objects, counters->interval,
		bp_control_number(counters->control), bound };
	if (bp_writer_plain(&bp_recorder.writer, BP_TAG_INTERVAL, values, BP_COUNT(values), NULL) &&
		bound != BP_COUNTERS_AT_MOST)
		thread->noted_trials = counters->trials;
}

/* That a thread runs at all is asked once in a moment, since it takes a system call. */
static bool runs(const struct reading *reading, struct bp_thread *thread)
{
	if (thread->noted_moment != reading->sequence && bp_thread_is_running(thread))
		thread->noted_moment = reading->sequence;
	return thread->noted_moment == reading->sequence;
}

/* One running thread; the list of threads is locked. An idle one's first reading stands in the
 * trace already: it is the first of a moment before. */
static void read_thread(struct bp_thread *thread, void *context)
{
	struct reading *reading = context;
	const struct bp_visit *visit = reading->visit;
	struct bp_thread_counters counters = { .trials = bp_thread_trials(thread, visit->left),
		.objects = visit->objects,
		.control = thread->control,
		.interval = thread->interval };
	reading->threads++;
	if (thread == visit->thread ||
		(runs(reading, thread) && bp_thread_read(thread, READ_ATTEMPTS, &counters))) {
		const bool written =
			reading->time_ns == 0 && thread->noted_trials == counters.trials;
		if (!written && (thread == visit->thread || !reading->brief))
			write_counters(reading, thread, &counters);
	} else {
		/* What it published last, and at most what it was armed with then. */
		reading->unread++;
		counters.trials = thread->slot == NULL ? 0 : thread->slot->trials;
		counters.objects = thread->slot == NULL ? 0 : thread->slot->objects;
		reading->armed += thread->slot == NULL ? 0 : thread->slot->armed;
	}
	reading->trials += counters.trials;
	reading->objects += counters.objects;
}

static void read_all(struct reading *reading)
{
	struct bp_totals ended;
	bp_threads_each(read_thread, reading, &ended);
	reading->trials += ended.trials;
	reading->objects += ended.objects;
}

/* ---- a moment ---- */

struct moment {
	uint64_t time_ns, sequence, samples;
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
	uint64_t control, interval; /* word in force, and T */
	uint32_t threads, unread;
};

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t later_than(uint64_t time_ns)
{
	uint64_t now = bp_system_time_ns(CLOCK_MONOTONIC);
	/* The clock may be coarse; it is not asked for ever. */
	for (uint32_t i = 0; now <= time_ns && i < 1000000; i++)
		now = bp_system_time_ns(CLOCK_MONOTONIC);
	return now;
}

static void note_moment(const struct bp_visit *visit, bool brief, struct moment *ret_moment)
{
	struct bp_trace_state *state = bp_writer_state(&bp_recorder.writer);
	/* A number of its own: events before it have smaller ones. */
	struct reading before = {
		.visit = visit, .sequence = bp_recorder_next_sequence(), .brief = brief
	};
	read_all(&before);
	const uint64_t time_ns = later_than(bp_system_time_ns(CLOCK_MONOTONIC));
	*ret_moment = (struct moment){ .time_ns = time_ns,
		.sequence = before.sequence,
		.samples = __atomic_load_n(&state->samples, __ATOMIC_RELAXED),
		.control = bp_control_word() };
	ret_moment->interval = bp_control_interval_now(ret_moment->control);
	struct reading after = {
		.visit = visit, .sequence = before.sequence, .time_ns = time_ns, .brief = brief
	};
	read_all(&after);
	ret_moment->bytes_low = less(before.trials, before.objects);
	ret_moment->bytes_high = less(after.trials, after.objects) + after.armed;
	ret_moment->objects_low = before.objects;
	ret_moment->objects_high = after.objects + after.armed;
	ret_moment->threads = after.threads;
	ret_moment->unread = before.unread > after.unread ? before.unread : after.unread;
	state->last_sequence = ret_moment->sequence;
	state->own_bytes = bp_arena_bytes() + bp_slot_bytes() + bp_verify_bytes();
}

/* The same in a visit of its own. */
static bool take_moment(struct moment *ret_moment)
{
	struct bp_visit visit;
	if (!bp_visit_begin(&visit, 0))
		return false;
	note_moment(&visit, false, ret_moment);
	bp_visit_end(&visit, visit.left);
	return true;
}

static uint64_t since_start(uint64_t time_ns)
{
	const struct bp_trace_header *header = (struct bp_trace_header *)bp_recorder.writer.head;
	return less(time_ns, header->start_monotonic_ns);
}

bool bp_window_snapshot(struct bp_snapshot *ret_snapshot)
{
	struct moment moment;
	if (!take_moment(&moment))
		return false;
	*ret_snapshot = (struct bp_snapshot){
		.path = bp_recorder.writer.path,
		.time_ns = moment.time_ns,
		.since_start_ns = since_start(moment.time_ns),
		.sequence = moment.sequence,
		.samples = moment.samples,
		.bytes_low = moment.bytes_low,
		.bytes_high = moment.bytes_high,
		.objects_low = moment.objects_low,
		.objects_high = moment.objects_high,
		.threads = moment.threads,
		.threads_unread = moment.unread,
	};
	return true;
}

/* ---- steering ---- */

/* A changed word holds for the calling thread at once: its countdown is discarded and drawn
 * anew. */
static void take_up(struct bp_visit *visit)
{
	if (!bp_control_look(visit))
		return;
	visit->left = bp_sampler_restart(&visit->thread->sampler, visit->left);
	bp_control_note(visit);
}

bool bp_steer_switch(bool on)
{
	struct bp_visit visit;
	if (!bp_visit_begin(&visit, 0))
		return false;
	const bool changed = bp_control_switch(on);
	take_up(&visit);
	bp_visit_end(&visit, visit.left);
	return changed;
}

bool bp_steer_interval(uint64_t interval)
{
	struct bp_visit visit;
	if (interval == 0 || interval > BP_INTERVAL_MAX || !bp_visit_begin(&visit, 0))
		return false;
	const bool changed = bp_control_set(interval);
	take_up(&visit);
	bp_visit_end(&visit, visit.left);
	return changed;
}

/* ---- windows ---- */

/* Windows that want sampling, and the number of the change that switched it on for them; 0: it was
 * on. */
static struct {
	struct bp_lock lock;
	uint32_t count;
	bool switched;
	uint64_t number;
} wanting;

/* In a visit. */
static void want_sampling(void)
{
	bp_lock_take(&wanting.lock);
	if (wanting.count++ == 0) {
		wanting.switched = bp_control_switch(true);
		wanting.number = bp_control_number(bp_control_word());
	}
	bp_lock_release(&wanting.lock);
}

/* Sampling goes off with the last, if it went on with the first, and nobody changed anything
 * since. */
static void want_no_more(void)
{
	bp_lock_take(&wanting.lock);
	if (wanting.count > 0 && --wanting.count == 0 && wanting.switched &&
		bp_control_number(bp_control_word()) == wanting.number)
		(void)bp_control_switch(false);
	bp_lock_release(&wanting.lock);
}

void bp_windows_after_fork(void)
{
	(void)bp_lock_reset(&wanting.lock);
	wanting.count = 0;
	wanting.switched = false;
}

/* What a token holds. */
struct begun {
	uint64_t magic;
	uint8_t trace_id[16];
	uint64_t wants; /* sampling: 1; once stopped 0 */
	uint64_t brief;
	struct moment moment;
};
_Static_assert(sizeof(struct begun) <= sizeof(struct bp_window_token), "tokens have room");

bool bp_window_begin(struct bp_window_token *ret_token, uint32_t flags)
{
	struct bp_visit visit;
	struct begun begun = { .magic = TOKEN_MAGIC,
		.wants = (flags & BP_WINDOW_SAMPLE) != 0,
		.brief = (flags & BP_WINDOW_BRIEF) != 0 };
	ret_token->private_words[0] = 0;
	if ((flags & ~(BP_WINDOW_SAMPLE | BP_WINDOW_BRIEF)) != 0 || !bp_visit_begin(&visit, 0))
		return false;
	if (begun.wants != 0) {
		want_sampling();
		take_up(&visit);
	}
	note_moment(&visit, begun.brief != 0, &begun.moment);
	__builtin_memcpy(begun.trace_id, bp_recorder.trace_id, sizeof begun.trace_id);
	bp_visit_end(&visit, visit.left);
	__builtin_memcpy(ret_token, &begun, sizeof begun);
	return true;
}

static void subtract(
	const struct begun *begun, const struct moment *end, struct bp_window_profile *ret_profile)
{
	const struct moment *begin = &begun->moment;
	*ret_profile = (struct bp_window_profile){
		.path = bp_recorder.writer.path,
		.from_ns = since_start(begin->time_ns),
		.to_ns = since_start(end->time_ns),
		.from_time_ns = begin->time_ns,
		.to_time_ns = end->time_ns,
		.from_sequence = begin->sequence,
		.to_sequence = end->sequence,
		.samples = less(end->samples, begin->samples),
		.bytes_low = less(end->bytes_low, begin->bytes_high),
		.bytes_high = less(end->bytes_high, begin->bytes_low),
		.objects_low = less(end->objects_low, begin->objects_high),
		.objects_high = less(end->objects_high, begin->objects_low),
		.interval = end->interval,
		.changed = bp_control_number(end->control) != bp_control_number(begin->control) ||
			   end->interval != begin->interval,
		.threads_unread = begin->unread + end->unread,
	};
}

bool bp_window_end(struct bp_window_token *token, struct bp_window_profile *ret_profile)
{
	struct bp_visit visit;
	struct begun begun;
	struct moment moment;
	__builtin_memcpy(&begun, token, sizeof begun);
	if (begun.magic != TOKEN_MAGIC || !bp_visit_begin(&visit, 0))
		return false;
	const bool ours =
		__builtin_memcmp(begun.trace_id, bp_recorder.trace_id, sizeof begun.trace_id) == 0;
	if (ours)
		note_moment(&visit, begun.brief != 0, &moment);
	/* Of several that stop one window at a time, one takes its wish back. */
	const size_t wants = offsetof(struct begun, wants) / sizeof(uint64_t);
	if (ours && __atomic_exchange_n(&token->private_words[wants], 0, __ATOMIC_RELAXED) != 0) {
		want_no_more();
		take_up(&visit);
	}
	bp_visit_end(&visit, visit.left);
	if (ours)
		subtract(&begun, &moment, ret_profile);
	return ours;
}

/* ---- state ---- */

static void count_thread(struct bp_thread *thread, void *context)
{
	(void)thread;
	++*(uint32_t *)context;
}

static void read_control(struct bp_status *status, const struct bp_trace_state *state)
{
	const uint64_t word = bp_control_word();
	const uint64_t held = bp_control_interval(word) != 0
				      ? word
				      : __atomic_load_n(&state->control_resume, __ATOMIC_RELAXED);
	status->sampling = bp_control_interval(word) != 0;
	status->automatic = (held & BP_CONTROL_AUTO) != 0;
	status->interval =
		status->sampling ? bp_control_interval_now(word) : bp_control_interval(held);
}

bool bp_status_read(struct bp_status *ret_status)
{
	static const char version[] = "bytepoll " BP_VERSION;
	struct bp_visit visit;
	struct bp_totals ended;
	*ret_status = (struct bp_status){
		.version = version, .path = bp_recorder.writer.path, .listeners = bp_listeners_count
	};
	const struct bp_trace_header *header = (struct bp_trace_header *)bp_recorder.writer.head;
	if (!bp_visit_begin(&visit, 0)) {
		if (header != NULL && *bp_recorder.fork_mark != 0)
			ret_status->unprofiled_reason = header->unprofiled_reason;
		return false;
	}
	header = (struct bp_trace_header *)
			 bp_recorder.writer.head; /* this may have been the start */
	const struct bp_trace_state *state = bp_writer_state(&bp_recorder.writer);
	ret_status->profiled = true;
	read_control(ret_status, state);
	ret_status->start_ns = header->start_monotonic_ns;
	ret_status->samples = __atomic_load_n(&state->samples, __ATOMIC_RELAXED);
	ret_status->sequence = __atomic_load_n(&bp_recorder.sequence, __ATOMIC_RELAXED);
	ret_status->own_bytes = bp_arena_bytes() + bp_slot_bytes() + bp_verify_bytes();
	for (uint32_t i = 0; i < BP_STATUS_LOSSES; i++)
		ret_status->lost[i] = __atomic_load_n(&state->lost[i], __ATOMIC_RELAXED);
	ret_status->untold = bp_listeners_untold_count();
	bp_threads_each(count_thread, &ret_status->threads, &ended);
	bp_visit_end(&visit, visit.left);
	return true;
}
