/* SPDX-License-Identifier: MIT */
/*
 * Table `counters`: what a process had allocated until a moment, from the counters that every
 * record carries. A thread had by then at least what its last record before says and at most what
 * its first record from then on says (as in time/window.c). Moments are whole seconds since the
 * process started, or multiples of more where that would be more than MOMENTS_MAX, and its end.
 */
#include <stdlib.h>

#include "base/saturated.h"
#include "fleet/tables_write.h"

#define MOMENTS_MAX 1000u
#define SECOND_NS UINT64_C(1000000000)

struct moment {
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
};

/* Of one process; moment i is at (i + 1) * step_ns, the last one at its end. */
struct grid {
	uint64_t start_ns, step_ns;
	uint32_t count;
	struct moment sums[MOMENTS_MAX + 1], thread[MOMENTS_MAX + 1];
};

static void begin(struct grid *grid, const struct bp_view *view, uint32_t process)
{
	const uint64_t start_ns = view->profile->processes.data[process].start_time_ns;
	const uint64_t length_ns = view->processes[process].end_ns - start_ns;
	grid->start_ns = start_ns;
	grid->step_ns = (length_ns / MOMENTS_MAX / SECOND_NS + 1) * SECOND_NS;
	grid->count = (uint32_t)(length_ns / grid->step_ns);
	for (uint32_t i = 0; i < grid->count; i++)
		grid->sums[i] = (struct moment){ 0 };
}

static void look(struct grid *grid, const struct bp_reading *reading)
{
	const uint64_t since_ns =
		reading->time_ns > grid->start_ns ? reading->time_ns - grid->start_ns : 0;
	const uint64_t before =
		since_ns / grid->step_ns; /* moments until then, that one included */
	if (before < grid->count && reading->bound != BP_READING_AT_MOST) {
		struct moment *next = &grid->thread[before];
		next->bytes_low = bp_max_u64(next->bytes_low, reading->bytes);
		next->objects_low = bp_max_u64(next->objects_low, reading->objects);
	}
	if (before > 0 && grid->count > 0 && reading->bound != BP_READING_AT_LEAST) {
		struct moment *last = &grid->thread[bp_min_u64(before, grid->count) - 1];
		last->bytes_high = bp_min_u64(last->bytes_high, reading->bytes);
		last->objects_high = bp_min_u64(last->objects_high, reading->objects);
	}
}

static void add_thread(struct grid *grid, const struct bp_profile *profile, uint32_t number)
{
	const struct bp_thread *thread = &profile->threads.data[number];
	struct bp_readings_walk walk = bp_readings_of(&profile->readings, number);
	struct bp_reading reading;
	struct moment edge = { 0, thread->bytes_allocated.high, 0, thread->objects_allocated.high };
	for (uint32_t i = 0; i < grid->count; i++)
		grid->thread[i] = edge;
	while (bp_readings_next(&walk, &reading))
		look(grid, &reading);
	for (uint32_t i = 0; i < grid->count; i++) {
		edge.bytes_low = bp_max_u64(edge.bytes_low, grid->thread[i].bytes_low);
		edge.objects_low = bp_max_u64(edge.objects_low, grid->thread[i].objects_low);
		grid->sums[i].bytes_low += edge.bytes_low;
		grid->sums[i].objects_low += edge.objects_low;
	}
	for (uint32_t i = grid->count; i-- > 0;) {
		edge.bytes_high = bp_min_u64(edge.bytes_high, grid->thread[i].bytes_high);
		edge.objects_high = bp_min_u64(edge.objects_high, grid->thread[i].objects_high);
		bp_grow_saturated(&grid->sums[i].bytes_high, edge.bytes_high);
		bp_grow_saturated(&grid->sums[i].objects_high, edge.objects_high);
	}
}

static bool put(struct bp_table_writer *writer, uint32_t process, uint64_t time_ns,
	const struct moment *moment, struct bp_error *error)
{
	const struct bp_process *p = &writer->profile->processes.data[process];
	bp_set_text(writer, BP_COUNTER_process, writer->process_ids[process]);
	bp_set_number(writer, BP_COUNTER_time_ns, (int64_t)time_ns);
	bp_set_number(writer, BP_COUNTER_allocated_bytes, (int64_t)moment->bytes_low);
	bp_set_open(writer, BP_COUNTER_allocated_bytes_high,
		bp_min_u64(moment->bytes_high, p->bytes_allocated.high));
	bp_set_number(writer, BP_COUNTER_allocated_objects, (int64_t)moment->objects_low);
	bp_set_open(writer, BP_COUNTER_allocated_objects_high,
		bp_min_u64(moment->objects_high, p->objects_allocated.high));
	return bp_table_writer_row(writer, error);
}

/* What the process allocated beyond the threads that are known may be at any moment. */
static bool put_all(struct bp_table_writer *writer, const struct grid *grid, uint32_t process,
	struct moment threads, struct bp_error *error)
{
	const struct bp_process *p = &writer->profile->processes.data[process];
	const struct moment whole = { p->bytes_allocated.low, p->bytes_allocated.high,
		p->objects_allocated.low, p->objects_allocated.high };
	const uint64_t end_ns = writer->view->processes[process].end_ns - p->start_time_ns;
	for (uint32_t i = 0; i < grid->count; i++) {
		struct moment moment = grid->sums[i];
		if (whole.bytes_high > threads.bytes_high)
			bp_grow_saturated(
				&moment.bytes_high, whole.bytes_high - threads.bytes_high);
		if (whole.objects_high > threads.objects_high)
			bp_grow_saturated(
				&moment.objects_high, whole.objects_high - threads.objects_high);
		const uint64_t time_ns = (i + UINT64_C(1)) * grid->step_ns;
		if (time_ns < end_ns && !put(writer, process, time_ns, &moment, error))
			return false;
	}
	return put(writer, process, end_ns, &whole, error);
}

bool bp_counters_write(struct bp_table_writer *writer, struct bp_error *error)
{
	const struct bp_profile *profile = writer->profile;
	struct grid *grid = malloc(sizeof *grid);
	bool good = grid != NULL || bp_error_set(error, "out of memory");
	for (uint32_t i = 1; good && i < profile->processes.count; i++) {
		struct moment threads = { 0 };
		if (!profile->processes.data[i].profiled)
			continue;
		begin(grid, writer->view, i);
		for (uint32_t j = 1; j < profile->threads.count; j++) {
			const struct bp_thread *thread = &profile->threads.data[j];
			if (thread->process.i != i)
				continue;
			add_thread(grid, profile, j);
			bp_grow_saturated(&threads.bytes_high, thread->bytes_allocated.high);
			bp_grow_saturated(&threads.objects_high, thread->objects_allocated.high);
		}
		good = put_all(writer, grid, i, threads, error);
	}
	free(grid);
	return good;
}
