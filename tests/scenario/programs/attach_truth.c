/* SPDX-License-Identifier: MIT */
/*
 * A program that is attached to while its threads allocate objects of all sizes, and counts what it
 * allocates while it is told to count.
 *
 *   attach_truth PAGE THREADS
 *
 * PAGE is a file of 4096 bytes that it shares with whoever attaches: word 0 is what is asked for (0
 * go on, 1 count, 2 end), word 1 + t what thread t does. While counting, objects are made by the
 * functions site_0 to site_5, and word 64 + s is the bytes of site s, word 80 + s its objects; else
 * by the function before. Objects are kept in shared places and freed by whichever thread takes
 * their place, so that those from before are freed while counting, and the other way round.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACES 2048
#define SITES 6
#define THREADS_MAX 32

static uint64_t *page;
static void *places[PLACES];

#define SITE(name)                                               \
	__attribute__((noinline)) static void *name(size_t size) \
	{                                                        \
		void *object = malloc(size);                     \
		__asm__ volatile("" : "+r"(object));             \
		return object;                                   \
	}
SITE(before)
SITE(site_0)
SITE(site_1)
SITE(site_2)
SITE(site_3)
SITE(site_4)
SITE(site_5)

static void *(*const sites[SITES])(size_t) = { site_0, site_1, site_2, site_3, site_4, site_5 };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A size of the site's kind: of one size, of many, small, large, rarely very large. */
static size_t size_of(unsigned site, uint64_t random)
{
	switch (site) {
	case 0:
		return 24;
	case 1:
		return 1 + random % 200;
	case 2:
		return 1000 + random % 3000;
	case 3:
		return random % 64 == 0 ? 300000 : 40;
	case 4:
		return 40000;
	default:
		return (size_t)1 << random % 18;
	}
}

static void put(void *object, size_t size, uint64_t random)
{
	if (object == NULL)
		abort();
	memset(object, 1, size < 64 ? size : 64);
	free(__atomic_exchange_n(&places[random % PLACES], object, __ATOMIC_ACQ_REL));
}

static void *work(void *argument)
{
	const uint64_t number = (uint64_t)(uintptr_t)argument;
	uint64_t random = 88172645463325252u + number * 7919;
	for (;;) {
		const uint64_t asked = __atomic_load_n(&page[0], __ATOMIC_ACQUIRE);
		__atomic_store_n(&page[1 + number], asked, __ATOMIC_RELEASE);
		if (asked == 2)
			return NULL;
		for (unsigned i = 0; i < 64; i++) {
			const uint64_t drawn = next_random(&random);
			const unsigned site = (unsigned)(drawn >> 40) % SITES;
			const size_t size = size_of(site, drawn);
			if (asked == 1) {
				put(sites[site](size), size, drawn >> 20);
				__atomic_fetch_add(&page[64 + site], size, __ATOMIC_RELAXED);
				__atomic_fetch_add(&page[80 + site], 1, __ATOMIC_RELAXED);
			} else {
				put(before(size), size, drawn >> 20);
			}
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	if (argc != 3)
		return 2;
	const int file = open(argv[1], O_RDWR), count = atoi(argv[2]);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (page == MAP_FAILED || count < 1 || count > THREADS_MAX)
		return 3;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0)
			return 4;
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	puts("well");
	return 0;
}
