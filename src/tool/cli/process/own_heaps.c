/* SPDX-License-Identifier: MIT */
/* See own_heaps.h. */
#include "cli/process/own_heaps.h"

#include "base/attributes.h"

const char *bp_own_heap_function(const struct bp_elf_file *file)
{
	static const char *const names[] = { "_rjem_malloc", "je_malloc", "_rjem_mallocx",
		"je_mallocx", "mi_malloc", "tc_malloc" };
	for (size_t i = 0; i < BP_COUNT(names); i++)
		if (bp_elf_defines(file, names[i]) != BP_ELF_UNDEFINED)
			return names[i];
	return NULL;
}

bp_own_heaps bp_own_heaps_of_elf(const struct bp_elf_file *file, const char *path)
{
	bp_own_heaps heaps = 0;
	/* The mimalloc that CPython is built with is told of as Python's. */
	const bool is_python = (bp_own_heaps_of_file(path, true) & 1u << BP_OWN_HEAP_PYTHON) != 0;
	if (!file->readable)
		return 0;
	if (bp_elf_has_section(file, ".go.buildinfo"))
		heaps |= 1u << BP_OWN_HEAP_GO;
	if (!is_python && bp_own_heap_function(file) != NULL)
		heaps |= 1u << BP_OWN_HEAP_ALLOCATOR;
	return heaps;
}

bp_own_heaps bp_own_heaps_of_process(const struct bp_profile *profile, uint32_t pid)
{
	bp_own_heaps heaps = bp_own_heaps_of_modules(profile, pid);
	const struct bp_process *last = NULL;
	struct bp_elf_file file;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if ((pid == 0 || profile->processes.data[i].pid == pid) &&
			(last == NULL ||
				profile->processes.data[i].start_time_ns > last->start_time_ns))
			last = &profile->processes.data[i];
	const char *path = last != NULL ? bp_profile_text(profile, last->program) : "";
	if (last != NULL && !last->host && bp_elf_file_open(path, &file, NULL)) {
		heaps |= bp_own_heaps_of_elf(&file, path);
		bp_elf_file_close(&file);
	}
	return heaps;
}

bool bp_explain_process(const struct bp_aggregation *aggregation,
	const struct bp_resident *resident, struct bp_explained *ret_explained)
{
	*ret_explained = (struct bp_explained){ 0 };
	if (!bp_explain(aggregation, resident, 0, ret_explained))
		return false;
	/* Only then the program's file is worth opening. */
	if (ret_explained->little && !ret_explained->since_attached)
		ret_explained->heaps = bp_own_heaps_of_process(aggregation->profile, resident->pid);
	return true;
}
