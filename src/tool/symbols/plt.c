/* SPDX-License-Identifier: MIT */
/*
 * A stub of x86-64 is, after an optional endbr64, an indirect jump through a slot near the program
 * counter (`ff 25` and a displacement, perhaps with the prefix f2), and a relocation that names the
 * function stands for that slot. So the stub is decoded rather than counted: that is right for
 * .plt, .plt.sec and .plt.got, whatever linker made them.
 */
#include "symbols/plt.h"

#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#define STUB_BYTES 16u	  /* of .plt and .plt.sec, and of .plt.got with endbr64 */
#define GOT_STUB_BYTES 8u /* of .plt.got without */
#define JUMP_BYTES 6u

static bool is_stub_section(Elf *elf, size_t names, const GElf_Shdr *header)
{
	const char *name = elf_strptr(elf, names, header->sh_name);
	return name != NULL && strncmp(name, ".plt", 4) == 0 &&
	       (header->sh_flags & SHF_EXECINSTR) != 0 && header->sh_type == SHT_PROGBITS;
}

static Elf_Scn *stub_section(Elf *elf, uint64_t address, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;
	size_t names = 0;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, ret_header) != NULL &&
			is_stub_section(elf, names, ret_header) && address >= ret_header->sh_addr &&
			address - ret_header->sh_addr < ret_header->sh_size)
			return section;
	return NULL;
}

/* The slot the stub jumps through, 0 if it is none. `code` holds `bytes` bytes from `address` on.
 */
static uint64_t decode_slot(const unsigned char *code, size_t bytes, uint64_t address)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	int32_t displacement = 0;
	if (bytes >= sizeof endbr64 && memcmp(code, endbr64, sizeof endbr64) == 0)
		at += sizeof endbr64;
	if (at < bytes && code[at] == 0xf2)
		at++;
	if (at + JUMP_BYTES > bytes || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&displacement, code + at + 2, sizeof displacement);
	return address + at + JUMP_BYTES + (uint64_t)(int64_t)displacement;
}

static const char *symbol_name(Elf *elf, const GElf_Shdr *relocations, uint64_t index)
{
	Elf_Scn *section = elf_getscn(elf, relocations->sh_link);
	Elf_Data *data = section != NULL ? elf_getdata(section, NULL) : NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	const char *name = NULL;
	if (data == NULL || index == 0 || index > INT32_MAX ||
		gelf_getshdr(section, &header) == NULL ||
		gelf_getsym(data, (int)index, &symbol) == NULL)
		return NULL;
	name = elf_strptr(elf, header.sh_link, symbol.st_name);
	return name != NULL && name[0] != '\0' ? name : NULL;
}

static const char *relocated_name(Elf *elf, uint64_t slot)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		GElf_Rela entry;
		Elf_Data *data = NULL;
		if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_RELA ||
			(header.sh_flags & SHF_ALLOC) == 0)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data != NULL && gelf_getrela(data, i, &entry) != NULL; i++)
			if (entry.r_offset == slot)
				return symbol_name(elf, &header, GELF_R_SYM(entry.r_info));
	}
	return NULL;
}

const char *bp_plt_find(Elf *elf, uint64_t address)
{
	GElf_Shdr header;
	GElf_Ehdr file;
	Elf_Scn *section = NULL;
	Elf_Data *data = NULL;
	uint64_t offset = 0, slot = 0;
	size_t stub_bytes = STUB_BYTES;
	if (gelf_getehdr(elf, &file) == NULL || file.e_machine != EM_X86_64)
		return NULL;
	section = stub_section(elf, address, &header);
	data = section != NULL ? elf_getdata(section, NULL) : NULL;
	if (data == NULL || data->d_buf == NULL)
		return NULL;
	if (header.sh_entsize == GOT_STUB_BYTES)
		stub_bytes = GOT_STUB_BYTES;
	offset = (address - header.sh_addr) / stub_bytes * stub_bytes;
	if (offset >= data->d_size)
		return NULL;
	if (data->d_size - offset < stub_bytes)
		stub_bytes = data->d_size - offset;
	slot = decode_slot(
		(const unsigned char *)data->d_buf + offset, stub_bytes, header.sh_addr + offset);
	return slot != 0 ? relocated_name(elf, slot) : NULL;
}
