/* SPDX-License-Identifier: MIT */
/*
 * A bump allocator over anonymous mappings. Mappings grow with what is there (an eighth of it, 64
 * KiB to 4 MiB), so that a small program pays for little and a large one makes few system calls;
 * they opt out of huge pages, which would make untouched tables resident.
 *
 * No lock: a piece is cut by compare-and-swap, and of threads that map a new block at a time one
 * publishes it and the others unmap theirs. What is left of an old block is given up.
 */
#include "tables/arena.h"

#include "base/system_call.h"

/* At its start; the rest is cut. */
struct block {
	uint64_t cut_bytes, bytes;
} __attribute__((aligned(64)));

static struct {
	struct block *block;
	uint64_t mapped_bytes;	  /* with what is being mapped, or will be unmapped at once */
	uint64_t published_bytes; /* of blocks */
} arena;

#define BLOCK_BYTES_MIN ((size_t)64 << 10)
#define BLOCK_BYTES_MAX ((size_t)4 << 20)
/* Of what may still be mapped a block takes this part at most, so that thousands of threads that
 * map one at a time, all but one of which will unmap it, do not reach the bound. */
#define BLOCK_PART 1024u

static void *map(size_t bytes)
{
	/* Claimed only where it fits: a claim that is given back later would refuse others
	 * meanwhile. */
	uint64_t mapped = __atomic_load_n(&arena.mapped_bytes, __ATOMIC_RELAXED);
	do {
		if (bytes > BP_ARENA_MAX_BYTES - mapped)
			return NULL;
	} while (!__atomic_compare_exchange_n(&arena.mapped_bytes, &mapped, mapped + bytes, true,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	void *memory = bp_system_memory(bytes);
	if (memory == NULL)
		__atomic_fetch_sub(&arena.mapped_bytes, bytes, __ATOMIC_RELAXED);
	else
		(void)bp_system_advise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

static void unmap(void *memory, size_t bytes)
{
	bp_system_unmap(memory, bytes);
	__atomic_fetch_sub(&arena.mapped_bytes, bytes, __ATOMIC_RELAXED);
}

/* NULL: there is not that much left. */
static void *cut(struct block *block, size_t bytes)
{
	uint64_t at = __atomic_load_n(&block->cut_bytes, __ATOMIC_RELAXED);
	do {
		if (block->bytes - at < bytes)
			return NULL;
	} while (!__atomic_compare_exchange_n(
		&block->cut_bytes, &at, at + bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return (uint8_t *)block + at;
}

/* A new block from which `bytes` are cut already. */
static struct block *make_block(size_t bytes)
{
	/* By what was published: thousands of threads that map at a time would count one
	 * another's. */
	const uint64_t published = __atomic_load_n(&arena.published_bytes, __ATOMIC_RELAXED);
	const uint64_t left =
		BP_ARENA_MAX_BYTES - __atomic_load_n(&arena.mapped_bytes, __ATOMIC_RELAXED);
	uint64_t size = published / 8 < left / BLOCK_PART ? published / 8 : left / BLOCK_PART;
	size &= ~(uint64_t)(BLOCK_BYTES_MIN - 1);
	size = size < BLOCK_BYTES_MIN	? BLOCK_BYTES_MIN
	       : size > BLOCK_BYTES_MAX ? BLOCK_BYTES_MAX
					: size;
	struct block *block = map(size);
	if (block != NULL)
		*block = (struct block){ .cut_bytes = sizeof *block + bytes, .bytes = size };
	return block;
}

void *bp_arena_allocate(size_t bytes)
{
	struct block *block = __atomic_load_n(&arena.block, __ATOMIC_ACQUIRE);
	bytes = (bytes + 63) & ~(size_t)63;
	for (;;) {
		void *memory = block == NULL ? NULL : cut(block, bytes);
		if (memory != NULL)
			return memory;
		if (bytes > BLOCK_BYTES_MIN - sizeof *block)
			return map(bp_system_whole_pages(bytes));
		struct block *fresh = make_block(bytes);
		if (fresh == NULL) {
			struct block *now = __atomic_load_n(&arena.block, __ATOMIC_ACQUIRE);
			if (now == block)
				return NULL;
			block = now;
			continue;
		}
		if (__atomic_compare_exchange_n(&arena.block, &block, fresh, false,
			    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			__atomic_fetch_add(&arena.published_bytes, fresh->bytes, __ATOMIC_RELAXED);
			return fresh + 1;
		}
		unmap(fresh, fresh->bytes);
	}
}

uint64_t bp_arena_bytes(void)
{
	return __atomic_load_n(&arena.mapped_bytes, __ATOMIC_RELAXED);
}
