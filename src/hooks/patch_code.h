/* SPDX-License-Identifier: MIT */
/*
 * Machine code about to be written over one of our functions: what patch.c and the encoders of one
 * machine (patch_x86_64.c or patch_aarch64.c, chosen by the build) share. Code is put together here
 * and written at once. Private to patch*.
 */
#ifndef BP_HOOKS_PATCH_CODE_H
#define BP_HOOKS_PATCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

#define BP_CODE_MAX 36u

struct bp_code {
	uint8_t *
		function; /* where it goes: behind the mark of an indirect jump's target, if one is there */
	uint8_t bytes[BP_CODE_MAX];
	uint32_t count;
	bool good; /* false: a distance does not fit its field */
};

/* Writes it over the function; false: it was not good, or the text can neither be written nor replaced. */
bool bp_code_write(const struct bp_code *code);

#endif
