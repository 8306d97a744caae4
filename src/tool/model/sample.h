/* SPDX-License-Identifier: MIT */
/*
 * One sampled object, as importers give it and reports see it, and the typed indices of a profile.
 * How millions of samples are kept is samples.h.
 */
#ifndef BP_MODEL_SAMPLE_H
#define BP_MODEL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_string_id {
	uint32_t i;
};
struct bp_process_id {
	uint32_t i;
};
struct bp_thread_id {
	uint32_t i;
};
struct bp_module_id {
	uint32_t i;
};
struct bp_location_id {
	uint32_t i;
};
struct bp_stack_id {
	uint32_t i;
};
struct bp_frame_id {
	uint32_t i;
};
struct bp_type_id {
	uint32_t i;
};
struct bp_labels_id {
	uint32_t i;
};

#define BP_TIME_NEVER UINT64_MAX

/* Kinds of samples beyond enum bp_kind of the trace: where a runtime put the object. And of that
 * enum those that are looked at apart. */
enum bp_profile_kind {
	BP_PROFILE_KIND_ALIGNED = 4,
	BP_PROFILE_KIND_MAPPED = 6, /* anonymous memory */
	BP_PROFILE_KIND_SMALL = 8,
	BP_PROFILE_KIND_LARGE,
	BP_PROFILE_KIND_PINNED,
	BP_PROFILE_KIND_PYTHON,
	BP_PROFILE_KIND_MAPPED_FILE, /* these three: what a program mapped itself */
	BP_PROFILE_KIND_SHARED,
	BP_PROFILE_KIND_BREAK
};

struct bp_sample {
	uint64_t size;			  /* requested, bytes */
	uint64_t usable;		  /* given by the allocator, bytes; 0 unknown */
	uint64_t interval;		  /* T it was drawn with, bytes */
	uint64_t offset;		  /* trials of it before the successful one; 0 if exact */
	uint64_t sequence, free_sequence; /* process-wide order; free: BP_TIME_NEVER if never */
	uint64_t time_ns, free_time_ns;	  /* CLOCK_MONOTONIC; BP_TIME_NEVER if never freed */
	struct bp_stack_id stack;
	struct bp_stack_id free_stack; /* that freed it; 0: it was not freed, or none is known */
	struct bp_process_id process;
	struct bp_thread_id thread;
	struct bp_type_id type;	    /* 0: not known */
	struct bp_labels_id labels; /* of its thread when it was made; 0: none */
	uint32_t kind : 4;	    /* enum bp_kind of the trace, or enum bp_profile_kind */
	bool exact : 1;		    /* taken with certainty, weight 1 */
	bool bernoulli : 1;	    /* law of this sample */
	bool temporary : 1;	    /* freed by its thread before that thread allocated again */
	/* Drawn into half 0 (bit 0) and half 1 (bit 1); 0: its own sequence and time tell. */
	uint32_t halves : 2;
	uint32_t more : 22; /* this stands for so many more samples, alike in all of the above */
};

#endif
