/* SPDX-License-Identifier: MIT */
/*
 * The pager is a child that reads a pipe. While it runs, INT and QUIT of the terminal are for it
 * alone: a bytepoll that died of them would leave it, and the terminal's settings, to themselves.
 * Writing to a pager that has ended fails with EPIPE, which is no error: the user who quit the
 * pager has seen enough.
 *
 * less gets F (end at once if all fits on the screen), R (colours) and X (leave it on the screen).
 * Where LESS has the user's own options it gets R before them: without it escape sequences are
 * shown as text.
 *
 * Whether the program is there is asked before anything is written to it, of PATH and then of the
 * shell, which knows its own words. Where it is not, the terminal gets the text, and a line on
 * stderr behind it.
 */
#include "cli/terminal/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli/options/options.h"
#include "cli/terminal/terminal.h"

#define STATUS_NOT_EXECUTABLE 126 /* of a shell, as 127: not found */

static struct {
	pid_t pid;    /* 0: none */
	int terminal; /* what standard output was */
	bool chosen;  /* by PAGER, not our own choice */
	bool absent;  /* what PAGER names is not there; said at the end */
	bool has_modes;
	struct termios modes; /* of the terminal, before */
	struct sigaction interrupt, quit, pipe;
} pager;

static bool is_program(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Is there a program of this name to start? */
static bool is_in_path(const char *name)
{
	const char *at = getenv("PATH");
	char path[4096];
	while (at != NULL && *at != '\0') {
		const size_t length = strcspn(at, ":");
		const int written = snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
		if (length > 0 && written > 0 && (size_t)written < sizeof path && is_program(path))
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

/* A builtin, a keyword, or found where we did not look? */
static bool shell_knows(char *word)
{
	char shell[] = "sh", option[] = "-c", script[] = "command -v -- \"$1\"";
	char *const arguments[] = { shell, option, script, shell, word, NULL };
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t child;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return true;
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
	const bool started =
		posix_spawn(&child, "/bin/sh", &actions, NULL, arguments, environ) == 0;
	posix_spawn_file_actions_destroy(&actions);
	while (started && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return !started || status == 0;
}

/* Can the shell start this? Only of a command that begins with a plain word is that known
 * before. */
static bool can_start(const char *command)
{
	char word[4096];
	command += strspn(command, " \t\n");
	const size_t length = strcspn(command, " \t\n");
	if (length == 0 || length >= sizeof word ||
		strcspn(command, "|&;<>()$`\\\"'*?[#~=%!{}") < length)
		return true;
	snprintf(word, sizeof word, "%.*s", (int)length, command);
	if (strchr(word, '/') != NULL)
		return is_program(word);
	return is_in_path(word) || shell_knows(word);
}

/* The options of less, the user's own last, which so have the last word. */
static void set_options_of_less(void)
{
	const char *own = getenv("LESS");
	char options[4096];
	if (own == NULL)
		setenv("LESS", "FRX", 1);
	else if (snprintf(options, sizeof options, "-R %s", own) < (int)sizeof options)
		setenv("LESS", options, 1);
}

/* The child. Never returns. */
static void become_pager(const char *command, int from)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigaction(SIGPIPE, &plain, NULL);
	dup2(from, STDIN_FILENO);
	set_options_of_less();
	setenv("LV", "-c", 0);
	if (command != NULL)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	else
		execlp("less", "less", (char *)NULL);
	_exit(STATUS_NOT_EXECUTABLE);
}

static void hold_signals(void)
{
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	sigaction(SIGINT, &ignored, &pager.interrupt);
	sigaction(SIGQUIT, &ignored, &pager.quit);
	sigaction(SIGPIPE, &ignored, &pager.pipe);
}

static void begin(void)
{
	const char *command = getenv("PAGER");
	int ends[2];
	if (pager.pid != 0 || !isatty(STDOUT_FILENO) || bp_terminal_is_dumb())
		return;
	if (command != NULL && (*command == '\0' || strcmp(command, "cat") == 0))
		return;
	if (command == NULL && !is_in_path("less"))
		return;
	pager.absent = command != NULL && !can_start(command);
	if (pager.absent)
		return;
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	pager.terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	pager.chosen = command != NULL;
	pager.has_modes = tcgetattr(STDOUT_FILENO, &pager.modes) == 0;
	pager.pid = pager.terminal >= 0 ? fork() : -1;
	if (pager.pid == 0)
		become_pager(command, ends[0]);
	close(ends[0]);
	if (pager.pid < 0) {
		if (pager.terminal >= 0)
			close(pager.terminal);
		pager.pid = 0;
	} else {
		hold_signals();
		dup2(ends[1], STDOUT_FILENO);
	}
	close(ends[1]);
}

void bp_pager_begin_unless(const struct bp_arguments *arguments)
{
	if (!bp_option_given(arguments, "no-pager"))
		begin();
}

bool bp_pager_end(struct bp_error *error)
{
	int status = 0;
	if (pager.absent) {
		pager.absent = false;
		bp_command_fail_with(0,
			"the pager %.500s cannot be started: set PAGER, or use --no-pager",
			getenv("PAGER"));
	}
	if (pager.pid == 0)
		return true;
	fflush(stdout);
	clearerr(stdout);
	dup2(pager.terminal, STDOUT_FILENO); /* and the pipe is closed */
	close(pager.terminal);
	while (waitpid(pager.pid, &status, 0) < 0 && errno == EINTR)
		;
	pager.pid = 0;
	if (WIFSIGNALED(status) && pager.has_modes && tcgetpgrp(STDOUT_FILENO) == getpgrp())
		tcsetattr(STDOUT_FILENO, TCSADRAIN, &pager.modes); /* it could not */
	sigaction(SIGINT, &pager.interrupt, NULL);
	sigaction(SIGQUIT, &pager.quit, NULL);
	sigaction(SIGPIPE, &pager.pipe, NULL);
	if (!WIFEXITED(status) || WEXITSTATUS(status) < STATUS_NOT_EXECUTABLE)
		return true;
	return bp_error_set(error, "the pager %s cannot be started: set PAGER, or use --no-pager",
		pager.chosen ? getenv("PAGER") : "less");
}
