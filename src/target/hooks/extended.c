/* SPDX-License-Identifier: MIT */
/*
 * Bodies for the entries of extended.h, one for each shape: the allocator's own function does the
 * work as it would have; then the object counts, and may be found to be a sample where it lies.
 * What ends is ended before, since its address may be somebody else's a moment later. So a resize
 * that fails for want of memory leaves an object whose sample has ended.
 *
 * None of them makes its object by a function that counts: the allocator's own calls of its entries
 * are not bound to us, and malloc by its public name none of them calls.
 */
#include "hooks/extended.h"

#include <stddef.h>
#include <string.h>

#include "base/attributes.h"
#include "hooks/binding/real_other.h"
#include "recognition/filter.h"
#include "recorder/real.h"
#include "recorder/recorder.h"

static void count(uintptr_t object, uintptr_t bytes, enum bp_kind kind)
{
	if (object != 0 && bp_unlikely(bp_sampler_crosses(&bp_hot.counters, bytes)))
		bp_cold_object((void *)object, bytes, 0, kind);
}

static void end(uintptr_t object)
{
	if (bp_unlikely(bp_filter_hit((const void *)object)))
		bp_known_end((void *)object);
}

static uintptr_t free_a(bp_entry *real, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
	end(a);
	return real(a, b, c, d);
}

/* An allocation whose size is `bytes`. */
#define ALLOCATION(shape, bytes)                                                                   \
	static uintptr_t shape(bp_entry *real, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
	{                                                                                          \
		const uintptr_t object = real(a, b, c, d);                                         \
		count(object, (bytes), BP_KIND_MALLOC);                                            \
		return object;                                                                     \
	}
ALLOCATION(size_a, a)
ALLOCATION(size_b, b)
ALLOCATION(product_ab, a *b) /* an overflow fails, and is not counted */
ALLOCATION(product_bc, b *c)
ALLOCATION(string, object == 0 ? 0 : strlen((const char *)object) + 1)

/* A new size, `bytes`, for `old`, wherever it may come to lie. */
#define RESIZE(shape, old, bytes)                                                                  \
	static uintptr_t shape(bp_entry *real, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
	{                                                                                          \
		end(old);                                                                          \
		const uintptr_t object = real(a, b, c, d);                                         \
		count(object, (bytes), BP_KIND_REALLOC);                                           \
		return object;                                                                     \
	}
RESIZE(resize_ab, a, b)
RESIZE(resize_bc, b, c)
RESIZE(resize_product_bc, a, b *c)

/* In place or not at all: answers the object, or nothing. */
static uintptr_t in_place(bp_entry *real, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
	const uintptr_t object = real(a, b, c, d);
	if (object != 0) {
		end(a);
		count(object, b, BP_KIND_REALLOC);
	}
	return object;
}

/* The same, answering the size there is now; less than wanted: it stays as it was. */
static uintptr_t in_place_size(bp_entry *real, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
	const uintptr_t bytes = real(a, b, c, d);
	if (bytes >= b) {
		end(a);
		count(a, b, BP_KIND_REALLOC);
	}
	return bytes;
}

static uintptr_t posix(bp_entry *real, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
	const uintptr_t error = real(a, b, c, d);
	if ((int)error == 0)
		count(*(uintptr_t *)a, c, BP_KIND_ALIGNED);
	return error;
}

static struct {
#define BP_ENTRY(name, shape) bp_entry *name;
	BP_ENTRIES(BP_ENTRY)
#undef BP_ENTRY
} real;

#define BP_ENTRY(name, shape)                                                            \
	static uintptr_t hook_##name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
	{                                                                                \
		return shape(real.name, a, b, c, d);                                     \
	}
BP_ENTRIES(BP_ENTRY)
#undef BP_ENTRY

static const struct bp_extended entries[] = {
#define BP_ENTRY(name, shape) { #name, hook_##name, &real.name },
	BP_ENTRIES(BP_ENTRY)
#undef BP_ENTRY
};

const struct bp_extended *bp_extended_find(const char *name)
{
	if (name == NULL || strchr("mrxdst", name[0]) == NULL)
		return NULL;
	for (size_t i = 0; i < BP_COUNT(entries); i++)
		if (strcmp(name, entries[i].name) == 0)
			return &entries[i];
	return NULL;
}

/* Which lists to go through: by the one entry that each such allocator has. What fails takes
 * long. */
static bool has(const char *name)
{
	return bp_real_is_home(bp_real_next(name));
}

bool bp_extended_resolve(void)
{
	const bool jemalloc = has("dallocx"), tcmalloc = has("tc_malloc"),
		   mimalloc = has("mi_malloc");
	bool any = false;
	for (size_t i = 0; i < BP_COUNT(entries); i++) {
		const char *name = entries[i].name;
		const bool wanted = strncmp(name, "tc_", 3) == 0   ? tcmalloc
				    : strncmp(name, "mi_", 3) == 0 ? mimalloc
								   : jemalloc;
		void *found = wanted ? bp_real_next(name) : NULL;
		if (found == NULL || !bp_real_is_home(found))
			continue;
		*entries[i].real = (bp_entry *)found;
		any = true;
	}
	return any;
}
