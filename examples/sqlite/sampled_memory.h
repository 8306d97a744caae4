/* SPDX-License-Identifier: MIT */
/*
 * SQLite's memory, sampled: a wrapper around whatever allocator SQLite is configured with, which
 * tells bytepoll what it samples and during which SQL statement. Reports by function are then by
 * statement.
 */
#ifndef EXAMPLES_SQLITE_SAMPLED_MEMORY_H
#define EXAMPLES_SQLITE_SAMPLED_MEMORY_H

#include <sqlite3.h>

#include <bytepoll/host.h>

/* Puts the wrapper in; before SQLite is initialised (sqlite3_config). `name`, `charge` and what is
 * counted are set here; `path` must stay. False: SQLite refused, and nothing was changed. The trace
 * is opened with the first allocation; where that fails a line on standard error says so, and
 * nothing is recorded. */
bool sampled_memory_start(const struct bp_host_options *options);

/* Ends the trace. The wrapper stays, and does nothing but pass on. No other thread may be in
 * SQLite. */
void sampled_memory_stop(void);

/* From now on the calling thread runs that statement; NULL: none. `file` and `line` say where it
 * stands, "" and 0 if that is not known. */
void sampled_memory_statement(const char *sql, const char *file, uint32_t line);

#endif
