/* SPDX-License-Identifier: MIT */
/*
 * What headers and state pages do not say: the totals of a process that did not end in order
 * (docs/trace-format.md 1.6), and whether a file without samples notes programs that could not be
 * seen. Only then is a trace read through. Packed traces are read in one pass over their file. See
 * tree.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/files/tree.h"
#include "cli/files/tree_packed.h"
#include "model/gaps/unseen.h"
#include "trace/pack.h"
#include "trace/reader.h"

/* Which programs have a file. */
struct births {
	struct bp_birth *items;
	uint32_t count;
};

/* Is it of a program that no other file tells of: one that cannot be profiled, or one that a vfork
 * child became and that began none? */
static bool tells_of_unseen(const struct bp_tree_file *file, const struct bp_trace_exec *exec,
	const struct births *births)
{
	return exec->unseen != BP_UNSEEN_NO ||
	       (exec->pid != file->header.pid &&
		       !bp_births_have(births->items, births->count, exec->pid, exec->time_ns));
}

static bool has_ended(const struct bp_tree_file *file)
{
	return file->state.state == 1 && file->state.unmarked_fork == 0 &&
	       file->state.open_trials == 0;
}

/* Takes what header and state page say. True: the trace has to be read for the rest. */
static bool begin(struct bp_tree_file *file)
{
	file->trials_low = file->trials_high = file->state.end_trials;
	file->objects_low = file->objects_high = file->state.end_objects;
	file->interval_max = file->header.interval_bytes;
	return !has_ended(file) ||
	       (file->state.samples == 0 && (!file->first || bp_tree_has_control(file)));
}

/* Reads an opened trace, and closes it. */
static void read_trace(
	struct bp_trace_reader *reader, struct bp_tree_file *file, const struct births *births)
{
	struct bp_trace_record record;
	bp_trace_reader_use_machine_clock(reader);
	while (bp_trace_reader_next(reader, &record, NULL) == BP_TRACE_RECORD)
		if (record.tag == BP_TAG_MAPPING ||
			(record.tag == BP_TAG_EXEC && tells_of_unseen(file, &record.exec, births)))
			file->keeps_notes = true;
	const struct bp_trace_totals totals = bp_trace_reader_totals(reader);
	file->off_bytes = totals.off_bytes;
	file->off_objects = totals.off_objects;
	file->interval_max =
		reader->interval_max == 0 ? file->header.interval_bytes : reader->interval_max;
	if (!has_ended(file)) {
		file->trials_low = totals.trials_low;
		file->trials_high = totals.trials_high;
		file->objects_low = totals.objects_low;
		file->objects_high = totals.objects_high;
	}
	bp_trace_reader_close(reader);
}

static void read_file(
	const struct bp_tree *tree, struct bp_tree_file *file, const struct births *births)
{
	const struct bp_place place = bp_tree_place(tree, file);
	struct bp_trace_reader reader = { 0 };
	if (bp_trace_reader_open_place(&reader, &place, NULL))
		read_trace(&reader, file, births);
	else
		file->keeps_notes = true; /* damaged: not ours to remove */
}

/* `wanted`: by its number in the packed file, each entry that is to be read; NULL: it is not. */
static void read_packed(const struct bp_tree *tree, struct bp_tree_file *const *wanted,
	uint64_t count, const struct births *births)
{
	struct bp_pack pack;
	struct bp_pack_entry entry;
	int fd, part_fd;
	if (!bp_tree_open_pack(tree, &pack, NULL))
		return;
	for (uint64_t i = 0; i < count && bp_pack_next(&pack, &entry, NULL); i++) {
		struct bp_trace_reader reader = { 0 };
		if (wanted[i] != NULL && bp_pack_expand(&pack, &entry, &fd, &part_fd, NULL) &&
			bp_trace_reader_open_files(&reader, fd, part_fd, entry.name, NULL))
			read_trace(&reader, wanted[i], births);
	}
	bp_pack_close(&pack);
}

static struct births births_of(const struct bp_tree *tree)
{
	struct births births = { .items = calloc(tree->count + 1, sizeof *births.items) };
	if (births.items == NULL)
		return births;
	births.count = (uint32_t)tree->count;
	for (size_t i = 0; i < tree->count; i++)
		births.items[i] = (struct bp_birth){ tree->files[i].header.pid,
			bp_trace_machine_ns(
				&tree->files[i].header, tree->files[i].header.start_monotonic_ns) };
	if (births.count > 0)
		bp_births_sort(births.items, births.count);
	return births;
}

void bp_tree_read_rest(struct bp_tree *tree)
{
	const struct births births = births_of(tree);
	struct bp_tree_file **wanted = calloc(tree->packed_entries + 1, sizeof *wanted);
	bool any = false;
	for (size_t i = 0; i < tree->count; i++) {
		struct bp_tree_file *file = &tree->files[i];
		if (!begin(file))
			continue;
		if (!file->packed)
			read_file(tree, file, &births);
		else if (wanted != NULL && (any = true))
			wanted[file->packed_number] = file;
	}
	if (any)
		read_packed(tree, wanted, tree->packed_entries, &births);
	free(wanted);
	free(births.items);
}
