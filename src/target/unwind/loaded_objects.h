/* SPDX-License-Identifier: MIT */
/*
 * Which loaded object covers an address, where the loader has no _dl_find_object (glibc before
 * 2.35). Only frame_rules.c asks here.
 *
 * The answer comes from a table of our own, which is made by dl_iterate_phdr. The loader counts the
 * objects that it has added and removed, and tells the counts to the callback; where they have
 * changed, the table is made anew.
 */
#ifndef BP_UNWIND_LOADED_OBJECTS_H
#define BP_UNWIND_LOADED_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/frame_rules.h"

/* Makes the table as the loader's list of objects is now. Takes the loader's recursive lock for a
 * moment, and waits for a thread that holds it: the caller holds no lock of the recorder.
 * Thread-safe; a signal handler that interrupts it leaves the table as it is. Does nothing under a
 * C library that is not glibc, and in a child of fork, until bp_loaded_objects_look_again. */
void bp_loaded_objects_look(void);

/* The same after a dlclose or dlopen of this thread, which has had the loader's lock: nobody keeps
 * it. */
void bp_loaded_objects_look_again(void);

/* Is called in a child of fork. Another thread of the parent may have held the loader's lock, which
 * nobody releases here. */
void bp_loaded_objects_after_fork(void);

/* The object that covers `pc` (an address, not moved back), as of the last look; false if there is
 * none, or if the table was replaced during every attempt to read it. Takes no lock, does not
 * allocate; thread-safe, async-signal-safe. */
bool bp_loaded_objects_find(uintptr_t pc, struct bp_module_range *ret_range);

#endif
