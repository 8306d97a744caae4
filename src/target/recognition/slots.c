/* SPDX-License-Identifier: MIT */
/*
 * Slots for small sampled objects.
 *
 * A slot has the shape of a glibc chunk: with s its start and `stride` its size,
 *
 *   s + 0    8   (the last 8 bytes of the previous object may lie here, as in glibc)
 *   s + 8    8   size word: top bit, slab number << 16, index in the slab
 *   s + 16       the object; usable up to s + stride + 8
 *
 * so that a sampled object takes what glibc would have taken, and malloc_usable_size can answer
 * what glibc would have answered. An aligned object sits further into a larger slot, its size word
 * before it all the same.
 *
 * A slab is one mapping of slots of one stride. Slabs of a class are linked; each has its own list
 * of free slots and a mark up to which slots were ever used. A slab whose slots are all free gives
 * its pages back when more than EMPTY_KEEP_BYTES are kept that way. What is too large for a class
 * (an alignment of megabytes) gets a slab of one slot, unmapped when freed.
 *
 * Each class has a lock, and so has the directory of slabs. Finding a slot takes none, because slab
 * entries are published once and never move. Threads seldom wait for each other: while a class is
 * locked, an object gets a slot of the next larger class, and a slot that is given back goes to the
 * class's list of returned slots. The holder of the lock empties that list.
 *
 * Every list links slots through their books, by handles: the slab's number and the index in it.
 * Nothing that the program can write to decides where the recorder writes: a size word only says
 * which book to look at, and the book says whether an object of the program begins there.
 *
 * Damage is looked for where a slot is taken and given back (slot_marks.h): the marks of a freed
 * object, and the word behind an object: a mark, or the next slot's size word, written with it. */
#include "recognition/slots.h"

#include "base/attributes.h"
#include "base/lock.h"
#include "probes/test_points.h"
#include "recognition/damage.h"
#include "recognition/hot.h"
#include "recognition/slot_classes.h"
#include "recognition/slot_marks.h"
#include "tables/arena.h"

#define SLAB_BYTES_MIN 65536u
#define SLAB_SLOTS_MAX 4096u
#define SLABS_MAX BP_SLOT_SLABS_MAX
#define EMPTY_KEEP_BYTES (1u << 20)
/* How many classes are tried, the next larger ones, before a thread waits for one. */
#define CLASSES_TRIED 16u
/* The link of a slot that holds an object of the program; no handle has this value. */
#define IN_USE UINT32_MAX

struct slab {
	uint8_t *memory;
	struct bp_slot *slots;
	uint64_t bytes;
	uint32_t stride, count, used_mark, in_use;
	uint32_t first_free;	 /* a handle */
	uint32_t number, class;	 /* class NONE: a slab of one slot */
	struct slab *next;	 /* in its class */
	uint64_t resident_bytes; /* of its memory, since its pages were last given back */
	bool kept;		 /* empty, resident_bytes counted in pool.empty_bytes */
};

/* On a line of its own: threads write to several classes at a time. */
struct class
{
	struct bp_lock lock;
	uint32_t slabs;
	struct slab *first;   /* all slabs of the class */
	struct slab *current; /* where the last slot came from */
	/* handle of the first slot given back while somebody else held the lock */
	uint32_t returned;
} __attribute__((aligned(64)));

static struct {
	struct bp_lock lock;	 /* numbers and singles */
	struct slab **directory; /* SLABS_MAX entries, in the arena */
	uint32_t count;
	struct slab *free_singles; /* books of slabs of one slot, to use again */
	uint64_t mapped_bytes, empty_bytes;
	uint32_t deferred; /* handle of the first slot that a signal handler freed */
	struct class classes[CLASSES];
} pool;

bool bp_slot_fits(size_t size)
{
	return size < BP_HEADER_LARGE && chunk_bytes(size) < BP_HEADER_LARGE;
}

size_t bp_slot_usable(size_t size)
{
	return chunk_bytes(size) - 8;
}

/* pool.lock held. Is there a place for one more slab in the directory? */
static bool has_number(void)
{
	if (pool.directory == NULL)
		pool.directory = bp_arena_allocate(SLABS_MAX * sizeof *pool.directory);
	return pool.directory != NULL && pool.count < SLABS_MAX;
}

/* Enters a slab into the directory; false when that is full. */
static bool number_slab(struct slab *slab)
{
	bp_lock_take(&pool.lock);
	const bool numbered = has_number();
	if (numbered) {
		slab->number = pool.count;
		__atomic_store_n(&pool.directory[pool.count], slab, __ATOMIC_RELEASE);
		pool.count++;
	}
	bp_lock_release(&pool.lock);
	return numbered;
}

static uint8_t *map_slab(uint64_t bytes)
{
	uint8_t *memory = bp_system_memory(bytes);
	if (memory != NULL) {
		(void)bp_system_advise(memory, bytes, MADV_NOHUGEPAGE);
		__atomic_fetch_add(&pool.mapped_bytes, bytes, __ATOMIC_RELAXED);
	}
	return memory;
}

static void unmap_slab(uint8_t *memory, uint64_t bytes)
{
	bp_system_unmap(memory, bytes);
	__atomic_fetch_sub(&pool.mapped_bytes, bytes, __ATOMIC_RELAXED);
}

/* The book of a slab of `count` slots, in one piece of the arena, which takes nothing back: all of
 * it or none. */
static struct slab *make_book(uint32_t class, uint32_t stride, uint32_t count)
{
	struct slab *slab = bp_arena_allocate(sizeof *slab + count * sizeof *slab->slots);
	if (slab == NULL)
		return NULL;
	slab->slots = (struct bp_slot *)(slab + 1);
	slab->class = class;
	slab->stride = stride;
	slab->count = count;
	return slab;
}

/* A new slab of `count` slots; class NONE: its memory is mapped by the caller each time. The book
 * comes last, because it cannot be given back: trying again where memory is short costs none. */
static struct slab *make_slab(uint32_t class, uint32_t stride, uint32_t count)
{
	const uint64_t bytes = bp_system_whole_pages((size_t)stride * count + 16);
	uint8_t *memory = NULL;
	bp_lock_take(&pool.lock);
	const bool room = has_number();
	bp_lock_release(&pool.lock);
	if (!room)
		return NULL;
	if (class != NONE) {
		memory = map_slab(bytes);
		if (memory == NULL)
			return NULL;
	}
	struct slab *slab = make_book(class, stride, count);
	if (slab != NULL && class != NONE) {
		slab->memory = memory;
		slab->bytes = bytes;
	}
	if (slab != NULL && number_slab(slab))
		return slab;
	if (memory != NULL)
		unmap_slab(memory, bytes);
	return NULL;
}

/* The class is locked. Slabs double every eight, so that a large heap at T = 1 needs few. */
static struct slab *add_slab(struct class *class, uint32_t index)
{
	const uint32_t stride = class_stride(index);
	uint32_t shift = class->slabs / 8 > 6 ? 6 : class->slabs / 8;
	uint32_t count = (SLAB_BYTES_MIN << shift) / stride;
	count = count < 4 ? 4 : count > SLAB_SLOTS_MAX ? SLAB_SLOTS_MAX : count;
	struct slab *slab = make_slab(index, stride, count);
	if (slab == NULL)
		return NULL;
	slab->next = class->first;
	class->first = slab;
	class->slabs++;
	return slab;
}

static bool has_room(const struct slab *slab)
{
	return slab->first_free != 0 || slab->used_mark < slab->count;
}

/* The class is locked. A slab with a free slot: the current one, any other, a new one. */
static struct slab *slab_with_room(struct class *class, uint32_t index)
{
	if (class->current != NULL && has_room(class->current))
		return class->current;
	struct slab *slab = class->first;
	while (slab != NULL && !has_room(slab))
		slab = slab->next;
	return slab != NULL ? slab : add_slab(class, index);
}

/* The slab of a slot that was taken once. */
static struct slab *slab_of(const struct bp_slot *slot)
{
	return pool.directory[(slot->handle - 1) >> 16];
}

static struct bp_slot *slot_of(uint32_t handle)
{
	return &pool.directory[(handle - 1) >> 16]->slots[(handle - 1) & 0xffff];
}

static uint8_t *object_of(const struct bp_slot *slot)
{
	const struct slab *slab = slab_of(slot);
	return slab->memory + (size_t)(slot - slab->slots) * slab->stride + slot->offset;
}

/* The word behind an object, and what stands there: the size word of the next slot, or a mark. */
static uint64_t *behind(const struct bp_slot *slot, bool *ret_next, uint64_t *ret_value)
{
	const struct slab *slab = slab_of(slot);
	const size_t usable = bp_slot_usable(slot->size);
	uint64_t *word = (uint64_t *)(void *)(object_of(slot) + usable);
	*ret_next = slab->class != NONE && slot->offset + usable == (size_t)slab->stride + 8;
	*ret_value = *ret_next ? BP_SLOT_BIT | slot->handle : bp_mark_of(word, BP_MARK_BEHIND);
	return word;
}

/* A size word that is there already is not mended: whoever damaged it is to be found. */
static void mark_behind(const struct bp_slot *slot)
{
	bool next;
	uint64_t value, *word = behind(slot, &next, &value);
	if (!next || __atomic_load_n(word, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static void check_behind(const struct bp_slot *slot)
{
	bool next;
	uint64_t value;
	if (__atomic_load_n(behind(slot, &next, &value), __ATOMIC_RELAXED) != value)
		bp_damage_note(BP_DAMAGE_OVERFLOW);
}

/* A slot is about to be used again. Was its object written to since it was freed? The pages of a
 * slab may have been given back when it was empty (`emptied`), and are zeros then. */
static void check_freed(const struct bp_slot *slot, bool emptied)
{
	const uint64_t *object = (const uint64_t *)(const void *)object_of(slot);
	if (!bp_mark_is_freed(object) && !(emptied && *object == 0))
		bp_damage_note(BP_DAMAGE_WRITE_FREED);
}

/* The class (or, for a single, nobody else) is locked. Takes one slot's index. */
static uint32_t take_index(struct slab *slab)
{
	const bool emptied = slab->first_free == 0;
	const uint32_t index = emptied ? slab->used_mark++ : (slab->first_free - 1) & 0xffff;
	const struct bp_slot *slot = &slab->slots[index];
	if (!emptied)
		slab->first_free = slot->link;
	if (slot->handle != 0)
		check_freed(slot, emptied);
	slab->in_use++;
	if (slab->kept) {
		__atomic_fetch_sub(&pool.empty_bytes, slab->resident_bytes, __ATOMIC_RELAXED);
		slab->kept = false;
	}
	return index;
}

static void *fill(
	struct slab *slab, uint32_t index, size_t size, size_t alignment, struct bp_slot **ret_slot)
{
	uint8_t *start = slab->memory + (size_t)index * slab->stride;
	uintptr_t object = (uintptr_t)start + 16;
	if (alignment > 16)
		object = (object + alignment - 1) & ~(alignment - 1);
	struct bp_slot *slot = &slab->slots[index];
	slot->size = (uint32_t)size;
	slot->offset = (uint32_t)(object - (uintptr_t)start);
	slot->handle = (slab->number << 16 | index) + 1;
	__atomic_store_n(&slot->link, IN_USE, __ATOMIC_RELAXED);
	((uint64_t *)object)[-1] = BP_SLOT_BIT | (slot->handle - 1);
	/* What the slot before looks for, where this object begins further in. */
	if (slab->class != NONE)
		((uint64_t *)(void *)start)[1] = BP_SLOT_BIT | (slot->handle - 1);
	mark_behind(slot);
	*ret_slot = slot;
	bp_probe_slots_in_use(1);
	return (void *)object;
}

/* A mapping of its own, for what no class holds. Its book is used again, its memory is not. */
static void *take_single(size_t size, size_t alignment, size_t stride, struct bp_slot **ret_slot)
{
	bp_lock_take(&pool.lock);
	struct slab *slab = pool.free_singles;
	if (slab != NULL)
		pool.free_singles = slab->next;
	bp_lock_release(&pool.lock);
	if (slab == NULL)
		slab = make_slab(NONE, 0, 1);
	if (slab == NULL)
		return NULL;
	slab->bytes = bp_system_whole_pages(stride + 16);
	slab->memory = map_slab(slab->bytes);
	if (slab->memory != NULL)
		return fill(slab, 0, size, alignment, ret_slot);
	bp_lock_take(&pool.lock);
	slab->next = pool.free_singles;
	pool.free_singles = slab;
	bp_lock_release(&pool.lock);
	return NULL;
}

static void unlock_class(struct class *class);

/* Locks the class `index`, or one of the next larger if somebody has it; which. */
static uint32_t lock_class(uint32_t index)
{
	for (uint32_t i = index; i < CLASSES && i < index + CLASSES_TRIED; i++)
		if (bp_lock_try(&pool.classes[i].lock))
			return i;
	bp_lock_take(&pool.classes[index].lock);
	return index;
}

void *bp_slot_take(size_t size, size_t alignment, struct bp_slot **ret_slot)
{
	size_t stride = chunk_bytes(size);
	if (alignment > 16) {
		if (alignment > (size_t)1 << 31)
			return NULL;
		stride += alignment;
	}
	uint32_t index = class_of(stride);
	if (index == NONE)
		return take_single(size, alignment, stride, ret_slot);
	index = lock_class(index);
	struct class *class = &pool.classes[index];
	void *object = NULL;
	struct slab *slab = slab_with_room(class, index);
	if (slab != NULL) {
		class->current = slab;
		object = fill(slab, take_index(slab), size, alignment, ret_slot);
	}
	unlock_class(class);
	return object;
}

static bool is_in_use(const struct bp_slot *slot)
{
	return __atomic_load_n(&slot->link, __ATOMIC_RELAXED) == IN_USE;
}

/* The slot whose last object began exactly at `object`; NULL if there is none. */
static struct bp_slot *slot_at(const void *object)
{
	const uint64_t word = bp_header_word(object);
	const uint64_t number = (word & ~BP_SLOT_BIT) >> 16;
	const uint32_t index = (uint32_t)word & 0xffff;
	if (pool.directory == NULL || number >= SLABS_MAX)
		return NULL;
	const struct slab *slab = __atomic_load_n(&pool.directory[number], __ATOMIC_ACQUIRE);
	if (slab == NULL || index >= slab->count || slab->slots[index].handle == 0)
		return NULL;
	struct bp_slot *slot = &slab->slots[index];
	return object_of(slot) == object ? slot : NULL;
}

struct bp_slot *bp_slot_find(const void *object)
{
	struct bp_slot *slot = slot_at(object);
	return slot != NULL && is_in_use(slot) ? slot : NULL;
}

bool bp_slot_is_freed(const void *object)
{
	const struct bp_slot *slot = slot_at(object);
	return slot != NULL && !is_in_use(slot);
}

/* Bytes from the object to the end of what its slot may hold. */
static size_t room(const struct slab *slab, const struct bp_slot *slot)
{
	size_t stride = slab->class == NONE ? slab->bytes - 16 : slab->stride;
	return stride + 8 - slot->offset;
}

bool bp_slot_holds(const struct bp_slot *slot, size_t size)
{
	if (!bp_slot_fits(size))
		return false;
	size_t have = room(slab_of(slot), slot), need = bp_slot_usable(size);
	return need <= have && (have <= 256 || need >= have / 2);
}

void bp_slot_resize(struct bp_slot *slot, size_t size)
{
	check_behind(slot);
	slot->size = (uint32_t)size;
	mark_behind(slot);
}

/* The class is locked. An empty slab starts over; its pages go when enough are kept already. */
static void empty_slab(struct slab *slab)
{
	/* Only what was touched counts: of most slabs that is a page or two. */
	const uint64_t used = bp_system_whole_pages((size_t)slab->used_mark * slab->stride + 16);
	if (slab->resident_bytes < used)
		slab->resident_bytes = used < slab->bytes ? used : slab->bytes;
	slab->first_free = 0;
	slab->used_mark = 0;
	slab->kept = __atomic_add_fetch(&pool.empty_bytes, slab->resident_bytes,
			     __ATOMIC_RELAXED) <= EMPTY_KEEP_BYTES;
	if (slab->kept)
		return;
	__atomic_fetch_sub(&pool.empty_bytes, slab->resident_bytes, __ATOMIC_RELAXED);
	slab->resident_bytes = 0;
	(void)bp_system_advise(slab->memory, slab->bytes, MADV_DONTNEED);
}

/* The class is locked. */
static void give_back(struct bp_slot *slot)
{
	struct slab *slab = slab_of(slot);
	slot->link = slab->first_free;
	slab->first_free = slot->handle;
	if (--slab->in_use == 0)
		empty_slab(slab);
}

/* Ends the program's use of a slot; false if it has ended before. */
static bool end_use(struct bp_slot *slot)
{
	uint32_t expected = IN_USE;
	return __atomic_compare_exchange_n(
		&slot->link, &expected, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void push(uint32_t *list, struct bp_slot *slot)
{
	uint32_t head = __atomic_load_n(list, __ATOMIC_RELAXED);
	do
		slot->link = head;
	while (!__atomic_compare_exchange_n(
		list, &head, slot->handle, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

/* Lists are taken whole, so that a popped head can never be one that came back meanwhile. */
static uint32_t take_list(uint32_t *list)
{
	if (bp_likely(__atomic_load_n(list, __ATOMIC_RELAXED) == 0))
		return 0;
	return __atomic_exchange_n(list, 0, __ATOMIC_ACQUIRE);
}

/* Lets a class go, and sees to it that nothing given back meanwhile stays on its list. */
static void unlock_class(struct class *class)
{
	do {
		uint32_t handle = take_list(&class->returned);
		while (handle != 0) {
			struct bp_slot *slot = slot_of(handle);
			handle = slot->link;
			give_back(slot);
		}
		bp_lock_release(&class->lock);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} while (__atomic_load_n(&class->returned, __ATOMIC_RELAXED) != 0 &&
		 bp_lock_try(&class->lock));
}

static void release_single(struct slab *slab)
{
	unmap_slab(slab->memory, slab->bytes);
	slab->memory = NULL;
	bp_lock_take(&pool.lock);
	slab->next = pool.free_singles;
	pool.free_singles = slab;
	bp_lock_release(&pool.lock);
}

bool bp_slot_release(struct bp_slot *slot)
{
	if (!end_use(slot))
		return false;
	struct slab *slab = slab_of(slot);
	bp_probe_slots_in_use(-1);
	slot->sequence = 0;
	check_behind(slot);
	if (slab->class == NONE) {
		release_single(slab);
		return true;
	}
	bp_mark_freed((uint64_t *)(void *)object_of(slot));
	struct class *class = &pool.classes[slab->class];
	if (bp_lock_try(&class->lock)) {
		give_back(slot);
		unlock_class(class);
		return true;
	}
	push(&class->returned, slot);
	/* Whoever had the lock may have looked already. */
	if (bp_lock_try(&class->lock))
		unlock_class(class);
	return true;
}

bool bp_slot_defer(struct bp_slot *slot)
{
	if (!end_use(slot))
		return false;
	push(&pool.deferred, slot);
	return true;
}

struct bp_slot *bp_slot_next_deferred(void **ret_object)
{
	const uint32_t first = take_list(&pool.deferred);
	if (bp_likely(first == 0))
		return NULL;
	struct bp_slot *slot = slot_of(first);
	uint32_t rest = slot->link;
	while (rest != 0) {
		struct bp_slot *other = slot_of(rest);
		rest = other->link;
		push(&pool.deferred, other);
	}
	__atomic_store_n(&slot->link, IN_USE, __ATOMIC_RELAXED);
	*ret_object = object_of(slot);
	return slot;
}

uint64_t bp_slot_bytes(void)
{
	return __atomic_load_n(&pool.mapped_bytes, __ATOMIC_RELAXED);
}

uint32_t bp_slot_slabs(void)
{
	return __atomic_load_n(&pool.count, __ATOMIC_RELAXED);
}

static uint64_t spare_bytes(const struct slab *slab)
{
	const uint64_t stride = slab->stride;
	uint64_t used = __atomic_load_n(&slab->used_mark, __ATOMIC_RELAXED) * stride;
	const uint64_t held = __atomic_load_n(&slab->in_use, __ATOMIC_RELAXED) * stride;
	const uint64_t kept = __atomic_load_n(&slab->resident_bytes, __ATOMIC_RELAXED);
	used = (used + 16 + 4095) & ~(uint64_t)4095;
	used = used < kept ? kept : used;
	return used > held ? used - held : 0;
}

uint64_t bp_slot_spare_bytes(void)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < bp_slot_slabs(); i++) {
		const struct slab *slab = __atomic_load_n(&pool.directory[i], __ATOMIC_ACQUIRE);
		if (slab != NULL && slab->class != NONE)
			bytes += spare_bytes(slab);
	}
	return bytes;
}

void bp_slot_lock_all(void)
{
	for (uint32_t i = 0; i < CLASSES; i++)
		bp_lock_take(&pool.classes[i].lock);
	bp_lock_take(&pool.lock);
}

void bp_slot_unlock_all(void)
{
	bp_lock_release(&pool.lock);
	for (uint32_t i = 0; i < CLASSES; i++)
		unlock_class(&pool.classes[i]);
}

void bp_slot_after_fork(void)
{
	for (uint32_t i = 0; i < CLASSES; i++) {
		struct class *class = &pool.classes[i];
		if (bp_lock_reset(&class->lock)) {
			/* Half changed by a thread that is not here: start with no slabs. Objects
			 * in the old ones are still found, and freed into lists nobody reads. */
			class->first = class->current = NULL;
		}
	}
	if (bp_lock_reset(&pool.lock))
		pool.free_singles = NULL;
}
