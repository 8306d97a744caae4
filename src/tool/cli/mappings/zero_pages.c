/* SPDX-License-Identifier: MIT */
/* See zero_pages.h. The request's form is of Linux's include/uapi/linux/fs.h, which systems of
 * before 6.7 do not have. */
#include "cli/mappings/zero_pages.h"

#include <stdbool.h>
#include <sys/ioctl.h>

#define REGIONS 64u
#define IS_ZEROS (UINT64_C(1) << 5)

struct region {
	uint64_t start, end, categories;
};

struct request {
	uint64_t size, flags;
	uint64_t start, end;
	uint64_t walk_end; /* set by the kernel: how far it came */
	uint64_t regions, region_count;
	uint64_t pages_most; /* 0: all */
	uint64_t inverted, all_of, any_of, wanted;
};

#define SCAN _IOWR('f', 16, struct request)

static bool may_have_zeros(const uint64_t *entries, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if ((entries[i] & (BP_PAGE_PRESENT | BP_PAGE_EXCLUSIVE)) == BP_PAGE_PRESENT)
			return true;
	return false;
}

void bp_zero_pages_clear(
	int pagemap, uint64_t address, uint64_t page_bytes, uint64_t *entries, uint64_t count)
{
	struct region regions[REGIONS];
	const uint64_t end = address + count * page_bytes;
	if (!may_have_zeros(entries, count))
		return;
	for (uint64_t from = address; from < end;) {
		struct request request = { .size = sizeof request,
			.start = from,
			.end = end,
			.regions = (uint64_t)(uintptr_t)regions,
			.region_count = REGIONS,
			.all_of = IS_ZEROS,
			.wanted = IS_ZEROS };
		const int found = ioctl(pagemap, SCAN, &request);
		if (found < 0 || request.walk_end <= from)
			return;
		for (int i = 0; i < found; i++)
			for (uint64_t at = regions[i].start; at < regions[i].end && at < end;
				at += page_bytes)
				entries[(at - address) / page_bytes] &= ~BP_PAGE_PRESENT;
		from = request.walk_end;
	}
}
