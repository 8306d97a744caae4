/* SPDX-License-Identifier: MIT */
/*
 * A malloc that is not glibc's: jemalloc, TCMalloc, mimalloc, any other, linked or preloaded.
 *
 * What lies before an object says nothing then, and the allocator may have entries we have never
 * heard of (dallocx, mi_free, tc_free, a private copy of free). So every sampled object stays where
 * the allocator put it, and may be freed by any of these entries. `free` asks the filter
 * (recognition/filter.h), in as many instructions as over glibc, and on a yes the live set.
 *
 * malloc and the other hooks that allocate need no other form. `free`, `realloc` and
 * `malloc_usable_size`, which read the word before an object over glibc, are rewritten at start:
 * `free` in place, realloc as a jump to the one here, malloc_usable_size as a jump to the real one.
 *
 * C++ operators. Those of libstdc++ call malloc, which counts; those that the allocator brings do
 * not, and count here. Which is which is found out by trying: an operator that calls a counting
 * hook has counted (jemalloc's aligned ones do). Exceptions: the real operator is called when
 * nothing of ours is under way, so that std::bad_alloc and new-handlers pass through.
 */
#include "hooks/foreign.h"

#include <malloc.h>
#include <stddef.h>
#include <string.h>

#include "base/attributes.h"
#include "hooks/extended.h"
#include "hooks/binding/patch.h"
#include "hooks/binding/real_other.h"
#include "recognition/filter.h"
#include "recognition/live_set.h"
#include "recorder/real.h"
#include "recorder/recorder.h"

/* The filter said yes; mostly for the sake of a neighbour. */
static void free_near_sample(void *object)
{
	if (bp_unlikely(bp_live_contains(object)))
		bp_known_free(object);
	else
		bp_real.free(object);
}

/* What the C library's functions of that name become; free where it cannot be written in place. */
static void foreign_free(void *object)
{
	if (bp_unlikely(bp_filter_hit(object)))
		free_near_sample(object);
	else
		bp_real.free(object);
}

/* Other allocators may make an object of no bytes, and not free. */
static BP_COLD void *realloc_to_nothing(void *object)
{
	if (bp_filter_hit(object))
		bp_known_end(object);
	object = bp_real.realloc(object, 0);
	if (object != NULL && bp_sampler_crosses(&bp_hot.counters, 0))
		bp_cold_object(object, 0, 0, BP_KIND_REALLOC);
	return object;
}

static void *foreign_realloc(void *object, size_t size)
{
	if (bp_unlikely(size == 0) && object != NULL)
		return realloc_to_nothing(object);
	if (bp_unlikely(bp_sampler_crosses(&bp_hot.counters, size)))
		return bp_cold_realloc(object, size);
	if (bp_unlikely(bp_filter_hit(object)))
		return bp_known_realloc(object, size);
	return bp_real.realloc(object, size);
}

static bool patch_free(void)
{
	if ((uintptr_t)bp_filter_counts + BP_FILTER_BYTES <= INT32_MAX)
		return bp_patch_filter((void *)free, bp_filter_counts,
			(const void *)free_near_sample, &bp_real.free);
	return bp_patch_jump((void *)free, (const void *)foreign_free);
}

bool bp_foreign_hooks(void)
{
	return bp_filter_init() && patch_free() &&
	       bp_patch_jump((void *)realloc, (const void *)foreign_realloc) &&
	       bp_patch_jump_through((void *)malloc_usable_size, &bp_real.malloc_usable_size);
}

bool bp_foreign_bypass(void)
{
	return bp_patch_jump_through((void *)free, &bp_real.free) &&
	       bp_patch_jump_through((void *)realloc, &bp_real.realloc) &&
	       bp_patch_jump_through((void *)malloc_usable_size, &bp_real.malloc_usable_size);
}

/* ---- C++ operators ---- */

/* The allocator's own, where bp_real_other has one of those below. */
static struct {
#define BP_HOOK(name, text) bp_operator *name;
	BP_HOOKS_NEW(BP_HOOK)
	BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK
} foreign;

static bool is_aligned(const char *name)
{
	return strstr(name, "align_val") != NULL;
}

/* The charge borrowed. It is taken back until the object is there, because the operator may throw,
 * or run a new-handler that allocates. Arguments in this order, so that it is reached by a jump. */
static BP_COLD uintptr_t cold_new(
	uintptr_t size, uintptr_t second, uintptr_t third, bp_operator *real, const char *name)
{
	bp_cold_uncharge(size);
	uintptr_t object = real(size, second, third);
	if (object != 0 && bp_sampler_crosses(&bp_hot.counters, size))
		bp_cold_object((void *)object, size, is_aligned(name) ? second : 0, BP_KIND_NEW);
	return object;
}

#define BP_HOOK(name, text)                                                             \
	static uintptr_t count##name(uintptr_t size, uintptr_t second, uintptr_t third) \
	{                                                                               \
		if (bp_unlikely(bp_sampler_crosses(&bp_hot.counters, size)))            \
			return cold_new(size, second, third, foreign.name, #name);      \
		return foreign.name(size, second, third);                               \
	}
BP_HOOKS_NEW(BP_HOOK)
#undef BP_HOOK

#define BP_HOOK(name, text)                                                               \
	static uintptr_t watch##name(uintptr_t object, uintptr_t second, uintptr_t third) \
	{                                                                                 \
		if (bp_unlikely(bp_filter_hit((const void *)object)))                     \
			bp_known_end((void *)object);                                     \
		return foreign.name(object, second, third);                               \
	}
BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK

/* Does this operator call no hook of ours that counts? Asked with a small and a large object, and
 * not once: the allocator may make an object for itself meanwhile. */
static bool counts_nowhere(bp_operator *real, bp_operator *delete, bool aligned)
{
	static const uintptr_t sizes[] = { 24, 100000 };
	static uint8_t nothrow; /* a std::nothrow_t */
	const uintptr_t second = aligned ? 64 : (uintptr_t)&nothrow;
	for (size_t i = 0; i < BP_COUNT(sizes); i++) {
		bool counted = true;
		for (int attempt = 0; attempt < 3 && counted; attempt++) {
			const uint64_t before = bp_hot.counters.objects;
			const uintptr_t object = real(sizes[i], second, (uintptr_t)&nothrow);
			counted = bp_hot.counters.objects != before;
			if (object != 0)
				(void)delete (object, aligned ? second : 0, 0);
		}
		if (counted)
			return false;
	}
	return true;
}

/* The plain delete that goes with a new. */
static bp_operator *delete_of(const char *name, bool aligned)
{
	const bool array = strncmp(name, "_Zna", 4) == 0;
	if (aligned)
		return array ? bp_real_other._ZdaPvSt11align_val_t
			     : bp_real_other._ZdlPvSt11align_val_t;
	return array ? bp_real_other._ZdaPv : bp_real_other._ZdlPv;
}

void bp_foreign_operators(void)
{
#define BP_HOOK(name, text)                                                                    \
	foreign.name = bp_real_other.name;                                                     \
	if (bp_real_is_home((const void *)foreign.name) &&                                     \
		counts_nowhere(                                                                \
			foreign.name, delete_of(#name, is_aligned(#name)), is_aligned(#name))) \
		bp_real_other.name = count##name;
	BP_HOOKS_NEW(BP_HOOK)
#undef BP_HOOK
#define BP_HOOK(name, text)                              \
	foreign.name = bp_real_other.name;               \
	if (bp_real_is_home((const void *)foreign.name)) \
		bp_real_other.name = watch##name;
	BP_HOOKS_DELETE(BP_HOOK)
#undef BP_HOOK
}

void bp_foreign_extended(void)
{
	if (bp_extended_resolve() && !bp_real_is_late()) /* late.c binds all alike */
		bp_extended_bind();
}
