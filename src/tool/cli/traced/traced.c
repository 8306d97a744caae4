/* SPDX-License-Identifier: MIT */
/*
 * From a process to its trace. The recorder keeps chunk 0 of its trace mapped, shared and writable,
 * for as long as the process image lives; /proc/PID/maps shows that mapping at offset 0 of its
 * file. (A fork that has not met its recorder yet has inherited the state page alone, which is not
 * at offset 0.)
 *
 * The path shown there is one of the process's own world: of another root directory, of another
 * mount namespace. So the file is opened through /proc/PID/root first, then by the path as it
 * stands, then through /proc/PID/map_files, which also finds a file that was removed but takes a
 * privilege. What was opened is the file mapped if device and inode agree. Stacked file systems
 * show others in one place than in the other: there the trace's random id is compared with the one
 * in the process's memory.
 */
#include "cli/traced/traced.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/process/processes.h"
#include "cli/traced/state_page.h"
#include "model/names/process_name.h"

/* A shared, writable mapping of the beginning of a file. */
struct mapping {
	uint64_t start, end;
	dev_t device;
	ino_t inode;
	char path[PATH_MAX]; /* as the process sees it */
};

/* In the maps of a process a newline in a path is written \012. */
static void unescape(char *path)
{
	char *newline;
	while ((newline = strstr(path, "\\012")) != NULL) {
		*newline = '\n';
		memmove(newline + 1, newline + 4, strlen(newline + 4) + 1);
	}
}

/* The next mapping that may be of a trace; false: no more. */
static bool next_mapping(FILE *maps, struct mapping *ret_mapping)
{
	static char line[PATH_MAX + 256];
	while (fgets(line, sizeof line, maps) != NULL) {
		unsigned long long inode;
		char permissions[5];
		uint64_t offset;
		unsigned major_number, minor_number;
		int at = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %llu %n",
			    &ret_mapping->start, &ret_mapping->end, permissions, &offset,
			    &major_number, &minor_number, &inode, &at) != 7 ||
			at == 0 || line[at] != '/' || offset != 0 ||
			strcmp(permissions, "rw-s") != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(ret_mapping->path, sizeof ret_mapping->path, "%.*s", PATH_MAX - 1,
			line + at);
		unescape(ret_mapping->path);
		ret_mapping->device = makedev(major_number, minor_number);
		ret_mapping->inode = (ino_t)inode;
		return true;
	}
	return false;
}

/* Does the memory of the process begin with that header at the mapping? */
static bool memory_agrees(
	pid_t pid, const struct mapping *mapping, const struct bp_trace_header *header)
{
	struct bp_trace_header there;
	struct iovec local = { &there, sizeof there };
	struct iovec remote = { (void *)(uintptr_t)mapping->start, sizeof there };
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof there &&
	       memcmp(there.trace_id, header->trace_id, sizeof there.trace_id) == 0;
}

/* Is this open file the one that is mapped? Within one file system the inode tells. */
static bool is_mapped(pid_t pid, const struct mapping *mapping, const struct stat *status,
	const struct bp_trace_header *header)
{
	if (status->st_dev == mapping->device)
		return status->st_ino == mapping->inode;
	return memory_agrees(pid, mapping, header);
}

/* Reads the header of an open file; false: it is no trace, or one that has not begun. */
static bool read_header(int descriptor, struct stat *ret_status, struct bp_trace_header *ret_header)
{
	return fstat(descriptor, ret_status) == 0 && S_ISREG(ret_status->st_mode) &&
	       ret_status->st_size >= (off_t)BP_CHUNK_BYTES &&
	       pread(descriptor, ret_header, sizeof *ret_header, 0) ==
		       (ssize_t)sizeof *ret_header &&
	       memcmp(ret_header->magic, BP_TRACE_MAGIC, sizeof ret_header->magic) == 0 &&
	       ret_header->version_major == BP_TRACE_MAJOR &&
	       ret_header->chunk_bytes == BP_CHUNK_BYTES;
}

static int open_flags(bool steer)
{
	return (steer ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
}

/* Opens a regular file and nothing else: to open a device is to act on it, and whoever owns the
 * process chooses what its names lead to. So the name is looked up without opening what is there,
 * and that very file is opened when it is known to be a regular one. */
static int open_regular(const char *path, bool steer, bool follow)
{
	char again[64];
	struct stat status;
	int descriptor = -1;
	const int found = open(path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	if (found < 0)
		return -1;
	snprintf(again, sizeof again, "/proc/self/fd/%d", found);
	if (fstat(found, &status) == 0 && S_ISREG(status.st_mode))
		descriptor = open(again, open_flags(steer));
	else
		errno = EINVAL;
	const int failure = errno;
	close(found);
	errno = failure;
	return descriptor;
}

/* Opens the file of a mapping by whichever way leads to it. -1: none did, or it is no trace;
 * `*ret_denied` becomes true if permission was what was missing. */
static int open_mapping(pid_t pid, const struct mapping *mapping, bool steer,
	struct bp_traced *ret_traced, bool *ret_denied)
{
	char paths[3][2 * PATH_MAX];
	const char *inside = bp_process_path_in_root(pid, mapping->path);
	snprintf(paths[0], sizeof paths[0], "/proc/%ld/root%s", (long)pid,
		inside != NULL ? inside : mapping->path);
	snprintf(paths[1], sizeof paths[1], "%s", mapping->path);
	snprintf(paths[2], sizeof paths[2], "/proc/%ld/map_files/%" PRIx64 "-%" PRIx64, (long)pid,
		mapping->start, mapping->end);
	for (int i = 0; i < 3; i++) {
		struct bp_trace_header header;
		struct stat status;
		/* The last one is a link by its nature, made by the kernel. */
		int descriptor = open_regular(paths[i], steer, i == 2);
		if (descriptor < 0) {
			*ret_denied |= errno == EACCES || errno == EROFS;
			continue;
		}
		if (read_header(descriptor, &status, &header) &&
			is_mapped(pid, mapping, &status, &header) &&
			strlen(paths[i]) < sizeof ret_traced->path) {
			strcpy(ret_traced->path, paths[i]);
			/* By its plain name if that is the same file. */
			struct stat plain;
			if (i == 0 && lstat(mapping->path, &plain) == 0 &&
				plain.st_dev == status.st_dev && plain.st_ino == status.st_ino)
				strcpy(ret_traced->path, mapping->path);
			ret_traced->header = header;
			return descriptor;
		}
		close(descriptor);
	}
	return -1;
}

static FILE *open_maps(pid_t pid)
{
	char name[64];
	snprintf(name, sizeof name, "/proc/%ld/maps", (long)pid);
	return fopen(name, "re");
}

/* Its owner or root, even where the file may be written by others. */
static bool may_steer(
	const struct stat *status, const char *path, bool steer, struct bp_error *error)
{
	if (!steer || geteuid() == 0 || status->st_uid == geteuid())
		return true;
	return bp_error_set(error, "%s belongs to another user: be its owner or root", path);
}

static bool has_ended(const char *path, uint64_t reason, struct bp_error *error)
{
	if (reason == BP_END_EXEC)
		return bp_error_set(error,
			"the process of %s has started another program in its place: its trace "
			"is in %s.d, which --tree looks through",
			path, path);
	return bp_error_set(error, "the process of %s has ended: bytepoll report shows it", path);
}

/* What must hold before anything is done with an open trace. */
static bool check(const struct bp_traced *traced, bool steer, struct bp_error *error)
{
	const struct bp_trace_header *header = &traced->header;
	struct stat status;
	if (header->version_minor < 2)
		return bp_error_set(error,
			"%s is written by a recorder of version %u.%u, which cannot be steered: "
			"start the program again by this bytepoll",
			traced->path, header->version_major, header->version_minor);
	if (header->recognition == BP_RECOGNITION_NONE)
		return bp_error_set(error,
			"process %ld runs unprofiled, so that there is nothing to control: "
			"bytepoll doctor %ld says why",
			(long)traced->pid, (long)traced->pid);
	if (header->recognition == BP_RECOGNITION_HOST && steer &&
		(header->flags_skippable & BP_HEADER_HOST_FOLLOWS) == 0)
		return bp_error_set(error,
			"%s is written by the program itself (bytepoll/host.h), and only it can be "
			"told to sample otherwise",
			traced->path);
	if (__atomic_load_n(&traced->state->state, __ATOMIC_ACQUIRE) == 1)
		return has_ended(traced->path, traced->state->end_reason, error);
	return fstat(traced->descriptor, &status) != 0 ||
	       may_steer(&status, traced->path, steer, error);
}

/* Program and name, from the strings behind the header, which may say anything. */
static void take_names(struct bp_traced *traced, int descriptor)
{
	char strings[BP_HEADER_MAX_BYTES + 1] = "", program[BP_HEADER_MAX_BYTES + 1];
	const struct bp_trace_header *header = &traced->header;
	size_t bytes = 0, length = (size_t)header->program_length + header->command_line_length;
	if (length > BP_HEADER_MAX_BYTES)
		length = BP_HEADER_MAX_BYTES;
	const ssize_t got = pread(descriptor, strings, length, sizeof *header);
	length = got > 0 ? (size_t)got : 0;
	const size_t cut = header->program_length < length ? header->program_length : length;
	snprintf(program, sizeof program, "%.*s", (int)cut, strings);
	char *words = strings + cut;
	for (length -= cut; length > 0 && words[length - 1] == '\0'; length--)
		;
	for (size_t i = 0; i < length; i++)
		words[i] = words[i] == '\0' ? ' ' : words[i];
	words[length] = '\0';
	const char *name = bp_process_name_from(words, program, &bytes);
	snprintf(traced->program, sizeof traced->program, "%.511s", program);
	snprintf(traced->name, sizeof traced->name, "%.*s", (int)bytes, name);
}

/* Takes over `descriptor`: the rest of a traced process whose path and header are known. */
static bool adopt(
	struct bp_traced *traced, int descriptor, pid_t pid, bool steer, struct bp_error *error)
{
	struct stat namespace;
	void *page = bp_state_page_map(descriptor, steer);
	if (page == NULL) {
		bp_error_set(error, "%s cannot be mapped: %s", traced->path, strerror(errno));
		close(descriptor);
		return false;
	}
	traced->state = page;
	traced->descriptor = descriptor;
	traced->pid = pid;
	traced->own_namespace = stat("/proc/self/ns/pid", &namespace) == 0 &&
				namespace.st_ino == traced->header.pid_namespace;
	take_names(traced, descriptor);
	if (check(traced, steer, error))
		return true;
	bp_traced_close(traced);
	return false;
}

static bool no_maps(pid_t pid, struct bp_error *error)
{
	if (errno == ENOENT || errno == ESRCH)
		return bp_error_set(error, "there is no process %ld", (long)pid);
	return bp_error_set(error, "process %ld cannot be looked at: %s: be its owner or root",
		(long)pid, strerror(errno));
}

/* The descriptor of the trace in one of the mappings, as open_mapping. One that a host writes (its
 * runtime may run under bytepoll, too) is taken if there is no other. */
static int find_trace(
	FILE *maps, pid_t pid, bool steer, struct bp_traced *ret_traced, bool *ret_denied)
{
	struct bp_traced traced = { .descriptor = -1 };
	struct mapping mapping;
	int of_host = -1;
	while (next_mapping(maps, &mapping)) {
		const int found = open_mapping(pid, &mapping, steer, &traced, ret_denied);
		if (found < 0)
			continue;
		const bool host = traced.header.recognition == BP_RECOGNITION_HOST;
		if (!host || of_host < 0)
			*ret_traced = traced;
		if (of_host >= 0)
			close(host ? found : of_host);
		if (!host)
			return found;
		of_host = of_host < 0 ? found : of_host;
	}
	return of_host;
}

bool bp_traced_open(pid_t pid, bool steer, struct bp_traced *ret_traced, struct bp_error *error)
{
	struct bp_traced traced = { .descriptor = -1 };
	bool denied = false;
	FILE *maps = open_maps(pid);
	if (maps == NULL)
		return no_maps(pid, error);
	errno = 0;
	const int descriptor = find_trace(maps, pid, steer, &traced, &denied);
	if (descriptor < 0 && ferror(maps))
		errno = errno != 0 ? errno : EACCES;
	bool unreadable = descriptor < 0 && ferror(maps);
	fclose(maps);
	if (unreadable)
		return no_maps(pid, error);
	if (descriptor < 0 && denied)
		return bp_error_set(error,
			"the trace of process %ld cannot be opened%s: be its owner or root",
			(long)pid, steer ? " for writing" : "");
	if (descriptor < 0)
		return bp_error_set(error,
			"process %ld has no trace open: it was not started under bytepoll, or "
			"could not write there: bytepoll attach %ld records it as it runs, bytepoll "
			"run --start-dormant from its start on",
			(long)pid, (long)pid);
	if (!adopt(&traced, descriptor, pid, steer, error))
		return false;
	*ret_traced = traced;
	return true;
}

/* Is the mapped file this one? On a stacked file system the path of the mapping must lead here,
 * too: a copy of the trace has the same id. */
static bool is_mapping_of(pid_t pid, const struct mapping *mapping, const struct stat *status,
	const struct bp_trace_header *header)
{
	char path[2 * PATH_MAX];
	struct stat there;
	if (!is_mapped(pid, mapping, status, header))
		return false;
	if (status->st_dev == mapping->device)
		return true;
	snprintf(path, sizeof path, "/proc/%ld/root%s", (long)pid, mapping->path);
	return lstat(path, &there) == 0 && there.st_dev == status->st_dev &&
	       there.st_ino == status->st_ino;
}

/* Has the process that file mapped? */
static bool maps_file(pid_t pid, const struct stat *status, const struct bp_trace_header *header)
{
	struct mapping mapping;
	bool found = false;
	FILE *maps = open_maps(pid);
	if (maps == NULL)
		return false;
	while (!found && next_mapping(maps, &mapping))
		found = is_mapping_of(pid, &mapping, status, header);
	fclose(maps);
	return found;
}

/* The process that has the file mapped; 0: none that we may look at. */
static pid_t process_of_file(const struct stat *status, const struct bp_trace_header *header)
{
	struct bp_processes processes;
	pid_t found = 0;
	if (maps_file((pid_t)header->pid, status, header))
		return (pid_t)header->pid;
	if (!bp_processes_read(&processes, NULL))
		return 0;
	for (uint32_t i = 0; found == 0 && i < processes.count; i++)
		if (maps_file(processes.items[i].pid, status, header))
			found = processes.items[i].pid;
	bp_processes_finish(&processes);
	return found;
}

bool bp_traced_open_file(
	const char *path, bool steer, struct bp_traced *ret_traced, struct bp_error *error)
{
	struct bp_traced traced = { .descriptor = -1 };
	struct bp_trace_state state;
	struct stat status;
	int descriptor = open_regular(path, steer, false);
	if (descriptor < 0 && errno == EINVAL)
		return bp_error_set(error, "%s is no trace of bytepoll", path);
	if (descriptor < 0 && errno == ENOENT)
		return bp_error_set(error, "%s: no such file, and no process id", path);
	if (descriptor < 0)
		return bp_error_set(error, "%s cannot be opened%s: %s%s", path,
			steer ? " for writing" : "", strerror(errno),
			errno == EACCES ? ": be its owner or root" : "");
	if (strlen(path) >= sizeof traced.path ||
		!read_header(descriptor, &status, &traced.header)) {
		close(descriptor);
		return bp_error_set(error, "%s is no trace of bytepoll", path);
	}
	strcpy(traced.path, path);
	if (!may_steer(&status, path, steer, error)) {
		close(descriptor);
		return false;
	}
	pid_t pid = process_of_file(&status, &traced.header);
	bool ended =
		pread(descriptor, &state, sizeof state, BP_STATE_OFFSET) == (ssize_t)sizeof state &&
		state.state == 1;
	if (pid == 0) {
		close(descriptor);
		if (ended)
			return has_ended(path, state.end_reason, error);
		return bp_error_set(error,
			"no process writes to %s: it was killed, is another user's, or this is a "
			"copy",
			path);
	}
	if (!adopt(&traced, descriptor, pid, steer, error))
		return false;
	*ret_traced = traced;
	return true;
}

void bp_traced_close(struct bp_traced *traced)
{
	if (traced->state == NULL)
		return;
	bp_state_page_unmap(traced->state);
	close(traced->descriptor);
	*traced = (struct bp_traced){ .descriptor = -1 };
}

bool bp_traced_is_cut(const struct bp_traced *traced)
{
	struct bp_trace_header header;
	struct stat status;
	return bp_state_page_is_cut(traced->state) ||
	       !read_header(traced->descriptor, &status, &header) ||
	       memcmp(header.trace_id, traced->header.trace_id, sizeof header.trace_id) != 0;
}

bool bp_traced_runs(const struct bp_traced *traced)
{
	struct stat status;
	return !bp_traced_is_cut(traced) &&
	       __atomic_load_n(&traced->state->state, __ATOMIC_ACQUIRE) != 1 &&
	       fstat(traced->descriptor, &status) == 0 &&
	       maps_file(traced->pid, &status, &traced->header);
}
