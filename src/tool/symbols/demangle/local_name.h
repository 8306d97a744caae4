/* SPDX-License-Identifier: MIT */
/*
 * Names for functions that compilers give none to the linker: the operator() of a lambda, or of a
 * class inside a function, where it was inlined or is local.
 */
#ifndef BP_SYMBOLS_DEMANGLE_LOCAL_NAME_H
#define BP_SYMBOLS_DEMANGLE_LOCAL_NAME_H

#include <stdbool.h>
#include <elfutils/libdw.h>

/* Is it a name that says nothing without what stands around it? */
bool bp_is_bare_call_operator(const char *name);

/* "serve(int)::{lambda(int)}::operator()" for the entry of such a function, from the entries around
 * it; to be freed by the caller. NULL where nothing better than the bare name is known. Walks the
 * unit from its start to the entry: not for many. */
char *bp_local_name(const Dwarf_Die *die);

#endif
