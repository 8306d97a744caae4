/* SPDX-License-Identifier: MIT */
/*
 * See control.h. The order of things in a visit, when the word has changed:
 *
 *   look     the sampler gets the new T, the thread remembers the word
 *   decide   the object at hand is decided wholly under the old T, then the countdown is drawn anew
 *   ...      the object is placed, its sample written
 *   note     INTERVAL (3.7) with the counters up to and including this object; then the slot says
 *            which command the thread follows
 *
 * so a reader who sees the command in the slot finds the record in the file. T depends on nothing
 * that comes after, and every sample carries the T it was decided under: the estimates stay
 * unbiased whoever changes the word, and when.
 *
 * Samples made before sampling was switched off are live samples still; their frees are recorded in
 * any state, since free does not ask for the word.
 */
#include "recorder/steering/control.h"

#include "probes/tracepoints.h"
#include "recorder/steering/budget.h"
#include "start/fine_start.h"

struct bp_control bp_control __attribute__((visibility("hidden"))) = { .due_ns = UINT64_MAX };

#define STATE_MASK (BP_CONTROL_INTERVAL_MASK | BP_CONTROL_AUTO) /* a word without its number */

static bool has_outage(void)
{
	return bp_unlikely(bp_writer_outage_since(&bp_recorder.writer) != 0);
}

static bool is_valid(uint64_t word)
{
	return bp_control_interval(word) <= BP_INTERVAL_MAX;
}

static void set_due(void)
{
	const uint64_t due =
		bp_control.start_ns < bp_control.stop_ns ? bp_control.start_ns : bp_control.stop_ns;
	__atomic_store_n(&bp_control.due_ns, due, __ATOMIC_RELAXED);
}

void bp_control_configure(const struct bp_config *config)
{
	const uint64_t now = bp_system_time_ns(CLOCK_MONOTONIC);
	const bool early =
		config->start_time_ns != 0 ? now < config->start_time_ns : config->dormant;
	const bool late = config->stop_time_ns != 0 && now >= config->stop_time_ns;
	bp_control.given = config->interval | (config->automatic ? BP_CONTROL_AUTO : 0);
	bp_control.resume = bp_control.given;
	bp_control.steered = false;
	bp_control.first = early || late ? 0 : bp_control.given;
	bp_control.fine_start = config->fine_start && bp_control.first != 0 &&
				config->start_time_ns == 0 && config->stop_time_ns == 0;
	if (bp_control.fine_start)
		bp_fine_start_begin();
	bp_control.budget_ppm = config->budget_ppm;
	bp_control.start_ns =
		config->start_time_ns != 0 && early ? config->start_time_ns : UINT64_MAX;
	bp_control.stop_ns = config->stop_time_ns != 0 && !late ? config->stop_time_ns : UINT64_MAX;
	set_due();
}

/* What switching on takes up. */
static uint64_t resumed(uint64_t resume)
{
	resume &= STATE_MASK;
	return is_valid(resume) && bp_control_interval(resume) != 0 ? resume : bp_control.given;
}

void bp_control_take_over(const struct bp_config *config, const struct bp_predecessor *predecessor)
{
	const uint64_t word = predecessor->control, resume = predecessor->control_resume;
	const bool fine_start = (predecessor->flags & BP_HEADER_FINE_START) != 0;
	const uint64_t began = (fine_start ? BP_INTERVAL_DEFAULT : predecessor->interval_bytes) |
			       ((predecessor->flags & BP_HEADER_AUTO) != 0 ? BP_CONTROL_AUTO : 0);
	const bool is_on = bp_control_interval(word) != 0;
	const bool steered = (predecessor->flags & BP_HEADER_STEERED) != 0 ||
			     bp_control_number(word) != 0 || (resume & STATE_MASK) != began;
	if (!steered || config->own_times || !is_valid(word) || !is_valid(resume))
		return;
	bp_control.steered = true;
	bp_control.fine_start = false;
	bp_control.budget_ppm = predecessor->budget_ppm;
	if (!config->automatic || (resume & BP_CONTROL_AUTO) == 0)
		bp_control.resume = resume & STATE_MASK;
	if (!is_on)
		bp_control.first = 0;
	else if (config->automatic && (word & BP_CONTROL_AUTO) != 0)
		bp_control.first = bp_control.given;
	else
		bp_control.first = word & STATE_MASK;
}

void bp_control_inherit(const struct bp_trace_state *parent)
{
	const uint64_t word = __atomic_load_n(&parent->control, __ATOMIC_RELAXED);
	const uint64_t resume = __atomic_load_n(&parent->control_resume, __ATOMIC_RELAXED);
	bp_control.steered |=
		bp_control_number(word) != 0 || (resume & STATE_MASK) != resumed(bp_control.resume);
	bp_control.fine_start &= bp_control_number(word) == 0;
	bp_control.first = (is_valid(word) ? word : bp_control.valid) & STATE_MASK;
	bp_control.resume = resume & STATE_MASK;
	bp_control.budget_ppm = __atomic_load_n(&parent->budget_ppm, __ATOMIC_RELAXED);
	/* Were somebody just switching, the times are still there, and so the child does it. */
	(void)bp_lock_reset(&bp_control.lock);
	set_due();
	bp_budget_after_fork();
}

void bp_control_describe(struct bp_trace_header *header)
{
	const bool dormant = bp_control_interval(bp_control.first) == 0;
	const uint64_t word = dormant ? resumed(bp_control.resume) : bp_control.first;
	header->interval_bytes = bp_control_interval_now(word);
	bp_control.first_interval = dormant ? 0 : header->interval_bytes;
	header->flags_skippable &=
		~(BP_HEADER_DORMANT | BP_HEADER_AUTO | BP_HEADER_STEERED | BP_HEADER_FINE_START);
	header->flags_skippable |= (dormant ? BP_HEADER_DORMANT : 0) |
				   ((word & BP_CONTROL_AUTO) != 0 ? BP_HEADER_AUTO : 0) |
				   (bp_control.steered ? BP_HEADER_STEERED : 0) |
				   (bp_control.fine_start ? BP_HEADER_FINE_START : 0);
}

void bp_control_publish(struct bp_trace_state *state)
{
	uint64_t unset = 0;
	bp_control.valid = bp_control.first;
	state->budget_ppm = bp_control.budget_ppm;
	state->control_resume = resumed(bp_control.resume);
	/* Should somebody outside have been quicker, the word is theirs. */
	(void)__atomic_compare_exchange_n(&state->control, &unset, bp_control.first, false,
		__ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* As a word of the same number that says that sampling is off. */
static uint64_t switched_off(uint64_t word)
{
	return word & ~STATE_MASK;
}

uint64_t bp_control_in_outage(uint64_t word)
{
	bp_writer_try_again(&bp_recorder.writer, bp_system_time_ns(CLOCK_MONOTONIC));
	return has_outage() ? switched_off(word) : word;
}

uint64_t bp_control_word(void)
{
	const uint64_t word =
		__atomic_load_n(&bp_writer_state(&bp_recorder.writer)->control, __ATOMIC_RELAXED);
	if (has_outage())
		return switched_off(word);
	return is_valid(word) ? word : __atomic_load_n(&bp_control.valid, __ATOMIC_RELAXED);
}

/* Is T that of the fine start under this word? Not once anybody has steered, nor while sampling is
 * off. */
static bool is_fine_start(uint64_t word)
{
	return bp_control.fine_start && bp_control_number(word) == 0 &&
	       bp_control_interval(word) != 0;
}

uint64_t bp_control_interval_now(uint64_t word)
{
	return is_fine_start(word) ? bp_fine_start_add(0) : bp_control_interval(word);
}

static void set_interval(struct bp_thread *thread, uint64_t interval)
{
	__atomic_store_n(&thread->interval, interval, __ATOMIC_RELAXED);
	thread->fine = interval < BP_INTERVAL_DEFAULT && is_fine_start(thread->control);
}

void bp_control_adopt(struct bp_thread *thread, uint64_t word)
{
	thread->control = word;
	set_interval(thread, bp_control_interval_now(word));
}

/* The record of a thread that samples at `thread->interval` after so many trials and objects. */
static void write_interval(const struct bp_thread *thread, uint64_t trials, uint64_t objects)
{
	const uint64_t interval = thread->interval;
	const uint64_t values[] = { thread->ordinal, bp_system_time_ns(CLOCK_MONOTONIC),
		__atomic_load_n(&bp_recorder.sequence, __ATOMIC_RELAXED), trials, objects, interval,
		bp_control_number(thread->control) };
	if (has_outage() && interval == 0)
		bp_writer_outage_stop(&bp_recorder.writer, thread->ordinal, trials, objects);
	(void)bp_writer_plain(&bp_recorder.writer, BP_TAG_INTERVAL, values, BP_COUNT(values), NULL);
	if (bp_tracepoint_wants_interval())
		bp_tracepoint_tell_interval(thread->ordinal, interval, trials, objects, values[1]);
	if (thread->slot != NULL)
		__atomic_store_n(&thread->slot->command,
			(uint16_t)bp_control_number(thread->control), __ATOMIC_RELEASE);
}

void bp_control_note_begin(struct bp_thread *thread)
{
	if (thread->control != bp_control.first || thread->interval != bp_control.first_interval)
		write_interval(thread, 0, 0);
}

bool bp_control_follow(struct bp_thread *thread, uint64_t word)
{
	if (!is_valid(word))
		return false;
	bp_control_adopt(thread, word);
	if (!has_outage())
		__atomic_store_n(&bp_control.valid, word, __ATOMIC_RELAXED);
	bp_sampler_set_interval(&thread->sampler, thread->interval);
	return true;
}

/* What the thread has made up to and with the object at hand is added to the sum of the process. */
bool bp_control_step(struct bp_thread *thread)
{
	const uint64_t made_trials = thread->visit_trials - thread->added_trials;
	const uint64_t interval = bp_fine_start_add(made_trials);
	thread->added_trials = thread->visit_trials;
	if (interval == thread->interval)
		return false;
	set_interval(thread, interval);
	bp_sampler_set_interval(&thread->sampler, interval);
	return true;
}

void bp_control_note(const struct bp_visit *visit)
{
	const struct bp_thread *thread = visit->thread;
	write_interval(thread, bp_thread_trials(thread, thread->sampler.armed), visit->objects);
}

bool bp_control_change(uint64_t word, uint64_t interval)
{
	struct bp_trace_state *state = bp_writer_state(&bp_recorder.writer);
	const uint64_t next = ((word >> BP_CONTROL_NUMBER_SHIFT) + 1) << BP_CONTROL_NUMBER_SHIFT |
			      (word & BP_CONTROL_AUTO) | interval;
	return bp_control_interval(word) != interval &&
	       __atomic_compare_exchange_n(
		       &state->control, &word, next, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

bool bp_control_switch(bool on)
{
	struct bp_trace_state *state = bp_writer_state(&bp_recorder.writer);
	uint64_t word = __atomic_load_n(&state->control, __ATOMIC_RELAXED);
	for (;;) {
		const uint64_t resume = __atomic_load_n(&state->control_resume, __ATOMIC_RELAXED);
		uint64_t next = on ? resumed(resume) : 0;
		if ((bp_control_interval(word) != 0) == on)
			return false;
		if (!on && is_valid(word))
			__atomic_store_n(
				&state->control_resume, word & STATE_MASK, __ATOMIC_RELAXED);
		next |= (bp_control_number(word) + 1) << BP_CONTROL_NUMBER_SHIFT;
		if (__atomic_compare_exchange_n(&state->control, &word, next, false,
			    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return true;
	}
}

bool bp_control_set(uint64_t interval)
{
	struct bp_trace_state *state = bp_writer_state(&bp_recorder.writer);
	uint64_t word = __atomic_load_n(&state->control, __ATOMIC_RELAXED);
	for (;;) {
		if ((word & STATE_MASK) == interval && !is_fine_start(word))
			return false;
		if (bp_control_interval(word) == 0) {
			const uint64_t resume = __atomic_exchange_n(
				&state->control_resume, interval, __ATOMIC_RELAXED);
			const uint64_t now = __atomic_load_n(&state->control, __ATOMIC_RELAXED);
			if (now == word)
				return (resume & STATE_MASK) != interval;
			word = now; /* Somebody switched it on in between. */
			continue;
		}
		const uint64_t next =
			((bp_control_number(word) + 1) << BP_CONTROL_NUMBER_SHIFT) | interval;
		if (__atomic_compare_exchange_n(&state->control, &word, next, false,
			    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return true;
	}
}

/* The lock is held. Takes one of the two times, if it has come. */
static bool take(uint64_t *time, uint64_t now)
{
	if (now < *time)
		return false;
	*time = UINT64_MAX;
	return true;
}

void bp_control_time_has_come(void)
{
	const uint64_t now = bp_system_time_ns(CLOCK_MONOTONIC);
	if (now < __atomic_load_n(&bp_control.due_ns, __ATOMIC_RELAXED))
		return;
	/* One thread does it, and the others wait: a thread that went on would sample for as long
	 * as that one is not scheduled. The times are taken in their order, should both have come
	 * since anybody looked; whoever waited finds them taken. */
	bp_lock_take(&bp_control.lock);
	const bool stop_first = bp_control.stop_ns < bp_control.start_ns;
	if (stop_first && take(&bp_control.stop_ns, now))
		(void)bp_control_switch(false);
	if (take(&bp_control.start_ns, now))
		(void)bp_control_switch(true);
	if (take(&bp_control.stop_ns, now))
		(void)bp_control_switch(false);
	set_due();
	bp_lock_release(&bp_control.lock);
}
