/* SPDX-License-Identifier: MIT */
/*
 * The table of modules seen in stacks. It is consulted only when a stack is written for the first
 * time, so a linear search over the few dozen modules of a program will do. What a module is called
 * comes from the loader's link map (where that has no whole path, from the kernel's list of
 * mappings), what it is from its own notes (the build-id) and from stat, once.
 */
#include "unwind/modules.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "base/attributes.h"
#include "base/executable.h"
#include "base/lock.h"
#include "trace/writer/writer.h"
#include "unwind/frame_rules.h"
#include "unwind/loaded_objects.h"
#include "unwind/stack.h"
#include "unwind/stack_table.h"

#define MODULES_MAX 4096u

struct module {
	struct bp_module_range range;
	uint32_t id;
	uint32_t written; /* generation of the trace that has it, and 1; 0: none has */
	bool gone;
	/* Asked for once, so that children of fork need not: the file as it was first seen, or
	 * zeros. */
	bool file_known;
	uint64_t file_bytes, file_mtime_ns;
};

/* What changes most stands first, in one page. */
static struct {
	struct bp_lock lock;
	uint32_t count, last_id, generation;
	uint64_t epoch;
	void (*look)(const void *link_map); /* is called for each new module; NULL: nobody is */
	struct module modules[MODULES_MAX];
	char executable[BP_PATH_BYTES]; /* "": not asked for yet */
} table;

uint64_t bp_modules_epoch(void)
{
	return __atomic_load_n(&table.epoch, __ATOMIC_RELAXED);
}

/* The build-id among the notes in [at, end); false if it is not there. */
static bool read_notes(uintptr_t at, uintptr_t end, struct bp_record_module *record)
{
	while (end - at >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		uintptr_t name = at + sizeof *note;
		uintptr_t body = name + ((note->n_namesz + 3u) & ~3u);
		uintptr_t next = body + ((note->n_descsz + 3u) & ~3u);
		if (next > end || next < at)
			return false;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			__builtin_memcmp((const void *)name, "GNU", 4) == 0) {
			record->build_id = (const void *)body;
			record->build_id_bytes = note->n_descsz;
			return true;
		}
		at = next;
	}
	return false;
}

/* The program headers: the kernel gives those of the executable (AT_PHDR); those of other modules
 * stand behind the ELF header at the beginning of their mapping. NULL if there are none to read. */
static const ElfW(Phdr) * program_headers(const struct module *module, unsigned *ret_count)
{
	const struct link_map *map = module->range.link_map;
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)module->range.start;
	const size_t mapped = module->range.end - module->range.start;
	if (map->l_prev == NULL) {
		*ret_count = (unsigned)getauxval(AT_PHNUM);
		return (const ElfW(Phdr) *)getauxval(AT_PHDR);
	}
	if (mapped < sizeof *header || __builtin_memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
		header->e_phentsize != sizeof(ElfW(Phdr)) ||
		header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > mapped)
		return NULL;
	*ret_count = header->e_phnum;
	return (const ElfW(Phdr) *)(module->range.start + header->e_phoff);
}

/* The build-id note, which the loader keeps mapped. */
static void find_build_id(const struct module *module, struct bp_record_module *record)
{
	unsigned count = 0;
	const ElfW(Phdr) *segments = program_headers(module, &count);
	for (unsigned i = 0; segments != NULL && i < count; i++) {
		struct bp_module_range range;
		uintptr_t at = record->bias + segments[i].p_vaddr;
		uintptr_t end = at + segments[i].p_memsz;
		if (segments[i].p_type == PT_NOTE && at <= end &&
			bp_module_range_known(at, &range) && end <= range.end &&
			read_notes(at, end, record))
			return;
	}
}

/* The path of a module, in `buffer` or not. The executable's name is empty in the link map. That of
 * a library may be relative to the working directory of the moment at which it was loaded, which
 * nobody knows later: the kernel says which file is mapped there. */
static const char *module_path(
	const struct bp_module_range *range, bool files_allowed, char *buffer, size_t bytes)
{
	const struct link_map *map = range->link_map;
	const char *name = map->l_name;
	size_t length = 0;
	if (name != NULL && __builtin_strncmp(name, "linux-vdso", 10) == 0)
		return "[vdso]";
	if (name != NULL && name[0] == '/')
		return name;
	const bool executable = name == NULL || name[0] == '\0';
	if (files_allowed)
		length = executable ? bp_executable_path(buffer, bytes - 1)
				    : bp_executable_mapped_at(range->start, buffer, bytes - 1);
	if (length == 0 && !executable)
		return name;
	buffer[length] = '\0';
	return buffer;
}

/* The path of a module, guarded by the lock; that of the executable is asked for once. */
static const char *known_path(const struct module *module, bool files_allowed)
{
	static char buffer[BP_PATH_BYTES];
	const struct link_map *map = module->range.link_map;
	if (map->l_prev != NULL)
		return module_path(&module->range, files_allowed, buffer, sizeof buffer);
	if (table.executable[0] != '\0')
		return table.executable;
	return module_path(
		&module->range, files_allowed, table.executable, sizeof table.executable);
}

static void look_at_file(struct module *module, const char *path)
{
	struct stat status;
	if (module->file_known || path[0] != '/')
		return;
	module->file_known = true;
	if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0)
		return;
	module->file_bytes = (uint64_t)status.st_size;
	module->file_mtime_ns =
		(uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
}

static bool write_module(struct bp_writer *writer, struct module *module)
{
	const bool files_allowed = !writer->files_forbidden;
	const struct link_map *map = module->range.link_map;
	struct bp_record_module record = {
		.id = module->id,
		.epoch = table.epoch,
		.start = module->range.start,
		.end = module->range.end,
		.bias = map->l_addr,
		.path = known_path(module, files_allowed),
		.build_id = "",
	};
	if (files_allowed)
		look_at_file(module, record.path);
	record.file_bytes = module->file_bytes;
	record.file_mtime_ns = module->file_mtime_ns;
	find_build_id(module, &record);
	return bp_writer_module(writer, &record);
}

static struct module *find(uintptr_t pc)
{
	for (uint32_t i = 0; i < table.count; i++) {
		struct module *module = &table.modules[i];
		if (!module->gone && pc >= module->range.start && pc < module->range.end)
			return module;
	}
	return NULL;
}

static struct module *add(uintptr_t pc)
{
	struct bp_module_range range;
	if (!bp_module_range_known(pc, &range))
		return NULL; /* generated code: in no module */
	struct module *module = NULL;
	for (uint32_t i = 0; i < table.count && module == NULL; i++)
		if (table.modules[i].gone)
			module = &table.modules[i];
	if (module == NULL && table.count < MODULES_MAX)
		module = &table.modules[table.count++];
	if (module == NULL)
		return NULL;
	*module = (struct module){ .range = range, .id = ++table.last_id };
	if (table.look != NULL)
		table.look(range.link_map);
	return module;
}

void bp_modules_note(struct bp_writer *writer, const uint64_t *pcs, uint32_t depth)
{
	bp_lock_take(&table.lock);
	for (uint32_t i = 0; i < depth; i++) {
		struct module *module = find(pcs[i]);
		if (module == NULL)
			module = add(pcs[i]);
		if (module == NULL || module->written == table.generation + 1)
			continue;
		if (write_module(writer, module))
			module->written = table.generation + 1;
		else
			bp_writer_lost(writer, BP_LOSS_MODULE_TABLE);
	}
	bp_lock_release(&table.lock);
}

void bp_modules_watch(void (*look)(const void *link_map))
{
	table.look = look;
}

void bp_modules_check_gone(struct bp_writer *writer)
{
	bp_module_ranges_look();
	bp_lock_take(&table.lock);
	bool any = false;
	for (uint32_t i = 0; i < table.count; i++) {
		struct module *module = &table.modules[i];
		struct bp_module_range now;
		if (module->gone || (bp_module_range_known(module->range.start, &now) &&
					    now.link_map == module->range.link_map &&
					    now.end == module->range.end))
			continue;
		if (!any)
			__atomic_fetch_add(&table.epoch, 1, __ATOMIC_RELAXED);
		any = module->gone = true;
		uint64_t values[2] = { module->id, table.epoch };
		(void)bp_writer_plain(writer, BP_TAG_MODULE_GONE, values, 2, NULL);
		bp_stack_table_forget(module->range.start, module->range.end);
	}
	bp_lock_release(&table.lock);
	/* Rules of code that was never in a stack are cached by pc as well. */
	bp_stack_forget_rules();
}

void bp_modules_path(uintptr_t address, char *to, size_t bytes)
{
	struct bp_module_range range;
	to[0] = '\0';
	if (!bp_module_range_find(address, &range))
		return;
	const char *path = module_path(&range, true, to, bytes);
	if (path == to)
		return;
	size_t length = __builtin_strlen(path);
	length = length < bytes ? length : bytes - 1;
	__builtin_memcpy(to, path, length);
	to[length] = '\0';
}

void bp_modules_lock(void)
{
	bp_lock_take(&table.lock);
}

void bp_modules_unlock(void)
{
	bp_lock_release(&table.lock);
}

void bp_modules_after_fork(void)
{
	(void)bp_lock_reset(&table.lock);
	bp_loaded_objects_after_fork();
	table.generation++;
}
