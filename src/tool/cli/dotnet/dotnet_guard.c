/* SPDX-License-Identifier: MIT */
/*
 * It must not be noticed: a session of its own (no terminal's signals), nothing of the caller's
 * descriptors (a pipe held open would keep its reader waiting), no directory.
 */
#include "cli/dotnet/dotnet_guard.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/dotnet/dotnet_runtimes.h"

#define LOOKS_IN_VAIN_MAX 3 /* a program on the way to its exec is not seen for a moment */
#define PIECE_BYTES (64u << 10)

/* Does the environment that process was started with hold `text`? */
static bool carries(const char *pid, const char *text)
{
	static char piece[PIECE_BYTES];
	const size_t length = strlen(text);
	char path[64];
	size_t kept = 0;
	ssize_t got;
	bool found = false;
	snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (!found && (got = read(fd, piece + kept, sizeof piece - kept)) > 0) {
		const size_t all = kept + (size_t)got;
		found = memmem(piece, all, text, length) != NULL;
		kept = all < length - 1 ? all : length - 1;
		memmove(piece, piece + all - kept, kept);
	}
	close(fd);
	return found;
}

static bool somebody_carries(const char *text)
{
	struct dirent *entry;
	bool found = false;
	DIR *stream = opendir("/proc");
	while (!found && stream != NULL && (entry = readdir(stream)) != NULL)
		found = isdigit((unsigned char)entry->d_name[0]) && carries(entry->d_name, text);
	if (stream != NULL)
		closedir(stream);
	return found;
}

/* Everything closed but these two. */
static void become_unnoticed(int listener, int hold)
{
	struct rlimit limit = { .rlim_cur = 1024 };
	getrlimit(RLIMIT_NOFILE, &limit);
	const int last = limit.rlim_cur > 65536 ? 65536 : (int)limit.rlim_cur;
	const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < last; fd++)
		if (fd != listener && fd != hold && fd != nowhere)
			close(fd);
	for (int fd = 0; fd < 3; fd++)
		if (fd != listener && fd != hold && fd != nowhere)
			dup2(nowhere, fd);
	static const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTTIN, SIGTTOU };
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	setsid();
	(void)!chdir("/");
	prctl(PR_SET_NAME, "dotnet-guard");
}

/* Resumes whoever comes, while there may be somebody. */
static void stand_guard(const struct bp_dotnet_listener *listener)
{
	const struct timespec second = { .tv_sec = 1 };
	struct bp_dotnet_runtimes runtimes = { .listener = listener->fd };
	struct timespec looked = { 0 }, now;
	for (int in_vain = 0; in_vain < LOOKS_IN_VAIN_MAX;) {
		bp_dotnet_runtimes_wait(&runtimes, -1, &second, NULL);
		for (uint32_t i = 0; i < runtimes.count; i++) {
			struct bp_dotnet_connection *connection = &runtimes.connections[i];
			if (connection->known && !connection->commanded &&
				!bp_dotnet_is_resumed(&runtimes, connection->who.cookie))
				bp_dotnet_resume_one(connection);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec == looked.tv_sec)
			continue;
		looked = now;
		in_vain = somebody_carries(listener->path) ? 0 : in_vain + 1;
	}
	bp_dotnet_runtimes_finish(&runtimes);
}

/* Never returns. */
static void be_guard(struct bp_dotnet_listener listener, int hold)
{
	char dismissal;
	ssize_t got;
	become_unnoticed(listener.fd, hold);
	do
		got = read(hold, &dismissal, 1);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		_exit(0);
	stand_guard(&listener);
	bp_dotnet_listen_end(&listener);
	_exit(0);
}

bool bp_dotnet_guard_begin(const struct bp_dotnet_listener *listener,
	struct bp_dotnet_guard *ret_guard, struct bp_error *error)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return bp_error_set(error, "no pipe: %s", strerror(errno));
	fflush(NULL);
	const pid_t pid = fork();
	if (pid == 0)
		be_guard(*listener, ends[0]);
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return bp_error_set(error, "no process can be made: %s", strerror(errno));
	}
	*ret_guard = (struct bp_dotnet_guard){ .pid = pid, .hold = ends[1] };
	return true;
}

bool bp_dotnet_guard_end(struct bp_dotnet_guard *guard, const struct bp_dotnet_listener *listener)
{
	if (guard->pid == 0)
		return false;
	const bool needed = somebody_carries(listener->path);
	if (!needed && write(guard->hold, "", 1) == 1)
		while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
			;
	close(guard->hold);
	*guard = (struct bp_dotnet_guard){ 0 };
	return needed;
}
