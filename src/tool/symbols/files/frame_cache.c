/* SPDX-License-Identifier: MIT */
/*
 * A file is written whole under another name and then renamed, so that a reader sees an old one or
 * a new one; a writer that dies leaves a file of that other name, which goes when it is an hour
 * old. Writers take turns by a lock on the directory: each reads what is there by then and writes
 * both. Who cannot get the lock soon does not write: nothing is lost but time.
 *
 * The directory is found once and used by its descriptor. Other people's directories and files,
 * and those that others may write to, are left alone: under sudo, which may keep HOME, root neither
 * trusts nor fills the user's cache.
 *
 * A file's time is that of its last use; when all of them together are too large, the ones used
 * longest ago go.
 */
#include "symbols/files/frame_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"

#define CACHE_BYTES_MAX ((uint64_t)256 << 20)
/* What is left when that was too much: not every run is to make room again. */
#define CACHE_BYTES_KEPT ((uint64_t)192 << 20)
#define FILE_SUFFIX ".frames"
#define TEMPORARY_PREFIX ".new-"
#define TEMPORARY_SECONDS_MAX 3600
#define LOCK_TRIES 50
#define LOCK_WAIT_NS 20000000
/* Files looked at; somebody else must have filled a directory that holds more. */
#define FILES_MAX 100000u

/* Nobody else's, and not for others to write to. */
static bool is_ours(int fd, mode_t kind)
{
	struct stat status;
	return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == kind &&
	       status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Opens a directory below another, which is closed; makes it where it is missing. */
static int open_below(int above, const char *name)
{
	int fd = -1;
	if (mkdirat(above, name, S_IRWXU) == 0 || errno == EEXIST)
		fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	close(above);
	if (fd >= 0 && !is_ours(fd, S_IFDIR)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Makes it where it is missing, but in no other user's directory: under sudo, HOME may be the
 * user's, and a ~/.cache of root's would shut him out. */
static void make_cache(const char *path)
{
	char above[PATH_MAX];
	struct stat status;
	const char *slash = strrchr(path, '/');
	snprintf(above, sizeof above, "%.*s/", (int)(slash - path), path);
	if (stat(above, &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0))
		mkdir(path, S_IRWXU);
}

static int open_directory(void)
{
	static const char *const below[] = { "bytepoll", "symbols" };
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];
	int written = 0, fd = -1;
	if (cache != NULL && cache[0] == '/')
		written = snprintf(path, sizeof path, "%s", cache);
	else if (home != NULL && home[0] == '/')
		written = snprintf(path, sizeof path, "%s/.cache", home);
	if (written <= 0 || (size_t)written >= sizeof path)
		return -1;
	while (written > 1 && path[written - 1] == '/')
		path[--written] = '\0';
	make_cache(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !is_ours(fd, S_IFDIR)) {
		close(fd);
		return -1;
	}
	for (size_t i = 0; i < sizeof below / sizeof below[0] && fd >= 0; i++)
		fd = open_below(fd, below[i]);
	return fd;
}

static bool read_whole(int fd, char *data, uint64_t bytes)
{
	uint64_t done = 0;
	while (done < bytes) {
		ssize_t got = read(fd, data + done, bytes - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (uint64_t)got;
	}
	return true;
}

/* Reads the file of that name; an empty one where there is none that is good. */
static void read_file(const struct bp_frame_cache *cache, struct bp_frame_file *file)
{
	int fd = openat(cache->directory, cache->name,
		O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	char *image = NULL;
	*file = (struct bp_frame_file){ .image = NULL };
	if (fd < 0)
		return;
	if (is_ours(fd, S_IFREG) && fstat(fd, &status) == 0 && status.st_size > 0 &&
		status.st_size <= (off_t)BP_FRAME_FILE_BYTES_MAX)
		image = malloc((size_t)status.st_size);
	if (image != NULL && !read_whole(fd, image, (uint64_t)status.st_size)) {
		free(image);
		image = NULL;
	}
	if (image != NULL &&
		bp_frame_file_open(file, image, (uint64_t)status.st_size, cache->identity))
		futimens(fd, NULL); /* it was used */
	close(fd);
}

void bp_frame_cache_open(struct bp_frame_cache *cache, const char *build_id, uint64_t identity)
{
	size_t digits = strspn(build_id, "0123456789abcdef");
	*cache = (struct bp_frame_cache){ .directory = -1, .identity = identity };
	if (digits < 16 || digits > 128 || build_id[digits] != '\0')
		return;
	snprintf(cache->name, sizeof cache->name, "%s-%016" PRIx64 FILE_SUFFIX, build_id, identity);
	cache->directory = open_directory();
	if (cache->directory >= 0)
		read_file(cache, &cache->stored);
}

bool bp_frame_cache_find(const struct bp_frame_cache *cache, uint64_t address,
	struct bp_found_frame *frames, uint32_t *ret_count)
{
	return bp_frame_file_find(&cache->stored, address, frames, ret_count);
}

void bp_frame_cache_add(struct bp_frame_cache *cache, uint64_t address,
	const struct bp_found_frame *frames, uint32_t count)
{
	if (cache->directory >= 0)
		bp_frame_list_add(&cache->fresh, address, frames, count);
}

static bool lock(int directory)
{
	const struct timespec pause = { 0, LOCK_WAIT_NS };
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(directory, LOCK_EX | LOCK_NB) == 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Adds what another process has written since; as much of it as there is room for. */
static void add_stored(struct bp_frame_cache *cache)
{
	struct bp_found_frame frames[BP_FRAMES_MAX];
	uint32_t count = 0;
	bp_frame_file_close(&cache->stored);
	read_file(cache, &cache->stored);
	for (uint32_t i = 0; i < cache->stored.address_count; i++) {
		uint64_t address = cache->stored.addresses[i].address;
		if (!bp_frame_file_find(&cache->stored, address, frames, &count) ||
			!bp_frame_list_add(&cache->fresh, address, frames, count))
			break;
	}
}

static bool write_whole(int fd, const char *data, uint64_t bytes)
{
	uint64_t done = 0;
	while (done < bytes) {
		ssize_t put = write(fd, data + done, bytes - done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		done += (uint64_t)put;
	}
	return true;
}

static void write_file(const struct bp_frame_cache *cache, const void *image, uint64_t bytes)
{
	char name[64];
	int fd = -1;
	snprintf(name, sizeof name, TEMPORARY_PREFIX "%ld", (long)getpid());
	unlinkat(cache->directory, name, 0); /* of a dead process with our number */
	fd = openat(cache->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		S_IRUSR | S_IWUSR);
	if (fd < 0)
		return;
	const bool written = write_whole(fd, image, bytes);
	if (close(fd) != 0 || !written ||
		renameat(cache->directory, name, cache->directory, cache->name) != 0)
		unlinkat(cache->directory, name, 0);
}

struct kept_file {
	struct timespec used;
	uint64_t bytes;
	char name[NAME_MAX + 1];
};

struct kept_files {
	struct kept_file *data;
	uint32_t count, capacity;
	uint64_t bytes;
};

static int compare_use(const void *left, const void *right)
{
	const struct kept_file *a = left, *b = right;
	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	if (a->used.tv_nsec != b->used.tv_nsec)
		return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void look_at(int directory, const char *name, struct kept_files *files)
{
	size_t bytes = strlen(name), suffix = strlen(FILE_SUFFIX);
	struct stat status;
	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
		return;
	if (strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0) {
		if (time(NULL) - status.st_mtim.tv_sec > TEMPORARY_SECONDS_MAX)
			unlinkat(directory, name, 0);
		return;
	}
	if (bytes <= suffix || strcmp(name + bytes - suffix, FILE_SUFFIX) != 0 ||
		bytes > NAME_MAX || files->count >= FILES_MAX ||
		!bp_vec_reserve(
			&files->data, &files->capacity, files->count + 1u, sizeof *files->data))
		return;
	files->bytes += (uint64_t)status.st_blocks * 512;
	files->data[files->count].used = status.st_mtim;
	files->data[files->count].bytes = (uint64_t)status.st_blocks * 512;
	strcpy(files->data[files->count++].name, name);
}

/* Removes what was used longest ago while all together is too large. */
static void make_room(int directory)
{
	struct kept_files files = { .data = NULL };
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry = NULL;
	while (list != NULL && (entry = readdir(list)) != NULL)
		look_at(directory, entry->d_name, &files);
	if (files.bytes > CACHE_BYTES_MAX) {
		qsort(files.data, files.count, sizeof *files.data, compare_use);
		for (uint32_t i = 0; i < files.count && files.bytes > CACHE_BYTES_KEPT; i++) {
			unlinkat(directory, files.data[i].name, 0);
			files.bytes -= files.data[i].bytes;
		}
	}
	if (list != NULL)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	free(files.data);
}

void bp_frame_cache_save(struct bp_frame_cache *cache, bool stripped)
{
	uint64_t bytes = 0;
	void *image = NULL;
	if (cache->directory < 0 || cache->fresh.address_count == 0 || !lock(cache->directory))
		return;
	add_stored(cache);
	image = bp_frame_list_image(&cache->fresh, cache->identity, stripped, &bytes);
	if (image != NULL && bytes <= BP_FRAME_FILE_BYTES_MAX)
		write_file(cache, image, bytes);
	make_room(cache->directory);
	flock(cache->directory, LOCK_UN);
	free(image);
}

void bp_frame_cache_finish(struct bp_frame_cache *cache)
{
	bp_frame_file_close(&cache->stored);
	bp_frame_list_finish(&cache->fresh);
	if (cache->directory >= 0)
		close(cache->directory);
	*cache = (struct bp_frame_cache){ .directory = -1 };
}
