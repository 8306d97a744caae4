/* SPDX-License-Identifier: MIT */
/*
 * One request of the program, as sample.c passes it on: what the program asked for, and which of
 * the real functions serves the request. As thread-safe as these functions are.
 */
#ifndef BP_RECORDER_CALL_H
#define BP_RECORDER_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/real.h"

/* Which real function serves the call. */
enum bp_function {
	BP_CALL_MALLOC,
	BP_CALL_CALLOC,
	BP_CALL_MEMALIGN,
	BP_CALL_ALIGNED_ALLOC,
	BP_CALL_POSIX_MEMALIGN,
	BP_CALL_VALLOC,
	BP_CALL_PVALLOC
};

struct bp_call {
	enum bp_function function;
	uint8_t kind; /* enum bp_kind */
	size_t size, alignment;
	size_t room; /* bytes that the object must have: the size, except for pvalloc and what is
		      * set aside (bp_aside_begin) */
};

/* Calls the real function. Returns the object; NULL: it failed, and errno says why. */
static inline void *bp_call_real(const struct bp_call *call)
{
	void *object = NULL;
	switch (call->function) {
	case BP_CALL_MALLOC:
		return bp_real.malloc(call->room);
	case BP_CALL_CALLOC:
		return bp_real.calloc(1, call->room);
	case BP_CALL_MEMALIGN:
		return bp_real.memalign(call->alignment, call->size);
	case BP_CALL_ALIGNED_ALLOC:
		return bp_real.aligned_alloc(call->alignment, call->size);
	case BP_CALL_VALLOC:
		return bp_real.valloc(call->size);
	case BP_CALL_PVALLOC:
		return bp_real.pvalloc(call->size);
	case BP_CALL_POSIX_MEMALIGN:
		/* glibc sets errno too when it fails */
		return bp_real.posix_memalign(&object, call->alignment, call->size) == 0 ? object
											 : NULL;
	}
	return NULL;
}

#endif
