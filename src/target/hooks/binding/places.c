/* SPDX-License-Identifier: MIT */
/* See places.h. */
#include "hooks/binding/places.h"

#include <elf.h>
#include <stddef.h>

#include "base/system_call.h"
#include "hooks/binding/symbol_table.h"
#include "unwind/frame_rules.h"

/* False: its program headers are not where they should be, nothing is known. */
static bool find_sealed(struct bp_object *object)
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

bool bp_object_read(const struct link_map *map, struct bp_object *ret_object)
{
	struct bp_object object = { .map = map };
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

/* A page may be written to if the kernel can add zero to a word of it, which changes nothing and
 * wakes nobody. */
static bool is_writable(uintptr_t place)
{
	static uint32_t word;
	const int wake_op = 5, add_zero = 1 << 28;
	return syscall(SYS_futex, &word, wake_op, 0, 0ul, place, add_zero) >= 0;
}

bool bp_object_is_ready(const struct bp_object *object)
{
	return object->sealed_start == object->sealed_end || !is_writable(object->sealed_start);
}

bool bp_object_store(const struct bp_object *object, uintptr_t place, uintptr_t value)
{
	const bool sealed = place >= object->sealed_start && place < object->sealed_end;
	const uintptr_t page = bp_system_page_of(place);
	const size_t bytes = bp_system_page_bytes();
	if (sealed && syscall(SYS_mprotect, page, bytes, PROT_READ | PROT_WRITE) != 0)
		return false;
	__atomic_store_n((uintptr_t *)place, value, __ATOMIC_RELAXED);
	if (sealed)
		(void)syscall(SYS_mprotect, page, bytes, PROT_READ);
	return true;
}
