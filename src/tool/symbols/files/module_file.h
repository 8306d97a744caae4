/* SPDX-License-Identifier: MIT */
/*
 * The files of a module: the program or library itself, if it is still the one that was mapped, and
 * its separate debug file, if there is one, the file that debug files share (dwz), and the package
 * of split units (.dwp). The network is asked only where the request names servers.
 */
#ifndef BP_SYMBOLS_FILES_MODULE_FILE_H
#define BP_SYMBOLS_FILES_MODULE_FILE_H

#include <stdbool.h>
#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_package.h"
#include "symbols/files/unpacked_elf.h"
#include "symbols/module_request.h"

struct bp_elf_file {
	int fd; /* valid where elf is not NULL */
	Elf *elf;
};

struct bp_module_file {
	struct bp_elf_file own;		 /* what was mapped; closed if it is not there any more */
	struct bp_elf_file debug;	 /* its separate debug file */
	struct bp_unpacked_elf unpacked; /* of one of the two, where it was packed */
	struct bp_elf_file shared;	 /* what the debug information refers to elsewhere (dwz) */
	Dwarf *shared_dwarf;
	bool lacks_shared; /* it does, but that file is not to be found */
	struct bp_elf_file package_file;
	struct bp_dwarf_package package; /* of split units; zeroed: none */
	Dwarf *dwarf;			 /* of whichever of the two has debug information */
	struct bp_module_answer answer;
};

/* Opens what there is; `answer` tells what was found. With `state` READ at least one of the files
 * is open. Finish in any case; a zeroed module file may be finished, too. */
void bp_module_file_open(struct bp_module_file *file, const struct bp_module_request *request);
void bp_module_file_finish(struct bp_module_file *file);

/* A hash of what the names of this module depend on, for the cache: which files were found, in
 * which state, for which build-id and cache_variant. */
uint64_t bp_module_file_identity(
	const struct bp_module_file *file, const struct bp_module_request *request);

#endif
