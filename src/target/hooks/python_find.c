/* SPDX-License-Identifier: MIT */
/*
 * A CPython that is loaded after the start: a libpython that a program opens, or the one that a
 * library needs which it opens. Its small objects are counted from its start on if it is found
 * before, which is done in dlsym: by it a program finds Py_Initialize, or the function of its
 * library that calls it. One that is started as it is loaded, by a constructor, is met in the first
 * stack that is in it, and what it has made until then is in no total.
 *
 * A look takes the loader's lock of dl_iterate_phdr, which dlsym itself does not take. A program
 * may hold a lock of its own meanwhile that a callback of dl_iterate_phdr wants. So looks are made
 * where there may be something new, and not in each of the calls by which programs ask one library
 * for hundreds of names.
 */
#include <link.h>

#include "base/attributes.h"
#include "hooks/binding/places.h"
#include "hooks/binding/symbol_table.h"
#include "hooks/python.h"
#include "python/interpreter.h"
#include "recognition/hot.h"
#include "recorder/recorder.h"
#include "recorder/visit.h"
#include "unwind/modules.h"

static const struct link_map *found;  /* and not adopted yet */
static const struct bp_hot *found_by; /* the thread */
static unsigned long long loads_seen; /* what the loader had loaded in all, at the last look */
static const void *handles[8];	      /* of dlsym, that were met since the last dlclose */
static uint32_t handles_met;

/* One thread at a time finds one, at the end of whose visit it is adopted. */
static void take_note(const struct link_map *map)
{
	const struct link_map *none = NULL;
	if (!__atomic_compare_exchange_n(
		    &found, &none, map, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	if (bp_python.known) { /* by another thread, just now */
		__atomic_store_n(&found, NULL, __ATOMIC_RELEASE);
		return;
	}
	found_by = &bp_hot;
	bp_python.looks_left = BP_PYTHON_LOOKS; /* The interpreter may be about to start. */
	__atomic_store_n(&bp_python.unsettled, true, __ATOMIC_RELEASE);
}

/* A module was met in a stack for the first time. It is looked into at once, as long as it cannot
 * be unloaded; what follows has to wait for the end of the visit. */
static void look_at_module(const void *link_map)
{
	if (!bp_python.known && bp_symbol_table_defines(link_map, BP_PYTHON_DEFINES))
		take_note(link_map);
}

void bp_python_watch_modules(void)
{
	bp_modules_watch(look_at_module);
}

struct look {
	const struct link_map *map;
	unsigned long long loads;
};

/* The loader's list cannot change meanwhile. */
static int look(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct look *now = context;
	struct bp_object object;
	(void)bytes;
	if (info->dlpi_adds == now->loads)
		return 1;
	const struct link_map *map = bp_symbol_table_definer(BP_PYTHON_DEFINES);
	if (map == NULL || !bp_object_read(map, &object) || bp_object_is_ready(&object))
		*now = (struct look){ map, info->dlpi_adds };
	return 1; /* not ready: another thread loads it, and the next look finds it */
}

static bool is_new(const void *handle)
{
	for (size_t i = 0; i < BP_COUNT(handles); i++)
		if (__atomic_load_n(&handles[i], __ATOMIC_RELAXED) == handle)
			return false;
	const uint32_t at = __atomic_fetch_add(&handles_met, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&handles[at % BP_COUNT(handles)], handle, __ATOMIC_RELAXED);
	return true;
}

void bp_python_forget_handles(void)
{
	for (size_t i = 0; i < BP_COUNT(handles); i++)
		__atomic_store_n(&handles[i], NULL, __ATOMIC_RELAXED);
}

void bp_python_look_at_loaded(const void *handle, const char *name)
{
	struct look now = { NULL, __atomic_load_n(&loads_seen, __ATOMIC_RELAXED) };
	struct bp_visit visit;
	if (bp_python.known || bp_python.wanted == BP_PYTHON_OFF ||
		bp_recorder.mode != BP_MODE_ON || bp_hot.busy ||
		!(is_new(handle) || (name[0] == 'P' && name[1] == 'y')))
		return;
	(void)dl_iterate_phdr(look, &now);
	if (now.map != NULL) {
		if (!bp_visit_begin(&visit, 0))
			return;
		take_note(now.map);
		bp_visit_end(&visit, visit.left);
	}
	__atomic_store_n(&loads_seen, now.loads, __ATOMIC_RELAXED);
}

bool bp_python_adopt_found(void (*adopt)(const struct link_map *map))
{
	const struct link_map *map = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
	if (map != NULL && found_by == &bp_hot) {
		adopt(map);
		found_by = NULL;
		__atomic_store_n(&found, NULL, __ATOMIC_RELEASE);
	}
	return map != NULL;
}
