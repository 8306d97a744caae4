/* SPDX-License-Identifier: MIT */
/*
 * The part of a name that two builds of one program share. Differences match rows by it
 * (docs/statistics.md, "Differences"), so that a rebuild, another compiler's clones, another load
 * address or a new version of a library do not turn a function into two. Pure functions on bytes of
 * any kind, safe from any thread; called by diff_keys.c.
 */
#ifndef BP_MODEL_NAMES_STABLE_NAME_H
#define BP_MODEL_NAMES_STABLE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Longer names are cut to what fits; the result is always terminated. */
#define BP_STABLE_NAME_BYTES 4096

/* The stable name of a function, into `buffer` of `bytes` >= 1: without what compilers add to their
 * copies and pieces (.constprop.0, .isra.0, .part.0, .cold, .llvm.123, .lto_priv.0, .__uniq.123,
 * "[clone ...]"), without Rust's hashes (::h and 16 hexadecimal digits; crate disambiguators) and
 * symbol versions (@@GLIBC_2.2.5). A name of nothing else stays as it is. */
void bp_stable_function_name(const char *function, char *buffer, size_t bytes);

/* The stable name of a file of code: its last part without version numbers behind or before `.so`,
 * and without " (deleted)". "" stays "". */
void bp_stable_module_name(const char *path, char *buffer, size_t bytes);

/* What stands for all functions without a name of one module: "libfoo.so (no name)". `module`: a
 * stable module name or ""; then "(no name)". */
void bp_stable_nameless(const char *module, char *buffer, size_t bytes);

#endif
