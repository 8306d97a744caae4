/* SPDX-License-Identifier: MIT */
/*
 * The C++ side of the truth: operator new in every form (plain, array, nothrow, aligned, sized and
 * unsized delete), constructors that throw, a bad_alloc that is caught, and std::allocator.
 * libstdc++'s operators call malloc; an object must be counted once. Site functions have C names,
 * so that a report shows them as they stand here. See truth.h and truth.c.
 */
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "truth.h"

/* clang-format off */
#define SITES(X) \
	X(plain) X(array) X(nothrow) X(nothrow_array) X(aligned) X(aligned_array) \
	X(aligned_nothrow) X(direct) X(sized) X(constructor_throws) X(large) X(kept) \
	X(container) X(bad_alloc) X(bad_alloc_nothrow)
/* clang-format on */

#define NUMBER(word) number_##word,
enum { SITES(NUMBER) SITE_COUNT };
#define ENTRY(word) { "site_" #word, { 0 }, { 0 } },
static struct site sites[] = { SITES(ENTRY) };

/* For allocators written in C, whose operator new ends the program. */
static bool without_failures;

struct small_object {
	char bytes[48];
};

struct alignas(128) aligned_object {
	char bytes[256];
};

struct throwing_object {
	char bytes[72];
	throwing_object()
	{
		throw std::runtime_error("constructor");
	}
};

static void note(struct object *object, int number, void *pointer, size_t size)
{
	made(object, &sites[number], pointer, size);
}

extern "C" {

SITE void site_plain(struct object *object)
{
	note(object, number_plain, new small_object, sizeof(small_object));
}

SITE void site_array(struct object *object, size_t count)
{
	note(object, number_array, new char[count], count);
}

SITE void site_nothrow(struct object *object)
{
	note(object, number_nothrow, new (std::nothrow) small_object, sizeof(small_object));
}

SITE void site_nothrow_array(struct object *object, size_t count)
{
	note(object, number_nothrow_array, new (std::nothrow) char[count], count);
}

SITE void site_aligned(struct object *object)
{
	note(object, number_aligned, new aligned_object, sizeof(aligned_object));
	CHECK((uintptr_t)object->pointer % alignof(aligned_object) == 0);
}

SITE void site_aligned_array(struct object *object, size_t count)
{
	note(object, number_aligned_array, new aligned_object[count],
		count * sizeof(aligned_object));
	CHECK((uintptr_t)object->pointer % alignof(aligned_object) == 0);
}

SITE void site_aligned_nothrow(struct object *object)
{
	note(object, number_aligned_nothrow, new (std::nothrow) aligned_object,
		sizeof(aligned_object));
}

SITE void site_direct(struct object *object, size_t size)
{
	note(object, number_direct, ::operator new(size), size);
}

SITE void site_sized(struct object *object, size_t size)
{
	note(object, number_sized, ::operator new(size), size);
}

SITE void site_large(struct object *object, size_t count)
{
	note(object, number_large, new char[count], count);
}

SITE void site_kept(struct object *object)
{
	note(object, number_kept, new small_object, sizeof(small_object));
}

/* The object is made, its constructor throws, the compiler deletes it. Between the two the
 * exception is allocated (under frames of its own), so the object is never temporary. */
SITE bool site_constructor_throws(void)
{
	try {
		throwing_object *pointer = new throwing_object;
		KEEP(pointer);
		return false;
	} catch (const std::runtime_error &) {
		count(&sites[number_constructor_throws], METRIC_ALLOCATED, sizeof(throwing_object),
			1);
		return true;
	}
}

SITE bool site_bad_alloc(volatile size_t size)
{
	try {
		char *pointer = new char[size];
		KEEP(pointer);
		return false;
	} catch (const std::bad_alloc &) {
		return true;
	}
}

SITE bool site_bad_alloc_nothrow(volatile size_t size)
{
	char *pointer = new (std::nothrow) char[size];
	KEEP(pointer);
	return pointer == nullptr;
}

/* std::allocator's frames, inlined or not, are part of the allocator: the bytes are this site's. */
SITE void site_container(struct object *object, size_t length)
{
	std::allocator<int> allocator;
	note(object, number_container, allocator.allocate(length), length * sizeof(int));
}
}

#define POOL_OBJECTS 8000
static struct object pool[POOL_OBJECTS];

/* Takes the object out of the books and gives its pointer for a delete expression. */
template <typename type> static type *taken(struct object *object)
{
	void *pointer = object->pointer;
	gone(object);
	return static_cast<type *>(pointer);
}

static void new_and_delete(uint64_t *seed)
{
	for (int i = 0; i < 5000; i++) {
		site_plain(&pool[i]);
		if (i % 2)
			delete taken<small_object>(&pool[i]);
	}
	for (int i = 0; i < 3000; i++)
		site_array(&pool[i], random_between(seed, 1, 300));
	separate();
	for (int i = 0; i < 3000; i++)
		if (i % 3)
			delete[] taken<char>(&pool[i]);
	for (int i = 0; i < 5000; i++) {
		site_nothrow(&pool[i]);
		delete taken<small_object>(&pool[i]);
	}
	for (int i = 0; i < 3000; i++)
		site_nothrow_array(&pool[i], random_between(seed, 1, 300));
	separate();
	for (int i = 0; i < 3000; i++)
		if (i % 3)
			::operator delete[](taken<char>(&pool[i]), std::nothrow);
}

static void aligned_forms(void)
{
	for (int i = 0; i < 1000; i++)
		site_aligned(&pool[i]);
	separate();
	for (int i = 0; i < 1000; i++)
		if (i % 2)
			delete taken<aligned_object>(&pool[i]);
	for (int i = 0; i < 600; i++) {
		site_aligned_array(&pool[i], 3);
		if (i % 2)
			delete[] taken<aligned_object>(&pool[i]);
	}
	for (int i = 0; i < 1000; i++) {
		site_aligned_nothrow(&pool[i]);
		delete taken<aligned_object>(&pool[i]);
	}
}

static void other_forms(uint64_t *seed)
{
	for (int i = 0; i < 4000; i++) {
		site_direct(&pool[i], random_between(seed, 0, 200));
		if (i % 2)
			::operator delete(taken<void>(&pool[i]));
	}
	for (int i = 0; i < 4000; i++) {
		site_sized(&pool[i], 96);
		if (i % 2) {
			size_t size = pool[i].size;
			::operator delete(taken<void>(&pool[i]), size);
		}
	}
	for (int i = 0; i < 40; i++) {
		site_large(&pool[i], random_between(seed, 2047, 200000));
		if (i % 2)
			delete[] taken<char>(&pool[i]);
	}
	for (int i = 0; i < 4000; i++)
		site_kept(&pool[i]);
	for (int i = 0; i < 3000; i++) {
		site_container(&pool[i], random_between(seed, 1, 40));
		if (i % 2)
			::operator delete(taken<void>(&pool[i]));
	}
	for (int i = 0; i < 3000; i++)
		CHECK(site_constructor_throws());
	for (int i = 0; i < 10 && !without_failures; i++) {
		CHECK(site_bad_alloc(PTRDIFF_MAX));
		CHECK(site_bad_alloc_nothrow(PTRDIFF_MAX));
	}
}

int main(int argument_count, char **arguments)
{
	int scale = argument_count > 1 ? atoi(arguments[1]) : 1;
	without_failures = argument_count > 2 && std::strcmp(arguments[2], "portable") == 0;
	uint64_t seed = 88172645463325252u;
	for (int i = 0; i < scale; i++) {
		new_and_delete(&seed);
		aligned_forms();
		other_forms(&seed);
	}
	print_truth(sites, SITE_COUNT);
	return 0;
}
