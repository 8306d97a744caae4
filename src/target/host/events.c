/* SPDX-License-Identifier: MIT */
/*
 * What a host tells of objects and counters, into the trace and to whoever listens.
 *
 * Order. A sample gets its number after the one that its address had is gone, and is in the table
 * before its record is written: who frees it has it from the caller, who has it back only then. The
 * record of a free is written before the memory is given out again, as the contract says, so
 * numbers order both.
 */
#include <errno.h>

#include "host/host_state.h"
#include "host/probes.h"
#include "sampler/amount.h"

static void tell(const struct bp_host *host, const struct bp_host_event *event, const void *object)
{
	const uint32_t count = __atomic_load_n(&host->listener_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count; i++)
		host->listeners[i].listener(event, object, host->listeners[i].context);
}

/* The end of sample `sequence`, by that thread or an unknown one. */
static void end_sample(struct bp_host *host, const void *object, uint64_t sequence, uint32_t thread,
	struct bp_host_totals counters)
{
	const struct bp_record_free record = {
		.sequence = bp_host_next_sequence(host),
		.time_ns = bp_system_time_ns(CLOCK_MONOTONIC),
		.sample_sequence = sequence,
		.thread = thread,
		.trials = counters.trials,
		.objects = counters.objects,
	};
	(void)bp_writer_free(&host->writer, &record);
	bp_host_probe_freed(&record, object);
	tell(host, NULL, object);
}

/* Records the end of a sample whose free was not reported; when it ended is not known. */
static void end_unseen(struct bp_host *host, const void *object, uint64_t sequence)
{
	bp_writer_lost(&host->writer, BP_LOSS_FREE);
	end_sample(host, object, sequence, 0, (struct bp_host_totals){ 0, 0 });
}

static bool write_sample(struct bp_host *host, const struct bp_host_event *event)
{
	const struct bp_host_totals counters =
		bp_host_counters(host, event->trials, event->objects);
	const struct bp_record_sample record = {
		.sequence = event->sequence,
		.time_ns = event->time_ns,
		.address = (uint64_t)event->object,
		.size = event->size,
		.usable = event->usable,
		.usable_known = event->usable != 0,
		.offset = event->decision.offset,
		.exact = event->decision.exact,
		.interval_bytes = event->decision.interval,
		.law = host->options.law,
		.thread = event->thread,
		.trials = event->thread == 0 ? 0 : counters.trials,
		.objects = event->thread == 0 ? 0 : counters.objects,
		.stack = event->stack,
		.kind = event->kind,
		.told = true,
		.labels = event->labels,
		.type = event->type,
		.heap = event->heap,
	};
	return bp_writer_sample(&host->writer, &record);
}

/* What no sampler and no heap can say. A host with another charge than it declared is found here,
 * sooner or later: the byte after the last is sampled, too. */
static bool is_possible(const struct bp_host *host, const struct bp_host_event *event)
{
	const struct bp_decision *decision = &event->decision;
	const uint64_t trials = event->size + host->options.charge;
	return event->object != NULL && event->kind >= BP_HOST_SMALL &&
	       event->kind <= BP_HOST_PINNED && trials >= event->size && decision->interval >= 1 &&
	       decision->interval <= BP_SAMPLER_INTERVAL_MAX &&
	       (decision->exact ? trials >= decision->interval : decision->offset < trials);
}

bool bp_host_sampled(struct bp_host *host, const struct bp_host_event *event)
{
	if (!bp_host_is_here(host))
		return false;
	if (!is_possible(host, event)) {
		bp_writer_lost(&host->writer, BP_LOSS_INVALID);
		return false;
	}
	const int saved_errno = errno;
	const bool keeps = !host->options.frees_unseen;
	struct bp_host_event told = *event;
	uint64_t before;
	if (!bp_host_threads_knows(&host->threads, event->thread))
		told.thread = 0;
	if (keeps && bp_host_may_hold(host, event->object) &&
		(before = bp_host_live_remove(&host->live, event->object)) != 0)
		end_unseen(host, event->object, before);
	told.sequence = bp_host_next_sequence(host);
	told.time_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	bp_host_threads_sampled(&host->threads, &host->writer, event->thread,
		bp_host_counters(host, event->trials, event->objects));
	bool written = !keeps || bp_host_live_insert(&host->live, event->object, told.sequence);
	if (!written) {
		bp_writer_lost(&host->writer, BP_LOSS_LARGE_TABLE);
	} else if (!write_sample(host, &told)) {
		(void)bp_host_live_remove(&host->live, event->object);
		written = false;
	}
	if (!written)
		told.sequence = 0;
	if (host->listener_count > 0 || bp_host_probe_wants()) {
		told.amount_bytes = bp_amount_bytes(event->size, host->options.charge,
			event->decision.interval, event->decision.exact);
		bp_host_probe_sampled(&told, bp_host_type_name(host, event->type));
		tell(host, &told, event->object);
	}
	errno = saved_errno;
	return written;
}

bool bp_host_holds(const struct bp_host *host, const void *object)
{
	return bp_host_may_hold(host, object) && bp_host_live_contains(&host->live, object);
}

void bp_host_freed(struct bp_host *host, const void *object, uint32_t thread, uint64_t trials,
	uint64_t objects)
{
	if (!bp_host_may_hold(host, object) || !bp_host_is_here(host))
		return;
	const int saved_errno = errno;
	const uint64_t sequence = bp_host_live_remove(&host->live, object);
	if (sequence != 0) {
		const struct bp_host_totals counters =
			thread == 0 ? (struct bp_host_totals){ 0, 0 }
				    : bp_host_counters(host, trials, objects);
		bp_host_threads_publish(&host->threads, &host->writer, thread, counters);
		end_sample(host, object, sequence, thread, counters);
	}
	errno = saved_errno;
}

void bp_host_moved(struct bp_host *host, const void *from, const void *to)
{
	bool is_lost;
	if (!bp_host_may_hold(host, from) || !bp_host_is_here(host))
		return;
	const int saved_errno = errno;
	const uint64_t sequence = bp_host_live_move(&host->live, from, to, &is_lost);
	if (is_lost)
		end_unseen(host, from, sequence);
	else if (sequence != 0)
		bp_host_probe_moved(from, to, sequence);
	errno = saved_errno;
}

void bp_host_moves_end(struct bp_host *host)
{
	uint64_t lost;
	if (!bp_host_is_here(host))
		return;
	const int saved_errno = errno;
	while (bp_host_live_moved_next(&host->live, &lost))
		if (lost != 0)
			end_unseen(host, NULL, lost);
	errno = saved_errno;
}

void bp_host_sweep(struct bp_host *host, bp_host_alive *alive, void *context)
{
	uint32_t count;
	size_t bytes;
	if (!bp_host_is_here(host))
		return;
	const int saved_errno = errno;
	struct bp_address_entry *copy = bp_host_live_copy(&host->live, &count, &bytes);
	for (uint32_t i = 0; i < count; i++) {
		const void *object = (const void *)copy[i].address;
		if (!alive(object, context) && bp_host_live_remove_if(&host->live, &copy[i]))
			end_sample(
				host, object, copy[i].sequence, 0, (struct bp_host_totals){ 0, 0 });
	}
	if (copy != NULL)
		bp_system_unmap(copy, bytes);
	errno = saved_errno;
}

uint32_t bp_host_thread(struct bp_host *host, const char *name)
{
	if (!bp_host_is_here(host))
		return 0;
	const int saved_errno = errno;
	const uint32_t ordinal = bp_host_threads_add(
		&host->threads, &host->memory, &host->writer, name == NULL ? "" : name);
	errno = saved_errno;
	return ordinal;
}

void bp_host_thread_end(struct bp_host *host, uint32_t thread, uint64_t trials, uint64_t objects)
{
	if (!bp_host_is_here(host))
		return;
	const int saved_errno = errno;
	bp_host_threads_end(
		&host->threads, &host->writer, thread, bp_host_counters(host, trials, objects));
	errno = saved_errno;
}

void bp_host_counted(struct bp_host *host, uint32_t thread, uint64_t trials, uint64_t objects)
{
	if (bp_host_is_here(host))
		bp_host_threads_publish(&host->threads, &host->writer, thread,
			bp_host_counters(host, trials, objects));
}

bool bp_host_listen(struct bp_host *host, bp_host_listener *listener, void *context)
{
	if (!bp_host_is_here(host))
		return false;
	bp_lock_take(&host->listeners_lock);
	const uint32_t count = host->listener_count;
	if (count < BP_HOST_LISTENERS_MAX) {
		host->listeners[count] = (struct bp_host_heard){ listener, context };
		__atomic_store_n(&host->listener_count, count + 1, __ATOMIC_RELEASE);
	}
	bp_lock_release(&host->listeners_lock);
	return count < BP_HOST_LISTENERS_MAX;
}
