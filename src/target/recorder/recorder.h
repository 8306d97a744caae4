/* SPDX-License-Identifier: MIT */
/*
 * The engine: the functions that the hooks call, and what the parts of the engine share.
 *
 * The functions for hooks are of two kinds. A *charged* call comes from a hook whose charge
 * borrowed: the object is counted already, and the sampler has to decide. A *known* call comes from
 * a hook that saw a header word of 64 KiB or more, or a page with a live sample: there is nothing
 * to charge or to decide, but the object may be a live sample. For the program all of them behave
 * exactly as the real functions: results, errno, failures. Thread-safe; safe in signal handlers as
 * far as malloc itself is.
 */
#ifndef BP_RECORDER_RECORDER_H
#define BP_RECORDER_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/seal.h"
#include "recognition/hot.h"
#include "trace/writer/writer.h"

/* For the hooks: allocation, charged. */
BP_COLD void *bp_cold_malloc(size_t size);
BP_COLD void *bp_cold_calloc(size_t count, size_t size); /* count * size does not overflow */
/* For an allocator that serves small requests itself and asks malloc or calloc for BP_ASIDE_BYTES:
 * the charge of a small object borrowed, and malloc shall give the object, so that `free` knows it.
 * Between the two calls the allocator is asked for BP_ASIDE_BYTES; the hook that it thus calls
 * takes them for a request of `size` bytes (at most BP_ASIDE_BYTES) of kind BP_KIND_PYTHON.
 * `object`: what the allocator gave. An object that was set aside keeps its kind in a realloc
 * between bp_aside_resize with the new size and bp_aside_resize(0). bp_aside_room: bytes of memory
 * that such an object of `size` bytes has. */
#define BP_ASIDE_BYTES 513u
BP_COLD void bp_aside_begin(size_t size);
BP_COLD void bp_aside_end(const void *object, size_t size);
static inline void bp_aside_resize(size_t size)
{
	bp_hot.aside = (uint16_t)size;
}
size_t bp_aside_room(size_t size);
BP_COLD void *bp_cold_realloc(void *object, size_t size); /* size > 0 */
BP_COLD void *bp_cold_memalign(size_t alignment, size_t size);
BP_COLD void *bp_cold_aligned_alloc(size_t alignment, size_t size);
BP_COLD int bp_cold_posix_memalign(void **ret_object, size_t alignment, size_t size);
BP_COLD void *bp_cold_valloc(size_t size);
BP_COLD void *bp_cold_pvalloc(size_t size);
/* For the hooks: known. `bp_known_realloc`: charged too, without a borrow. */
BP_COLD void bp_known_free(void *object);
BP_COLD void *bp_known_realloc(void *object, size_t size);
BP_COLD size_t bp_known_usable_size(void *object);

/* For the hooks of a foreign malloc, whose objects all stay in its heap. `bp_cold_object`: the
 * object exists already, and its charge borrowed. `bp_cold_uncharge`: undoes a charge, whether it
 * borrowed or not. `bp_known_end`: an object that may be a live sample is about to be freed by the
 * allocator. */
BP_COLD void bp_cold_object(void *object, size_t size, size_t alignment, enum bp_kind kind);
BP_COLD void bp_cold_uncharge(size_t size);
BP_COLD void bp_known_end(void *object);

/* The charge of an object borrowed, and no visit is possible: the object is counted, and not passed
 * to the sampler. */
BP_COLD void bp_cold_pass(size_t size);

/* For the hooks: events of the process's life. */
void bp_recorder_start(int argc, char **argv, char **environment);
void bp_recorder_end(enum bp_end_reason reason);
void bp_recorder_end_failed(void); /* an exec that returned */
void bp_recorder_exec(const char *path, enum bp_unseen unseen);
void bp_recorder_fork_prepare(void);
void bp_recorder_fork_parent(void);
void bp_recorder_fork_child(void);
void bp_recorder_forked(int32_t pid); /* in the parent, the child's pid */
void bp_recorder_unloaded(void);      /* after a dlclose */
void bp_recorder_before_limits(void); /* before mlockall and limits on the address space */

enum bp_mode {
	BP_MODE_NEW,	  /* nothing set up */
	BP_MODE_STARTING, /* by some thread, now */
	BP_MODE_ON,
	BP_MODE_OFF /* passes everything through */
};

/* Process-wide state. */
struct bp_recorder {
	uint32_t mode;	      /* enum bp_mode */
	uint32_t recognition; /* enum bp_recognition: how free knows a sampled object */
	/* the trace says that it ended; every allocation publishes the counters */
	bool ended;
	uint8_t perturb; /* glibc's M_PERTURB: what freed memory is filled with, 0: nothing */
	uint32_t seal;	 /* enum bp_seal: which system calls were given up (seal.h) */
	uint32_t law;
	uint64_t random_key;   /* of this process: with a thread's ordinal it seeds its generator */
	uint64_t sequence;     /* last number given */
	uint32_t last_ordinal; /* of threads */
	uint32_t forks;	       /* children so far */
	uint32_t pid;
	bool is_late;	     /* a running program opened the recorder (attach.c) */
	uint32_t attachment; /* how many came before this one: each has a trace of its own */
	uint32_t inside;     /* visits that are under way, if it is late */
	uint32_t mappings;   /* calls met that map memory, recorded or lost (mapping.h) */
	bool records_mappings;
	bool records_free_stacks; /* of sampled objects: where they were freed */
	bool records_processors;  /* and on which processors they were made and freed */
	uint32_t *fork_mark;	  /* 1; its page reads 0 in a child of a fork that no handler saw */
	uint8_t trace_id[16];
	struct bp_writer writer;
};

extern struct bp_recorder bp_recorder __attribute__((visibility("hidden")));

extern struct bp_attached bytepoll_attached;
/* A visit is about to begin, and has ended: a detaching thread waits for it. */
static inline void bp_recorder_enter(void)
{
	if (__builtin_expect(bp_recorder.is_late, 0))
		__atomic_add_fetch(&bp_recorder.inside, 1, __ATOMIC_SEQ_CST);
}
static inline void bp_recorder_leave(void)
{
	if (__builtin_expect(bp_recorder.is_late, 0))
		__atomic_sub_fetch(&bp_recorder.inside, 1, __ATOMIC_RELEASE);
}
/* At the start of a trace: are calls that map memory to be recorded, if they can be? Returns the
 * flag of the header that says so; 0: they are not. */
uint64_t bp_mapping_begin(bool wanted);
/* For attach.c. Begins a trace by those settings, as the start does. The mode becomes STARTING. */
enum bp_attach_result bp_recorder_begin_late(char **settings);
/* Ends the trace of a process that goes on: no thread is in a visit, and the mode is OFF. */
void bp_recorder_end_late(void);
/* For fork handlers: waits for an attaching thread, and keeps others out. */
void bp_attach_lock(void);
void bp_attach_unlock(void);
/* In a child that is not recorded: its parent may have been in the middle of attaching. */
void bp_attach_after_fork(void);
/* For the hooks: of so many loaded objects the calls are seen. */
void bp_recorder_covers(uint32_t objects, uint32_t covered);

/* For the parts of the engine. Starts the recorder if it has not started; true: it is on. */
bool bp_recorder_is_on(void);
/* Called in the child of a fork that no handler saw (raw clone, _Fork), which is found by the mark.
 * Its counters begin at zero, but for the trials of the object that is being charged (`charged`; 0:
 * there is none). */
void bp_recorder_unmarked_child(uint64_t charged);
/* Returns the next sequence number of the process. */
static inline uint64_t bp_recorder_next_sequence(void)
{
	return __atomic_add_fetch(&bp_recorder.sequence, 1, __ATOMIC_RELAXED);
}

#endif
