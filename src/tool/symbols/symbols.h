/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses: completes every location of a profile with its frames (function, inlined
 * callers, source file, line), from the files its modules name. The only folder that knows
 * elfutils. A file whose build-id (or, without one, size and time) differs from what was mapped is
 * never used; an address outside every symbol's extent is shown as module+0xoffset.
 */
#ifndef BP_SYMBOLS_SYMBOLS_H
#define BP_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/profile.h"

struct bp_symbol_summary {
	uint32_t locations;	     /* resolved in this call */
	uint32_t named;		     /* of which got a real name */
	uint32_t modules;	     /* modules looked at */
	uint32_t modules_missing;    /* file gone or unreadable */
	uint32_t modules_replaced;   /* file is another one now: not used */
	uint32_t modules_stripped;   /* no debug information and no full symbol table */
	uint32_t modules_unverified; /* neither build-id nor size and time recorded: not used */
	uint32_t modules_compressed; /* debug information packed in a way this libdw cannot read */
	uint32_t modules_too_large;  /* debug information that unpacks to far too much: not read */
	uint32_t modules_failed;     /* the process that reads the file died or gave up */
	char replaced_example[256];  /* path of one of them */
	char too_large_example[256]; /* likewise */
};

struct bp_symbol_options {
	const char *debug_directory; /* extra root for separate debug files, NULL: /usr/lib/debug */
	const char *debuginfod_urls; /* servers that may be asked for debug files, NULL: none */
	bool cache; /* keep answers in the user's cache directory, and use those kept there */
	bool verbose;
	bool quiet;    /* say nothing on a terminal while something is fetched */
	bool no_files; /* read no file and start no process: nothing gets a name */
	/* path of what asks, on which kept answers depend; NULL: the executable */
	const char *program;
	/* Called with how many addresses are done, of how many; NULL: not called. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
};

/* Resolves every location not yet resolved. Missing information is not an error; only memory
 * failure is. `ret_summary` may be NULL. */
bool bp_symbols_resolve(struct bp_profile *profile, const struct bp_symbol_options *options,
	struct bp_symbol_summary *ret_summary, struct bp_error *error);

#endif
