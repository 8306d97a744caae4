/* SPDX-License-Identifier: MIT */
/*
 * Machine code that will be written over one of the recorder's functions. patch.c and the encoder
 * of the machine (patch_x86_64.c or patch_aarch64.c, chosen by the build) share this header. The
 * code is put together here and written in one piece. Private to patch*.
 */
#ifndef BP_HOOKS_BINDING_PATCH_CODE_H
#define BP_HOOKS_BINDING_PATCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

#define BP_CODE_MAX 36u

struct bp_code {
	/* where it goes: behind the mark of an indirect jump's target, if one is there */
	uint8_t *function;
	uint8_t bytes[BP_CODE_MAX];
	uint32_t count;
	bool good; /* false: a distance does not fit its field */
};

/* Writes the code over the function. False: the code is not good, or the function's code can
 * neither be written nor replaced. */
bool bp_code_write(const struct bp_code *code);

#endif
