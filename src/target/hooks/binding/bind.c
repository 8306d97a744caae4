/* SPDX-License-Identifier: MIT */
/*
 * Binding callers of an allocator's own entries (extended.h) to our hooks: in each loaded object
 * the places that the loader fills, or will fill, with such an entry's address get our hook's.
 *
 * Per object: undefined symbols stand in front of the hashed ones in its dynamic symbol table (the
 * format of DT_GNU_HASH wants it so). Nearly always none is of interest, and that is all. Else its
 * relocations are walked. A place that holds something else than the entry, and is no PLT slot
 * still to be bound, is left alone. Places that the loader has made read-only are opened for the
 * moment.
 *
 * Objects loaded later are not looked at: what they do by these entries is not seen.
 */
#include <elf.h>
#include <link.h>
#include <stddef.h>

#include "hooks/extended.h"
#include "hooks/binding/patch.h"
#include "hooks/binding/places.h"
#include "hooks/binding/symbol_table.h"
#include "recorder/real.h"
#include "unwind/frame_rules.h"

static void bind_symbol(
	const struct bp_object *object, uint32_t symbol, const struct bp_extended *entry)
{
	for (int table = 0; table < 2; table++) {
		const Elf64_Rela *row = object->tables[table];
		const Elf64_Rela *end =
			row + (row == NULL ? 0 : object->bytes[table] / sizeof *row);
		for (; row < end; row++) {
			const enum bp_place kind = bp_patch_place(ELF64_R_TYPE(row->r_info));
			if (ELF64_R_SYM(row->r_info) != symbol || row->r_addend != 0 ||
				kind == BP_PLACE_OTHER)
				continue;
			const uintptr_t place = object->map->l_addr + row->r_offset;
			const uintptr_t holds = *(const uintptr_t *)place;
			const bool unbound = kind == BP_PLACE_JUMP_SLOT && holds >= object->start &&
					     holds < object->end;
			if (unbound || holds == (uintptr_t)*entry->real)
				(void)bp_object_store(object, place, (uintptr_t)entry->hook);
		}
	}
}

static void bind_object(const struct bp_object *object)
{
	const uint32_t hashed_from = object->hash[1];
	for (uint32_t i = 1; i < hashed_from; i++) {
		const Elf64_Sym *symbol = &object->symbols[i];
		if (symbol->st_shndx != SHN_UNDEF)
			continue;
		const struct bp_extended *entry = bp_extended_find(object->names + symbol->st_name);
		if (entry != NULL && *entry->real != NULL)
			bind_symbol(object, i, entry);
	}
}

void bp_extended_bind(void)
{
	struct bp_module_range ours;
	struct bp_object object;
	if (!bp_module_range_find((uintptr_t)bp_extended_bind, &ours))
		return;
	const struct link_map *map = ours.link_map;
	while (map->l_prev != NULL)
		map = map->l_prev;
	for (; map != NULL; map = map->l_next)
		if (bp_object_read(map, &object) &&
			!bp_real_is_home((const void *)object.map->l_ld))
			bind_object(&object);
}
