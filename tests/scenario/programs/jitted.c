/* SPDX-License-Identifier: MIT */
/*
 * Makes code at run time and allocates by it: 100 objects of 1000 bytes by a function called alpha,
 * then, by code in the same place, 50 by one called beta. Writes what runtimes write for perf.
 *
 * Usage: jitted map|dump|nothing FOLDER [NAME [wait]]: /tmp/perf-PID.map, or FOLDER/jit-PID.dump.
 * NAME: what beta is called. `wait`: for a line of standard input after alpha's objects, and after
 * beta's. Prints its pid, at the end or before it waits.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* void *made(void *(*allocate)(size_t), size_t bytes) { return allocate(bytes); } */
#if defined __x86_64__
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff,
	0xd0, 0x5d, 0xc3 };
#elif defined __aarch64__
static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0xaa0003e2, 0xaa0103e0, 0xd63f0040,
	0xa8c17bfd, 0xd65f03c0 };
#else
#error "no code for this machine"
#endif

typedef void *made_function(void *(*allocate)(size_t), size_t bytes);

static FILE *map, *dump;
static void *kept[150];

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void put_u32(uint32_t value)
{
	fwrite(&value, sizeof value, 1, dump);
}

static void put_u64(uint64_t value)
{
	fwrite(&value, sizeof value, 1, dump);
}

static void begin_dump(const char *folder)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
	dump = fopen(path, "w");
	if (dump == NULL)
		exit(1);
	const uint32_t head[6] = { 0x4A695444, 1, 40, 62, 0, (uint32_t)getpid() };
	fwrite(head, sizeof head, 1, dump);
	put_u64(now_ns());
	put_u64(0);
}

static void begin_map(void)
{
	char path[64];
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (map == NULL)
		exit(1);
}

static void announce(const void *place, uint64_t index, const char *name)
{
	if (map != NULL)
		fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)place, sizeof code, name);
	if (dump == NULL)
		return;
	put_u32(0);
	put_u32((uint32_t)(16 + 40 + strlen(name) + 1 + sizeof code));
	put_u64(now_ns());
	put_u32((uint32_t)getpid());
	put_u32((uint32_t)getpid());
	put_u64((uint64_t)(uintptr_t)place);
	put_u64((uint64_t)(uintptr_t)place);
	put_u64(sizeof code);
	put_u64(index);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(place, sizeof code, 1, dump);
}

__attribute__((noinline)) static void allocate(made_function *made, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		kept[i] = made(malloc, 1000);
}

/* What was written is there to be read meanwhile. */
static void wait_for_line(void)
{
	if (map != NULL)
		fflush(map);
	if (dump != NULL)
		fflush(dump);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (getchar() != '\n' && !feof(stdin))
		;
}

int main(int argc, char **argv)
{
	const int wait = argc > 4;
	if (argc < 3)
		return 2;
	void *place = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	made_function *made;
	if (place == MAP_FAILED)
		return 1;
	if (strcmp(argv[1], "map") == 0)
		begin_map();
	else if (strcmp(argv[1], "dump") == 0)
		begin_dump(argv[2]);
	memcpy(place, code, sizeof code);
	__builtin___clear_cache((char *)place, (char *)place + sizeof code);
	memcpy(&made, &place, sizeof made);
	announce(place, 1, "alpha");
	allocate(made, 0, 100);
	if (wait)
		wait_for_line();
	announce(place, 2, argc > 3 ? argv[3] : "beta");
	allocate(made, 100, 150);
	if (wait)
		wait_for_line();
	if (map != NULL)
		fclose(map);
	if (dump != NULL)
		fclose(dump);
	if (!wait)
		printf("%d\n", (int)getpid());
	return 0;
}
