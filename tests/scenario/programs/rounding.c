/* SPDX-License-Identifier: MIT */
/*
 * Requests of known sizes, for tests/scenario/test_rounding.py. Each object is asked for its usable
 * size, and the program counts by itself what its sites and sizes were given beyond what they asked
 * for. It prints a line for each site and a line for each size of a site:
 *
 *	site_NAME        METRIC  bytes asked for, bytes beyond these
 *	site_NAME.SIZE   METRIC  the same
 *
 * Objects that live are never freed, and what is freed is freed at once, so that the allocator gives
 * to each what it gives to a request by itself (what glibc adds of remainders of free blocks would
 * be in the count, and not in the samples).
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site.h"

struct count {
	uint64_t asked, beyond;
};

struct kind {
	const char *site;
	void *(*make)(size_t size);
	size_t size;
	unsigned live, temporary;
	struct count counted_live, counted_allocated;
};

SITE(node)
SITE(row)
SITE(page)
SITE(large)
SITE(zero)
SITE(text)

/* At T = 2048 the large ones are all recorded, and of each other kind 25 samples and more are
 * expected. */
static struct kind kinds[] = {
	{ .site = "site_node", .make = site_node, .size = 25, .live = 6000, .temporary = 3000 },
	{ .site = "site_node", .make = site_node, .size = 24, .live = 6000, .temporary = 3000 },
	{ .site = "site_row", .make = site_row, .size = 1032, .live = 200, .temporary = 100 },
	{ .site = "site_page", .make = site_page, .size = 1024, .live = 100, .temporary = 100 },
	{ .site = "site_page", .make = site_page, .size = 900, .live = 100, .temporary = 100 },
	{ .site = "site_large", .make = site_large, .size = 70000, .live = 8, .temporary = 4 },
	{ .site = "site_large", .make = site_large, .size = 3000, .live = 10, .temporary = 4 },
	{ .site = "site_zero", .make = site_zero, .size = 0, .live = 60000, .temporary = 60000 },
	{ .site = "site_text", .make = site_text, .size = 1, .live = 30000, .temporary = 4000 },
	{ .site = "site_text", .make = site_text, .size = 100, .live = 1000, .temporary = 2000 },
	{ .site = "site_text", .make = site_text, .size = 530, .live = 200, .temporary = 100 },
};
#define KINDS (sizeof kinds / sizeof *kinds)

static void add(struct count *count, size_t size, const struct count *more)
{
	count->asked += more == NULL ? size : more->asked;
	count->beyond += more == NULL ? 0 : more->beyond;
}

static void make(struct kind *kind, int is_live)
{
	void *object = kind->make(kind->size);
	if (object == NULL)
		abort();
	const uint64_t beyond = malloc_usable_size(object) - kind->size;
	add(&kind->counted_allocated, kind->size, NULL);
	kind->counted_allocated.beyond += beyond;
	if (!is_live) {
		free(object);
		return;
	}
	add(&kind->counted_live, kind->size, NULL);
	kind->counted_live.beyond += beyond;
}

static void print(const char *name, const struct count *live, const struct count *allocated)
{
	printf("%s live %llu %llu\n", name, (unsigned long long)live->asked,
		(unsigned long long)live->beyond);
	printf("%s allocated %llu %llu\n", name, (unsigned long long)allocated->asked,
		(unsigned long long)allocated->beyond);
}

int main(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		for (unsigned j = 0; j < kinds[i].temporary; j++)
			make(&kinds[i], 0);
		for (unsigned j = 0; j < kinds[i].live; j++)
			make(&kinds[i], 1);
	}
	for (size_t i = 0; i < KINDS; i++) {
		char name[64];
		struct count live = { 0, 0 }, allocated = { 0, 0 };
		snprintf(name, sizeof name, "%s.%zu", kinds[i].site, kinds[i].size);
		print(name, &kinds[i].counted_live, &kinds[i].counted_allocated);
		for (size_t j = 0; j < KINDS; j++)
			if (strcmp(kinds[j].site, kinds[i].site) == 0) {
				add(&live, 0, &kinds[j].counted_live);
				add(&allocated, 0, &kinds[j].counted_allocated);
			}
		if (i == 0 || strcmp(kinds[i].site, kinds[i - 1].site) != 0)
			print(kinds[i].site, &live, &allocated);
	}
	return 0;
}
