/* SPDX-License-Identifier: MIT */
/*
 * Maps memory itself and mallocs, in known amounts, for tests/scenario/test_mapped_sum.py. It prints a
 * line for each site: its name, the bytes that it has mapped at the end, and those that it has
 * malloc'ed. What is unmapped or freed again is not in them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096u

struct site {
	const char *name;
	size_t mapped, malloced;
};

enum { MAPS, MALLOCS, BOTH, SITES };
static struct site sites[SITES] = { { "site_maps", 0, 0 }, { "site_mallocs", 0, 0 },
	{ "site_both", 0, 0 } };

/* Small blocks and some of a quarter of a megabyte. */
static size_t size_of(unsigned i)
{
	return i % 500 == 7 ? 250000 : 16 + i % 13 * 40;
}

__attribute__((noinline)) void site_maps(unsigned count);
__attribute__((noinline)) void site_maps(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char *memory = mmap(NULL, (size_t)(i + 4) * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			abort();
		munmap(memory + PAGE, 2 * PAGE);
		sites[MAPS].mapped += (size_t)(i + 2) * PAGE;
	}
}

__attribute__((noinline)) void site_mallocs(unsigned count);
__attribute__((noinline)) void site_mallocs(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		void *object = malloc(size_of(i)), *gone = malloc(100);
		__asm__ volatile("" : "+r"(object), "+r"(gone));
		free(gone);
		sites[MALLOCS].malloced += object == NULL ? 0 : size_of(i);
	}
}

__attribute__((noinline)) void site_both(unsigned count);
__attribute__((noinline)) void site_both(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		void *object = malloc(64);
		__asm__ volatile("" : "+r"(object));
		sites[BOTH].malloced += object == NULL ? 0 : 64;
		if (i % 100 != 0)
			continue;
		char *memory = mmap(
			NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			abort();
		munmap(memory, PAGE);
		sites[BOTH].mapped += 7 * PAGE;
	}
}

int main(void)
{
	site_maps(60);
	site_mallocs(4000);
	site_both(3000);
	for (unsigned i = 0; i < SITES; i++)
		printf("%s %zu %zu\n", sites[i].name, sites[i].mapped, sites[i].malloced);
	return 0;
}
