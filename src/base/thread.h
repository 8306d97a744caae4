/* SPDX-License-Identifier: MIT */
/*
 * Threads of the outside half that do a part of a call beside it. They end with that call, and take
 * none of the program's signals: libbytepoll may be called in a program that expects its own
 * threads to be interrupted, and no others. Not for the inside of a target.
 */
#ifndef BP_BASE_THREAD_H
#define BP_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* As pthread_create with default attributes; false: there is no thread. */
static inline bool bp_thread_start(pthread_t *thread, void *(*body)(void *), void *context)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool started = pthread_create(thread, NULL, body, context) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

#endif
