/* SPDX-License-Identifier: MIT */
/* See target_image.h. Debug files are not looked for: unwind tables and exported names are in the
 * files that are mapped. */
#include "cli/attach/target_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "cli/attach/inside.h"
#include "cli/process/processes.h"
#include "cli/process/recorder_file.h"

static int find_no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word checksum, char **ret_file)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)checksum;
	(void)ret_file;
	return -1;
}

/* The code at the entry, which calls the C library. */
#define START_BYTES 64u

/* The root directory of the process that is being opened, if it is in another mount namespace; else
 * -1. */
static int its_root = -1;
static pid_t its_pid;

/* In another mount namespace the paths of /proc/PID/maps are the process's, and libdw would open
 * them as if they were ours: another C library may be there, in which dlopen has another address.
 * (In a mere chroot the kernel gives them as we have them.) What does not lie in its root directory
 * is not looked for. */
static int find_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	char **ret_file, Elf **ret_elf)
{
	if (its_root < 0 || name[0] != '/')
		return dwfl_linux_proc_find_elf(module, data, name, base, ret_file, ret_elf);
	const char *inside = bp_process_path_in_root(its_pid, name);
	return inside != NULL ? bp_inside_file(its_root, inside) : -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_file,
	.find_debuginfo = find_no_debug_file,
};

static const char *base_name_of(Dwfl_Module *module)
{
	const char *name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	const char *slash = name != NULL ? strrchr(name, '/') : NULL;
	return slash != NULL ? slash + 1 : name != NULL ? name : "";
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

uint64_t bp_target_symbol(Dwfl_Module *module, const char *name)
{
	const int count = dwfl_module_getsymtab(module);
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address = 0;
		const char *found =
			dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
		if (found != NULL && symbol.st_shndx != SHN_UNDEF && strcmp(found, name) == 0)
			return address;
	}
	return 0;
}

/* What a module is, found out once: its user pointer. */
static enum bp_place_kind classify(Dwfl_Module *module)
{
	const char *name = base_name_of(module);
	if (begins_with(name, "libc.so.6") || begins_with(name, "libc-2."))
		return BP_IN_LIBC;
	if (begins_with(name, "ld-linux") || begins_with(name, "ld-2."))
		return BP_IN_LOADER;
	if (bp_recorder_file_is(name))
		return BP_IN_RECORDER;
	if (begins_with(name, "libgcc_s"))
		return BP_IN_UNWINDER;
	if (begins_with(name, "["))
		return BP_IN_NOTHING;
	return bp_target_symbol(module, "malloc") != 0 ? BP_IN_ALLOCATOR : BP_IN_PROGRAM;
}

/* Functions of CPython in which it holds the lock of its allocators or that of pending calls, and
 * the one that lets go of them, whose caller may have left it the rest. (A thread that waits for
 * one of them does not hold it.) */
static const char *const locking[] = { "PyMem_GetAllocator", "PyMem_SetAllocator",
	"PyMem_SetupDebugHooks", "_PyMem_SetDefaultAllocator", "PyObject_GetArenaAllocator",
	"PyObject_SetArenaAllocator", "_PyTraceMalloc_Start", "_PyTraceMalloc_Stop",
	"Py_AddPendingCall", "_PyEval_AddPendingCall", "PyThread_release_lock", "PyMutex_Unlock" };

static bool is_locking(const char *name)
{
	for (size_t i = 0; i < BP_COUNT(locking); i++)
		if (strcmp(locking[i], name) == 0)
			return true;
	return false;
}

/* False: there is no room for all of them. */
static bool find_python_locks(Dwfl_Module *module, struct bp_target_image *image)
{
	const int count = dwfl_module_getsymtab(module);
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address = 0;
		const char *name =
			dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
		if (name == NULL || symbol.st_shndx == SHN_UNDEF || !is_locking(name))
			continue;
		if (image->python_lock_count == BP_TARGET_PIECES_MAX)
			return false;
		image->python_locks[image->python_lock_count++] =
			(struct bp_target_piece){ address, address + symbol.st_size };
	}
	return true;
}

static bool is_in_python_lock(const struct bp_target_image *image, uint64_t pc)
{
	for (uint32_t i = 0; i < image->python_lock_count; i++)
		if (pc >= image->python_locks[i].start && pc < image->python_locks[i].end)
			return true;
	return false;
}

static int prepare(
	Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start, void *context)
{
	struct bp_target_image *image = context;
	GElf_Addr bias;
	(void)name, (void)start;
	(void)dwfl_module_getelf(module, &bias);
	(void)dwfl_module_eh_cfi(module, &bias);
	const enum bp_place_kind kind = classify(module);
	*data = (void *)(uintptr_t)kind;
	if (kind == BP_IN_LIBC)
		image->libc = module;
	else if (kind == BP_IN_RECORDER)
		image->recorder = module;
	else if (kind == BP_IN_PROGRAM && !find_python_locks(module, image))
		*data = (void *)(uintptr_t)BP_IN_PYTHON_LOCK;
	return DWARF_CB_OK;
}

/* What the kernel gave the program at its exec: where its code begins (AT_ENTRY), and a sum of all,
 * in which addresses that are random differ from one exec to the next. 0: not known. */
static void read_start(pid_t pid, uint64_t *ret_entry, uint64_t *ret_start)
{
	char path[64];
	uint64_t pair[2];
	*ret_entry = *ret_start = 0;
	snprintf(path, sizeof path, "/proc/%ld/auxv", (long)pid);
	FILE *file = fopen(path, "re");
	while (file != NULL && fread(pair, sizeof pair, 1, file) == 1) {
		if (pair[0] == AT_ENTRY)
			*ret_entry = pair[1];
		*ret_start = bp_hash_u64(bp_hash_u64(*ret_start + pair[0]) + pair[1]);
	}
	if (file != NULL)
		fclose(file);
}

bool bp_target_image_is_current(const struct bp_target_image *image)
{
	uint64_t entry, start;
	read_start(image->pid, &entry, &start);
	return start == image->start;
}

bool bp_target_image_open(pid_t pid, struct bp_target_image *ret_image, struct bp_error *error)
{
	struct bp_target_image image = { .pid = pid, .dwfl = dwfl_begin(&callbacks) };
	read_start(pid, &image.entry, &image.start);
	const bool good = image.dwfl != NULL && dwfl_linux_proc_report(image.dwfl, pid) == 0 &&
			  dwfl_report_end(image.dwfl, NULL, NULL) == 0 &&
			  dwfl_linux_proc_attach(image.dwfl, pid, true) == 0;
	if (!good) {
		(void)bp_error_set(
			error, "process %ld cannot be looked at: %s", (long)pid, dwfl_errmsg(-1));
		bp_target_image_close(&image);
		return false;
	}
	if (bp_process_is_elsewhere(pid, "ns/mnt") && (its_root = bp_inside_root(pid)) < 0) {
		bp_target_image_close(&image);
		return bp_error_set(error, "the root directory of process %ld cannot be opened: %s",
			(long)pid, strerror(errno));
	}
	its_pid = pid;
	(void)dwfl_getmodules(image.dwfl, prepare, &image, 0);
	if (its_root >= 0)
		close(its_root);
	its_root = -1;
	if (image.libc == NULL) {
		bp_target_image_close(&image);
		return bp_error_set(error,
			"process %ld has no libc.so.6, glibc's: it cannot be attached to",
			(long)pid);
	}
	*ret_image = image;
	return true;
}

void bp_target_image_close(struct bp_target_image *image)
{
	if (image->dwfl != NULL)
		dwfl_end(image->dwfl);
	*image = (struct bp_target_image){ 0 };
}

uint64_t bp_target_find_code(
	const struct bp_target_image *image, const uint8_t *bytes, size_t count)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(image->libc, &bias);
	for (Elf_Scn *section = NULL;
		elf != NULL && (section = elf_nextscn(elf, section)) != NULL;) {
		GElf_Shdr header;
		Elf_Data *data;
		if (gelf_getshdr(section, &header) == NULL ||
			(header.sh_flags & SHF_EXECINSTR) == 0 ||
			(data = elf_rawdata(section, NULL)) == NULL || data->d_buf == NULL)
			continue;
		const uint8_t *found = memmem(data->d_buf, data->d_size, bytes, count);
		if (found != NULL)
			return header.sh_addr + bias + (uint64_t)(found - (uint8_t *)data->d_buf);
	}
	return 0;
}

/* (Names are looked up in the C library only: libdw goes through all symbols of a module.) */
static struct bp_stack_frame describe(const struct bp_target_image *image, Dwarf_Addr pc)
{
	Dwfl_Module *module = dwfl_addrmodule(image->dwfl, pc);
	struct bp_stack_frame frame = { .kind = BP_IN_NOTHING };
	void **data = NULL;
	GElf_Off offset = 0;
	GElf_Sym symbol;
	if (module == NULL ||
		dwfl_module_info(module, &data, NULL, NULL, NULL, NULL, NULL, NULL) == NULL)
		return frame;
	frame.kind = (enum bp_place_kind)(uintptr_t)*data;
	if (is_in_python_lock(image, pc))
		frame.kind = BP_IN_PYTHON_LOCK;
	if (image->entry != 0 && pc - image->entry < START_BYTES)
		frame.name = BP_JUDGED_START;
	if (frame.kind != BP_IN_LIBC)
		return frame;
	frame.name = dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL);
	if (frame.name != NULL && offset >= symbol.st_size)
		frame.name = NULL; /* the nearest one, not one that covers it */
	return frame;
}

struct walk {
	const struct bp_target_image *image;
	struct bp_target_stack *stack;
};

static int add_frame(Dwfl_Frame *frame, void *context)
{
	struct walk *walk = context;
	struct bp_target_stack *stack = walk->stack;
	Dwarf_Addr pc;
	bool is_activation;
	if (stack->count == BP_JUDGED_FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &is_activation))
		return DWARF_CB_ABORT;
	stack->frames[stack->count] = describe(walk->image, is_activation ? pc : pc - 1);
	stack->frames[stack->count++].interrupted = is_activation;
	return DWARF_CB_OK;
}

void bp_target_stack_read(
	const struct bp_target_image *image, pid_t tid, struct bp_target_stack *ret_stack)
{
	struct walk walk = { image, ret_stack };
	ret_stack->count = 0;
	ret_stack->whole = dwfl_getthread_frames(image->dwfl, tid, add_frame, &walk) == 0;
}
