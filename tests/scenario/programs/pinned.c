/* SPDX-License-Identifier: MIT */
/*
 * A heap in which one site keeps pages that it hardly uses. PAIRS times: an object of 48 bytes by
 * make_small, then 4080 to 12000 bytes by make_filler; every eighth time a buffer of whole pages by
 * make_whole, and every fourth time some dozen strings by make_strings. Then the fillers are freed.
 *
 * What each site keeps is counted here, as the truth, over the objects of these sites and the pages
 * that /proc/self/pagemap says are present: each page shared equally among the objects that touch
 * it, which is printed in bytes, with the pages that one has alone and those that hold objects of
 * the site only: "small KEPT ALONE ONLY", ..., and when ("ready N"). Then it waits for the milliseconds of its
 * first argument. With a second one it frees what the site of that name made and trims, before it
 * waits, and prints by how many bytes resident memory fell ("fell N").
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 6000
#define PAGE 4096u
#define OBJECTS_MAX (PAIRS * 8)

enum { SMALL, WHOLE, STRINGS, SITES };
static const char *const names[SITES] = { "small", "whole", "strings" };

static struct object {
	void *start;
	int site;
} * objects;
static unsigned object_count;

__attribute__((noinline)) static void *make_small(size_t bytes)
{
	return memset(malloc(bytes), 1, bytes);
}

__attribute__((noinline)) static void *make_whole(size_t bytes)
{
	return memset(malloc(bytes), 1, bytes);
}

__attribute__((noinline)) static void *make_strings(size_t bytes)
{
	return memset(malloc(bytes), 1, bytes);
}

__attribute__((noinline)) static void *make_filler(size_t bytes)
{
	return memset(malloc(bytes), 1, bytes);
}

static void *(*const make[SITES])(size_t) = { make_small, make_whole, make_strings };

static void add(int site, size_t bytes)
{
	objects[object_count++] = (struct object){ make[site](bytes), site };
}

static uintptr_t start_of(const struct object *object)
{
	return (uintptr_t)object->start - 16;
}

static uintptr_t end_of(const struct object *object)
{
	return start_of(object) + malloc_usable_size(object->start) + 8;
}

/* Objects that touch a page, and those of one site. */
static struct page {
	uint16_t objects, of_site[SITES];
	uint16_t present;
} * pages;

static void count(uintptr_t first, uintptr_t last)
{
	double kept[SITES] = { 0 };
	uint64_t alone[SITES] = { 0 }, only[SITES] = { 0 };
	const int pagemap = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;
	for (uintptr_t p = first; p <= last; p++)
		if (pread(pagemap, &entry, 8, (off_t)(p * 8)) == 8)
			pages[p - first].present = (uint16_t)(entry >> 63);
	close(pagemap);
	for (unsigned i = 0; i < object_count; i++)
		for (uintptr_t p = start_of(&objects[i]) / PAGE;
			p <= (end_of(&objects[i]) - 1) / PAGE; p++) {
			pages[p - first].objects++;
			pages[p - first].of_site[objects[i].site]++;
		}
	for (uintptr_t p = 0; p <= last - first; p++)
		for (int site = 0; pages[p].present && site < SITES; site++) {
			const unsigned its = pages[p].of_site[site];
			kept[site] += its > 0 ? (double)PAGE * its / pages[p].objects : 0;
			alone[site] += its == 1 && pages[p].objects == 1 ? PAGE : 0;
			only[site] += its > 0 && its == pages[p].objects ? PAGE : 0;
		}
	for (int site = 0; site < SITES; site++)
		printf("%s %.0f %llu %llu\n", names[site], kept[site],
			(unsigned long long)alone[site], (unsigned long long)only[site]);
}

static uint64_t resident(void)
{
	unsigned long long size, pages_resident = 0;
	FILE *in = fopen("/proc/self/statm", "r");
	if (in == NULL || fscanf(in, "%llu %llu", &size, &pages_resident) != 2)
		exit(1);
	fclose(in);
	return pages_resident * PAGE;
}

static void free_site(const char *name)
{
	malloc_trim(0);
	const uint64_t before = resident();
	for (unsigned i = 0; i < object_count; i++)
		if (strcmp(names[objects[i].site], name) == 0)
			free(objects[i].start);
	malloc_trim(0);
	printf("fell %lld\n", (long long)before - (long long)resident());
}

int main(int words_count, char **words)
{
	static void *fillers[PAIRS];
	static char buffer[4096];
	uint32_t state = 7;
	uintptr_t first = UINTPTR_MAX, last = 0;
	struct timespec now;
	if (words_count < 2)
		return 1;
	/* Nothing of standard output lies in the heap. */
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	/* The tables of this program are blocks mapped alone, on no page with another. */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	objects = calloc(OBJECTS_MAX, sizeof *objects);
	for (int i = 0; i < PAIRS; i++) {
		state = state * 1664525u + 1013904223u;
		add(SMALL, 48);
		fillers[i] = make_filler(4080 + (state >> 8) % 7920);
		if (i % 8 == 0)
			add(WHOLE, 16384 + (state >> 16) % 3 * 8192);
		for (int s = 0; i % 4 == 0 && s < 12; s++)
			add(STRINGS, 20 + (state >> (s + 8)) % 180);
	}
	for (int i = 0; i < PAIRS; i++)
		free(fillers[i]);
	malloc_trim(0);
	for (unsigned i = 0; i < object_count; i++) {
		const uintptr_t start = start_of(&objects[i]) / PAGE;
		const uintptr_t end = (end_of(&objects[i]) - 1) / PAGE;
		first = start < first ? start : first;
		last = end > last ? end : last;
	}
	pages = calloc(last - first + 1, sizeof *pages);
	count(first, last);
	if (words_count > 2)
		free_site(words[2]);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("ready %llu\n",
		(unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec);
	fflush(stdout);
	usleep((useconds_t)atoi(words[1]) * 1000);
	return 0;
}
