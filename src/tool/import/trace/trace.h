/* SPDX-License-Identifier: MIT */
/*
 * The parts of the trace importer, private to import/: one process (trace.c), its stacks and
 * modules (trace_stacks.c), its exact sums (trace_verify.c), its sampling intervals
 * (trace_intervals.c), and the other files of its tree (trace_tree.c).
 */
#ifndef BP_IMPORT_TRACE_TRACE_H
#define BP_IMPORT_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"
#include "base/packed.h"
#include "import/import.h"
#include "import/trace/trace_jit.h"
#include "trace/reader.h"

/* How the import of one file went. */
enum bp_imported {
	BP_IMPORTED,
	BP_IMPORTED_BEFORE, /* its process is in the profile already: nothing was added */
	BP_IMPORT_BAD_FILE, /* it cannot be read (to its end: what came before was added) */
	BP_IMPORT_ABORTED   /* no memory: the profile is of no use */
};

/* Adds the process of one trace file. The error is set unless BP_IMPORTED; then `ret_process` is.
 */
enum bp_imported bp_import_trace_process(const char *path, struct bp_profile *profile,
	struct bp_process_id *ret_process, struct bp_error *error);

/* The same for a trace that is open (bp_trace_reader_open_files); `path`: by which it is shown. */
enum bp_imported bp_import_trace_files(int fd, int part_fd, const char *path,
	struct bp_profile *profile, struct bp_process_id *ret_process, struct bp_error *error);

/* The command line of the header, without its final zeros: words separated by NUL become words
 * separated by spaces, and an empty word becomes two quotes. False: no memory. */
bool bp_import_command_line(const struct bp_trace_reader *reader, struct bp_profile *profile,
	struct bp_string_id *ret_string, struct bp_error *error);

/* What a host named (docs/trace-format.md 3.8) in one process: types and labels are in the
 * profile at once, frames become locations when a stack needs them. Zeroed memory is an empty,
 * valid value. */
struct bp_trace_name_table {
	struct bp_trace_name_entry *entries;
	uint32_t count, capacity;
	struct bp_index index;
};
struct bp_trace_names {
	struct bp_trace_name_table types, frames, labels;
	uint64_t identity;	    /* of the process: frames of two are two locations */
	struct bp_module_id module; /* the runtime's; both set before a frame is asked for */
	bool python; /* frames are of Python, each in the module of Python that its file is */
};

/* Adds a TYPE, FRAME or LABELS record; of several with one id the first holds. */
bool bp_trace_names_add(struct bp_trace_names *names, enum bp_tag tag,
	const struct bp_trace_name *name, struct bp_profile *profile, struct bp_error *error);

/* After the last record, before a frame is asked for: in what named frames lie, `[lua 5.4]`. False:
 * no memory. */
bool bp_trace_names_begin(struct bp_trace_names *names, const struct bp_trace_reader *reader,
	struct bp_process_id process, struct bp_profile *profile, struct bp_error *error);

/* What a recorded id became; 0 if it is not known. */
struct bp_type_id bp_trace_names_type(const struct bp_trace_names *names, uint32_t id);
struct bp_labels_id bp_trace_names_labels(const struct bp_trace_names *names, uint32_t id);

/* The location of a FRAME; of one that is not known, a place without a name. */
bool bp_trace_names_location(struct bp_trace_names *names, uint32_t id, struct bp_profile *profile,
	struct bp_location_id *ret_location, struct bp_error *error);

void bp_trace_names_finish(struct bp_trace_names *names);

/* Stacks and modules of one process, kept as recorded until all of them are known. Zeroed memory is
 * an empty, valid value. */
struct bp_trace_stacks {
	struct bp_trace_stack_entry *stacks;
	struct bp_trace_module_entry *modules;
	struct bp_trace_gone *gone;
	uint64_t *pcs;	/* of all stacks, one behind the other */
	uint8_t *exact; /* likewise */
	uint32_t stack_count, stack_capacity, module_count, module_capacity;
	uint32_t gone_count, gone_capacity, frame_count, pc_capacity, exact_capacity;
	struct bp_index stack_index, module_index;
	uint64_t interpreter_address; /* in the interpreter of an INTERPRETER record; 0: none */
};

/* Each returns false without memory. */
bool bp_trace_stacks_add_stack(struct bp_trace_stacks *stacks, const struct bp_trace_stack *stack);
bool bp_trace_stacks_add_module(struct bp_trace_stacks *stacks,
	const struct bp_trace_module *module, struct bp_process_id process,
	struct bp_profile *profile, struct bp_error *error);
bool bp_trace_stacks_add_gone(struct bp_trace_stacks *stacks, const struct bp_trace_module *gone);

/* After the last record: makes locations and stacks of the profile. */
bool bp_trace_stacks_resolve(struct bp_trace_stacks *stacks, struct bp_trace_names *names,
	struct bp_profile *profile, struct bp_error *error);

/* The stack of the profile that a recorded id became; the empty one if it is not known. */
struct bp_stack_id bp_trace_stacks_find(const struct bp_trace_stacks *stacks, uint32_t id);

void bp_trace_stacks_finish(struct bp_trace_stacks *stacks);

/* An INTERPRETER record into what is known of the process's CPython, but for its name; and after
 * the last record, from when on small objects are recorded. */
void bp_trace_python_add(
	const struct bp_trace_interpreter *interpreter, struct bp_process_python *python);
void bp_trace_python_finish(const struct bp_trace_reader *reader, struct bp_process_python *python);

/* What a folded part says (trace_folded.c), with the recorded threads still in the samples and
 * readings that are added. `stack`: the number under which samples have it (model/samples.h);
 * `beside` gets an empty row for each of them. (Readings: false without memory.) */
bool bp_import_folded(const struct bp_trace_reader *reader, const struct bp_trace_folded *folded,
	struct bp_process_id process, uint32_t stack, struct bp_packed *beside,
	struct bp_profile *profile, struct bp_error *error);
bool bp_import_folded_readings(const struct bp_trace_reader *reader,
	const struct bp_trace_readings *readings, struct bp_readings *added);

/* When the clock of a folded part tells of a moment: the time itself, if that is after its last
 * tick. */
uint64_t bp_import_told_ns(const struct bp_trace_clock *clock, uint64_t time_ns, uint64_t sequence);
/* The same for the birth of a sample, with its halves. */
void bp_import_tell_birth(
	const struct bp_trace_clock *clock, uint32_t charge, struct bp_sample *sample);
/* The same for its death. `birth_ns`: its birth as recorded. */
void bp_import_tell_death(const struct bp_trace_clock *clock, uint64_t birth_ns,
	uint64_t *free_time_ns, uint64_t *free_sequence);

/* Holds the counters of a process and of its threads against what was sampled of them, all of which
 * is in the profile, from `first_alike` on, with its totals. Counters that say less are lost, and
 * totals that they or an unknown thread would be part of have no upper limit. False: no memory. */
bool bp_import_check_counters(const struct bp_trace_reader *reader, struct bp_process_id process,
	uint32_t first_alike, struct bp_profile *profile, struct bp_error *error);

/* After bp_trace_stacks_resolve: what the recorder counted, if it did, into the profile. */
bool bp_import_trace_verify_sums(const struct bp_trace_reader *reader,
	const struct bp_trace_stacks *stacks, struct bp_trace_jit *jit,
	struct bp_process_id process, struct bp_profile *profile, struct bp_error *error);

/* Where records are missing, those that say when sampling was off may be among them: what was
 * allocated may then be in either part. */
void bp_import_doubt_pauses(struct bp_process *process, const struct bp_trace_reader *reader,
	const struct bp_trace_totals *totals);

/* After the end of the process is known: which sampling intervals were in force, and when none
 * was. */
bool bp_import_trace_intervals(const struct bp_trace_reader *reader, struct bp_process_id process,
	struct bp_profile *profile, struct bp_error *error);

extern const struct bp_importer bp_import_trace;

#endif
