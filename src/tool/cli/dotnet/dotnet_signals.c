/* SPDX-License-Identifier: MIT */
/* See dotnet_signals.h. */
#include "cli/dotnet/dotnet_signals.h"

#include <errno.h>
#include <stddef.h>

#include "base/attributes.h"

static const int watched[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGXFSZ };

static volatile sig_atomic_t wishes, wishes_seen;
static volatile pid_t program;

static void on_signal(int number)
{
	const int saved = errno;
	if (number == SIGCHLD)
		return; /* it has ended the wait, which was all */
	if (program == 0)
		wishes++;
	else if (number == SIGTERM || number == SIGHUP)
		kill(program, number);
	errno = saved;
}

void bp_dotnet_signals_hold(struct bp_dotnet_signals *signals)
{
	const struct sigaction ours = { .sa_handler = on_signal };
	const struct sigaction ignored = { .sa_handler = SIG_IGN };
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < BP_COUNT(watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, &signals->found);
	wishes = wishes_seen = 0;
	program = 0;
	for (size_t i = 0; i < BP_COUNT(watched); i++) {
		const int number = watched[i];
		sigaction(number, NULL, &signals->actions[number]);
		/* A child's end can be waited for only if SIGCHLD is not ignored. */
		if (number == SIGPIPE || number == SIGXFSZ)
			sigaction(number, &ignored, NULL);
		else if (number == SIGCHLD || signals->actions[number].sa_handler != SIG_IGN)
			sigaction(number, &ours, NULL);
	}
}

void bp_dotnet_signals_restore(const struct bp_dotnet_signals *signals)
{
	for (size_t i = 0; i < BP_COUNT(watched); i++)
		sigaction(watched[i], &signals->actions[watched[i]], NULL);
	sigprocmask(SIG_SETMASK, &signals->found, NULL);
}

void bp_dotnet_signals_give_to(pid_t pid)
{
	program = pid;
}

bool bp_dotnet_signals_wish(void)
{
	const bool wish = wishes != wishes_seen;
	wishes_seen = wishes;
	return wish;
}
