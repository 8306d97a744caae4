/* SPDX-License-Identifier: MIT */
/*
 * The streaming reader of a trace: a pull iterator over one file, record by record, with every
 * delta resolved. Called by import/ and by tools that follow docs/trace-format.md (section numbers
 * below are its).
 *
 * The file may still be written, may be cut off anywhere and may be hostile. So it is never mapped:
 * one chunk at a time is read into memory; everything is checked against the bytes that are there;
 * what does not fit is counted as damage and left out. Memory is two chunks, the header, some 150
 * bytes per thread, 80 per change of its interval and, where the recorder verified, 64 per stack.
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
#include "base/place.h"
#include "trace/folded.h"
#include "trace/format.h"

/* Bytes inside the reader's memory: not terminated, any content, valid as long as stated. */
struct bp_trace_text {
	const char *data;
	uint32_t bytes;
};

/* (What a sample and a free begin with is the same, so that it can be read of either.) */
struct bp_trace_sample {
	uint64_t sequence, time_ns;
	uint64_t trials, objects; /* of the thread, this object included */
	uint32_t thread;	  /* ordinal, 0 not known */
	uint32_t stack;		  /* id, 0 not known */
	uint64_t address;
	uint64_t size, usable;	/* bytes; usable: 0 not given */
	uint64_t offset;	/* trials of this object before the successful one; 0 if exact */
	uint64_t interval;	/* T it was drawn with, bytes */
	uint32_t law;		/* enum bp_law it was drawn under */
	uint32_t labels;	/* id, 0 none */
	uint32_t type, heap;	/* type: id, 0 not known; both 0 if not told */
	uint32_t processor;	/* that its thread was on, and 1; 0 not given */
	uint8_t flags;		/* enum bp_sample_flag */
	uint8_t kind;		/* enum bp_kind */
	uint8_t alignment_log2; /* 0 not given */
	bool exact;		/* taken with certainty */
};

/* Begins as a sample does, so that what is common to both is read of either. */
struct bp_trace_free {
	uint64_t sequence, time_ns;
	uint64_t trials, objects; /* of the freeing thread, at the free */
	uint32_t thread;	  /* ordinal, 0 not known */
	uint32_t stack;		  /* of the free, 0 not given */
	uint64_t sample_sequence; /* of the object freed */
	uint32_t processor;	  /* that the freeing thread was on, and 1; 0 not given */
	uint8_t flags;		  /* enum bp_free_flag */
};
_Static_assert(offsetof(struct bp_trace_free, stack) == offsetof(struct bp_trace_sample, stack),
	"what is common to both");

struct bp_trace_frame {
	uint64_t pc;
	bool exact; /* the pc itself; false: a return address, look up pc - 1 */
};

struct bp_trace_stack {
	const struct bp_trace_frame *frames; /* innermost first; valid until the next record */
	uint64_t flags;			     /* enum bp_stack_flag */
	uint32_t id, epoch, depth;
	/* NAMED STACK and MIXED STACK: a pc is the id of a FRAME, and the epoch 0. Of a MIXED STACK
	 * the upper half of a pc is the position in the native stack. */
	bool named;
	uint32_t native; /* MIXED STACK: id of the native one; otherwise 0 */
};

/* INTERPRETER (3.10). */
struct bp_trace_interpreter {
	uint32_t version;	  /* PY_VERSION_HEX */
	uint64_t address;	  /* in its module */
	uint32_t frames, objects; /* enum bp_python_state, or what is not known here */
	uint64_t small_bytes;
	struct bp_trace_text name; /* valid until the next record */
};

/* TYPE, FRAME, LABELS (3.8). Texts are valid until the next record. */
struct bp_trace_name {
	uint32_t id;
	uint32_t line;		   /* of a frame; 0 not known */
	struct bp_trace_text text; /* a type's name, a frame's function, the labels */
	struct bp_trace_text file; /* of a frame; "" not known */
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

/* INTERVAL: the thread follows another command. */
struct bp_trace_interval {
	uint64_t time_ns, sequence;
	uint64_t trials, objects; /* of the thread: what it makes beyond them is sampled at ... */
	uint64_t interval;	  /* T, bytes; 0: not at all */
	uint64_t command;	  /* number of the control word */
	uint32_t thread;	  /* ordinal */
	enum bp_counters_bound bound; /* what the counters say of the thread at time_ns */
};

/* OUTAGE: the file could not grow, so that sampling was off for any thread that came to the
 * recorder. */
struct bp_trace_outage {
	uint64_t from_ns, to_ns; /* not before from_ns; UINT64_MAX: it went on at the end */
};

/* MAPPING: memory that the program mapped, unmapped or protected itself. */
struct bp_trace_mapping {
	uint64_t time_ns, before, sequence; /* the numbers of its begin and of its end */
	uint64_t address, bytes, old_address, old_bytes;
	uint32_t thread, protection, flags, stack;
	enum bp_mapping_what what;
};

struct bp_trace_record {
	enum bp_tag tag;
	union {
		struct bp_trace_sample sample;	     /* BP_TAG_SAMPLE */
		struct bp_trace_free free;	     /* BP_TAG_FREE */
		struct bp_trace_stack stack;	     /* BP_TAG_STACK, _NAMED_STACK, _MIXED_STACK */
		struct bp_trace_name name;	     /* BP_TAG_TYPE, BP_TAG_FRAME, BP_TAG_LABELS */
		struct bp_trace_module module;	     /* BP_TAG_MODULE, BP_TAG_MODULE_GONE */
		struct bp_trace_thread_event thread; /* BP_TAG_THREAD_BEGIN, BP_TAG_THREAD_END */
		struct bp_trace_exec exec;	     /* BP_TAG_EXEC */
		struct bp_trace_fork fork;	     /* BP_TAG_FORK */
		struct bp_trace_interval interval;   /* BP_TAG_INTERVAL */
		struct bp_trace_outage outage;	     /* BP_TAG_OUTAGE */
		struct bp_trace_mapping mapping;     /* BP_TAG_MAPPING */
		struct bp_trace_interpreter interpreter; /* BP_TAG_INTERPRETER */
		struct bp_trace_folded folded;		 /* BP_TAG_FOLDED, and never _TOLD */
		struct bp_trace_readings readings;	 /* BP_TAG_READINGS */
		struct bp_trace_ticks ticks;		 /* BP_TAG_TICKS; in part.clock already */
		struct bp_trace_ranges ranges;		 /* BP_TAG_HELD; in part.held already */
	};
};

/* Limits of a number: equal where it is known exactly. */
struct bp_trace_limits {
	uint64_t low, high;
};

/* What is known of one thread, from its slot, its end and its samples (1.6). */
struct bp_trace_thread {
	uint64_t ordinal; /* 64 bits wide for base/index.h */
	uint32_t tid;	  /* 0: only its samples are known */
	bool ended;	  /* has a THREAD END, and nothing says that it went on: low == high */
	bool published;	  /* has a slot or an end; false: the upper limits are not known */
	uint64_t trials_low, trials_high, objects_low, objects_high;
	uint64_t bytes_low, bytes_high;
	/* The largest that a record of it says: what it made beyond may be of an outage (3.9). */
	uint64_t bytes_recorded, objects_recorded;
	uint64_t unoffered_trials, unoffered_objects;
	uint64_t end_time_ns; /* of its END; 0: it has none */
	/* Private: the END with most trials, and the largest counters of a slot. */
	struct bp_trace_thread_event end;
	uint64_t slot_trials, slot_objects;
	/* The bytes and objects above in two parts: allocated while sampling was on, and off (3.7).
	 * Complete, and none before, at BP_TRACE_END. */
	struct bp_trace_limits on_bytes, on_objects, off_bytes, off_objects;
};

/* A change of a thread's interval, and what of its life before was not sampled. */
struct bp_trace_switch {
	struct bp_trace_interval change;
	uint64_t bytes, objects;	 /* made by the thread until then */
	uint64_t off_bytes, off_objects; /* of which while sampling was off */
};

struct bp_trace_totals {
	/* the process ended in order and every thread's last counters are known: low == high */
	bool exact;
	uint64_t trials_low, trials_high, objects_low, objects_high;
	uint64_t bytes_low, bytes_high;
	uint64_t unoffered_trials, unoffered_objects;
	/* The bytes and objects above in two parts: allocated while sampling was on, and off. */
	struct bp_trace_limits on_bytes, on_objects, off_bytes, off_objects;
};

/* Decoding state within a chunk (section 3); private to trace/. */
struct bp_trace_decoder {
	struct bp_bytes payload; /* what is left of the chunk */
	uint64_t time_ns, sequence, address, trials, objects, interval;
	uint64_t clock_offset_ns; /* is taken from every time */
	uint32_t thread, law;
	struct bp_trace_frame *frames; /* of the last STACK */
	uint32_t frame_capacity;
};

/* The folded part of the trace (section 5), where there is one. Its records come first, as if they
 * stood in the trace itself; `clock` is complete before any that needs it. */
struct bp_trace_part {
	struct bp_trace_clock clock;
	bool is_open;
	/* Private. */
	bool unlocked;	/* somebody else holds the lock: read without it, and checked at the end */
	bool was_there; /* then: was there a file of that name, and which */
	uint64_t device, inode;
	int folder; /* what `path` is relative to */
	char *path; /* of the folded part, owned; NULL: locked */
	int fd;
	uint64_t file_bytes, chunks_reserved;
	struct bp_trace_held held;
};

struct bp_trace_reader {
	/* For the caller to read. */
	struct bp_trace_header header;
	struct bp_trace_text program, command_line, allocator, recorder_version;
	struct bp_trace_state state; /* as it was at opening */
	uint64_t chunks;	     /* chunks looked at so far, chunk 0 included */
	uint64_t damaged_chunks;     /* of these: not read, or not to their end */
	bool has_hole; /* a chunk of zeros was met, as folding leaves them (section 5) */
	bool is_cut;   /* the file ends before what was written to it; known at BP_TRACE_END */
	uint64_t samples, frees;  /* records delivered so far */
	uint64_t skipped_records; /* of a tag not known here that may be skipped */
	/* Smallest and largest T in force seen so far, bytes; 0: sampling was never on. */
	uint64_t interval_min, interval_max;
	uint64_t time_last_ns; /* latest time seen so far */
	uint64_t torn_slots;   /* slots in the middle of a change when it died */
	/* (1.7) in file order; complete at BP_TRACE_END */
	struct bp_trace_verify_sums *verify_sums;
	uint32_t verify_sums_count;
	struct bp_trace_thread *threads; /* in the order they were met; complete at BP_TRACE_END */
	uint32_t thread_count;
	struct bp_trace_part part;
	/* What INTERVAL records said, at BP_TRACE_END by thread and in the order of its life. */
	struct bp_trace_switch *switches;
	uint32_t switch_count;
	/* OUTAGE records in file order, and at BP_TRACE_END the one that went on then. */
	struct bp_trace_outage *outages;
	uint32_t outage_count;

	/* Private. */
	bool is_open;
	bool in_part; /* the chunks read now are those of the folded part */
	int fd;
	uint64_t file_bytes, next_chunk;
	uint64_t bytes_at_state; /* of the file, after its state was read */
	uint8_t *memory;	 /* one block: header, payload, second payload */
	struct bp_trace_decoder decoder;
	bool chunk_counted; /* this chunk's damage is counted already */
	struct bp_index thread_index;
	uint32_t thread_capacity, thread_last;
	uint64_t *slot_chunks; /* offsets of the thread slots of every chunk that has some */
	uint32_t slot_chunk_count, slot_chunk_capacity, verify_capacity, switch_capacity,
		outage_capacity;
};

enum bp_trace_next { BP_TRACE_ERROR, BP_TRACE_END, BP_TRACE_RECORD };

/* Opens a trace and reads header and state. Errors name the path: missing, unreadable, a directory,
 * empty, torn before the end of its header or its state page, foreign, of another version, with
 * fatal flags, header damaged. */
bool bp_trace_reader_open(struct bp_trace_reader *reader, const char *path, struct bp_error *error);
/* The same for a file in a folder that is open. */
bool bp_trace_reader_open_place(
	struct bp_trace_reader *reader, const struct bp_place *place, struct bp_error *error);
/* The same for a trace that is open at `fd`, with its folded part open at `part_fd` (-1: it has
 * none). Nobody else writes to them. `name`: for messages. The descriptors are taken over, on
 * failure too. */
bool bp_trace_reader_open_files(struct bp_trace_reader *reader, int fd, int part_fd,
	const char *name, struct bp_error *error);

/* From now on every time, in header, state and records, is by the machine's clock, the
 * CLOCK_MONOTONIC outside of every time namespace; before, by that of the process. Call it before
 * the first record. */
void bp_trace_reader_use_machine_clock(struct bp_trace_reader *reader);

/* The next record in file order; `ret_record` means something with BP_TRACE_RECORD only. An error
 * is of the file as a whole (a fatal unknown record, the disk, no memory); damage is only counted.
 */
enum bp_trace_next bp_trace_reader_next(
	struct bp_trace_reader *reader, struct bp_trace_record *ret_record, struct bp_error *error);

/* Of the records that bp_trace_reader_next would give, as many as are samples and frees and stand
 * one behind the other, at most `most`, in far less time; perhaps none, and then it is to be asked.
 * False: no memory. */
bool bp_trace_reader_numbers(struct bp_trace_reader *reader, struct bp_trace_record *ret_records,
	uint32_t most, uint32_t *ret_count, struct bp_error *error);

/* Is all of it there that was written, as far as the file tells: not cut, no chunk damaged, no
 * sample missing? After BP_TRACE_END. */
bool bp_trace_reader_is_whole(const struct bp_trace_reader *reader);

/* What is known of the totals of the process (1.6): without upper limits, UINT64_MAX, where it did
 * not end in order and is not whole. Call it after BP_TRACE_END. */
struct bp_trace_totals bp_trace_reader_totals(const struct bp_trace_reader *reader);

/* How many of the first `bytes` bytes (`objects` objects) of thread `ordinal` were allocated while
 * sampling was off for it (3.7). Call them after BP_TRACE_END. */
uint64_t bp_trace_reader_off_bytes(
	const struct bp_trace_reader *reader, uint32_t ordinal, uint64_t bytes);
uint64_t bp_trace_reader_off_objects(
	const struct bp_trace_reader *reader, uint32_t ordinal, uint64_t objects);

/* The number in `switches` of the first change of thread `ordinal`; where it has none, of any
 * change of a later thread. After BP_TRACE_END. */
uint32_t bp_trace_reader_first_switch(const struct bp_trace_reader *reader, uint32_t ordinal);

void bp_trace_reader_close(struct bp_trace_reader *reader);

/* Do the first bytes of a file look like a trace (a torn one and one of zeros included)? Pure. */
bool bp_trace_sniff(const uint8_t *head, size_t bytes);

#endif
