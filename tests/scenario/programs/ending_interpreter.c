/* SPDX-License-Identifier: MIT */
/*
 * What CPython 3.12 does with its allocators, without CPython: it has the functions that the
 * recorder finds, starts and ends TIMES over, and makes 1000 objects of the domain object each time,
 * from memory of its own. Its lock of the allocators is an object of malloc's. Whoever asks for the
 * allocators takes it; while it is being freed, that would wait for ever, and here it ends the program.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored \
	"-Wmissing-prototypes" /* The recorder alone calls them, by their names. */
#define OBJECTS 1000

struct allocator {
	void *context;
	void *(*malloc)(void *context, size_t size);
	void *(*calloc)(void *context, size_t count, size_t size);
	void *(*realloc)(void *context, void *object, size_t size);
	void (*free)(void *context, void *object);
};
struct arena_allocator {
	void *context;
	void *(*alloc)(void *context, size_t bytes);
	void (*free)(void *context, void *arena, size_t bytes);
};

static bool running, freeing;
static int *lock;
static void (*exit_function)(void);
static char arena[256 * 1024];
static size_t arena_used;

static void *raw_malloc(void *context, size_t size)
{
	(void)context;
	return malloc(size);
}

static void *raw_calloc(void *context, size_t count, size_t size)
{
	(void)context;
	return calloc(count, size);
}

static void *raw_realloc(void *context, void *object, size_t size)
{
	(void)context;
	return realloc(object, size);
}

static void raw_free(void *context, void *object)
{
	(void)context;
	free(object);
}

static void *small_malloc(void *context, size_t size)
{
	(void)context;
	if (size > 512)
		return malloc(size);
	arena_used += (size + 15) / 16 * 16;
	return arena + arena_used - (size + 15) / 16 * 16;
}

static void *small_calloc(void *context, size_t count, size_t size)
{
	return memset(small_malloc(context, count * size), 0, count * size);
}

static void small_free(void *context, void *object)
{
	(void)context;
	if ((char *)object < arena || (char *)object >= arena + sizeof arena)
		free(object);
}

static void *no_realloc(void *context, void *object, size_t size)
{
	(void)context;
	(void)object;
	(void)size;
	return NULL;
}

static void *arena_alloc(void *context, size_t bytes)
{
	(void)context;
	(void)bytes;
	return NULL;
}

static void arena_free(void *context, void *object, size_t bytes)
{
	(void)context;
	(void)object;
	(void)bytes;
}

#define RAW                                                         \
	{                                                           \
		NULL, raw_malloc, raw_calloc, raw_realloc, raw_free \
	}
#define SMALL                                                            \
	{                                                                \
		NULL, small_malloc, small_calloc, no_realloc, small_free \
	}
static const struct allocator initial[3] = { RAW, SMALL, SMALL };
static struct allocator allocators[3] = { RAW, SMALL, SMALL };
static struct arena_allocator arenas = { NULL, arena_alloc, arena_free };

static void take_lock(void)
{
	if (freeing) {
		static const char words[] = "the lock is taken while it is freed\n";
		_exit(write(STDERR_FILENO, words, sizeof words - 1) > 0 ? 1 : 2);
	}
	if (lock != NULL)
		++*lock;
}

EXPORT const char *Py_GetVersion(void)
{
	return "3.12.1 (made for a test)";
}

EXPORT int Py_IsInitialized(void)
{
	return running;
}

EXPORT int Py_AtExit(void (*function)(void))
{
	exit_function = function;
	return 0;
}

EXPORT void PyMem_GetAllocator(int domain, struct allocator *allocator)
{
	take_lock();
	*allocator = allocators[domain];
}

EXPORT void PyMem_SetAllocator(int domain, struct allocator *allocator)
{
	take_lock();
	allocators[domain] = *allocator;
}

EXPORT void PyObject_GetArenaAllocator(struct arena_allocator *allocator)
{
	take_lock();
	*allocator = arenas;
}

EXPORT void PyObject_SetArenaAllocator(struct arena_allocator *allocator)
{
	take_lock();
	arenas = *allocator;
}

EXPORT const char *_PyMem_GetCurrentAllocatorName(void)
{
	take_lock();
	return "pymalloc";
}

EXPORT void *_PyThreadState_UncheckedGet(void)
{
	return running ? &running : NULL;
}

EXPORT void *PyGILState_GetThisThreadState(void)
{
	return _PyThreadState_UncheckedGet();
}

EXPORT int PyCode_Addr2Line(void *code, int instruction)
{
	(void)code;
	return instruction;
}

EXPORT void *_PyEval_EvalFrameDefault(void)
{
	return NULL;
}

static void start(void)
{
	lock = calloc(1, 64);
	running = true;
}

static void end(void)
{
	running = false;
	if (exit_function != NULL)
		exit_function();
	freeing = true;
	free(lock);
	freeing = false;
	lock = NULL;
	memcpy(allocators, initial, sizeof allocators);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < (argc == 2 ? atoi(argv[1]) : 1); i++) {
		start();
		for (int object = 0; object < OBJECTS; object++)
			allocators[2].malloc(allocators[2].context, 16);
		end();
	}
	return 0;
}
