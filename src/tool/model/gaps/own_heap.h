/* SPDX-License-Identifier: MIT */
/*
 * Heaps that a runtime or a program has beside malloc: which one it is, by the names of the files
 * that a process runs, and what is to be known of it in words. `doctor` says it of a program before
 * it runs, and whatever shows a recording says it where malloc explains little of the process
 * (resident/explained.h).
 *
 * What only the contents of a file tell (a Go program, an allocator that is linked in under names
 * of its own) is found by cli/process/own_heaps.h. Pure functions.
 */
#ifndef BP_MODEL_GAPS_OWN_HEAP_H
#define BP_MODEL_GAPS_OWN_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

enum bp_own_heap {
	BP_OWN_HEAP_PYTHON,
	BP_OWN_HEAP_FREE_THREADED, /* of a free-threaded build of Python */
	BP_OWN_HEAP_V8,
	BP_OWN_HEAP_JVM,
	BP_OWN_HEAP_GO,
	BP_OWN_HEAP_ALLOCATOR, /* linked in, and called by another name than malloc */
	BP_OWN_HEAP_COUNT
};

/* Sets of them: bit 1 << heap. */
typedef uint32_t bp_own_heaps;

/* What a file's name tells. `program`: it is what the process runs, otherwise a library. */
bp_own_heaps bp_own_heaps_of_file(const char *path, bool program);

/* The same of all files that the images of process `pid` are known to have mapped; 0: of all
 * processes. Python's arenas are none where its small objects are counted (python_state.h). */
bp_own_heaps bp_own_heaps_of_modules(const struct bp_profile *profile, uint32_t pid);

/* The word for it in JSON, "python"; one for both of Python's. */
const char *bp_own_heap_name(enum bp_own_heap heap);

/* What it is called in a list of parts of a process: "Python's arenas". */
const char *bp_own_heap_what(enum bp_own_heap heap);

/* What it keeps for itself, and what to do to see it: a clause each, without a full stop. */
const char *bp_own_heap_text(enum bp_own_heap heap);
const char *bp_own_heap_remedy(enum bp_own_heap heap);

#endif
