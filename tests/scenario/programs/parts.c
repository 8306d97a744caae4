/* SPDX-License-Identifier: MIT */
/*
 * A process whose memory has known parts: OBJECTS objects of 1000 bytes of which half are freed
 * again, a block of 32 MiB of which 8 are touched, a mapping of 16 MiB, and a thread that has
 * touched 2 MiB of its stack. `scattered` frees every second object, `together` and `trim` those of
 * the first half; `trim` calls malloc_trim then. With `small` and `small-trim` it is ten times as
 * many of 100 bytes, which glibc keeps in fastbins. `ending` is `together`, and gives all back in
 * its last .9 s. `emptied` waits before it frees anything, then
 * frees all objects and the block and calls malloc_trim. Then it maps a page by the name
 * "parts-ready", by which a look at its mappings shows that all of this has been done, and waits.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OBJECTS 40000
#define OBJECT_BYTES 1000
#define SMALLER 10 /* that many times smaller, and as many times more */
#define MIB ((size_t)1 << 20)

static void *objects[OBJECTS * SMALLER];

__attribute__((noinline)) static void *make_object(size_t bytes)
{
	return memset(malloc(bytes), 1, bytes);
}

__attribute__((noinline)) static void *make_block(void)
{
	return memset(malloc(32 * MIB), 1, 8 * MIB);
}

__attribute__((noinline)) static void *hold_stack(void *unused)
{
	volatile char on_stack[2 * MIB];
	for (size_t i = 0; i < sizeof on_stack; i += 4096)
		on_stack[i] = 1;
	(void)unused;
	pause();
	return NULL;
}

static void read_pages(const volatile char *block)
{
	for (size_t i = 0; i < 32 * MIB; i += 4096)
		(void)block[i];
}

static void free_objects(int count, int stride)
{
	for (int i = 0; i < count; i++)
		free(objects[i * stride]);
}

int main(int count, char **words)
{
	pthread_t thread;
	uint8_t *mapped =
		mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (count < 3 || mapped == MAP_FAILED ||
		pthread_create(&thread, NULL, hold_stack, NULL) != 0)
		return 1;
	memset(mapped, 1, 16 * MIB);
	const bool small = strncmp(words[2], "small", 5) == 0;
	const int made = small ? OBJECTS * SMALLER : OBJECTS;
	for (int i = 0; i < made; i++)
		objects[i] = make_object(small ? OBJECT_BYTES / SMALLER : OBJECT_BYTES);
	void *volatile block = make_block();
	/* (Not every kernel that tells pages of zeros tells huge ones.) */
	if (strcmp(words[2], "read") == 0 && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0)
		read_pages(block);
	const bool emptied = strcmp(words[2], "emptied") == 0;
	if (emptied) {
		usleep((useconds_t)atoi(words[1]) * 1000);
		free(block);
		free_objects(OBJECTS, 1);
	} else
		free_objects(made / 2, strcmp(words[2], "scattered") == 0 ? 2 : 1);
	if (emptied || strcmp(words[2], "trim") == 0 || strcmp(words[2], "small-trim") == 0)
		malloc_trim(0);
	const int ready = memfd_create("parts-ready", 0);
	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, ready, 0) == MAP_FAILED)
		return 1;
	usleep((useconds_t)atoi(words[1]) * 1000);
	if (strcmp(words[2], "ending") == 0) {
		for (int i = OBJECTS / 2; i < OBJECTS; i++)
			free(objects[i]);
		malloc_trim(0);
		usleep(900000);
	}
	return !emptied && block == NULL;
}
