/* SPDX-License-Identifier: MIT */
/* See symbol_table.h. The formats are those of the System V ABI (DT_HASH) and of GNU's linkers
 * (DT_GNU_HASH: a Bloom filter, buckets, and chains of hashes whose last entry is odd). */
#include "hooks/binding/symbol_table.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>

#include "base/attributes.h"
#include "hooks/binding/real_other.h"
#include "unwind/frame_rules.h"

#define VERSION_IS_HIDDEN 0x8000u /* of an entry of DT_VERSYM: not the default version */

/* musl's name for the head of its list; glibc has _dl_find_object instead. */
extern struct r_debug *_dl_debug_addr __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden"))); /* ours */

void *bp_symbol_table_absolute(const struct link_map *map, uint64_t value)
{
	/* glibc has made the addresses absolute, musl leaves them relative. */
	return (void *)(value < map->l_addr ? value + map->l_addr : value);
}

bool bp_symbol_table_read(const struct link_map *map, struct bp_symbol_table *ret_table)
{
	struct bp_symbol_table table = { .base = map->l_addr };
	if (map->l_ld == NULL)
		return false;
	for (const Elf64_Dyn *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		void *address = bp_symbol_table_absolute(map, entry->d_un.d_ptr);
		if (entry->d_tag == DT_SYMTAB)
			table.symbols = address;
		else if (entry->d_tag == DT_STRTAB)
			table.names = address;
		else if (entry->d_tag == DT_GNU_HASH)
			table.gnu_hash = address;
		else if (entry->d_tag == DT_HASH)
			table.hash = address;
		else if (entry->d_tag == DT_VERSYM)
			table.versions = address;
	}
	if (table.symbols == NULL || table.names == NULL ||
		(table.gnu_hash == NULL && table.hash == NULL))
		return false;
	*ret_table = table;
	return true;
}

uint32_t bp_symbol_table_hash(const char *name)
{
	uint32_t hash = 5381;
	for (; *name != '\0'; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static uint32_t system_v_hash(const char *name)
{
	uint32_t hash = 0;
	for (; *name != '\0'; name++) {
		hash = (hash << 4) + (uint8_t)*name;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	return hash;
}

/* Not by strcmp, which may be a sanitizer's (see real.c, is_sanitized). */
static bool is_same(const char *a, const char *b)
{
	while (*a == *b && *a != '\0')
		a++, b++;
	return *a == *b;
}

/* Does this entry define the name for other objects? */
static bool defines(const struct bp_symbol_table *table, uint32_t index, const char *name)
{
	const Elf64_Sym *symbol = &table->symbols[index];
	const unsigned type = ELF64_ST_TYPE(symbol->st_info);
	const unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
	       (type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC ||
		       type == STT_NOTYPE) &&
	       ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
	       (visibility == STV_DEFAULT || visibility == STV_PROTECTED) &&
	       is_same(table->names + symbol->st_name, name);
}

/* Takes note of an entry that may define the name. True: no better one can follow. */
static bool consider(const struct bp_symbol_table *table, uint32_t index, const char *name,
	const Elf64_Sym **found)
{
	if (!defines(table, index, name))
		return false;
	const bool hidden =
		table->versions != NULL && (table->versions[index] & VERSION_IS_HIDDEN) != 0;
	if (!hidden || *found == NULL)
		*found = &table->symbols[index];
	return !hidden;
}

static const Elf64_Sym *find_by_gnu_hash(
	const struct bp_symbol_table *table, const char *name, uint32_t hash)
{
	const uint32_t buckets = table->gnu_hash[0], first = table->gnu_hash[1];
	const uint32_t filter_words = table->gnu_hash[2], shift = table->gnu_hash[3];
	const uint64_t *filter = (const uint64_t *)(table->gnu_hash + 4);
	const uint32_t *bucket = (const uint32_t *)(filter + filter_words);
	const uint32_t *chain = bucket + buckets;
	const Elf64_Sym *found = NULL;
	if (buckets == 0 || filter_words == 0)
		return NULL;
	const uint64_t word = filter[hash / 64 % filter_words];
	if ((word >> hash % 64 & word >> (hash >> shift) % 64 & 1) == 0)
		return NULL;
	uint32_t index = bucket[hash % buckets];
	if (index < first)
		return NULL;
	for (;; index++) {
		const uint32_t linked = chain[index - first];
		if ((linked | 1) == (hash | 1) && consider(table, index, name, &found))
			return found;
		if ((linked & 1) != 0)
			return found;
	}
}

static const Elf64_Sym *find_by_hash(const struct bp_symbol_table *table, const char *name)
{
	const uint32_t buckets = table->hash[0], entries = table->hash[1];
	const uint32_t *bucket = table->hash + 2, *chain = bucket + buckets;
	const Elf64_Sym *found = NULL;
	if (buckets == 0)
		return NULL;
	uint32_t index = bucket[system_v_hash(name) % buckets];
	for (; index != STN_UNDEF && index < entries; index = chain[index])
		if (consider(table, index, name, &found))
			return found;
	return found;
}

static const Elf64_Sym *find(const struct bp_symbol_table *table, const char *name, uint32_t hash)
{
	return table->gnu_hash != NULL ? find_by_gnu_hash(table, name, hash)
				       : find_by_hash(table, name);
}

bool bp_symbol_table_defines(const struct link_map *map, const char *name)
{
	struct bp_symbol_table table;
	return bp_symbol_table_read(map, &table) &&
	       find(&table, name, bp_symbol_table_hash(name)) != NULL;
}

const struct link_map *bp_symbol_table_own_map(void)
{
	struct bp_module_range range;
	if (bp_module_range_find((uintptr_t)_DYNAMIC, &range))
		return range.link_map;
	if (&_dl_debug_addr == NULL)
		return NULL;
	const struct link_map *map = _dl_debug_addr->r_map;
	while (map != NULL && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map;
}

extern __typeof(gnu_get_libc_version) gnu_get_libc_version __attribute__((weak));

static bool stands_behind_libc(void)
{
	struct bp_module_range libc;
	const struct link_map *map = bp_symbol_table_own_map();
	if (map == NULL || gnu_get_libc_version == NULL ||
		!bp_module_range_find((uintptr_t)gnu_get_libc_version, &libc))
		return false;
	while (map != NULL && map != libc.link_map)
		map = map->l_prev;
	return map != NULL;
}

bool bp_symbol_table_is_late(void)
{
	static uint8_t answer; /* 1: no, 2: yes */
	if (answer == 0)
		answer = stands_behind_libc() ? 2 : 1;
	return answer == 2;
}

#define WANTED_MAX 64 /* at a time: one bit of a word each */

const void *bp_symbol_table_place(const struct link_map *map, const char *name, uint64_t *ret_bytes)
{
	struct bp_symbol_table table;
	const Elf64_Sym *symbol = NULL;
	if (bp_symbol_table_read(map, &table))
		symbol = find(&table, name, bp_symbol_table_hash(name));
	if (symbol == NULL)
		return NULL;
	*ret_bytes = symbol->st_size;
	return (const void *)(table.base + symbol->st_value);
}

static const struct link_map *first_map(const struct link_map *map)
{
	while (map != NULL && map->l_prev != NULL)
		map = map->l_prev;
	return map;
}

const struct link_map *bp_symbol_table_definer(const char *name)
{
	const struct link_map *map = first_map(bp_symbol_table_own_map());
	while (map != NULL && !bp_symbol_table_defines(map, name))
		map = map->l_next;
	return map;
}

/* Where to look. `handle`: asks dlsym for the same, where a symbol's address is computed by a
 * function of its object. */
struct scope {
	const struct link_map *first, *except;
	void *handle;
	bool computed; /* may dlsym be asked? Not while the loader's lock is held */
};

static void find_from(const struct scope *scope, const struct bp_wanted wanted[], size_t count)
{
	const struct link_map *map = scope->first;
	struct bp_symbol_table table;
	uint32_t hashes[WANTED_MAX];
	uint64_t missing = 0;
	for (size_t i = 0; i < count; i++) {
		hashes[i] = bp_symbol_table_hash(wanted[i].name);
		missing |= (uint64_t)1 << i;
	}
	for (; map != NULL && missing != 0; map = map->l_next) {
		if (map == scope->except || !bp_symbol_table_read(map, &table))
			continue;
		for (size_t i = 0; i < count; i++) {
			if ((missing >> i & 1) == 0)
				continue;
			const Elf64_Sym *symbol = find(&table, wanted[i].name, hashes[i]);
			const bool computed =
				symbol != NULL && ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
			if (symbol == NULL || (computed && !scope->computed))
				continue;
			void *function = (void *)(table.base + symbol->st_value);
			if (computed)
				function = bp_real_other.dlsym(scope->handle, wanted[i].name);
			__builtin_memcpy(wanted[i].ret_function, &function, sizeof function);
			missing &= ~((uint64_t)1 << i);
		}
	}
}

static void find_all(const struct scope *scope, const struct bp_wanted wanted[], size_t count)
{
	for (size_t done = 0; done < count; done += WANTED_MAX) {
		const size_t left = count - done;
		find_from(scope, wanted + done, left < WANTED_MAX ? left : WANTED_MAX);
	}
}

bool bp_symbol_table_find_behind(const struct bp_wanted wanted[], size_t count)
{
	const struct link_map *own = bp_symbol_table_own_map();
	if (own == NULL)
		return false;
	const bool late = bp_symbol_table_is_late();
	find_all(&(struct scope){ .first = late ? first_map(own) : own->l_next,
			 .except = own,
			 .handle = RTLD_NEXT,
			 .computed = !late },
		wanted, count);
	return true;
}

bool bp_symbol_table_find_first(const struct bp_wanted wanted[], size_t count)
{
	const struct link_map *own = bp_symbol_table_own_map();
	if (own == NULL)
		return false;
	find_all(
		&(struct scope){
			.first = first_map(own), .handle = RTLD_DEFAULT, .computed = true },
		wanted, count);
	return true;
}
