/* SPDX-License-Identifier: MIT */
/* What the C library itself says where malloc and its family are. Private to hooks/. */
#ifndef BP_HOOKS_LIBC_SYMBOLS_H
#define BP_HOOKS_LIBC_SYMBOLS_H

#include <stdbool.h>

/* From now on whoever asks the C library for a function of the malloc family gets our hook. Once, at
 * start, after the real functions were looked up and only where they are glibc's own. False: nothing
 * was changed (its tables are not where they should be, or cannot be written). */
bool bp_libc_symbols_redirect(void);

#endif
