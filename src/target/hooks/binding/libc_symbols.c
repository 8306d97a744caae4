/* SPDX-License-Identifier: MIT */
/*
 * Over glibc a sampled object below 64 KiB is no chunk of glibc's, and must not reach glibc's own
 * free. Whoever looks names up in the usual order finds our hooks first. But a library opened with
 * RTLD_DEEPBIND looks into itself and what it needs first, which is the C library; so does dlsym on
 * the C library's handle, dlvsym, and whatever else knows where to look. Such a library would hand
 * objects of ours, those that libc's strdup or getline made for it included, to a free that ends
 * the program.
 *
 * So the C library's own dynamic symbols of the malloc family get our hooks' addresses: all those
 * roads end at them, before a constructor of the library has run, and what it allocates counts like
 * the rest. The names' values are relative to where the library lies, and wrap as the loader's sums
 * do.
 *
 * The table is in a read-only piece of the file's mapping: a private copy is made of the few pages
 * that change, and the piece, taken whole so that it stays one mapping, is read-only again
 * afterwards. What is left is that dladdr no longer knows code inside glibc's malloc by that name.
 *
 * A namespace of its own (dlmopen) has a C library of its own and is not touched: its heap is
 * another, and glibc's two heaps do not take each other's objects either.
 */
#include "hooks/binding/libc_symbols.h"

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "hooks/aliases.h"
#include "hooks/binding/libc_names.h"
#include "hooks/names.h"
#include "hooks/binding/symbol_table.h"
#include "recorder/real.h"
#include "unwind/frame_rules.h"

static const struct {
	const char *name;
	const void *hook;
} family[] = {
#define BP_HOOK(name, text) { #name, (const void *)name },
	BP_HOOKS_MALLOC(BP_HOOK) BP_HOOKS_ALIASES(BP_HOOK)
#undef BP_HOOK
};

struct library {
	struct bp_symbol_table table;
	uintptr_t start, end; /* of the segment the symbols are in, in whole pages */
	int protection;	      /* its own */
};

/* The segment that the symbols are in, by the program headers at the start of the mapping. */
static bool find_segment(struct library *library, uintptr_t mapping)
{
	const Elf64_Ehdr *file = (const Elf64_Ehdr *)mapping;
	const uintptr_t wanted = (uintptr_t)library->table.symbols;
	if (__builtin_memcmp(file->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(mapping + file->e_phoff);
	for (uint32_t i = 0; i < file->e_phnum; i++) {
		const uintptr_t start = library->table.base + segments[i].p_vaddr;
		const uintptr_t end = start + segments[i].p_memsz;
		if (segments[i].p_type != PT_LOAD || wanted < start || wanted >= end)
			continue;
		library->start = bp_system_page_of(start);
		library->end = bp_system_page_of(end + bp_system_page_bytes() - 1);
		library->protection = ((segments[i].p_flags & PF_R) != 0 ? PROT_READ : 0) |
				      ((segments[i].p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
				      ((segments[i].p_flags & PF_X) != 0 ? PROT_EXEC : 0);
		return true;
	}
	return false;
}

static bool find_library(struct library *ret_library)
{
	struct bp_module_range range;
	if (!bp_module_range_find((uintptr_t)bp_real.malloc, &range))
		return false;
	struct library library = { 0 };
	if (!bp_symbol_table_read(range.link_map, &library.table) ||
		library.table.gnu_hash == NULL || !find_segment(&library, range.start))
		return false;
	*ret_library = library;
	return true;
}

/* Every version of one name: the chain of its bucket, whose last entry is odd. */
static void redirect(const struct bp_symbol_table *table, const char *name, const void *hook)
{
	const uint32_t buckets = table->gnu_hash[0], first = table->gnu_hash[1];
	/* behind the filter */
	const uint32_t *bucket = table->gnu_hash + 4 + 2 * table->gnu_hash[2];
	const uint32_t *chain = bucket + buckets;
	const uint32_t hash = bp_symbol_table_hash(name);
	uint32_t index = bucket[hash % buckets];
	if (index < first)
		return;
	for (;; index++) {
		const uint32_t found = chain[index - first];
		Elf64_Sym *symbol = &table->symbols[index];
		if ((found | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
			ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
			__builtin_strcmp(table->names + symbol->st_name, name) == 0)
			symbol->st_value = (uintptr_t)hook - table->base;
		if ((found & 1) != 0)
			return;
	}
}

bool bp_libc_symbols_redirect(void)
{
	struct library library;
	if (!find_library(&library) || library.table.gnu_hash[0] == 0)
		return false;
	const size_t bytes = library.end - library.start;
	if (syscall(SYS_mprotect, library.start, bytes, (long)(library.protection | PROT_WRITE)) !=
		0)
		return false;
	for (size_t i = 0; i < BP_COUNT(family); i++)
		if (!bp_aliases_pass_on(family[i].name))
			redirect(&library.table, family[i].name, family[i].hook);
	(void)syscall(SYS_mprotect, library.start, bytes, (long)library.protection);
	return true;
}
