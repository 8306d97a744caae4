/* SPDX-License-Identifier: MIT */
/*
 * A malloc that takes memory from pieces of 64 MiB, the first of which it maps when it is called for
 * the first time; preloaded behind the recorder. It has an operator new, so that the recorder calls
 * it while it starts. Nothing is given out twice, and no object is larger than a piece.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PIECE_BYTES ((size_t)64 << 20)

static char *piece;
static size_t left;
static int lock;

__attribute__((noinline)) static void map_piece(void)
{
	piece = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	left = piece == MAP_FAILED ? 0 : PIECE_BYTES;
}

/* Before each object stands its size. */
static void *take(size_t alignment, size_t size)
{
	uintptr_t object = 0;
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	for (int attempt = 0; attempt < 2 && object == 0; attempt++) {
		const uintptr_t begin = (uintptr_t)piece + PIECE_BYTES - left;
		object = (begin + 16 + alignment - 1) & ~(alignment - 1);
		if (left == 0 || size > PIECE_BYTES || object + size - begin > left) {
			object = 0;
			if (attempt == 0)
				map_piece();
		} else {
			left -= object + size - begin;
			((size_t *)object)[-1] = size;
		}
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	if (object == 0)
		errno = ENOMEM;
	return (void *)object;
}

void *malloc(size_t size)
{
	return take(16, size);
}

void free(void *object)
{
	(void)object;
}

void *calloc(size_t count, size_t size)
{
	return take(16, count * size); /* pieces are zero, and nothing is given out twice */
}

size_t malloc_usable_size(void *object)
{
	return object == NULL ? 0 : ((size_t *)object)[-1];
}

void *realloc(void *object, size_t size)
{
	void *moved = take(16, size);
	const size_t before = malloc_usable_size(object);
	if (moved != NULL && object != NULL)
		memcpy(moved, object, before < size ? before : size);
	return moved;
}

void *memalign(size_t alignment, size_t size)
{
	return take(alignment < 16 ? 16 : alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret_object, size_t alignment, size_t size)
{
	*ret_object = memalign(alignment, size);
	return *ret_object == NULL ? ENOMEM : 0;
}

/* operator new and delete */
void *_Znwm(size_t size);
void *_Znwm(size_t size)
{
	return take(16, size);
}

void _ZdlPv(void *object);
void _ZdlPv(void *object)
{
	(void)object;
}
