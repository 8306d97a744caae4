/* SPDX-License-Identifier: MIT */
/* See snapshot.h. */
#include "import/pprof/snapshot.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

/* Every sample is an entry of some hundred bytes: this is 400 MiB. */
#define SAMPLES_MAX 4000000u
/* The smallest size class of Go, jemalloc and TCMalloc: what their profiles call a size is no
 * less. */
#define SMALLEST_CLASS 8u

void bp_snapshot_choose_interval(struct bp_snapshot *snapshot, uint64_t scaled_by)
{
	struct bp_profile *profile = snapshot->profile;
	const bool assumed = profile->assume_interval != 0;
	snapshot->interval = assumed ? profile->assume_interval : scaled_by;
	profile->interval_assumed = profile->interval_assumed || assumed;
}

/* The same file read twice is found by this. */
static void make_trace_id(const void *data, size_t bytes, uint8_t *trace_id)
{
	uint64_t words[2] = { bp_hash_u64(bytes), 0x9E3779B97F4A7C15u };
	struct bp_bytes from = bp_bytes_of(data, bytes);
	for (unsigned i = 0; bp_bytes_left(&from) > 0; i++) {
		const uint64_t word =
			bp_bytes_left(&from) >= 8 ? bp_bytes_u64(&from) : bp_bytes_u8(&from);
		words[i % 2] = bp_hash_u64(words[i % 2] + word);
	}
	memcpy(trace_id, words, sizeof words);
}

bool bp_snapshot_add_process(struct bp_snapshot *snapshot, struct bp_string_id program,
	uint64_t start_real_ns, uint64_t duration_ns, const void *data, size_t bytes)
{
	struct bp_profile *profile = snapshot->profile;
	const uint32_t count = profile->processes.count;
	struct bp_process process = {
		.program = program,
		.command_line = program,
		.end_time_ns = duration_ns,
		.start_real_ns = start_real_ns,
		.ended = true,
		.profiled = true,
		.law = snapshot->interval == 1 ? 0 : BP_PROFILE_BERNOULLI,
		.interval_first = snapshot->interval,
		.interval_max = snapshot->interval,
		.lacks = BP_LACKS_COUNTERS | BP_LACKS_TIMES |
			 (snapshot->live_only ? BP_LACKS_FREED_OBJECTS : 0u),
		.bytes_allocated = { 0, UINT64_MAX },
		.objects_allocated = { 0, UINT64_MAX },
		.size_min = UINT64_MAX,
	};
	make_trace_id(data, bytes, process.trace_id);
	if (!bp_profile_string(profile, snapshot->path, strlen(snapshot->path), &process.file,
		    snapshot->error) ||
		!bp_profile_add_process(profile, &process, &snapshot->process, snapshot->error))
		return false;
	return profile->processes.count != count ||
	       bp_error_set(snapshot->error,
		       "%s: is a profile that was read already: name each file once",
		       snapshot->path);
}

struct bp_process *bp_snapshot_process(const struct bp_snapshot *snapshot)
{
	return &snapshot->profile->processes.data[snapshot->process.i];
}

/* Adds `count` samples alike; the one place where samples are made. */
static bool add_samples(
	struct bp_snapshot *snapshot, struct bp_sample *sample, uint64_t count, bool freed)
{
	struct bp_process *process = bp_snapshot_process(snapshot);
	if (count > SAMPLES_MAX - process->samples)
		return bp_error_set(snapshot->error,
			"%s: holds more than %u samples, which is more than is kept of one file",
			snapshot->path, SAMPLES_MAX);
	for (uint64_t i = 0; i < count; i++) {
		sample->sequence = ++snapshot->sequence;
		sample->free_sequence = freed ? ++snapshot->sequence : BP_TIME_NEVER;
		sample->free_time_ns = freed ? sample->time_ns : BP_TIME_NEVER;
		if (!bp_profile_add_sample(snapshot->profile, sample, snapshot->error))
			return false;
	}
	process->samples += count;
	process->sampled_bytes += count * sample->size;
	if (count > 0 && sample->size < process->size_min)
		process->size_min = sample->size;
	return true;
}

bool bp_snapshot_add_bucket(struct bp_snapshot *snapshot, struct bp_stack_id stack, uint64_t size,
	uint64_t allocated, uint64_t live)
{
	struct bp_sample sample = { .size = size,
		.usable = size,
		.stack = stack,
		.interval = snapshot->interval,
		.process = snapshot->process,
		.exact = snapshot->interval == 1,
		.bernoulli = snapshot->interval > 1 };
	return add_samples(snapshot, &sample, allocated - live, true) &&
	       add_samples(snapshot, &sample, live, false);
}

void bp_snapshot_end(const struct bp_snapshot *snapshot)
{
	struct bp_process *process = bp_snapshot_process(snapshot);
	process->lost[BP_PROFILE_LOST_BUCKETS] = snapshot->invalid;
	process->size_floor =
		process->size_min < SMALLEST_CLASS ? process->size_min : SMALLEST_CLASS;
}
