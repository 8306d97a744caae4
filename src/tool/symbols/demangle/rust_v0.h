/* SPDX-License-Identifier: MIT */
/*
 * Rust's newer mangled names, `_R...`, as the compiler makes them by default since 1.95 or so.
 */
#ifndef BP_SYMBOLS_DEMANGLE_RUST_V0_H
#define BP_SYMBOLS_DEMANGLE_RUST_V0_H

#include <stdbool.h>
#include <stddef.h>

/* Longest text that is made of a name; what would be longer has no demangled form. */
#define BP_RUST_TEXT_BYTES_MAX 8192u

/* Does it begin like one? It may still turn out to be none. */
bool bp_is_rust_v0_name(const char *system_name);

/* The name as rustc shows it in short (no hashes of crates, no types of constants), to be freed by
 * the caller; NULL where the first `bytes` bytes of `system_name` are no such name or one of a kind
 * that is not known. Any bytes may be given: time, depth and length are bounded. */
char *bp_demangle_rust_v0(const char *system_name, size_t bytes);

#endif
