/* SPDX-License-Identifier: MIT */
/*
 * What the mappings of a process held at a moment, as the kernel said (/proc/PID/smaps), in groups
 * of one kind and name, and what a walk of glibc's heap found then. These are facts that were read
 * from outside while the process ran: resident/parts.h makes the table of resident memory of them.
 *
 * Filled by cli/mappings/look.h and by resident/mappings_file.h. Not thread-safe.
 */
#ifndef BP_RESIDENT_MAPPINGS_H
#define BP_RESIDENT_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, word): the word stands in FILE.mappings. */
/* clang-format off */
#define BP_MAPPING_KINDS(X) \
	X(CODE, "code")                 /* a file with code, and its data and zeroed data */ \
	X(FILE, "file")                 /* a mapped file without code */ \
	X(SHARED, "shared")             /* shared memory: of a segment, a memfd, a tmpfs */ \
	X(STACK, "stack")               /* the main stack */ \
	X(THREAD_STACK, "thread-stack") /* stacks of other threads */ \
	X(HEAP, "heap")                 /* of glibc's malloc: brk, arenas, blocks mapped alone */ \
	X(RECORDER, "recorder")         /* bytepoll's own, sampled small objects among it */ \
	X(ANONYMOUS, "anonymous")       /* all other anonymous memory */ \
	X(OTHER, "other")               /* the kernel's: vdso and the like */
/* clang-format on */
#define BP_MAPPING_KIND(name, word) BP_MAPPING_##name,
enum bp_mapping_kind { BP_MAPPING_KINDS(BP_MAPPING_KIND) BP_MAPPING_KIND_COUNT };
#undef BP_MAPPING_KIND
extern const char *const bp_mapping_kind_words[BP_MAPPING_KIND_COUNT];

/* Mappings of one kind and one name. */
struct bp_mapping_group {
	enum bp_mapping_kind kind;
	char *name;	/* owned; "": several names, or none */
	uint64_t count; /* of mappings */
	uint64_t size_bytes, resident_bytes, swapped_bytes;
};

/* glibc's heap by the headers of its chunks, bytes with the headers. The sums add up to
 * `area_bytes`; all are zero unless `known`. */
struct bp_heap_walk {
	bool known;
	bool cached_known; /* were the caches of threads found? */
	uint64_t areas;	   /* pieces of address space */
	uint64_t area_bytes;
	uint64_t used_bytes, used_chunks; /* caches left out, as far as they are known */
	uint64_t free_bytes, free_chunks; /* inside: merged, in bins */
	uint64_t
		trimmable_bytes; /* of free_bytes: resident whole pages, which malloc_trim gives back */
	uint64_t cached_bytes, cached_chunks; /* freed, kept by threads (tcache) */
	uint64_t top_bytes;		      /* at the ends */
	uint64_t other_bytes;		      /* the allocator's own */
	uint64_t tries; /* 1: it was consistent at once; more: went back so often */
};

/* One moment. */
struct bp_mapping_cut {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t page_table_bytes;
	uint64_t threads;
	struct bp_heap_walk heap;
	struct bp_mapping_group *groups;
	uint32_t group_count;
};

#define BP_MAPPING_GROUPS_MAX 256u
#define BP_MAPPING_NAME_MAX 255u

enum bp_mapping_moment { BP_MAPPINGS_HIGHEST, BP_MAPPINGS_LAST, BP_MAPPINGS_MOMENTS };

/* Zeroed memory: nothing is known. */
struct bp_mappings {
	uint32_t pid;
	uint32_t count;					 /* 0, or both */
	struct bp_mapping_cut cuts[BP_MAPPINGS_MOMENTS]; /* they may be of one moment */
};

void bp_mapping_cut_finish(struct bp_mapping_cut *cut);
void bp_mappings_finish(struct bp_mappings *mappings);

/* Adds a mapping to its group. Where there are BP_MAPPING_GROUPS_MAX already it goes to the group
 * of its kind without a name. False: no memory. */
bool bp_mapping_cut_add(struct bp_mapping_cut *cut, enum bp_mapping_kind kind, const char *name,
	const struct bp_mapping_group *amount);

/* Resident in all. */
uint64_t bp_mapping_cut_resident(const struct bp_mapping_cut *cut);
/* The sums of a kind. */
struct bp_mapping_group bp_mapping_cut_of_kind(
	const struct bp_mapping_cut *cut, enum bp_mapping_kind kind);

/* Copies. False: no memory, and `ret_copy` is empty. */
bool bp_mapping_cut_copy(const struct bp_mapping_cut *cut, struct bp_mapping_cut *ret_copy);

#endif
