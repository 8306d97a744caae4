/* SPDX-License-Identifier: MIT */
/*
 * Signals while a .NET program is recorded. While a started program runs, INT and QUIT are left to
 * it (the terminal sends them to it as well), TERM and HUP are passed on, as `bytepoll run` does
 * it; without one, or after its end, they are wishes to stop. What was ignored stays ignored
 * (nohup).
 */
#ifndef BP_CLI_DOTNET_DOTNET_SIGNALS_H
#define BP_CLI_DOTNET_DOTNET_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct bp_dotnet_signals {
	sigset_t found; /* the mask to wait with: between two waits all of them are blocked */
	struct sigaction actions[NSIG];
};

/* Before the fork: everything waits. */
void bp_dotnet_signals_hold(struct bp_dotnet_signals *signals);

/* As they were found: for the child before its exec, and for us in the end. */
void bp_dotnet_signals_restore(const struct bp_dotnet_signals *signals);

/* The program that has them; 0: there is none, or no longer. */
void bp_dotnet_signals_give_to(pid_t program);

/* Wishes to stop since the last call. */
bool bp_dotnet_signals_wish(void);

#endif
