/* SPDX-License-Identifier: MIT */
/*
 * See packed_size.h. A section with SHF_COMPRESSED begins with a header that says its size when
 * unpacked. The older form is known by the name of the section and begins with "ZLIB" and that size
 * in 8 bytes, the highest first:
 *
 *	OFFSET  SIZE  MEANING
 *	0       4     "ZLIB"
 *	4       8     bytes when unpacked
 *
 * libelf and libzstd unpack to the size that is stated, or fail: what is stated here is what they
 * take.
 */
#include "symbols/files/packed_size.h"

#include <gelf.h>
#include <stdint.h>
#include <string.h>

#define UNPACKED_BYTES_MAX ((uint64_t)1 << 30)
#define RATIO_MAX 64u
/* Long runs of one byte pack to next to nothing: a small file may exceed the ratio. */
#define SMALL_BYTES ((uint64_t)16 << 20)
#define OLD_HEADER_BYTES 12u

/* Of a section in the older form, 0: it is none. */
static uint64_t old_form_bytes(Elf_Scn *section, const char *name)
{
	if (name == NULL || strncmp(name, ".zdebug", 7) != 0)
		return 0;
	const Elf_Data *data = elf_rawdata(section, NULL);
	if (data == NULL || data->d_buf == NULL || data->d_size < OLD_HEADER_BYTES ||
		memcmp(data->d_buf, "ZLIB", 4) != 0)
		return 0;
	const uint8_t *at = data->d_buf;
	uint64_t bytes = 0;
	for (unsigned i = 4; i < OLD_HEADER_BYTES; i++)
		bytes = bytes << 8 | at[i];
	return bytes;
}

/* Of a packed section when it is unpacked; 0: it is not packed. */
static uint64_t unpacked_bytes(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	GElf_Chdr packed;
	if ((header->sh_flags & SHF_COMPRESSED) == 0)
		return old_form_bytes(section, name);
	return gelf_getchdr(section, &packed) != NULL ? packed.ch_size : 0;
}

bool bp_packed_size_is_bounded(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names = 0;
	uint64_t packed = 0, unpacked = 0;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return true; /* without names nobody finds a section to unpack */
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS)
			continue;
		const uint64_t bytes =
			unpacked_bytes(section, &header, elf_strptr(elf, names, header.sh_name));
		if (bytes > UNPACKED_BYTES_MAX - unpacked)
			return false;
		unpacked += bytes;
		packed += bytes > 0 ? header.sh_size : 0;
	}
	return unpacked <= SMALL_BYTES || (unpacked - SMALL_BYTES) / RATIO_MAX <= packed;
}
