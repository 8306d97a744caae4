/* SPDX-License-Identifier: MIT */
/*
 * The symbols in code sections, sorted by address; of several with the same extent one is kept (the
 * name with the fewest leading underscores, then the exported before the local one, then the
 * shorter: malloc rather than __libc_malloc).
 *
 * Hand-written assembly often states no size. Such a symbol is used only where nothing speaks
 * against it: the table is a full one with local functions in it (else the functions between are
 * merely not listed), the symbol is a function, in the same section, and no other symbol begins or
 * ends between it and the address.
 */
#include "symbols/symbol_table.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vec.h"

/* More symbols than any file has; a bound for hostile ones. */
#define SYMBOLS_MAX (1u << 27)

static bool append(struct bp_symbol_table *table, const struct bp_symbol *symbol)
{
	if (!bp_vec_reserve(&table->data, &table->capacity, table->count + 1u, sizeof *table->data))
		return false;
	table->data[table->count++] = *symbol;
	return true;
}

/* Only what lies in a code section, cut at the section's end. Sections are compared by address,
 * because that is what an address is looked up by; st_shndx of a debug file means the same. */
static bool is_code(
	const struct bp_symbol_table *table, const GElf_Sym *symbol, struct bp_symbol *ret_symbol)
{
	const struct bp_code_section *section = NULL;
	uint8_t type = GELF_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	section = bp_code_sections_find(table->sections, symbol->st_value);
	if (section == NULL)
		return false;
	ret_symbol->low = symbol->st_value;
	ret_symbol->high = section->high;
	if (symbol->st_size < section->high - symbol->st_value)
		ret_symbol->high = symbol->st_value + symbol->st_size;
	ret_symbol->section = section->section;
	ret_symbol->type = type;
	ret_symbol->binding = GELF_ST_BIND(symbol->st_info);
	return true;
}

static bool read_symbols(
	struct bp_symbol_table *table, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t entries = 0;
	if (data == NULL || header->sh_entsize == 0)
		return true;
	entries = data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 1; i < entries && i < SYMBOLS_MAX; i++) {
		GElf_Sym raw;
		struct bp_symbol symbol = { 0 };
		if (gelf_getsym(data, (int)i, &raw) == NULL)
			break;
		if (!is_code(table, &raw, &symbol))
			continue;
		symbol.name = elf_strptr(elf, header->sh_link, raw.st_name);
		if (symbol.name == NULL || symbol.name[0] == '\0')
			continue;
		if (symbol.type == STT_FUNC && symbol.binding == STB_LOCAL)
			table->open_ended = true;
		if (!append(table, &symbol))
			return false;
	}
	return true;
}

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_");
}

static int binding_rank(uint8_t binding)
{
	return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
}

/* By start; the wider first, so that the narrower is met first when going back; then the better
 * name first. */
static int compare_symbols(const void *left, const void *right)
{
	const struct bp_symbol *a = left, *b = right;
	size_t a_size = 0, b_size = 0;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	if ((a->type == STT_NOTYPE) != (b->type == STT_NOTYPE))
		return a->type == STT_NOTYPE ? 1 : -1;
	a_size = leading_underscores(a->name);
	b_size = leading_underscores(b->name);
	if (a_size != b_size)
		return a_size < b_size ? -1 : 1;
	if (binding_rank(a->binding) != binding_rank(b->binding))
		return binding_rank(a->binding) - binding_rank(b->binding);
	a_size = strlen(a->name);
	b_size = strlen(b->name);
	if (a_size != b_size)
		return a_size < b_size ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void sort_symbols(struct bp_symbol_table *table)
{
	uint32_t kept = 0;
	uint64_t reach = 0;
	if (table->count > 1)
		qsort(table->data, table->count, sizeof *table->data, compare_symbols);
	for (uint32_t i = 0; i < table->count; i++) {
		struct bp_symbol *last = kept > 0 ? &table->data[kept - 1] : NULL;
		struct bp_symbol *next = &table->data[i];
		if (last != NULL && last->low == next->low && last->high == next->high)
			continue;
		if (next->high > reach)
			reach = next->high;
		table->data[kept] = *next;
		table->data[kept++].reach = reach;
	}
	table->count = kept;
}

static bool read_table(struct bp_symbol_table *table, Elf *elf, uint32_t type, bool *ret_found)
{
	Elf_Scn *section = NULL;
	*ret_found = false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) == NULL || header.sh_type != type)
			continue;
		*ret_found = true;
		return read_symbols(table, elf, section, &header);
	}
	return true;
}

bool bp_symbol_table_init(
	struct bp_symbol_table *table, Elf *elf, const struct bp_code_sections *sections)
{
	bool exported = false;
	*table = (struct bp_symbol_table){ .sections = sections };
	if (!read_table(table, elf, SHT_SYMTAB, &table->full))
		return false;
	if (!table->full) {
		if (!read_table(table, elf, SHT_DYNSYM, &exported))
			return false;
		table->open_ended = false;
	}
	sort_symbols(table);
	return true;
}

void bp_symbol_table_finish(struct bp_symbol_table *table)
{
	free(table->data);
	*table = (struct bp_symbol_table){ 0 };
}

/* The symbol of no stated size right before the address, if nothing speaks against it. `after` is
 * the number of symbols at or below the address. */
static const struct bp_symbol *find_open_ended(
	const struct bp_symbol_table *table, uint32_t after, uint64_t address)
{
	const struct bp_symbol *symbol = &table->data[after - 1];
	const struct bp_code_section *section = bp_code_sections_find(table->sections, address);
	if (!table->open_ended || symbol->high != symbol->low || symbol->type != STT_FUNC)
		return NULL;
	if (section == NULL || section->section != symbol->section)
		return NULL;
	/* One that began earlier and ends after this one began: who the rest belongs to is unknown.
	 */
	if (symbol->reach > symbol->low)
		return NULL;
	return symbol;
}

const struct bp_symbol *bp_symbol_table_find(const struct bp_symbol_table *table, uint64_t address)
{
	const uint32_t upto =
		bp_sorted_upto(table->data, sizeof *table->data, table->count, address);
	for (uint32_t i = upto; i > 0 && table->data[i - 1].reach > address; i--)
		if (table->data[i - 1].high > address)
			return &table->data[i - 1];
	return upto > 0 ? find_open_ended(table, upto, address) : NULL;
}
