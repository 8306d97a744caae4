/* SPDX-License-Identifier: MIT */
/*
 * Objects that reach a free nobody hooked: libc's own by dlsym on its handle, by RTLD_NEXT, by its
 * exported name __libc_free, and realloc and malloc_usable_size by the same roads. All are legal
 * programs without a recorder and must stay so with one.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <string.h>

#include "check.h"

void __libc_free(void *pointer);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_malloc(size_t size);

typedef void (*free_function)(void *);

static void by(free_function free_it)
{
	static const size_t sizes[] = { 0, 1, 24, 100, 1000, 5000, 70000, 200000 };
	CHECK(free_it != NULL);
	for (int round = 0; round < 50; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			char *p = malloc(sizes[i]);
			CHECK(p != NULL);
			memset(p, 1, sizes[i]);
			free_it(p);
		}
}

int main(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	CHECK(libc != NULL);
	by(free);
	by((free_function)dlsym(RTLD_DEFAULT, "free"));
	by((free_function)dlsym(RTLD_NEXT, "free"));
	by((free_function)dlsym(libc, "free"));
	by((free_function)dlsym(libc, "cfree") ? (free_function)dlsym(libc, "cfree") : free);
	by(__libc_free);
	void *(*reallocate)(void *, size_t) = (void *(*)(void *, size_t))dlsym(libc, "realloc");
	size_t (*usable)(void *) = (size_t(*)(void *))dlsym(libc, "malloc_usable_size");
	for (size_t i = 1; i < 300; i++) {
		char *p = malloc(i);
		p[0] = (char)i;
		CHECK(usable(p) >= i);
		p = reallocate(p, i * 10);
		CHECK(p && p[0] == (char)i);
		p = __libc_realloc(p, i * 20);
		CHECK(p && p[0] == (char)i);
		free(p);
		free(__libc_malloc(i));
	}
	puts("done");
	return 0;
}
