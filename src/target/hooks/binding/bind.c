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

#include "base/system_call.h"
#include "hooks/extended.h"
#include "hooks/binding/patch.h"
#include "hooks/binding/symbol_table.h"
#include "recorder/real.h"
#include "unwind/frame_rules.h"

struct object {
	const struct link_map *map;
	const Elf64_Sym *symbols;
	const char *names;
	const uint32_t *hash; /* DT_GNU_HASH */
	const Elf64_Rela *tables[2];
	uint64_t bytes[2];
	uintptr_t start, end;		    /* of its mapping */
	uintptr_t sealed_start, sealed_end; /* whole pages made read-only */
};

/* False: its program headers are not where they should be, nothing is known. */
static bool find_sealed(struct object *object)
{
	const Elf64_Ehdr *file = (const Elf64_Ehdr *)object->start;
	if (__builtin_memcmp(file->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(object->start + file->e_phoff);
	for (uint32_t i = 0; i < file->e_phnum; i++)
		if (segments[i].p_type == PT_GNU_RELRO) {
			const uintptr_t start = object->map->l_addr + segments[i].p_vaddr;
			object->sealed_start = bp_system_page_of(start);
			object->sealed_end = bp_system_page_of(start + segments[i].p_memsz);
		}
	return true;
}

static bool look_at(const struct link_map *map, struct object *ret_object)
{
	struct object object = { .map = map };
	struct bp_module_range range;
	if (map->l_ld == NULL || !bp_module_range_find((uintptr_t)map->l_ld, &range))
		return false;
	object.start = range.start;
	object.end = range.end;
	struct bp_symbol_table table;
	if (!bp_symbol_table_read(map, &table) || table.gnu_hash == NULL)
		return false;
	object.symbols = table.symbols;
	object.names = table.names;
	object.hash = table.gnu_hash;
	for (const Elf64_Dyn *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		switch (entry->d_tag) {
		case DT_JMPREL:
			object.tables[0] = bp_symbol_table_absolute(map, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			object.bytes[0] = entry->d_un.d_val;
			break;
		case DT_RELA:
			object.tables[1] = bp_symbol_table_absolute(map, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			object.bytes[1] = entry->d_un.d_val;
			break;
		default:
			break;
		}
	if (!find_sealed(&object))
		return false;
	*ret_object = object;
	return true;
}

static void write_place(const struct object *object, uintptr_t place, uintptr_t value)
{
	const bool sealed = place >= object->sealed_start && place < object->sealed_end;
	const uintptr_t page = bp_system_page_of(place);
	const size_t bytes = bp_system_page_bytes();
	if (sealed && syscall(SYS_mprotect, page, bytes, PROT_READ | PROT_WRITE) != 0)
		return;
	__atomic_store_n((uintptr_t *)place, value, __ATOMIC_RELAXED);
	if (sealed)
		(void)syscall(SYS_mprotect, page, bytes, PROT_READ);
}

static void bind_symbol(
	const struct object *object, uint32_t symbol, const struct bp_extended *entry)
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
				write_place(object, place, (uintptr_t)entry->hook);
		}
	}
}

static void bind_object(const struct object *object)
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
	struct object object;
	if (!bp_module_range_find((uintptr_t)bp_extended_bind, &ours))
		return;
	const struct link_map *map = ours.link_map;
	while (map->l_prev != NULL)
		map = map->l_prev;
	for (; map != NULL; map = map->l_next)
		if (look_at(map, &object) && !bp_real_is_home((const void *)object.map->l_ld))
			bind_object(&object);
}
