/* SPDX-License-Identifier: MIT */
/*
 * See go_mem_stats.h. By runtime.MemStats's own description, Sys is the sum of HeapSys and of the
 * figures of everything beside the heap; HeapSys is HeapInuse and HeapIdle; HeapReleased is a part
 * of HeapIdle, and HeapAlloc lies in HeapInuse. So the parts add up to Sys.
 */
#include "import/pprof/go_mem_stats.h"

#include <string.h>

#define LINE(name, which) { "# " #name " = ", which },

static const struct {
	const char *begins;
	unsigned which;
} lines[BP_GO_MEM_STATS_COUNT] = { BP_GO_MEM_STATS(LINE) };

/* Number `which` of ` / `-separated ones, of which it is the last. */
static bool read_figure(struct bp_go_text text, unsigned which, uint64_t *ret_figure)
{
	uint64_t figure;
	for (unsigned i = 1; i <= which; i++)
		if ((i > 1 && !bp_go_text_skip(&text, " / ")) ||
			!bp_go_text_read_number(&text, &figure))
			return false;
	if (!bp_go_text_is_empty(text))
		return false;
	*ret_figure = figure;
	return true;
}

void bp_go_mem_stats_read(struct bp_go_mem_stats *stats, struct bp_go_text line)
{
	for (unsigned i = 0; i < BP_GO_MEM_STATS_COUNT; i++) {
		struct bp_go_text at = line;
		if (!bp_go_text_skip(&at, lines[i].begins))
			continue;
		stats->known[i] = read_figure(at, lines[i].which, &stats->figures[i]);
		stats->figures[i] = stats->known[i] ? stats->figures[i] : 0;
		return;
	}
}

/* A part is a figure, less another one that is a part of it. */
struct part {
	const char *name;
	enum bp_runtime_part_kind kind;
	enum bp_go_mem_stats_figure figure;
	enum bp_go_mem_stats_figure less; /* BP_GO_MEM_STATS_COUNT: nothing */
	bool has_live;
	bool may_be_missing; /* some versions of Go and some systems do not write it */
};

#define NOTHING BP_GO_MEM_STATS_COUNT
/* No address space is larger: 57 bits. Sums of a dozen such figures fit into 64 bits. */
#define BYTES_MAX ((uint64_t)1 << 57)

static const struct part parts[] = {
	{ "objects, live or not swept yet", BP_RUNTIME_HELD, BP_GO_HeapAlloc, NOTHING, true,
		false },
	{ "free in spans in use", BP_RUNTIME_HELD, BP_GO_HeapInuse, BP_GO_HeapAlloc, false, false },
	{ "idle spans, not given back", BP_RUNTIME_HELD, BP_GO_HeapIdle, BP_GO_HeapReleased, false,
		false },
	{ "stacks of goroutines and threads", BP_RUNTIME_HELD, BP_GO_Stack, NOTHING, false, false },
	{ "descriptions of spans", BP_RUNTIME_HELD, BP_GO_MSpan, NOTHING, false, false },
	{ "caches of processors", BP_RUNTIME_HELD, BP_GO_MCache, NOTHING, false, false },
	{ "buckets of profiles", BP_RUNTIME_HELD, BP_GO_BuckHashSys, NOTHING, false, false },
	{ "the collector's own", BP_RUNTIME_HELD, BP_GO_GCSys, NOTHING, false, true },
	{ "other", BP_RUNTIME_HELD, BP_GO_OtherSys, NOTHING, false, true },
	{ "idle spans, given back", BP_RUNTIME_GIVEN_BACK, BP_GO_HeapReleased, NOTHING, false,
		false },
	{ "Sys", BP_RUNTIME_TOTAL, BP_GO_Sys, NOTHING, false, false },
	{ "MaxRSS", BP_RUNTIME_HIGH_WATER, BP_GO_MaxRSS, NOTHING, false, true },
};

#define PART_COUNT (sizeof parts / sizeof *parts)

static uint64_t bytes_of(const struct bp_go_mem_stats *stats, const struct part *part)
{
	return stats->figures[part->figure] -
	       (part->less == NOTHING ? 0 : stats->figures[part->less]);
}

/* Is everything there, and do parts that are differences and the sum of all make sense? */
static bool agree(const struct bp_go_mem_stats *stats)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < PART_COUNT; i++) {
		const struct part *part = &parts[i];
		if (!stats->known[part->figure] && !part->may_be_missing)
			return false;
		if (stats->figures[part->figure] > BYTES_MAX)
			return false;
		if (part->less != NOTHING &&
			stats->figures[part->figure] < stats->figures[part->less])
			return false;
		if (part->kind == BP_RUNTIME_HELD || part->kind == BP_RUNTIME_GIVEN_BACK)
			sum += bytes_of(stats, part);
	}
	return sum <= stats->figures[BP_GO_Sys];
}

bool bp_go_mem_stats_add(const struct bp_go_mem_stats *stats, struct bp_profile *profile,
	struct bp_process_id process, struct bp_error *error)
{
	static const char runtime[] = "Go";
	if (!bp_profile_string(profile, runtime, sizeof runtime - 1,
		    &profile->processes.data[process.i].runtime, error))
		return false;
	if (!agree(stats))
		return true;
	for (size_t i = 0; i < PART_COUNT; i++) {
		struct bp_runtime_part part = { .process = process,
			.kind = parts[i].kind,
			.time_ns = BP_TIME_NEVER,
			.bytes = bytes_of(stats, &parts[i]),
			.has_live = parts[i].has_live };
		if (!stats->known[parts[i].figure])
			continue;
		if (!bp_profile_string(
			    profile, parts[i].name, strlen(parts[i].name), &part.name, error) ||
			!bp_profile_add_runtime_part(profile, &part, error))
			return false;
	}
	return true;
}
