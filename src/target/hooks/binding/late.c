/* SPDX-License-Identifier: MIT */
/*
 * See late.h. All of this happens in a callback of dl_iterate_phdr, while the loader adds and
 * removes no object. Nothing in the callback allocates, asks the loader or waits.
 *
 * Which places. Those of relocations by a hooked name that hold the real function's address, and
 * PLT slots that the loader fills at the first call, if the name has one definition alone (with
 * several it is not known which one the loader will choose). Whatever else a place holds, the
 * program has put it there, or another library's function of that name, and it stays. One store
 * changes a place: a thread that calls at that moment gets the one function or the other, and both
 * are right, because a free that is not seen does no harm (docs/internals/recognition.md).
 *
 * An object whose read-only places are not read-only yet is being relocated by another thread. It
 * is left alone until the next look.
 *
 * Later objects. dlopen searches by its caller's paths, so only a name with a slash, whose meaning
 * does not depend on the caller, can be opened in the caller's stead and looked at afterwards.
 * After any other call the next dlopen, dlsym or dlclose of the program looks (symbols.c, life.c).
 *
 * Not found: pointers that the program has copied before, and calls that are bound within an
 * object.
 */
#include "hooks/binding/late.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "hooks/binding/libc_names.h"
#include "hooks/binding/patch.h"
#include "hooks/binding/places.h"
#include "hooks/binding/real_other.h"
#include "hooks/binding/symbol_table.h"
#include "hooks/extended.h"
#include "hooks/names.h"
#include "recorder/real.h"
#include "recorder/recorder.h"

#define OPERATOR(name, text) extern uintptr_t name(uintptr_t, uintptr_t, uintptr_t);
BP_HOOKS_NEW(OPERATOR)
BP_HOOKS_DELETE(OPERATOR)
#undef OPERATOR

static void *late_dlopen(const char *file, int mode);

/* A hooked function: the operators are bound where they are the allocator's own, because those of
 * libstdc++ call malloc. */
struct place_of {
	const char *name;
	const void *hook;
	const void *real; /* NULL: no object defines it */
	bool allocates, is_operator, is_alone;
};

/* clang-format off */
#define ALLOCATES(function, text) { #function, (const void *)function, NULL, true, false, false },
#define LIVES(function, text) { #function, (const void *)function, NULL, false, false, false },
#define IS_OPERATOR(function, text) { #function, (const void *)function, NULL, true, true, false },
static struct place_of table[] = {
	BP_HOOKS_MALLOC(ALLOCATES)
	BP_HOOKS_ALIASES(ALLOCATES)
	BP_HOOKS_NEW(IS_OPERATOR)
	BP_HOOKS_DELETE(IS_OPERATOR)
	BP_HOOKS_LIFE(LIVES)
	BP_HOOKS_EXEC(LIVES)
	{ "dlopen", (const void *)late_dlopen, NULL, false, false, false },
};
/* clang-format on */

bool bp_late_wants_look __attribute__((visibility("hidden")));

static struct {
	bool bound, adopted;
	struct bp_coverage coverage;
	void *(*dlopen)(const char *file, int mode);
} late;

/* ---- one object ---- */

static struct place_of *find_name(const char *name)
{
	for (size_t i = 0; i < BP_COUNT(table); i++)
		if (table[i].name[0] == name[0] && strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

/* What a place with a relocation by that name may hold: the real function, and its hook. */
struct pair {
	uintptr_t real, hook;
	bool is_alone, allocates;
};

static bool find_pair(const char *name, struct pair *ret_pair)
{
	const struct place_of *found = find_name(name);
	if (found != NULL) {
		*ret_pair = (struct pair){ (uintptr_t)found->real, (uintptr_t)found->hook,
			found->is_alone, found->allocates };
		return found->real != NULL && (!found->is_operator || bp_real_is_home(found->real));
	}
	const struct bp_extended *entry = bp_extended_find(name);
	if (entry == NULL || *entry->real == NULL)
		return false;
	*ret_pair = (struct pair){ (uintptr_t)*entry->real, (uintptr_t)entry->hook, true, true };
	return true;
}

/* False: calls by this place are not the recorder's to see. */
static bool change_place(const struct bp_object *object, const struct pair *pair, uintptr_t place,
	enum bp_place kind)
{
	const uintptr_t holds = __atomic_load_n((const uintptr_t *)place, __ATOMIC_RELAXED);
	const bool unbound = kind == BP_PLACE_JUMP_SLOT && pair->is_alone &&
			     holds >= object->start && holds < object->end && holds != pair->real;
	if (!late.bound)
		return holds != pair->hook || bp_object_store(object, place, pair->real);
	if (holds == pair->real || unbound)
		return bp_object_store(object, place, pair->hook);
	return holds == pair->hook;
}

/* False: some calls of the object are not seen. */
static bool change_object(const struct bp_object *object)
{
	bool all = true;
	for (int i = 0; i < 2; i++) {
		const Elf64_Rela *row = object->tables[i];
		const Elf64_Rela *end = row + (row == NULL ? 0 : object->bytes[i] / sizeof *row);
		for (; row < end; row++) {
			const enum bp_place kind = bp_patch_place(ELF64_R_TYPE(row->r_info));
			const uint64_t symbol = ELF64_R_SYM(row->r_info);
			struct pair pair;
			if (kind == BP_PLACE_OTHER || row->r_addend != 0 || symbol == 0 ||
				!find_pair(object->names + object->symbols[symbol].st_name, &pair))
				continue;
			all &= change_place(
				       object, &pair, object->map->l_addr + row->r_offset, kind) ||
			       !pair.allocates;
		}
	}
	return all;
}

/* ---- all objects ---- */

static const struct link_map *first_object(void)
{
	const struct link_map *map = bp_symbol_table_own_map();
	while (map != NULL && map->l_prev != NULL)
		map = map->l_prev;
	return map;
}

static void change_objects(void)
{
	const struct link_map *own = bp_symbol_table_own_map();
	late.coverage = (struct bp_coverage){ 0 };
	for (const struct link_map *map = first_object(); map != NULL; map = map->l_next) {
		struct bp_object object;
		if (map == own || !bp_object_read(map, &object) ||
			(object.tables[0] == NULL && object.tables[1] == NULL))
			continue;
		const bool ready = bp_object_is_ready(&object);
		if (!ready)
			bp_late_wants_look = late.bound;
		late.coverage.objects++;
		late.coverage.covered += ready && change_object(&object);
	}
}

/* Fills the table: the real functions, and whether they are the only ones of their names. */
static void find_functions(void)
{
	const struct link_map *own = bp_symbol_table_own_map();
	for (size_t i = 0; i < BP_COUNT(table); i++) {
		struct place_of *place = &table[i];
		unsigned definitions = 0;
		place->real = bp_real_next(place->name);
		for (const struct link_map *map = first_object(); map != NULL; map = map->l_next)
			definitions += map != own && bp_symbol_table_defines(map, place->name);
		place->is_alone = definitions == 1;
	}
	const void *real = find_name("dlopen")->real;
	__builtin_memcpy(&late.dlopen, &real, sizeof late.dlopen);
}

static int with_list_kept(struct dl_phdr_info *info, size_t bytes, void *context)
{
	(void)info, (void)bytes;
	struct work {
		void (*function)(void);
	} *work = context;
	work->function();
	return 1; /* the list is walked by itself */
}

static void with_list(void (*function)(void))
{
	struct {
		void (*function)(void);
	} work = { function };
	(void)dl_iterate_phdr(with_list_kept, &work);
}

static void resolve(void)
{
	(void)bp_real_resolve();
}

static void find_and_change(void)
{
	find_functions();
	change_objects();
}

static void adopt(void)
{
	bp_real_adopt_extended();
	bp_real_adopt_python();
	change_objects();
}

enum bp_real_form bp_real_resolve_late(void)
{
	with_list(resolve);
	return bp_real_resolve();
}

struct bp_coverage bp_real_bind(void)
{
	late.bound = true;
	bp_late_wants_look = false;
	with_list(find_and_change);
	if (late.adopted)
		return late.coverage;
	late.adopted = true;
	/* An allocator's own operators are tried out once what they may call is counted. The
	 * allocator may wait for the loader's list itself, with a lock of its own held (tcmalloc,
	 * which walks stacks by libunwind): so the list is not kept meanwhile. */
	bp_real_adopt_operators();
	with_list(adopt);
	return late.coverage;
}

void bp_real_unbind(void)
{
	late.bound = bp_late_wants_look = false;
	with_list(change_objects);
}

/* ---- later objects ---- */

void bp_late_look(void)
{
	bp_late_wants_look = false;
	if (!late.bound)
		return;
	with_list(change_objects);
	bp_recorder_covers(late.coverage.objects, late.coverage.covered);
}

static void *late_dlopen(const char *file, int mode)
{
	bp_late_wants_look = late.bound;
	if (file == NULL || strchr(file, '/') == NULL || strchr(file, '$') != NULL)
		return late.dlopen(file, mode);
	void *handle = late.dlopen(file, mode);
	if (bp_late_wants_look)
		bp_late_look();
	return handle;
}
