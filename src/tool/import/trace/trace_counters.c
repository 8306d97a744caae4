/* SPDX-License-Identifier: MIT */
/*
 * Whoever writes a trace says by counters what each thread made, and samples some of that. A
 * counter cannot say less than its own samples add up to. Where one does (a host that gives
 * counters of its own, told wrongly or never) it is no basis for anything: not as a total, nor for
 * the calibration of its parts. What was sampled is certain, and takes its place as lower limit.
 * The same for the objects of threads that no counter is there for.
 *
 * Counters that say too much cannot be told from right ones.
 */
#include <stdlib.h>

#include "import/trace/trace.h"

struct sampled {
	uint64_t bytes, objects;
};

static void add(struct sampled *sum, uint64_t size, uint64_t count)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(size, count, &bytes) ||
		__builtin_add_overflow(sum->bytes, bytes, &sum->bytes))
		sum->bytes = UINT64_MAX;
	sum->objects += count;
}

static void open_total(struct bp_known_total *total, uint64_t sampled)
{
	total->low = total->low > sampled ? total->low : sampled;
	total->high = UINT64_MAX;
}

static bool contradicts(
	const struct sampled *sampled, struct bp_known_total bytes, struct bp_known_total objects)
{
	return sampled->bytes > bytes.high || sampled->objects > objects.high;
}

/* Threads of the process from `first` on. Returns how many are contradicted. */
static uint64_t check_threads(
	struct bp_profile *profile, uint32_t first, const struct sampled *sampled)
{
	uint64_t count = 0;
	for (uint32_t i = first; i < profile->threads.count; i++) {
		struct bp_thread *thread = &profile->threads.data[i];
		const struct sampled *of = &sampled[i - first + 1];
		if (!contradicts(of, thread->bytes_allocated, thread->objects_allocated))
			continue;
		open_total(&thread->bytes_allocated, of->bytes);
		open_total(&thread->objects_allocated, of->objects);
		count++;
	}
	return count;
}

/* Of threads that are known from their samples alone, or not at all. */
static uint64_t unknown_samples(const struct bp_trace_reader *reader, const struct sampled *sampled)
{
	uint64_t count = sampled[0].objects;
	for (uint32_t i = 0; i < reader->thread_count; i++)
		if (!reader->threads[i].published)
			count += sampled[i + 1].objects;
	return count;
}

bool bp_import_check_counters(const struct bp_trace_reader *reader, struct bp_process_id id,
	uint32_t first_alike, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_process *process = &profile->processes.data[id.i];
	const struct bp_samples *samples = &profile->samples;
	/* (They were added together, one for each of the reader's.) */
	const uint32_t first = profile->threads.count - reader->thread_count;
	struct sampled all = { 0, 0 };
	struct sampled *sampled = calloc((size_t)reader->thread_count + 1, sizeof *sampled);
	if (sampled == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = first_alike; i < samples->alike_count; i++) {
		const struct bp_alike *alike = &samples->alike[i];
		const uint64_t count = (uint64_t)alike->count * (alike->more + (uint64_t)1);
		add(&all, alike->size, count);
		add(&sampled[alike->thread.i < first ? 0 : alike->thread.i - first + 1],
			alike->size, count);
	}
	const uint64_t contradicted = check_threads(profile, first, sampled);
	/* (Our recorder counts threads without a place for their counters, too.) */
	process->unknown_samples = process->host ? unknown_samples(reader, sampled) : 0;
	/* These alone have opened the end, and not a thread that the host knows. */
	if (process->unknown_samples > 0 && reader->state.open_threads == 0)
		process->open_threads = 0;
	const bool less = contradicts(&all, process->bytes_allocated, process->objects_allocated);
	if (contradicted > 0 || less)
		process->lost[BP_PROFILE_LOST_COUNTERS] += contradicted > 0 ? contradicted : 1;
	if (contradicted > 0 || less || process->unknown_samples > 0) {
		open_total(&process->bytes_allocated, all.bytes);
		open_total(&process->objects_allocated, all.objects);
		/* Nor is it known what the same threads made in a pause. */
		if (process->has_pauses)
			process->bytes_off.high = process->objects_off.high = UINT64_MAX;
	}
	free(sampled);
	return true;
}
