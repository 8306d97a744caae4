/* SPDX-License-Identifier: MIT */
/*
 * Objects of malloc that end by the other entries of an allocator, and objects of those entries
 * that end by free: under jemalloc, TCMalloc or mimalloc, preloaded; the entries are weak here, so
 * that the program does without those there are not. With the argument `dlsym` it asks the loader
 * for them, with `next` for those behind it, which nobody can be put before.
 *
 *     foreign_entries [dlsym|next]
 *
 * What each site allocated is printed as JSON, as by truth.c: {"site_NAME": [bytes, objects], ...}.
 * At the end nothing that a site made is live.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline, used))
#define ROUNDS 4000

typedef void *allocate_function(size_t size, int flags);
typedef void *resize_function(void *object, size_t size, int flags);
typedef size_t in_place_function(void *object, size_t size, size_t extra, int flags);
typedef void free_function(void *object, size_t size, size_t flags);

#define ENTRIES(X)                      \
	X(mallocx, allocate_function)   \
	X(tc_malloc, allocate_function) \
	X(mi_malloc, allocate_function) \
	X(rallocx, resize_function)     \
	X(tc_realloc, resize_function)  \
	X(mi_realloc, resize_function)  \
	X(xallocx, in_place_function)   \
	X(tc_free, free_function)       \
	X(mi_free, free_function)

#define DECLARE(name, type) extern type name __attribute__((weak));
ENTRIES(DECLARE)
extern void dallocx(void *object, int flags) __attribute__((weak));
extern void sdallocx(void *object, size_t size, int flags) __attribute__((weak));

static struct {
#define MEMBER(name, type) type *name;
	ENTRIES(MEMBER)
	void (*dallocx)(void *object, int flags);
	void (*sdallocx)(void *object, size_t size, int flags);
} entry = {
#define WEAK(name, type) name,
	ENTRIES(WEAK) dallocx, sdallocx
};

/* Also by calls of their names, not only through the table. */
static bool directly = true;
static void *look_where = RTLD_DEFAULT;

static void *look_up(const char *name)
{
	return dlsym(look_where, name);
}

static void look_up_all(void)
{
	void *found;
#define LOOK_UP(name, type)     \
	found = look_up(#name); \
	memcpy(&entry.name, &found, sizeof found);
	ENTRIES(LOOK_UP)
	LOOK_UP(dallocx, )
	LOOK_UP(sdallocx, )
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "foreign_entries: %s\n", what);
	exit(1);
}

/* An entry has one address, however it is asked for. */
static void compare_addresses(void)
{
#define COMPARE(name, type) check(entry.name == name, #name " has two addresses");
	ENTRIES(COMPARE)
	COMPARE(dallocx, )
	COMPARE(sdallocx, )
}

/* Sizes from nothing to 100 KB, most of them small; the same in every run. */
static size_t size_of(unsigned i)
{
	const size_t size = i * 2654435761u % 1000;
	return i % 50 == 0 ? size * 100 : size;
}

static void fill(void *object, size_t size)
{
	check(object != NULL, "no memory");
	memset(object, (int)(size % 251), size);
}

static void verify(const void *object, size_t size, size_t made_with)
{
	for (size_t i = 0; i < size; i++)
		check(((const uint8_t *)object)[i] == made_with % 251, "contents changed");
}

static void end(unsigned i, void *object, size_t size)
{
	verify(object, size, size);
	if (directly && dallocx != NULL && i % 6 == 0)
		dallocx(object, 0);
	else if (directly && mi_free != NULL && i % 6 == 0)
		mi_free(object, 0, 0);
	else if (entry.dallocx != NULL && i % 3 == 0)
		entry.dallocx(object, 0);
	else if (entry.sdallocx != NULL && i % 3 == 1 && size > 0)
		entry.sdallocx(object, size, 0);
	else if (entry.tc_free != NULL && i % 3 != 2)
		entry.tc_free(object, 0, 0);
	else if (entry.mi_free != NULL && i % 3 != 2)
		entry.mi_free(object, 0, 0);
	else
		free(object);
}

static size_t bytes_of[3], objects_of[3];

SITE static void *site_malloc(size_t size)
{
	void *object = malloc(size);
	bytes_of[0] += size;
	objects_of[0]++;
	fill(object, size);
	return object;
}

SITE static void *site_entry(size_t size)
{
	allocate_function *allocate = entry.mallocx != NULL	? entry.mallocx
				      : entry.tc_malloc != NULL ? entry.tc_malloc
								: entry.mi_malloc;
	if (allocate == NULL)
		allocate = (allocate_function *)(void *)malloc;
	size += size == 0; /* mallocx takes no 0 */
	void *object = allocate(size, 0);
	bytes_of[1] += size;
	objects_of[1]++;
	fill(object, size);
	return object;
}

SITE static void *site_resize(void *object, size_t before, size_t after)
{
	resize_function *resize = entry.rallocx != NULL	     ? entry.rallocx
				  : entry.tc_realloc != NULL ? entry.tc_realloc
							     : entry.mi_realloc;
	if (resize == NULL)
		resize = (resize_function *)(void *)realloc;
	object = resize(object, after, 0);
	check(object != NULL, "no memory");
	bytes_of[2] += after;
	objects_of[2]++;
	verify(object, before < after ? before : after, before);
	if (entry.xallocx != NULL && entry.xallocx(object, after, 0, 0) >= after) {
		bytes_of[2] += after;
		objects_of[2]++;
	}
	fill(object, after);
	return object;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "malloc", "entry", "resize" };
	directly = argc == 1;
	if (argc > 1 && strcmp(argv[1], "next") == 0)
		look_where = RTLD_NEXT;
	if (!directly)
		look_up_all();
	if (look_where == RTLD_DEFAULT)
		compare_addresses();
	for (unsigned i = 0; i < ROUNDS; i++) {
		const size_t size = size_of(i), other = size_of(i + 7) + 1, third = other / 2 + 1;
		void *first = site_malloc(size);
		void *second = site_entry(size);
		void *third_object = site_resize(site_malloc(other), other, third);
		end(i, first, size);
		end(i + 1, second, size + (size == 0));
		end(i + 2, third_object, third);
	}
	printf("{");
	for (int i = 0; i < 3; i++)
		printf("%s\"site_%s\": [%zu, %zu]", i == 0 ? "" : ", ", names[i], bytes_of[i],
			objects_of[i]);
	printf("}\n");
	return 0;
}
