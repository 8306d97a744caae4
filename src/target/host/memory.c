/* SPDX-License-Identifier: MIT */
/* See memory.h. Blocks are a chain: each begins with the one before it and its own length. */
#include "host/memory.h"

#define BLOCK_BYTES ((size_t)256 << 10)
#define ALIGNMENT 16u

struct bp_host_block {
	struct bp_host_block *next;
	size_t bytes;
};

_Static_assert(sizeof(struct bp_host_block) % ALIGNMENT == 0, "what follows it is aligned");

/* Locked. */
static bool add_block(struct bp_host_memory *memory, size_t bytes)
{
	size_t wanted = bytes + sizeof(struct bp_host_block);
	if (wanted < BLOCK_BYTES)
		wanted = BLOCK_BYTES;
	wanted = bp_system_whole_pages(wanted);
	if (wanted > BP_HOST_MEMORY_MAX_BYTES - memory->bytes)
		return false;
	struct bp_host_block *block = bp_system_memory(wanted);
	if (block == NULL)
		return false;
	block->next = memory->blocks;
	block->bytes = wanted;
	memory->blocks = block;
	memory->rest = (uint8_t *)(block + 1);
	memory->rest_bytes = wanted - sizeof *block;
	memory->bytes += wanted;
	return true;
}

void *bp_host_allocate(struct bp_host_memory *memory, size_t bytes)
{
	void *piece = NULL;
	if (bytes > BP_HOST_MEMORY_MAX_BYTES)
		return NULL;
	bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	bp_lock_take(&memory->lock);
	if (bytes <= memory->rest_bytes || add_block(memory, bytes)) {
		piece = memory->rest;
		memory->rest += bytes;
		memory->rest_bytes -= bytes;
	}
	bp_lock_release(&memory->lock);
	return piece;
}

void bp_host_memory_finish(struct bp_host_memory *memory)
{
	struct bp_host_block *block = memory->blocks;
	while (block != NULL) {
		struct bp_host_block *next = block->next;
		bp_system_unmap(block, block->bytes);
		block = next;
	}
	*memory = (struct bp_host_memory){ 0 };
}
