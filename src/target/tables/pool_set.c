/* SPDX-License-Identifier: MIT */
/*
 * Two hash tables of chains, of live samples by their address and of pools by theirs; entries stand
 * in blocks that never move and are named by numbers, 0 being none. Everything is under one lock
 * but for the heads of the chains of samples: an empty chain is "no" to whoever asks without it,
 * which is what nearly every free of a pool asks. (Who frees an object learnt of it from who made
 * it, after it was entered.)
 *
 * A pool has an entry as long as it has a live sample or a name: programs may have millions of
 * pools that nothing is sampled in.
 */
#include "tables/pool_set.h"

#include "base/attributes.h"
#include "base/lock.h"
#include "tables/arena.h"

#define BUCKETS 65536u
#define BLOCK_ENTRIES 1024u

struct sample {
	uint64_t address, sequence;
	uint32_t next;			 /* in its bucket; or of the free ones */
	uint32_t pool;			 /* number */
	uint32_t pool_next, pool_before; /* samples of the same pool */
};

struct pool {
	uint64_t address;
	uint32_t next;	/* in its bucket; or of the free ones */
	uint32_t first; /* of its samples */
	uint32_t type;
	bool named;
};

/* Entries of one kind: the n-th is in block n / BLOCK_ENTRIES. Number 0 is no entry. */
struct entries {
	void *blocks[BP_POOL_SAMPLES_MAX / BLOCK_ENTRIES + 1];
	uint32_t made, free;
};

static struct {
	struct bp_lock lock;
	uint32_t *sample_heads, *pool_heads; /* BUCKETS of each */
	struct entries samples, pools;
} set;

static uint32_t bucket_of(uint64_t address)
{
	return (uint32_t)(address * 0x9E3779B97F4A7C15u >> 48) % BUCKETS;
}

static struct sample *sample_at(uint32_t number)
{
	return (struct sample *)set.samples.blocks[number / BLOCK_ENTRIES] + number % BLOCK_ENTRIES;
}

static struct pool *pool_at(uint32_t number)
{
	return (struct pool *)set.pools.blocks[number / BLOCK_ENTRIES] + number % BLOCK_ENTRIES;
}

/* The number of a new entry; 0: no room. */
static uint32_t make_entry(struct entries *entries, size_t bytes, uint32_t most)
{
	const uint32_t number = entries->made + 1;
	void **block = &entries->blocks[number / BLOCK_ENTRIES];
	if (number > most)
		return 0;
	if (*block == NULL)
		*block = bp_arena_allocate(BLOCK_ENTRIES * bytes);
	if (*block == NULL)
		return 0;
	entries->made = number;
	return number;
}

static bool have_heads(void)
{
	const size_t bytes = BUCKETS * sizeof(uint32_t);
	if (set.pool_heads == NULL)
		__atomic_store_n(&set.pool_heads, bp_arena_allocate(bytes), __ATOMIC_RELEASE);
	if (set.pool_heads != NULL && set.sample_heads == NULL)
		__atomic_store_n(&set.sample_heads, bp_arena_allocate(bytes), __ATOMIC_RELEASE);
	return set.sample_heads != NULL;
}

/* ---- pools ---- */

static uint32_t find_pool(uint64_t address)
{
	uint32_t number = set.pool_heads == NULL ? 0 : set.pool_heads[bucket_of(address)];
	while (number != 0 && pool_at(number)->address != address)
		number = pool_at(number)->next;
	return number;
}

static uint32_t find_or_make_pool(uint64_t address)
{
	uint32_t number = find_pool(address);
	if (number != 0 || !have_heads())
		return number;
	number = set.pools.free;
	if (number != 0)
		set.pools.free = pool_at(number)->next;
	else
		number = make_entry(&set.pools, sizeof(struct pool), BP_POOLS_MAX);
	if (number == 0)
		return 0;
	uint32_t *head = &set.pool_heads[bucket_of(address)];
	*pool_at(number) = (struct pool){ .address = address, .next = *head };
	__atomic_store_n(head, number, __ATOMIC_RELEASE);
	return number;
}

/* A pool without a sample and without a name is forgotten. */
static void forget_if_empty(uint32_t number)
{
	struct pool *pool = pool_at(number);
	if (pool->first != 0 || pool->named)
		return;
	uint32_t *link = &set.pool_heads[bucket_of(pool->address)];
	while (*link != number)
		link = &pool_at(*link)->next;
	__atomic_store_n(link, pool->next, __ATOMIC_RELAXED);
	pool->next = set.pools.free;
	set.pools.free = number;
}

static void join_pool(uint32_t sample, uint32_t pool)
{
	struct sample *joining = sample_at(sample);
	joining->pool = pool;
	joining->pool_before = 0;
	joining->pool_next = pool_at(pool)->first;
	if (joining->pool_next != 0)
		sample_at(joining->pool_next)->pool_before = sample;
	pool_at(pool)->first = sample;
}

static void leave_pool(uint32_t number)
{
	const struct sample *sample = sample_at(number);
	if (sample->pool_before != 0)
		sample_at(sample->pool_before)->pool_next = sample->pool_next;
	else
		pool_at(sample->pool)->first = sample->pool_next;
	if (sample->pool_next != 0)
		sample_at(sample->pool_next)->pool_before = sample->pool_before;
}

/* ---- samples ---- */

static bool is_chain_there(uint32_t *const *of, uint64_t address)
{
	const uint32_t *heads = __atomic_load_n(of, __ATOMIC_ACQUIRE);
	return heads != NULL && __atomic_load_n(&heads[bucket_of(address)], __ATOMIC_RELAXED) != 0;
}

bool bp_pool_set_may_hold(const void *object)
{
	return is_chain_there(&set.sample_heads, (uint64_t)object);
}

bool bp_pool_set_may_have(const void *pool)
{
	return is_chain_there(&set.pool_heads, (uint64_t)pool);
}

static uint32_t find_sample(uint64_t address)
{
	uint32_t number = set.sample_heads == NULL ? 0 : set.sample_heads[bucket_of(address)];
	while (number != 0 && sample_at(number)->address != address)
		number = sample_at(number)->next;
	return number;
}

static void remove_sample(uint32_t number)
{
	struct sample *sample = sample_at(number);
	uint32_t *head = &set.sample_heads[bucket_of(sample->address)];
	const uint32_t pool = sample->pool;
	if (*head == number) {
		__atomic_store_n(head, sample->next, __ATOMIC_RELAXED);
	} else {
		struct sample *before = sample_at(*head);
		while (before->next != number)
			before = sample_at(before->next);
		before->next = sample->next;
	}
	leave_pool(number);
	sample->next = set.samples.free;
	set.samples.free = number;
	forget_if_empty(pool);
}

static uint64_t remove_address(uint64_t address)
{
	const uint32_t number = find_sample(address);
	if (number == 0)
		return 0;
	const uint64_t sequence = sample_at(number)->sequence;
	remove_sample(number);
	return sequence;
}

static uint32_t new_sample(void)
{
	const uint32_t number = set.samples.free;
	if (number == 0)
		return make_entry(&set.samples, sizeof(struct sample), BP_POOL_SAMPLES_MAX);
	set.samples.free = sample_at(number)->next;
	return number;
}

bool bp_pool_set_insert(const void *pool, const void *object, uint64_t sequence, uint32_t *ret_type,
	uint64_t *ret_replaced)
{
	bp_lock_take(&set.lock);
	*ret_replaced = remove_address((uint64_t)object);
	const uint32_t home = find_or_make_pool((uint64_t)pool);
	const uint32_t number = home == 0 ? 0 : new_sample();
	if (number != 0) {
		uint32_t *head = &set.sample_heads[bucket_of((uint64_t)object)];
		*sample_at(number) = (struct sample){
			.address = (uint64_t)object, .sequence = sequence, .next = *head
		};
		join_pool(number, home);
		__atomic_store_n(head, number, __ATOMIC_RELEASE);
		*ret_type = pool_at(home)->type;
	} else if (home != 0) {
		forget_if_empty(home);
	}
	bp_lock_release(&set.lock);
	return number != 0;
}

uint64_t bp_pool_set_remove(const void *object)
{
	bp_lock_take(&set.lock);
	const uint64_t sequence = remove_address((uint64_t)object);
	bp_lock_release(&set.lock);
	return sequence;
}

uint32_t bp_pool_set_take(const void *pool, const void *keep, uint64_t keep_bytes, bool take_name,
	struct bp_pool_sample *ret_samples, uint32_t room)
{
	uint32_t count = 0;
	bp_lock_take(&set.lock);
	const uint32_t home = find_pool((uint64_t)pool);
	uint32_t number = home == 0 ? 0 : pool_at(home)->first;
	if (home != 0 && take_name) {
		pool_at(home)->named = false;
		pool_at(home)->type = 0;
		forget_if_empty(home);
	}
	while (number != 0 && count < room) {
		const struct sample *sample = sample_at(number);
		const uint32_t next = sample->pool_next;
		if (sample->address - (uint64_t)keep >= keep_bytes) {
			ret_samples[count++] =
				(struct bp_pool_sample){ sample->address, sample->sequence };
			remove_sample(number);
		}
		number = next;
	}
	bp_lock_release(&set.lock);
	return count;
}

bool bp_pool_set_name(const void *pool, uint32_t type)
{
	bp_lock_take(&set.lock);
	const uint32_t home = find_or_make_pool((uint64_t)pool);
	if (home != 0) {
		pool_at(home)->named = true;
		pool_at(home)->type = type;
	}
	bp_lock_release(&set.lock);
	return home != 0;
}

void bp_pool_set_move(const void *from, const void *to)
{
	bp_lock_take(&set.lock);
	const uint32_t old = find_pool((uint64_t)from);
	const uint32_t new = old == 0 || from == to ? 0 : find_or_make_pool((uint64_t)to);
	if (new != 0) {
		struct pool *source = pool_at(old);
		if (source->named) {
			pool_at(new)->named = true;
			pool_at(new)->type = source->type;
		}
		for (uint32_t number = source->first; number != 0;) {
			const uint32_t next = sample_at(number)->pool_next;
			leave_pool(number);
			join_pool(number, new);
			number = next;
		}
		source->named = false;
		forget_if_empty(old);
	}
	bp_lock_release(&set.lock);
}

void bp_pool_set_lock(void)
{
	bp_lock_take(&set.lock);
}

void bp_pool_set_unlock(void)
{
	bp_lock_release(&set.lock);
}

void bp_pool_set_after_fork(void)
{
	if (!bp_lock_reset(&set.lock))
		return;
	/* Half changed: forget it. Frees of what was in it go unrecorded in the child. */
	__atomic_store_n(&set.sample_heads, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&set.pool_heads, NULL, __ATOMIC_RELAXED);
	set.samples.made = set.samples.free = 0;
	set.pools.made = set.pools.free = 0;
}
