/* SPDX-License-Identifier: MIT */
/*
 * The executable sections of a file, sorted. The same table serves the program's own file and its
 * separate debug file: the latter keeps the section headers (without contents) and their indices.
 */
#include "symbols/dwarf/code_sections.h"

#include <stdlib.h>
#include <gelf.h>

#include "base/sorted.h"
#include "base/vec.h"

/* More sections than any linker makes; a hostile table ends here. */
#define SECTIONS_MAX 65536u

static int compare_sections(const void *left, const void *right)
{
	const struct bp_code_section *a = left, *b = right;
	return a->low < b->low ? -1 : a->low > b->low;
}

static bool append(struct bp_code_sections *sections, const GElf_Shdr *header, uint32_t index)
{
	if (!bp_vec_reserve(&sections->data, &sections->capacity, sections->count + 1u,
		    sizeof *sections->data))
		return false;
	sections->data[sections->count++] = (struct bp_code_section){
		.low = header->sh_addr,
		.high = header->sh_addr + header->sh_size,
		.section = index,
	};
	return true;
}

bool bp_code_sections_init(struct bp_code_sections *sections, Elf *elf)
{
	Elf_Scn *section = NULL;
	*sections = (struct bp_code_sections){ 0 };
	while (sections->count < SECTIONS_MAX && (section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) == NULL)
			continue;
		if ((header.sh_flags & SHF_EXECINSTR) == 0 || (header.sh_flags & SHF_ALLOC) == 0)
			continue;
		if (header.sh_addr == 0 || header.sh_addr + header.sh_size <= header.sh_addr)
			continue;
		if (!append(sections, &header, (uint32_t)elf_ndxscn(section)))
			return false;
	}
	if (sections->count > 1)
		qsort(sections->data, sections->count, sizeof *sections->data, compare_sections);
	return true;
}

void bp_code_sections_finish(struct bp_code_sections *sections)
{
	free(sections->data);
	*sections = (struct bp_code_sections){ 0 };
}

const struct bp_code_section *bp_code_sections_find(
	const struct bp_code_sections *sections, uint64_t address)
{
	const uint32_t upto =
		bp_sorted_upto(sections->data, sizeof *sections->data, sections->count, address);
	if (upto == 0 || address >= sections->data[upto - 1].high)
		return NULL;
	return &sections->data[upto - 1];
}
