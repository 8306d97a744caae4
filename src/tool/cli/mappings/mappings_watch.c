/* SPDX-License-Identifier: MIT */
/* See mappings_watch.h. */
#include "cli/mappings/mappings_watch.h"

#include <time.h>

#include "base/system_call.h"
#include "cli/mappings/look.h"

#define FIRST_NS 16000000u
#define WAIT_NS 1000000000u
/* Looks take half a second, and a hundredth of the time. */
#define COST_FREE_NS 500000000u
#define COST_SHARE 100u
#define FELL_NS 1000000000u
/* Memory of another process is read at some 1 GB/s, half of that where it works. One walk takes no
 * longer than that and a tenth of a second, nor than a second and a hundredth of the time. */
#define READ_NS_PER_BYTE 2u
#define ONE_NS 100000000u
#define ONE_MOST_NS 1000000000u

void bp_mappings_watch_begin(struct bp_mappings_watch *watch, pid_t pid, const char *file)
{
	*watch = (struct bp_mappings_watch){ .mappings = { .pid = (uint32_t)pid },
		.file = file,
		.began_ns = bp_system_time_ns(CLOCK_MONOTONIC) };
	watch->ended_ns = watch->began_ns;
}

static bool is_time(const struct bp_mappings_watch *watch, uint64_t resident_bytes, uint64_t now_ns)
{
	const uint64_t elapsed_ns = now_ns - watch->began_ns;
	const uint64_t since_ns = now_ns - watch->ended_ns;
	uint64_t wait_ns = watch->ended_ns - watch->began_ns;
	if (elapsed_ns < FIRST_NS || watch->spent_ns > COST_FREE_NS + elapsed_ns / COST_SHARE)
		return false;
	wait_ns = wait_ns < WAIT_NS ? wait_ns : WAIT_NS;
	return since_ns >= wait_ns ||
	       resident_bytes > watch->highest_bytes + watch->highest_bytes / 20;
}

/* The processor time of a process, all its threads. One that has used none since a look, and has as
 * much resident, is as it was then. `now_ns`, which always changes, where that is not known. */
static uint64_t used_by(pid_t pid, uint64_t now_ns)
{
	clockid_t clock;
	struct timespec used;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return now_ns;
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* How long the heap may be walked. */
static uint64_t most_of(uint64_t resident_bytes, uint64_t elapsed_ns)
{
	const uint64_t reading_ns = READ_NS_PER_BYTE * resident_bytes;
	const uint64_t most_ns = ONE_MOST_NS + elapsed_ns / COST_SHARE;
	return ONE_NS + (reading_ns < most_ns ? reading_ns : most_ns);
}

/* Before the last look is replaced by one with so much: it is kept if that is less by a tenth, and
 * not longer than for a second. */
static void keep_before(struct bp_mappings_watch *watch, uint64_t bytes, uint64_t now_ns)
{
	struct bp_mapping_cut *last = &watch->mappings.cuts[BP_MAPPINGS_LAST];
	if (watch->mappings.count == 0 ||
		(watch->fell_ns != 0 && now_ns - watch->fell_ns <= FELL_NS))
		return;
	bp_mapping_cut_finish(&watch->before);
	bp_pages_finish(&watch->pages_before);
	watch->fell_ns = 0;
	if (bytes >= bp_mapping_cut_resident(last) / 10 * 9)
		return;
	watch->before = *last;
	watch->pages_before = watch->pages;
	*last = (struct bp_mapping_cut){ 0 };
	watch->pages = (struct bp_pages){ 0 };
	watch->fell_ns = now_ns;
}

bool bp_mappings_watch_look(
	struct bp_mappings_watch *watch, uint64_t resident_bytes, uint64_t now_ns)
{
	struct bp_mapping_cut cut = { 0 }, copy;
	struct bp_pages pages = { 0 };
	struct bp_mapping_cut *cuts = watch->mappings.cuts;
	if (!is_time(watch, resident_bytes, now_ns))
		return false;
	const uint64_t its_ns = used_by((pid_t)watch->mappings.pid, now_ns);
	if (watch->mappings.count > 0 && its_ns == watch->its_ns &&
		resident_bytes == watch->its_bytes)
		return false;
	const uint64_t most_ns = most_of(resident_bytes, now_ns - watch->began_ns);
	const uint64_t used_ns = bp_system_time_ns(CLOCK_THREAD_CPUTIME_ID);
	const bool good =
		bp_mappings_look((pid_t)watch->mappings.pid, watch->file, most_ns, &cut, &pages);
	watch->ended_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	watch->spent_ns += bp_system_time_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns;
	if (!good)
		return false;
	watch->its_ns = its_ns;
	watch->its_bytes = resident_bytes;
	const uint64_t bytes = bp_mapping_cut_resident(&cut);
	keep_before(watch, bytes, now_ns);
	bp_pages_finish(&watch->pages);
	watch->pages = pages;
	if ((watch->mappings.count == 0 || bytes >= watch->highest_bytes) &&
		bp_mapping_cut_copy(&cut, &copy)) {
		bp_mapping_cut_finish(&cuts[BP_MAPPINGS_HIGHEST]);
		cuts[BP_MAPPINGS_HIGHEST] = copy;
		watch->highest_bytes = bytes;
	}
	bp_mapping_cut_finish(&cuts[BP_MAPPINGS_LAST]);
	cuts[BP_MAPPINGS_LAST] = cut;
	watch->mappings.count = BP_MAPPINGS_MOMENTS;
	return true;
}

bool bp_mappings_watch_end(struct bp_mappings_watch *watch, uint64_t now_ns)
{
	struct bp_mapping_cut *last = &watch->mappings.cuts[BP_MAPPINGS_LAST];
	if (watch->fell_ns == 0 || now_ns - watch->fell_ns > FELL_NS)
		return false;
	bp_mapping_cut_finish(last);
	bp_pages_finish(&watch->pages);
	*last = watch->before;
	watch->pages = watch->pages_before;
	watch->before = (struct bp_mapping_cut){ 0 };
	watch->pages_before = (struct bp_pages){ 0 };
	watch->fell_ns = 0;
	return true;
}

void bp_mappings_watch_finish(struct bp_mappings_watch *watch)
{
	bp_mapping_cut_finish(&watch->before);
	bp_pages_finish(&watch->pages_before);
	bp_mappings_finish(&watch->mappings);
	bp_pages_finish(&watch->pages);
}
