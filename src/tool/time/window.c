/* SPDX-License-Identifier: MIT */
/*
 * A thread's counters only grow. At a window's edge they were at least what the last record before
 * it says and at most what the first record after it says, and so the difference of the two edges
 * is known within limits. A thread that nothing is heard of in the whole window may have done
 * anything its neighbouring records allow; one without any record, anything up to its total.
 */
#include "time/window.h"

#include "base/saturated.h"

/* The counters of one thread at one edge. */
struct edge {
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
};

struct thread_window {
	struct edge from, to;
};

static void look(struct edge *edge, const struct bp_reading *reading, uint64_t time_ns)
{
	if (reading->time_ns < time_ns) {
		if (reading->bound == BP_READING_AT_MOST)
			return;
		edge->bytes_low =
			reading->bytes > edge->bytes_low ? reading->bytes : edge->bytes_low;
		edge->objects_low =
			reading->objects > edge->objects_low ? reading->objects : edge->objects_low;
	} else if (reading->bound != BP_READING_AT_LEAST) {
		edge->bytes_high =
			reading->bytes < edge->bytes_high ? reading->bytes : edge->bytes_high;
		edge->objects_high = reading->objects < edge->objects_high ? reading->objects
									   : edge->objects_high;
	}
}

static uint64_t edge_time(uint64_t base_ns, uint64_t since_ns)
{
	return since_ns > BP_TIME_NEVER - base_ns ? BP_TIME_NEVER : base_ns + since_ns;
}

/* What is known of a thread's counters at a time without any record of it: nothing before its
 * process began, all when that has ended. */
static struct edge begin(
	const struct bp_view *view, const struct bp_thread *thread, uint64_t time_ns)
{
	const struct bp_process *process = &view->profile->processes.data[thread->process.i];
	struct edge edge = { 0, thread->bytes_allocated.high, 0, thread->objects_allocated.high };
	if (time_ns <= process->start_time_ns)
		return (struct edge){ 0 };
	if (time_ns > view->processes[thread->process.i].end_ns) {
		edge.bytes_low = thread->bytes_allocated.low;
		edge.objects_low = thread->objects_allocated.low;
	}
	return edge;
}

static void add_thread(struct bp_window_totals *totals, const struct thread_window *window)
{
	const struct edge *from = &window->from, *to = &window->to;
	totals->bytes.low += bp_subtract_saturated(to->bytes_low, from->bytes_high);
	bp_grow_saturated(
		&totals->bytes.high, bp_subtract_from_limit(to->bytes_high, from->bytes_low));
	totals->objects.low += bp_subtract_saturated(to->objects_low, from->objects_high);
	bp_grow_saturated(
		&totals->objects.high, bp_subtract_from_limit(to->objects_high, from->objects_low));
}

/* What a process allocated beyond the threads that are known may all lie in the window. */
static void add_unknown_threads(const struct bp_view *view, struct bp_window_totals *totals)
{
	const struct bp_profile *profile = view->profile;
	uint64_t bytes = 0, objects = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		if (!view->processes[i].included)
			continue;
		bp_grow_saturated(&bytes, profile->processes.data[i].bytes_allocated.high);
		bp_grow_saturated(&objects, profile->processes.data[i].objects_allocated.high);
	}
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		const struct bp_thread *thread = &profile->threads.data[i];
		if (!view->processes[thread->process.i].included)
			continue;
		bytes = bp_subtract_from_limit(bytes, thread->bytes_allocated.high);
		objects = bp_subtract_from_limit(objects, thread->objects_allocated.high);
	}
	bp_grow_saturated(&totals->bytes.high, bytes);
	bp_grow_saturated(&totals->objects.high, objects);
}

/* What all readings of a thread say of its counters at both edges. */
static struct thread_window window_of(const struct bp_view *view, uint32_t number)
{
	const struct bp_thread *thread = &view->profile->threads.data[number];
	const uint64_t base_ns = view->processes[thread->process.i].base_ns;
	const uint64_t from_ns = edge_time(base_ns, view->from_ns);
	const uint64_t to_ns = edge_time(base_ns, view->to_ns);
	struct thread_window window = { begin(view, thread, from_ns), begin(view, thread, to_ns) };
	struct bp_readings_walk walk = bp_readings_of(&view->profile->readings, number);
	struct bp_reading reading;
	while (bp_readings_next(&walk, &reading)) {
		look(&window.from, &reading, from_ns);
		look(&window.to, &reading, to_ns);
	}
	return window;
}

void bp_window_totals(const struct bp_view *view, struct bp_window_totals *ret_totals)
{
	const struct bp_profile *profile = view->profile;
	struct bp_window_totals totals = { 0 };
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		const uint32_t process = profile->threads.data[i].process.i;
		if (!view->processes[process].included)
			continue;
		const struct thread_window window = window_of(view, i);
		add_thread(&totals, &window);
	}
	add_unknown_threads(view, &totals);
	*ret_totals = totals;
}
