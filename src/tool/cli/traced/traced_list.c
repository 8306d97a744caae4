/* SPDX-License-Identifier: MIT */
/*
 * The traced processes of a tree. Processes come and go while one looks: those of a pid are looked
 * through until a round finds nobody new. A process forked in between begins as its parent was at
 * the fork, so one that is missed was either forked before its parent was changed, and is found by
 * the next round, or after, and needs no change.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cli/files/tree.h"
#include "cli/options/options.h"
#include "cli/process/processes.h"
#include "cli/traced/traced.h"

#define ROUNDS_MAX 20 /* a tree that forks faster than one looks has to be let go */

pid_t bp_traced_pid(const char *operand)
{
	uint64_t number;
	if (!isdigit((unsigned char)*operand) || !bp_parse_number(operand, &number, NULL) ||
		number == 0 || number > INT32_MAX)
		return 0;
	return (pid_t)number;
}

static bool contains(const struct bp_traced_list *list, const uint8_t trace_id[16])
{
	for (uint32_t i = 0; i < list->count; i++)
		if (memcmp(list->items[i].header.trace_id, trace_id, 16) == 0)
			return true;
	return false;
}

/* Takes over `traced` unless its trace is in the list already. */
static bool add(struct bp_traced_list *list, struct bp_traced *traced, struct bp_error *error)
{
	if (contains(list, traced->header.trace_id)) {
		bp_traced_close(traced);
		return true;
	}
	if (!bp_vec_reserve(&list->items, &list->capacity, list->count + 1u, sizeof *list->items)) {
		bp_traced_close(traced);
		return bp_error_set(error, "out of memory");
	}
	list->items[list->count++] = *traced;
	return true;
}

/* One round: the descendants of `pid` whose traces can be opened. */
static bool add_descendants(
	struct bp_traced_list *list, pid_t pid, bool steer, struct bp_error *error)
{
	struct bp_processes processes;
	bool good = true;
	if (!bp_processes_read(&processes, error))
		return false;
	bp_processes_keep_descendants(&processes, pid);
	for (uint32_t i = 0; good && i < processes.count; i++) {
		struct bp_traced traced;
		if (bp_traced_open(processes.items[i].pid, steer, &traced, NULL))
			good = add(list, &traced, error);
	}
	bp_processes_finish(&processes);
	return good;
}

/* The files of FILE and FILE.d that a process has mapped. */
static bool add_files(
	struct bp_traced_list *list, const char *path, bool steer, struct bp_error *error)
{
	struct bp_tree tree;
	bool good = true;
	if (!bp_tree_read(path, &tree, error))
		return false;
	for (size_t i = 0; good && i < tree.count; i++) {
		struct bp_traced traced;
		if (tree.files[i].state.state != 1 && !tree.files[i].packed &&
			bp_traced_open_file(tree.files[i].path, steer, &traced, NULL))
			good = add(list, &traced, error);
	}
	bp_tree_finish(&tree);
	return good;
}

/* As of `bytepoll run` itself. */
static bool has_traced_descendant(pid_t pid)
{
	struct bp_traced_list list = { 0 };
	bool found = add_descendants(&list, pid, false, NULL) && list.count > 0;
	bp_traced_list_close(&list);
	return found;
}

static bool fill(struct bp_traced_list *list, const char *operand, bool tree, bool steer,
	struct bp_error *error)
{
	pid_t pid = bp_traced_pid(operand);
	struct bp_traced first;
	struct bp_error reason = { 0 };
	bool found = pid != 0 ? bp_traced_open(pid, steer, &first, &reason)
			      : bp_traced_open_file(operand, steer, &first, &reason);
	uint32_t before, rounds = 0;
	if (found && !add(list, &first, error))
		return false;
	if (tree && pid == 0 && !add_files(list, operand, steer, error))
		return false;
	do {
		before = list->count;
		if (tree && pid != 0 && !add_descendants(list, pid, steer, error))
			return false;
	} while (list->count > before && ++rounds < ROUNDS_MAX);
	if (list->count > 0)
		return true;
	if (pid != 0 && !tree && has_traced_descendant(pid))
		return bp_error_set(error,
			"process %ld has no trace open, but processes below it have: name one of "
			"them, or give --tree",
			(long)pid);
	return bp_error_set(error, "%s", reason.text);
}

bool bp_traced_list_open(const char *operand, bool tree, bool steer,
	struct bp_traced_list *ret_list, struct bp_error *error)
{
	struct bp_traced_list list = { 0 };
	if (!fill(&list, operand, tree, steer, error)) {
		bp_traced_list_close(&list);
		return false;
	}
	*ret_list = list;
	return true;
}

void bp_traced_list_close(struct bp_traced_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		bp_traced_close(&list->items[i]);
	free(list->items);
	*list = (struct bp_traced_list){ 0 };
}
