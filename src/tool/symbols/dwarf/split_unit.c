/* SPDX-License-Identifier: MIT */
/*
 * libdw opens the file that the skeleton names (DW_AT_dwo_name, below DW_AT_comp_dir if the name is
 * no absolute one), when it is first asked for the split unit, and it takes no other way. So the
 * unit is put into a file in memory, whose name is /dev/fd/N, and for the moment of that question
 * the skeleton names this file: the text of the name is written over and then put back. The text is
 * in our own, private copy of the file's pages (libelf maps them MAP_PRIVATE) or on the heap; what
 * stands in the file is not changed. libdw takes the file for the unit's only if the ids agree.
 */
#include "symbols/dwarf/split_unit.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME_BYTES 32

/* A text that is another one for a while. */
struct loan {
	char *at;
	char before[NAME_BYTES];
	size_t bytes;
};

static bool make_writable(const char *at, size_t bytes)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t begin = (uintptr_t)at / page * page;
	return mprotect((void *)begin, (uintptr_t)at + bytes - begin, PROT_READ | PROT_WRITE) == 0;
}

/* False: the text is too short, or cannot be written to. */
static bool write_over(const char *text, const char *with, struct loan *ret_loan)
{
	struct loan loan = { .at = (char *)(uintptr_t)text, .bytes = strlen(with) + 1 };
	if (loan.bytes > sizeof loan.before || strlen(text) < loan.bytes - 1 ||
		!make_writable(text, loan.bytes))
		return false;
	memcpy(loan.before, text, loan.bytes);
	memcpy(loan.at, with, loan.bytes);
	*ret_loan = loan;
	return true;
}

static void put_back(const struct loan *loan)
{
	if (loan->bytes > 0)
		memcpy(loan->at, loan->before, loan->bytes);
}

static int file_in_memory(const char *data, size_t bytes)
{
	const int descriptor = memfd_create("split-unit", MFD_CLOEXEC);
	while (descriptor >= 0 && bytes > 0) {
		const ssize_t written = write(descriptor, data, bytes);
		if (written <= 0) {
			close(descriptor);
			return -1;
		}
		data += written;
		bytes -= (size_t)written;
	}
	return descriptor;
}

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;
	return dwarf_attr(die, attribute, &found) == NULL ? NULL : dwarf_formstring(&found);
}

/* Has the skeleton name /dev/fd/N: as the name alone, or where that is too short, as folder and
 * name. */
static bool rename_unit(Dwarf_Die *die, int descriptor, struct loan loans[2])
{
	const char *name = text_of(die, DW_AT_dwo_name);
	const char *folder = text_of(die, DW_AT_comp_dir);
	const char *here = access("/dev/fd", X_OK) == 0 ? "/dev/fd" : "/proc/self/fd";
	char path[NAME_BYTES];
	const int at = snprintf(path, sizeof path, "%s/%d", here, descriptor) -
		       snprintf(NULL, 0, "%d", descriptor);
	if (name == NULL)
		name = text_of(die, DW_AT_GNU_dwo_name);
	if (name == NULL)
		return false;
	return write_over(name, path, &loans[0]) ||
	       (name[0] != '/' && folder != NULL && folder[0] == '/' &&
		       write_over(folder, here, &loans[0]) &&
		       write_over(name, path + at, &loans[1]));
}

void bp_split_unit_attach(const struct bp_dwarf_package *package, Dwarf_CU *cu, Dwarf_Die *die)
{
	struct loan loans[2] = { { 0 } };
	Dwarf_Die split;
	uint64_t id;
	uint8_t type;
	char *image;
	size_t bytes;
	if (dwarf_cu_info(cu, NULL, &type, NULL, NULL, &id, NULL, NULL) != 0 ||
		type != DW_UT_skeleton || !bp_dwarf_package_unit(package, id, &image, &bytes))
		return;
	const int descriptor = file_in_memory(image, bytes);
	free(image);
	if (descriptor < 0)
		return;
	if (rename_unit(die, descriptor, loans))
		dwarf_cu_info(cu, NULL, NULL, NULL, &split, NULL, NULL, NULL);
	put_back(&loans[1]);
	put_back(&loans[0]);
	close(descriptor);
}
