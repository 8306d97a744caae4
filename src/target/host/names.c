/* SPDX-License-Identifier: MIT */
/*
 * See names.h. A fixed array of chains: an entry is filled and its record written before it is put
 * at the head of its chain, by a store that readers of the chain see after all else; it never
 * changes and never goes. Who does not find a content takes the lock and looks again. [equal
 * contents have one number]
 */
#include "host/names.h"

#include "base/attributes.h"
#include "trace/format.h"

struct bp_host_name {
	struct bp_host_name *next;
	uint64_t hash;
	uint32_t id, bytes;
	uint8_t content[];
};

static const struct bp_host_name *find(
	const struct bp_host_name *name, uint64_t hash, const void *content, size_t bytes)
{
	while (name != NULL && (name->hash != hash || name->bytes != bytes ||
				       __builtin_memcmp(name->content, content, bytes) != 0))
		name = name->next;
	return name;
}

static struct bp_host_name **bucket_of(struct bp_host_names *names, uint64_t hash)
{
	struct bp_host_name **buckets = __atomic_load_n(&names->buckets, __ATOMIC_ACQUIRE);
	return buckets == NULL ? NULL : &buckets[hash % BP_HOST_BUCKETS];
}

/* Locked. Where the name of that number will stand; NULL: no room. */
static struct bp_host_name **place_of(
	struct bp_host_names *names, struct bp_host_memory *memory, uint32_t id)
{
	const uint32_t page = id / BP_HOST_NAMES_IN_PAGE;
	if (page >= BP_HOST_NAME_PAGES)
		return NULL;
	if (names->pages[page] == NULL)
		names->pages[page] = bp_host_allocate(
			memory, BP_HOST_NAMES_IN_PAGE * sizeof(struct bp_host_name *));
	return names->pages[page] == NULL ? NULL : &names->pages[page][id % BP_HOST_NAMES_IN_PAGE];
}

/* Locked. */
static const struct bp_host_name *add(struct bp_host_names *names, struct bp_host_memory *memory,
	uint64_t hash, const void *content, size_t bytes, bp_host_write_name *write, void *context)
{
	if (names->buckets == NULL) {
		struct bp_host_name **buckets =
			bp_host_allocate(memory, BP_HOST_BUCKETS * sizeof *buckets);
		if (buckets == NULL)
			return NULL;
		__atomic_store_n(&names->buckets, buckets, __ATOMIC_RELEASE);
	}
	struct bp_host_name **bucket = bucket_of(names, hash);
	const struct bp_host_name *known = find(*bucket, hash, content, bytes);
	if (known != NULL)
		return known;
	struct bp_host_name **place = place_of(names, memory, names->last_id + 1);
	struct bp_host_name *name =
		place == NULL ? NULL : bp_host_allocate(memory, sizeof *name + bytes + 1);
	/* Without its record a number means nothing; the memory is lost, which happens at the end
	 * of recording alone. */
	if (name == NULL || !write(context, names->last_id + 1, content, bytes))
		return NULL;
	name->next = *bucket;
	name->hash = hash;
	name->id = ++names->last_id;
	name->bytes = (uint32_t)bytes;
	__builtin_memcpy(name->content, content, bytes);
	__atomic_store_n(place, name, __ATOMIC_RELEASE);
	__atomic_store_n(bucket, name, __ATOMIC_RELEASE);
	return name;
}

uint32_t bp_host_names_id(struct bp_host_names *names, struct bp_host_memory *memory,
	const void *content, size_t bytes, bp_host_write_name *write, void *context)
{
	const uint64_t hash = bp_checksum(content, bytes) ^ bytes;
	struct bp_host_name **bucket = bucket_of(names, hash);
	const struct bp_host_name *name = NULL;
	if (bp_likely(bucket != NULL))
		name = find(__atomic_load_n(bucket, __ATOMIC_ACQUIRE), hash, content, bytes);
	if (bp_likely(name != NULL))
		return name->id;
	bp_lock_take(&names->lock);
	name = add(names, memory, hash, content, bytes, write, context);
	bp_lock_release(&names->lock);
	return name == NULL ? 0 : name->id;
}

const char *bp_host_names_content(const struct bp_host_names *names, uint32_t id)
{
	const uint32_t page = id / BP_HOST_NAMES_IN_PAGE;
	const struct bp_host_name *name = NULL;
	/* Who has the number has it from who wrote both. */
	if (page < BP_HOST_NAME_PAGES && names->pages[page] != NULL)
		name = __atomic_load_n(
			&names->pages[page][id % BP_HOST_NAMES_IN_PAGE], __ATOMIC_ACQUIRE);
	return name == NULL ? "" : (const char *)name->content;
}
