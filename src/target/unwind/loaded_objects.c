/* SPDX-License-Identifier: MIT */
/*
 * Two tables, of which one is read while the other is made. Threads that make one are kept apart by
 * the loader's lock, which dl_iterate_phdr holds during its callback. `turn` counts the tables that
 * were published; table turn & 1 is the one to read. The maker of table N + 1 writes where table
 * N - 1 was, so that a reader who finds `turn` unchanged after reading has read a whole table. A
 * reader waits for nobody: it tries again, a bounded number of times.
 *
 * Entries are ranges in ascending order. A library is one range, since the loader keeps the holes
 * between its segments; the executable, which the kernel has mapped, is a range for each piece,
 * since something else may lie in its holes. What does not fit into a table is not found: stacks
 * end there, and are recorded as incomplete.
 *
 * The loader's name for an object, its link map, is no part of what dl_iterate_phdr tells. It is
 * the one with the same dynamic section in the list that begins at _r_debug, which has the same
 * order and is guarded by the same lock.
 */
#include "unwind/loaded_objects.h"

#include <link.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/system_call.h"

#define RANGES_MAX 4096u
#define ATTEMPTS_MAX 16

/* musl has no such object. */
extern struct r_debug _r_debug __attribute__((weak));

struct table {
	uint64_t added, removed; /* the loader's counts when the table was made */
	uint32_t count;
	struct bp_module_range ranges[RANGES_MAX];
};

static struct {
	uint64_t turn;	/* 0: there is no table yet */
	bool making;	/* a signal handler may come while its own thread makes a table */
	bool inherited; /* the loader's lock may be that of a thread that this process has not */
	struct table tables[2];
} loaded;

/* A table that is being made. */
struct making {
	struct table *table;
	const struct link_map *map; /* where the search in the loader's list goes on */
};

static void add(struct table *table, const struct bp_module_range *range)
{
	uint32_t place = table->count;
	if (place == RANGES_MAX || range->start >= range->end)
		return;
	for (; place > 0 && table->ranges[place - 1].start > range->start; place--)
		table->ranges[place] = table->ranges[place - 1];
	table->ranges[place] = *range;
	table->count++;
}

static const struct link_map *find_map(struct making *making, uintptr_t dynamic)
{
	const struct link_map *map = making->map;
	while (map != NULL && (uintptr_t)map->l_ld != dynamic)
		map = map->l_next;
	if (map != NULL)
		making->map = map->l_next;
	return map;
}

static void add_pieces(
	struct table *table, const struct dl_phdr_info *info, const struct bp_module_range *object)
{
	const struct link_map *map = object->link_map;
	struct bp_module_range piece = *object;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD)
			continue;
		const uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		const uintptr_t first = bp_system_page_of(start);
		const bool hole = map->l_prev == NULL && first > bp_system_whole_pages(piece.end);
		if (piece.end == 0 || hole) {
			add(table, &piece);
			piece.start = first;
		}
		piece.end = start + segment->p_memsz;
	}
	add(table, &piece);
}

static int add_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct making *making = context;
	struct bp_module_range object = { 0 };
	uintptr_t dynamic = 0;
	(void)bytes;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_DYNAMIC)
			dynamic = info->dlpi_addr + segment->p_vaddr;
		else if (segment->p_type == PT_GNU_EH_FRAME)
			object.frame_header = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
	}
	object.link_map = dynamic != 0 ? find_map(making, dynamic) : NULL;
	if (object.link_map != NULL)
		add_pieces(making->table, info, &object);
	return 0;
}

/* Is called for the first object: the counts are the same for all. The loader's lock is held, and
 * may be taken again by the thread that holds it. */
static int look_at_first(struct dl_phdr_info *info, size_t bytes, void *context)
{
	const uint64_t turn = loaded.turn;
	const bool counted =
		bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs;
	struct table *table = &loaded.tables[(turn + 1) & 1];
	const struct table *now = &loaded.tables[turn & 1];
	(void)context;
	if (loaded.making || (turn != 0 && counted && now->added == info->dlpi_adds &&
				     now->removed == info->dlpi_subs))
		return 1;
	loaded.making = true;
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* what follows comes after the last `turn` */
	struct making making = { table, _r_debug.r_map };
	table->count = 0;
	table->added = counted ? info->dlpi_adds : 0;
	table->removed = counted ? info->dlpi_subs : 0;
	(void)dl_iterate_phdr(add_object, &making);
	__atomic_store_n(&loaded.turn, turn + 1, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	loaded.making = false;
	return 1;
}

void bp_loaded_objects_look(void)
{
	if (&_r_debug != NULL && !__atomic_load_n(&loaded.inherited, __ATOMIC_RELAXED))
		(void)dl_iterate_phdr(look_at_first, NULL);
}

void bp_loaded_objects_look_again(void)
{
	__atomic_store_n(&loaded.inherited, false, __ATOMIC_RELAXED);
	bp_loaded_objects_look();
}

void bp_loaded_objects_after_fork(void)
{
	loaded.inherited = true;
	loaded.making = false;
}

/* The last range that begins at `pc` or before. */
static bool search(const struct table *table, uintptr_t pc, struct bp_module_range *ret_range)
{
	uint32_t low = 0, high = table->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (table->ranges[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || pc >= table->ranges[low - 1].end)
		return false;
	*ret_range = table->ranges[low - 1];
	return true;
}

bool bp_loaded_objects_find(uintptr_t pc, struct bp_module_range *ret_range)
{
	for (int i = 0; i < ATTEMPTS_MAX; i++) {
		const uint64_t turn = __atomic_load_n(&loaded.turn, __ATOMIC_ACQUIRE);
		struct bp_module_range range;
		const bool found = turn != 0 && search(&loaded.tables[turn & 1], pc, &range);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&loaded.turn, __ATOMIC_RELAXED) != turn)
			continue;
		if (found)
			*ret_range = range;
		return found;
	}
	return false;
}
