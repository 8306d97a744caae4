/* SPDX-License-Identifier: MIT */
/*
 * Dumps are looked for where their writers put them: /tmp (CPython, .NET), the current folder
 * (Node.js), and ~/.debug/jit/NAME (the agent of perf for Java).
 */
#include "cli/run/jit_maps.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit/jit_dump.h"
#include "jit/jit_file.h"
#include "jit/perf_map.h"

/* An image of a process. */
struct image {
	const struct bp_trace_header *header;
	uint64_t until_real_ns; /* until when the number was its own, by the clock of files */
	int trace;		/* its trace; -1: it is opened when it is needed, by these two: */
	const struct bp_tree *tree;
	const struct bp_tree_file *file;
	struct bp_jit_names names;
	struct bp_error *error;
};

static uint64_t modified_ns(const struct stat *status)
{
	return (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec;
}

/* Until when the number was this image's, by the clock of files: the next image of the process, or
 * its end. (A second more, because that clock goes in steps.) */
static uint64_t until_real_ns(const struct bp_tree *tree, const struct bp_tree_file *file)
{
	const struct bp_trace_header *header = &file->header;
	const struct bp_trace_state *state = &file->state;
	uint64_t until_ns = UINT64_MAX;
	if (state->state == 1 && state->end_time_ns > header->start_monotonic_ns)
		until_ns = header->start_real_ns + state->end_time_ns - header->start_monotonic_ns +
			   1000000000u;
	for (size_t i = 0; i < tree->count; i++) {
		const struct bp_trace_header *other = &tree->files[i].header;
		if (other->pid == header->pid && other->start_real_ns > header->start_real_ns &&
			other->start_real_ns < until_ns)
			until_ns = other->start_real_ns;
	}
	return until_ns;
}

/* May this user's files be believed of the image? */
static bool is_believed(const struct image *image, uid_t owner)
{
	struct stat status;
	if (owner == geteuid())
		return true;
	int trace = image->trace;
	if (trace < 0 && !image->file->packed)
		trace = bp_tree_open(image->tree, image->file, O_RDONLY);
	const bool same = trace >= 0 && fstat(trace, &status) == 0 && status.st_uid == owner;
	if (trace >= 0 && image->trace < 0)
		close(trace);
	return same;
}

/* Opens a file that is believed of the image; NULL: it is missing, or is not. */
static FILE *open_believed(const struct image *image, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	struct stat status;
	const int descriptor = open(path, flags);
	if (descriptor < 0)
		return NULL;
	FILE *in = NULL;
	if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
		is_believed(image, status.st_uid) &&
		modified_ns(&status) >= image->header->start_real_ns &&
		modified_ns(&status) < image->until_real_ns)
		in = fdopen(descriptor, "r");
	if (in == NULL)
		close(descriptor);
	return in;
}

static bool read_map(struct image *image)
{
	char path[64];
	snprintf(path, sizeof path, "/tmp/perf-%u.map", image->header->pid);
	FILE *in = open_believed(image, path);
	const bool good = in == NULL || bp_perf_map_read(in, &image->names, image->error);
	if (in != NULL)
		fclose(in);
	return good;
}

static bool read_dump(struct image *image, const char *path)
{
	const struct bp_trace_header *header = image->header;
	FILE *in = open_believed(image, path);
	const bool good =
		in == NULL || bp_jit_dump_read(in, header->pid, header->start_monotonic_ns,
				      &image->names, image->error);
	if (in != NULL)
		fclose(in);
	return good;
}

static bool read_dumps(struct image *image)
{
	const char *home = getenv("HOME");
	char name[PATH_MAX];
	glob_t found;
	snprintf(name, sizeof name, "/tmp/jit-%u.dump", image->header->pid);
	if (!read_dump(image, name) || !read_dump(image, name + strlen("/tmp/")))
		return false;
	if (home == NULL || *home != '/' || strpbrk(home, "*?[\\") != NULL ||
		snprintf(name, sizeof name, "%s/.debug/jit/*/jit-%u.dump", home,
			image->header->pid) >= (int)sizeof name ||
		glob(name, GLOB_NOSORT, NULL, &found) != 0)
		return true;
	bool good = true;
	for (size_t i = 0; good && i < found.gl_pathc; i++)
		good = read_dump(image, found.gl_pathv[i]);
	globfree(&found);
	return good;
}

/* Times become those of the machine, as reports have them (docs/trace-format.md 1.1). */
static void use_machine_clock(struct bp_jit_names *names, int64_t offset_ns)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (names->items[i].time_ns != 0)
			names->items[i].time_ns -= (uint64_t)offset_ns;
}

/* Of another namespace the number is another process's here. */
static bool has_our_number(const struct bp_trace_header *header)
{
	struct stat ours;
	return header->pid_namespace == 0 || stat("/proc/self/ns/pid", &ours) != 0 ||
	       header->pid_namespace == ours.st_ino;
}

/* Adds the process and what is found of it, if anything is. */
static bool add_image(struct image *image, struct bp_jit_file *names)
{
	const struct bp_trace_header *header = image->header;
	struct bp_jit_process *process = NULL;
	if (!has_our_number(header))
		return true;
	bool good = read_map(image) && read_dumps(image);
	if (good && image->names.count > 0) {
		process = bp_jit_file_add(names, header->trace_id, header->pid);
		good = process != NULL || bp_error_set(image->error, "out of memory");
	}
	if (process == NULL) {
		bp_jit_names_free(&image->names);
		return good;
	}
	use_machine_clock(&image->names, header->clock_offset_ns);
	process->names = image->names;
	return true;
}

bool bp_jit_maps_add_running(const struct bp_trace_header *header, int trace,
	struct bp_jit_file *names, struct bp_error *error)
{
	struct image image = {
		.header = header, .until_real_ns = UINT64_MAX, .trace = trace, .error = error
	};
	return add_image(&image, names);
}

bool bp_jit_maps_add(const struct bp_tree *tree, const struct bp_tree_file *file,
	struct bp_jit_file *names, struct bp_error *error)
{
	struct image image = { .header = &file->header,
		.until_real_ns = until_real_ns(tree, file),
		.trace = -1,
		.tree = tree,
		.file = file,
		.error = error };
	return add_image(&image, names);
}

bool bp_jit_maps_keep(const struct bp_tree *tree, struct bp_error *error)
{
	struct bp_jit_file kept = { .processes = NULL };
	char path[PATH_MAX + sizeof BP_JIT_SUFFIX];
	bool good = true;
	for (size_t i = 0; good && i < tree->count; i++)
		good = bp_jit_maps_add(tree, &tree->files[i], &kept, error);
	if (good && kept.count > 0) {
		snprintf(path, sizeof path, "%s" BP_JIT_SUFFIX, tree->file);
		good = bp_jit_file_write(path, &kept, error);
	}
	bp_jit_file_free(&kept);
	return good;
}
