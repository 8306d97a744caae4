/* SPDX-License-Identifier: MIT */
/* The C library's own symbols of malloc and its family. Private to hooks/. */
#ifndef BP_HOOKS_BINDING_LIBC_SYMBOLS_H
#define BP_HOOKS_BINDING_LIBC_SYMBOLS_H

#include <stdbool.h>

/* Points these symbols at the hooks, so that every look-up of a function of the malloc family in
 * the C library finds a hook. Called once, at start, after the real functions were looked up, and
 * only where they are glibc's own. False: nothing was changed (the tables are not where they should
 * be, or cannot be written). */
bool bp_libc_symbols_redirect(void);

#endif
