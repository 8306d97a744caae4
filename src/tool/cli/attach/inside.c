/* SPDX-License-Identifier: MIT */
/*
 * See inside.h. The process, and whoever shares its file systems, may change them at any moment and
 * may want us, who are often root, to write elsewhere or to load something else into the process.
 * So each folder is opened from its parent without following a link, and its owner and mode are
 * read from the descriptor. A file is made under a random name and then linked to its own, which
 * fails where that name is there.
 *
 * Files are made with the ids of DIR's owner: in a user namespace root of the machine may have no
 * id, and can then create nothing.
 */
#include "cli/attach/inside.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/process/processes.h"
#include "cli/process/recorder_file.h"
#include "trace/format.h"

#define NAME_BYTES 192u

bool bp_inside_is_elsewhere(pid_t pid)
{
	return bp_process_is_elsewhere(pid, "ns/mnt") || bp_process_is_elsewhere(pid, "root");
}

int bp_inside_root(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/root", (long)pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* What is asked of each folder on the way; NULL: nothing. Returns an errno. */
typedef int look_at_folder(int folder, const struct bp_inside *inside);

/* Opens the folder `name` in `parent`. A symbolic link is ELOOP. */
static int step(int parent, const char *name)
{
	struct stat status;
	if (strcmp(name, "..") == 0) {
		errno = EINVAL;
		return -1;
	}
	const int next = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -1;
	if (fstat(next, &status) == 0 && S_ISDIR(status.st_mode))
		return next;
	close(next);
	errno = S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
	return -1;
}

/* The folder at the first `length` bytes of `path`. */
static int walk(int root, const char *path, size_t length, look_at_folder *look,
	const struct bp_inside *inside)
{
	char names[PATH_MAX], *rest = names;
	if (path[0] != '/' || length >= sizeof names) {
		errno = EINVAL;
		return -1;
	}
	memcpy(names, path, length);
	names[length] = '\0';
	int folder = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (char *name; folder >= 0 && (name = strtok_r(rest, "/", &rest)) != NULL;) {
		const int failure = look != NULL ? look(folder, inside) : 0;
		const int next = failure == 0 ? step(folder, name) : -1;
		const int saved = failure != 0 ? failure : errno;
		close(folder);
		errno = saved;
		folder = next;
	}
	return folder;
}

int bp_inside_folder_of(int root, const char *path)
{
	const char *slash = strrchr(path, '/');
	return walk(root, path, slash != NULL ? (size_t)(slash - path) : 0, NULL, NULL);
}

/* To open a device is to act on it, so what is there is looked at first. */
static int open_regular(int folder, const char *name)
{
	struct stat status;
	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	const int file =
		S_ISREG(status.st_mode)
			? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			: -1;
	if (file < 0 && !S_ISREG(status.st_mode))
		errno = S_ISLNK(status.st_mode) ? ELOOP : EINVAL;
	return file;
}

int bp_inside_file(int root, const char *path)
{
	const int folder = bp_inside_folder_of(root, path);
	if (folder < 0)
		return -1;
	const int file = open_regular(folder, strrchr(path, '/') + 1);
	const int saved = errno;
	close(folder);
	errno = saved;
	return file;
}

/* ---- DIR ---- */

static bool belongs(const struct stat *status, const struct bp_inside *inside)
{
	return status->st_uid == 0 || status->st_uid == inside->user;
}

static bool others_may_write(const struct stat *status)
{
	return (status->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/* Could somebody else than root and the process's user put another file in the place of ours? */
static int is_trusted(int folder, const struct bp_inside *inside)
{
	struct stat status;
	if (fstat(folder, &status) != 0)
		return errno;
	const bool sticky = (status.st_mode & S_ISVTX) != 0;
	return belongs(&status, inside) && (sticky || !others_may_write(&status)) ? 0 : EPERM;
}

static bool open_directory(struct bp_inside *inside, struct bp_error *error)
{
	struct statvfs system;
	const int root = bp_inside_root(inside->pid);
	int failure = errno;
	if (root >= 0) {
		inside->directory =
			walk(root, inside->folder, strlen(inside->folder), is_trusted, inside);
		failure = inside->directory < 0 ? errno : is_trusted(inside->directory, inside);
		close(root);
	}
	if (failure == EPERM && root >= 0)
		return bp_error_set(error,
			"--copy-recorder %s: it or a folder above it belongs to another user than "
			"root and that of process %ld, or others may write there",
			inside->folder, (long)inside->pid);
	if (failure == ELOOP)
		return bp_error_set(error,
			"--copy-recorder %s: there is a symbolic link in this path, and none is "
			"followed",
			inside->folder);
	if (inside->directory < 0)
		return bp_error_set(error,
			"--copy-recorder %s: process %ld has no such folder (an absolute path as "
			"the process has it, without ..): %s",
			inside->folder, (long)inside->pid, strerror(failure));
	if (fstatvfs(inside->directory, &system) == 0 && (system.f_flag & ST_NOEXEC) != 0)
		return bp_error_set(error,
			"--copy-recorder %s: it is mounted noexec, so no library is loaded from "
			"there",
			inside->folder);
	return true;
}

/* ---- the copy ---- */

static bool set_build_id(int recorder, char *ret_name, size_t capacity)
{
	const void *bytes;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(recorder, ELF_C_READ, NULL);
	const ssize_t count = elf != NULL ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
	for (ssize_t i = 0; i < count && (size_t)(2 * i + 3) < capacity; i++)
		snprintf(ret_name + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
	elf_end(elf);
	return count > 0;
}

static bool set_random(char ret_text[17])
{
	uint64_t number;
	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return false;
	snprintf(ret_text, 17, "%016llx", (unsigned long long)number);
	return true;
}

/* Those with which files are looked up and made, as they were before. */
struct ids {
	int user, group;
};

static struct ids become_owner(int directory)
{
	struct stat status = { 0 };
	(void)fstat(directory, &status);
	/* (The group first: root alone may change it.) */
	const int group = setfsgid(status.st_gid);
	return (struct ids){ setfsuid(status.st_uid), group };
}

static void become_again(struct ids ids)
{
	setfsuid((uid_t)ids.user);
	setfsgid((gid_t)ids.group);
}

static int create_file(int directory, const char *name)
{
	const struct ids ids = become_owner(directory);
	const int file =
		openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	const int saved = errno;
	become_again(ids);
	errno = saved;
	return file;
}

static void remove_file(int directory, const char *path)
{
	const struct ids ids = become_owner(directory);
	const char *slash = strrchr(path, '/');
	(void)unlinkat(directory, slash != NULL ? slash + 1 : path, 0);
	become_again(ids);
}

static bool write_all(int file, const char *bytes, size_t count)
{
	while (count > 0) {
		const ssize_t written = write(file, bytes, count);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes += written;
		count -= (size_t)written;
	}
	return true;
}

static bool copy_bytes(int from, int file)
{
	char bytes[65536];
	ssize_t count;
	if (lseek(from, 0, SEEK_SET) != 0)
		return false;
	while ((count = read(from, bytes, sizeof bytes)) > 0)
		if (!write_all(file, bytes, (size_t)count))
			return false;
	return count == 0 && fchmod(file, 0644) == 0;
}

static bool has_same_bytes(int a, int b)
{
	char of_a[16384], of_b[16384];
	off_t at = 0;
	for (;;) {
		const ssize_t count = pread(a, of_a, sizeof of_a, at);
		const ssize_t other = pread(b, of_b, sizeof of_b, at);
		if (count < 0 || count != other || memcmp(of_a, of_b, (size_t)count) != 0)
			return false;
		if (count == 0)
			return true;
		at += count;
	}
}

/* May the file that has our name be loaded? */
static bool is_copy(const struct bp_inside *inside, int recorder, const char *name)
{
	struct stat status;
	const int file = open_regular(inside->directory, name);
	const bool good = file >= 0 && fstat(file, &status) == 0 && belongs(&status, inside) &&
			  !others_may_write(&status) &&
			  ((status.st_mode & S_IROTH) != 0 || status.st_uid == inside->user) &&
			  has_same_bytes(recorder, file);
	if (file >= 0)
		close(file);
	return good;
}

/* Returns an errno; EEXIST: the name is there. */
static int make_copy(struct bp_inside *inside, int recorder, const char *name)
{
	char random[17], hidden[32];
	if (!set_random(random))
		return errno;
	snprintf(hidden, sizeof hidden, ".%s", random);
	const int file = create_file(inside->directory, hidden);
	if (file < 0)
		return errno;
	int failure = copy_bytes(recorder, file) ? 0 : errno;
	if (close(file) != 0 && failure == 0)
		failure = errno;
	if (failure == 0) {
		const struct ids ids = become_owner(inside->directory);
		failure = linkat(inside->directory, hidden, inside->directory, name, 0) == 0
				  ? 0
				  : errno;
		become_again(ids);
	}
	remove_file(inside->directory, hidden);
	inside->made = failure == 0;
	return failure;
}

static bool copy(struct bp_inside *inside, int recorder, struct bp_error *error)
{
	struct stat status = { 0 };
	char id[NAME_BYTES / 2] = "", name[NAME_BYTES], random[18] = "";
	if (!set_build_id(recorder, id, sizeof id))
		return bp_error_set(error, "the recorder has no build-id: build it with one");
	(void)fstat(inside->directory, &status);
	if (others_may_write(&status)) {
		random[0] = '-';
		if (!set_random(random + 1))
			return bp_error_set(
				error, "there are no random bytes: %s", strerror(errno));
	}
	snprintf(name, sizeof name, BP_RECORDER_COPY "%s%s.so", id, random);
	const int length =
		snprintf(inside->recorder, sizeof inside->recorder, "%s/%s", inside->folder, name);
	if (length < 0 || (size_t)length >= sizeof inside->recorder)
		return bp_error_set(error, "the path of --copy-recorder is too long");
	const int failure = make_copy(inside, recorder, name);
	if (failure == 0 || (failure == EEXIST && is_copy(inside, recorder, name)))
		return true;
	if (failure == EEXIST)
		return bp_error_set(error,
			"%s is there already, and is not the recorder, or others may write it: "
			"remove it, or choose another folder",
			inside->recorder);
	return bp_error_set(error, "%s cannot be made for process %ld: %s", inside->recorder,
		(long)inside->pid, strerror(failure));
}

bool bp_inside_copy(struct bp_inside *inside, struct bp_error *error)
{
	char path[PATH_MAX];
	inside->directory = -1;
	if (!bp_recorder_file_find(BP_RECORDER_FILE, path, sizeof path, error) ||
		!open_directory(inside, error))
		return false;
	const int recorder = open(path, O_RDONLY | O_CLOEXEC);
	if (recorder < 0)
		return bp_error_set(error, "%s: %s", path, strerror(errno));
	const bool good = copy(inside, recorder, error);
	close(recorder);
	return good;
}

int bp_inside_make_settings(struct bp_inside *inside, struct bp_error *error)
{
	char random[17], name[64];
	if (!set_random(random)) {
		(void)bp_error_set(error, "there are no random bytes: %s", strerror(errno));
		return -1;
	}
	snprintf(name, sizeof name, "bytepoll-attach-%ld-%s", (long)inside->pid, random);
	const int file = create_file(inside->directory, name);
	if (file < 0)
		(void)bp_error_set(error, "no file can be made in %s of process %ld: %s",
			inside->folder, (long)inside->pid, strerror(errno));
	else /* (The copy's path is longer, and had room.) */
		snprintf(inside->settings, sizeof inside->settings, "%.*s/%s",
			(int)(sizeof inside->settings - sizeof name - 1), inside->folder, name);
	return file;
}

void bp_inside_finish(struct bp_inside *inside, bool loaded)
{
	if (inside->directory < 0)
		return;
	if (inside->settings[0] != '\0')
		remove_file(inside->directory, inside->settings);
	if (inside->made && !loaded)
		remove_file(inside->directory, inside->recorder);
	close(inside->directory);
	inside->directory = -1;
}
