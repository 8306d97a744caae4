/* SPDX-License-Identifier: MIT */
/*
 * CPython's own allocator, pymalloc. It serves small requests of the domains mem and object from
 * arenas that it maps, so that hooks of malloc never see them. Here the allocators of these two
 * domains are replaced by functions that charge each small object as malloc's hook does, and go on
 * to the allocator that was there. Larger requests go on to malloc, whose hook counts them.
 *
 * It is done by CPython's own calls for that (PyMem_SetAllocator), from the constructor, before the
 * interpreter has started: no module is imported, and the program sees nothing. The settings of the
 * program hold: PYTHONMALLOC and -X dev choose allocators anew when the interpreter starts, and the
 * new ones are replaced then. Nobody tells us when that happens, and what is made in between would
 * be missing from the totals. The interpreter does it among its first calls of malloc, before it
 * makes an object of the domains mem and object. So until one of these objects is made by ours each
 * allocation is a visit, at whose end the allocators are looked at; a program that starts no
 * interpreter for a long time has them looked at rarely, from some thousand visits on.
 * tracemalloc stands in front of ours.
 *
 * CPython copies the five words of an allocator one by one, and other threads may allocate
 * meanwhile. So the first word, which is passed to the other four, stays as it was: whichever of
 * the functions such a thread meets, it gets the word that it wants.
 *
 * An interpreter that is loaded later: python_find.c. One that has ended and starts again
 * may choose its allocators anew: python_end.c.
 *
 * In a process that was attached to all this is done later (python_late.c), in front of an
 * interpreter whose arenas are not all known.
 *
 * `free` stays CPython's own where it can, because CPython has its code inlined in many places for
 * as long as nobody replaces it, which costs more than the recorder's own instructions. So a small
 * object that is due to be looked at is not made in an arena: pymalloc is asked for a block that is
 * too large for it, which comes from malloc, whose hook makes the object a sample. pymalloc knows
 * by the address that it is not its own, and gives it to malloc's free.
 *
 * With PYTHONMALLOC=mimalloc (from 3.13 on) both domains are served by a mimalloc of CPython's own,
 * which maps its memory and asks malloc for nothing: there each object, of whatever size, is
 * charged here.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "hooks/python.h"
#include "hooks/binding/symbol_table.h"
#include "python/arenas.h"
#include "python/interpreter.h"
#include "recognition/filter.h"
#include "recognition/hot.h"
#include "recognition/live_set.h"
#include "recorder/real.h"
#include "recorder/recorder.h"

/* PyObjectArenaAllocator, the same in all versions. */
struct arena_allocator {
	void *context;
	void *(*alloc)(void *context, size_t bytes);
	void (*free)(void *context, void *arena, size_t bytes);
};

/* As hooks/python.h has them, for the macros below. */
#define MEM BP_PYTHON_MEM
#define OBJECT BP_PYTHON_OBJECT
#define DOMAINS BP_PYTHON_DOMAINS

static struct {
	void (*get_allocator)(int domain, struct bp_python_allocator *ret_allocator);
	void (*set_allocator)(int domain, struct bp_python_allocator *allocator);
	void (*get_arenas)(struct arena_allocator *ret_allocator);
	void (*set_arenas)(struct arena_allocator *allocator);
	const char *(*allocator_name)(void); /* NULL: it is not known */
} api;

static struct arena_allocator real_arenas;
static uint32_t arenas_made; /* by calls of arena_alloc */

/* What stands behind ours: at the start, and after the interpreter has chosen its allocators anew,
 * with checks of its own in front (PYTHONMALLOC=debug) or with mimalloc. `small_max`: the largest
 * request that is charged here; 0: none is. `aside`: objects to be looked at come from malloc, and
 * not from an arena. `all`: it is mimalloc, of whose objects none is malloc's. `late`: there are
 * arenas from before, which are not known. */
struct layer {
	struct bp_python_allocator real;
	size_t small_max;
	bool aside, all, late;
};
static struct layer plain[DOMAINS], checked[DOMAINS];

/* ---- the cold paths ---- */

/* Is the object in Python's own memory, and not in malloc's heap? */
static bool is_own(const struct layer *layer, const void *object)
{
	return layer->all ? object != NULL : bp_python_arena_has(object);
}

/* An object that is there, in an arena or in malloc's heap. */
static void charge_small(const struct layer *layer, void *object, size_t size)
{
	if (is_own(layer, object) && bp_sampler_crosses(&bp_hot.counters, size))
		bp_cold_object(object, size, 0, BP_KIND_PYTHON);
}

/* May a request of that size be charged here? pymalloc passes requests of no byte on to malloc. */
static bool is_for_us(const struct layer *layer, size_t size)
{
	return layer->all || size - 1 < layer->small_max;
}

/* The charge borrowed. It is taken back until the object is there, because pymalloc may call malloc
 * for its own books. */
static BP_COLD void *cold_malloc(const struct layer *layer, void *context, size_t size)
{
	void *object;
	bp_python_meet_object();
	if (layer->aside) {
		bp_aside_begin(size);
		object = layer->real.malloc(context, BP_ASIDE_BYTES);
		bp_aside_end(object, size);
		return object;
	}
	bp_cold_uncharge(size);
	object = layer->real.malloc(context, size);
	charge_small(layer, object, size);
	return object;
}

static BP_COLD void *cold_calloc(
	const struct layer *layer, void *context, size_t count, size_t size)
{
	void *object;
	bp_python_meet_object();
	if (layer->aside) {
		bp_aside_begin(count * size);
		object = layer->real.calloc(context, 1, BP_ASIDE_BYTES);
		bp_aside_end(object, count * size);
		return object;
	}
	bp_cold_uncharge(count * size);
	object = layer->real.calloc(context, count, size);
	charge_small(layer, object, count * size);
	return object;
}

/* The whole of such a free, so that the other ones need no stack. */
static BP_COLD void free_near_sample(const struct layer *layer, void *context, void *object)
{
	if (is_own(layer, object))
		bp_known_end(object);
	layer->real.free(context, object);
}

/* The same for an object that grew or shrank in pymalloc: should it be due, it is moved aside. */
static void *charge_moved(const struct layer *layer, void *context, void *object, size_t size)
{
	if (!bp_sampler_crosses(&bp_hot.counters, size))
		return object;
	if (!layer->aside) {
		bp_cold_object(object, size, 0, BP_KIND_PYTHON);
		return object;
	}
	void *aside = cold_malloc(layer, context, size);
	if (aside == NULL) {
		/* It stays where it is, counted. */
		if (bp_sampler_crosses(&bp_hot.counters, size))
			bp_cold_pass(size);
		return object;
	}
	__builtin_memcpy(aside, object, size);
	layer->real.free(context, object);
	return aside;
}

/* What tells who served a realloc: the thread's counters, and the arenas that were made. */
struct before_realloc {
	struct bp_sampler_hot counters;
	uint32_t arenas_made;
};

static struct before_realloc look_before_realloc(void)
{
	return (struct before_realloc){ bp_hot.counters,
		__atomic_load_n(&arenas_made, __ATOMIC_RELAXED) };
}

/* Is the object that a realloc gave in an arena? Where not all arenas are known: malloc's hook
 * counts each object that it is asked for, so it is in an arena if nothing was counted. pymalloc
 * asks malloc too, for its own books, but only while it makes an arena, which malloc never does. */
static bool is_in_arena(
	const struct layer *layer, const void *object, const struct before_realloc *before)
{
	if (!layer->late)
		return is_own(layer, object);
	const struct before_realloc now = look_before_realloc();
	return now.arenas_made != before->arenas_made ||
	       (now.counters.objects == before->counters.objects &&
		       now.counters.trials_left == before->counters.trials_left);
}

/* A realloc that fails leaves the object as it was. Nobody can get its place in between: the caller
 * holds the GIL. */
static void *realloc_with(const struct layer *layer, void *context, void *object, size_t size)
{
	const bool near_sample = bp_unlikely(bp_filter_hit(object)) && is_own(layer, object);
	const bool small = is_for_us(layer, size);
	const struct before_realloc before = look_before_realloc();
	bp_aside_resize(small && layer->aside ? size : 0);
	void *moved = layer->real.realloc(context, object, size);
	bp_aside_resize(0);
	if (moved == NULL)
		return NULL;
	if (near_sample)
		bp_known_end(object);
	return small && is_in_arena(layer, moved, &before)
		       ? charge_moved(layer, context, moved, size)
		       : moved;
}

/* ---- the allocators ---- */

/* Plain: a request of 1 to small_max bytes is pymalloc's. */
#define PLAIN(domain)                                                                 \
	static void *plain_malloc_##domain(void *context, size_t size)                \
	{                                                                             \
		const struct layer *layer = &plain[domain];                           \
		if (size - 1 < layer->small_max &&                                    \
			bp_unlikely(bp_sampler_crosses(&bp_hot.counters, size)))      \
			return cold_malloc(layer, context, size);                     \
		return layer->real.malloc(context, size);                             \
	}                                                                             \
	static void *plain_calloc_##domain(void *context, size_t count, size_t size)  \
	{                                                                             \
		const struct layer *layer = &plain[domain];                           \
		size_t bytes;                                                         \
		if (!__builtin_mul_overflow(count, size, &bytes) &&                   \
			bytes - 1 < layer->small_max &&                               \
			bp_unlikely(bp_sampler_crosses(&bp_hot.counters, bytes)))     \
			return cold_calloc(layer, context, count, size);              \
		return layer->real.calloc(context, count, size);                      \
	}                                                                             \
	static void *plain_realloc_##domain(void *context, void *object, size_t size) \
	{                                                                             \
		return realloc_with(&plain[domain], context, object, size);           \
	}                                                                             \
	static void plain_free_##domain(void *context, void *object)                  \
	{                                                                             \
		if (bp_unlikely(bp_filter_hit(object))) {                             \
			free_near_sample(&plain[domain], context, object);            \
			return;                                                       \
		}                                                                     \
		plain[domain].real.free(context, object);                             \
	}

/* Checked: what the interpreter's checks add to a request is not known, so each object is asked
 * where it is. */
#define CHECKED(domain)                                                                 \
	static void *checked_malloc_##domain(void *context, size_t size)                \
	{                                                                               \
		void *object = checked[domain].real.malloc(context, size);              \
		if (is_for_us(&checked[domain], size))                                  \
			charge_small(&checked[domain], object, size);                   \
		return object;                                                          \
	}                                                                               \
	static void *checked_calloc_##domain(void *context, size_t count, size_t size)  \
	{                                                                               \
		size_t bytes;                                                           \
		void *object = checked[domain].real.calloc(context, count, size);       \
		if (!__builtin_mul_overflow(count, size, &bytes) &&                     \
			is_for_us(&checked[domain], bytes))                             \
			charge_small(&checked[domain], object, bytes);                  \
		return object;                                                          \
	}                                                                               \
	static void *checked_realloc_##domain(void *context, void *object, size_t size) \
	{                                                                               \
		return realloc_with(&checked[domain], context, object, size);           \
	}                                                                               \
	static void checked_free_##domain(void *context, void *object)                  \
	{                                                                               \
		if (bp_unlikely(bp_filter_hit(object))) {                               \
			free_near_sample(&checked[domain], context, object);            \
			return;                                                         \
		}                                                                       \
		checked[domain].real.free(context, object);                             \
	}

PLAIN(MEM)
PLAIN(OBJECT)
CHECKED(MEM)
CHECKED(OBJECT)

#define FUNCTIONS(kind, domain)                                                                \
	{                                                                                      \
		NULL, kind##_malloc_##domain, kind##_calloc_##domain, kind##_realloc_##domain, \
			kind##_free_##domain                                                   \
	}

static const struct bp_python_allocator plain_functions[DOMAINS] = {
	[MEM] = FUNCTIONS(plain, MEM), [OBJECT] = FUNCTIONS(plain, OBJECT)
};
static const struct bp_python_allocator checked_functions[DOMAINS] = {
	[MEM] = FUNCTIONS(checked, MEM), [OBJECT] = FUNCTIONS(checked, OBJECT)
};

static void *arena_alloc(void *context, size_t bytes)
{
	void *arena = real_arenas.alloc(context, bytes);
	__atomic_fetch_add(&arenas_made, 1, __ATOMIC_RELAXED);
	if (arena != NULL)
		(void)bp_python_arena_add(arena, bytes);
	return arena;
}

static void arena_free(void *context, void *arena, size_t bytes)
{
	bp_python_arena_remove(arena, bytes);
	real_arenas.free(context, arena, bytes);
}

/* ---- putting them in place ---- */

static void place(const struct bp_python_allocator *functions, struct layer *layers, int domain,
	const struct bp_python_allocator *now)
{
	struct bp_python_allocator ours = functions[domain];
	ours.context = now->context;
	if (layers[domain].aside)
		ours.free = now->free;
	layers[domain].real = *now;
	__atomic_store_n(&layers[domain].small_max, bp_python.small_max, __ATOMIC_RELEASE);
	api.set_allocator(domain, &ours);
}

/* What PYTHONMALLOC calls the allocators that are there; empty where they have no name. Only once
 * the interpreter has chosen them: in 3.12 the function takes a lock that is not made before. */
static const char *name_of_allocators(void)
{
	const char *name = api.allocator_name != NULL ? api.allocator_name() : NULL;
	return name != NULL ? name : "";
}

/* Stands in front of the allocators that are there. `chosen`: the interpreter has chosen them. */
static enum bp_python_state stand_before(
	const struct bp_python_allocator now[DOMAINS], bool plain_ones, bool chosen)
{
	const char *name = chosen ? name_of_allocators() : "";
	const bool all = __builtin_strncmp(name, "mimalloc", 8) == 0;
	bp_python.small_max = 0;
	if (now[OBJECT].malloc == now[BP_PYTHON_RAW].malloc ||
		__builtin_strncmp(name, "malloc", 6) == 0)
		return BP_PYTHON_ALL_IN_MALLOC;
	plain_ones = plain_ones && !all;
	bp_python.small_max = all ? BP_PYTHON_SIZE_MAX : BP_PYTHON_SMALL_MAX;
	checked[MEM].all = checked[OBJECT].all = all;
	for (int domain = MEM; domain < DOMAINS; domain++)
		place(plain_ones ? plain_functions : checked_functions,
			plain_ones ? plain : checked, domain, &now[domain]);
	return BP_PYTHON_RECORDED;
}

void bp_python_read_allocators(struct bp_python_allocator ret_now[DOMAINS])
{
	for (int domain = BP_PYTHON_RAW; domain < DOMAINS; domain++)
		api.get_allocator(domain, &ret_now[domain]);
}

static void stand_before_arenas(void)
{
	struct arena_allocator now;
	api.get_arenas(&now);
	if (now.alloc == arena_alloc)
		return;
	real_arenas = now;
	struct arena_allocator ours = { now.context, arena_alloc, arena_free };
	api.set_arenas(&ours);
}

bool bp_python_stands_before(const struct bp_python_allocator now[DOMAINS])
{
	return now[MEM].malloc == plain_functions[MEM].malloc &&
	       now[OBJECT].malloc == plain_functions[OBJECT].malloc;
}

void bp_python_begin_late(const struct bp_python_allocator now[DOMAINS])
{
	stand_before_arenas();
	for (int domain = MEM; domain < DOMAINS; domain++) {
		plain[domain].aside = plain[domain].late = true;
		if (now[domain].malloc != plain_functions[domain].malloc)
			place(plain_functions, plain, domain, &now[domain]);
		else
			__atomic_store_n(
				&plain[domain].small_max, BP_PYTHON_SMALL_MAX, __ATOMIC_RELEASE);
	}
}

void bp_python_stop_late(void)
{
	for (int domain = MEM; domain < DOMAINS; domain++)
		__atomic_store_n(&plain[domain].small_max, 0, __ATOMIC_RELEASE);
}

bool bp_python_give_back(const struct bp_python_allocator now[DOMAINS])
{
	struct arena_allocator arenas;
	bool all = true;
	for (int domain = MEM; domain < DOMAINS; domain++) {
		const bool ours = now[domain].malloc == plain_functions[domain].malloc;
		if (ours)
			api.set_allocator(domain, &plain[domain].real);
		all &= ours;
	}
	api.get_arenas(&arenas);
	if (arenas.alloc == arena_alloc)
		api.set_arenas(&real_arenas);
	return all;
}

static bool is_ours(const struct bp_python_allocator *allocator)
{
	return allocator->malloc == plain_malloc_OBJECT ||
	       allocator->malloc == checked_malloc_OBJECT;
}

static void adopt_objects(void)
{
	struct bp_python_allocator now[DOMAINS];
	if (bp_python.wanted != BP_PYTHON_ALL || !bp_python_hooks_objects())
		return;
	if (api.get_allocator == NULL || api.get_arenas == NULL || api.set_arenas == NULL) {
		bp_python.objects_state = BP_PYTHON_UNKNOWN_VERSION;
		return;
	}
	if (bp_python.frames_state == BP_PYTHON_FREE_THREADED ||
		bp_python.frames_state == BP_PYTHON_UNKNOWN_VERSION) {
		bp_python.objects_state = bp_python.frames_state;
		return;
	}
	if (bp_recorder.is_late) {
		bp_python.objects_state = BP_PYTHON_WAITING;
		return;
	}
	if (!bp_filter_init())
		return;
	stand_before_arenas();
	bp_python_read_allocators(now);
	/* As the program starts, the allocators are those that CPython is compiled with. An
	 * interpreter that was loaded later may have got others by then, which know no block that
	 * they did not make. */
	plain[MEM].aside = plain[OBJECT].aside = bp_recorder.mode == BP_MODE_STARTING;
	bp_python.objects_state =
		stand_before(now, true, bp_python.functions.is_initialized() != 0);
}

/* The functions of CPython in an object that has them. */
static void adopt(const struct link_map *map)
{
	struct bp_python_functions functions = { 0 };
	uint64_t bytes;
	const struct {
		const char *name;
		void *ret_function;
	} wanted[] = {
		{ "_PyThreadState_UncheckedGet", &functions.current_thread },
		{ "PyThreadState_GetUnchecked", &functions.current_thread },
		{ "PyGILState_GetThisThreadState", &functions.own_thread },
		{ "PyCode_Addr2Line", &functions.line_of },
		{ "Py_GetVersion", &functions.version },
		{ "_PyRuntime", &functions.runtime },
		{ "PyMem_GetAllocator", &api.get_allocator },
		{ "PyMem_SetAllocator", &api.set_allocator },
		{ "PyObject_GetArenaAllocator", &api.get_arenas },
		{ "PyObject_SetArenaAllocator", &api.set_arenas },
		{ "_PyMem_GetCurrentAllocatorName", &api.allocator_name },
		{ "Py_IsInitialized", &functions.is_initialized },
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const void *found = bp_symbol_table_place(map, wanted[i].name, &bytes);
		if (found != NULL)
			__builtin_memcpy(wanted[i].ret_function, &found, sizeof found);
	}
	functions.evaluate =
		bp_symbol_table_place(map, "_PyEval_EvalFrameDefault", &functions.evaluate_bytes);
	if (functions.version == NULL || functions.is_initialized == NULL)
		return;
	bp_python_found(&functions);
	bp_python_find_late(map);
	bp_python_find_end(map);
	adopt_objects();
	bp_python.looks_left = bp_python.objects_state == BP_PYTHON_RECORDED ? BP_PYTHON_LOOKS : 0;
	bp_python_describe(&bp_recorder.writer);
}

void bp_real_adopt_python(void)
{
	if (bp_python.wanted == BP_PYTHON_OFF)
		return;
	const struct link_map *map = bp_symbol_table_definer(BP_PYTHON_DEFINES);
	bp_python_watch_modules();
	if (map == NULL)
		return;
	adopt(map);
	bp_python.unsettled = true;
}

/* The interpreter has chosen its allocators anew, which are not ours. */
static void choose_anew(const struct bp_python_allocator now[DOMAINS])
{
	/* Should ours still stand behind these, they count no more. */
	const bool same = now[OBJECT].malloc == plain[OBJECT].real.malloc;
	plain[MEM].small_max = plain[OBJECT].small_max = 0;
	stand_before_arenas();
	if (same || !plain[OBJECT].late) {
		/* (The same ones have no other name now. To ask for it takes a lock, which an
		 * interpreter that starts again may not have made yet.) */
		bp_python.objects_state = stand_before(now, same, !same);
		/* After its end it may go on to choose what PYTHONMALLOC names. */
		bp_python.unsettled = bp_python_started_again();
	} else {
		bp_python.objects_state = BP_PYTHON_WAITING; /* python_late.c judges them */
		(void)bp_python_started_again();
	}
	bp_python_describe(&bp_recorder.writer);
}

/* Has the interpreter chosen its allocators anew since the start, or since it ended? It does so
 * before it is initialised, or not at all. */
static void look_at_allocators(bool allocates)
{
	struct bp_python_allocator now[DOMAINS];
	if (bp_python.looks_left != 0)
		bp_python.looks_left--;
	if (!bp_python_may_look(allocates))
		return;
	const bool initialized = bp_python.functions.is_initialized() != 0;
	if (bp_python.objects_state == BP_PYTHON_RECORDED) {
		bp_python_read_allocators(now);
		if (!is_ours(&now[OBJECT])) {
			choose_anew(now);
			return;
		}
	}
	if (initialized) {
		bp_python.unsettled = false;
		(void)bp_python_started_again();
	}
}

void bp_real_look_at_python(bool allocates)
{
	if (bp_python.known && bp_python.objects_state == BP_PYTHON_WAITING) {
		bp_python_look_late();
	} else if (bp_python.known) {
		look_at_allocators(allocates);
	} else if (!bp_python_adopt_found(adopt)) {
		bp_python.unsettled = false; /* it was closed */
	}
}
