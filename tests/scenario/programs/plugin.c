/* SPDX-License-Identifier: MIT */
/*
 * The module that dynamic_loading.c loads and unloads in a loop: its constructor and destructor
 * allocate, and its functions stand on the stacks of samples that outlive it.
 */
#include <stdlib.h>

void *plugin_allocate(size_t size);

static void *kept;

__attribute__((constructor)) static void at_load(void)
{
	kept = malloc(3000);
}

__attribute__((destructor)) static void at_unload(void)
{
	free(kept);
	free(malloc(2000));
}

void *plugin_allocate(size_t size)
{
	void *pointer = malloc(size);
	__asm__ volatile("" : : "r"(pointer) : "memory");
	return pointer;
}
