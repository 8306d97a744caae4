/* SPDX-License-Identifier: MIT */
/* Rewriting the first bytes of our own hooks, at start, before a second thread can run them. Private
 * to hooks/. All give false where the text can neither be written nor replaced (a system that
 * forbids both); then nothing was changed. */
#ifndef BP_HOOKS_PATCH_H
#define BP_HOOKS_PATCH_H

#include <stdbool.h>
#include <stdint.h>

/* `function` becomes a jump through the pointer `target`. */
bool bp_patch_jump_through(void *function, const void *target);

/* `function` becomes a jump to `target`, which is of the same shared object. */
bool bp_patch_jump(void *function, const void *target);

/* `function`, of 32 bytes or more, becomes the question of filter.h, on a yes a jump to `known`, on a
 * no a jump through the pointer `target`: five instructions on x86-64, seven on aarch64. `counts`: below
 * 2 GiB, and whole 64 KiB. */
bool bp_patch_filter(void *function, const uint8_t *counts, const void *known, const void *target);

/* What the loader puts into a place that has a relocation of this machine's type. */
enum bp_place {
	BP_PLACE_OTHER,
	BP_PLACE_ADDRESS,  /* a symbol's address */
	BP_PLACE_JUMP_SLOT /* the same, perhaps not before the first call */
};

enum bp_place bp_patch_place(uint32_t relocation);

#endif
