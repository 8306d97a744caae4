/* SPDX-License-Identifier: MIT */
/* Rewrites the first bytes of the recorder's own hooks, at start, before a second thread can run
 * them. Private to hooks/. All functions return false where the code can neither be written nor
 * replaced, because the system forbids both; then nothing was changed. */
#ifndef BP_HOOKS_BINDING_PATCH_H
#define BP_HOOKS_BINDING_PATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Makes `function` a jump through the pointer `target`. */
bool bp_patch_jump_through(void *function, const void *target);

/* Makes `function` a jump to `target`, which is in the same shared object. */
bool bp_patch_jump(void *function, const void *target);

/* Makes `function`, of 32 bytes or more, the look-up of filter.h: a jump to `known` if a live
 * sample may begin there, otherwise a jump through the pointer `target`. That is five instructions
 * on x86-64, seven on aarch64. `counts` lies below 2 GiB, and is a multiple of 64 KiB. */
bool bp_patch_filter(void *function, const uint8_t *counts, const void *known, const void *target);

/* What the loader stores at a place with a relocation of that type. */
enum bp_place {
	BP_PLACE_OTHER,
	BP_PLACE_ADDRESS,  /* a symbol's address */
	BP_PLACE_JUMP_SLOT /* the same, perhaps not before the first call */
};

enum bp_place bp_patch_place(uint32_t relocation);

#endif
