/* SPDX-License-Identifier: MIT */
/*
 * The memory of another process, word by word, through a window (/proc/PID/mem). Only pages that
 * are present are read: /proc/PID/pagemap says which, so that a look neither makes an untouched
 * page present nor brings one back from swap. The process runs on meanwhile: words that are read
 * one after another need not be of one moment. Not thread-safe.
 */
#ifndef BP_CLI_MAPPINGS_PAGE_READER_H
#define BP_CLI_MAPPINGS_PAGE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "resident/pages/pages.h"

#define BP_PAGE_BYTES 4096u /* of the kernel that glibc's heap walk is for: x86-64 */
#define BP_WINDOW_PAGES 64u
#define BP_ENTRIES 512u
#define BP_KEPT_PAGES 8192u

struct bp_page_reader {
	pid_t pid;
	int memory, pagemap;
	uint64_t deadline_ns;
	uint32_t reads; /* since the clock was looked at last, which costs as much as a read */
	bool late;
	uint64_t window;  /* its address; UINT64_MAX: none */
	uint64_t present; /* a bit for each of its pages */
	uint64_t
		entries_from; /* the page whose entry is the first of `entries`; UINT64_MAX: none */
	uint64_t entries[BP_ENTRIES];
	uint64_t firsts[BP_ENTRIES][2]; /* the first words of those of them that are present */
	/* Pages for words that stand anywhere, each in the place of its number; UINT64_MAX: none */
	uint64_t kept_pages[BP_KEPT_PAGES];
	uint64_t kept[BP_KEPT_PAGES][BP_PAGE_BYTES / 8];
	uint64_t words[BP_WINDOW_PAGES * BP_PAGE_BYTES / 8];
};

/* False: this process may not be looked at. */
bool bp_page_reader_open(struct bp_page_reader *reader, pid_t pid);
void bp_page_reader_close(struct bp_page_reader *reader);

/* Forgets what was read: the next word is one of now. */
void bp_page_reader_forget(struct bp_page_reader *reader);

/* The 8 bytes at an address that is a multiple of 8. False: its page is not present. `read` goes
 * through the window, for words that stand near the last one; `peek` past it, for single words. */
bool bp_page_reader_read(struct bp_page_reader *reader, uint64_t address, uint64_t *ret_word);
bool bp_page_reader_peek(struct bp_page_reader *reader, uint64_t address, uint64_t *ret_word);

/* The same for words of which many stand on the same pages, in any order: pages are kept until the
 * reader forgets. */
bool bp_page_reader_keep(struct bp_page_reader *reader, uint64_t address, uint64_t *ret_word);

/* Nothing is read, but for some last words, when this thread has used so much processor time; 0:
 * always. */
void bp_page_reader_set_deadline(struct bp_page_reader *reader, uint64_t deadline_ns);
/* Is its time over, so that it reads nothing more? */
bool bp_page_reader_is_late(const struct bp_page_reader *reader);

/* The first 16 bytes of a page. They are read of many pages at once, and are of the first time
 * since the reader forgot. */
bool bp_page_reader_first(struct bp_page_reader *reader, uint64_t page, uint64_t ret_words[2]);

/* How much of the pages from `start` to `end` is resident, and swapped out, bytes: pages of zeros
 * are not (zero_pages.h). */
bool bp_page_reader_count(struct bp_page_reader *reader, uint64_t start, uint64_t end,
	uint64_t *ret_resident_bytes, uint64_t *ret_swapped_bytes);

/* Adds the runs of pages that are resident. False: there are too many, or no memory. */
bool bp_page_reader_present(
	struct bp_page_reader *reader, uint64_t start, uint64_t end, struct bp_page_runs *runs);

#endif
