/* SPDX-License-Identifier: MIT */
/* The arena of inprocess_pools.h, told by Valgrind's macros, which bytepoll/valgrind_pools.h takes
 * over. */
#include "bytepoll/valgrind_pools.h"

#define TELL_CREATE(arena, name) VALGRIND_CREATE_MEMPOOL(arena, 0, 0)
#define TELL_ALLOC(arena, object, size) VALGRIND_MEMPOOL_ALLOC(arena, object, size)
#define TELL_FREE(arena, object) VALGRIND_MEMPOOL_FREE(arena, object)
#define TELL_TRIM(arena, keep, bytes) VALGRIND_MEMPOOL_TRIM(arena, keep, bytes)
#define TELL_DESTROY(arena) VALGRIND_DESTROY_MEMPOOL(arena)
#define TELL_CHUNK_BEGIN
#define TELL_CHUNK_END

#include "inprocess_pools.h"

int main(void)
{
	char block[100];
	work();
	VALGRIND_MALLOCLIKE_BLOCK(block, 50, 0, 0);
	VALGRIND_RESIZEINPLACE_BLOCK(block, 50, 100, 0);
	(void)VALGRIND_MAKE_MEM_NOACCESS(block, 100);
	VALGRIND_FREELIKE_BLOCK(block, 0);
	CHECK(VALGRIND_MEMPOOL_EXISTS(block) && !RUNNING_ON_VALGRIND);
	return 0;
}
