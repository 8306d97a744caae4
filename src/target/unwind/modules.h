/* SPDX-License-Identifier: MIT */
/*
 * Which modules (executable, shared objects, vdso) the recorded pcs lie in: each is written to the
 * trace, with its build-id, when a stack first needs it. Thread-safe.
 */
#ifndef BP_UNWIND_MODULES_H
#define BP_UNWIND_MODULES_H

#include <stddef.h>
#include <stdint.h>

struct bp_writer;

/* Makes sure that the modules of these pcs are in the trace. */
void bp_modules_note(struct bp_writer *writer, const uint64_t *pcs, uint32_t depth);

/* The number of unloadings so far, which is recorded with each stack (docs/trace-format.md 3.4). */
uint64_t bp_modules_epoch(void);

/* From now on `look` is called for each module when a stack first needs it, with the loader's name
 * of it (struct link_map). The calling thread's own stack is in the module, so that nobody unloads
 * it meanwhile. `look` takes no lock. Called once, at the start. */
void bp_modules_watch(void (*look)(const void *link_map));

/* Called after a dlclose: marks modules that are gone, and forgets the stacks through them. */
void bp_modules_check_gone(struct bp_writer *writer);

/* Writes the path of the module that covers `address`, as the loader has it, to `to` (terminated;
 * "" if there is none). Not for the sampling path. */
void bp_modules_path(uintptr_t address, char *to, size_t bytes);

/* Called around fork. */
void bp_modules_lock(void);
void bp_modules_unlock(void);
void bp_modules_after_fork(void);

#endif
