/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing of what takes debug files apart before libdw sees them: sections packed by zstd
 * (unpacked_elf.c) and packages of split units (dwarf_package.c). The input is an ELF file.
 * Whatever bytes it holds, both must come to an end without a wrong access, and what they make must
 * be an ELF file whose sections lie within it.
 *
 * The harness is the same for libFuzzer (clang) and for the regression driver (replay.c).
 */
#include <gelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf/dwarf_package.h"
#include "symbols/files/unpacked_elf.h"

#define UNPACKED_MAX (16u << 20) /* what is said to be larger takes time and finds nothing */
#define UNITS_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* What all packed sections say that they come to. */
static bool is_small(Elf *elf)
{
	Elf_Scn *section = NULL;
	uint64_t sum = 0;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Chdr packed;
		if (gelf_getchdr(section, &packed) == NULL)
			continue;
		if (packed.ch_size > UNPACKED_MAX)
			return false;
		sum += packed.ch_size;
	}
	return sum <= UNPACKED_MAX;
}

/* Reads every byte of every section that lies in the image. */
static void read_all(Elf *elf, const char *image, size_t bytes)
{
	static volatile unsigned char seen;
	Elf_Scn *section = NULL;
	require(elf != NULL && elf_kind(elf) == ELF_K_ELF, "the image is no ELF file");
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		require(gelf_getshdr(section, &header) != NULL, "a section has no header");
		if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL ||
			header.sh_size == 0)
			continue;
		require(header.sh_offset <= bytes && header.sh_size <= bytes - header.sh_offset,
			"a section is not in the image");
		for (uint64_t i = 0; i < header.sh_size; i++)
			seen ^= (unsigned char)image[header.sh_offset + i];
	}
	(void)seen;
}

static void unpack(Elf *elf)
{
	struct bp_unpacked_elf unpacked;
	if (bp_unpacked_elf_init(&unpacked, elf)) {
		size_t bytes = 0;
		elf_rawfile(unpacked.elf, &bytes);
		read_all(unpacked.elf, unpacked.image, bytes);
	}
	bp_unpacked_elf_finish(&unpacked);
}

static void take_units(Elf *elf)
{
	struct bp_dwarf_package package;
	if (!bp_dwarf_package_init(&package, elf))
		return;
	for (uint32_t i = 0; i < package.slots && i < UNITS_MAX; i++) {
		char *image;
		size_t bytes;
		uint64_t id;
		memcpy(&id, package.signatures + 8ull * i, sizeof id);
		if (!bp_dwarf_package_unit(&package, id, &image, &bytes))
			continue;
		Elf *unit = elf_memory(image, bytes);
		read_all(unit, image, bytes);
		elf_end(unit);
		free(image);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *copy = malloc(bytes + 1);
	elf_version(EV_CURRENT);
	require(copy != NULL, "out of memory");
	memcpy(copy, data, bytes);
	Elf *elf = bytes < sizeof(Elf64_Ehdr) ? NULL : elf_memory(copy, bytes);
	if (elf != NULL && elf_kind(elf) == ELF_K_ELF && is_small(elf)) {
		unpack(elf);
		take_units(elf);
	}
	elf_end(elf);
	free(copy);
	return 0;
}
