/* SPDX-License-Identifier: MIT */
/*
 * The target side of the trace (docs/trace-format.md). Records go into a shared mapping of the
 * file, so that they survive kill -9; only for a new page a system call is made. No descriptor is
 * held between calls. The writer uses no malloc and no stdio, and changes errno (callers save it).
 *
 * Several records can be written at a time: each of BP_LANES lanes has an open chunk and a lock of
 * its own, and a thread takes the first lane that is free. Any thread may call the functions, but
 * no signal handler that interrupted another call (the recorder's busy flag makes sure of that).
 *
 * When a call returns false its record is lost. Lost samples and frees are counted.
 *
 * While the file cannot grow (a full disk) records wait in memory, of which there is little. So the
 * process should not sample during that time: see bp_writer_outage_since.
 */
#ifndef BP_TRACE_WRITER_WRITER_H
#define BP_TRACE_WRITER_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "trace/format.h"

#define BP_LANES 64
/* More than lanes, so that open chunks of idle lanes never stop the file from growing. */
#define BP_MAPPINGS 128
#define BP_PATH_BYTES 4096

/* A piece of the file that is mapped: whole chunks. */
struct bp_mapping {
	uint8_t *memory; /* NULL: not in use */
	uint64_t first_chunk;
	uint32_t chunks;
	uint32_t users; /* open chunks in it; unmapped at 0 when no longer the newest */
};

/* One open chunk and the decoding state at its end (docs/trace-format.md section 3). */
struct bp_lane {
	struct bp_lock lock;
	/* NULL although there is a chunk: the chunk waits in memory */
	struct bp_mapping *mapping;
	struct bp_chunk_header *chunk; /* NULL: none open */
	uint32_t ready_bytes;	       /* of the chunk, present in memory and on disk */
	uint32_t thread;
	uint64_t time_ns, sequence, address, trials, objects;
} __attribute__((aligned(64))); /* several threads write to different lanes at a time */

/* Chunks of records that can wait in memory until the file can grow: some 200,000 frees. */
#define BP_HELD_CHUNKS 64u

/* An outage: the file cannot grow (writer_outage.c). All zeros: the file can grow. */
struct bp_outage {
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: it can grow. Cleared with all lanes locked */
	uint64_t next_try_ns;
	struct bp_lock lock; /* held by the thread that tries again */
	/* Guarded by grow_lock: BP_HELD_CHUNKS chunks, and behind them thread slots (pointers) of
	 * threads whose end stands in those chunks; NULL: none. */
	uint8_t *memory;
	uint32_t chunks, slots;
	struct bp_held {
		uint32_t samples, frees;
	} held[BP_HELD_CHUNKS];
	/* A chunk of the file that was handed out, but had no disk. NULL: none. */
	uint8_t *spare;
	struct bp_mapping *spare_mapping;
	uint64_t spare_number;
};

struct bp_writer {
	struct bp_lane lanes[BP_LANES];
	struct bp_lock grow_lock; /* guards all below */
	uint8_t *head;		  /* chunk 0, mapped for good; NULL: not open */
	struct bp_mapping mappings[BP_MAPPINGS];
	struct bp_mapping *newest;
	uint64_t chunks; /* handed out, chunk 0 included */
	uint64_t device, inode;
	uint32_t mapping_bytes; /* how far ahead to map */
	uint32_t slot_hint;
	uint32_t head_ready_bytes;	   /* of chunk 0, present in memory and on disk */
	struct bp_thread_slot *more_slots; /* newest chunk of thread slots beyond chunk 0 */
	uint32_t more_slots_used;
	bool preallocate;     /* no MADV_POPULATE_WRITE: reserve disk when opening */
	bool stopped;	      /* nothing can be written: there is no room in memory either */
	bool files_forbidden; /* by seccomp: the file cannot grow beyond what is mapped */
	struct bp_outage outage;
	char path[BP_PATH_BYTES];
};

/* Creates `path` (never overwrites; false with errno EEXIST if it exists) with the given header;
 * the checksum and header_bytes are filled in. `strings`: the four strings, lengths in the header.
 * The writer must be zeroed memory. On failure everything is undone. */
bool bp_writer_open(struct bp_writer *writer, const char *path, struct bp_trace_header *header,
	const char *strings);

/* The same in a folder that is open as `folder`: the file is created there under the last part of
 * `path`, even if the other parts of `path` lead to another folder by now. */
bool bp_writer_open_in(struct bp_writer *writer, int folder, const char *path,
	struct bp_trace_header *header, const char *strings);

/* The state page; valid while the writer is open. Fields may be changed atomically. */
static inline struct bp_trace_state *bp_writer_state(const struct bp_writer *writer)
{
	return (struct bp_trace_state *)(writer->head + BP_STATE_OFFSET);
}

/* Counts one loss. */
void bp_writer_lost(struct bp_writer *writer, enum bp_loss reason);

/* Takes a free thread slot, zeroed, with state 1; NULL when there is none. */
struct bp_thread_slot *bp_writer_take_slot(struct bp_writer *writer);

/* Gives a slot back, after the THREAD END of its thread was written: at once, or when that record
 * has reached the file. */
void bp_writer_give_slot(struct bp_writer *writer, struct bp_thread_slot *slot);

/* Returns since when the file cannot grow (an outage); 0: it can grow. During an outage records
 * wait in memory, of which there is little, so that sampling should be off. Samples and frees that
 * wait are counted as lost until they are in the file. */
static inline uint64_t bp_writer_outage_since(const struct bp_writer *writer)
{
	return __atomic_load_n(&writer->outage.since_ns, __ATOMIC_RELAXED);
}

/* In an outage: records in the state page that this thread samples nothing from these counters on.
 * (Its INTERVAL record waits in memory.) The state page has room for BP_OUTAGE_STOPS threads. */
void bp_writer_outage_stop(
	struct bp_writer *writer, uint32_t ordinal, uint64_t trials, uint64_t objects);

/* Tries again to make the file grow, unless that was tried less than a second before `now_ns`. If
 * the file can grow, writes the records that waited, and an OUTAGE record. UINT64_MAX: tries in any
 * case, at the end. */
void bp_writer_try_again(struct bp_writer *writer, uint64_t now_ns);

/* BP_VERIFY_IN_CHUNK zeroed sums of stacks (1.7) in a chunk of their own, which stays mapped; NULL
 * when the file cannot grow. Fields may be changed atomically, `state` last. */
struct bp_trace_verify_sums *bp_writer_take_verify_chunk(struct bp_writer *writer);

struct bp_record_sample {
	uint64_t sequence, time_ns, address, size, usable, offset, trials, objects;
	uint64_t interval_bytes;
	uint32_t law, thread, stack;
	uint8_t kind, alignment_log2; /* 0: no alignment was requested */
	bool exact, usable_known;
	/* 0: none. `told`: the object is a host's; `type` (0: not known) and `heap` hold. */
	bool told;
	uint32_t labels, type, heap;
	uint32_t processor; /* the number and 1; 0: not recorded */
};
bool bp_writer_sample(struct bp_writer *writer, const struct bp_record_sample *record);

struct bp_record_free {
	uint64_t sequence, time_ns, sample_sequence, trials, objects;
	uint32_t thread;
	uint32_t stack;	    /* of the freeing thread; 0: not recorded */
	uint32_t processor; /* the number and 1; 0: not recorded */
	bool by_realloc;
};
bool bp_writer_free(struct bp_writer *writer, const struct bp_record_free *record);

/* `pcs`: innermost first; bit i of `exact_mask` (a bitmap of depth bits) marks an exact pc. */
bool bp_writer_stack(struct bp_writer *writer, uint32_t id, uint32_t flags, uint64_t epoch,
	uint32_t depth, const uint64_t *pcs, const uint8_t *exact_mask);

struct bp_record_module {
	uint32_t id;
	uint64_t epoch, start, end, bias, file_bytes, file_mtime_ns;
	const void *build_id;
	size_t build_id_bytes;
	const char *path;
};
bool bp_writer_module(struct bp_writer *writer, const struct bp_record_module *record);

/* Writes a record of varints and, if `text` is not NULL, a string, of which at most 4000 bytes are
 * kept. */
bool bp_writer_plain(struct bp_writer *writer, enum bp_tag tag, const uint64_t *values,
	size_t count, const char *text);

/* Names of a host (3.8): the values, then each text with its length, of which BP_NAME_MAX_BYTES are
 * kept. At most two texts. */
struct bp_record_text {
	const char *data;
	size_t bytes;
};
bool bp_writer_names(struct bp_writer *writer, enum bp_tag tag, const uint64_t *values,
	size_t count, const struct bp_record_text *texts, size_t text_count);

/* `frames`: ids of FRAME records, innermost first; at most BP_NAMED_STACK_MAX_DEPTH. */
bool bp_writer_named_stack(struct bp_writer *writer, uint32_t id, uint32_t flags, uint32_t depth,
	const uint32_t *frames);

/* Frames of Python in a native stack (3.10), innermost first: ids of FRAME records, and numbers
 * of native frames, which do not fall; at most BP_NAMED_STACK_MAX_DEPTH. */
bool bp_writer_mixed_stack(struct bp_writer *writer, uint32_t id, uint32_t native, uint32_t flags,
	uint32_t depth, const uint32_t *frames, const uint32_t *positions);

/* Ends recording, when no thread is in a call: closes the open chunks, unmaps the file and cuts its
 * unused tail. Afterwards the writer is zeroed memory, and may be opened again. */
void bp_writer_close(struct bp_writer *writer);

/* Unmaps what is mapped ahead beyond the next few chunks. Called before the program locks its
 * memory or limits its address space. */
void bp_writer_trim(struct bp_writer *writer);

/* Called in a child that inherited the writer in the middle of a call, but none of its mappings:
 * puts empty memory in their places, so that the call can end. What the call writes is not used. */
void bp_writer_replace_mappings(struct bp_writer *writer);

/* Called around fork: takes all locks before it, and releases all in the parent. The child zeroes
 * the writer, because it has not inherited the mappings. */
void bp_writer_lock_all(struct bp_writer *writer);
void bp_writer_unlock_all(struct bp_writer *writer);

#endif
