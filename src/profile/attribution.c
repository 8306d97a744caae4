/* SPDX-License-Identifier: MIT */
/* Frames of stacks and the names of allocators; see attribution.h. */
#include "profile/attribution.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

/* Whole names of functions. */
static const char *const allocator_names[] = { "malloc", "calloc", "realloc", "reallocarray",
	"memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc", "free", "cfree",
	"__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_memalign", "__libc_valloc",
	"__libc_pvalloc", "_Znwm", "_Znam", "mmap", "mmap64" };

/* The allocators that runtimes and libraries put before malloc, by whole names under prefixes that
 * are theirs alone: CPython, SQLite, GLib. Not here: what allocates an object of some kind (PyList_New,
 * g_string_new), which is where the memory goes, and names that anybody may have given to anything
 * (xmalloc, zmalloc, my_alloc). */
static const char *const library_names[] = { "PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc",
	"PyMem_RawMalloc", "PyMem_RawCalloc", "PyMem_RawRealloc", "PyObject_Malloc",
	"PyObject_Calloc", "PyObject_Realloc", "_PyObject_Malloc", "_PyObject_Calloc",
	"_PyObject_Realloc", "_PyMem_RawMalloc", "_PyMem_RawCalloc", "_PyMem_RawRealloc",
	"_PyMem_DebugMalloc", "_PyMem_DebugCalloc", "_PyMem_DebugRealloc", "_PyMem_DebugRawMalloc",
	"_PyMem_DebugRawCalloc", "_PyMem_DebugRawRealloc", "_PyMem_DebugRawAlloc",
	"_PyObject_ArenaMmap", "_PyObject_ArenaMalloc", "sqlite3MemMalloc", "sqlite3MemRealloc",
	"sqlite3Malloc", "sqlite3MallocZero", "sqlite3Realloc", "sqlite3_malloc",
	"sqlite3_malloc64", "sqlite3_realloc", "sqlite3_realloc64", "sqlite3DbMallocRaw",
	"sqlite3DbMallocRawNN", "sqlite3DbMallocZero", "sqlite3DbRealloc", "sqlite3DbReallocOrFree",
	"g_malloc", "g_malloc0", "g_realloc", "g_malloc_n", "g_malloc0_n", "g_realloc_n",
	"g_try_malloc", "g_try_malloc0", "g_try_realloc", "g_try_malloc_n", "g_try_malloc0_n",
	"g_try_realloc_n", "g_aligned_alloc", "g_aligned_alloc0", "g_slice_alloc",
	"g_slice_alloc0" };

/* Beginnings of names; template arguments and parameters follow. */
static const char *const allocator_prefixes[] = { "operator new(", "operator new[](",
	"operator delete(", "operator delete[](", "std::allocator<", "std::allocator_traits<",
	"std::__new_allocator<", "std::pmr::", "__gnu_cxx::new_allocator<",
	"__gnu_cxx::__alloc_traits<", "__gnu_cxx::malloc_allocator<", "std::__1::allocator<",
	"std::__1::allocator_traits<", "std::__1::__libcpp_allocate",
	"std::__1::__libcpp_operator_new",
	/* .NET's own ways to an array or a string. */
	"System.GC.Allocate", "System.GC.<Allocate", "System.String.Ctor",
	"System.String.FastAllocate" };

bool bp_is_allocator_name(const char *function)
{
	for (size_t i = 0; i < BP_COUNT(allocator_names); i++)
		if (strcmp(function, allocator_names[i]) == 0)
			return true;
	for (size_t i = 0; i < BP_COUNT(library_names); i++)
		if (strcmp(function, library_names[i]) == 0)
			return true;
	for (size_t i = 0; i < BP_COUNT(allocator_prefixes); i++)
		if (strncmp(function, allocator_prefixes[i], strlen(allocator_prefixes[i])) == 0)
			return true;
	/* libstdc++'s containers: std::_Vector_base<...>::_M_allocate(unsigned long). */
	if (strncmp(function, "std::_", 6) == 0 && strstr(function, ">::_M_allocate(") != NULL)
		return true;
	return strcmp(function, "operator new") == 0 || strcmp(function, "operator new[]") == 0;
}

/* Our own library in the target, should it ever appear on a stack. */
static bool is_recorder(const struct bp_profile *profile, const struct bp_frame *frame)
{
	const char *path = bp_profile_text(profile, profile->modules.data[frame->module.i].path);
	return strstr(path, "/libbytepoll-recorder") != NULL;
}

static uint64_t count_frames(const struct bp_profile *profile)
{
	uint64_t count = 0;
	for (uint32_t i = 1; i < profile->stack_locations.count; i++) {
		uint32_t location = profile->stack_locations.data[i].i;
		uint32_t frames = profile->locations.data[location].frame_count;
		count += frames == 0 ? 1 : frames;
	}
	return count;
}

/* Writes the frames of one location; returns how many. */
static uint32_t expand(
	const struct bp_profile *profile, struct bp_location_id id, struct bp_frame_id *frames)
{
	const struct bp_location *location = &profile->locations.data[id.i];
	if (location->frame_count == 0) {
		frames[0].i = 0;
		return 1;
	}
	for (uint32_t i = 0; i < location->frame_count; i++)
		frames[i].i = location->first_frame.i + i;
	return location->frame_count;
}

bool bp_attribution_init(struct bp_attribution *attribution, const struct bp_profile *profile,
	struct bp_error *error)
{
	uint64_t at = 0;
	memset(attribution, 0, sizeof *attribution);
	attribution->profile = profile;
	attribution->first = calloc((size_t)profile->stacks.count + 1, sizeof *attribution->first);
	attribution->frames = calloc(count_frames(profile) + 1, sizeof *attribution->frames);
	attribution->allocator = calloc(profile->frames.count, sizeof *attribution->allocator);
	if (attribution->first == NULL || attribution->frames == NULL ||
		attribution->allocator == NULL) {
		bp_attribution_finish(attribution);
		return bp_error_set(error, "out of memory");
	}
	for (uint32_t i = 0; i < profile->stacks.count; i++) {
		const struct bp_stack *stack = &profile->stacks.data[i];
		attribution->first[i] = at;
		for (uint32_t j = 0; j < stack->depth; j++)
			at += expand(profile,
				profile->stack_locations.data[stack->first_location + j],
				&attribution->frames[at]);
	}
	attribution->first[profile->stacks.count] = at;
	for (uint32_t i = 1; i < profile->frames.count; i++) {
		const struct bp_frame *frame = &profile->frames.data[i];
		attribution->allocator[i] =
			bp_is_allocator_name(bp_profile_text(profile, frame->function)) ||
			is_recorder(profile, frame);
	}
	return true;
}

void bp_attribution_finish(struct bp_attribution *attribution)
{
	free(attribution->first);
	free(attribution->frames);
	free(attribution->allocator);
	memset(attribution, 0, sizeof *attribution);
}

const struct bp_frame_id *bp_attribution_frames(
	const struct bp_attribution *attribution, struct bp_stack_id stack, uint32_t *ret_count)
{
	uint64_t first = attribution->first[stack.i];
	*ret_count = (uint32_t)(attribution->first[stack.i + 1] - first);
	return &attribution->frames[first];
}

uint32_t bp_attribution_index(const struct bp_attribution *attribution, struct bp_stack_id stack)
{
	uint32_t count, i = 0;
	const struct bp_frame_id *frames = bp_attribution_frames(attribution, stack, &count);
	while (i + 1 < count && attribution->allocator[frames[i].i])
		i++;
	return i;
}
