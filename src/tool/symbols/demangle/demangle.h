/* SPDX-License-Identifier: MIT */
/*
 * From a name in a symbol table to the name a person wrote.
 */
#ifndef BP_SYMBOLS_DEMANGLE_DEMANGLE_H
#define BP_SYMBOLS_DEMANGLE_DEMANGLE_H

#include <stdbool.h>

/* The name to show (to be freed by the caller): demangled, and without the suffix of a compiler's
 * clone (.cold, .part.0, .constprop.1 ...), so that a function is one function; or NULL where that
 * is the name itself, it cannot be demangled, or is longer than is sensible. C++ needs libstdc++ on
 * the machine, which is looked for once. Not thread-safe at its first call. */
char *bp_demangle(const char *system_name);

/* Is it a Rust name of the older kind, _ZN ... 17h<16 hex digits>E, perhaps with a suffix? It would
 * pass as C++ and come out as noise. */
bool bp_is_rust_legacy_name(const char *system_name);

#endif
