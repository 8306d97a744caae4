/* SPDX-License-Identifier: MIT */
/*
 * Unwind rules that a process shares with all its children of fork, so that a child that lives for
 * milliseconds (a connection to a server, say) need not read tables that its parent or its siblings
 * have read. Only rules of code that was loaded when the program started are shared: it lies at the
 * same addresses in all of them, and is not unloaded.
 *
 * The entries are those of the process's own cache (rule_cache.h), in 128 KiB of shared memory.
 * They are as untrusted as everything in a program's memory is: whatever they hold, a walk reads
 * only memory that is known to be its stack. Thread-safe, async-signal-safe, but for the start.
 */
#ifndef BP_UNWIND_SHARED_RULES_H
#define BP_UNWIND_SHARED_RULES_H

#include <stdint.h>

/* Called once, at the start of the program, when functions of the loader may still be called.
 * Without it, or if there is no memory, nothing is shared. */
void bp_shared_rules_init(void);

/* Returns the rules at `address`; 0: they are not known. */
uint32_t bp_shared_rules_find(uint64_t address);

/* Stores rules, if `address` lies in a module that was loaded at the start. */
void bp_shared_rules_store(uint64_t address, uint32_t rules);

/* Called after a module was unloaded: should it have been there at the start, this process shares
 * nothing any more. */
void bp_shared_rules_check(void);

#endif
