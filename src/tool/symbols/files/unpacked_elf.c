/* SPDX-License-Identifier: MIT */
/*
 * The image is what libdw looks at and no more: the file's header, the contents of the sections
 * that are not loaded (the debug sections and string tables; those packed by zstd unpacked), and
 * the section headers, in the file's order and number, so that indices keep their meaning. Loaded
 * sections have no contents there, as in a separate debug file. Sections packed by zlib are
 * copied as they are: libdw unpacks those.
 *
 * Sizes come from a file that may be hostile: they are summed with a bound before a byte is
 * allocated, and what unpacks to another size than was stated spoils the copy.
 */
#include "symbols/files/unpacked_elf.h"

#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/files/zstd_unpack.h"

/* ELFCOMPRESS_ZSTD; elf.h of glibc 2.36 has it, older ones do not. */
#define COMPRESSED_BY_ZSTD 2u
/* Largest image, bytes: the debug information of a browser is 4 GB. */
#define IMAGE_BYTES_MAX ((uint64_t)5 << 30)
#define SECTIONS_MAX 65536u
#define ALIGNMENT 16u

struct builder {
	Elf *elf;
	char *image;
	uint64_t bytes; /* of the image so far */
};

/* What one section becomes. */
struct plan {
	Elf64_Shdr header;
	const char *packed; /* NULL: the contents are copied from `plain` */
	const char *plain;  /* NULL: none */
	uint64_t packed_bytes;
};

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

static bool plan_packed(Elf_Scn *section, const Elf_Data *data, struct plan *plan)
{
	GElf_Chdr packed;
	if (gelf_getchdr(section, &packed) == NULL || data == NULL ||
		data->d_size < sizeof(Elf64_Chdr))
		return false;
	if (packed.ch_type != COMPRESSED_BY_ZSTD)
		return true;
	plan->packed = (const char *)data->d_buf + sizeof(Elf64_Chdr);
	plan->packed_bytes = data->d_size - sizeof(Elf64_Chdr);
	plan->header.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	plan->header.sh_size = packed.ch_size;
	plan->header.sh_addralign = packed.ch_addralign;
	return true;
}

static bool plan_section(Elf_Scn *section, struct plan *plan)
{
	GElf_Shdr header;
	Elf_Data *data = NULL;
	*plan = (struct plan){ .packed = NULL };
	if (gelf_getshdr(section, &header) == NULL)
		return false;
	plan->header = header; /* of the same type: the file is a 64-bit one */
	if (header.sh_type == SHT_NULL || header.sh_type == SHT_NOBITS)
		return true;
	if ((header.sh_flags & SHF_ALLOC) != 0) {
		plan->header.sh_type = SHT_NOBITS;
		return true;
	}
	data = elf_rawdata(section, NULL);
	if (data == NULL)
		return false;
	plan->plain = data->d_buf;
	plan->header.sh_size = plan->plain != NULL ? data->d_size : 0;
	return (header.sh_flags & SHF_COMPRESSED) == 0 || plan_packed(section, data, plan);
}

/* Gives the section its place; false where the image would become too large. */
static bool place(struct builder *builder, struct plan *plan)
{
	if (plan->plain == NULL)
		return true;
	if (plan->header.sh_size > IMAGE_BYTES_MAX - builder->bytes)
		return false;
	plan->header.sh_offset = builder->bytes;
	builder->bytes = aligned(builder->bytes + plan->header.sh_size);
	return builder->bytes < IMAGE_BYTES_MAX;
}

static bool plan_all(struct builder *builder, struct plan *plans, size_t count)
{
	builder->bytes = aligned(sizeof(Elf64_Ehdr));
	for (size_t i = 0; i < count; i++)
		if (!plan_section(elf_getscn(builder->elf, i), &plans[i]) ||
			!place(builder, &plans[i]))
			return false;
	return true;
}

static bool fill(const struct builder *builder, const struct plan *plan)
{
	if (plan->plain == NULL || plan->header.sh_size == 0)
		return true;
	char *target = builder->image + plan->header.sh_offset;
	if (plan->packed != NULL)
		return bp_zstd_unpack(
			target, plan->header.sh_size, plan->packed, plan->packed_bytes);
	memcpy(target, plan->plain, plan->header.sh_size);
	return true;
}

/* The section headers stand last, the file's header first. */
static bool write_image(struct builder *builder, const struct plan *plans, size_t count)
{
	Elf64_Ehdr *header = elf64_getehdr(builder->elf);
	Elf64_Ehdr own;
	uint64_t table = builder->bytes;
	if (header == NULL)
		return false;
	own = *header;
	own.e_shoff = table;
	own.e_phoff = 0;
	own.e_phnum = 0;
	builder->bytes += count * sizeof plans[0].header;
	builder->image = calloc(1, builder->bytes);
	if (builder->image == NULL)
		return false;
	memcpy(builder->image, &own, sizeof own);
	for (size_t i = 0; i < count; i++) {
		if (!fill(builder, &plans[i]))
			return false;
		memcpy(builder->image + table + i * sizeof plans[i].header, &plans[i].header,
			sizeof plans[i].header);
	}
	return true;
}

bool bp_unpacked_elf_init(struct bp_unpacked_elf *unpacked, Elf *elf)
{
	struct builder builder = { .elf = elf };
	const char *ident = elf_getident(elf, NULL);
	struct plan *plans = NULL;
	size_t count = 0;
	*unpacked = (struct bp_unpacked_elf){ NULL, NULL };
	if (!bp_zstd_available() || ident == NULL || ident[EI_CLASS] != ELFCLASS64 ||
		ident[EI_DATA] != ELFDATA2LSB || elf_getshdrnum(elf, &count) != 0 || count == 0 ||
		count > SECTIONS_MAX)
		return false;
	plans = calloc(count, sizeof *plans);
	if (plans != NULL && plan_all(&builder, plans, count) &&
		write_image(&builder, plans, count))
		unpacked->elf = elf_memory(builder.image, builder.bytes);
	free(plans);
	if (unpacked->elf == NULL) {
		free(builder.image);
		return false;
	}
	unpacked->image = builder.image;
	return true;
}

void bp_unpacked_elf_finish(struct bp_unpacked_elf *unpacked)
{
	if (unpacked->elf != NULL)
		elf_end(unpacked->elf);
	free(unpacked->image);
	*unpacked = (struct bp_unpacked_elf){ NULL, NULL };
}
