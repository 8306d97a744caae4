/* SPDX-License-Identifier: MIT */
/*
 * An address_table.h in mapped memory, behind a lock; and the filter in front of it, a byte for
 * each page of 4 KiB, modulo 4 GiB. A byte that has reached its end stays there: its page is asked
 * about for ever, which costs time and is never wrong. Readers need no order: who frees an object
 * has learnt of it from who made it, after it was counted here.
 */
#include "host/live.h"

#include "base/attributes.h"

#define COUNT_STUCK 255u
#define MOVED_FIRST_BYTES ((size_t)64 << 10)

/* What an array of the table lies in. */
struct bp_host_live_block {
	struct bp_host_live_block *older;
	size_t bytes;
};

/* ---- the filter ---- */

static uint8_t *count_of(const struct bp_host_live *live, uint64_t address)
{
	return &live->pages[(uint32_t)address >> BP_HOST_PAGE_SHIFT];
}

static void filter_add(struct bp_host_live *live, uint64_t address)
{
	uint8_t *count = count_of(live, address);
	if (*count != COUNT_STUCK)
		__atomic_store_n(count, (uint8_t)(*count + 1), __ATOMIC_RELEASE);
}

static void filter_remove(struct bp_host_live *live, uint64_t address)
{
	uint8_t *count = count_of(live, address);
	if (*count != COUNT_STUCK)
		__atomic_store_n(count, (uint8_t)(*count - 1), __ATOMIC_RELEASE);
}

/* ---- the table: locked ---- */

static bool make_room(struct bp_host_live *live)
{
	const size_t wanted = bp_address_table_wants(&live->table);
	if (wanted == 0)
		return true;
	if (wanted == SIZE_MAX)
		return false;
	const size_t bytes = sizeof(struct bp_host_live_block) + wanted;
	struct bp_host_live_block *block = bp_system_memory(bytes);
	if (block == NULL)
		return false;
	*block = (struct bp_host_live_block){ live->blocks, bytes };
	live->blocks = block;
	live->bytes += bytes;
	bp_address_table_grow(&live->table, block + 1);
	return true;
}

static bool insert(struct bp_host_live *live, uint64_t address, uint64_t sequence)
{
	if (address == 0 || !make_room(live) || bp_address_table_find(&live->table, address) != 0)
		return false;
	(void)bp_address_table_put(&live->table, address, sequence);
	filter_add(live, address);
	return true;
}

/* The sequence of what was taken out; `wanted` != 0: only if it is that one. */
static uint64_t remove_sample(struct bp_host_live *live, uint64_t address, uint64_t wanted)
{
	const uint64_t sequence = bp_address_table_find(&live->table, address);
	if (sequence == 0 || (wanted != 0 && wanted != sequence))
		return 0;
	bp_address_table_remove(&live->table, address);
	filter_remove(live, address);
	return sequence;
}

bool bp_host_live_insert(struct bp_host_live *live, const void *object, uint64_t sequence)
{
	bp_lock_take(&live->lock);
	const bool inserted = insert(live, (uint64_t)object, sequence);
	bp_lock_release(&live->lock);
	return inserted;
}

uint64_t bp_host_live_remove(struct bp_host_live *live, const void *object)
{
	bp_lock_take(&live->lock);
	const uint64_t sequence = remove_sample(live, (uint64_t)object, 0);
	bp_lock_release(&live->lock);
	return sequence;
}

bool bp_host_live_remove_if(struct bp_host_live *live, const struct bp_address_entry *entry)
{
	bp_lock_take(&live->lock);
	const bool removed = remove_sample(live, entry->address, entry->sequence) != 0;
	bp_lock_release(&live->lock);
	return removed;
}

bool bp_host_live_contains(const struct bp_host_live *live, const void *object)
{
	return __atomic_load_n(count_of(live, (uint64_t)object), __ATOMIC_RELAXED) != 0 &&
	       bp_address_table_has(&live->table, (uint64_t)object);
}

/* ---- moves ---- */

/* Room for one more move. */
static bool reserve_moved(struct bp_host_live *live)
{
	const size_t used = live->moved_count * sizeof *live->moved;
	if (used + sizeof *live->moved <= live->moved_bytes)
		return true;
	const size_t bytes = live->moved_bytes == 0 ? MOVED_FIRST_BYTES : 2 * live->moved_bytes;
	struct bp_address_entry *moved = bp_system_memory(bytes);
	if (moved == NULL)
		return false;
	if (live->moved != NULL) {
		__builtin_memcpy(moved, live->moved, used);
		bp_system_unmap(live->moved, live->moved_bytes);
	}
	live->bytes += bytes - live->moved_bytes;
	live->moved = moved;
	live->moved_bytes = bytes;
	return true;
}

uint64_t bp_host_live_move(
	struct bp_host_live *live, const void *from, const void *to, bool *ret_lost)
{
	*ret_lost = false;
	bp_lock_take(&live->lock);
	const uint64_t sequence = remove_sample(live, (uint64_t)from, 0);
	if (sequence != 0 && reserve_moved(live))
		live->moved[live->moved_count++] =
			(struct bp_address_entry){ (uint64_t)to, sequence };
	else if (sequence != 0)
		*ret_lost = true;
	bp_lock_release(&live->lock);
	return sequence;
}

bool bp_host_live_moved_next(struct bp_host_live *live, uint64_t *ret_lost)
{
	*ret_lost = 0;
	bp_lock_take(&live->lock);
	const bool there = live->moved_count > 0;
	if (there) {
		const struct bp_address_entry *entry = &live->moved[--live->moved_count];
		if (!insert(live, entry->address, entry->sequence))
			*ret_lost = entry->sequence;
	}
	bp_lock_release(&live->lock);
	return there;
}

/* ---- the whole ---- */

struct bp_address_entry *bp_host_live_copy(
	struct bp_host_live *live, uint32_t *ret_count, size_t *ret_bytes)
{
	struct bp_address_entry *copy = NULL;
	*ret_count = 0;
	bp_lock_take(&live->lock);
	const struct bp_address_array *array = live->table.array;
	if (live->table.count > 0) {
		*ret_bytes = live->table.count * sizeof *copy;
		copy = bp_system_memory(*ret_bytes);
	}
	for (uint32_t i = 0; copy != NULL && i <= array->mask; i++)
		if (array->entries[i].address != 0)
			copy[(*ret_count)++] = array->entries[i];
	bp_lock_release(&live->lock);
	return copy;
}

bool bp_host_live_init(struct bp_host_live *live)
{
	live->pages = bp_system_map(BP_HOST_FILTER_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (live->pages == NULL)
		return false;
	(void)bp_system_advise(live->pages, BP_HOST_FILTER_BYTES, MADV_NOHUGEPAGE);
	return true;
}

void bp_host_live_finish(struct bp_host_live *live)
{
	struct bp_host_live_block *block = live->blocks;
	while (block != NULL) {
		struct bp_host_live_block *older = block->older;
		bp_system_unmap(block, block->bytes);
		block = older;
	}
	if (live->moved != NULL)
		bp_system_unmap(live->moved, live->moved_bytes);
	if (live->pages != NULL)
		bp_system_unmap(live->pages, BP_HOST_FILTER_BYTES);
	*live = (struct bp_host_live){ 0 };
}
