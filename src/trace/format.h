/* SPDX-License-Identifier: MIT */
/*
 * The trace format and every other name that both halves of bytepoll know: the writer inside the
 * target and the readers outside meet only here. docs/trace-format.md is the specification; the
 * section numbers below are its. All fields are little endian.
 */
#ifndef BP_TRACE_FORMAT_H
#define BP_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Environment variables (the command line of `bytepoll run`, for a bare LD_PRELOAD). */
#define BP_ENV_OUTPUT "BYTEPOLL_OUTPUT"	    /* path of FILE (%p: the pid); others go to FILE.d */
#define BP_ENV_INTERVAL "BYTEPOLL_INTERVAL" /* T, as 512K, 2M, 4096 */
#define BP_ENV_SEED "BYTEPOLL_SEED"	    /* unsigned 64-bit number */
#define BP_ENV_LAW "BYTEPOLL_LAW"	    /* exact or bernoulli */
#define BP_ENV_FOLLOW_PID "BYTEPOLL_FOLLOW_PID" /* profile only this pid (--no-follow-fork) */
#define BP_ENV_BUDGET "BYTEPOLL_BUDGET"		/* of CPU for --interval auto: parts per million */
#define BP_ENV_START "BYTEPOLL_START" /* dormant: sampling is off until it is switched on */
/* Sampling begins, ends, at that time: CLOCK_MONOTONIC ns; or after `+` ns from the start of the
 * process image. */
#define BP_ENV_START_TIME "BYTEPOLL_START_TIME"
#define BP_ENV_STOP_TIME "BYTEPOLL_STOP_TIME"
/* What tracepoints tell beside their own: otel, or none (docs/tracepoints.md). */
#define BP_ENV_TRACEPOINTS "BYTEPOLL_TRACEPOINTS"
#define BP_ENV_IN_PLACE "BYTEPOLL_IN_PLACE" /* 1: samples stay where glibc put them */
#define BP_ENV_PYTHON "BYTEPOLL_PYTHON"	    /* of CPython: all (default), frames, off */
#define BP_ENV_MAPPED "BYTEPOLL_MAPPED"	    /* calls that map memory: on, off (default) */
#define BP_ENV_FREE_STACKS \
	"BYTEPOLL_FREE_STACKS" /* stacks, processors of frees: on, off (default) */
#define BP_ENV_HOST_OUTPUT "BYTEPOLL_HOST_OUTPUT" /* of hosts (bytepoll/host.h), as above */
/* What a recorder that a running program opened (`bytepoll attach`) shows from outside: the object
 * bytepoll_attached. Fields are stored one by one; `calls` last. */
struct bp_attached {
	uint32_t ready;	 /* 1: the recorder's constructor has run */
	uint32_t calls;	 /* of bytepoll_attach and bytepoll_detach that have returned */
	uint32_t result; /* enum bp_attach_result of the last one */
	int32_t error;	 /* errno of it; 0: none */
};

enum bp_attach_result {
	BP_ATTACH_DONE = 0,
	BP_ATTACH_NOT_LATE = 1,	 /* the recorder was preloaded, and need not be attached */
	BP_ATTACH_ALREADY = 2,	 /* the process is recorded, or (detach) is not */
	BP_ATTACH_SETTINGS = 3,	 /* the settings could not be read */
	BP_ATTACH_MALLOC = 4,	 /* a malloc that cannot be hooked */
	BP_ATTACH_TRACE = 5,	 /* the trace could not be created */
	BP_ATTACH_NOT_QUIET = 6, /* a thread has not come out of the recorder: call again */
};
#define BP_SETTINGS_MAX_BYTES 8192u /* of the file that bytepoll_attach reads: lines NAME=VALUE */
#define BP_RECORDER_FILE "libbytepoll-recorder.so"
#define BP_RECORDER_VERIFY_FILE "libbytepoll-recorder-verify.so" /* `run --verify` */

/* Longest a thread goes without publishing its counters, in trials. */
#define BP_LOOK_MAX ((uint64_t)1 << 20)

#define BP_INTERVAL_DEFAULT (512u << 10)
#define BP_INTERVAL_MAX ((uint64_t)1 << 40)
/* Where an automatic interval begins, and the finest that it takes by itself. */
#define BP_INTERVAL_FINEST (16u << 10)
#define BP_BUDGET_DEFAULT_PPM 5000u
#define BP_BUDGET_MAX_PPM 1000000u

/* 1. The file. */
#define BP_TRACE_MAGIC "BYTEPOLL"
#define BP_TRACE_MAJOR 1
#define BP_TRACE_MINOR 13
#define BP_CHUNK_BYTES 65536u
#define BP_STATE_OFFSET 4096u
#define BP_SLOTS_OFFSET 8192u

enum bp_law { BP_LAW_EXACT = 0, BP_LAW_BERNOULLI = 1 };

enum bp_recognition {
	BP_RECOGNITION_NONE = 0,
	BP_RECOGNITION_HEADER = 1,
	BP_RECOGNITION_REGION = 2,
	BP_RECOGNITION_TABLE = 3,
	BP_RECOGNITION_HOST = 4 /* a host sampled its own objects (bytepoll/host.h) */
};

/* 1.2 */
enum bp_unprofiled {
	BP_PROFILED = 0,
	BP_UNPROFILED_FOREIGN_MALLOC = 1,
	BP_UNPROFILED_HOOKS = 2,
	BP_UNPROFILED_OTHER_TOOL = 3,
	BP_UNPROFILED_OTHER_LIBC = 4
};

/* 1.1 Offsets and sizes are asserted below. */
struct bp_trace_header {
	char magic[8];
	uint16_t version_major, version_minor;
	uint32_t header_bytes;
	uint64_t flags_fatal, flags_skippable;
	uint64_t checksum; /* of the bytes from chunk_bytes on, header_bytes - 40 of them */
	uint32_t chunk_bytes, page_bytes;
	uint8_t trace_id[16], parent_trace_id[16];
	uint64_t parent_sequence;
	uint32_t exec_number, pid, parent_pid, machine;
	uint64_t pid_namespace;
	uint64_t start_monotonic_ns, start_real_ns;
	uint64_t interval_bytes;
	uint32_t law, charge_bytes;
	uint64_t seed;
	uint32_t seed_given, recognition, unprofiled_reason;
	uint16_t program_length, command_line_length, allocator_length, recorder_version_length;
	uint8_t reserved[4];
	uint64_t clock_offset_ns; /* CLOCK_MONOTONIC was ahead of the machine's by so much */
	uint8_t reserved_too[8];
	/* the four strings follow */
};

/* A time of a process by the machine's clock. */
static inline uint64_t bp_trace_machine_ns(const struct bp_trace_header *header, uint64_t time_ns)
{
	return time_ns - header->clock_offset_ns;
}

/* flags_skippable */
#define BP_HEADER_VERIFY ((uint64_t)1)	      /* every object is counted, see 1.7 */
#define BP_HEADER_DORMANT ((uint64_t)2)	      /* sampling was off at the start, see 1.8 */
#define BP_HEADER_AUTO ((uint64_t)4)	      /* T was chosen by itself at the start, see 1.8 */
#define BP_HEADER_FOLDED ((uint64_t)8)	      /* the folded part of another trace, see 5 */
#define BP_HEADER_STEERED ((uint64_t)16)      /* began as somebody had steered it to, see 1.8 */
#define BP_HEADER_FREES_UNSEEN ((uint64_t)32) /* no free is ever recorded */
#define BP_HEADER_OBJECTS_UNCOUNTED ((uint64_t)64) /* counters of objects are all 0 */
#define BP_HEADER_FINE_START \
	((uint64_t)128) /* T becomes the default by what was allocated, see 1.8 */
#define BP_HEADER_HOST_FOLLOWS ((uint64_t)256) /* of a host that follows the control word, 1.8 */
#define BP_HEADER_ATTACHED ((uint64_t)512)     /* of a process that ran before, see 1.9 */
#define BP_HEADER_MAPPED ((uint64_t)1024)      /* calls that map memory are recorded, see 3.11 */
#define BP_HEADER_FREE_STACKS ((uint64_t)2048) /* stacks and processors of frees, see 3.2 */
/* From this bit on: variables whose values were not understood, bit enum bp_variable of each. */
#define BP_HEADER_MISREAD_SHIFT 32u

/* Variables of the environment that have a form of their own (names below), 1.1. */
enum bp_variable {
	BP_VARIABLE_INTERVAL,
	BP_VARIABLE_BUDGET,
	BP_VARIABLE_START,
	BP_VARIABLE_START_TIME,
	BP_VARIABLE_STOP_TIME,
	BP_VARIABLE_SEED,
	BP_VARIABLE_LAW,
	BP_VARIABLE_FOLLOW_PID,
	BP_VARIABLE_TRACEPOINTS,
	BP_VARIABLE_PYTHON,
	BP_VARIABLE_MAPPED,
	BP_VARIABLE_FREE_STACKS,
	BP_VARIABLE_COUNT
};

#define BP_HEADER_CHECKED_FROM 40u
#define BP_HEADER_MAX_BYTES 4096u

/* 1.4 */
enum bp_loss {
	BP_LOSS_TRACE_FULL,
	BP_LOSS_TRACE_REOPEN,
	BP_LOSS_SLOT_MEMORY,
	BP_LOSS_LARGE_TABLE,
	BP_LOSS_STACK_TABLE,
	BP_LOSS_MODULE_TABLE,
	BP_LOSS_THREAD_SLOT,
	BP_LOSS_LANES_BUSY,
	BP_LOSS_FREE,
	BP_LOSS_INTERRUPTED,
	BP_LOSS_CHILD_TRACE,
	BP_LOSS_NAME,
	BP_LOSS_INVALID,
	BP_LOSS_MAPPING,
	BP_LOSS_COUNT,
	BP_LOSS_MAX = 32
};

enum bp_end_reason {
	BP_END_NONE = 0,
	BP_END_EXIT = 1,
	BP_END_UNDERSCORE_EXIT = 2,
	BP_END_QUICK_EXIT = 3,
	BP_END_ABORT = 4,
	BP_END_EXEC = 5,
	BP_END_DETACHED = 6 /* the process went on */
};

/* 1.7, in the state page: what was counted of the whole process. */
struct bp_trace_verify_totals {
	uint64_t allocated_bytes, allocated_objects, freed_bytes, freed_objects;
	uint64_t peak_bytes, peak_objects, peak_time_ns;
	uint64_t smallest_size; /* and 1; 0: nothing was allocated */
	uint64_t nested_bytes, nested_objects;
	uint64_t uncounted_bytes, uncounted_objects;
	uint64_t unknown_frees, missed_frees;
	uint64_t failed_bytes, failed_objects;
};

/* 1.3 */
/* A thread that stopped sampling because of an outage, and what it had made (3.9). */
struct bp_trace_stop {
	uint64_t ordinal; /* 0: not written yet */
	uint64_t trials, objects;
};
#define BP_OUTAGE_STOPS 128u

struct bp_trace_state {
	uint64_t state, chunks_reserved, end_reason, end_time_ns;
	uint64_t end_trials, end_objects, last_sequence, samples;
	uint64_t unoffered_trials, unoffered_objects, own_bytes, unmarked_fork;
	uint64_t unmarked_children; /* forks that no handler saw, by the children that found out */
	/* Threads whose last counters were not known at the end, and what they may have made
	 * beyond: the totals above are lower limits where `open_trials` is not 0. */
	uint64_t open_threads, open_trials;
	/* that ended the process, as `bytepoll run` saw it; 0: none, or not known */
	uint64_t end_signal;
	uint64_t lost[BP_LOSS_MAX];
	/* 1.9: of the loaded objects, how many there are, and of how many all calls are seen */
	uint64_t covered_objects, objects;
	/* 1.9: CLOCK_MONOTONIC from which on small objects of Python are counted; 0: they are not
	 * yet, or INTERPRETER has the answer (3.10) */
	uint64_t small_objects_time_ns;
	uint64_t reserved_2[13];
	struct bp_trace_verify_totals verify_sums;
	/* 1.8: changed from outside, and by the process itself; by compare and exchange only. */
	uint64_t control, control_resume, budget_ppm;
	uint64_t outage_since_ns; /* 3.9: the file cannot grow since then; 0: it can */
	uint64_t outage_stops;	  /* of these entries that are taken, perhaps more than there are */
	struct bp_trace_stop stops[BP_OUTAGE_STOPS];
};

/* 1.8, the word `control`: T wanted in the low 41 bits (0: sampling is off), whether T may change
 * by itself, and the number of the change, modulo 2^22. */
#define BP_CONTROL_INTERVAL_MASK (((uint64_t)1 << 41) - 1)
#define BP_CONTROL_AUTO ((uint64_t)1 << 41)
#define BP_CONTROL_NUMBER_SHIFT 42u
#define BP_CONTROL_NUMBER_ONE ((uint64_t)1 << BP_CONTROL_NUMBER_SHIFT)

/* 1.7, in chunks of kind BP_CHUNK_VERIFY_SUMS: what was counted of one stack, changed in place. */
struct bp_trace_verify_sums {
	uint32_t state, stack; /* state: 0 free, 1 in use */
	uint64_t allocated_bytes, allocated_objects;
	uint64_t freed_bytes, freed_objects;
	uint64_t temporary_bytes, temporary_objects;
	uint64_t reserved;
};
#define BP_VERIFY_IN_CHUNK (BP_PAYLOAD_BYTES / sizeof(struct bp_trace_verify_sums))

/* 1.6 */
struct bp_thread_slot {
	uint16_t generation,
		command; /* command: low 16 bits of the number of the control word it follows */
	uint32_t state, ordinal, tid;
	uint64_t trials, objects, armed, hot_address;
	uint64_t unoffered_trials, unoffered_objects;
};

/* `armed` of a thread whose next look nobody can tell: its totals have no upper limit. */
#define BP_ARMED_WITHOUT_LIMIT ((uint64_t)1 << 56)

#define BP_SLOTS_IN_FIRST ((BP_CHUNK_BYTES - BP_SLOTS_OFFSET) / sizeof(struct bp_thread_slot))
#define BP_SLOTS_IN_CHUNK (BP_PAYLOAD_BYTES / sizeof(struct bp_thread_slot))

/* 2. Chunks. */
#define BP_CHUNK_MAGIC 0x4B435042u
enum bp_chunk_kind { BP_CHUNK_RECORDS = 1, BP_CHUNK_THREADS = 2, BP_CHUNK_VERIFY_SUMS = 3 };

struct bp_chunk_header {
	uint32_t magic, kind;
	uint64_t number;
	uint32_t committed, sealed;
	uint64_t checksum;
	uint64_t base_time_ns, base_sequence;
	uint64_t interval_bytes;
	uint32_t law, lane;
};

#define BP_PAYLOAD_BYTES (BP_CHUNK_BYTES - sizeof(struct bp_chunk_header))

/* 3. Records: tag u8, length varint, payload. */
#define BP_TAG_FATAL_BIT 0x40u
enum bp_tag {
	BP_TAG_SAMPLE = 1,
	BP_TAG_FREE = 2,
	BP_TAG_STACK = 3,
	BP_TAG_MODULE = 4,
	BP_TAG_MODULE_GONE = 5,
	BP_TAG_THREAD_BEGIN = 6,
	BP_TAG_THREAD_END = 7,
	BP_TAG_EXEC = 8,
	BP_TAG_FORK = 9,
	BP_TAG_INTERVAL = 10,
	BP_TAG_FOLDED = 11, /* these four in folded parts only, see 5 */
	BP_TAG_READINGS = 12,
	BP_TAG_TICKS = 13,
	BP_TAG_HELD = 14,
	BP_TAG_TYPE = 15, /* these four: names, see 3.8 */
	BP_TAG_FRAME = 16,
	BP_TAG_NAMED_STACK = 17,
	BP_TAG_LABELS = 18,
	BP_TAG_OUTAGE = 19,	 /* see 3.9 */
	BP_TAG_MIXED_STACK = 20, /* these two: CPython's frames and objects, see 3.10 */
	BP_TAG_INTERPRETER = 21,
	BP_TAG_MAPPING = 22, /* see 3.11 */
	/* In folded parts only; fatal, because its objects stand nowhere else. */
	BP_TAG_FOLDED_TOLD = BP_TAG_FOLDED | BP_TAG_FATAL_BIT
};

/* What the counters of an INTERVAL record say of its thread (3.7). */
enum bp_counters_bound {
	BP_COUNTERS_THEN = 0,	  /* it had made so much at the record's time */
	BP_COUNTERS_AT_LEAST = 1, /* ... no less from that time on */
	BP_COUNTERS_AT_MOST = 2	  /* ... no more until that time */
};

enum bp_sample_flag {
	BP_SAMPLE_THREAD = 1,
	BP_SAMPLE_EXACT = 2,
	BP_SAMPLE_ALIGNMENT = 4,
	BP_SAMPLE_USABLE = 8,
	BP_SAMPLE_INTERVAL = 16,
	BP_SAMPLE_LABELS = 32,
	BP_SAMPLE_TOLD = 64,
	BP_SAMPLE_PROCESSOR = 128
};

/* 5.2 */
enum bp_folded_flag {
	BP_FOLDED_TEMPORARY = 1,
	BP_FOLDED_EXACT = 2,
	BP_FOLDED_ALIGNMENT = 4,
	BP_FOLDED_USABLE = 8
};
#define BP_FOLDED_COUNT_MAX (1u << 22) /* objects of one entry */
#define BP_FOLDED_SUFFIX ".fold"       /* 5: FILE.fold beside FILE */

enum bp_kind {
	BP_KIND_MALLOC = 1,
	BP_KIND_CALLOC = 2,
	BP_KIND_REALLOC = 3,
	BP_KIND_ALIGNED = 4,
	BP_KIND_NEW = 5,
	BP_KIND_MMAP = 6,
	BP_KIND_POOL = 7,
	BP_KIND_SMALL = 8, /* these three: where a host put the object */
	BP_KIND_LARGE = 9,
	BP_KIND_PINNED = 10,
	BP_KIND_PYTHON = 11 /* a small object of CPython's own allocator */
};

enum bp_free_flag {
	BP_FREE_THREAD = 1,
	BP_FREE_STACK = 2,
	BP_FREE_REALLOC = 4,
	BP_FREE_PROCESSOR = 8
};
enum bp_stack_flag { BP_STACK_CUT = 1, BP_STACK_ENDED = 2 };

/* 3.10: why an INTERPRETER's frames, or its small objects, are recorded or not. */
enum bp_python_state {
	BP_PYTHON_RECORDED = 0,
	BP_PYTHON_NOT_ASKED = 1,
	BP_PYTHON_UNKNOWN_VERSION = 2,
	BP_PYTHON_FREE_THREADED = 3,
	BP_PYTHON_TEST_FAILED = 4,
	BP_PYTHON_ALL_IN_MALLOC = 5,
	/* of objects, in a process that was attached to: they are recorded from
	 * `small_objects_time_ns` of the state page on; 0: not yet */
	BP_PYTHON_WAITING = 6,
	BP_PYTHON_INTERPRETERS = 7,    /* several, which may have a GIL each */
	BP_PYTHON_OTHER_ALLOCATORS = 8 /* such as tracemalloc's, which know what was made before */
};

/* MREMAP_DONTUNMAP of Linux 5.7, which headers of glibc before 2.32 lack. */
#define BP_DONTUNMAP 4

/* 3.11: what a MAPPING record says. */
enum bp_mapping_what {
	BP_MAPPING_MAP = 1,
	BP_MAPPING_UNMAP = 2,
	BP_MAPPING_REMAP = 3,
	BP_MAPPING_PROTECT = 4,
	BP_MAPPING_BREAK = 5,
	BP_MAPPING_ATTACH = 6, /* a segment of System V shared memory */
	BP_MAPPING_DETACH = 7,
	BP_MAPPING_WHAT_MAX = BP_MAPPING_DETACH
};
/* So many such records are written in one process; further calls are counted as lost. */
#define BP_MAPPING_RECORDS_MAX (1u << 18)

enum bp_unseen {
	BP_UNSEEN_NO = 0,
	BP_UNSEEN_PRIVILEGED = 1,
	BP_UNSEEN_STATIC = 2,
	BP_UNSEEN_FOREIGN = 3,
	BP_UNSEEN_ENVIRONMENT = 4
};

/* Deepest stack recorded; of named frames. */
#define BP_STACK_MAX_DEPTH 256u
#define BP_NAMED_STACK_MAX_DEPTH 512u
/* Longest name of a type, a function, a file. */
#define BP_NAME_MAX_BYTES 2000u

/* 1.5 */
#define BP_CHECKSUM_START 0x9E3779B97F4A7C15u
#define BP_CHECKSUM_FACTOR 0xFF51AFD7ED558CCDu

/* Checksum of `bytes` bytes at `data` (any alignment). Pure. */
static inline uint64_t bp_checksum(const void *data, size_t bytes)
{
	const unsigned char *p = (const unsigned char *)data;
	uint64_t hash = BP_CHECKSUM_START;
	size_t done = 0;
	for (; bytes - done >= 8; done += 8) {
		uint64_t word;
		__builtin_memcpy(&word, p + done, sizeof word);
		hash = (hash ^ word) * BP_CHECKSUM_FACTOR;
		hash ^= hash >> 32;
	}
	if (done < bytes) {
		uint64_t word = 0;
		__builtin_memcpy(&word, p + done, bytes - done);
		hash = (hash ^ word) * BP_CHECKSUM_FACTOR;
		hash ^= hash >> 32;
	}
	return hash;
}

_Static_assert(offsetof(struct bp_trace_header, checksum) == 32, "1.1");
_Static_assert(offsetof(struct bp_trace_header, trace_id) == 48, "1.1");
_Static_assert(offsetof(struct bp_trace_header, pid_namespace) == 104, "1.1");
_Static_assert(offsetof(struct bp_trace_header, interval_bytes) == 128, "1.1");
_Static_assert(offsetof(struct bp_trace_header, seed) == 144, "1.1");
_Static_assert(offsetof(struct bp_trace_header, program_length) == 164, "1.1");
_Static_assert(offsetof(struct bp_trace_header, clock_offset_ns) == 176, "1.1");
_Static_assert(sizeof(struct bp_trace_header) == 192, "1.1");
_Static_assert(offsetof(struct bp_trace_state, unoffered_trials) == 64, "1.3");
_Static_assert(offsetof(struct bp_trace_state, open_threads) == 104, "1.3");
_Static_assert(offsetof(struct bp_trace_state, lost) == 128, "1.3");
_Static_assert(offsetof(struct bp_trace_state, verify_sums) == 512, "1.7");
_Static_assert(offsetof(struct bp_trace_state, control) == 640, "1.8");
_Static_assert(offsetof(struct bp_trace_state, outage_since_ns) == 664, "3.9");
_Static_assert(sizeof(struct bp_trace_state) <= 4096, "1.3");
_Static_assert(sizeof(struct bp_trace_verify_sums) == 64, "1.7");
_Static_assert(sizeof(struct bp_thread_slot) == 64, "1.6");
_Static_assert(sizeof(struct bp_chunk_header) == 64, "2");
_Static_assert(BP_SLOTS_IN_FIRST == 896 && BP_SLOTS_IN_CHUNK == 1023, "1.6, 2");

#endif
