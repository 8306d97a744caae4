/* SPDX-License-Identifier: MIT */
/* The table of losses; see losses.h. */
#include "model/gaps/losses.h"

static const struct bp_loss_kind kinds[BP_LOSS_KINDS_KNOWN] = {
	{ "trace_full",
		"the trace could not grow: disk full, a limit on the size of "
		"files, or the program gave up the right to (seccomp, another user)",
		"samples", true, true, false },
	{ "trace_reopen", "the trace could not be opened again to grow", "samples", true, true,
		false },
	{ "slot_memory", "no memory for a sampled object", "samples", true, false, false },
	{ "large_table", "the table of large live objects was full", "samples", true, false,
		false },
	{ "stack_table", "the stack table was full: recorded without their stack", "stacks", false,
		false, false },
	{ "module_table", "the module table was full", "modules", false, false, false },
	{ "thread_slot", "no room for another thread's counters", "threads", false, false, true },
	{ "lanes_busy", "all writers were busy for too long", "samples", true, true, false },
	{ "free", "a free could not be recorded", "frees", false, true, false },
	{ "interrupted", "a signal handler allocated inside the recorder, or left it for good",
		"objects", true, false, false },
	{ "child_trace", "a child process could not open its own trace", "processes", true, false,
		true },
	{ "name", "no room for the name of a type, a frame or labels: recorded without it", "names",
		false, false, false },
};

struct bp_loss_kind bp_loss_kind(uint32_t reason)
{
	static const struct bp_loss_kind events = { "events",
		"the runtime's buffers were full: how many of these events were samples is not "
		"known",
		"events", true, false, false };
	static const struct bp_loss_kind invalid = { "invalid",
		"they cannot be right: without a type, too short, or the sampled byte lies outside",
		"samples", true, false, false };
	static const struct bp_loss_kind buckets = { "buckets",
		"how many samples their sums hold cannot be told: sizes are mixed or not told",
		"buckets", true, false, false };
	static const struct bp_loss_kind unreadable = { "unreadable",
		"they were written, but are in parts of the trace that are damaged or missing",
		"samples", true, true, false };
	static const struct bp_loss_kind counters = { "counters",
		"of threads, which say less than was sampled there: how much was allocated is "
		"estimated, and not counted",
		"counters", false, false, false };
	static const struct bp_loss_kind mapping = { "mapping",
		"calls that map or unmap memory were not recorded, of which there is room for "
		"262,144 in a process",
		"calls", true, true, false };
	static const struct bp_loss_kind unknown = { "unknown",
		"a reason this version does not know", "samples", true, false, true };
	if (reason == BP_PROFILE_LOST_EVENTS)
		return events;
	if (reason == BP_PROFILE_LOST_INVALID)
		return invalid;
	if (reason == BP_PROFILE_LOST_BUCKETS)
		return buckets;
	if (reason == BP_PROFILE_LOST_UNREADABLE)
		return unreadable;
	if (reason == BP_PROFILE_LOST_COUNTERS)
		return counters;
	if (reason == BP_LOSS_KIND_MAPPING)
		return mapping;
	return reason < BP_LOSS_KINDS_KNOWN ? kinds[reason] : unknown;
}
