/* SPDX-License-Identifier: MIT */
/*
 * Allocations at the very end of threads and of the process: destructors of thread-specific data
 * that allocate, free and set their key again (so that they run in the rounds after the recorder's
 * own), C++-style thread_local destructors, detached threads that still run at exit, atexit
 * handlers and ELF destructors that allocate.
 */
#include <pthread.h>
#include <string.h>

#include "check.h"

int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *dso);
extern void *__dso_handle;

#define KEYS 5
static pthread_key_t keys[KEYS];
static int destructors_run;

static void use_memory(size_t size)
{
	char *a = malloc(size);
	char *b = calloc(3, size);
	CHECK(a && b);
	memset(a, 1, size);
	for (size_t i = 0; i < 3 * size; i++)
		CHECK(b[i] == 0);
	a = realloc(a, size * 5);
	CHECK(a && a[size - 1] == 1);
	free(a);
	free(b);
}

struct value {
	int key, rounds;
};

static void key_destructor(void *pointer)
{
	struct value *value = pointer;
	use_memory(1000 + (size_t)value->key);
	__atomic_fetch_add(&destructors_run, 1, __ATOMIC_RELAXED);
	if (value->rounds-- > 0)
		CHECK(pthread_setspecific(keys[value->key], value) == 0);
	else
		free(value);
}

static void local_destructor(void *pointer)
{
	use_memory(2000);
	free(pointer);
	__atomic_fetch_add(&destructors_run, 1, __ATOMIC_RELAXED);
}

static void *thread_main(void *argument)
{
	if (argument)
		use_memory(300);
	for (int i = 0; i < KEYS; i++) {
		struct value *value = malloc(sizeof(*value));
		value->key = i;
		value->rounds = i % 3;
		CHECK(pthread_setspecific(keys[i], value) == 0);
	}
	CHECK(__cxa_thread_atexit_impl(local_destructor, malloc(64), &__dso_handle) == 0);
	return NULL;
}

static void *detached_main(void *argument)
{
	while (!argument)
		use_memory(128);
	return NULL;
}

static void at_exit(void)
{
	use_memory(5000);
}

__attribute__((destructor)) static void at_unload(void)
{
	use_memory(6000);
}

__attribute__((constructor)) static void at_load(void)
{
	use_memory(7000);
}

int main(void)
{
	CHECK(atexit(at_exit) == 0);
	for (int i = 0; i < KEYS; i++)
		CHECK(pthread_key_create(&keys[i], key_destructor) == 0);
	for (uintptr_t i = 0; i < 50; i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, thread_main, (void *)(i % 2)) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	pthread_t detached;
	CHECK(pthread_create(&detached, NULL, detached_main, NULL) == 0);
	CHECK(pthread_detach(detached) == 0);
	printf("%d destructors\n", destructors_run);
	return 0;
}
