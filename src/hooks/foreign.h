/* SPDX-License-Identifier: MIT */
/* The hooks' other form, for a malloc that is not glibc's. Private to hooks/. */
#ifndef BP_HOOKS_FOREIGN_H
#define BP_HOOKS_FOREIGN_H

#include <stdbool.h>

/* `free`, `realloc` and `malloc_usable_size` take their forms for a foreign malloc, the filter is made.
 * False: no memory, or the text cannot be changed; then nothing was done. bp_real is filled. */
bool bp_foreign_hooks(void);

/* The three become plain jumps to the real ones, for a recorder that stays off. False: the text cannot
 * be changed. */
bool bp_foreign_bypass(void);

/* See bp_real_adopt_entries. bp_real_other is filled. */
void bp_foreign_entries(void);

#endif
