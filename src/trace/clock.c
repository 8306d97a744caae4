/* SPDX-License-Identifier: MIT */
/*
 * The times of a trace by the machine's clock. Nearly all of them are differences from the time in
 * the header of their chunk, so that the decoder need only begin with another one (start_records in
 * reader.c); the few that stand for themselves are in header and state, which are changed here, and
 * in the records of threads, images, intervals and folded parts, which decode.c changes one by one.
 */
#include "trace/reader.h"

/* (0: there is none.) */
static void move(uint64_t *time_ns, uint64_t offset_ns)
{
	if (*time_ns != 0)
		*time_ns -= offset_ns;
}

void bp_trace_reader_use_machine_clock(struct bp_trace_reader *reader)
{
	const uint64_t offset_ns = reader->header.clock_offset_ns;
	reader->decoder.clock_offset_ns = offset_ns;
	reader->header.start_monotonic_ns -= offset_ns;
	reader->time_last_ns -= offset_ns;
	move(&reader->state.end_time_ns, offset_ns);
	move(&reader->state.outage_since_ns, offset_ns);
	move(&reader->state.small_objects_time_ns, offset_ns);
	move(&reader->state.verify_sums.peak_time_ns, offset_ns);
}
