/* SPDX-License-Identifier: MIT */
/*
 * The section .debug_cu_index:
 *
 *	SIZE		MEANING
 *	u32		version: 2, or u16 5 and two bytes of padding
 *	u32 C, U, S	numbers of columns, units, slots (a power of two)
 *	u64 x S		hash table: ids of units
 *	u32 x S		their rows, from 1; 0: an empty slot
 *	u32 x C		which section each column is of
 *	u32 x U x C	where in that section the part of a unit begins
 *	u32 x U x C	how many bytes it has
 *
 * All parts of a unit are as they were in its .dwo, but for the strings, which the units share: the
 * table of offsets into them is the unit's own, and is written anew over those strings that it
 * names. So an image is about as large as the .dwo was, however large the package is.
 *
 * Everything here comes from a file that may be hostile: numbers are bounded before anything is
 * allocated. The strings of a unit are no more bytes than the section has, since a unit names each
 * once.
 */
#include "symbols/dwarf/dwarf_package.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

#define COLUMNS_MAX 16u
#define ALIGNMENT 16u
#define LONG_LENGTH 0xffffffffu /* of a table in the 64-bit format; the length itself follows */

/* By part; of what the index calls a part by version 2 and 5 (0: it has none). */
static const struct {
	const char *name;
	uint32_t kind_2, kind_5;
} known[BP_PACKAGE_PARTS] = {
	[BP_PACKAGE_INFO] = { ".debug_info.dwo", 1, 1 },
	[BP_PACKAGE_ABBREV] = { ".debug_abbrev.dwo", 3, 3 },
	[BP_PACKAGE_LINE] = { ".debug_line.dwo", 4, 4 },
	[BP_PACKAGE_STRING_OFFSETS] = { ".debug_str_offsets.dwo", 6, 6 },
	[BP_PACKAGE_RANGES] = { ".debug_rnglists.dwo", 0, 8 },
	[BP_PACKAGE_STRINGS] = { ".debug_str.dwo", 0, 0 },
};

static uint64_t load(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;
	memcpy(&value, at, bytes);
	return value;
}

/* ---- the package ---- */

static struct bp_bytes find_section(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;
	size_t names = 0;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return (struct bp_bytes){ 0 };
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS)
			continue;
		const char *name = elf_strptr(elf, names, header.sh_name);
		if (name == NULL || strcmp(name, wanted) != 0)
			continue;
		if ((header.sh_flags & SHF_COMPRESSED) != 0 && elf_compress(section, 0, 0) < 0)
			break;
		const Elf_Data *data = elf_getdata(section, NULL);
		if (data != NULL && data->d_buf != NULL)
			return bp_bytes_of(data->d_buf, data->d_size);
		break;
	}
	return (struct bp_bytes){ 0 };
}

static bool read_index(struct bp_dwarf_package *package, struct bp_bytes index)
{
	package->version = (uint32_t)bp_bytes_u32(&index) & 0xffff;
	package->columns = bp_bytes_u32(&index);
	package->units = bp_bytes_u32(&index);
	package->slots = bp_bytes_u32(&index);
	if (index.failed || (package->version != 2 && package->version != 5) ||
		package->columns > COLUMNS_MAX || package->slots == 0 ||
		(package->slots & (package->slots - 1)) != 0)
		return false;
	const uint64_t cells = (uint64_t)package->units * package->columns;
	package->signatures = bp_bytes_take(&index, 8ull * package->slots);
	package->rows = bp_bytes_take(&index, 4ull * package->slots);
	package->kinds = bp_bytes_take(&index, 4ull * package->columns);
	package->offsets = bp_bytes_take(&index, 4 * cells);
	package->sizes = bp_bytes_take(&index, 4 * cells);
	return !index.failed;
}

bool bp_dwarf_package_init(struct bp_dwarf_package *package, Elf *elf)
{
	const char *ident = elf_getident(elf, NULL);
	*package = (struct bp_dwarf_package){ 0 };
	if (ident == NULL || ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
		elf64_getehdr(elf) == NULL ||
		!read_index(package, find_section(elf, ".debug_cu_index"))) {
		*package = (struct bp_dwarf_package){ 0 };
		return false;
	}
	package->header = *elf64_getehdr(elf);
	for (unsigned i = 0; i < BP_PACKAGE_PARTS; i++)
		package->parts[i] = find_section(elf, known[i].name);
	return true;
}

/* ---- one unit ---- */

/* 0: the id is not in the index. */
static uint32_t find_row(const struct bp_dwarf_package *package, uint64_t id)
{
	const uint64_t mask = package->slots - 1, step = ((id >> 32) & mask) | 1;
	uint64_t slot = id & mask;
	for (uint32_t tries = 0; tries < package->slots; tries++, slot = (slot + step) & mask) {
		const uint32_t row = (uint32_t)load(package->rows + 4 * slot, 4);
		if (row == 0)
			return 0;
		if (load(package->signatures + 8 * slot, 8) == id)
			return row <= package->units ? row : 0;
	}
	return 0;
}

/* The part of the unit of that row; empty where it has none. False: it lies outside its section. */
static bool find_part(const struct bp_dwarf_package *package, uint32_t row,
	enum bp_package_part part, struct bp_bytes *ret_bytes)
{
	const uint32_t kind = package->version == 5 ? known[part].kind_5 : known[part].kind_2;
	*ret_bytes = (struct bp_bytes){ 0 };
	for (uint32_t column = 0; kind != 0 && column < package->columns; column++) {
		const uint64_t cell = 4ull * ((uint64_t)(row - 1) * package->columns + column);
		if (load(package->kinds + 4ull * column, 4) != kind)
			continue;
		struct bp_bytes section = package->parts[part];
		const uint64_t bytes = load(package->sizes + cell, 4);
		if (section.at == NULL)
			return bytes == 0;
		bp_bytes_take(&section, load(package->offsets + cell, 4));
		const uint8_t *at = bp_bytes_take(&section, bytes);
		if (at == NULL)
			return bytes == 0;
		*ret_bytes = bp_bytes_of(at, bytes);
		return true;
	}
	return true;
}

struct image {
	char *data;
	uint64_t bytes, capacity;
	struct bp_bytes parts[BP_PACKAGE_PARTS]; /* of the unit; the strings: of all */
	Elf64_Shdr sections[BP_PACKAGE_PARTS + 2];
};

static void append(struct image *image, const void *data, size_t bytes)
{
	memcpy(image->data + image->bytes, data, bytes);
	image->bytes += bytes;
}

static void begin_section(struct image *image, unsigned number, uint32_t name)
{
	image->bytes = (image->bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	image->sections[number] = (Elf64_Shdr){ .sh_name = name,
		.sh_type = SHT_PROGBITS,
		.sh_offset = image->bytes,
		.sh_addralign = 1 };
}

static void end_section(struct image *image, unsigned number)
{
	image->sections[number].sh_size = image->bytes - image->sections[number].sh_offset;
}

/* The table's header is left as it is; *ret_width: of an entry. */
static size_t table_head(uint32_t version, struct bp_bytes table, unsigned *ret_width)
{
	const bool wide =
		version == 5 && bp_bytes_left(&table) >= 4 && load(table.at, 4) == LONG_LENGTH;
	*ret_width = wide ? 8 : 4;
	return version != 5 ? 0 : wide ? 16 : 8;
}

/* Writes the strings that the table at `table` in the image names, and has it name them where they
 * are then. */
static bool write_strings(
	const struct bp_dwarf_package *package, struct image *image, const Elf64_Shdr *table)
{
	const struct bp_bytes all = package->parts[BP_PACKAGE_STRINGS];
	const uint64_t begin = image->bytes;
	char *at = image->data + table->sh_offset;
	unsigned width;
	size_t next = table_head(package->version, image->parts[BP_PACKAGE_STRING_OFFSETS], &width);
	for (; next + width <= table->sh_size; next += width) {
		const uint64_t offset = load((const uint8_t *)at + next, width);
		const uint64_t place = image->bytes - begin;
		if (offset >= bp_bytes_left(&all))
			return false;
		const char *text = (const char *)all.at + offset;
		const size_t bytes = strnlen(text, bp_bytes_left(&all) - offset);
		if (offset + bytes == bp_bytes_left(&all) ||
			place + bytes + 1 > bp_bytes_left(&all))
			return false;
		append(image, text, bytes + 1);
		memcpy(at + next, &place, width);
	}
	return true;
}

/* Headers and alignment besides the contents are a kilobyte. */
static uint64_t image_capacity(const struct image *image)
{
	uint64_t bytes = sizeof(Elf64_Ehdr) + sizeof image->sections + 1024;
	for (unsigned i = 0; i < BP_PACKAGE_PARTS; i++)
		bytes += bp_bytes_left(&image->parts[i]);
	return bytes;
}

static bool write_image(const struct bp_dwarf_package *package, struct image *image)
{
	char names[256] = "";
	size_t used = 1;
	image->bytes = sizeof(Elf64_Ehdr);
	for (unsigned i = 0; i < BP_PACKAGE_PARTS; i++) {
		begin_section(image, i + 1, (uint32_t)used);
		strcpy(names + used, known[i].name);
		used += strlen(known[i].name) + 1;
		if (i != BP_PACKAGE_STRINGS && bp_bytes_left(&image->parts[i]) > 0)
			append(image, image->parts[i].at, bp_bytes_left(&image->parts[i]));
		else if (i == BP_PACKAGE_STRINGS &&
			 !write_strings(
				 package, image, &image->sections[BP_PACKAGE_STRING_OFFSETS + 1]))
			return false;
		end_section(image, i + 1);
	}
	begin_section(image, BP_PACKAGE_PARTS + 1, (uint32_t)used);
	image->sections[BP_PACKAGE_PARTS + 1].sh_type = SHT_STRTAB;
	strcpy(names + used, ".shstrtab");
	append(image, names, used + sizeof ".shstrtab");
	end_section(image, BP_PACKAGE_PARTS + 1);
	image->bytes = (image->bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	Elf64_Ehdr header = package->header;
	header.e_type = ET_REL;
	header.e_phoff = header.e_phnum = 0;
	header.e_shoff = image->bytes;
	header.e_shentsize = sizeof image->sections[0];
	header.e_shnum = BP_COUNT(image->sections);
	header.e_shstrndx = BP_PACKAGE_PARTS + 1;
	append(image, image->sections, sizeof image->sections);
	memcpy(image->data, &header, sizeof header);
	return true;
}

bool bp_dwarf_package_unit(
	const struct bp_dwarf_package *package, uint64_t id, char **ret_image, size_t *ret_bytes)
{
	const uint32_t row = package->version == 0 ? 0 : find_row(package, id);
	struct image image = { 0 };
	if (row == 0)
		return false;
	for (unsigned i = 0; i < BP_PACKAGE_STRINGS; i++)
		if (!find_part(package, row, (enum bp_package_part)i, &image.parts[i]))
			return false;
	if (bp_bytes_left(&image.parts[BP_PACKAGE_INFO]) == 0)
		return false;
	image.parts[BP_PACKAGE_STRINGS] = package->parts[BP_PACKAGE_STRINGS];
	image.capacity = image_capacity(&image);
	image.data = calloc(1, image.capacity); /* pages never written cost nothing */
	if (image.data == NULL || !write_image(package, &image)) {
		free(image.data);
		return false;
	}
	*ret_image = image.data;
	*ret_bytes = image.bytes;
	return true;
}
