/* SPDX-License-Identifier: MIT */
/*
 * Table `readings`: what the counters of threads said, in every record that carries them. They tell
 * within which limits a thread had allocated what it had at any moment, so that a store can be
 * asked for any window of time (time/window.c). Of neighbouring readings that say the same only the
 * first and the last are written: those in between bound nothing that the two do not bound (a
 * thread that frees a lot has many of them).
 */
#include "fleet/tables_write.h"

static bool put(struct bp_table_writer *writer, const struct bp_reading *reading, uint32_t process,
	struct bp_error *error)
{
	const uint64_t start_ns = writer->profile->processes.data[process].start_time_ns;
	bp_set_text(writer, BP_READING_COLUMN_process, writer->process_ids[process]);
	bp_set_number(writer, BP_READING_COLUMN_thread, reading->thread.i);
	bp_set_number(writer, BP_READING_COLUMN_time_ns, (int64_t)(reading->time_ns - start_ns));
	bp_set_number(writer, BP_READING_COLUMN_bound, reading->bound);
	bp_set_number(writer, BP_READING_COLUMN_allocated_bytes, (int64_t)reading->bytes);
	bp_set_number(writer, BP_READING_COLUMN_allocated_objects, (int64_t)reading->objects);
	return bp_table_writer_row(writer, error);
}

static bool say_the_same(const struct bp_reading *a, const struct bp_reading *b)
{
	return a->bound == b->bound && a->bytes == b->bytes && a->objects == b->objects;
}

static bool put_thread(struct bp_table_writer *writer, uint32_t number, struct bp_error *error)
{
	const uint32_t process = writer->profile->threads.data[number].process.i;
	struct bp_readings_walk walk = bp_readings_of(&writer->profile->readings, number);
	struct bp_reading reading, first = { .time_ns = 0 }, last = first;
	bool any = false;
	while (bp_readings_next(&walk, &reading)) {
		reading.thread.i = number;
		/* (They come in the order in which they were recorded, which is nearly that of
		 * time: one that goes back is written.) */
		if (any && say_the_same(&first, &reading) && reading.time_ns >= last.time_ns) {
			last = reading;
			continue;
		}
		if (any && last.time_ns > first.time_ns && !put(writer, &last, process, error))
			return false;
		if (!put(writer, &reading, process, error))
			return false;
		first = last = reading;
		any = true;
	}
	return !any || last.time_ns == first.time_ns || put(writer, &last, process, error);
}

bool bp_readings_write(struct bp_table_writer *writer, struct bp_error *error)
{
	for (uint32_t i = 1; i < writer->profile->threads.count; i++)
		if (!put_thread(writer, i, error))
			return false;
	return true;
}
