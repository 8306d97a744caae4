/* SPDX-License-Identifier: MIT */
/*
 * The lock that keeps readers and folders of a trace apart (docs/trace-format.md, section 5). Whoever can read a
 * file can lock it, and need not give the lock back: so it is waited for in bounded time, and who cannot have it
 * does without or fails. Used by the reader, by fold/ and by snapshots; thread-safe.
 */
#ifndef BP_TRACE_LOCK_H
#define BP_TRACE_LOCK_H

#include <stdbool.h>

#define BP_TRACE_HOLDER_BYTES 96

/* Takes the lock of the file open at `fd`, by LOCK_SH or LOCK_EX, until that is closed. Another holder is waited for:
 * 5 s for a file, 15 s for all files of this process. False: errno is EWOULDBLOCK where it is held on, and another
 * one where the file cannot be locked. */
bool bp_trace_lock(int fd, int operation);

/* Who holds the lock, as far as this process may know: "process 17 (less)", or "another process". */
void bp_trace_lock_holder(int fd, char ret_text[BP_TRACE_HOLDER_BYTES]);

#endif
