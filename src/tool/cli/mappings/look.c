/* SPDX-License-Identifier: MIT */
/*
 * See look.h. Which kind a mapping is of:
 *
 *	recorder       anonymous with MADV_NOHUGEPAGE or MADV_WIPEONFORK, which the recorder gives
 *	               all of its memory; the mapping of the trace; the recorder's own file
 *	code           of a file that one mapping with code is of; anonymous memory that stands
 *	               right behind its data, as far as the file's headers say (.bss)
 *	heap           what the walk went through; without a walk the mapping [heap]
 *	               (not behind a guard: since Linux 6.7 stacks have MADV_NOHUGEPAGE, too)
 *	thread-stack   anonymous and a thread's stack pointer lies in it; or of the size of such a
 *	               one, right behind a guard: the stack of a thread that runs just now, or has
 *	ended shared, file   by name: /dev/shm, /memfd:, SYSV, /dev/zero are memory
 *	anonymous      all else without a file
 *
 * A part of a mapping that the heap takes is counted by pagemap and taken off its mapping.
 */
#include "cli/mappings/look.h"

#include <dirent.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system_call.h"
#include "cli/mappings/heap_walk.h"
#include "cli/mappings/pages_look.h"
#include "cli/process/processes.h"

#define TRIES 3u
/* The heap may have grown by that part of it while it was walked. */
#define CHANGE_PART 50u
#define STEADY_KIB 1024u
/* Program headers stand at the beginning of a file, and are few. */
#define HEADERS_AT_MOST 4096u
#define HEADERS_MOST 64u
#define STACKS_MAX 1024u
#define GUARD_BYTES_MAX 65536u
/* Anonymous mappings of so much and more have a group of their own. */
#define OWN_GROUP_BYTES (UINT64_C(1) << 20)

struct look {
	pid_t pid;
	const char *trace;
	struct bp_smaps smaps;
	struct bp_heap_areas areas;
	struct bp_chunk_map chunks;
	uint64_t stacks[STACKS_MAX]; /* stack pointers of threads */
	uint32_t stack_count;
	struct bp_mapping_cut cut;
};

/* Where threads that wait in a system call have their stacks. */
static void read_stacks(struct look *look)
{
	char path[64 + 256], text[256];
	snprintf(path, sizeof path, "/proc/%d/task", (int)look->pid);
	DIR *tasks = opendir(path);
	if (tasks == NULL)
		return;
	for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
		uint64_t pointer;
		if (*task->d_name == '.')
			continue;
		look->cut.threads++;
		snprintf(path, sizeof path, "/proc/%d/task/%s/syscall", (int)look->pid,
			task->d_name);
		FILE *in = look->stack_count < STACKS_MAX ? fopen(path, "re") : NULL;
		if (in == NULL)
			continue;
		/* "NUMBER, six arguments, STACK POINTER, PC"; "-1 STACK POINTER PC"; "running" */
		if (fgets(text, sizeof text, in) != NULL &&
			(sscanf(text, "-1 0x%" SCNx64, &pointer) == 1 ||
				sscanf(text, "%*d %*s %*s %*s %*s %*s %*s 0x%" SCNx64, &pointer) ==
					1))
			look->stacks[look->stack_count++] = pointer;
		fclose(in);
	}
	closedir(tasks);
}

static bool has_stack(const struct look *look, const struct bp_smap *map)
{
	for (uint32_t i = 0; i < look->stack_count; i++)
		if (look->stacks[i] >= map->start && look->stacks[i] < map->end)
			return true;
	return false;
}

/* The guard right before a mapping: its size; 0: there is none. */
static uint64_t guard_before(const struct look *look, uint32_t number)
{
	const struct bp_smap *map = &look->smaps.items[number], *before = map - 1;
	const bool guard = number > 0 && before->end == map->start && before->inode == 0 &&
			   !before->readable && !before->writable &&
			   before->end - before->start <= GUARD_BYTES_MAX;
	return guard ? before->end - before->start : 0;
}

static bool is_thread_stack(const struct look *look, uint32_t number)
{
	const struct bp_smap *map = &look->smaps.items[number];
	const uint64_t guard = guard_before(look, number);
	if (has_stack(look, map) || (guard != 0 && map->no_huge))
		return true;
	for (uint32_t i = 0; guard != 0 && i < look->smaps.count; i++) {
		const struct bp_smap *other = &look->smaps.items[i];
		if (bp_smap_is_anonymous(other) && has_stack(look, other) &&
			guard_before(look, i) == guard &&
			other->end - other->start == map->end - map->start)
			return true;
	}
	return false;
}

static bool has_code(const struct look *look, const char *name)
{
	for (uint32_t i = 0; i < look->smaps.count; i++)
		if (look->smaps.items[i].executable && strcmp(look->smaps.items[i].name, name) == 0)
			return true;
	return false;
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* A file of bytepoll's: the recorder, the trace, or that of a later image in FILE.d. */
static bool is_of_recorder(const struct look *look, const char *name)
{
	const char *trace = last_part(look->trace), *found = strstr(name, trace);
	return begins(last_part(name), "libbytepoll-recorder") ||
	       strcmp(last_part(name), trace) == 0 ||
	       (found != NULL && begins(found + strlen(trace), ".d/"));
}

static enum bp_mapping_kind kind_of_file(const struct look *look, const struct bp_smap *map)
{
	if (is_of_recorder(look, map->name))
		return BP_MAPPING_RECORDER;
	if (begins(map->name, "/dev/shm/") || begins(map->name, "/memfd:") ||
		begins(map->name, "/SYSV") || begins(map->name, "/dev/zero"))
		return BP_MAPPING_SHARED;
	return has_code(look, map->name) ? BP_MAPPING_CODE : BP_MAPPING_FILE;
}

/* The kind of mapping `number`, and the name that it counts under. */
static enum bp_mapping_kind kind_of(
	const struct look *look, uint32_t number, char name[BP_MAPPING_NAME_MAX + 1])
{
	const struct bp_smap *map = &look->smaps.items[number];
	snprintf(name, BP_MAPPING_NAME_MAX + 1, "%s", map->name);
	if (map->inode != 0)
		return kind_of_file(look, map);
	if (strcmp(map->name, "[stack]") == 0)
		return BP_MAPPING_STACK;
	if (strcmp(map->name, "[heap]") == 0)
		return BP_MAPPING_HEAP;
	if (*map->name == '[' && !begins(map->name, "[anon"))
		return BP_MAPPING_OTHER;
	if (bp_smap_is_anonymous(map) && is_thread_stack(look, number)) {
		*name = '\0';
		return BP_MAPPING_THREAD_STACK;
	}
	if (map->no_huge || map->wipe_on_fork) {
		snprintf(name, BP_MAPPING_NAME_MAX + 1, "its tables and sampled objects");
		return BP_MAPPING_RECORDER;
	}
	if (*name == '\0' && map->resident_bytes >= OWN_GROUP_BYTES)
		snprintf(name, BP_MAPPING_NAME_MAX + 1, "%" PRIx64 "-%" PRIx64, map->start,
			map->end);
	return BP_MAPPING_ANONYMOUS;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What an area takes of a mapping: whole, as smaps has it; in part, by pagemap. */
static bool measure_part(struct bp_page_reader *reader, const struct bp_smap *map,
	const struct bp_heap_area *area, struct bp_mapping_group *part)
{
	const uint64_t start = area->start > map->start ? area->start : map->start;
	const uint64_t end = lesser(area->end, map->end);
	*part = (struct bp_mapping_group){ .count = 1, .size_bytes = end - start };
	if (start > map->start || end < map->end)
		return bp_page_reader_count(
			reader, start, end, &part->resident_bytes, &part->swapped_bytes);
	part->resident_bytes = map->resident_bytes;
	part->swapped_bytes = map->swapped_bytes;
	return true;
}

/* What of a mapping the heap takes goes to the heap; `rest` keeps what is left. */
static bool add_heap_parts(struct look *look, struct bp_page_reader *reader,
	const struct bp_smap *map, struct bp_mapping_group *rest)
{
	for (uint32_t i = 0; i < look->areas.count; i++) {
		const struct bp_heap_area *area = &look->areas.items[i];
		struct bp_mapping_group part;
		if (area->start >= map->end || area->end <= map->start)
			continue;
		if (!measure_part(reader, map, area, &part))
			return false;
		/* What was touched since smaps was read is not in its sums. */
		part.resident_bytes = lesser(part.resident_bytes, rest->resident_bytes);
		part.swapped_bytes = lesser(part.swapped_bytes, rest->swapped_bytes);
		rest->size_bytes -= part.size_bytes;
		rest->resident_bytes -= part.resident_bytes;
		rest->swapped_bytes -= part.swapped_bytes;
		if (!bp_mapping_cut_add(&look->cut, BP_MAPPING_HEAP,
			    area->alone	       ? "blocks mapped alone"
			    : area->arena != 0 ? "arenas of threads"
					       : "[heap]",
			    &part))
			return false;
	}
	return true;
}

/* ---- what stands behind the data of a file ---- */

/* Anonymous memory right behind the writable data of a file of code. */
static bool is_behind_data(const struct look *look, uint32_t number)
{
	const struct bp_smap *map = &look->smaps.items[number], *before = map - 1;
	return number > 0 && map->inode == 0 && map->writable && before->end == map->start &&
	       before->inode != 0 && before->writable && !before->shared && !map->no_huge &&
	       !map->wipe_on_fork && (*map->name == '\0' || begins(map->name, "[anon"));
}

/* Where the memory of the file of mapping `number` ends by its program headers, whole pages; 0: not
 * known. Its first page is that of the ELF header (elf(5)). */
static uint64_t end_of_file_memory(
	const struct look *look, struct bp_page_reader *reader, uint32_t number)
{
	const struct bp_smap *items = look->smaps.items;
	uint64_t magic, table, counts, end = 0, bias = 0;
	bool found = false;
	uint32_t first = number;
	while (first > 0 && items[first - 1].inode == items[number].inode &&
		strcmp(items[first - 1].name, items[number].name) == 0)
		first--;
	const uint64_t base = items[first].start;
	if (!bp_page_reader_keep(reader, base, &magic) || (uint32_t)magic != 0x464c457f ||
		!bp_page_reader_keep(reader, base + 32, &table) ||
		!bp_page_reader_keep(reader, base + 48, &counts) || table % 8 != 0 ||
		table > HEADERS_AT_MOST || (counts >> 48) > HEADERS_MOST)
		return 0;
	/* e_ehsize, e_phentsize and e_phnum are the last halves of the word at 48. */
	const uint64_t entry_bytes = counts >> 32 & 0xffff;
	for (uint64_t i = 0; entry_bytes % 8 == 0 && i < counts >> 48; i++) {
		const uint64_t at = base + table + i * entry_bytes;
		uint64_t type, address, bytes;
		if (!bp_page_reader_keep(reader, at, &type) ||
			!bp_page_reader_keep(reader, at + 16, &address) ||
			!bp_page_reader_keep(reader, at + 40, &bytes))
			return 0;
		if ((uint32_t)type != PT_LOAD)
			continue;
		if (!found)
			bias = base - (address & ~(uint64_t)(BP_PAGE_BYTES - 1));
		found = true;
		if (bias + address + bytes > end)
			end = bias + address + bytes;
	}
	return (end + BP_PAGE_BYTES - 1) & ~(uint64_t)(BP_PAGE_BYTES - 1);
}

/* What of a mapping belongs to the data of the file before it (.bss) is counted there; `rest` keeps
 * what is left: the kernel may put other memory right behind it, as one mapping. */
static bool add_data(struct look *look, struct bp_page_reader *reader, uint32_t number,
	struct bp_mapping_group *rest)
{
	const struct bp_smap *map = &look->smaps.items[number], *before = map - 1;
	char name[BP_MAPPING_NAME_MAX + 1];
	struct bp_mapping_group part = *rest;
	const uint64_t end = end_of_file_memory(look, reader, number - 1);
	if (end != 0 && end <= map->start)
		return true;
	if (end != 0 && end < map->end) {
		part = (struct bp_mapping_group){ .count = 1, .size_bytes = end - map->start };
		if (!bp_page_reader_count(
			    reader, map->start, end, &part.resident_bytes, &part.swapped_bytes))
			return false;
		part.size_bytes = lesser(part.size_bytes, rest->size_bytes);
		part.resident_bytes = lesser(part.resident_bytes, rest->resident_bytes);
		part.swapped_bytes = lesser(part.swapped_bytes, rest->swapped_bytes);
	}
	rest->size_bytes -= part.size_bytes;
	rest->resident_bytes -= part.resident_bytes;
	rest->swapped_bytes -= part.swapped_bytes;
	snprintf(name, sizeof name, "%s", before->name);
	return bp_mapping_cut_add(&look->cut, kind_of_file(look, before), name, &part);
}

static bool add_mappings(struct look *look, struct bp_page_reader *reader)
{
	char name[BP_MAPPING_NAME_MAX + 1];
	for (uint32_t i = 0; i < look->smaps.count; i++) {
		const struct bp_smap *map = &look->smaps.items[i];
		struct bp_mapping_group rest = { .count = 1,
			.size_bytes = map->end - map->start,
			.resident_bytes = map->resident_bytes,
			.swapped_bytes = map->swapped_bytes };
		if (map->inode == 0 && !add_heap_parts(look, reader, map, &rest))
			return false;
		if (is_behind_data(look, i) && !add_data(look, reader, i, &rest))
			return false;
		/* Address space that nothing is in: reservations and guards. */
		if (rest.size_bytes == 0 ||
			(rest.resident_bytes == 0 && rest.swapped_bytes == 0 && !map->readable))
			continue;
		const enum bp_mapping_kind kind = kind_of(look, i, name);
		if (!bp_mapping_cut_add(&look->cut, kind, name, &rest))
			return false;
	}
	return true;
}

/* Is what the walk went through what the mappings, which were read behind it, have of heaps? */
static bool is_of_now(const struct look *look, struct bp_page_reader *reader)
{
	const uint64_t mapped = bp_heap_bytes(reader, &look->smaps);
	uint64_t walked = 0;
	for (uint32_t i = 0; i < look->areas.count; i++)
		walked += look->areas.items[i].end - look->areas.items[i].start;
	return (walked > mapped ? walked - mapped : mapped - walked) <= mapped / CHANGE_PART;
}

/* Resident memory before the mappings were read, and behind that of blocks mapped alone, KiB: is it
 * the same but for a fiftieth? A block that was unmapped between would be both, mapped by the
 * program and live. (The kernel tells it to within some hundred KiB.) */
static bool is_steady(uint64_t before, uint64_t after)
{
	const uint64_t change = before > after ? before - after : after - before;
	return change <= before / CHANGE_PART || change <= STEADY_KIB;
}

/* The heap, then the mappings, so that the sums of both are of nearly one moment: that right before
 * the mappings are read. What lived then lies in one of them; pages are looked at after that. */
static bool look_once(
	struct look *look, struct bp_page_reader *reader, bool reads, uint64_t most_ns)
{
	uint64_t before = 0, after = 0;
	bp_heap_areas_finish(&look->areas);
	bp_chunk_map_finish(&look->chunks);
	bp_smaps_finish(&look->smaps);
	look->cut.time_ns = bp_clock_machine_ns();
	if (!bp_smaps_read(look->pid, &look->smaps))
		return false;
	look->cut.heap = (struct bp_heap_walk){ 0 };
	if (!reads ||
		!bp_heap_walk(reader, &look->smaps, &look->cut.heap, &look->areas, &look->chunks))
		return true;
	/* (What a walk took must not be lost for the rest.) */
	bp_page_reader_set_deadline(reader, bp_system_time_ns(CLOCK_THREAD_CPUTIME_ID) + most_ns);
	bp_smaps_finish(&look->smaps);
	const bool told = bp_process_status_of(look->pid, "VmRSS", &before, 1) == 1;
	look->cut.time_ns = bp_clock_machine_ns();
	if (!bp_smaps_read(look->pid, &look->smaps))
		return false;
	if (is_of_now(look, reader) &&
		bp_heap_find_alone(
			reader, &look->smaps, &look->cut.heap, &look->areas, &look->chunks) &&
		told && bp_process_status_of(look->pid, "VmRSS", &after, 1) == 1 &&
		is_steady(before, after))
		return true;
	bp_heap_areas_finish(&look->areas);
	bp_chunk_map_finish(&look->chunks);
	look->cut.heap = (struct bp_heap_walk){ 0 };
	return true;
}

/* Layouts and pages are those of x86-64; elsewhere nothing of it was tried. */
static bool is_known_machine(void)
{
	struct utsname system;
	return uname(&system) == 0 && strcmp(system.machine, "x86_64") == 0 &&
	       sysconf(_SC_PAGESIZE) == BP_PAGE_BYTES;
}

bool bp_mappings_look(pid_t pid, const char *trace, uint64_t most_ns,
	struct bp_mapping_cut *ret_cut, struct bp_pages *ret_pages)
{
	struct bp_page_reader *reader = malloc(sizeof *reader);
	struct look *look = calloc(1, sizeof *look);
	uint64_t kibibytes = 0, tries = 0;
	struct bp_pages pages = { 0 };
	bool good = reader != NULL && look != NULL;
	if (good) {
		*look = (struct look){ .pid = pid, .trace = trace };
		/* (Of process -1 nothing can be read.) */
		const bool reads = bp_page_reader_open(reader, is_known_machine() ? pid : -1);
		const uint64_t end_ns = bp_system_time_ns(CLOCK_THREAD_CPUTIME_ID) + most_ns;
		do {
			bp_page_reader_set_deadline(reader, end_ns);
			good = look_once(look, reader, reads, most_ns);
			tries++;
		} while (good && reads && !look->cut.heap.known && tries < TRIES &&
			 bp_system_time_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns);
		/* Pages take little, and blocks of the heap are counted by them. */
		bp_page_reader_set_deadline(
			reader, bp_system_time_ns(CLOCK_THREAD_CPUTIME_ID) + most_ns);
		if (bp_process_status_of(pid, "VmPTE", &kibibytes, 1) == 1)
			look->cut.page_table_bytes = kibibytes * 1024;
		read_stacks(look);
		good = good && add_mappings(look, reader);
		if (good && reads && bp_pages_look(reader, &look->smaps, &pages)) {
			pages.pid = (uint32_t)pid;
			pages.time_ns = look->cut.time_ns;
			/* Chunks that threads keep look live where caches are not known. */
			if (look->cut.heap.cached_known)
				(void)bp_heap_pages_make(
					&look->chunks, &pages.present, &pages.heap);
		}
		if (reads)
			bp_page_reader_close(reader);
	}
	*ret_pages = pages;
	if (good)
		*ret_cut = look->cut;
	else if (look != NULL)
		bp_mapping_cut_finish(&look->cut);
	if (look != NULL) {
		bp_heap_areas_finish(&look->areas);
		bp_chunk_map_finish(&look->chunks);
		bp_smaps_finish(&look->smaps);
	}
	free(look);
	free(reader);
	return good;
}
