/* SPDX-License-Identifier: MIT */
/* See program_end.h. */
#include "cli/run/program_end.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define STATUS_SIGNAL 128 /* a shell's, should the signal not end us */

static int repeat_signal(int number)
{
	struct rlimit no_core = { 0, 0 };
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t only;
	fflush(NULL);
	setrlimit(RLIMIT_CORE, &no_core);
	sigaction(number, &plain, NULL);
	sigemptyset(&only);
	sigaddset(&only, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	return STATUS_SIGNAL + number;
}

int bp_program_end(int wait_status)
{
	return WIFSIGNALED(wait_status) ? repeat_signal(WTERMSIG(wait_status))
					: WEXITSTATUS(wait_status);
}
