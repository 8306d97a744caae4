/* SPDX-License-Identifier: MIT */
/*
 * SIGBUS at an address of a page that is listed here: the handler lays memory of our own in its
 * place, and the access is done again. At any other address the signal does what it did before. The
 * list changes outside of the handler only, and the signal is synchronous: it never finds it half
 * changed.
 */
#include "cli/traced/state_page.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/vec.h"
#include "trace/format.h"

#define PAGE_BYTES 4096 /* of the trace; the machine's may be larger */

struct page {
	void *start;
	bool cut;
};

static struct page *pages;
static uint32_t page_count, page_capacity;
static struct sigaction before;

static struct page *find(const void *address)
{
	for (uint32_t i = 0; i < page_count; i++)
		if ((uintptr_t)address - (uintptr_t)pages[i].start < PAGE_BYTES)
			return &pages[i];
	return NULL;
}

static void on_bus_error(int signal_number, siginfo_t *information, void *context)
{
	struct page *page = find(information->si_addr);
	(void)signal_number;
	(void)context;
	if (page != NULL && mmap(page->start, PAGE_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
		page->cut = true;
		return;
	}
	/* Not ours: the access is done again, and then it ends as it would have. */
	sigaction(SIGBUS, &before, NULL);
	if (information->si_code <= 0) /* no access: somebody sent it */
		raise(SIGBUS);
}

static bool install(void)
{
	static bool installed;
	struct sigaction action = { .sa_flags = SA_SIGINFO };
	action.sa_sigaction = on_bus_error;
	sigemptyset(&action.sa_mask);
	if (!installed)
		installed = sigaction(SIGBUS, &action, &before) == 0;
	return installed;
}

void *bp_state_page_map(int descriptor, bool steer)
{
	if (!install())
		return NULL;
	if (!bp_vec_reserve(&pages, &page_capacity, page_count + (uint64_t)1, sizeof *pages)) {
		errno = ENOMEM;
		return NULL;
	}
	void *start = mmap(NULL, PAGE_BYTES, steer ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		descriptor, BP_STATE_OFFSET);
	if (start == MAP_FAILED)
		return NULL;
	pages[page_count++] = (struct page){ .start = start };
	return start;
}

void bp_state_page_unmap(void *page)
{
	struct page *entry = find(page);
	munmap(page, PAGE_BYTES);
	if (entry != NULL)
		*entry = pages[--page_count];
}

bool bp_state_page_is_cut(const void *page)
{
	const struct page *entry = find(page);
	return entry != NULL && entry->cut;
}
