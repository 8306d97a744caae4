/* SPDX-License-Identifier: MIT */
/*
 * Maps memory by random calls, and keeps for each of its pages which function made it accessible.
 * Prints what each function has at the end, and the most that there was at any time.
 *
 *	mapped_calls SEED THREADS     random calls; failing ones among them, whose errno is printed
 *	mapped_calls storm COUNT      maps and unmaps a page so often
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define REGIONS 24u
#define PAGES_MAX 64u
#define STEPS 3000u

enum owner { NOBODY, MAPS, OPENS, OVERLAYS, MOVES, HANDLES, BREAKS, ATTACHES, OWNERS, RESERVED };
static const char *const names[OWNERS] = { "", "site_map", "site_open", "site_overlay", "site_move",
	"site_handle", "site_break", "site_attach" };

struct region {
	char *start;
	uint32_t pages;
	uint8_t owner[PAGES_MAX];
};

struct maker {
	uint64_t random;
	struct region regions[REGIONS];
	int64_t bytes[OWNERS], all, peak;
};

static void must(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(3);
	}
}

static uint32_t draw(struct maker *maker, uint32_t below)
{
	maker->random = maker->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(maker->random >> 33) % below;
}

/* `pages` less of one owner, more of another. */
static void account(struct maker *maker, uint8_t *owner, uint8_t now)
{
	if (*owner != NOBODY && *owner != RESERVED) {
		maker->bytes[*owner] -= PAGE;
		maker->all -= PAGE;
	}
	*owner = now;
	if (now != NOBODY && now != RESERVED) {
		maker->bytes[now] += PAGE;
		maker->all += PAGE;
	}
}

static void look_for_peak(struct maker *maker)
{
	maker->peak = maker->all > maker->peak ? maker->all : maker->peak;
}

static __attribute__((noinline)) char *site_map(uint32_t pages, int protection)
{
	char *memory = mmap(NULL, pages * PAGE - 7, protection,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(memory != MAP_FAILED, "mmap");
	return memory;
}

static __attribute__((noinline)) void site_open(char *start, uint32_t pages)
{
	must(mprotect(start, pages * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
}

static __attribute__((noinline)) void site_overlay(char *start, uint32_t pages)
{
	must(mmap64(start, pages * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start,
		"mmap64");
}

static __attribute__((noinline)) char *site_move(char *start, uint32_t old, uint32_t pages)
{
	char *memory = mremap(start, old * PAGE, pages * PAGE, MREMAP_MAYMOVE);
	must(memory != MAP_FAILED, "mremap");
	return memory;
}

static char *handled;

static __attribute__((noinline)) void site_handle(int signal)
{
	(void)signal;
	handled = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static __attribute__((noinline)) void site_break(struct maker *maker)
{
	must(sbrk(5 * PAGE) != (void *)-1 && sbrk(-2 * (intptr_t)PAGE) != (void *)-1, "sbrk");
	must(brk((char *)sbrk(0) + PAGE) == 0, "brk");
	maker->bytes[BREAKS] += 4 * PAGE;
	maker->all += 5 * PAGE;
	look_for_peak(maker);
	maker->all -= PAGE;
}

static __attribute__((noinline)) void site_attach(struct maker *maker)
{
	const int segment = shmget(IPC_PRIVATE, 3 * PAGE - 5, IPC_CREAT | 0600);
	must(segment >= 0, "shmget");
	void *first = shmat(segment, NULL, 0), *second = shmat(segment, NULL, SHM_RDONLY);
	must(first != (void *)-1 && second != (void *)-1, "shmat");
	must(shmctl(segment, IPC_RMID, NULL) == 0 && shmdt(first) == 0, "shmdt");
	maker->bytes[ATTACHES] += 3 * PAGE;
	maker->all += 6 * PAGE;
	look_for_peak(maker);
	maker->all -= 3 * PAGE;
}

/* A run of pages of the region that are all there; false: there is none at that place. */
static int choose(
	struct maker *maker, struct region *region, uint32_t *ret_first, uint32_t *ret_count)
{
	if (region->pages == 0)
		return 0;
	const uint32_t first = draw(maker, region->pages);
	uint32_t count = 0, most = 1 + draw(maker, region->pages);
	while (first + count < region->pages && count < most &&
		region->owner[first + count] != NOBODY)
		count++;
	*ret_first = first;
	*ret_count = count;
	return count > 0;
}

static void fill(
	struct maker *maker, struct region *region, char *start, uint32_t pages, uint8_t owner)
{
	region->start = start;
	region->pages = pages;
	memset(region->owner, NOBODY, sizeof region->owner);
	for (uint32_t i = 0; i < pages; i++)
		account(maker, &region->owner[i], owner);
}

static void drop(struct maker *maker, struct region *region)
{
	for (uint32_t i = 0; i < region->pages; i++)
		if (region->owner[i] != NOBODY) {
			must(munmap(region->start + i * PAGE, PAGE) == 0, "munmap");
			account(maker, &region->owner[i], NOBODY);
		}
	region->pages = 0;
}

static void make_region(struct maker *maker, struct region *region)
{
	const uint32_t pages = 1 + draw(maker, PAGES_MAX / 2);
	const uint32_t what = draw(maker, 3);
	drop(maker, region);
	fill(maker, region, site_map(pages, what == 0 ? PROT_NONE : PROT_READ | PROT_WRITE), pages,
		what == 0 ? RESERVED : MAPS);
	look_for_peak(maker);
	if (what != 1)
		return;
	const uint32_t now = 1 + draw(maker, PAGES_MAX);
	char *start = site_move(region->start, pages, now);
	for (uint32_t i = 0; i < pages; i++)
		account(maker, &region->owner[i], NOBODY);
	fill(maker, region, start, now, MOVES);
}

static void change_region(struct maker *maker, struct region *region)
{
	uint32_t first, count;
	const uint32_t what = draw(maker, 4);
	if (!choose(maker, region, &first, &count))
		return;
	char *start = region->start + first * PAGE;
	if (what == 0)
		must(munmap(start, count * PAGE) == 0, "munmap");
	else if (what == 1)
		must(mprotect(start, count * PAGE, PROT_NONE) == 0, "mprotect");
	else if (what == 2)
		site_open(start, count);
	else
		site_overlay(start, count);
	for (uint32_t i = first; i < first + count; i++) {
		uint8_t *owner = &region->owner[i];
		if (what == 2 && *owner != RESERVED)
			continue;
		account(maker, owner,
			what == 0   ? NOBODY
			: what == 1 ? RESERVED
			: what == 2 ? OPENS
				    : OVERLAYS);
	}
}

static void *make(void *context)
{
	struct maker *maker = context;
	for (uint32_t i = 0; i < STEPS; i++) {
		struct region *region = &maker->regions[draw(maker, REGIONS)];
		if (region->pages == 0 || draw(maker, 6) == 0)
			make_region(maker, region);
		else
			change_region(maker, region);
		look_for_peak(maker);
		free(malloc(1 + draw(maker, 5000)));
	}
	return NULL;
}

/* What fails is as without the recorder, and is no mapping. */
static void fail(void)
{
	char *page = site_map(1, PROT_READ);
	errno = 0;
	printf("mmap %d",
		mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	printf(" %d", errno);
	printf(" munmap %d", munmap(page + 1, PAGE));
	printf(" %d", errno);
	printf(" mremap %d", mremap(page + 1, PAGE, PAGE, 0) == MAP_FAILED);
	printf(" %d", errno);
	must(munmap(page, PAGE) == 0, "munmap");
	printf(" mprotect %d", mprotect(page + 1, PAGE, PROT_READ));
	printf(" %d", errno);
	printf(" sbrk %d", sbrk((intptr_t)1 << 46) == (void *)-1);
	printf(" %d", errno);
	printf(" shmat %d", shmat(-1, NULL, 0) == (void *)-1);
	printf(" %d", errno);
	printf(" shmdt %d", shmdt((void *)1));
	printf(" %d", errno);
	errno = 77;
	page = site_map(1, PROT_READ);
	munmap(page, PAGE);
	printf(" kept %d\n", errno);
}

static void storm(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		must(munmap(site_map(1, PROT_READ), PAGE) == 0, "munmap");
}

int main(int argc, char **argv)
{
	static struct maker makers[8];
	pthread_t threads[8];
	if (argc > 2 && strcmp(argv[1], "storm") == 0) {
		storm((uint32_t)atoi(argv[2]));
		return 0;
	}
	const int count = argc > 2 ? atoi(argv[2]) : 1;
	for (int i = 0; i < count; i++)
		makers[i].random = (uint64_t)atoi(argv[1]) * 64 + (uint64_t)i;
	for (int i = 1; i < count; i++)
		must(pthread_create(&threads[i], NULL, make, &makers[i]) == 0, "thread");
	make(&makers[0]);
	for (int i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	fail();
	signal(SIGUSR1, site_handle);
	raise(SIGUSR1);
	must(handled != MAP_FAILED, "handler");
	makers[0].bytes[HANDLES] += PAGE;
	makers[0].all += PAGE;
	site_break(&makers[0]);
	site_attach(&makers[0]);
	fflush(stdout);
	if (fork() == 0) {
		(void)site_map(1000, PROT_READ);
		_exit(0);
	}
	wait(NULL);
	for (int i = 1; i < OWNERS; i++) {
		int64_t bytes = 0;
		for (int j = 0; j < count; j++)
			bytes += makers[j].bytes[i];
		printf("%s %lld\n", names[i], (long long)bytes);
	}
	if (count == 1)
		printf("peak %lld\n", (long long)makers[0].peak);
	return 0;
}
