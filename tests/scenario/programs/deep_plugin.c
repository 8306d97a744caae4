/* SPDX-License-Identifier: MIT */
/*
 * The library that deepbind.c opens with RTLD_DEEPBIND, so that its malloc and free are the C
 * library's own, whatever was preloaded. It frees, resizes and measures what the program and the C
 * library made, in its constructor already.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

void plugin_free(void *object);
void *plugin_realloc(void *object, size_t size);
size_t plugin_usable_size(void *object);
void *plugin_allocate(size_t size);

/* By address, too: another kind of relocation. */
void (*volatile plugin_free_by_address)(void *) = free;

static void use_libc(void)
{
	for (int i = 0; i < 50; i++) {
		char *text = strdup("made by the C library, freed here");
		CHECK(text != NULL && malloc_usable_size(text) >= 34);
		text = realloc(text, 500);
		CHECK(text != NULL && strlen(text) == 33);
		free(text);
		plugin_free_by_address(strdup("the same"));
	}
}

__attribute__((constructor)) static void at_load(void)
{
	use_libc();
}

__attribute__((destructor)) static void at_unload(void)
{
	use_libc();
}

void plugin_free(void *object)
{
	free(object);
}

void *plugin_realloc(void *object, size_t size)
{
	return realloc(object, size);
}

size_t plugin_usable_size(void *object)
{
	return malloc_usable_size(object);
}

void *plugin_allocate(size_t size)
{
	return malloc(size);
}
