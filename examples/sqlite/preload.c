/* SPDX-License-Identifier: MIT */
/*
 * For programs that know nothing of it:
 *
 *	LD_PRELOAD=./libsqlite-sampled.so sqlite3 my.db < script.sql
 *
 * The trace is BYTEPOLL_HOST_OUTPUT, or bytepoll.<pid>.bpt; BYTEPOLL_INTERVAL, BYTEPOLL_SEED and
 * BYTEPOLL_START are those of every host (bp_host_settings). Statements are known from the trace callback of each
 * connection, which a program may take for itself; reports then say nothing of them. SQLite must be
 * a shared library.
 *
 * Nothing here may initialise SQLite before the program has configured it: so connections are met
 * where they are opened, and not by sqlite3_auto_extension.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "sampled_memory.h"

static int on_statement(unsigned event, void *context, void *statement, void *sql)
{
	(void)context, (void)statement;
	sampled_memory_statement(event == SQLITE_TRACE_STMT ? sql : NULL, "", 0);
	return 0;
}

static int met(int result, sqlite3 *base)
{
	if (result == SQLITE_OK)
		sqlite3_trace_v2(
			base, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, on_statement, NULL);
	return result;
}

int sqlite3_open(const char *name, sqlite3 **base)
{
	static int (*real)(const char *, sqlite3 **);
	if (real == NULL)
		real = (int (*)(const char *, sqlite3 **))dlsym(RTLD_NEXT, "sqlite3_open");
	const int result = real(name, base);
	return met(result, *base);
}

int sqlite3_open_v2(const char *name, sqlite3 **base, int flags, const char *vfs)
{
	static int (*real)(const char *, sqlite3 **, int, const char *);
	if (real == NULL)
		real = (int (*)(const char *, sqlite3 **, int, const char *))dlsym(
			RTLD_NEXT, "sqlite3_open_v2");
	const int result = real(name, base, flags, vfs);
	return met(result, *base);
}

__attribute__((constructor)) static void start(void)
{
	struct bp_host_options options = { 0 };
	char problem[BP_HOST_PROBLEM_BYTES];
	if (!bp_host_settings(&options, problem)) {
		fprintf(stderr, "libsqlite-sampled: %s\n", problem);
		return;
	}
	if (!sampled_memory_start(&options))
		fputs("libsqlite-sampled: SQLite was initialised before\n", stderr);
}

__attribute__((destructor)) static void stop(void)
{
	sampled_memory_stop();
}
