/* SPDX-License-Identifier: MIT */
/* The hooks' other form, for a malloc that is not glibc's. Private to hooks/. */
#ifndef BP_HOOKS_FOREIGN_H
#define BP_HOOKS_FOREIGN_H

#include <stdbool.h>

/* Gives `free`, `realloc` and `malloc_usable_size` their forms for a foreign malloc, and makes the
 * filter. False: there is no memory, or the code cannot be changed; nothing was done. bp_real is
 * filled already. */
bool bp_foreign_hooks(void);

/* Makes the three hooks plain jumps to the real functions, for a recorder that stays off. False:
 * the code cannot be changed. */
bool bp_foreign_bypass(void);

/* Do what bp_real_adopt_operators and bp_real_adopt_extended say. bp_real_other is filled
 * already. */
void bp_foreign_operators(void);
void bp_foreign_extended(void);

#endif
