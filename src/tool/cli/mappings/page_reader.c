/* SPDX-License-Identifier: MIT */
/* See page_reader.h. */
#include "cli/mappings/page_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/system_call.h"
#include "cli/mappings/zero_pages.h"

#define READS_OF_A_LOOK 8u /* at the clock */
#define WINDOW_BYTES (BP_WINDOW_PAGES * (uint64_t)BP_PAGE_BYTES)

static int open_of(pid_t pid, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool bp_page_reader_open(struct bp_page_reader *reader, pid_t pid)
{
	reader->pid = pid;
	bp_page_reader_set_deadline(reader, 0);
	reader->memory = open_of(pid, "mem");
	reader->pagemap = open_of(pid, "pagemap");
	bp_page_reader_forget(reader);
	if (reader->memory >= 0 && reader->pagemap >= 0)
		return true;
	bp_page_reader_close(reader);
	return false;
}

void bp_page_reader_close(struct bp_page_reader *reader)
{
	if (reader->memory >= 0)
		close(reader->memory);
	if (reader->pagemap >= 0)
		close(reader->pagemap);
	reader->memory = reader->pagemap = -1;
}

void bp_page_reader_forget(struct bp_page_reader *reader)
{
	reader->window = UINT64_MAX;
	reader->entries_from = UINT64_MAX;
	memset(reader->kept_pages, 0xff, sizeof reader->kept_pages);
}

void bp_page_reader_set_deadline(struct bp_page_reader *reader, uint64_t deadline_ns)
{
	reader->deadline_ns = deadline_ns;
	reader->reads = 0;
	reader->late = false;
}

bool bp_page_reader_is_late(const struct bp_page_reader *reader)
{
	return reader->deadline_ns != 0 &&
	       bp_system_time_ns(CLOCK_THREAD_CPUTIME_ID) > reader->deadline_ns;
}

/* The entries of `count` pages from an address on. */
static bool read_entries(
	struct bp_page_reader *reader, uint64_t address, uint64_t *entries, uint64_t count)
{
	const ssize_t bytes = (ssize_t)(count * sizeof *entries);
	/* Before each read of memory stands one of entries. */
	if (reader->reads++ % READS_OF_A_LOOK == 0)
		reader->late = bp_page_reader_is_late(reader);
	if (reader->late)
		return false;
	return pread(reader->pagemap, entries, (size_t)bytes,
		       (off_t)(address / BP_PAGE_BYTES * sizeof *entries)) == bytes;
}

/* Reads the present pages of the window, each run of them at once. */
static bool fill(struct bp_page_reader *reader, uint64_t window)
{
	uint64_t entries[BP_WINDOW_PAGES];
	reader->window = UINT64_MAX;
	reader->present = 0;
	if (!read_entries(reader, window, entries, BP_WINDOW_PAGES))
		return false;
	for (unsigned first = 0; first < BP_WINDOW_PAGES;) {
		unsigned end = first;
		while (end < BP_WINDOW_PAGES && (entries[end] & BP_PAGE_PRESENT))
			end++;
		const size_t bytes = (size_t)(end - first) * BP_PAGE_BYTES;
		if (end > first &&
			pread(reader->memory, reader->words + first * (BP_PAGE_BYTES / 8), bytes,
				(off_t)(window + first * BP_PAGE_BYTES)) == (ssize_t)bytes)
			for (unsigned page = first; page < end; page++)
				reader->present |= UINT64_C(1) << page;
		first = end + 1;
	}
	reader->window = window;
	return true;
}

bool bp_page_reader_read(struct bp_page_reader *reader, uint64_t address, uint64_t *ret_word)
{
	const uint64_t window = address / WINDOW_BYTES * WINDOW_BYTES;
	if (address % 8 != 0 || (window != reader->window && !fill(reader, window)))
		return false;
	const uint64_t at = address - window;
	if ((reader->present >> (at / BP_PAGE_BYTES) & 1) == 0)
		return false;
	*ret_word = reader->words[at / 8];
	return true;
}

bool bp_page_reader_peek(struct bp_page_reader *reader, uint64_t address, uint64_t *ret_word)
{
	uint64_t entry;
	return address % 8 == 0 && read_entries(reader, address, &entry, 1) &&
	       (entry & BP_PAGE_PRESENT) &&
	       pread(reader->memory, ret_word, sizeof *ret_word, (off_t)address) ==
		       sizeof *ret_word;
}

bool bp_page_reader_keep(struct bp_page_reader *reader, uint64_t address, uint64_t *ret_word)
{
	const uint64_t page = address / BP_PAGE_BYTES, place = page % BP_KEPT_PAGES;
	uint64_t entry;
	if (address % 8 != 0)
		return false;
	if (reader->kept_pages[place] != page) {
		reader->kept_pages[place] = UINT64_MAX;
		if (!read_entries(reader, address, &entry, 1) || !(entry & BP_PAGE_PRESENT) ||
			pread(reader->memory, reader->kept[place], BP_PAGE_BYTES,
				(off_t)(page * BP_PAGE_BYTES)) != BP_PAGE_BYTES)
			return false;
		reader->kept_pages[place] = page;
	}
	*ret_word = reader->kept[place][address % BP_PAGE_BYTES / 8];
	return true;
}

/* Fills `entries` and `firsts` from page `from` on. */
static bool fill_firsts(struct bp_page_reader *reader, uint64_t from)
{
	struct iovec to[BP_ENTRIES], there[BP_ENTRIES];
	unsigned long count = 0;
	reader->entries_from = UINT64_MAX;
	if (!read_entries(reader, from * BP_PAGE_BYTES, reader->entries, BP_ENTRIES))
		return false;
	for (unsigned i = 0; i < BP_ENTRIES; i++) {
		if (!(reader->entries[i] & BP_PAGE_PRESENT))
			continue;
		to[count] = (struct iovec){ reader->firsts[i], sizeof reader->firsts[i] };
		there[count] = (struct iovec){ (void *)(uintptr_t)((from + i) * BP_PAGE_BYTES),
			sizeof reader->firsts[i] };
		count++;
	}
	/* It stops at one that is gone meanwhile, or that the program may not read itself (a guard
	 * that was touched before): that one is nothing, and it goes on behind it. */
	for (unsigned long done = 0; done < count; done++) {
		const ssize_t got = process_vm_readv(
			reader->pid, to + done, count - done, there + done, count - done, 0);
		done += got > 0 ? (unsigned long)got / sizeof reader->firsts[0] : 0;
		if (done < count)
			memset(to[done].iov_base, 0, sizeof reader->firsts[0]);
	}
	reader->entries_from = from;
	return true;
}

bool bp_page_reader_first(struct bp_page_reader *reader, uint64_t page, uint64_t ret_words[2])
{
	const uint64_t number = page / BP_PAGE_BYTES, from = number / BP_ENTRIES * BP_ENTRIES;
	if (from != reader->entries_from && !fill_firsts(reader, from))
		return false;
	ret_words[0] = reader->firsts[number - from][0];
	ret_words[1] = reader->firsts[number - from][1];
	return (reader->entries[number - from] & BP_PAGE_PRESENT) != 0;
}

/* Entries of which pages of zeros, which the kernel does not count as resident, are not
 * present. */
static bool read_resident(
	struct bp_page_reader *reader, uint64_t address, uint64_t *entries, uint64_t count)
{
	if (!read_entries(reader, address, entries, count))
		return false;
	bp_zero_pages_clear(reader->pagemap, address / BP_PAGE_BYTES * BP_PAGE_BYTES, BP_PAGE_BYTES,
		entries, count);
	return true;
}

bool bp_page_reader_count(struct bp_page_reader *reader, uint64_t start, uint64_t end,
	uint64_t *ret_resident_bytes, uint64_t *ret_swapped_bytes)
{
	uint64_t resident = 0, swapped = 0, entries[BP_ENTRIES];
	for (uint64_t at = start; at < end;) {
		uint64_t count = (end - at + BP_PAGE_BYTES - 1) / BP_PAGE_BYTES;
		count = count < BP_ENTRIES ? count : BP_ENTRIES;
		if (!read_resident(reader, at, entries, count))
			return false;
		for (uint64_t i = 0; i < count; i++) {
			resident += (entries[i] & BP_PAGE_PRESENT) != 0;
			swapped += (entries[i] & BP_PAGE_SWAPPED) != 0;
		}
		at += count * BP_PAGE_BYTES;
	}
	*ret_resident_bytes = resident * BP_PAGE_BYTES;
	*ret_swapped_bytes = swapped * BP_PAGE_BYTES;
	return true;
}

bool bp_page_reader_present(
	struct bp_page_reader *reader, uint64_t start, uint64_t end, struct bp_page_runs *runs)
{
	uint64_t entries[BP_ENTRIES];
	for (uint64_t at = start; at < end;) {
		uint64_t count = (end - at) / BP_PAGE_BYTES;
		count = count < BP_ENTRIES ? count : BP_ENTRIES;
		if (!read_resident(reader, at, entries, count))
			return false;
		for (uint64_t i = 0; i < count; i++)
			if ((entries[i] & BP_PAGE_PRESENT) &&
				!bp_page_runs_add(
					runs, at + i * BP_PAGE_BYTES, at + (i + 1) * BP_PAGE_BYTES))
				return false;
		at += count * BP_PAGE_BYTES;
	}
	return true;
}
