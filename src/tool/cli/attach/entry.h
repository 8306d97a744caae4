/* SPDX-License-Identifier: MIT */
/*
 * The recorder's two entries, called in a running process: one begins a trace, the other ends it.
 * The process needs us at no moment. Not thread-safe.
 */
#ifndef BP_CLI_ATTACH_ENTRY_H
#define BP_CLI_ATTACH_ENTRY_H

#include "cli/attach/thread_call.h"

/* One call. What the caller fills: `pid`, `until_ns` (CLOCK_MONOTONIC: until when a thread is
 * looked for that stands in a safe place), and to attach `settings` (the path of the file with what
 * the recorder shall do), `file` (of the trace, for messages) and `recorder` (the path of the
 * recorder's file as the process has it; NULL: the one beside the command). */
struct bp_entry {
	pid_t pid;
	uint64_t until_ns;
	const char *settings, *file, *recorder;
	struct bp_target_image image;
	struct bp_thread_call_result stops; /* afterwards: of all threads that were stopped */
};

/* Loads the recorder, unless it is loaded, and begins a trace. */
bool bp_entry_attach(struct bp_entry *entry, struct bp_error *error);
/* Ends it. */
bool bp_entry_detach(struct bp_entry *entry, struct bp_error *error);
void bp_entry_finish(struct bp_entry *entry); /* safe on zeroed memory */

#endif
