/* SPDX-License-Identifier: MIT */
/* See dotnet_stacks.h. */
#include "import/dotnet/dotnet_stacks.h"

#include "base/hash.h"
#include "base/vec.h"

static struct bp_index_keys hashes(const struct bp_dotnet_stacks *stacks)
{
	return (struct bp_index_keys){ stacks->entries, sizeof *stacks->entries };
}

static struct bp_index_keys ids(const struct bp_dotnet_stacks *stacks)
{
	return (struct bp_index_keys){ stacks->ids, sizeof *stacks->ids };
}

static uint64_t address(const uint8_t *pcs, uint32_t i, uint32_t pointer_bytes)
{
	uint64_t value = 0;
	memcpy(&value, pcs + (size_t)i * pointer_bytes, pointer_bytes);
	return value;
}

static bool reserve_pcs(struct bp_dotnet_stacks *stacks, uint64_t more)
{
	const uint64_t needed = stacks->pc_count + more;
	if (needed <= stacks->pc_capacity)
		return true;
	const uint64_t capacity = needed + needed / 2 + 1024;
	uint64_t *grown = realloc(stacks->pcs, capacity * sizeof *grown);
	if (grown == NULL)
		return false;
	stacks->pcs = grown;
	stacks->pc_capacity = capacity;
	return true;
}

/* The number of the stack of this content; 0: no memory. */
static uint32_t number_of(
	struct bp_dotnet_stacks *stacks, const uint8_t *pcs, uint32_t count, uint32_t pointer_bytes)
{
	uint64_t hash = bp_hash_u64(count + 1);
	for (uint32_t i = 0; i < count; i++)
		hash = bp_hash_u64(hash + address(pcs, i, pointer_bytes));
	uint32_t found = bp_index_find(&stacks->by_hash, hashes(stacks), hash);
	if (found != BP_INDEX_NONE)
		return found + 1;
	if (!bp_vec_reserve(&stacks->entries, &stacks->capacity, (uint64_t)stacks->count + 1,
		    sizeof *stacks->entries) ||
		!reserve_pcs(stacks, count))
		return 0;
	stacks->entries[stacks->count] =
		(struct bp_dotnet_stack){ .hash = hash, .first = stacks->pc_count, .depth = count };
	if (!bp_index_add(&stacks->by_hash, hashes(stacks), stacks->count))
		return 0;
	for (uint32_t i = 0; i < count; i++)
		stacks->pcs[stacks->pc_count++] = address(pcs, i, pointer_bytes);
	return ++stacks->count;
}

bool bp_dotnet_stacks_add(struct bp_dotnet_stacks *stacks, uint32_t id, const uint8_t *pcs,
	uint32_t count, uint32_t pointer_bytes)
{
	uint32_t number = 0;
	if (count != 0) {
		number = number_of(stacks, pcs, count, pointer_bytes);
		if (number == 0)
			return false;
	}
	uint32_t found = bp_index_find(&stacks->by_id, ids(stacks), id);
	if (found != BP_INDEX_NONE) {
		stacks->ids[found].number = number;
		return true;
	}
	if (!bp_vec_reserve(&stacks->ids, &stacks->id_capacity, (uint64_t)stacks->id_count + 1,
		    sizeof *stacks->ids))
		return false;
	stacks->ids[stacks->id_count] = (struct bp_dotnet_stack_id){ id, number };
	if (!bp_index_add(&stacks->by_id, ids(stacks), stacks->id_count))
		return false;
	stacks->id_count++;
	return true;
}

uint32_t bp_dotnet_stacks_find(const struct bp_dotnet_stacks *stacks, uint32_t id)
{
	const uint32_t found = bp_index_find(&stacks->by_id, ids(stacks), id);
	return found == BP_INDEX_NONE ? 0 : stacks->ids[found].number;
}

static int compare(const void *a_pc, const void *b_pc)
{
	const uint64_t a = *(const uint64_t *)a_pc, b = *(const uint64_t *)b_pc;
	return a < b ? -1 : a > b;
}

bool bp_dotnet_stacks_sort(struct bp_dotnet_stacks *stacks)
{
	uint64_t kept = 0;
	if (stacks->pc_count == 0)
		return true;
	stacks->sorted = malloc(stacks->pc_count * sizeof *stacks->sorted);
	if (stacks->sorted == NULL)
		return false;
	memcpy(stacks->sorted, stacks->pcs, stacks->pc_count * sizeof *stacks->sorted);
	qsort(stacks->sorted, stacks->pc_count, sizeof *stacks->sorted, compare);
	for (uint64_t i = 0; i < stacks->pc_count; i++)
		if (i == 0 || stacks->sorted[i] != stacks->sorted[kept - 1])
			stacks->sorted[kept++] = stacks->sorted[i];
	stacks->sorted_count = kept;
	return true;
}

bool bp_dotnet_stacks_in(const struct bp_dotnet_stacks *stacks, uint64_t start, uint64_t end)
{
	uint64_t low = 0, high = stacks->sorted_count;
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		if (stacks->sorted[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < stacks->sorted_count && stacks->sorted[low] <= end;
}

void bp_dotnet_stacks_flush(struct bp_dotnet_stacks *stacks)
{
	bp_index_finish(&stacks->by_id);
	stacks->id_count = 0;
}

void bp_dotnet_stacks_finish(struct bp_dotnet_stacks *stacks)
{
	bp_index_finish(&stacks->by_hash);
	bp_index_finish(&stacks->by_id);
	free(stacks->entries);
	free(stacks->pcs);
	free(stacks->ids);
	free(stacks->sorted);
	*stacks = (struct bp_dotnet_stacks){ 0 };
}
