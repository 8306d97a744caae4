/* SPDX-License-Identifier: MIT */
/*
 * Buckets of linked entries that never change or go; an entry is filled before it is put into the
 * array by number, and stands there before it is put into its bucket. So whoever finds it, by text
 * or by number, finds it whole, also in a child that forked (behind our back) while somebody was
 * adding.
 */
#include "tables/text_table.h"

#include "base/attributes.h"
#include "tables/arena.h"

static struct bp_text *find(
	const struct bp_text_table *table, const char *text, size_t bytes, uint64_t hash)
{
	struct bp_text **buckets = __atomic_load_n(&table->buckets, __ATOMIC_ACQUIRE);
	if (buckets == NULL)
		return NULL;
	struct bp_text *entry = __atomic_load_n(&buckets[hash % BP_TEXT_BUCKETS], __ATOMIC_ACQUIRE);
	while (entry != NULL && (entry->hash != hash || entry->bytes != bytes ||
					__builtin_memcmp(entry->text, text, bytes) != 0))
		entry = entry->next;
	return entry;
}

/* Locked. */
static bool have_room(struct bp_text_table *table, size_t entry_bytes)
{
	if (table->count == table->texts_max || table->bytes + entry_bytes > table->bytes_max)
		return false;
	if (table->by_id == NULL)
		__atomic_store_n(&table->by_id,
			bp_arena_allocate((table->texts_max + 1) * sizeof *table->by_id),
			__ATOMIC_RELEASE);
	if (table->by_id != NULL && table->buckets == NULL)
		__atomic_store_n(&table->buckets,
			bp_arena_allocate(BP_TEXT_BUCKETS * sizeof *table->buckets),
			__ATOMIC_RELEASE);
	return table->by_id != NULL && table->buckets != NULL;
}

/* Locked. */
static struct bp_text *add(
	struct bp_text_table *table, const char *text, size_t bytes, uint64_t hash)
{
	const size_t entry_bytes = sizeof(struct bp_text) + bytes + 1;
	struct bp_text *entry =
		have_room(table, entry_bytes) ? bp_arena_allocate(entry_bytes) : NULL;
	if (entry == NULL)
		return NULL;
	struct bp_text **bucket = &table->buckets[hash % BP_TEXT_BUCKETS];
	table->bytes += entry_bytes;
	entry->hash = hash;
	entry->id = table->count + 1;
	entry->bytes = (uint32_t)bytes;
	__builtin_memcpy(entry->text, text, bytes);
	entry->next = *bucket;
	__atomic_store_n(&table->by_id[entry->id], entry, __ATOMIC_RELEASE);
	__atomic_store_n(&table->count, entry->id, __ATOMIC_RELEASE);
	__atomic_store_n(bucket, entry, __ATOMIC_RELEASE);
	return entry;
}

uint32_t bp_text_id(struct bp_text_table *table, const char *text, size_t bytes)
{
	const uint64_t hash = bp_checksum(text, bytes) ^ bytes;
	struct bp_text *entry = find(table, text, bytes, hash);
	if (bp_likely(entry != NULL))
		return entry->id;
	bp_lock_take(&table->lock);
	entry = find(table, text, bytes, hash);
	if (entry == NULL)
		entry = add(table, text, bytes, hash);
	bp_lock_release(&table->lock);
	return entry == NULL ? 0 : entry->id;
}

struct bp_text *bp_text_of(const struct bp_text_table *table, uint32_t id)
{
	struct bp_text *const *by_id = __atomic_load_n(&table->by_id, __ATOMIC_ACQUIRE);
	if (id == 0 || by_id == NULL || id > table->texts_max)
		return NULL;
	return __atomic_load_n(&by_id[id], __ATOMIC_ACQUIRE);
}

bool bp_text_write(struct bp_text_table *table, uint32_t id, struct bp_writer *writer)
{
	struct bp_text *entry = bp_text_of(table, id);
	const uint64_t number = id;
	if (entry == NULL)
		return false;
	if (bp_likely(__atomic_load_n(&entry->written, __ATOMIC_ACQUIRE) == table->generation))
		return true;
	/* Two threads may write it at a time: it may stand twice. */
	if (!bp_writer_plain(writer, table->tag, &number, 1, entry->text))
		return false;
	__atomic_store_n(&entry->written, table->generation, __ATOMIC_RELEASE);
	return true;
}

void bp_text_after_fork(struct bp_text_table *table)
{
	(void)bp_lock_reset(&table->lock);
	table->generation++;
}
