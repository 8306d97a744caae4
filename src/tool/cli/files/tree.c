/* SPDX-License-Identifier: MIT */
/*
 * A process "still runs" if its state page does not say it ended, its pid lives, that pid is not a
 * later process that was given the same number (its start time tells), and no later image of the
 * same pid has a trace of its own (an exec that no hook saw). Before a file is cut, the kernel is
 * also asked whether anybody else holds it open or mapped for writing (a lease for writing is then
 * refused): cutting pages away under a writer would kill it, and a child that shares its parent's
 * memory can outlive it.
 *
 * FILE.d is opened once, without following a link, and its files are opened by that descriptor.
 * They are changed and removed only if it is a folder of ours that nobody else can write to:
 * whoever makes it before `run` does, as a link to another place, would otherwise choose what is
 * removed there.
 */
#include "cli/files/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/place.h"
#include "base/system_call.h"
#include "cli/files/trace_bytes.h"
#include "cli/files/tree_packed.h"
#include "cli/process/processes.h"
#include "fold/fold.h"
#include "trace/reader.h"

#define START_SLACK_NS 50000000 /* clock ticks of /proc are 10 ms */

bool bp_tree_is_trace(const char *name)
{
	const size_t length = strlen(name);
	return length > 4 && strcmp(name + length - 4, ".bpt") == 0;
}

/* When the living, non-zombie process `pid` began, by the machine's CLOCK_MONOTONIC; UINT64_MAX if
 * there is none. */
static uint64_t process_start_ns(uint32_t pid)
{
	struct bp_process_stat stat;
	if (!bp_process_stat_read((pid_t)pid, &stat) || stat.state == 'Z' || stat.state == 'X')
		return UINT64_MAX;
	/* Awake first, so that the difference is no less than 0. */
	const uint64_t awake_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	const uint64_t asleep_ns = bp_system_time_ns(CLOCK_BOOTTIME) - awake_ns;
	const uint64_t boot_ns = stat.start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return boot_ns > asleep_ns ? boot_ns - asleep_ns - bp_clock_offset_ns() : 0;
}

/* When an image began, by the machine's clock. */
static uint64_t start_of(const struct bp_trace_header *header)
{
	return bp_trace_machine_ns(header, header->start_monotonic_ns);
}

static uint64_t own_pid_namespace(void)
{
	struct stat status;
	return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

static bool process_lives(const struct bp_trace_header *header)
{
	uint64_t start_ns;
	/* A pid of another namespace means nothing here: the lease decides what may be cut, and
	 * such a process counts as running as long as somebody holds its file (see is_held). */
	if (header->pid_namespace != 0 && header->pid_namespace != own_pid_namespace())
		return false;
	start_ns = process_start_ns(header->pid);
	return start_ns != UINT64_MAX && start_ns <= start_of(header) + START_SLACK_NS;
}

struct bp_place bp_tree_place(const struct bp_tree *tree, const struct bp_tree_file *file)
{
	return (struct bp_place){ file->first ? AT_FDCWD : dirfd(tree->folder), file->path };
}

int bp_tree_open(const struct bp_tree *tree, const struct bp_tree_file *file, int flags)
{
	const struct bp_place place = bp_tree_place(tree, file);
	struct stat status;
	const int descriptor = bp_place_open(&place, flags);
	if (descriptor < 0)
		return -1;
	if (fstat(descriptor, &status) == 0 && status.st_dev == file->device &&
		status.st_ino == file->inode)
		return descriptor;
	close(descriptor);
	return -1;
}

/* Does anybody else hold the file open or mapped for writing? Errors other than a refusal (a file
 * system without leases, somebody else's file) are no answer, that is, no. */
static bool is_held(const struct bp_tree *tree, const struct bp_tree_file *file)
{
	bool held = false;
	int descriptor = bp_tree_open(tree, file, O_RDONLY);
	if (descriptor < 0)
		return false;
	if (fcntl(descriptor, F_SETLEASE, F_WRLCK) != 0)
		held = errno == EAGAIN;
	else
		fcntl(descriptor, F_SETLEASE, F_UNLCK);
	close(descriptor);
	return held;
}

static bool read_chunk_header(int descriptor, uint64_t number, struct bp_chunk_header *ret_header)
{
	return bp_trace_bytes_read(
		descriptor, ret_header, sizeof *ret_header, number * BP_CHUNK_BYTES);
}

static uint64_t chunks_written(const struct bp_tree_file *file)
{
	uint64_t in_file = (file->bytes + BP_CHUNK_BYTES - 1) / BP_CHUNK_BYTES;
	return file->state.chunks_reserved < in_file ? file->state.chunks_reserved : in_file;
}

/* Fills header and state; false if this is no trace of ours. */
static bool read_file(const struct bp_tree *tree, struct bp_tree_file *file)
{
	const struct bp_place place = bp_tree_place(tree, file);
	struct stat status;
	char program[512] = "";
	uint64_t length;
	bool good;
	int descriptor = bp_place_open(&place, O_RDONLY);
	if (descriptor < 0)
		return false;
	good = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
	       bp_trace_bytes_read(descriptor, &file->header, sizeof file->header, 0) &&
	       bp_trace_bytes_read(descriptor, &file->state, sizeof file->state, BP_STATE_OFFSET) &&
	       memcmp(file->header.magic, BP_TRACE_MAGIC, sizeof file->header.magic) == 0 &&
	       file->header.version_major == BP_TRACE_MAJOR &&
	       file->header.chunk_bytes == BP_CHUNK_BYTES;
	if (good) {
		file->device = status.st_dev;
		file->inode = status.st_ino;
		file->bytes = (uint64_t)status.st_size;
		file->disk_bytes = bp_fold_disk_bytes(file->path);
		length = file->header.program_length;
		if (length >= sizeof program)
			length = sizeof program - 1;
		good = bp_trace_bytes_read(descriptor, program, length, sizeof file->header) &&
		       (file->program = strndup(program, length)) != NULL;
	}
	close(descriptor);
	for (int reason = 0; reason < BP_LOSS_MAX; reason++)
		file->keeps_notes |= file->state.lost[reason] != 0;
	return good;
}

static void finish_file(struct bp_tree_file *file)
{
	free(file->path);
	free(file->program);
}

bool bp_tree_add(struct bp_tree *tree, const struct bp_tree_file *file, struct bp_error *error)
{
	if (tree->count == tree->capacity) {
		const size_t capacity = 2 * tree->capacity + 8;
		struct bp_tree_file *grown = realloc(tree->files, capacity * sizeof *grown);
		if (grown == NULL)
			return bp_error_set(error, "out of memory");
		tree->files = grown;
		tree->capacity = capacity;
	}
	tree->files[tree->count++] = *file;
	return true;
}

/* `path` is taken over. */
static bool add_file(struct bp_tree *tree, char *path, bool first, struct bp_error *error)
{
	struct bp_tree_file file = { .first = first, .path = path };
	if (path == NULL)
		return bp_error_set(error, "out of memory");
	file.name = bp_last_part(path);
	if (read_file(tree, &file) && bp_tree_add(tree, &file, error))
		return true;
	/* One that was packed meanwhile is found there. */
	tree->unreadable += access(path, F_OK) == 0;
	finish_file(&file);
	return error == NULL || error->text[0] == '\0';
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By process, and the images of one in their order. */
static int by_process(const void *a, const void *b)
{
	const struct bp_trace_header *left = &(*(struct bp_tree_file *const *)a)->header;
	const struct bp_trace_header *right = &(*(struct bp_tree_file *const *)b)->header;
	int order = compare(left->pid_namespace, right->pid_namespace);
	if (order == 0)
		order = compare(left->pid, right->pid);
	return order != 0 ? order : compare(start_of(left), start_of(right));
}

static bool may_run(const struct bp_tree *tree, const struct bp_tree_file *file)
{
	if (file->state.state == 1 || file->packed)
		return false;
	if (process_lives(&file->header))
		return true;
	return file->header.pid_namespace != own_pid_namespace() && is_held(tree, file);
}

/* Sets `running` everywhere. An image is over when a later one of the same process has a trace. */
static bool mark_running(struct bp_tree *tree, struct bp_error *error)
{
	struct bp_tree_file **order = malloc((tree->count + 1) * sizeof(struct bp_tree_file *));
	if (order == NULL)
		return bp_error_set(error, "out of memory");
	for (size_t i = 0; i < tree->count; i++)
		order[i] = &tree->files[i];
	qsort(order, tree->count, sizeof *order, by_process);
	const struct bp_trace_header *later = NULL; /* last image of the process of order[i] */
	for (size_t i = tree->count; i-- > 0;) {
		const struct bp_trace_header *header = &order[i]->header;
		if (later == NULL || later->pid != header->pid ||
			later->pid_namespace != header->pid_namespace)
			later = header;
		const bool last = start_of(later) == start_of(header);
		order[i]->running = last && may_run(tree, order[i]);
		order[i]->went_on = last && order[i]->state.state == 1 &&
				    order[i]->state.end_reason == BP_END_EXEC;
	}
	free(order);
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct bp_tree_file *left = a, *right = b;
	if (left->first != right->first)
		return left->first ? -1 : 1;
	const int order = compare(start_of(&left->header), start_of(&right->header));
	return order != 0 ? order : strcmp(left->name, right->name);
}

DIR *bp_tree_open_folder(const char *path)
{
	const int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = descriptor >= 0 ? fdopendir(descriptor) : NULL;
	if (folder == NULL && descriptor >= 0)
		close(descriptor);
	return folder;
}

/* Every *.bpt of FILE.d. */
static bool add_directory(struct bp_tree *tree, struct bp_error *error)
{
	struct dirent *entry;
	struct stat status;
	bool good = true;
	tree->has_directory = lstat(tree->directory, &status) == 0;
	tree->folder = bp_tree_open_folder(tree->directory);
	if (tree->folder == NULL)
		return true;
	while (good && (entry = readdir(tree->folder)) != NULL) {
		char *path = NULL;
		if (!bp_tree_is_trace(entry->d_name))
			continue;
		if (asprintf(&path, "%s/%s", tree->directory, entry->d_name) < 0)
			path = NULL;
		good = add_file(tree, path, false, error);
	}
	return good;
}

bool bp_tree_owns_folder(const struct bp_tree *tree)
{
	return tree->folder != NULL && bp_place_is_own_folder(dirfd(tree->folder));
}

bool bp_tree_is_over(const struct bp_tree *tree, const struct bp_tree_file *file)
{
	return !file->running && !process_lives(&file->header) && !is_held(tree, file);
}

static bool read_tree(
	const char *file, bool packed, struct bp_tree *ret_tree, struct bp_error *error)
{
	struct bp_tree tree = { 0 };
	if (strlen(file) + sizeof ".d/" BP_TREE_INDEX_TEMPORARY > sizeof tree.directory)
		return bp_error_set(error, "%s: path too long", file);
	strcpy(tree.file, file);
	snprintf(tree.directory, sizeof tree.directory, "%.*s.d", PATH_MAX - 3, file);
	bool good = add_file(&tree, strdup(file), true, error) && add_directory(&tree, error) &&
		    (!packed || bp_tree_add_packed(&tree, error));
	if (good && tree.count > 1)
		qsort(tree.files, tree.count, sizeof *tree.files, by_start);
	good = good && mark_running(&tree, error);
	if (!good) {
		bp_tree_finish(&tree);
		return false;
	}
	*ret_tree = tree;
	return true;
}

bool bp_tree_read(const char *file, struct bp_tree *ret_tree, struct bp_error *error)
{
	return read_tree(file, true, ret_tree, error);
}

bool bp_tree_read_files(const char *file, struct bp_tree *ret_tree, struct bp_error *error)
{
	return read_tree(file, false, ret_tree, error);
}

void bp_tree_finish(struct bp_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		finish_file(&tree->files[i]);
	free(tree->files);
	if (tree->folder != NULL)
		closedir(tree->folder);
	*tree = (struct bp_tree){ 0 };
}

/* Of upper limits: UINT64_MAX is none. */
static uint64_t add_high(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void bp_tree_sum(const struct bp_tree *tree, struct bp_tree_sums *ret_sums)
{
	struct bp_tree_sums sums = { .images = tree->count,
		.running = tree->untold,
		.bytes = tree->packed_bytes + tree->index_bytes };
	for (size_t i = 0; i < tree->count; i++) {
		const struct bp_tree_file *file = &tree->files[i];
		sums.samples += file->state.samples;
		sums.bytes += file->disk_bytes;
		sums.running += file->running;
		sums.trials_low += file->trials_low;
		sums.trials_high = add_high(sums.trials_high, file->trials_high);
		sums.objects_low += file->objects_low;
		sums.objects_high = add_high(sums.objects_high, file->objects_high);
		for (int reason = 0; reason < BP_LOSS_MAX; reason++)
			sums.lost[reason] += file->state.lost[reason];
		if (file->header.recognition == 0 && sums.unprofiled++ == 0) {
			sums.unprofiled_reason = file->header.unprofiled_reason;
			sums.unprofiled_program = file->program;
		}
	}
	*ret_sums = sums;
}

/* The length the file needs: up to the last chunk that was begun, and of that what is committed. */
static uint64_t written_bytes(const struct bp_tree_file *file, int descriptor)
{
	struct bp_chunk_header chunk;
	uint64_t chunks = chunks_written(file), committed;
	if (file->state.chunks_reserved == 0)
		return file->bytes; /* the state page was never reached: leave it alone */
	while (chunks > 1) {
		if (!read_chunk_header(descriptor, chunks - 1, &chunk))
			return file->bytes;
		if (chunk.magic == 0) {
			chunks--; /* handed out, never begun */
			continue;
		}
		if (chunk.magic != BP_CHUNK_MAGIC || chunk.kind != BP_CHUNK_RECORDS ||
			chunk.committed > BP_PAYLOAD_BYTES)
			break;
		committed = (sizeof chunk + chunk.committed + 7) & ~(uint64_t)7;
		return (chunks - 1) * BP_CHUNK_BYTES + committed;
	}
	return chunks * BP_CHUNK_BYTES;
}

/* May the file be changed? FILE's own name is the caller's choice; what lies in FILE.d is ours if
 * the folder is. */
static bool is_ours_to_change(const struct bp_tree *tree, const struct bp_tree_file *file)
{
	return !file->running && !file->packed && (file->first || bp_tree_owns_folder(tree)) &&
	       !is_held(tree, file);
}

void bp_tree_cut_tails(struct bp_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct bp_tree_file *file = &tree->files[i];
		uint64_t bytes;
		int descriptor;
		if (!is_ours_to_change(tree, file))
			continue;
		descriptor = bp_tree_open(tree, file, O_RDWR);
		if (descriptor < 0)
			continue;
		bytes = written_bytes(file, descriptor);
		if (bytes < file->bytes && ftruncate(descriptor, (off_t)bytes) == 0)
			file->bytes = bytes;
		close(descriptor);
	}
}

void bp_tree_note_end(struct bp_tree *tree, pid_t pid, uint64_t time_ns, int end_signal)
{
	struct bp_tree_file *last = NULL;
	for (size_t i = 0; i < tree->count; i++) {
		struct bp_tree_file *file = &tree->files[i];
		if (file->header.pid == (uint32_t)pid &&
			(last == NULL || start_of(&file->header) > start_of(&last->header)))
			last = file;
	}
	if (last == NULL || last->header.recognition == BP_RECOGNITION_NONE ||
		last->state.state != 0 || last->state.chunks_reserved == 0 ||
		!is_ours_to_change(tree, last))
		return;
	const int descriptor = bp_tree_open(tree, last, O_RDWR);
	if (descriptor < 0)
		return;
	const uint64_t own_ns = time_ns + last->header.clock_offset_ns;
	if (pwrite(descriptor, &own_ns, sizeof own_ns,
		    BP_STATE_OFFSET + offsetof(struct bp_trace_state, end_time_ns)) ==
		sizeof own_ns)
		last->state.end_time_ns = own_ns;
	const uint64_t number = (uint64_t)end_signal;
	if (pwrite(descriptor, &number, sizeof number,
		    BP_STATE_OFFSET + offsetof(struct bp_trace_state, end_signal)) == sizeof number)
		last->state.end_signal = number;
	close(descriptor);
}

bool bp_tree_has_control(const struct bp_tree_file *file)
{
	return (file->header.flags_skippable & BP_HEADER_DORMANT) != 0 ||
	       file->state.control >> BP_CONTROL_NUMBER_SHIFT != 0;
}
