/* SPDX-License-Identifier: MIT */
/*
 * Pairs of malloc(64) and free in a program that the recorder is attached to, or was.
 *
 *   attached RECORDER SETTINGS STATE PAIRS
 *
 * STATE: before (nothing was loaded), attached, after (attached and detached), saved (the same, and
 * the pairs are called by pointers that were taken while it was attached).
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pairs(long count)
{
	for (long i = 0; i < count; i++) {
		void *object = malloc(64);
		__asm__ volatile("" : "+r"(object));
		free(object);
	}
}

static void pairs_by(void *(*allocate)(size_t), void (*release)(void *), long count)
{
	for (long i = 0; i < count; i++) {
		void *object = allocate(64);
		__asm__ volatile("" : "+r"(object));
		release(object);
	}
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	const long count = strtol(argv[4], NULL, 10);
	const int before = strcmp(argv[3], "before") == 0,
		  attached = strcmp(argv[3], "attached") == 0;
	const int saved = strcmp(argv[3], "saved") == 0;
	if (!before) {
		void *recorder = dlopen(argv[1], RTLD_NOW);
		if (recorder == NULL)
			return 3;
		uint32_t (*attach)(const char *) =
			(uint32_t(*)(const char *))dlsym(recorder, "bytepoll_attach");
		uint32_t (*detach)(void) = (uint32_t(*)(void))dlsym(recorder, "bytepoll_detach");
		if (attach == NULL || detach == NULL || attach(argv[2]) != 0)
			return 4;
		void *(*volatile allocate)(size_t) = malloc;
		void (*volatile release)(void *) = free;
		if (!attached && detach() != 0)
			return 5;
		if (saved) {
			pairs_by(allocate, release, count);
			return 0;
		}
	}
	pairs(count);
	return 0;
}
