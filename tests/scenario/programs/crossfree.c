/* SPDX-License-Identifier: MIT */
/*
 * Threads that free one another's objects: crossfree THREADS ROUNDS [SPAN]. Each puts what it makes
 * into a random place of a common array (of its own SPAN places only, if that is given: then nobody
 * meets anybody) and checks, resizes or frees what was there. At the end everything is freed,
 * nothing was allocated behind the scenes, and the CPU time used, in nanoseconds, goes to standard
 * error if BP_SCENARIO_TIME is set; with BP_SCENARIO_WHERE what stands first on it is where the
 * recorder is loaded.
 */
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "check.h"

#define PLACES 4096
#define THREADS_MAX 256

struct parcel {
	uint32_t size;
	unsigned char fill;
	unsigned char bytes[];
};

static struct parcel *places[PLACES];
static pthread_barrier_t barrier;
static long rounds, span;

static uint64_t cpu_time_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct parcel *make(struct parcel *old, uint64_t *seed)
{
	const uint64_t random = next_random(seed);
	const size_t size = random % 1000 == 0 ? 70000 : random % 50 == 0 ? 5000 : random % 300;
	struct parcel *parcel = realloc(old, sizeof *parcel + size);
	CHECK(parcel != NULL);
	parcel->size = (uint32_t)size;
	parcel->fill = (unsigned char)(random >> 40);
	if (size > 0)
		parcel->bytes[0] = parcel->bytes[size - 1] = parcel->fill;
	return parcel;
}

static void check(const struct parcel *parcel)
{
	if (parcel->size > 0)
		CHECK(parcel->bytes[0] == parcel->fill &&
			parcel->bytes[parcel->size - 1] == parcel->fill);
}

static void *work(void *argument)
{
	const size_t number = (size_t)(uintptr_t)argument;
	uint64_t seed = number * 0x9E3779B97F4A7C15u + 1;
	free(malloc(1)); /* a first call, for whoever counts threads */
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < rounds; i++) {
		const size_t random = (size_t)(next_random(&seed) >> 20);
		const size_t place =
			span > 0 ? number * (size_t)span + random % (size_t)span : random % PLACES;
		struct parcel *fresh = make(NULL, &seed);
		struct parcel *old =
			__atomic_exchange_n(&places[place % PLACES], fresh, __ATOMIC_ACQ_REL);
		if (old == NULL)
			continue;
		check(old);
		if (random % 8 == 0)
			old = make(old, &seed);
		free(old);
	}
	return NULL;
}

/* For dl_iterate_phdr: the addresses of the recorder's segments. */
static int tell_where(struct dl_phdr_info *module, size_t size, void *unused)
{
	(void)size, (void)unused;
	if (strstr(module->dlpi_name, "libbytepoll-recorder") == NULL)
		return 0;
	const ElfW(Phdr) *segment = NULL;
	for (int i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_LOAD)
			segment = &module->dlpi_phdr[i];
	CHECK(segment != NULL);
	dprintf(2, "%lx %lx\n", (unsigned long)module->dlpi_addr,
		(unsigned long)(module->dlpi_addr + segment->p_vaddr + segment->p_memsz));
	return 1;
}

int main(int argument_count, char **arguments)
{
	static pthread_t threads[THREADS_MAX];
	CHECK(argument_count >= 3);
	if (getenv("BP_SCENARIO_WHERE") != NULL)
		dl_iterate_phdr(tell_where, NULL);
	const long count = atol(arguments[1]);
	rounds = atol(arguments[2]);
	span = argument_count > 3 ? atol(arguments[3]) : 0;
	CHECK(count >= 1 && count <= THREADS_MAX);
	CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)count + 1) == 0);
	for (long i = 0; i < count; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0);
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < count; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	if (getenv("BP_SCENARIO_TIME") != NULL)
		dprintf(2, "%llu\n", (unsigned long long)cpu_time_ns());
	for (int i = 0; i < PLACES; i++)
		if (places[i] != NULL) {
			check(places[i]);
			free(places[i]);
		}
	CHECK(write(1, "done\n", 5) == 5);
	return 0;
}
