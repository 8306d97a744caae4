/* SPDX-License-Identifier: MIT */
/*
 * The profile: what every importer fills, the symboliser completes and every report reads. Tables
 * that only grow, linked by typed indices; index 0 of every table is the empty entry ("not known").
 * A profile may hold several processes (a tree, or unrelated files given together).
 *
 * Life: bp_profile_init, importers add processes, threads, modules, locations, stacks, samples;
 * bp_profile_finish_import sorts and links; symbols/ adds frames to locations; aggregation
 * (aggregation/aggregate.h) reads only. Memory failure aborts the import with an error.
 * Thread-safety: one thread at a time; concurrent reading of a finished profile is safe.
 */
#ifndef BP_MODEL_PROFILE_H
#define BP_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/capabilities.h"
#include "model/python_frames.h"
#include "model/readings.h"
#include "model/runtime_parts.h"
#include "model/samples.h"

#define BP_PROFILE_LOSSES 32 /* as BP_LOSS_MAX of the trace */

/* Beyond the losses of our recorder: of events that other recorders wrote. */
enum bp_profile_loss {
	BP_PROFILE_LOST_EVENTS = 16, /* numbered, but not in the file; samples may be among them */
	BP_PROFILE_LOST_INVALID,     /* samples that cannot be right */
	BP_PROFILE_LOST_BUCKETS,     /* sums of which the number of samples is not known */
	/* samples that were written, in parts of a trace that are damaged or not there */
	BP_PROFILE_LOST_UNREADABLE,
	BP_PROFILE_LOST_COUNTERS /* of threads, that say less than was sampled of them */
};

#define BP_PROFILE_BERNOULLI 1u /* law, as of the trace */
#define BP_PROFILE_STACK_CUT 1u /* flag of a stack, likewise */

/* What is known of a counted total: low == high where it is exact; high is UINT64_MAX where there
 * is no upper limit. */
struct bp_known_total {
	uint64_t low, high;
};

/* What a recorder that verifies counted of a whole process (docs/trace-format.md 1.7). */
struct bp_process_verify_sums {
	bool taken; /* false: it did not, and all else is zero */
	uint64_t allocated_bytes, allocated_objects, freed_bytes, freed_objects;
	uint64_t peak_bytes, peak_objects, peak_time_ns; /* CLOCK_MONOTONIC */
	bool has_smallest;
	uint64_t smallest_size;
	uint64_t nested_bytes, nested_objects;	     /* never offered to the sampler either */
	uint64_t uncounted_bytes, uncounted_objects; /* for want of memory or room */
	uint64_t failed_bytes, failed_objects;	     /* requests that stand in the exact totals */
	uint64_t unknown_frees, missed_frees;
};

/* What a recorder said of the CPython in a process (docs/trace-format.md 3.10). */
struct bp_process_python {
	bool known;			      /* false: there is none, and all else is zero */
	uint32_t frames_state, objects_state; /* enum bp_python_state of the trace */
	/* of a process that was attached to: so long after its begin small objects were not
	 * recorded yet; 0: they were from the begin on, or never */
	uint64_t objects_after_ns;
	struct bp_string_id name; /* CPython 3.11.7 */
};

struct bp_process {
	struct bp_string_id program;	  /* path of the executable */
	struct bp_string_id command_line; /* words joined by spaces, an empty one as '' */
	struct bp_string_id name;	  /* what it was started as; set by finish_import */
	struct bp_string_id file; /* where it was read from; "" if only the index knows it */
	struct bp_string_id allocator;
	/* sampled objects below 64 KiB lie in memory of the recorder, not in the program's heap */
	bool samples_in_slots;
	bool host; /* it sampled objects of its own: `allocator` is its name, not a path */
	uint8_t trace_id[16], parent_trace_id[16];
	struct bp_process_id parent; /* linked by finish_import; 0: none here */
	uint64_t parent_sequence;    /* objects with a smaller or equal sequence are inherited */
	uint32_t pid, parent_pid, exec_number;
	uint64_t start_time_ns, end_time_ns; /* CLOCK_MONOTONIC; end: last thing known */
	uint64_t start_real_ns;
	bool ended; /* ended in order */
	/* and then threads whose last counters are not known: totals are intervals */
	uint64_t open_threads;
	uint64_t unknown_samples; /* of threads without counters: totals have no upper limit */
	/* it is known to run at this moment: nothing is amiss that it has not ended */
	bool running;
	uint32_t end_signal; /* that ended it, where `run` saw it; 0: none, or not known */
	uint32_t end_reason; /* enum bp_end_reason of the trace */
	bool profiled;	     /* false: the recorder stayed off, see unprofiled_reason */
	uint32_t unprofiled_reason;
	uint32_t law;		 /* enum bp_law of the trace */
	uint32_t charge;	 /* trials of an object beyond its size */
	uint64_t interval_first; /* T at the start, or when sampling was first switched on */
	uint64_t interval_min;	 /* smallest T in force, bytes; 0: there was one T only */
	uint64_t interval_max;	 /* largest; where sampling was never on, the T it would have had */
	bool automatic;		 /* T could be changed by the process itself, to hold its budget */
	bool fine_start;	 /* T began finer than it was to become, by what was allocated */
	/* the recorder joined it when it ran already: nothing from before is known */
	bool attached;
	/* and then of the loaded objects, how many there are, and whose calls are all seen; 0: not
	 * known */
	uint64_t loaded_objects, covered_objects;
	bool has_pauses;	 /* sampling was off for some time */
	bool free_stacks;	 /* stacks and processors of frees were recorded, too */
	bool fold_missing;	 /* samples are in FILE.fold, it seems, which is not there */
	bool trials_by_interval; /* `intervals` has every T of it */
	uint64_t changes;	 /* of T, or of on and off, that some thread followed */
	/* While sampling was on; and, apart from it, while it was off. */
	struct bp_known_total bytes_allocated, objects_allocated;
	struct bp_known_total bytes_off, objects_off;
	uint64_t unoffered_bytes, unoffered_objects;
	uint64_t samples; /* sample records read */
	/* Times before folded_until_ns (CLOCK_MONOTONIC) are too late by folded_ns at most; 0: as
	 * recorded. */
	uint64_t folded_ns, folded_until_ns;
	uint64_t lost[BP_PROFILE_LOSSES];
	uint64_t damaged_chunks; /* parts of the file that could not be read */
	uint64_t size_min;	 /* smallest size sampled; UINT64_MAX: none */
	uint64_t sampled_bytes;	 /* sizes of all samples, summed */
	uint64_t recorder_bytes; /* memory the recorder held for itself */
	uint64_t forks;		 /* children it forked, as far as recorded */
	/* programs it started by vfork or posix_spawn, likewise; some may have failed */
	uint64_t spawned;
	uint64_t missing_children;	    /* of which the files are not here */
	uint64_t unseen_execs;		    /* images started from here that cannot be profiled */
	struct bp_string_id unseen_example; /* path of one of them, and why */
	uint32_t unseen_reason;
	/* path of the program that its last exec named; ""; none, or not known */
	struct bp_string_id became;
	bool became_unseen; /* and that was one of the unseen */
	struct bp_process_verify_sums verify_sums;
	struct bp_process_python python;
	/* what a store says of its run, if rows are to be by that (query/query.h); "": nothing */
	struct bp_string_id origin;
	struct bp_string_id runtime; /* that `runtime_parts` are of: "Go"; "": none */
	uint32_t lacks;		     /* what its file cannot tell: bits of enum bp_lack */
	bool mappings_known;	     /* calls that map memory were recorded */
	bool cut_off;	     /* the file ends early; how much is missing need not be known */
	uint32_t misread;    /* bits of enum bp_variable of the trace: settings not understood */
	uint64_t size_floor; /* no object can be smaller, bytes; 0: not known */
	uint64_t frames, frames_named;
	bool methods_listed;   /* its file has the runtime's list of all methods (.NET's rundown) */
	uint64_t other_events; /* of allocations, but not sampled at random: left out */
};

struct bp_thread {
	struct bp_process_id process;
	uint32_t ordinal, tid;
	struct bp_string_id name;
	struct bp_known_total bytes_allocated, objects_allocated; /* while sampling was on */
	uint64_t lost; /* events of it that were not recorded */
};

/* What an object is, where a runtime tells. Types of one name may be several. */
struct bp_type {
	struct bp_process_id process;
	uint64_t id; /* of the runtime */
	struct bp_string_id name;
};

/* Labels that a thread had when it made an object (bytepoll/bytepoll.h): pairs of key and value.
 * Equal sets are one entry, across processes. */
struct bp_label {
	struct bp_string_id key, value;
};
struct bp_labels {
	struct bp_string_id text; /* `key=value`, a line each, as in the trace */
	uint32_t first, count;	  /* in label_pairs */
};

/* A time in which sampling was off for some thread of a process, CLOCK_MONOTONIC. The pauses of one
 * process do not overlap and stand in their order. */
struct bp_pause {
	struct bp_process_id process;
	uint64_t from_ns, to_ns;
};

/* A sampling interval that was in force in a process, bytes: each once, but for interval_first and
 * interval_max, which need not be here. */
struct bp_interval_used {
	struct bp_process_id process;
	uint64_t interval;
	uint64_t trials; /* made under it, at most; UINT64_MAX: not known */
};

/* A program that a process started beside itself, in a child without a trace of its own until then
 * (vfork): the path that the last exec of that child named. Whether that exec succeeded is not
 * known. */
struct bp_started {
	struct bp_process_id by;
	uint32_t pid;	  /* of the child */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	struct bp_string_id path;
};

/* Modules of equal path and build-id (without a build-id: file size and time too) are one entry, of
 * whatever process mapped it first: importers keep their own map from addresses to modules. */
struct bp_module {
	struct bp_process_id process;
	struct bp_string_id path;
	struct bp_string_id build_id;	    /* lower-case hex, "" unknown */
	uint64_t start, end, bias;	    /* mapped addresses; address - address in the file */
	uint64_t file_bytes, file_mtime_ns; /* of the file that was mapped, 0 unknown */
};

/* A place in code: what a frame of a recorded stack points at. Equal places are one location,
 * across processes that map the same module (same path and build-id). */
struct bp_location {
	struct bp_module_id module; /* 0: in no known module */
	uint64_t address; /* in the module's file (address - bias); absolute without module */
	bool exact;	  /* the pc itself; false: a return address (look up address - 1) */
	bool resolved;	  /* symbols/ has been here */
	struct bp_frame_id
		first_frame;  /* frames of this location: inlined ones first, innermost first */
	uint32_t frame_count; /* 0 until resolved; afterwards at least 1 */
};

struct bp_frame {
	struct bp_string_id function;	 /* demangled; module+0xoffset where no name is known */
	struct bp_string_id system_name; /* as in the symbol table; "" if none */
	struct bp_string_id source_file; /* "" unknown */
	uint32_t line;			 /* 0 unknown */
	struct bp_module_id module;
	bool inlined;	  /* was inlined into the next frame of its location */
	bool named;	  /* function is a real name */
	bool interpreted; /* of Python, in a stack that has frames of C, too */
};

struct bp_stack {
	uint32_t first_location; /* into stack_locations, innermost first */
	uint32_t depth;
	uint8_t flags; /* enum bp_stack_flag of the trace: 1 cut, 2 ended early */
};

/* What was counted of one stack of one process; of the same stack there may be several. */
struct bp_verify_sums {
	struct bp_process_id process;
	struct bp_stack_id stack; /* 0: not known */
	uint64_t allocated_bytes, allocated_objects, freed_bytes, freed_objects;
	uint64_t temporary_bytes, temporary_objects;
};

/* A growing array; `data` is contiguous, entry 0 is the empty entry. */
#define BP_TABLE(type)                    \
	struct {                          \
		type *data;               \
		uint32_t count, capacity; \
	}

struct bp_string_index; /* hash indices, private to profile.c */
struct bp_allocators;	/* allocators.h */

struct bp_jit_file;

struct bp_profile {
	BP_TABLE(char *) strings; /* terminated; ids from bp_profile_string */
	BP_TABLE(struct bp_process) processes;
	BP_TABLE(struct bp_thread) threads;
	BP_TABLE(struct bp_module) modules;
	BP_TABLE(struct bp_location) locations;
	BP_TABLE(struct bp_frame) frames;
	BP_TABLE(struct bp_stack) stacks;
	BP_TABLE(struct bp_location_id) stack_locations;
	struct bp_samples samples; /* read them by bp_profile_sample */
	/* Samples until finish_import takes them from here; an importer may go back to its own. */
	BP_TABLE(struct bp_sample) added;
	BP_TABLE(struct bp_type) types;
	BP_TABLE(struct bp_labels) labels;
	BP_TABLE(struct bp_label) label_pairs;
	struct bp_id_index types_by_name, labels_by_text; /* private to labels.c */
	BP_TABLE(struct bp_verify_sums) verify_sums;
	struct bp_readings readings; /* kept only with `keep_readings` */
	BP_TABLE(struct bp_pause) pauses;
	/* Times in which nothing was recorded, because the trace could not grow; to_ns
	 * BP_TIME_NEVER: it could not at the end. Sampling was off then, so that pauses cover
	 * them. */
	BP_TABLE(struct bp_pause) outages;
	BP_TABLE(struct bp_interval_used) intervals;
	BP_TABLE(struct bp_started) started; /* from 0 on */
	/* from 0 on; those of one process and moment stand together, moments ascend */
	BP_TABLE(struct bp_runtime_part) runtime_parts;
	bool keep_readings; /* set before importing: fill `readings` */
	void (*progress)(void *context, uint64_t samples); /* set before importing: called now
							     * and then with how many were read */
	void *progress_context;
	/* set before aggregating; NULL: the built-in ones */
	struct bp_frame_choice frames_shown; /* set before the import */
	/* While something is imported: what is known of code made at run time; NULL: nothing. Set
	 * before the import by who knows something; what FILE.jit of a tree says counts instead. */
	const struct bp_jit_file *jit;
	/* set before importing: samples are what the programs mapped themselves, exactly, and not
	 * what was sampled of their malloc; so are totals */
	bool mapped;
	const struct bp_allocators *allocators;
	/* set before importing: T of files that do not tell; 0: as their writers' */
	uint64_t assume_interval;
	bool interval_assumed; /* by the importer of some file */
	bool merged_unrelated; /* several unrelated roots: live and peak across them are refused */
	uint32_t stored_runs;  /* read from a store (fleet/): of so many runs; 0: from files */
	/* Times of a day are asked of it: the first process of each run stands as if it had begun
	 * when 1970 did, so that times since the start of a run are those since then. */
	bool of_day;
	uint32_t lacks;		   /* what some of its files cannot tell: bits of enum bp_lack */
	struct bp_process_id root; /* the first process of the (first) tree */
	uint32_t unread_files;	   /* files of a tree that could not be read, or not to their end */
	struct bp_string_id unread_example; /* path of the first of them, and why */
	struct bp_string_index *index;
};

bool bp_profile_init(struct bp_profile *profile, struct bp_error *error);
void bp_profile_finish(struct bp_profile *profile);

/* The text of a string id; never NULL. */
const char *bp_profile_text(const struct bp_profile *profile, struct bp_string_id string);

/* Was one of the processes attached to? (Then what it did before is not known.) `pid` 0: of all. */
bool bp_profile_is_attached(const struct bp_profile *profile, uint32_t pid);

/* When a process began, by the clock of the profile; start_time_ns of the first one of a run is the
 * origin of times, which is another moment where these are `of_day`. */
static inline uint64_t bp_process_began_ns(
	const struct bp_profile *profile, const struct bp_process *process)
{
	return profile->of_day && process->parent.i == 0 ? process->start_real_ns
							 : process->start_time_ns;
}

/* Were calls that map memory recorded in one of the processes? */
bool bp_profile_knows_mappings(const struct bp_profile *profile);

/* Were stacks of frees recorded in one of the processes? */
bool bp_profile_has_free_stacks(const struct bp_profile *profile);

/* What a process is called: as it was started, or the last part of its executable's path. Never
 * NULL. */
const char *bp_process_name(const struct bp_profile *profile, const struct bp_process *process);

/* Adders: find the equal entry or append one; `ret_...` is set on success only. Strings are bytes
 * of any kind (names from hostile files included): reports escape them, nobody else needs to. */
bool bp_profile_string(struct bp_profile *profile, const char *text, size_t bytes,
	struct bp_string_id *ret_string, struct bp_error *error);
bool bp_profile_add_process(struct bp_profile *profile, const struct bp_process *process,
	struct bp_process_id *ret_process, struct bp_error *error);
bool bp_profile_add_thread(struct bp_profile *profile, const struct bp_thread *thread,
	struct bp_thread_id *ret_thread, struct bp_error *error);
bool bp_profile_add_module(struct bp_profile *profile, const struct bp_module *module,
	struct bp_module_id *ret_module, struct bp_error *error);
bool bp_profile_add_location(struct bp_profile *profile, struct bp_module_id module,
	uint64_t address, bool exact, struct bp_location_id *ret_location, struct bp_error *error);
bool bp_profile_add_stack(struct bp_profile *profile, const struct bp_location_id *locations,
	uint32_t depth, uint8_t flags, struct bp_stack_id *ret_stack, struct bp_error *error);
/* Appends: the importer knows which types it has added. */
bool bp_profile_add_type(struct bp_profile *profile, const struct bp_type *type,
	struct bp_type_id *ret_type, struct bp_error *error);
/* The type of that name that no runtime's id belongs to; one for all processes. */
bool bp_profile_add_named_type(struct bp_profile *profile, const char *name, size_t bytes,
	struct bp_type_id *ret_type, struct bp_error *error);
/* Labels as their text in a trace (docs/trace-format.md 3.8): lines of `key=value`; a line without
 * `=` is a key with an empty value. No text: 0. */
bool bp_profile_add_labels(struct bp_profile *profile, const char *text, size_t bytes,
	struct bp_labels_id *ret_labels, struct bp_error *error);
bool bp_profile_add_sample(
	struct bp_profile *profile, const struct bp_sample *sample, struct bp_error *error);
/* For importers that add to `samples` themselves: after each one. */
void bp_profile_tell_progress(const struct bp_profile *profile);
bool bp_profile_add_verify_sums(
	struct bp_profile *profile, const struct bp_verify_sums *sums, struct bp_error *error);

bool bp_profile_add_reading(
	struct bp_profile *profile, const struct bp_reading *reading, struct bp_error *error);
bool bp_profile_add_runtime_part(
	struct bp_profile *profile, const struct bp_runtime_part *part, struct bp_error *error);
bool bp_profile_add_outage(
	struct bp_profile *profile, const struct bp_pause *outage, struct bp_error *error);
bool bp_profile_add_pause(
	struct bp_profile *profile, const struct bp_pause *pause, struct bp_error *error);
bool bp_profile_add_interval(
	struct bp_profile *profile, const struct bp_interval_used *used, struct bp_error *error);

/* Sample `i` < samples.count of a finished profile; number 0 is the empty one. */
static inline struct bp_sample bp_profile_sample(const struct bp_profile *profile, uint32_t i)
{
	return bp_samples_get(&profile->samples, i);
}

/* Sets the frames of a location (called by symbols/): `count` >= 1 frames, innermost first. */
bool bp_profile_set_frames(struct bp_profile *profile, struct bp_location_id location,
	const struct bp_frame *frames, uint32_t count, struct bp_error *error);

/* After the last import: links processes to their parents by trace id, finds the root (the process
 * without a parent here, of smallest start time; processes of equal pid linked by exec belong to
 * one tree), sorts samples by (time, process, sequence), and sets `merged_unrelated` to
 * `unrelated`. */
bool bp_profile_finish_import(struct bp_profile *profile, bool unrelated, struct bp_error *error);

#endif
