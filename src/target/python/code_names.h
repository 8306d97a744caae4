/* SPDX-License-Identifier: MIT */
/* From a code object and an instruction in it to the number of a place (frame_names.h). */
#ifndef BP_PYTHON_CODE_NAMES_H
#define BP_PYTHON_CODE_NAMES_H

#include <stdint.h>

#include "python/frames.h"
#include "python/memory.h"

/* Returns the number of the place; 0: there is no room, or memory->failed. `instruction`: offset in
 * the code, in bytes; a negative one stands for the first line. */
uint32_t bp_python_place_of(struct bp_python_walk *walk, struct bp_python_memory *memory,
	const void *code, int32_t instruction);

#endif
