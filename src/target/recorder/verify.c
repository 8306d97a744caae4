/* SPDX-License-Identifier: MIT */
/*
 * Counting every object of the program, for `bytepoll run --verify`.
 *
 * A section is one thread's stay here, after the hook has done everything that it would do without
 * us: it holds the thread's busy flag and, as a visit does, puts a countdown nobody reaches in
 * place of the sampler's, so that a signal handler that allocates meanwhile is passed by (and
 * counted as `nested`); then it puts the sampler's back, untouched. Every section publishes the
 * thread's counters first, so that totals read from outside stay exact to the object.
 *
 * Made: the stack is captured and numbered as a sample's is, the object goes to the table of live
 * ones (verify_table.h), and its stack's sums and the totals of the process are raised. Freed: the
 * table says which sums. Sums and totals lie in the trace, a shared mapping, and are changed
 * there by atomic additions: so there is nothing to write at the end, and a kill loses nothing.
 *
 * The curve of live bytes moves with each event; its maximum is found by comparison after each
 * addition. Two threads that raise it at the same moment may leave the number of objects of either.
 *
 * What cannot be counted is said: `nested` as above, `uncounted` without memory or room in the
 * file, `missed_frees` of a signal handler that met a stripe of the table in use.
 *
 * Where no handler saw the fork (visit.h), counting begins with the child's first look, like
 * sampling: until then a section does not begin.
 */
#include "recorder/verify.h"

#include "base/lock.h"
#include "recorder/visit.h"
#include "tables/arena.h"
#include "tables/verify_table.h"
#include "unwind/stack_table.h"

/* Stack ids to sums: blocks of pointers, made as ids come up. */
#define BLOCK_ENTRIES 1024u
#define BLOCKS 4096u

static struct {
	struct bp_lock lock;		     /* guards what follows, but for reading `blocks` */
	struct bp_trace_verify_sums *places; /* of the newest chunk; NULL: none yet */
	uint32_t used;
	struct bp_trace_verify_sums **blocks[BLOCKS];
} stacks;

/* Live now; atomic. */
static uint64_t live_bytes, live_objects;
static uint32_t generation; /* forks between the first process and this one */

/* For captures of a thread that has no block: after its end, or before its first sample. */
static struct {
	struct bp_lock lock;
	struct bp_stack_capture capture;
} spare;

struct section {
	struct bp_hot *hot;
	uint64_t left;	  /* the sampler's countdown */
	uint64_t objects; /* the thread's objects at entry */
	uint32_t thread;  /* its ordinal; 0: it has none */
	int saved_errno;
};

static void add(uint64_t *sum, uint64_t more)
{
	__atomic_fetch_add(sum, more, __ATOMIC_RELAXED);
}

static struct bp_trace_verify_totals *totals(void)
{
	return &bp_writer_state(&bp_recorder.writer)->verify_sums;
}

static bool is_counting(void)
{
	return bp_recorder.mode == BP_MODE_ON && *bp_recorder.fork_mark != 0 &&
	       bp_recorder.writer.head != NULL;
}

static bool enter(struct section *section)
{
	struct bp_hot *hot = &bp_hot;
	if (hot->busy || !is_counting())
		return false;
	hot->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	section->hot = hot;
	section->saved_errno = errno;
	section->objects = hot->counters.objects;
	section->left =
		__atomic_exchange_n(&hot->counters.trials_left, BP_VISIT_LEFT, __ATOMIC_RELAXED);
	section->thread = hot->thread == NULL ? 0 : hot->thread->ordinal;
	if (hot->thread != NULL)
		bp_thread_publish(hot->thread, section->left);
	return true;
}

static void leave(struct section *section)
{
	struct bp_hot *hot = section->hot;
	uint64_t left =
		__atomic_exchange_n(&hot->counters.trials_left, section->left, __ATOMIC_RELAXED);
	if (bp_unlikely(left != BP_VISIT_LEFT)) {
		/* A signal handler allocated meanwhile. */
		bp_hot_add_unoffered(
			hot, BP_VISIT_LEFT - left, hot->counters.objects - section->objects);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	errno = section->saved_errno;
	hot->busy = 0;
}

/* ---- the sums of a stack ---- */

/* Where the pointer to a stack's sums is; NULL: no memory, or an id beyond all bounds. */
static struct bp_trace_verify_sums **pointer_to(uint32_t stack)
{
	if (stack / BLOCK_ENTRIES >= BLOCKS)
		return NULL;
	struct bp_trace_verify_sums ***block = &stacks.blocks[stack / BLOCK_ENTRIES];
	struct bp_trace_verify_sums **found = __atomic_load_n(block, __ATOMIC_ACQUIRE);
	if (found == NULL) {
		struct bp_trace_verify_sums **fresh =
			bp_arena_allocate(BLOCK_ENTRIES * sizeof *fresh);
		/* Two threads may come here at once: one block wins, the other is waste. */
		if (fresh != NULL && __atomic_compare_exchange_n(block, &found, fresh, false,
					     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			found = fresh;
	}
	return found == NULL ? NULL : &found[stack % BLOCK_ENTRIES];
}

/* Locked. The next free sums of the file. */
static struct bp_trace_verify_sums *next_place(void)
{
	if (stacks.places == NULL || stacks.used == BP_VERIFY_IN_CHUNK) {
		struct bp_trace_verify_sums *places =
			bp_writer_take_verify_chunk(&bp_recorder.writer);
		if (places == NULL)
			return NULL;
		stacks.places = places;
		stacks.used = 0;
	}
	return &stacks.places[stacks.used++];
}

static struct bp_trace_verify_sums *sums_of(uint32_t stack)
{
	struct bp_trace_verify_sums **pointer = pointer_to(stack);
	if (pointer == NULL)
		return NULL;
	struct bp_trace_verify_sums *sums = __atomic_load_n(pointer, __ATOMIC_ACQUIRE);
	if (bp_likely(sums != NULL))
		return sums;
	bp_lock_take(&stacks.lock);
	sums = *pointer;
	if (sums == NULL) {
		sums = next_place();
		if (sums != NULL) {
			sums->stack = stack;
			__atomic_store_n(&sums->state, 1, __ATOMIC_RELEASE);
			__atomic_store_n(pointer, sums, __ATOMIC_RELEASE);
		}
	}
	bp_lock_release(&stacks.lock);
	return sums;
}

static uint32_t stack_here(const struct section *section)
{
	struct bp_thread *thread = section->hot->thread;
	struct bp_stack_capture *capture = thread != NULL ? &thread->capture : &spare.capture;
	if (thread == NULL) {
		bp_lock_take(&spare.lock);
		spare.capture.range = (struct bp_stack_range){ 0 }; /* another thread's stack */
	}
	bp_stack_capture(capture);
	uint32_t stack = bp_stack_table_id(&bp_recorder.writer, capture);
	if (thread == NULL)
		bp_lock_release(&spare.lock);
	return stack;
}

/* ---- counting ---- */

static void raise_peak(struct bp_trace_verify_totals *total, uint64_t bytes)
{
	uint64_t peak = __atomic_load_n(&total->peak_bytes, __ATOMIC_RELAXED);
	while (bytes > peak)
		if (__atomic_compare_exchange_n(&total->peak_bytes, &peak, bytes, true,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			total->peak_objects = __atomic_load_n(&live_objects, __ATOMIC_RELAXED);
			total->peak_time_ns = bp_system_time_ns(CLOCK_MONOTONIC);
			return;
		}
}

static void note_smallest(struct bp_trace_verify_totals *total, uint64_t size)
{
	uint64_t smallest = __atomic_load_n(&total->smallest_size, __ATOMIC_RELAXED);
	while (smallest == 0 || size + 1 < smallest)
		if (__atomic_compare_exchange_n(&total->smallest_size, &smallest, size + 1, true,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
}

static void count_made(struct bp_trace_verify_sums *sums, uint64_t size)
{
	struct bp_trace_verify_totals *total = totals();
	add(&sums->allocated_bytes, size);
	add(&sums->allocated_objects, 1);
	add(&total->allocated_bytes, size);
	add(&total->allocated_objects, 1);
	note_smallest(total, size);
	add(&live_objects, 1);
	raise_peak(total, __atomic_add_fetch(&live_bytes, size, __ATOMIC_RELAXED));
}

static void count_freed(uint32_t stack, uint64_t size, bool temporary)
{
	struct bp_trace_verify_totals *total = totals();
	struct bp_trace_verify_sums **pointer = pointer_to(stack);
	struct bp_trace_verify_sums *sums =
		pointer == NULL ? NULL : __atomic_load_n(pointer, __ATOMIC_ACQUIRE);
	if (sums != NULL) {
		add(&sums->freed_bytes, size);
		add(&sums->freed_objects, 1);
		add(&sums->temporary_bytes, temporary ? size : 0);
		add(&sums->temporary_objects, temporary);
	}
	add(&total->freed_bytes, size);
	add(&total->freed_objects, 1);
	add(&live_objects, (uint64_t)-1);
	add(&live_bytes, -size);
}

/* Within a section: enters an object that was made into the table, and counts it. */
static void insert_object(const struct section *section, void *object, size_t size)
{
	struct bp_verify_entry replaced = { 0 };
	struct bp_trace_verify_sums *sums = NULL;
	struct bp_verify_entry entry = { .address = (uint64_t)object,
		.size = size,
		.thread = section->thread,
		.objects = section->objects };
	if (!__atomic_load_n(&bp_recorder.writer.stopped, __ATOMIC_RELAXED)) {
		entry.stack = stack_here(section);
		sums = sums_of(entry.stack);
	}
	if (sums == NULL || !bp_verify_table_insert(&entry, &replaced)) {
		add(&totals()->uncounted_bytes, size);
		add(&totals()->uncounted_objects, 1);
		return;
	}
	if (bp_unlikely(replaced.address != 0)) { /* its free was not seen */
		add(&totals()->missed_frees, 1);
		count_freed(replaced.stack, replaced.size, false);
	}
	count_made(sums, size);
}

/* Freed by its maker, which made nothing since? `objects`: the thread's counter at the free. */
static bool is_temporary(const struct bp_verify_entry *entry, uint32_t thread, uint64_t objects)
{
	return entry->thread != 0 && entry->thread == thread && entry->objects == objects;
}

/* Not in a section: a signal handler inside the recorder frees. False: nothing is known of it. */
static bool take_nested(void *object, struct bp_verify_entry *ret_entry)
{
	switch (bp_verify_table_try_remove(object, ret_entry)) {
	case BP_VERIFY_FOUND:
		return true;
	case BP_VERIFY_BUSY:
		add(&totals()->missed_frees, 1);
		return false;
	default:
		add(&totals()->unknown_frees, 1);
		return false;
	}
}

static void note_nested(size_t size)
{
	if (!is_counting())
		return;
	add(&totals()->nested_bytes, size);
	add(&totals()->nested_objects, 1);
}

/* ---- for the hooks ---- */

void bp_verify_made(void *object, size_t size)
{
	struct section section;
	if (object == NULL)
		return;
	if (!enter(&section)) {
		note_nested(size);
		return;
	}
	insert_object(&section, object, size);
	leave(&section);
}

void bp_verify_failed(size_t size)
{
	if (!is_counting())
		return;
	add(&totals()->failed_bytes, size);
	add(&totals()->failed_objects, 1);
}

struct bp_verify_old bp_verify_take(void *object)
{
	struct bp_verify_old old = { .object = object, .generation = generation };
	struct bp_verify_entry entry;
	struct section section;
	if (object == NULL)
		return old;
	if (enter(&section)) {
		old.counted = bp_verify_table_remove(object, &entry);
		if (old.counted)
			old.temporary = is_temporary(&entry, section.thread, section.objects);
		else
			add(&totals()->unknown_frees, 1);
		leave(&section);
	} else {
		old.counted = is_counting() && take_nested(object, &entry);
	}
	if (old.counted) {
		old.size = entry.size;
		old.objects = entry.objects;
		old.stack = entry.stack;
		old.thread = entry.thread;
	}
	return old;
}

/* Is what was taken still of this process? A signal handler may have forked since. */
static bool is_ours(const struct bp_verify_old *old)
{
	return old->counted && old->generation == generation && is_counting();
}

void bp_verify_freed(void *object)
{
	const struct bp_verify_old old = bp_verify_take(object);
	bp_verify_freed_by_realloc(&old);
}

void bp_verify_put_back(const struct bp_verify_old *old)
{
	struct bp_verify_entry replaced, entry = { .address = (uint64_t)old->object,
		.size = old->size,
		.stack = old->stack,
		.thread = old->thread,
		.objects = old->objects };
	struct section section;
	if (!is_ours(old))
		return;
	if (enter(&section)) {
		(void)bp_verify_table_insert(&entry, &replaced); /* there was room */
		leave(&section);
	} else {
		add(&totals()->missed_frees, 1); /* its free will not be known */
	}
}

void bp_verify_freed_by_realloc(const struct bp_verify_old *old)
{
	if (is_ours(old))
		count_freed(old->stack, old->size, old->temporary);
}

/* ---- for lifecycle.c ---- */

uint64_t bp_verify_flags(void)
{
	return BP_HEADER_VERIFY;
}

uint64_t bp_verify_bytes(void)
{
	return bp_verify_table_bytes();
}

void bp_verify_lock(void)
{
	bp_lock_take(&spare.lock);
	bp_lock_take(&stacks.lock);
	bp_verify_table_lock();
}

void bp_verify_unlock(void)
{
	bp_verify_table_unlock();
	bp_lock_release(&stacks.lock);
	bp_lock_release(&spare.lock);
}

void bp_verify_after_fork(void)
{
	(void)bp_lock_reset(&spare.lock);
	(void)bp_lock_reset(&stacks.lock);
	stacks.places = NULL;
	stacks.used = 0;
	for (uint32_t i = 0; i < BLOCKS; i++)
		if (stacks.blocks[i] != NULL)
			__builtin_memset(
				stacks.blocks[i], 0, BLOCK_ENTRIES * sizeof *stacks.blocks[i]);
	live_bytes = live_objects = 0;
	generation++;
	bp_verify_table_after_fork();
}
