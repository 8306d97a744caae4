/* SPDX-License-Identifier: MIT */
/*
 * See tree_calls.h. Processes come and go while one looks. A process that was attached to records
 * what it forks, so only those are missed whose parent forked them before it was attached to, and
 * which came after one has looked: the descendants are looked through until a round finds nobody
 * new.
 *
 * All of them get the same settings, with FILE as the output. The first process has created FILE,
 * so that the recorder of each other one takes FILE.d (docs/trace-format.md, section 4), and what
 * it forks later goes there, too.
 */
#include "cli/attach/tree_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "cli/attach/entry.h"
#include "cli/attach/refusals.h"
#include "cli/process/processes.h"
#include "cli/say.h"
#include "cli/traced/traced.h"

#define ROUNDS_MAX 20	    /* a tree that forks faster than one looks has to be let go */
#define LEAST_NS 500000000u /* for each process, however many there are */

struct pids {
	pid_t *items;
	uint32_t count, capacity;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* False: no memory. `*ret_new` becomes true if it was not there. */
static bool add(struct pids *pids, pid_t pid, bool *ret_new)
{
	for (uint32_t i = 0; i < pids->count; i++)
		if (pids->items[i] == pid)
			return true;
	if (!bp_vec_reserve(&pids->items, &pids->capacity, pids->count + 1u, sizeof *pids->items))
		return false;
	pids->items[pids->count++] = pid;
	*ret_new = true;
	return true;
}

static void add_stops(struct bp_tree_calls *calls, const struct bp_thread_call_result *stops)
{
	calls->stops.unsafe += stops->unsafe;
	if (stops->longest_ns > calls->stops.longest_ns)
		calls->stops.longest_ns = stops->longest_ns;
}

static bool is_traced(pid_t pid)
{
	struct bp_traced traced;
	const bool found = bp_traced_open(pid, false, &traced, NULL);
	if (found)
		bp_traced_close(&traced);
	return found;
}

static bool has_ended(pid_t pid)
{
	struct bp_process_stat stat;
	return !bp_process_stat_read(pid, &stat) || stat.state == 'Z' || stat.state == 'X';
}

/* One call in one process. `what`: what it is that could not be done, to be said; NULL: it is tried
 * again. False: it could not be done. */
static bool call(
	pid_t pid, bool attaches, uint64_t until_ns, const char *what, struct bp_tree_calls *calls)
{
	struct bp_entry entry = { .pid = pid,
		.until_ns = until_ns,
		.settings = attaches ? calls->settings : NULL,
		.file = calls->file };
	struct bp_error error = { 0 };
	const bool good =
		bp_may_attach(pid, !attaches, &error) &&
		(attaches ? bp_entry_attach(&entry, &error) : bp_entry_detach(&entry, &error));
	add_stops(calls, &entry.stops);
	bp_entry_finish(&entry);
	if (good) {
		calls->done++;
	} else if (what != NULL && !has_ended(pid) && is_traced(pid) != attaches) {
		calls->failed++;
		bp_say(stderr, "bytepoll: %s: %s", what, error.text);
	}
	return good;
}

/* Returns whether somebody new was found. Who does not let himself be attached to at once becomes
 * one of the `unwilling`. */
static bool attach_round(
	pid_t pid, struct pids *seen, struct pids *unwilling, struct bp_tree_calls *calls)
{
	struct bp_processes processes;
	bool found = false;
	if (!bp_processes_read(&processes, NULL))
		return false;
	bp_processes_keep_descendants(&processes, pid);
	for (uint32_t i = 0; i < processes.count; i++) {
		const pid_t next = processes.items[i].pid;
		bool is_new = false;
		if (next == getpid() || !add(seen, next, &is_new) || !is_new || has_ended(next) ||
			is_traced(next))
			continue;
		found = true;
		if (!call(next, true, now_ns() + least(calls->wait_ns, LEAST_NS), NULL, calls))
			(void)add(unwilling, next, &is_new);
	}
	bp_processes_finish(&processes);
	return found;
}

void bp_tree_attach(pid_t pid, struct bp_tree_calls *calls)
{
	struct pids seen = { 0 }, unwilling = { 0 };
	const uint64_t until_ns = now_ns() + calls->wait_ns;
	for (uint32_t round = 0; round < ROUNDS_MAX && attach_round(pid, &seen, &unwilling, calls);
		round++)
		;
	/* (All others are recorded by now.) */
	for (uint32_t i = 0; i < unwilling.count; i++) {
		const uint64_t at_least_ns = now_ns() + least(calls->wait_ns, LEAST_NS);
		(void)call(unwilling.items[i], true,
			until_ns > at_least_ns ? until_ns : at_least_ns, "not recorded", calls);
	}
	free(seen.items);
	free(unwilling.items);
}

bool bp_tree_detach(const char *operand, struct bp_tree_calls *calls, struct bp_error *error)
{
	struct bp_traced_list list;
	if (!bp_traced_list_open(operand, true, false, &list, error))
		return false;
	for (uint32_t i = 0; i < list.count; i++)
		(void)call(list.items[i].pid, false, now_ns() + calls->wait_ns, "still recorded",
			calls);
	bp_traced_list_close(&list);
	return true;
}
