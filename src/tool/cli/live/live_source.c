/* SPDX-License-Identifier: MIT */
/*
 * A reading: find who runs (the list of traced.h), copy each trace as it is at one moment into
 * memory (snapshot.h), import the copies, then the files of the tree whose processes have ended,
 * then give names to places in code. Names are what takes long, and they do not change: a new
 * profile begins with the modules, places and frames of the one before, which importers find
 * instead of adding their own.
 *
 * Names of code that the processes make at run time are read anew at each reading, from what their
 * runtimes write meanwhile (run/jit_maps.h): which name an address has may change. When a process
 * has ended those that were read last stay in use, until `run` has written FILE.jit.
 *
 * A trace of which a part is folded, or whose copy fails (its process has just ended), is imported
 * from its own file. A file in which nobody is seen to write is read again only when its size or
 * time has changed.
 */
#include "cli/live/live_source.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system_call.h"
#include "cli/control/snapshot.h"
#include "cli/files/recordings_here.h"
#include "cli/files/tree.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/symbol_options.h"
#include "cli/process/processes.h"
#include "cli/run/jit_maps.h"
#include "cli/traced/traced.h"
#include "import/import.h"

/* The string of one profile in another one. */
static bool carry_string(const struct bp_profile *from, struct bp_string_id string,
	struct bp_profile *to, struct bp_string_id *ret_string, struct bp_error *error)
{
	const char *text = bp_profile_text(from, string);
	return bp_profile_string(to, text, strlen(text), ret_string, error);
}

static bool carry_modules(const struct bp_profile *from, struct bp_profile *to,
	struct bp_module_id *modules, struct bp_error *error)
{
	for (uint32_t i = 1; i < from->modules.count; i++) {
		struct bp_module module = from->modules.data[i];
		module.process.i = 0;
		if (!carry_string(from, module.path, to, &module.path, error) ||
			!carry_string(from, module.build_id, to, &module.build_id, error) ||
			!bp_profile_add_module(to, &module, &modules[i], error))
			return false;
	}
	return true;
}

static bool carry_location(const struct bp_profile *from, const struct bp_location *location,
	const struct bp_module_id *modules, struct bp_profile *to, struct bp_error *error)
{
	struct bp_frame *frames = calloc(location->frame_count + (size_t)1, sizeof *frames);
	struct bp_location_id id;
	bool good = frames != NULL && bp_profile_add_location(to, modules[location->module.i],
					      location->address, location->exact, &id, error);
	for (uint32_t i = 0; good && i < location->frame_count; i++) {
		frames[i] = from->frames.data[location->first_frame.i + i];
		frames[i].module = modules[frames[i].module.i];
		good = carry_string(from, frames[i].function, to, &frames[i].function, error) &&
		       carry_string(
			       from, frames[i].system_name, to, &frames[i].system_name, error) &&
		       carry_string(from, frames[i].source_file, to, &frames[i].source_file, error);
	}
	good = good && bp_profile_set_frames(to, id, frames, location->frame_count, error);
	free(frames);
	return good;
}

/* Is it code made at run time? Its names are read anew: a place in no module may have got one by
 * now, and places of the module of made code are numbered by the strings of their profile. */
static bool is_made(const struct bp_profile *profile, const struct bp_location *location)
{
	const struct bp_module *module = &profile->modules.data[location->module.i];
	return location->module.i == 0 ||
	       strcmp(bp_profile_text(profile, module->path), BP_JIT_MODULE) == 0;
}

/* Everything that was found out about names. */
static bool carry_names(
	const struct bp_profile *from, struct bp_profile *to, struct bp_error *error)
{
	struct bp_module_id *modules = calloc(from->modules.count + (size_t)1, sizeof *modules);
	bool good = modules != NULL && carry_modules(from, to, modules, error);
	for (uint32_t i = 1; good && i < from->locations.count; i++) {
		const struct bp_location *location = &from->locations.data[i];
		if (location->resolved && location->frame_count > 0 && !is_made(from, location))
			good = carry_location(from, location, modules, to, error);
	}
	free(modules);
	return good || bp_error_set(error, "out of memory");
}

static bool is_folded(const char *path)
{
	char fold[PATH_MAX + 8];
	snprintf(fold, sizeof fold, "%s.fold", path);
	return access(fold, F_OK) == 0;
}

/* A copy in memory as it is now; -1: it cannot be made. */
static int copy_running(const struct bp_traced *traced, struct bp_error *error)
{
	struct bp_snapshot snapshot;
	int copy = memfd_create("bytepoll-live", MFD_CLOEXEC);
	if (copy < 0) {
		bp_error_set(error, "no memory for a copy: %s", strerror(errno));
		return -1;
	}
	if (bp_snapshot_write_open(traced, copy, "a copy in memory", &snapshot, error))
		return copy;
	close(copy);
	return -1;
}

/* Processes from `first` on were read from a copy of the file at `path`. */
static bool name_file(
	struct bp_profile *profile, uint32_t first, const char *path, struct bp_error *error)
{
	bool good = true;
	for (uint32_t i = first; good && i < profile->processes.count; i++)
		good = bp_profile_string(
			profile, path, strlen(path), &profile->processes.data[i].file, error);
	return good;
}

static bool import_running(
	const struct bp_traced *traced, struct bp_profile *profile, struct bp_error *error)
{
	const uint32_t first = profile->processes.count;
	char path[64];
	/* Nobody may fold it meanwhile. */
	const bool locked = flock(traced->descriptor, LOCK_SH | LOCK_NB) == 0;
	int copy = locked && !is_folded(traced->path) ? copy_running(traced, error) : -1;
	if (locked)
		flock(traced->descriptor, LOCK_UN);
	if (copy < 0)
		return bp_import_one_process(traced->path, profile, error);
	snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
	const bool good = bp_import_one_process(path, profile, error) &&
			  name_file(profile, first, traced->path, error);
	close(copy);
	return good;
}

/* Resident memory of a process. */
static uint64_t resident_of(pid_t pid)
{
	uint64_t kibibytes;
	return bp_process_status_of(pid, "VmRSS", &kibibytes, 1) == 1 ? kibibytes * 1024 : 0;
}

static bool is_listed(const struct bp_traced_list *list, const uint8_t trace_id[16])
{
	for (uint32_t i = 0; i < list->count; i++)
		if (memcmp(list->items[i].header.trace_id, trace_id, 16) == 0)
			return true;
	return false;
}

/* The files of a tree whose processes do not run. One that cannot be read is counted, as importing
 * the tree would. */
static bool import_ended(struct bp_live_source *source, const struct bp_traced_list *list,
	struct bp_profile *profile, struct bp_error *error)
{
	struct bp_tree tree;
	bool good = true;
	if (!bp_tree_read_files(source->operand, &tree, error))
		return false;
	for (size_t i = 0; good && i < tree.count; i++) {
		const struct bp_tree_file *member = &tree.files[i];
		const uint8_t *trace_id = member->header.trace_id;
		if (is_listed(list, trace_id))
			continue;
		good = bp_jit_file_find(&source->jit, trace_id) != NULL ||
		       (bp_jit_maps_add(&tree, member, &source->jit, error) &&
			       bp_jit_file_finish(&source->jit, error));
		/* (One that was packed meanwhile is met there.) */
		if (good && !bp_import_one_process(member->path, profile, NULL) &&
			access(member->path, F_OK) == 0)
			profile->unread_files++;
	}
	bp_tree_finish(&tree);
	return good && bp_import_packed(source->operand, profile, error);
}

/* The names of processes that do not run any more go from one table to another that has none. */
static bool keep_made(const struct bp_traced_list *list, struct bp_jit_file *from,
	struct bp_jit_file *to, struct bp_error *error)
{
	for (uint32_t i = 0; i < from->count; i++) {
		struct bp_jit_process *process = &from->processes[i];
		if (is_listed(list, process->trace_id) ||
			bp_jit_file_find(to, process->trace_id) != NULL)
			continue;
		struct bp_jit_process *kept = bp_jit_file_add(to, process->trace_id, process->pid);
		if (kept == NULL)
			return bp_error_set(error, "out of memory");
		kept->names = process->names;
		process->names = (struct bp_jit_names){ .items = NULL };
	}
	return true;
}

/* What the runtimes of those who run have written by now, and what is known of others. */
static bool read_made(
	struct bp_live_source *source, const struct bp_traced_list *list, struct bp_error *error)
{
	struct bp_jit_file names = { 0 };
	if (source->pid == 0) /* Processes may outlive `run`. If it is torn, it says nothing. */
		(void)bp_jit_file_read(source->operand, &names, NULL);
	bool good = keep_made(list, &source->jit, &names, error);
	for (uint32_t i = 0; good && i < list->count; i++)
		good = bp_jit_maps_add_running(
			&list->items[i].header, list->items[i].descriptor, &names, error);
	if (!good || !bp_jit_file_finish(&names, error)) {
		bp_jit_file_free(&names);
		return false;
	}
	bp_jit_file_free(&source->jit);
	source->jit = names;
	return true;
}

static bool import_list(struct bp_live_source *source, const struct bp_traced_list *list,
	struct bp_profile *profile, struct bp_error *error)
{
	if (!read_made(source, list, error))
		return false;
	source->running = list->count;
	source->resident_bytes = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct bp_traced *traced = &list->items[i];
		if (bp_traced_is_cut(traced))
			return bp_error_set(
				error, "%s was cut off while its process wrote it", traced->path);
		/* Of several, one may be ending just now. */
		if (!import_running(traced, profile, error)) {
			if (list->count == 1)
				return false;
			profile->unread_files++;
		}
		source->resident_bytes += resident_of(traced->pid);
	}
	return source->pid != 0 || import_ended(source, list, profile, error);
}

/* Has the file in which nobody is seen to write changed? Remembers how it is. */
static bool has_changed(struct bp_live_source *source, const char *path)
{
	struct stat status = { 0 };
	if (stat(path, &status) != 0)
		return true;
	const bool changed = source->size != status.st_size ||
			     source->changed_s != status.st_mtim.tv_sec ||
			     source->changed_ns != status.st_mtim.tv_nsec;
	source->size = status.st_size;
	source->changed_s = status.st_mtim.tv_sec;
	source->changed_ns = status.st_mtim.tv_nsec;
	return changed;
}

/* Is the process still the one that was named, or another one of its number? */
static bool is_same_process(struct bp_live_source *source)
{
	struct bp_process_stat stat;
	if (!bp_process_stat_read(source->pid, &stat))
		return false;
	if (source->start_ticks == 0)
		source->start_ticks = stat.start_ticks;
	return source->start_ticks == stat.start_ticks;
}

/* How a trace ended, when nobody runs. */
static enum bp_live_state state_of(
	const struct bp_live_source *source, const struct bp_profile *profile)
{
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	if (root->ended || source->pid != 0 || (root->pid != 0 && kill((pid_t)root->pid, 0) != 0))
		return BP_LIVE_ENDED;
	return BP_LIVE_UNKNOWN;
}

/* A process that was copied while it ran lives at that moment, whenever it was last heard of. */
static void prolong(struct bp_profile *profile, const struct bp_traced_list *list, uint64_t at_ns)
{
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		struct bp_process *process = &profile->processes.data[i];
		if (!is_listed(list, process->trace_id))
			continue;
		process->running = true;
		if (process->end_time_ns < at_ns)
			process->end_time_ns = at_ns;
	}
}

static uint64_t samples_of(const struct bp_profile *profile)
{
	uint64_t samples = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		samples += profile->processes.data[i].samples;
	return samples;
}

/* Is it the same run as before with less in it? Only who cuts a file off brings that about. */
static bool has_lost(const struct bp_live_source *source, const struct bp_profile *profile)
{
	const struct bp_profile *old = &source->profile;
	return source->has_profile && samples_of(profile) < samples_of(old) &&
	       memcmp(profile->processes.data[profile->root.i].trace_id,
		       old->processes.data[old->root.i].trace_id, 16) == 0;
}

static bool finish_import(
	const struct bp_live_source *source, struct bp_profile *profile, struct bp_error *error)
{
	if (!bp_profile_finish_import(profile, false, error))
		return false;
	return !has_lost(source, profile) ||
	       bp_error_set(error, "%s was cut off: it has fewer samples than before",
		       source->path[0] != '\0' ? source->path : source->operand);
}

/* Fills `profile` from whoever runs, or else from the file. */
static bool import_all(struct bp_live_source *source, struct bp_profile *profile, bool *ret_same,
	struct bp_error *error)
{
	struct bp_traced_list list = { 0 };
	const char *path = source->pid != 0 ? source->path : source->operand;
	const bool first = source->path[0] == '\0';
	/* Nobody runs any more, and nobody new can. */
	if (source->has_profile && source->state == BP_LIVE_ENDED && !has_changed(source, path)) {
		*ret_same = true;
		return false;
	}
	if ((source->pid == 0 || is_same_process(source) || first) &&
		bp_traced_list_open(
			source->operand, source->tree || source->pid == 0, false, &list, error)) {
		snprintf(source->path, sizeof source->path, "%s", list.items[0].path);
		const bool good = import_list(source, &list, profile, error);
		prolong(profile, &list, source->read_at_ns);
		bp_traced_list_close(&list);
		source->state = BP_LIVE_RUNS;
		source->size = -1;
		return good && finish_import(source, profile, error);
	}
	if (source->pid != 0 && first)
		return false;
	if (source->has_profile && !has_changed(source, path)) {
		*ret_same = true;
		return false;
	}
	if (!source->has_profile)
		has_changed(source, path);
	if (error != NULL)
		error->text[0] = '\0';
	source->running = 0;
	source->resident_bytes = 0;
	if (!(source->pid != 0 && !source->tree ? bp_import_one_process : bp_import_file)(
		    path, profile, error) ||
		!finish_import(source, profile, error))
		return false;
	source->state = state_of(source, profile);
	snprintf(source->path, sizeof source->path, "%s", path);
	return true;
}

/* What could not be read for names stays so. */
static void add_symbols(struct bp_symbol_summary *all, const struct bp_symbol_summary *found)
{
	if (all->modules == 0) {
		*all = *found;
		return;
	}
	all->modules_missing += found->modules_missing;
	all->modules_replaced += found->modules_replaced;
}

static bool read_source(struct bp_live_source *source, bool *ret_same, struct bp_error *error)
{
	struct bp_symbol_options options = bp_symbol_options_with(source->debug_directory);
	struct bp_symbol_summary symbols = { 0 };
	struct bp_profile profile = { 0 };
	bool good = bp_profile_init(&profile, error);
	profile.keep_readings = true;
	profile.mapped = source->mapped;
	profile.allocators = bp_allocator_options();
	profile.frames_shown = bp_frame_options();
	profile.jit = &source->jit;
	source->read_at_ns = bp_clock_machine_ns();
	if (!good || (source->has_profile && !carry_names(&source->profile, &profile, error)) ||
		!import_all(source, &profile, ret_same, error) ||
		!bp_symbols_resolve(&profile, &options, &symbols, error)) {
		bp_profile_finish(&profile);
		return false;
	}
	if (source->has_profile)
		bp_profile_finish(&source->profile);
	profile.jit = NULL;
	source->profile = profile;
	source->has_profile = true;
	add_symbols(&source->symbols, &symbols);
	return true;
}

bool bp_live_source_open(struct bp_live_source *source, const char *operand, bool tree, bool mapped,
	const char *debug_directory, struct bp_error *error)
{
	bool same = false;
	*source = (struct bp_live_source){ .operand = operand,
		.debug_directory = debug_directory,
		.tree = tree,
		.mapped = mapped,
		.pid = bp_traced_pid(operand) };
	if ((source->pid != 0 || bp_recording_is_there(operand, error)) &&
		read_source(source, &same, error))
		return true;
	bp_jit_file_free(&source->jit);
	return false;
}

bool bp_live_source_read(struct bp_live_source *source)
{
	struct bp_error error = { 0 };
	bool same = false;
	if (read_source(source, &same, &error))
		return true;
	if (!same) {
		source->state = BP_LIVE_CUT;
		source->failure = error;
		source->running = 0;
	}
	return false;
}

void bp_live_source_finish(struct bp_live_source *source)
{
	if (source->has_profile)
		bp_profile_finish(&source->profile);
	source->has_profile = false;
	bp_jit_file_free(&source->jit);
}
