/* SPDX-License-Identifier: MIT */
/*
 * What is asked of the terminal: alternate screen (?1049), cursor hidden (?25), no wrapping at the
 * right edge (?7), and each frame as one update (?2026, ignored where it is not known). Everything
 * a handler does is a write, a tcsetattr or a change of signals, all of which may be done there. A
 * line is erased before it is written: behind a full one the cursor stays on its last cell, which
 * erasing would take with it.
 *
 * The guard is forked before the terminal is taken. It ignores what the terminal's keys send, holds
 * the terminal and the reading end of a pipe and nothing else, and reads. A byte: all was given
 * back, it goes. The end of the pipe: the process is dead without having done so. Then it leaves
 * the alternate screen, and puts the modes back if they still are those that were set here: a shell
 * that was quicker keeps its own.
 */
#include "cli/live/live_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/system_call.h"

#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[?2026l\033[0m\033[?7h\033[?25h\033[?1049l"
#define ESCAPE_NS 50000000u /* what follows an ESC comes sooner than that, or it is the key */
#define SIGNAL_STACK_BYTES 65536

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGFPE,
	SIGILL, SIGXCPU };

static struct termios modes_before, modes_raw;
static volatile sig_atomic_t taken; /* the terminal is in our hands */
static volatile sig_atomic_t redraw;
static int guard_pipe = -1;
static pid_t guard;
static sigset_t mask_before; /* while waiting */

static void put(const char *text, size_t bytes)
{
	while (bytes > 0) {
		const ssize_t done = write(STDOUT_FILENO, text, bytes);
		if (done < 0 && errno != EINTR)
			return;
		text += done > 0 ? done : 0;
		bytes -= done > 0 ? (size_t)done : 0;
	}
}

static void take(void)
{
	/* From the background this stops us, until we are in the foreground. */
	while (tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_raw) != 0 && errno == EINTR)
		;
	put(ENTER, sizeof ENTER - 1);
	taken = 1;
	redraw = 1;
}

static void give_back(void)
{
	if (!taken)
		return;
	put(LEAVE, sizeof LEAVE - 1);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes_before);
	taken = 0;
}

/* The guard has nothing to do any more. */
static void dismiss_guard(void)
{
	if (guard_pipe < 0)
		return;
	const ssize_t put_bytes = write(guard_pipe, "q", 1);
	(void)put_bytes;
	close(guard_pipe);
	guard_pipe = -1;
}

static void raise_as_it_was(int signal_number)
{
	struct sigaction action = { 0 };
	sigset_t set;
	action.sa_handler = SIG_DFL;
	sigemptyset(&action.sa_mask);
	sigaction(signal_number, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	raise(signal_number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void on_end(int signal_number)
{
	sigset_t set;
	/* In the background changing modes would stop us. */
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, NULL);
	give_back();
	dismiss_guard();
	raise_as_it_was(signal_number);
}

static void handle(int signal_number, void (*handler)(int));

static void on_stop(int signal_number)
{
	const int error = errno;
	give_back();
	raise_as_it_was(signal_number); /* returns when continued */
	handle(SIGTSTP, on_stop);
	if (!taken)
		take();
	errno = error;
}

static void on_continue(int signal_number)
{
	const int error = errno;
	(void)signal_number;
	if (guard_pipe >= 0)
		take();
	errno = error;
}

static void on_resize(int signal_number)
{
	(void)signal_number;
	redraw = 1;
}

static void handle(int signal_number, void (*handler)(int))
{
	struct sigaction action = { .sa_flags = SA_ONSTACK };
	action.sa_handler = handler;
	/* One at a time: a second signal that ends waits until the first has. */
	sigfillset(&action.sa_mask);
	sigdelset(&action.sa_mask, SIGSEGV);
	sigdelset(&action.sa_mask, SIGTTOU);
	sigaction(signal_number, &action, NULL);
}

static void install_handlers(void)
{
	static char memory[SIGNAL_STACK_BYTES];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof memory };
	struct sigaction ignored;
	sigset_t resize;
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < BP_COUNT(ending_signals); i++) {
		/* nohup, and the like, are respected. */
		if (sigaction(ending_signals[i], NULL, &ignored) == 0 &&
			ignored.sa_handler == SIG_IGN)
			continue;
		handle(ending_signals[i], on_end);
	}
	handle(SIGTSTP, on_stop);
	handle(SIGCONT, on_continue);
	handle(SIGWINCH, on_resize);
	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	sigprocmask(SIG_BLOCK, &resize, &mask_before);
	sigdelset(&mask_before, SIGWINCH);
}

static bool modes_are_ours(void)
{
	struct termios now;
	return tcgetattr(STDIN_FILENO, &now) == 0 && now.c_lflag == modes_raw.c_lflag &&
	       now.c_iflag == modes_raw.c_iflag && now.c_oflag == modes_raw.c_oflag &&
	       memcmp(now.c_cc, modes_raw.c_cc, sizeof now.c_cc) == 0;
}

/* The life of the guard. */
static void stand_guard(int from)
{
	sigset_t none;
	char byte;
	sigemptyset(&none);
	ssize_t got;
	for (int i = 1; i < NSIG; i++)
		signal(i, i == SIGCHLD ? SIG_DFL : SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(from, 3);
	/* Nobody shall wait for the end of a pipe that only we hold. */
	if (isatty(STDERR_FILENO) != 1)
		dup2(STDOUT_FILENO, STDERR_FILENO);
	(void)syscall(__NR_close_range, 4, ~0u, 0); /* glibc 2.34 has a function for it */
	do
		got = read(3, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got <= 0) {
		if (modes_are_ours())
			tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
		put(LEAVE, sizeof LEAVE - 1);
	}
	_exit(0);
}

static bool start_guard(struct bp_error *error)
{
	sigset_t all, before;
	int ends[2];
	if (pipe(ends) != 0)
		return bp_error_set(error, "no pipe: %s", strerror(errno));
	/* What the terminal's keys send must not reach it before it ignores that. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	guard = fork();
	if (guard == 0) {
		close(ends[1]);
		stand_guard(ends[0]);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[0]);
	guard_pipe = ends[1];
	if (guard > 0)
		return true;
	close(ends[1]);
	guard_pipe = -1;
	return bp_error_set(error, "no process to watch over the terminal: %s", strerror(errno));
}

bool bp_live_screen_enter(struct bp_error *error)
{
	if (tcgetattr(STDIN_FILENO, &modes_before) != 0)
		return bp_error_set(error, "standard input is no terminal: %s", strerror(errno));
	modes_raw = modes_before;
	modes_raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | IGNCR | ISTRIP);
	modes_raw.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | IEXTEN);
	modes_raw.c_cc[VMIN] = 1;
	modes_raw.c_cc[VTIME] = 0;
	if (!start_guard(error))
		return false;
	install_handlers();
	take();
	return true;
}

void bp_live_screen_leave(void)
{
	give_back();
	dismiss_guard();
	if (guard > 0) {
		kill(guard, SIGCONT); /* should somebody have stopped it */
		waitpid(guard, NULL, 0);
	}
	guard = 0;
}

void bp_live_screen_size(unsigned *ret_columns, unsigned *ret_rows)
{
	struct winsize size = { 0 };
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		size = (struct winsize){ 0 };
	*ret_columns = size.ws_col > 0 ? size.ws_col : 80;
	*ret_rows = size.ws_row > 0 ? size.ws_row : 24;
}

bool bp_live_screen_draw(const char *frame, unsigned rows)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (out == NULL)
		return false;
	fputs("\033[?2026h", out);
	for (unsigned row = 1; row <= rows; row++) {
		const size_t length = strcspn(frame, "\n");
		fprintf(out, "\033[%u;1H\033[0m\033[K", row);
		fwrite(frame, 1, length, out);
		frame += length;
		frame += *frame == '\n';
	}
	fputs("\033[0m\033[?2026l", out);
	const bool good = fclose(out) == 0;
	redraw = 0;
	if (good)
		put(text, bytes);
	free(text);
	return good;
}

/* Reads what has come; false: the terminal hung up. */
static bool receive(struct bp_live_keys *keys)
{
	const ssize_t got =
		read(STDIN_FILENO, keys->bytes + keys->count, sizeof keys->bytes - keys->count);
	if (got > 0)
		keys->count += (size_t)got;
	return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

enum bp_live_event bp_live_screen_wait(
	struct bp_live_keys *keys, uint64_t timeout_ns, uint32_t *ret_key)
{
	const uint64_t end_ns = bp_system_time_ns(CLOCK_MONOTONIC) + timeout_ns;
	bool complete = false;
	for (;;) {
		if (redraw)
			return BP_LIVE_RESIZED;
		if (bp_live_keys_next(keys, complete, ret_key))
			return BP_LIVE_KEY;
		const uint64_t at_ns = bp_system_time_ns(CLOCK_MONOTONIC);
		uint64_t left_ns = end_ns > at_ns ? end_ns - at_ns : 0;
		if (keys->count > 0 && left_ns > ESCAPE_NS)
			left_ns = ESCAPE_NS;
		struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
		const struct timespec left = { (time_t)(left_ns / 1000000000u),
			(long)(left_ns % 1000000000u) };
		const int ready = ppoll(&input, 1, &left, &mask_before);
		if (ready > 0 && !receive(keys))
			return BP_LIVE_GONE;
		complete = ready == 0 && keys->count > 0;
		if (ready == 0 && keys->count == 0 && bp_system_time_ns(CLOCK_MONOTONIC) >= end_ns)
			return BP_LIVE_TIMEOUT;
	}
}
