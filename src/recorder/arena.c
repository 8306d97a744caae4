/* SPDX-License-Identifier: MIT */
/*
 * A bump allocator over anonymous mappings. Mappings grow with what is there (an eighth of it, 64
 * KiB to 4 MiB), so that a small program pays for little and a large one makes few system calls;
 * they opt out of huge pages, which would make untouched tables resident.
 */
#include "recorder/arena.h"

#include "base/lock.h"

static struct {
	struct bp_lock lock;
	uint8_t *at, *end;
	uint64_t mapped_bytes;
} arena;

static void *map_block(size_t bytes)
{
	uint8_t *memory = bp_system_memory(bytes);
	if (memory != NULL) {
		(void)bp_system_advise(memory, bytes, MADV_NOHUGEPAGE);
		arena.mapped_bytes += bytes;
	}
	return memory;
}

static void *cut(size_t bytes)
{
	if (arena.mapped_bytes + bytes > BP_ARENA_MAX_BYTES)
		return NULL;
	if ((size_t)(arena.end - arena.at) >= bytes) {
		void *memory = arena.at;
		arena.at += bytes;
		return memory;
	}
	if (bytes >= 64u << 10)
		return map_block(bp_system_whole_pages(bytes));
	size_t block = (size_t)(arena.mapped_bytes / 8) & ~(size_t)0xffff;
	block = block < 64u << 10 ? 64u << 10 : block > 4u << 20 ? 4u << 20 : block;
	uint8_t *memory = map_block(block);
	if (memory == NULL)
		return NULL;
	arena.at = memory + bytes;
	arena.end = memory + block;
	return memory;
}

void *bp_arena_allocate(size_t bytes)
{
	bytes = (bytes + 63) & ~(size_t)63;
	bp_lock_take(&arena.lock);
	void *memory = cut(bytes);
	bp_lock_release(&arena.lock);
	return memory;
}

uint64_t bp_arena_bytes(void)
{
	return __atomic_load_n(&arena.mapped_bytes, __ATOMIC_RELAXED);
}

void bp_arena_lock(void)
{
	bp_lock_take(&arena.lock);
}

void bp_arena_unlock(void)
{
	bp_lock_release(&arena.lock);
}

void bp_arena_after_fork(void)
{
	(void)bp_lock_reset(&arena.lock);
}
