/* SPDX-License-Identifier: MIT */
/*
 * See shared_rules.h. A constructor of a library may open another library before the recorder
 * starts, and close it later. Should another module then come to its addresses, the entries of its
 * code would be wrong in that process; so a process in which one of the modules of the start is
 * gone uses no shared entries any more.
 */
#include "unwind/shared_rules.h"

#include <link.h>

#include "base/system_call.h"
#include "unwind/frame_rules.h"
#include "unwind/rule_cache.h"

/* Of more modules the others' rules are not shared. */
#define MODULES_MAX 128u

static struct {
	uint64_t *entries; /* NULL: nothing is shared */
	uint32_t count;
	struct bp_module_range modules[MODULES_MAX];
} shared;

static bool is_same(const struct bp_module_range *module)
{
	struct bp_module_range now;
	return bp_module_range_find(module->start, &now) && now.link_map == module->link_map &&
	       now.end == module->end;
}

void bp_shared_rules_init(void)
{
	struct bp_module_range range;
	if (!bp_module_range_find((uintptr_t)bp_shared_rules_init, &range))
		return;
	const struct link_map *map = range.link_map;
	while (map->l_prev != NULL)
		map = map->l_prev;
	for (; map != NULL && shared.count < MODULES_MAX; map = map->l_next)
		if (bp_module_range_find((uintptr_t)map->l_ld, &range) && range.link_map == map)
			shared.modules[shared.count++] = range;
	shared.entries = bp_system_map(BP_RULE_CACHE_ENTRIES * sizeof *shared.entries,
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

uint32_t bp_shared_rules_find(uint64_t address)
{
	return bp_rule_entries_find(__atomic_load_n(&shared.entries, __ATOMIC_RELAXED), address);
}

void bp_shared_rules_store(uint64_t address, uint32_t rules)
{
	uint64_t *entries = __atomic_load_n(&shared.entries, __ATOMIC_RELAXED);
	for (uint32_t i = 0; entries != NULL && i < shared.count; i++) {
		const struct bp_module_range *module = &shared.modules[i];
		if (address >= module->start && address < module->end) {
			(void)bp_rule_entries_store(entries, address, rules);
			return;
		}
	}
}

void bp_shared_rules_check(void)
{
	for (uint32_t i = 0; i < shared.count; i++)
		if (!is_same(&shared.modules[i])) {
			__atomic_store_n(&shared.entries, NULL, __ATOMIC_RELAXED);
			return;
		}
}
