/* SPDX-License-Identifier: MIT */
/*
 * The streaming reader of a trace: a pull iterator over one file, record by record, with every
 * delta resolved. Called by import/ and by tools that follow docs/trace-format.md (section numbers
 * below are its).
 *
 * The file may still be written, may be cut off anywhere and may be hostile. So it is never mapped:
 * one chunk at a time is read into memory; everything is checked against the bytes that are there;
 * what does not fit is counted as damage and left out. Memory is two chunks, the header, some
 * 100 bytes per thread and, where the recorder verified, 64 bytes per stack.
 *
 * Life: bp_trace_reader_open; bp_trace_reader_next until it says BP_TRACE_END; then
 * bp_trace_reader_totals; bp_trace_reader_close (safe on zeroed memory, and after a failed open).
 * Thread-safety: a reader belongs to its caller.
 */
#ifndef BP_TRACE_READER_H
#define BP_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/index.h"
#include "trace/format.h"

/* Bytes inside the reader's memory: not terminated, any content, valid as long as stated. */
struct bp_trace_text {
	const char *data;
	uint32_t bytes;
};

struct bp_trace_sample {
	uint64_t sequence, time_ns, address;
	uint64_t size, usable;	  /* bytes; usable: 0 not given */
	uint64_t offset;	  /* trials of this object before the successful one; 0 if exact */
	uint64_t trials, objects; /* of the thread, this object included */
	uint64_t interval;	  /* T it was drawn with, bytes */
	uint32_t law;		  /* enum bp_law it was drawn under */
	uint32_t thread;	  /* ordinal, 0 not known */
	uint32_t stack;		  /* id, 0 not known */
	uint8_t flags;		  /* enum bp_sample_flag */
	uint8_t kind;		  /* enum bp_kind */
	uint8_t alignment_log2;	  /* 0 not given */
	bool exact;		  /* taken with certainty */
};

struct bp_trace_free {
	uint64_t sequence, time_ns;
	uint64_t sample_sequence; /* of the object freed */
	uint64_t trials, objects; /* of the freeing thread, at the free */
	uint32_t thread;	  /* ordinal, 0 not known */
	uint32_t stack;		  /* of the free, 0 not given */
	uint8_t flags;		  /* enum bp_free_flag */
};

struct bp_trace_frame {
	uint64_t pc;
	bool exact; /* the pc itself; false: a return address, look up pc - 1 */
};

struct bp_trace_stack {
	const struct bp_trace_frame *frames; /* innermost first; valid until the next record */
	uint64_t flags;			     /* enum bp_stack_flag */
	uint32_t id, epoch, depth;
};

struct bp_trace_module {
	uint32_t id, epoch;
	uint64_t start, end, bias, file_bytes, file_mtime_ns; /* 0 in MODULE GONE */
	struct bp_trace_text build_id, path;		      /* valid until the next record */
};

/* THREAD BEGIN (trials and what follows are 0) and THREAD END. */
struct bp_trace_thread_event {
	uint32_t ordinal, tid;
	uint64_t time_ns, trials, objects, unoffered_trials, unoffered_objects;
	struct bp_trace_text name; /* valid until the next record */
};

struct bp_trace_exec {
	uint64_t time_ns, sequence;
	uint32_t pid, unseen;	   /* unseen: enum bp_unseen */
	struct bp_trace_text path; /* valid until the next record */
};

struct bp_trace_fork {
	uint64_t time_ns, sequence;
	uint32_t child_pid;
};

struct bp_trace_record {
	enum bp_tag tag;
	union {
		struct bp_trace_sample sample;	     /* BP_TAG_SAMPLE */
		struct bp_trace_free free;	     /* BP_TAG_FREE */
		struct bp_trace_stack stack;	     /* BP_TAG_STACK */
		struct bp_trace_module module;	     /* BP_TAG_MODULE, BP_TAG_MODULE_GONE */
		struct bp_trace_thread_event thread; /* BP_TAG_THREAD_BEGIN, BP_TAG_THREAD_END */
		struct bp_trace_exec exec;	     /* BP_TAG_EXEC */
		struct bp_trace_fork fork;	     /* BP_TAG_FORK */
	};
};

/* What is known of one thread, from its slot, its end and its samples (1.6). */
struct bp_trace_thread {
	uint64_t ordinal; /* 64 bits wide for base/index.h */
	uint32_t tid;	  /* 0: only its samples are known */
	bool ended;	  /* has a THREAD END: low == high */
	bool published;	  /* has a slot or an end; false: the upper limits are not known */
	uint64_t trials_low, trials_high, objects_low, objects_high;
	uint64_t bytes_low, bytes_high;
	uint64_t unoffered_trials, unoffered_objects;
};

struct bp_trace_totals {
	bool exact; /* the process ended in order: low == high */
	uint64_t trials_low, trials_high, objects_low, objects_high;
	uint64_t bytes_low, bytes_high;
	uint64_t unoffered_trials, unoffered_objects;
};

/* Decoding state within a chunk (section 3); private to trace/. */
struct bp_trace_decoder {
	struct bp_bytes payload; /* what is left of the chunk */
	uint64_t time_ns, sequence, address, trials, objects, interval;
	uint32_t thread, law;
	struct bp_trace_frame *frames; /* of the last STACK */
	uint32_t frame_capacity;
};

struct bp_trace_reader {
	/* For the caller to read. */
	struct bp_trace_header header;
	struct bp_trace_text program, command_line, allocator, recorder_version;
	struct bp_trace_state state;	/* as it was at opening */
	uint64_t chunks;		/* chunks looked at so far, chunk 0 included */
	uint64_t damaged_chunks;	/* of these: not read, or not to their end */
	uint64_t samples, frees;	/* records delivered so far */
	uint64_t skipped_records;	/* of a tag not known here that may be skipped */
	uint64_t interval_max;		/* largest T in force seen so far, bytes */
	uint64_t time_last_ns;		/* latest time seen so far */
	uint64_t torn_slots;		/* slots in the middle of a change when it died */
	struct bp_trace_census *census; /* (1.7) in file order; complete at BP_TRACE_END */
	uint32_t census_count;
	struct bp_trace_thread *threads; /* in the order they were met; complete at BP_TRACE_END */
	uint32_t thread_count;

	/* Private. */
	bool is_open;
	int fd;
	uint64_t file_bytes, next_chunk;
	uint8_t *memory; /* one block: header, payload, second payload */
	struct bp_trace_decoder decoder;
	bool chunk_counted; /* this chunk's damage is counted already */
	struct bp_index thread_index;
	uint32_t thread_capacity, thread_last;
	uint64_t *slot_chunks; /* offsets of the thread slots of every chunk that has some */
	uint32_t slot_chunk_count, slot_chunk_capacity, census_capacity;
};

enum bp_trace_next { BP_TRACE_ERROR, BP_TRACE_END, BP_TRACE_RECORD };

/* Opens a trace and reads header and state. Errors name the path: missing, unreadable, a directory,
 * empty, torn before its header, foreign, of another version, with fatal flags, header damaged. */
bool bp_trace_reader_open(struct bp_trace_reader *reader, const char *path, struct bp_error *error);

/* The next record in file order; `ret_record` means something with BP_TRACE_RECORD only. An error
 * is of the file as a whole (a fatal unknown record, the disk, no memory); damage is only counted.
 */
enum bp_trace_next bp_trace_reader_next(
	struct bp_trace_reader *reader, struct bp_trace_record *ret_record, struct bp_error *error);

/* What is known of the totals of the process (1.6). Call it after BP_TRACE_END. */
struct bp_trace_totals bp_trace_reader_totals(const struct bp_trace_reader *reader);

void bp_trace_reader_close(struct bp_trace_reader *reader);

/* Do the first bytes of a file look like a trace (a torn one and one of zeros included)? Pure. */
bool bp_trace_sniff(const uint8_t *head, size_t bytes);

#endif
