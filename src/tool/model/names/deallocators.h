/* SPDX-License-Identifier: MIT */
/*
 * Deallocation functions: those of which it tells nothing that they freed, because that is all they
 * do (g_free, xfree, PyMem_Free, zfree ...). A table of where objects are freed names their
 * callers. Beside them the allocation functions count (allocators.h), among which are free and
 * operator delete.
 *
 * Called by aggregation/views/pairs.c. Safe from several threads.
 */
#ifndef BP_MODEL_NAMES_DEALLOCATORS_H
#define BP_MODEL_NAMES_DEALLOCATORS_H

#include "model/names/allocators.h"

/* Is a function of this (demangled) name one? None is, where no function counts as an allocation
 * function either (allocators->none). NULL: by the built-in names. */
bool bp_deallocators_hold(const struct bp_allocators *allocators, const char *function);

#endif
