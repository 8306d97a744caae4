/* SPDX-License-Identifier: MIT */
/*
 * The lock that keeps apart those who read a trace and those who fold it (docs/trace-format.md,
 * section 5). Any process that can read a file can lock it, and may never release the lock. So the
 * wait for it is bounded, and a process that does not get it goes on without the lock or fails.
 * Used by the reader, by fold/ and by snapshots; thread-safe.
 */
#ifndef BP_TRACE_LOCK_H
#define BP_TRACE_LOCK_H

#include <stdbool.h>

#define BP_TRACE_HOLDER_BYTES 96

/* Takes the lock of the file open at `fd`, by LOCK_SH or LOCK_EX, until `fd` is closed. If another
 * process holds the lock, this waits for 5 s at most, and for 15 s at most for all files of this
 * process together. False: the lock is still held (errno is EWOULDBLOCK), or the file cannot be
 * locked (another errno). */
bool bp_trace_lock(int fd, int operation);

/* Writes who holds the lock, as far as this process may know it: "process 17 (less)", or "another
 * process". */
void bp_trace_lock_holder(int fd, char ret_text[BP_TRACE_HOLDER_BYTES]);

#endif
