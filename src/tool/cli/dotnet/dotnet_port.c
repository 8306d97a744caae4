/* SPDX-License-Identifier: MIT */
/* See dotnet_port.h. */
#include "cli/dotnet/dotnet_port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/process/processes.h"

#define ENVIRONMENT_BYTES (4u << 20)
#define NAMESPACES_MAX 33 /* the kernel nests 32 */

/* A small file of /proc; bytes read, -1: it cannot be. Terminated. */
static ssize_t read_proc(pid_t pid, const char *name, char *to, size_t capacity)
{
	char path[64];
	size_t length = 0;
	ssize_t got;
	snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (length + 1 < capacity && (got = read(fd, to + length, capacity - 1 - length)) > 0)
		length += (size_t)got;
	close(fd);
	to[length] = '\0';
	return (ssize_t)length;
}

/* Its pid in its own namespace: the last one of the line NSpid. */
static long own_pid(pid_t pid)
{
	uint64_t pids[NAMESPACES_MAX];
	const unsigned count = bp_process_status_of(pid, "NSpid", pids, NAMESPACES_MAX);
	return count > 0 ? (long)pids[count - 1] : pid;
}

/* The user as whom it runs; what /proc/PID belongs to would be root if it cannot be dumped. */
static bool user_of(pid_t pid, uid_t *ret_user)
{
	uint64_t users[2]; /* real, effective */
	if (bp_process_status_of(pid, "Uid", users, 2) != 2)
		return false;
	*ret_user = (uid_t)users[1];
	return true;
}

/* Its TMPDIR, or /tmp, in its own file system: it may be a container's. */
static void folder_of(pid_t pid, char *to, size_t capacity)
{
	char *environment = malloc(ENVIRONMENT_BYTES);
	const char *folder = "/tmp";
	ssize_t bytes = 0;
	if (environment != NULL)
		bytes = read_proc(pid, "environ", environment, ENVIRONMENT_BYTES);
	for (ssize_t at = 0; at < bytes; at += (ssize_t)strlen(environment + at) + 1)
		if (strncmp(environment + at, "TMPDIR=", 7) == 0 && environment[at + 7] != '\0')
			folder = environment + at + 7;
	if (*folder == '/')
		snprintf(to, capacity, "/proc/%ld/root%s", (long)pid, folder);
	else
		snprintf(to, capacity, "/proc/%ld/cwd/%s", (long)pid, folder);
	free(environment);
}

/* Paths of sockets are short; through a descriptor of its folder a long one fits all the same. */
static bool socket_address(const char *path, int *ret_folder, struct sockaddr_un *ret_address)
{
	char folder[PATH_MAX];
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	*ret_folder = -1;
	if (strlen(path) < sizeof ret_address->sun_path) {
		strcpy(ret_address->sun_path, path);
		return true;
	}
	snprintf(folder, sizeof folder, "%s", path);
	char *slash = strrchr(folder, '/');
	*slash = '\0';
	*ret_folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret_folder < 0)
		return false;
	const int length = snprintf(ret_address->sun_path, sizeof ret_address->sun_path,
		"/proc/self/fd/%d/%s", *ret_folder, slash + 1);
	return length > 0 && (size_t)length < sizeof ret_address->sun_path;
}

/* A connection to the socket at `path` if it is process `pid` that listens there: anybody may make
 * a file in a common folder. -1 with errno; EPERM: somebody else listens. Never waits: a process
 * that is stopped and has a full queue is EAGAIN. */
static int connect_to(const char *path, pid_t pid)
{
	struct sockaddr_un address;
	struct ucred peer;
	socklen_t length = sizeof peer;
	int folder = -1;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool good = fd >= 0 && socket_address(path, &folder, &address) &&
		    connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
		    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
	int reason = errno;
	if (good && peer.pid != pid) {
		good = false;
		reason = EPERM;
	}
	if (folder >= 0)
		close(folder);
	if (good)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = reason;
	return -1;
}

/* Whatever time of start its name has: in a time namespace of its own a process sees another
 * one. */
static int connect_by_pid(const char *folder, pid_t pid)
{
	char start[64], path[PATH_MAX];
	struct dirent *entry;
	int fd = -1;
	DIR *stream = opendir(folder);
	if (stream == NULL)
		return -1;
	snprintf(start, sizeof start, "dotnet-diagnostic-%ld-", own_pid(pid));
	while (fd < 0 && (entry = readdir(stream)) != NULL) {
		const size_t length = strlen(entry->d_name);
		if (strncmp(entry->d_name, start, strlen(start)) == 0 && length > 7 &&
			strcmp(entry->d_name + length - 7, "-socket") == 0 &&
			snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) <
				(int)sizeof path)
			fd = connect_to(path, pid);
	}
	closedir(stream);
	return fd;
}

/* By its name; false: there is no such process, or no such path. */
static bool socket_path(pid_t pid, const char *folder, char *to, size_t capacity)
{
	struct bp_process_stat stat;
	if (!bp_process_stat_read(pid, &stat))
		return false;
	const int length = snprintf(to, capacity, "%s/dotnet-diagnostic-%ld-%llu-socket", folder,
		own_pid(pid), stat.start_ticks);
	return length > 0 && (size_t)length < capacity;
}

bool bp_dotnet_port_exists(pid_t pid)
{
	char folder[PATH_MAX / 2], path[PATH_MAX];
	struct stat found;
	folder_of(pid, folder, sizeof folder);
	return socket_path(pid, folder, path, sizeof path) && stat(path, &found) == 0 &&
	       S_ISSOCK(found.st_mode);
}

int bp_dotnet_port_connect(pid_t pid, struct bp_error *error)
{
	char folder[PATH_MAX / 2], path[PATH_MAX];
	uid_t user;
	folder_of(pid, folder, sizeof folder);
	if (!user_of(pid, &user) || !socket_path(pid, folder, path, sizeof path)) {
		bp_error_set(error, "there is no process %ld", (long)pid);
		return -1;
	}
	if (user != geteuid() && geteuid() != 0) {
		bp_error_set(error,
			"process %ld belongs to another user (uid %u): only its owner and root can "
			"record it",
			(long)pid, user);
		return -1;
	}
	int fd = connect_to(path, pid);
	const int reason = errno;
	if (fd < 0)
		fd = connect_by_pid(folder, pid);
	if (fd >= 0)
		return fd;
	if (reason == ENOENT || reason == ECONNREFUSED)
		bp_error_set(error,
			"process %ld has no diagnostic port (%s): it is no .NET program, has "
			"DOTNET_EnableDiagnostics=0, or another TMPDIR",
			(long)pid, path);
	else
		bp_error_set(error, "%s: cannot be connected to: %s", path,
			reason == EAGAIN  ? "its queue is full: is it stopped?"
			: reason == EPERM ? "it belongs to another process"
					  : strerror(reason));
	return -1;
}

bool bp_dotnet_listen(struct bp_dotnet_listener *ret_listener, struct bp_error *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *base = getenv("TMPDIR");
	*ret_listener = (struct bp_dotnet_listener){ .fd = -1 };
	/* A long TMPDIR leaves no room in the address of a socket; the runtime's list of ports is
	 * taken apart at commas and semicolons. */
	if (base == NULL || *base != '/' || strlen(base) > sizeof address.sun_path - 32 ||
		strpbrk(base, ",;") != NULL)
		base = "/tmp";
	snprintf(ret_listener->folder, sizeof ret_listener->folder, "%s/bytepoll.XXXXXX", base);
	if (mkdtemp(ret_listener->folder) == NULL) {
		ret_listener->folder[0] = '\0';
		return bp_error_set(
			error, "%s: no folder for a socket can be made: %s", base, strerror(errno));
	}
	snprintf(address.sun_path, sizeof address.sun_path, "%.90s/port", ret_listener->folder);
	snprintf(ret_listener->path, sizeof ret_listener->path, "%s", address.sun_path);
	ret_listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ret_listener->fd >= 0 &&
		bind(ret_listener->fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
		listen(ret_listener->fd, SOMAXCONN) == 0)
		return true;
	bp_error_set(error, "%s: no socket can be made: %s", address.sun_path, strerror(errno));
	bp_dotnet_listen_end(ret_listener);
	return false;
}

void bp_dotnet_listen_end(struct bp_dotnet_listener *listener)
{
	if (listener->fd >= 0)
		close(listener->fd);
	if (listener->path[0] != '\0')
		unlink(listener->path);
	if (listener->folder[0] != '\0')
		rmdir(listener->folder);
	*listener = (struct bp_dotnet_listener){ .fd = -1 };
}
