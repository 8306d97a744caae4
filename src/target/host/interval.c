/* SPDX-License-Identifier: MIT */
/*
 * The sampling interval of a host, and of each of its threads.
 *
 * Where the runtime promised to follow (`follows_control`), the control word of the trace's state
 * page (docs/trace-format.md 1.8) is what somebody outside wants, and each thread compares the
 * word's number with the one that it followed last. Elsewhere nobody outside may change the word,
 * and it shows the interval that a thread took up last.
 */
#include <errno.h>

#include "base/attributes.h"
#include "host/host_state.h"
#include "host/probes.h"

void bp_host_interval_begin(struct bp_host *host)
{
	struct bp_trace_state *state = bp_writer_state(&host->writer);
	const uint64_t interval = host->options.interval;
	const bool is_off = host->options.dormant || interval == BP_SAMPLER_OFF;
	uint64_t unset = 0;
	if (interval != BP_SAMPLER_OFF)
		state->control_resume = interval & BP_CONTROL_INTERVAL_MASK;
	/* If somebody outside was quicker, the word is theirs. */
	(void)__atomic_compare_exchange_n(&state->control, &unset,
		is_off ? 0 : interval & BP_CONTROL_INTERVAL_MASK, false, __ATOMIC_RELEASE,
		__ATOMIC_RELAXED);
}

/* Shows readers of a running host the interval that a thread has just taken up, and returns the
 * number of this change. */
static uint64_t show(struct bp_host *host, uint64_t interval)
{
	struct bp_trace_state *state = bp_writer_state(&host->writer);
	const uint64_t number = __atomic_add_fetch(&host->switches, 1, __ATOMIC_RELAXED);
	const uint64_t word =
		interval < BP_CONTROL_INTERVAL_MASK ? interval : BP_CONTROL_INTERVAL_MASK;
	__atomic_store_n(
		&state->control, word | number << BP_CONTROL_NUMBER_SHIFT, __ATOMIC_RELAXED);
	if (interval != BP_SAMPLER_OFF)
		__atomic_store_n(&state->control_resume, word, __ATOMIC_RELAXED);
	return number;
}

void bp_host_interval(
	struct bp_host *host, uint32_t thread, uint64_t interval, uint64_t trials, uint64_t objects)
{
	if (!bp_host_is_here(host) || thread == 0)
		return;
	const int saved_errno = errno;
	const struct bp_host_totals counters = bp_host_counters(host, trials, objects);
	bp_host_threads_publish(&host->threads, &host->writer, thread, counters);
	if (!bp_host_threads_knows(&host->threads, thread))
		return;
	const uint64_t number = host->options.follows_control
					? bp_host_threads_command(&host->threads, thread)
					: show(host, interval);
	const uint64_t values[] = { thread, bp_system_time_ns(CLOCK_MONOTONIC),
		bp_host_next_sequence(host), counters.trials, counters.objects, interval, number };
	(void)bp_writer_plain(&host->writer, BP_TAG_INTERVAL, values, BP_COUNT(values), NULL);
	/* Who sees in the slot that the thread follows finds the record in the trace. */
	if (host->options.follows_control)
		bp_host_threads_follow(&host->threads, thread);
	bp_host_probe_interval(thread, interval, counters.trials, counters.objects, values[1]);
	errno = saved_errno;
}

bool bp_host_interval_wanted(struct bp_host *host, uint32_t thread, uint64_t *ret_interval)
{
	if (!bp_host_is_here(host) || !host->options.follows_control ||
		!bp_host_threads_knows(&host->threads, thread))
		return false;
	const uint64_t word =
		__atomic_load_n(&bp_writer_state(&host->writer)->control, __ATOMIC_RELAXED);
	const uint32_t number = (uint32_t)(word >> BP_CONTROL_NUMBER_SHIFT);
	const uint64_t interval = word & BP_CONTROL_INTERVAL_MASK;
	if (interval > BP_INTERVAL_MAX ||
		!bp_host_threads_take_command(&host->threads, thread, number))
		return false;
	*ret_interval = interval;
	return true;
}

bool bp_host_follow(struct bp_host *host, uint32_t thread, struct bp_sampler *sampler,
	struct bp_sampler_hot *hot)
{
	uint64_t interval;
	if (!bp_host_interval_wanted(host, thread, &interval))
		return false;
	bp_sampler_set_interval(sampler, interval);
	hot->trials_left = bp_sampler_restart(sampler, hot->trials_left);
	bp_host_interval(
		host, thread, interval, bp_sampler_trials(sampler, hot->trials_left), hot->objects);
	return true;
}
