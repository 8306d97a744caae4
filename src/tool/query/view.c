/* SPDX-License-Identifier: MIT */
/*
 * Setting up a view: ends, roots and clocks of processes, then the moment of metric live. See
 * view.h. All loops over ancestors are bounded by the number of processes; finish_import has left
 * no circle.
 */
#include "query/view.h"

#include <stdlib.h>
#include <string.h>

#include "query/time_text.h"

#define END_BY_EXEC 5u /* enum bp_end_reason of the trace */

static void find_ends(struct bp_view *view)
{
	const struct bp_profile *profile = view->profile;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		view->processes[i].end_ns = process->end_time_ns > process->start_time_ns
						    ? process->end_time_ns
						    : process->start_time_ns;
	}
	const struct bp_samples *samples = &profile->samples;
	for (uint32_t i = 1; i < profile->processes.count && i < samples->latest_capacity; i++)
		if (samples->latest_ns[i] > view->processes[i].end_ns)
			view->processes[i].end_ns = samples->latest_ns[i];
}

/* Unrelated files keep their own root each; otherwise all belong to the first tree. */
static void find_roots(struct bp_view *view)
{
	const struct bp_profile *profile = view->profile;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		uint32_t root = i;
		while (profile->processes.data[root].parent.i != 0)
			root = profile->processes.data[root].parent.i;
		if (!profile->merged_unrelated)
			root = profile->root.i;
		view->processes[i].root = root;
		view->processes[i].base_ns = profile->processes.data[root].start_time_ns;
	}
}

/* The last image of a process, following its execs. */
static uint32_t last_image(const struct bp_profile *profile, uint32_t process)
{
	for (uint32_t steps = 0; steps < profile->processes.count; steps++) {
		const struct bp_process *now = &profile->processes.data[process];
		uint32_t next = 0;
		if (now->end_reason != END_BY_EXEC)
			return process;
		for (uint32_t i = 1; i < profile->processes.count; i++) {
			const struct bp_process *p = &profile->processes.data[i];
			if (p->pid == now->pid && p->start_time_ns > now->start_time_ns &&
				(next == 0 || p->start_time_ns <
						      profile->processes.data[next].start_time_ns))
				next = i;
		}
		if (next == 0)
			return process;
		process = next;
	}
	return process;
}

static bool include(struct bp_view *view, uint32_t pid, uint32_t *ret_first, struct bp_error *error)
{
	const struct bp_profile *profile = view->profile;
	uint32_t first = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (pid != 0 && process->pid != pid)
			continue;
		view->processes[i].included = true;
		if (first == 0 ||
			process->start_time_ns < profile->processes.data[first].start_time_ns)
			first = i;
	}
	if (first == 0 && pid != 0)
		return bp_error_set(error,
			"no process with pid %u in this profile: see --by process for those "
			"there are",
			pid);
	if (pid == 0 && profile->root.i != 0)
		first = profile->root.i;
	*ret_first = first;
	return true;
}

static bool ends_before(
	const char *option, uint64_t asked_ns, uint64_t end_ns, bool of_day, struct bp_error *error)
{
	char asked[64], end[64];
	bp_moment_text(asked_ns, of_day, asked, sizeof asked);
	bp_moment_text(end_ns, of_day, end, sizeof end);
	return bp_error_set(error, "--%s %s: the recording ends at %s", option, asked, end);
}

/* When the last of several trees ends, since its start. */
static uint64_t longest_ns(const struct bp_view *view)
{
	const struct bp_profile *profile = view->profile;
	uint64_t longest = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		if (view->processes[i].root != i || !view->processes[i].included)
			continue;
		const uint64_t end_ns = view->processes[last_image(profile, i)].end_ns;
		const uint64_t length_ns = end_ns - view->processes[i].base_ns;
		longest = length_ns > longest ? length_ns : longest;
	}
	return longest;
}

/* The moment of metric live: of each tree, or with a pid of that process. */
static bool set_live_moments(
	struct bp_view *view, const struct bp_query *query, uint32_t first, struct bp_error *error)
{
	const struct bp_profile *profile = view->profile;
	if (first == 0)
		return true;
	view->subject = last_image(profile, first);
	uint64_t end_ns = view->processes[view->subject].end_ns;
	uint64_t base_ns = view->processes[first].base_ns;
	uint64_t whole_ns = end_ns > base_ns ? end_ns - base_ns : 0;
	const uint64_t last_ns =
		profile->merged_unrelated && query->pid == 0 ? longest_ns(view) : whole_ns;
	view->duration_ns = end_ns - bp_process_began_ns(profile, &profile->processes.data[first]);
	view->at_ns = query->has_at ? query->at_ns : whole_ns;
	if (query->has_at && query->at_ns > last_ns)
		return ends_before("at", query->at_ns, last_ns, profile->of_day, error);
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		struct bp_process_view *p = &view->processes[i];
		if (query->has_at) {
			p->live.time_ns = p->base_ns + query->at_ns;
		} else {
			uint32_t of = query->pid != 0 ? first : p->root;
			p->live.time_ns = view->processes[last_image(profile, of)].end_ns;
		}
		/* After everything else at that time, but before the end of a process. */
		p->live.process = UINT32_MAX;
		p->live.sequence = UINT64_MAX - 1;
		p->gone = p->live;
		p->gone.time_ns = p->base_ns + query->gone_by_ns;
	}
	return true;
}

bool bp_view_init(struct bp_view *view, const struct bp_profile *profile,
	const struct bp_query *query, struct bp_error *error)
{
	uint32_t first = 0;
	memset(view, 0, sizeof *view);
	view->profile = profile;
	view->from_ns = query->has_from ? query->from_ns : 0;
	view->to_ns = query->has_to ? query->to_ns : BP_TIME_NEVER;
	view->has_gone = query->has_gone_by;
	view->processes = calloc(profile->processes.count, sizeof *view->processes);
	if (view->processes == NULL)
		return bp_error_set(error, "out of memory");
	find_ends(view);
	find_roots(view);
	if (!include(view, query->pid, &first, error) ||
		!set_live_moments(view, query, first, error)) {
		bp_view_finish(view);
		return false;
	}
	return true;
}

void bp_view_finish(struct bp_view *view)
{
	free(view->processes);
	memset(view, 0, sizeof *view);
}

bool bp_view_check_from(const struct bp_profile *profile, uint64_t from_ns, struct bp_error *error)
{
	uint64_t end_ns = 0;
	if (from_ns == 0 || profile->lacks & BP_LACKS_TIMES)
		return true;
	/* Of all processes, each since its own tree began: a child may outlive the first. */
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		uint32_t first = i;
		while (profile->processes.data[first].parent.i != 0)
			first = profile->processes.data[first].parent.i;
		const uint64_t start_ns = profile->processes.data[first].start_time_ns;
		if (process->end_time_ns > start_ns && process->end_time_ns - start_ns > end_ns)
			end_ns = process->end_time_ns - start_ns;
	}
	return from_ns <= end_ns || ends_before("from", from_ns, end_ns, profile->of_day, error);
}
