/* SPDX-License-Identifier: MIT */
/*
 * A 64-bit little-endian ELF file, read only as far as `run` and `doctor` ask: its kind, the loader
 * it wants, the libraries it needs, the names it defines, the sections it has. The file may be
 * anything at all: every offset is checked against the mapping, nothing is trusted, nothing is
 * executed. Symbols and lines of a report are the business of src/tool/symbols, not of this.
 */
#ifndef BP_CLI_PROCESS_ELF_FILE_H
#define BP_CLI_PROCESS_ELF_FILE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bp_elf_file {
	const unsigned char *data; /* the whole file, mapped read-only */
	size_t bytes;
	bool is_elf;	  /* begins with the ELF magic */
	bool readable;	  /* ELF64, little endian, headers inside the file: the rest may be asked */
	uint16_t type;	  /* ET_EXEC, ET_DYN ... */
	uint16_t machine; /* EM_X86_64 ...; of a 32-bit file too */
	bool is_32_bit;
};

/* Maps the file. Any readable regular file is accepted (see `is_elf`); errors name the path.
 * An empty file is not mapped and is no ELF file. */
bool bp_elf_file_open(const char *path, struct bp_elf_file *ret_file, struct bp_error *error);
void bp_elf_file_close(struct bp_elf_file *file);

/* The loader of PT_INTERP, or NULL: then nothing loads libraries (static) or it is a library. */
const char *bp_elf_interpreter(const struct bp_elf_file *file);
/* The string of a dynamic entry: DT_SONAME, or the index-th DT_NEEDED; NULL if there is none. */
const char *bp_elf_dynamic_string(const struct bp_elf_file *file, int64_t tag, unsigned index);
/* Does the section exist and hold bytes? */
bool bp_elf_has_section(const struct bp_elf_file *file, const char *name);
bool bp_elf_has_build_id(const struct bp_elf_file *file);

enum bp_elf_definition {
	BP_ELF_UNDEFINED, /* not defined here */
	BP_ELF_HIDDEN,	  /* defined for itself only: other objects do not see it */
	BP_ELF_EXPORTED	  /* defined for all */
};
/* Is the function `name` defined in this file? Looks at both symbol tables. */
enum bp_elf_definition bp_elf_defines(const struct bp_elf_file *file, const char *name);
/* Does the file export the function? Quicker than bp_elf_defines: looks at the dynamic table alone.
 */
bool bp_elf_exports(const struct bp_elf_file *file, const char *name);

#endif
