/* SPDX-License-Identifier: MIT */
/*
 * What is asked of one module and what comes back: the words in which symbols.c (which knows the
 * profile), worker.c (which carries them through a pipe) and module_resolver.c (which knows
 * elfutils) talk to each other.
 */
#ifndef BP_SYMBOLS_MODULE_REQUEST_H
#define BP_SYMBOLS_MODULE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

/* Longest text of a frame that is kept, bytes; a name of a megabyte is of no use to anybody. */
#define BP_FRAME_TEXT_MAX 8192u
/* Most frames one address is given. Compilers stay below 60. */
#define BP_FRAMES_MAX 256u

struct bp_module_request {
	const char *path;
	const char *build_id;		    /* of what was mapped, lower-case hex; "" unknown */
	uint64_t file_bytes, file_mtime_ns; /* of what was mapped; 0 unknown */
	const char *debug_directory;	    /* extra root for debug files, or NULL */
	const char *debuginfod_urls;	    /* servers to ask for debug files, or NULL: none */
	bool cache;			    /* use and fill the cache on disk */
	uint64_t cache_variant;		    /* part of the cache's key: who asks */
	const uint64_t *addresses;	    /* to look up, in the module's file, ascending */
	uint32_t count;
	/* Called, if not NULL, now and then while something is fetched: bytes so far and in all (0:
	 * unknown). False: stop. */
	bool (*alive)(void *context, uint64_t done, uint64_t all);
	void *alive_context;
};

enum bp_module_state {
	BP_MODULE_READ,	      /* the file, or its debug file, is the right one */
	BP_MODULE_MISSING,    /* gone or unreadable */
	BP_MODULE_REPLACED,   /* another file stands there now */
	BP_MODULE_UNVERIFIED, /* nothing was recorded to compare the file with */
	BP_MODULE_FAILED      /* reading it did not come to an end */
};

struct bp_module_answer {
	enum bp_module_state state;
	bool stripped; /* neither debug information nor a full symbol table */
	/* debug information that would unpack to too much (packed_size.h): not read */
	bool too_large;
	bool compressed; /* debug information in sections this libdw cannot unpack */
};

/* The texts are never NULL and live until the call returns. `function` is "" where only the line is
 * known. */
struct bp_found_frame {
	const char *function;
	const char *system_name;
	const char *source_file;
	uint32_t line;
};

/* Takes the frames of addresses[index], innermost first, `count` >= 1. False: stop (memory). */
typedef bool (*bp_frames_found)(
	void *context, uint32_t index, const struct bp_found_frame *frames, uint32_t count);

#endif
