/* SPDX-License-Identifier: MIT */
/*
 * What a reader of the figures must know, as sentences: killed and unprofiled processes, images
 * that were not seen, losses, assumptions that the data contradict. Reports print them in their
 * header and as `warnings` in JSON. Names from files go in as they are; reports escape them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "base/attributes.h"
#include "estimate/plan.h"
#include "model/gaps/losses.h"
#include "model/names/process_name.h"
#include "model/gaps/python_state.h"
#include "model/gaps/unseen.h"

struct list {
	char **lines;
	uint32_t count, capacity;
	bool failed;
};

static void say_arguments(struct list *list, const char *format, va_list arguments)
{
	char *line = NULL;
	if (vasprintf(&line, format, arguments) < 0)
		line = NULL;
	/* Room for the NULL at the end too. */
	if (line == NULL || !bp_grow((void **)&list->lines, list->count + 1, &list->capacity,
				    sizeof *list->lines)) {
		free(line);
		list->failed = true;
		return;
	}
	list->lines[list->count++] = line;
	list->lines[list->count] = NULL;
}

BP_PRINTF(2, 3) static void say(struct list *list, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	say_arguments(list, format, arguments);
	va_end(arguments);
}

static const char *unprofiled_text(uint32_t reason)
{
	static const char *const texts[] = { "the recorder stayed off",
		"its malloc is linked in, or preloaded before the recorder",
		"the hooks could not be set up", "another profiler or a sanitizer owns its malloc",
		"its C library is not glibc (musl, for instance)" };
	return texts[reason < BP_COUNT(texts) ? reason : 0];
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* `open`: nor is it known how much was allocated. */
static void say_cut(struct list *list, const struct bp_profile *profile, uint64_t cut,
	const struct bp_process *example, bool open)
{
	const char *rest = open ? ", and how much was allocated has no upper limit" : "";
	if (cut == 1 && profile->processes.count == 2)
		say(list, "the trace is cut off: what was written behind its end is missing%s",
			rest);
	else if (cut > 0)
		say(list,
			"%llu trace%s cut off, for example that of %s (pid %u): what was "
			"written behind the end is missing%s",
			(unsigned long long)cut, cut == 1 ? " is" : "s are",
			bp_profile_text(profile, example->program), example->pid, rest);
}

/* Programs that began no trace, although nothing about them forbade it. */
static void say_unexplained(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *one = NULL;
	unsigned long long count = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *p = &profile->processes.data[i];
		if (aggregation->state->view.processes[i].included &&
			bp_process_went_on_unexplained(profile, p) && count++ == 0)
			one = p;
	}
	if (count == 0)
		return;
	const char *became = bp_profile_text(profile, one->became);
	say(list,
		"%llu program%s ran without the recorder: %s, which %s (pid %u) became: it is built "
		"with a sanitizer, its loader could not open it, or its trace could not be written "
		"(another root or user, a read-only one, file capabilities?)",
		count, plural(count), *became != '\0' ? became : "a program",
		bp_profile_text(profile, one->program), one->pid);
}

/* Of a process that a signal ended; NULL: there is none. */
static void say_stopped(
	struct list *list, const struct bp_profile *profile, const struct bp_process *stopped)
{
	char name[BP_SIGNAL_BYTES];
	if (stopped == NULL)
		return;
	bp_process_signal_text(stopped, name);
	say(list,
		"%s (pid %u) was ended by %s: its counted totals are limits, as near as its "
		"threads had told them by then",
		bp_profile_text(profile, stopped->program), stopped->pid, name);
}

static void say_processes(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	uint64_t killed = 0, unprofiled = 0, unseen = 0, damaged = 0, missing = 0, unfolded = 0;
	uint64_t cut = 0;
	bool about = false, open = false;
	const struct bp_process *killed_one = NULL, *unprofiled_one = NULL, *unseen_one = NULL;
	const struct bp_process *cut_one = NULL, *stopped_one = NULL;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *p = &profile->processes.data[i];
		if (!aggregation->state->view.processes[i].included)
			continue;
		if (!p->profiled && unprofiled++ == 0)
			unprofiled_one = p;
		const bool cut_short =
			p->profiled && !(p->lacks & BP_LACKS_COUNTERS) && !p->ended && !p->running;
		if (cut_short && p->end_signal != 0)
			stopped_one = p;
		else if (cut_short && killed++ == 0)
			killed_one = p;
		if (p->unseen_execs > 0 && unseen == 0)
			unseen_one = p;
		unseen += p->unseen_execs;
		damaged += p->damaged_chunks;
		open = open || p->bytes_allocated.high == UINT64_MAX;
		if (p->cut_off && !(p->lacks & BP_LACKS_COUNTERS) && cut++ == 0)
			cut_one = p;
		unfolded += p->fold_missing;
		missing += p->missing_children;
		about = about || (p->missing_children > 0 && p->spawned > 0);
	}
	if (unprofiled > 0)
		say(list, "%llu process%s not profiled: %s (pid %u): %s",
			(unsigned long long)unprofiled, unprofiled == 1 ? "" : "es",
			bp_profile_text(profile, unprofiled_one->program), unprofiled_one->pid,
			unprofiled_text(unprofiled_one->unprofiled_reason));
	say_stopped(list, profile, stopped_one);
	if (killed > 0)
		say(list,
			"%llu process%s did not end in order (killed, still running, or ended by "
			"libc itself, as by daemon), for example %s (pid %u): counted totals are "
			"intervals",
			(unsigned long long)killed, killed == 1 ? "" : "es",
			bp_profile_text(profile, killed_one->program), killed_one->pid);
	if (unseen > 0)
		say(list, "%llu process%s not seen: %s: %s", (unsigned long long)unseen,
			unseen == 1 ? "" : "es",
			bp_profile_text(profile, unseen_one->unseen_example),
			bp_unseen_text(unseen_one->unseen_reason,
				bp_profile_text(profile, unseen_one->unseen_example)));
	if (missing > 0)
		say(list,
			"%s%llu child process%s not here: FILE.d, which would hold them, is "
			"missing, or they were not followed (--no-follow-fork)",
			about ? "about " : "", (unsigned long long)missing,
			missing == 1 ? " is" : "es are");
	say_cut(list, profile, cut, cut_one, open);
	if (damaged > cut)
		say(list,
			"%llu part%s of the trace cannot be read: samples and frees in them are "
			"lost%s",
			(unsigned long long)(damaged - cut), plural(damaged - cut),
			unfolded > 0 ? ": FILE.fold, which has them, seems to be missing: copy it "
				       "beside FILE"
				     : "");
}

/* Files of FILE.d that are missing from every figure. */
static void say_unread(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	if (profile->unread_files == 0)
		return;
	const char *example = bp_profile_text(profile, profile->unread_example);
	const bool one = profile->unread_files == 1;
	say(list, "%u file%s of processes that it started cannot be read%s%s",
		profile->unread_files, plural(profile->unread_files),
		*example == '\0' ? ""
		: one		 ? ": "
				 : ": for example ",
		example);
}

/* Processes that ended in order, and yet not all counters of their threads are known. */
static void say_open_ends(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	uint64_t hosted = 0, gone = 0, unknown = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *p = &profile->processes.data[i];
		if (!aggregation->state->view.processes[i].included)
			continue;
		*(p->host ? &hosted : &gone) += p->open_threads;
		unknown += p->unknown_samples;
	}
	if (hosted > 0)
		say(list,
			"%llu thread%s had not told %s end (bp_host_thread_end) when the "
			"recording ended: what %s told last is a lower limit of what %s "
			"allocated, and totals are estimated, not counted",
			(unsigned long long)hosted, plural(hosted), hosted == 1 ? "its" : "their",
			hosted == 1 ? "it" : "they", hosted == 1 ? "it" : "they");
	if (gone > 0)
		say(list,
			"%llu thread%s allocated while the process ended, or ended without a word "
			"(by a system call of their own): counted totals are intervals",
			(unsigned long long)gone, plural(gone));
	if (unknown > 0)
		say(list,
			"%llu sample%s of threads that are not known (number 0, or none of "
			"bp_host_thread): no counter holds what they allocated, and totals are "
			"estimated, not counted",
			(unsigned long long)unknown, unknown == 1 ? " is" : "s are");
}

/* Settings that were given by the environment and not understood: what held is the default. */
static void say_misread(struct list *list, const struct bp_aggregation *aggregation)
{
	static const char *const names[] = { "BYTEPOLL_INTERVAL", "BYTEPOLL_BUDGET",
		"BYTEPOLL_START", "BYTEPOLL_START_TIME", "BYTEPOLL_STOP_TIME", "BYTEPOLL_SEED",
		"BYTEPOLL_LAW", "BYTEPOLL_FOLLOW_PID", "BYTEPOLL_TRACEPOINTS", "BYTEPOLL_PYTHON",
		"BYTEPOLL_MAPPED", "BYTEPOLL_FREE_STACKS" };
	const struct bp_profile *profile = aggregation->profile;
	uint32_t misread = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (aggregation->state->view.processes[i].included)
			misread |= profile->processes.data[i].misread;
	for (uint32_t i = 0; i < BP_COUNT(names); i++)
		if ((misread & 1u << i) != 0)
			say(list,
				"the value of %s in the program's environment was not understood: "
				"it counted as not set",
				names[i]);
}

/* Has an earlier process the same states? (A pool of workers is one line.) */
static bool is_said_already(const struct bp_aggregation *aggregation, uint32_t process)
{
	const struct bp_process *processes = aggregation->profile->processes.data;
	const struct bp_process_python *python = &processes[process].python;
	for (uint32_t i = 1; i < process; i++)
		if (aggregation->state->view.processes[i].included && processes[i].python.known &&
			processes[i].python.frames_state == python->frames_state &&
			processes[i].python.objects_state == python->objects_state)
			return true;
	return false;
}

/* What of Python is missing, and what to do. */
static void say_python(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	char lines[BP_PYTHON_LINES][BP_PYTHON_LINE_BYTES];
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process_python *python = &profile->processes.data[i].python;
		if (!aggregation->state->view.processes[i].included || !python->known ||
			is_said_already(aggregation, i))
			continue;
		const uint32_t count = bp_python_missing_lines(profile, python, lines);
		for (uint32_t j = 0; j < count; j++)
			say(list, "%s", lines[j]);
	}
}

/* The coarsest clock of all, and how far it goes. */
static void say_folded(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	uint64_t folded_ns = 0, until_ns = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *p = &profile->processes.data[i];
		const struct bp_process_view *view = &aggregation->state->view.processes[i];
		if (!view->included || p->folded_until_ns <= view->base_ns)
			continue;
		if (p->folded_ns > folded_ns)
			folded_ns = p->folded_ns;
		if (p->folded_until_ns - view->base_ns > until_ns)
			until_ns = p->folded_until_ns - view->base_ns;
	}
	if (folded_ns > 0)
		say(list,
			"older records were folded: what happened before %.3g s is told up to "
			"%.3g s late",
			(double)until_ns / 1e9, (double)folded_ns / 1e9);
}

/* What recorders other than ours leave open. */
static void say_assumptions(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *p = &profile->processes.data[i];
		if (!aggregation->state->view.processes[i].included)
			continue;
		if (p->lacks & BP_LACKS_INTERVAL)
			say(list,
				"the sampling interval is not in this file: %llu bytes, that of "
				".NET, are assumed (--assume-interval)",
				(unsigned long long)p->interval_max);
		if (p->cut_off && (p->lacks & BP_LACKS_COUNTERS))
			say(list, "the file is cut off (the program was killed, or recording ended "
				  "early): what is missing at its end has no number");
		if (p->frames_named < p->frames)
			say(list, "%.3g %% of the frames have no name: %s",
				100.0 * (double)(p->frames - p->frames_named) / (double)p->frames,
				p->methods_listed
					? "they are in none of the methods that the file lists"
					: "the file lacks the runtime's list of methods (rundown), "
					  "which is not written with --no-rundown, nor by a program "
					  "that is killed");
		if (p->other_events > 0)
			say(list,
				"%llu AllocationTick events are left out: they are no random "
				"sample",
				(unsigned long long)p->other_events);
	}
}

/* A child without a trace has no name; the process that forked it has one. */
static void say_childless(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *one = NULL;
	for (uint32_t i = 1; i < profile->processes.count && one == NULL; i++) {
		const struct bp_process *p = &profile->processes.data[i];
		if (aggregation->state->view.processes[i].included &&
			p->lost[BP_LOSS_KIND_CHILDREN] > 0)
			one = p;
	}
	if (one != NULL)
		say(list,
			"%s (pid %u) forked %llu of them: the folder of the trace may be read-only "
			"or missing in its root, or another user's",
			bp_profile_text(profile, one->program), one->pid,
			(unsigned long long)one->lost[BP_LOSS_KIND_CHILDREN]);
}

/* Samples of a runtime that embeds the library. */
static bool is_of_hosts(const struct bp_aggregation *aggregation, uint32_t reason)
{
	uint64_t hosted = 0;
	for (uint32_t i = 1; i < aggregation->profile->processes.count; i++) {
		const struct bp_process *p = &aggregation->profile->processes.data[i];
		if (aggregation->state->view.processes[i].included && p->host)
			hosted += p->lost[reason];
	}
	return hosted == aggregation->lost[reason];
}

static void say_losses(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_aggregation_state *state = aggregation->state;
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++) {
		struct bp_loss_kind kind = bp_loss_kind(reason);
		if (reason == BP_PROFILE_LOST_INVALID && is_of_hosts(aggregation, reason))
			kind.text =
				"the runtime reported what cannot be right: an object at 0, an "
				"unknown kind, or a sampled byte behind the object (a wrong charge "
				"in bp_host_options, which makes totals wrong, too)";
		if (aggregation->lost[reason] > 0)
			say(list, "%llu %s lost: %s", (unsigned long long)aggregation->lost[reason],
				kind.what, kind.text);
		if (reason == BP_LOSS_KIND_CHILDREN)
			say_childless(list, aggregation);
	}
	for (uint32_t i = 1; i < aggregation->profile->threads.count; i++) {
		const struct bp_thread *thread = &aggregation->profile->threads.data[i];
		if (thread->lost > 0 && state->view.processes[thread->process.i].included)
			say(list, "of these, %llu in thread %u", (unsigned long long)thread->lost,
				thread->tid);
	}
	if (state->lost_samples)
		say(list, "because of lost samples estimates are lower bounds");
	if (state->lost_frees)
		say(list, "because of lost frees %s", bp_effect_of_lost_frees(state));
}

/* The smallest size that the query states is part of every figure of objects: it is said. And does
 * the counted number of objects contradict it? At an error of 1 %, so that one profile in two
 * hundred is accused wrongly at most. */
static void say_size_min(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	struct bp_known_total counted = state->counted.offered_objects;
	if (query->has_size_min && query->size_min > 0)
		say(list,
			"intervals of objects hold if no object is smaller than %llu byte%s, as "
			"--min-size states",
			(unsigned long long)query->size_min, query->size_min == 1 ? "" : "s");
	if (!state->profiled || query->has_from || query->has_to || query->filter_count > 0 ||
		state->lost_samples || counted.low == 0 || state->size_min == 0)
		return;
	const struct bp_tally *tally = &state->totals[BP_METRIC_ALLOCATED];
	struct bp_interval objects = bp_figures_objects(state, tally, 0.01, state->size_min);
	if (objects.high < (double)counted.low)
		say(list,
			"if none were smaller than %llu bytes there would be at most %.0f objects, "
			"but %llu were allocated: use --min-size 0",
			(unsigned long long)state->size_min, objects.high,
			(unsigned long long)counted.low);
}

/* How much it was stands in the header, and in JSON. */
static void say_pauses(struct list *list, const struct bp_aggregation *aggregation)
{
	if (aggregation->sampling.paused && aggregation->state->counted.objects.high > 0)
		say(list, "sampling was off for a time: all figures, live and peak too, are of "
			  "objects allocated while it was on");
}

/* One sentence for each of the first few. */
#define OUTAGES_SAID 5u

static void say_outages(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_sampling *sampling = &aggregation->sampling;
	const uint32_t count = sampling->outage_count;
	for (uint32_t i = 0; i < count && i < OUTAGES_SAID; i++) {
		const double from_s = (double)sampling->outages[i].from_ns / 1e9;
		const double to_s = (double)sampling->outages[i].to_ns / 1e9;
		if (sampling->outage_goes_on && i + 1 == count)
			say(list,
				"nothing was recorded since %.2f s, because the trace could not "
				"grow (a full disk, a limit on the size of files): the last thing "
				"known is of %.2f s",
				from_s, to_s);
		else
			say(list,
				"nothing was recorded from %.2f s to %.2f s, because the trace "
				"could not grow (a full disk, a limit on the size of files)",
				from_s, to_s);
	}
	if (count > OUTAGES_SAID)
		say(list, "nor in %u other times, the last of them from %.2f s on",
			count - OUTAGES_SAID, (double)sampling->outages[count - 1].from_ns / 1e9);
}

/* Figures that are not ours say so. */
static void say_methods(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_query *query = &aggregation->query;
	if (query->estimator == BP_ESTIMATOR_HITS || query->estimator == BP_ESTIMATOR_MEMRAY)
		say(list,
			"--estimator %s: hits of an object after the first one are drawn, not "
			"recorded",
			bp_estimator_names[query->estimator]);
	if (query->estimator == BP_ESTIMATOR_MEMRAY &&
		aggregation->state->totals[BP_METRIC_ALLOCATED].sums.bernoulli)
		say(list,
			"--estimator memray takes every object of T bytes and more to be sampled: "
			"under law bernoulli some are not, and its figures are too low");
	if (bp_method_is_of_hits(query->method))
		say(list,
			"--interval-method %s is of trials, and so of bytes: numbers of objects "
			"have the default interval",
			bp_method_names[query->method]);
	if (query->method == BP_METHOD_CAMP_PAULSON)
		say(list, "--interval-method camp-paulson is an approximation: with one sample its "
			  "lower limit is half of the exact one");
	if (bp_method_is_of_hits(query->method) && query->edges == BP_EDGES_AT_SAMPLES)
		say(list, "--edges sample holds for a window that ends at a sample only: elsewhere "
			  "the upper limits are too low in up to 8 %% of cases");
}

/* Several files: what their sum means. */
static void say_together(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *processes = profile->processes.data;
	if (!profile->merged_unrelated)
		return;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		for (uint32_t j = 1; processes[i].host && j < profile->processes.count; j++) {
			if (i == j || !bp_is_one_process(profile, &processes[i], &processes[j]))
				continue;
			say(list,
				"%s and %s are of one process (pid %u): what a runtime hands out may lie "
				"in memory that malloc or another runtime gave it, and is then counted "
				"twice; give one file at a time",
				bp_profile_text(profile, processes[i].file),
				bp_profile_text(profile, processes[j].file), processes[i].pid);
			return;
		}
	if (profile->stored_runs > 1 && !aggregation->query.has_at)
		say(list,
			"the figures are sums of %u runs: live is what each held at its end, and there "
			"is no common peak",
			profile->stored_runs);
	else if (profile->stored_runs == 0 && bp_are_snapshots(aggregation))
		say(list,
			"these snapshots are summed: of one process, what lives in several of them is "
			"counted in each (bytepoll diff compares two); of unrelated ones there is no "
			"common moment");
	else if (profile->stored_runs == 0 && !aggregation->query.has_at)
		say(list, "these files are of unrelated processes: figures are summed, live is at "
			  "each one's own exit, and there is no common peak");
}

static void say_empty(struct list *list, const struct bp_aggregation *aggregation)
{
	const struct bp_aggregation_state *state = aggregation->state;
	if (aggregation->profile->processes.count <= 1)
		say(list, "no process in this profile");
	else if (!state->profiled)
		say(list, "nothing was profiled: there are no figures");
	else if (state->counted.objects.high == 0 && aggregation->sampling.paused)
		say(list, "nothing was allocated while sampling was on: switch it on with "
			  "bytepoll control PID start, or leave --start-dormant out");
	else if (!(state->lacks & BP_LACKS_COUNTERS) && state->counted.objects.high == 0)
		say(list,
			bp_profile_is_attached(aggregation->profile, 0)
				? "no allocation was seen since the process was attached to: it made "
				  "none, or by an allocator of its own"
				: "no allocation at all was seen: is the program statically linked, or "
				  "does it have an allocator of its own?");
	else if (aggregation->samples == 0 && !state->lost_samples && state->lacks != 0)
		say(list, "no sample: the program allocated little for this sampling interval");
	else if (aggregation->samples == 0 && !state->lost_samples)
		say(list,
			"no sample: the program allocated little for this sampling interval; "
			"bytepoll run --interval %llu shows a tenth of it to within 10 %%",
			(unsigned long long)bp_plan_interval_of_tenth(state->counted.bytes.low));
	if (aggregation->samples > 0 && aggregation->query.filter_count > 0 &&
		state->totals[BP_METRIC_ALLOCATED].sums.samples == 0)
		say(list, "no sample matches the filters: a name is matched whole, and in the "
			  "middle by *name*; what they select may have been too small to be "
			  "sampled");
}

bool bp_make_warnings(struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct list list = { 0 };
	list.failed = !bp_grow((void **)&list.lines, 0, &list.capacity, sizeof *list.lines);
	if (!list.failed)
		list.lines[0] = NULL;
	say_empty(&list, aggregation);
	say_together(&list, aggregation);
	say_processes(&list, aggregation);
	say_unread(&list, aggregation);
	say_open_ends(&list, aggregation);
	say_unexplained(&list, aggregation);
	say_pauses(&list, aggregation);
	say_outages(&list, aggregation);
	say_misread(&list, aggregation);
	say_python(&list, aggregation);
	say_folded(&list, aggregation);
	say_assumptions(&list, aggregation);
	say_losses(&list, aggregation);
	say_size_min(&list, aggregation);
	say_methods(&list, aggregation);
	aggregation->warnings = list.lines;
	return (!list.failed && bp_warn_of_usable_sizes(aggregation) &&
		       bp_warn_of_freed_somewhere(aggregation)) ||
	       bp_error_set(error, "out of memory");
}

bool bp_aggregation_warn(struct bp_aggregation *aggregation, const char *format, ...)
{
	va_list arguments;
	uint32_t count = 0;
	while (aggregation->warnings[count] != NULL)
		count++;
	/* The capacity is not remembered: count + 1 entries are there at least. */
	struct list list = { aggregation->warnings, count, count + 1, false };
	va_start(arguments, format);
	say_arguments(&list, format, arguments);
	va_end(arguments);
	aggregation->warnings = list.lines;
	return !list.failed;
}
