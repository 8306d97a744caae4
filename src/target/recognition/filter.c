/* SPDX-License-Identifier: MIT */
/*
 * A byte that has reached its end stays there: its page is asked about for ever, which costs time
 * and is never wrong. Readers need no order: who frees an object has learnt of it from who made it,
 * after it was counted here.
 *
 * Place. At the top of the low 2 GiB, some random megabytes down: the heap of a program at fixed
 * addresses grows from below, and just-in-time compilers that want such addresses begin below, too.
 */
#include "recognition/filter.h"

#include "base/attributes.h"
#include "base/system_call.h"

#define LOW_END 0x7ff00000u
#define LOW_TRIES 64u
#define COUNT_STUCK 255u

uint8_t *bp_filter_counts __attribute__((visibility("hidden")));

/* NULL if that place is taken. Kernels before 4.17 take the address for a wish. */
static uint8_t *map_at(uintptr_t address)
{
	long result = syscall(SYS_mmap, address, (size_t)BP_FILTER_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0ul);
	if (result == -1)
		return NULL;
	if ((uintptr_t)result == address)
		return (uint8_t *)result;
	bp_system_unmap((void *)result, BP_FILTER_BYTES);
	return NULL;
}

static uint8_t *map_low(void)
{
	uint8_t random = 0;
	uint8_t *memory = NULL;
	(void)syscall(SYS_getrandom, &random, sizeof random, 1 /* GRND_NONBLOCK */);
	for (unsigned i = 0; i < LOW_TRIES && memory == NULL; i++)
		memory = map_at(LOW_END - (uintptr_t)(1 + (random + i) % 256) * BP_FILTER_BYTES);
	return memory;
}

bool bp_filter_init(void)
{
	if (bp_filter_counts != NULL)
		return true;
	uint8_t *memory = map_low();
	if (memory == NULL)
		memory = bp_system_map(BP_FILTER_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == NULL)
		return false;
	(void)bp_system_advise(memory, BP_FILTER_BYTES, MADV_NOHUGEPAGE);
	bp_filter_counts = memory;
	return true;
}

static uint8_t *count_of(uint64_t address)
{
	return bp_filter_counts + ((uint32_t)address >> BP_FILTER_PAGE_SHIFT);
}

void bp_filter_add(uint64_t address)
{
	if (bp_filter_counts != NULL && *count_of(address) != COUNT_STUCK)
		__atomic_store_n(count_of(address), *count_of(address) + 1, __ATOMIC_RELEASE);
}

void bp_filter_remove(uint64_t address)
{
	if (bp_filter_counts != NULL && *count_of(address) != COUNT_STUCK)
		__atomic_store_n(count_of(address), *count_of(address) - 1, __ATOMIC_RELEASE);
}
