/* SPDX-License-Identifier: MIT */
/*
 * Every access goes through `at`, which returns NULL unless the whole range lies inside the
 * mapping; records are copied out, so alignment does not matter. Tables are walked at most to the
 * end of the file. Dynamic strings are found through the section headers, which every linked file
 * on a distribution has; a file without them gives no answers, never wrong ones.
 */
#include "cli/process/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char *at(const struct bp_elf_file *file, uint64_t offset, uint64_t bytes)
{
	if (offset > file->bytes || bytes > file->bytes - offset)
		return NULL;
	return file->data + offset;
}

/* A terminated string at `offset`, or NULL. */
static const char *string_at(const struct bp_elf_file *file, uint64_t offset)
{
	const char *text = (const char *)at(file, offset, 1);
	if (text == NULL || memchr(text, '\0', file->bytes - offset) == NULL)
		return NULL;
	return text;
}

static bool read_header(const struct bp_elf_file *file, Elf64_Ehdr *ret_header)
{
	const unsigned char *bytes = at(file, 0, sizeof *ret_header);
	if (bytes == NULL)
		return false;
	memcpy(ret_header, bytes, sizeof *ret_header);
	return true;
}

/* The index-th program header. */
static bool read_segment(const struct bp_elf_file *file, unsigned index, Elf64_Phdr *ret_segment)
{
	Elf64_Ehdr header;
	const unsigned char *bytes;
	if (!file->readable || !read_header(file, &header) || index >= header.e_phnum)
		return false;
	if (header.e_phentsize != sizeof *ret_segment || header.e_phoff > file->bytes)
		return false;
	bytes = at(
		file, header.e_phoff + (uint64_t)index * sizeof *ret_segment, sizeof *ret_segment);
	if (bytes == NULL)
		return false;
	memcpy(ret_segment, bytes, sizeof *ret_segment);
	return true;
}

/* The index-th section header. */
static bool read_section(const struct bp_elf_file *file, unsigned index, Elf64_Shdr *ret_section)
{
	Elf64_Ehdr header;
	const unsigned char *bytes;
	if (!file->readable || !read_header(file, &header) || index >= header.e_shnum)
		return false;
	if (header.e_shentsize != sizeof *ret_section || header.e_shoff > file->bytes)
		return false;
	bytes = at(
		file, header.e_shoff + (uint64_t)index * sizeof *ret_section, sizeof *ret_section);
	if (bytes == NULL)
		return false;
	memcpy(ret_section, bytes, sizeof *ret_section);
	return true;
}

static bool find_section(const struct bp_elf_file *file, const char *name, Elf64_Shdr *ret_section)
{
	Elf64_Ehdr header;
	Elf64_Shdr names, section;
	if (!read_header(file, &header) || !read_section(file, header.e_shstrndx, &names))
		return false;
	if (names.sh_offset > file->bytes)
		return false;
	for (unsigned i = 0; read_section(file, i, &section); i++) {
		const char *text = string_at(file, names.sh_offset + section.sh_name);
		if (text == NULL || strcmp(text, name) != 0)
			continue;
		*ret_section = section;
		return true;
	}
	return false;
}

bool bp_elf_file_open(const char *path, struct bp_elf_file *ret_file, struct bp_error *error)
{
	struct bp_elf_file file = { 0 };
	struct stat status;
	Elf64_Ehdr header;
	void *data;
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (descriptor < 0)
		return bp_error_set(error, "%s cannot be read: %s", path, strerror(errno));
	if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
		close(descriptor);
		return bp_error_set(error, "%s is no regular file", path);
	}
	if (status.st_size > 0) {
		data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
		if (data == MAP_FAILED) {
			close(descriptor);
			return bp_error_set(
				error, "%s cannot be mapped: %s", path, strerror(errno));
		}
		file.data = data;
		file.bytes = (size_t)status.st_size;
	}
	close(descriptor);
	if (file.bytes >= EI_NIDENT && memcmp(file.data, ELFMAG, SELFMAG) == 0) {
		file.is_elf = true;
		file.is_32_bit = file.data[EI_CLASS] == ELFCLASS32;
		if (read_header(&file, &header)) {
			/* e_type and e_machine lie alike in both classes. */
			file.type = header.e_type;
			file.machine = header.e_machine;
			file.readable = file.data[EI_CLASS] == ELFCLASS64 &&
					file.data[EI_DATA] == ELFDATA2LSB;
		}
	}
	*ret_file = file;
	return true;
}

void bp_elf_file_close(struct bp_elf_file *file)
{
	if (file->data != NULL)
		munmap((void *)(uintptr_t)file->data, file->bytes);
	*file = (struct bp_elf_file){ 0 };
}

const char *bp_elf_interpreter(const struct bp_elf_file *file)
{
	Elf64_Phdr segment;
	for (unsigned i = 0; read_segment(file, i, &segment); i++)
		if (segment.p_type == PT_INTERP)
			return string_at(file, segment.p_offset);
	return NULL;
}

const char *bp_elf_dynamic_string(const struct bp_elf_file *file, int64_t tag, unsigned index)
{
	Elf64_Shdr dynamic, strings;
	if (!find_section(file, ".dynamic", &dynamic) || dynamic.sh_type == SHT_NOBITS ||
		!read_section(file, dynamic.sh_link, &strings) || dynamic.sh_offset > file->bytes ||
		strings.sh_offset > file->bytes)
		return NULL;
	for (uint64_t i = 0; i < dynamic.sh_size / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn entry;
		const unsigned char *bytes =
			at(file, dynamic.sh_offset + i * sizeof entry, sizeof entry);
		if (bytes == NULL)
			return NULL;
		memcpy(&entry, bytes, sizeof entry);
		if (entry.d_tag == DT_NULL)
			return NULL;
		if (entry.d_tag == tag && index-- == 0 && entry.d_un.d_val <= file->bytes)
			return string_at(file, strings.sh_offset + entry.d_un.d_val);
	}
	return NULL;
}

bool bp_elf_has_section(const struct bp_elf_file *file, const char *name)
{
	Elf64_Shdr section;
	return find_section(file, name, &section) && section.sh_type != SHT_NOBITS &&
	       section.sh_size > 0;
}

bool bp_elf_has_build_id(const struct bp_elf_file *file)
{
	return bp_elf_has_section(file, ".note.gnu.build-id");
}

/* The definition of `name` in one symbol table. */
static enum bp_elf_definition defined_in(
	const struct bp_elf_file *file, const char *table, const char *name)
{
	Elf64_Shdr symbols, strings;
	enum bp_elf_definition found = BP_ELF_UNDEFINED;
	if (!find_section(file, table, &symbols) || symbols.sh_type == SHT_NOBITS ||
		!read_section(file, symbols.sh_link, &strings) || symbols.sh_offset > file->bytes ||
		strings.sh_offset > file->bytes)
		return BP_ELF_UNDEFINED;
	for (uint64_t i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;
		const char *text;
		const unsigned char *bytes =
			at(file, symbols.sh_offset + i * sizeof symbol, sizeof symbol);
		if (bytes == NULL)
			break;
		memcpy(&symbol, bytes, sizeof symbol);
		if (symbol.st_shndx == SHN_UNDEF ||
			(ELF64_ST_TYPE(symbol.st_info) != STT_FUNC &&
				ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC))
			continue;
		text = string_at(file, strings.sh_offset + symbol.st_name);
		if (text == NULL || strcmp(text, name) != 0)
			continue;
		if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
			ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT)
			return BP_ELF_EXPORTED;
		found = BP_ELF_HIDDEN;
	}
	return found;
}

bool bp_elf_exports(const struct bp_elf_file *file, const char *name)
{
	return defined_in(file, ".dynsym", name) == BP_ELF_EXPORTED;
}

enum bp_elf_definition bp_elf_defines(const struct bp_elf_file *file, const char *name)
{
	if (bp_elf_exports(file, name))
		return BP_ELF_EXPORTED;
	/* In the full table only: the linker made it local to this file. */
	return defined_in(file, ".symtab", name) != BP_ELF_UNDEFINED ? BP_ELF_HIDDEN
								     : BP_ELF_UNDEFINED;
}
