/* SPDX-License-Identifier: MIT */
/*
 * Reading profiles from a program: what `bytepoll report`, `diff` and `check` say, as numbers
 * (libbytepoll.so; `pkg-config --cflags --libs bytepoll`). Profiles are files of any format that
 * bytepoll reads. docs/library.md tells of each function with an example.
 *
 * 	struct bytepoll_error error;
 * 	const char *files[] = { "app.bpt" };
 * 	struct bytepoll_profile *profile = bytepoll_open(files, 1, NULL, &error);
 * 	struct bytepoll_table *table = bytepoll_aggregate(profile, NULL, &error);
 * 	struct bytepoll_row row;
 * 	BYTEPOLL_CLEAR(row);
 * 	for (uint32_t i = 0; i < 10 && bytepoll_table_row(table, i, &row); i++)
 * 		printf("%s: %.0f bytes [%.0f, %.0f]\n", row.name, row.bytes.estimate,
 * 			row.bytes.low, row.bytes.high);
 * 	bytepoll_table_close(table);
 * 	bytepoll_close(profile);
 *
 * Structs. Every struct that may grow begins with `struct_bytes`, its size where the caller was
 * compiled: BYTEPOLL_CLEAR sets it, and all else to zero, which stands for the default everywhere.
 * A later library fills what the caller knows; an earlier one refuses a question that uses what it
 * does not know, and leaves what it cannot answer zero.
 *
 * Errors are values: a function that fails returns NULL or false, and tells why in `error` (which
 * may be NULL). Functions without an `error` fail only where there is no such row (or sample, frame
 * ...), or where `struct_bytes` is not set. No handle may be NULL, but those that are closed.
 *
 * Memory. What a call returns belongs to its handle and stays until that is closed: names, frames,
 * warnings. Handles are closed by the caller, in any order: a table keeps its profile.
 *
 * Text is bytes of any kind, terminated by NUL: names come out of files that may be hostile. What
 * is shown on a terminal or a page must be escaped by whoever shows it.
 *
 * Threads. Different handles are independent, and may be used by different threads at the same
 * time. A profile and a table may be read by several threads at once; a difference by one at a
 * time. Large files are read and summed with a second thread, which ends with the call and takes no
 * signals.
 *
 * Processes. bytepoll_open reads symbols in processes of its own (fork without exec, one for each
 * file of code, as many at once as there are processors), so that a damaged file cannot hurt the
 * caller; they have ended when it returns. A SIGCHLD handler of the caller sees them come and go. A
 * program that must not fork sets BYTEPOLL_NO_SYMBOLS.
 *
 * The library has no global state, prints nothing, installs no signal handler, reads no environment
 * variable (but for BYTEPOLL_SYMBOL_CACHE: XDG_CACHE_HOME and HOME), writes to no pipe that
 * somebody may have closed, and reads and writes numbers as in the C locale whatever the caller's.
 * Every symbol begins with bytepoll_ and has a version, BYTEPOLL_1.
 *
 * Sizes are bytes, times nanoseconds since the start of the first process of the profile.
 */
#ifndef BYTEPOLL_ANALYSIS_H
#define BYTEPOLL_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions have the names of the structs that they fill, which g++ -Wshadow reports. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

/* Makes a struct ready for a call: all zero but its size. */
#define BYTEPOLL_CLEAR(thing) \
	(memset(&(thing), 0, sizeof(thing)), (void)((thing).struct_bytes = sizeof(thing)))

/* A time that is not known, or never came. */
#define BYTEPOLL_NEVER UINT64_MAX

/* The version of the library in use, "0.1.0". */
const char *bytepoll_version(void);

/* --- Errors --- */

enum bytepoll_error_kind {
	BYTEPOLL_ERROR_NONE = 0,
	BYTEPOLL_ERROR_CALL = 1,   /* the question is wrong by itself: a word nobody knows, say */
	BYTEPOLL_ERROR_FILE = 2,   /* a file cannot be read, or is no profile */
	BYTEPOLL_ERROR_ABSENT = 3, /* this profile has no answer to the question */
	BYTEPOLL_ERROR_MEMORY = 4
};

/* Never grows. */
struct bytepoll_error {
	int32_t kind; /* enum bytepoll_error_kind */
	/* One line: what, where, what to do; no control characters. It names what was asked by the
	 * field of the struct: "metric peak: ...". */
	char text[1024];
};

/* --- Profiles --- */

struct bytepoll_profile; /* one or several files, read */

enum bytepoll_open_flag {
	BYTEPOLL_NO_SYMBOLS = 1, /* start no process; functions are module+0xoffset */
	/* Do not keep what tells how much was allocated in a window of time (32 bytes a sample):
	 * figures of windows (`from`, `to`) then have wider intervals. */
	BYTEPOLL_NO_WINDOWS = 2,
	/* Keep names in the user's cache directory, and use those kept there, as the command line
	 * does. */
	BYTEPOLL_SYMBOL_CACHE = 4,
	BYTEPOLL_NO_ALLOCATORS = 8 /* charge the innermost function, malloc itself */
};

struct bytepoll_open_options {
	size_t struct_bytes;
	uint32_t flags; /* of enum bytepoll_open_flag */
	uint32_t allocator_count;
	/* Functions that only allocate for their callers, beside those that are known (malloc,
	 * operator new, xmalloc ...): extended regular expressions of whole names, at most 32. What
	 * is charged by function is their caller. */
	const char *const *allocators;
	const char *debug_directory; /* where debug files are; NULL: /usr/lib/debug */
	/* Servers that are asked for debug files, URLs separated by blanks; NULL: none. */
	const char *debuginfod_urls;
	uint64_t assume_interval; /* sampling interval of files that do not tell theirs; 0: as
				   * their writers have it by default */
};

/* Reads `count` >= 1 files into one profile. The processes that a trace's program started are found
 * beside it. Several files are summed as unrelated runs, which have no common peak. `options` may
 * be NULL. NULL: a file cannot be read (missing, empty, torn before its header, of no known
 * format). A trace that is torn later is read to where it is torn; tables have a warning. */
struct bytepoll_profile *bytepoll_open(const char *const *files, size_t count,
	const struct bytepoll_open_options *options, struct bytepoll_error *error);

/* NULL is fine. */
void bytepoll_close(struct bytepoll_profile *profile);

struct bytepoll_profile_info {
	size_t struct_bytes;
	uint32_t processes; /* their numbers are 1 to this; so with all that follow */
	uint32_t threads, types, frames, stacks;
	uint32_t first_process; /* the one that was started; 0: none */
	uint64_t samples;	/* numbered from 0 */
	bool unrelated;		/* several runs, summed */
	bool frees_unseen;	/* live, peak and temporary are not told */
	uint8_t unused[2];
	/* How naming went. */
	uint32_t addresses, addresses_named;
	uint32_t modules, modules_missing, modules_replaced;
};
bool bytepoll_profile_info(
	const struct bytepoll_profile *profile, struct bytepoll_profile_info *ret_info);

/* What was counted: low == high where that is exact, high UINT64_MAX where nothing was counted. */
struct bytepoll_count {
	uint64_t low, high;
};

enum bytepoll_law { BYTEPOLL_LAW_EXACT = 0, BYTEPOLL_LAW_BERNOULLI = 1 };

struct bytepoll_process {
	size_t struct_bytes;
	uint32_t pid, parent_pid;
	uint32_t parent; /* number; 0: not here */
	uint32_t exec_number;
	const char *name; /* what it was started as */
	const char *program, *command_line, *file;
	uint64_t start_unix_ns; /* since 1970 */
	uint64_t start_ns, duration_ns;
	bool ended;    /* in order: what was counted is exact */
	bool profiled; /* false: the recorder stayed off */
	uint8_t unused[2];
	uint32_t law;	 /* enum bytepoll_law */
	uint32_t charge; /* trials of an object beyond its size */
	uint32_t unused_too;
	uint64_t interval_first, interval_min, interval_max; /* sampling intervals in force */
	uint64_t samples;
	struct bytepoll_count bytes, objects;	      /* allocated while sampling was on */
	struct bytepoll_count bytes_off, objects_off; /* and while it was off */
	uint64_t recorder_bytes;
};
bool bytepoll_profile_process(const struct bytepoll_profile *profile, uint32_t number,
	struct bytepoll_process *ret_process);

struct bytepoll_thread {
	size_t struct_bytes;
	uint32_t process, tid;
	const char *name; /* "": not known */
	struct bytepoll_count bytes, objects;
};
bool bytepoll_profile_thread(const struct bytepoll_profile *profile, uint32_t number,
	struct bytepoll_thread *ret_thread);

/* The name of a type that a runtime told; NULL: there is none of this number. */
const char *bytepoll_profile_type(const struct bytepoll_profile *profile, uint32_t number);

struct bytepoll_frame {
	size_t struct_bytes;
	const char *function;	 /* demangled; module+0xoffset where no name is known */
	const char *system_name; /* as in the symbol table; "" */
	const char *file;	 /* "": not known */
	const char *module, *build_id;
	uint32_t line; /* 0: not known */
	bool inlined;  /* into the next frame */
	bool named;    /* `function` is a name */
	uint8_t unused[2];
};
bool bytepoll_profile_frame(
	const struct bytepoll_profile *profile, uint32_t number, struct bytepoll_frame *ret_frame);

enum bytepoll_stack_flag {
	BYTEPOLL_STACK_CUT = 1,	       /* there were more frames */
	BYTEPOLL_STACK_ENDED_EARLY = 2 /* unwinding came to its end before the stack did */
};

struct bytepoll_stack {
	size_t struct_bytes;
	const uint32_t *frames; /* their numbers, innermost first */
	uint32_t depth;
	/* Index of the one that `by` "function" charges: the innermost that is no part of an
	 * allocator. */
	uint32_t charged;
	uint32_t flags; /* of enum bytepoll_stack_flag */
	uint32_t unused;
};
/* Number 0 is the stack of what has none: its depth is 0. */
bool bytepoll_profile_stack(
	const struct bytepoll_profile *profile, uint32_t number, struct bytepoll_stack *ret_stack);

enum bytepoll_sample_flag {
	BYTEPOLL_SAMPLE_EXACT = 1,     /* taken with certainty, as all of its size are */
	BYTEPOLL_SAMPLE_BERNOULLI = 2, /* by trial, whatever its size */
	BYTEPOLL_SAMPLE_TEMPORARY = 4  /* freed by its thread before that allocated again */
};

/* One sampled object, or several that are alike. */
struct bytepoll_sample {
	size_t struct_bytes;
	uint64_t size;	   /* requested, bytes */
	uint64_t usable;   /* given by the allocator; 0: not known */
	uint64_t interval; /* the sampling interval it was drawn with */
	uint64_t offset;   /* of the byte that was picked; 0 if exact */
	uint64_t count;	   /* this stands for so many samples: 1, but in folded traces */
	/* A sample stands for this many objects, itself included: 1 / P(sampled). Times its size:
	 * the bytes. */
	double weight;
	uint64_t time_ns, free_time_ns;	       /* free: BYTEPOLL_NEVER if it never was */
	uint64_t sequence, free_sequence;      /* the order of what one process did */
	uint32_t stack, process, thread, type; /* numbers; 0: not known */
	const char *kind; /* of call or of heap: "malloc", "operator new" ... */
	uint32_t flags;	  /* of enum bytepoll_sample_flag */
	uint32_t unused;
	const char *labels; /* "key=value" pairs, each ended by a newline but the last; "" */
};
/* Sample `number` < samples, in the order of their times. */
bool bytepoll_profile_sample(const struct bytepoll_profile *profile, uint64_t number,
	struct bytepoll_sample *ret_sample);

/* --- Tables --- */

struct bytepoll_table; /* the rows and totals that answer a query */

/* A figure with its confidence interval. Never grows. */
enum bytepoll_figure_flag {
	BYTEPOLL_EXACT = 1,	  /* known: low == estimate == high */
	BYTEPOLL_UNKNOWN = 2,	  /* there is no estimate (NAN), only low and high */
	BYTEPOLL_LOWER_BOUND = 4, /* samples were lost: the truth is at least this */
	BYTEPOLL_UPPER_BOUND = 8  /* frees were lost: it is at most this */
};
struct bytepoll_figure {
	double estimate, low, high;
	uint32_t flags; /* of enum bytepoll_figure_flag */
	uint32_t unused;
};

enum bytepoll_query_flag {
	BYTEPOLL_CUMULATIVE = 1, /* count a sample under every frame on its stack, once */
	BYTEPOLL_USABLE = 2,	 /* bytes as given by the allocator, not as requested */
	BYTEPOLL_HAS_AT = 4,	 /* the fields of these names are given */
	BYTEPOLL_HAS_FROM = 8,
	BYTEPOLL_HAS_TO = 16,
	BYTEPOLL_HAS_SIZE_MIN = 32,
	BYTEPOLL_WITHOUT_PEAK = 64 /* the total of the peak is not wanted: half the work */
};

/* A question. Words are those of the command line; NULL: the first of each. */
struct bytepoll_query {
	size_t struct_bytes;
	const char *metric;    /* live, peak, allocated, temporary; NULL: live, or allocated where
				* a file does not tell what was freed; of bytepoll_compare: the
				* metric that `bytepoll diff` chooses */
	const char *by;	       /* function, stack, line, file, module, thread, size, type, kind,
				* process; label (the whole set) or label:KEY */
	const char *sort;      /* bytes, objects, samples, name */
	const char *estimator; /* default, ht, weighted, calibrated, failed-trials, tcmalloc, hits,
				* memray */
	const char *method;    /* of intervals: default, n3, negative-binomial, camp-paulson */
	const char *edges;     /* of negative binomial windows: end, sample, both */
	uint32_t flags;	       /* of enum bytepoll_query_flag */
	uint32_t pid;	       /* that process alone; 0: all */
	uint64_t at_ns;	       /* live at this moment instead of at the end */
	uint64_t from_ns, to_ns; /* allocated in [from, to); peak: the moments looked at */
	uint64_t size_min;	 /* smallest size that can occur, for intervals of objects */
	double confidence;	 /* two-sided, in (0, 1); 0: 0.95 */
	/* KEY=GLOB, a key as in `by` or freed-by; size=64..4K; time=1s..2s; all must hold */
	const char *const *filters;
	uint32_t filter_count; /* at most 64 */
	uint32_t unused;
};

/* Answers a query, NULL for the default one: what is live at the end, by function. The query is
 * copied. Rows have intervals when they are asked for, which costs a few microseconds each. */
struct bytepoll_table *bytepoll_aggregate(struct bytepoll_profile *profile,
	const struct bytepoll_query *query, struct bytepoll_error *error);

/* NULL is fine. */
void bytepoll_table_close(struct bytepoll_table *table);

struct bytepoll_table_info {
	size_t struct_bytes;
	uint32_t rows, warnings, intervals;
	uint32_t process; /* number of the one the table is about: the first, as its last image */
	uint64_t samples; /* in the processes looked at, before window and filters */
	uint64_t lost;	  /* records that were lost, for any reason */
	uint64_t lost_samples; /* of these, the ones that make figures bounds */
	uint64_t duration_ns;
	uint64_t at_ns;	     /* the moment of metric live */
	uint64_t peak_at_ns; /* BYTEPOLL_NEVER: there was none */
	uint64_t size_min;   /* for intervals of objects; 0: nothing is assumed */
	double confidence;
	/* Allocated while sampling was off: in no other figure. */
	struct bytepoll_count bytes_off, objects_off;
};
bool bytepoll_table_info(const struct bytepoll_table *table, struct bytepoll_table_info *ret_info);

/* Sentences that a reader of the figures must know; NULL: no more. */
const char *bytepoll_table_warning(const struct bytepoll_table *table, uint32_t i);

/* The sampling intervals in force, growing; 0: no more. */
uint64_t bytepoll_table_interval(const struct bytepoll_table *table, uint32_t i);

struct bytepoll_total {
	size_t struct_bytes;
	uint64_t samples;
	struct bytepoll_figure bytes, objects;
};
/* A total of what window, processes and filters select. False: it is not known (peak of unrelated
 * files, what a file does not tell), or there is no such metric. */
bool bytepoll_table_total(
	const struct bytepoll_table *table, const char *metric, struct bytepoll_total *ret_total);

struct bytepoll_row {
	size_t struct_bytes;
	const char *name;	/* NULL by stack */
	const uint32_t *frames; /* by stack: numbers, innermost first */
	uint32_t frame_count;
	uint32_t stack_flags; /* of enum bytepoll_stack_flag */
	uint64_t samples;
	struct bytepoll_figure bytes, objects;
};
/* Row `i`, in the order asked for. False: no more. */
bool bytepoll_table_row(
	const struct bytepoll_table *table, uint32_t i, struct bytepoll_row *ret_row);

/* Everything selected that is under none of the first `shown` rows; false: nothing. */
bool bytepoll_table_rest(
	const struct bytepoll_table *table, uint32_t shown, struct bytepoll_row *ret_row);

/* What was live at one moment. Never grows. */
struct bytepoll_moment {
	uint64_t time_ns, samples;
	struct bytepoll_figure bytes, objects;
	bool off; /* sampling was off then, for some thread */
};
/* What was live at `count` >= 2 moments, evenly from the start of the run, or of the window, to its
 * end. The table must be of metric live, without `at`. */
bool bytepoll_table_timeline(const struct bytepoll_table *table, uint32_t count,
	struct bytepoll_moment *ret_moments, struct bytepoll_error *error);

/* --- Sums that add up: over threads, processes, hosts, days ---
 *
 * Figures of several profiles cannot be added: intervals do not add up. The sums they are made of
 * do. A row has one record, or several, one for each size class (of law bernoulli, where objects
 * larger than the sampling interval were taken by chance). Records of one key and one class are
 * merged, in whatever order and place; then one call makes the figure. Keys of several programs are
 * the caller's affair: names, or the functions of a stack. */

enum bytepoll_sums_flag {
	BYTEPOLL_SUMS_FIRST = 1,    /* the first_... fields are set */
	BYTEPOLL_SUMS_MIXED = 2,    /* some sample differs from the first */
	BYTEPOLL_SUMS_BERNOULLI = 4 /* a large object was taken by chance */
};

/* Plain numbers, to be stored anywhere. All zero but struct_bytes: nothing. */
struct bytepoll_sums {
	size_t struct_bytes;
	uint32_t size_class; /* 0 to 16 */
	uint32_t flags;	     /* of enum bytepoll_sums_flag; merged by OR (FIRST: see below) */
	uint64_t samples;    /* these nine add up */
	double bytes;	     /* of the samples */
	double c1, c2, c3;   /* cumulants of what was not sampled, in bytes */
	double n1, n2, n3;   /* and in objects */
	double log_pi_sum;   /* of the logarithms of the probabilities of being sampled */
	/* Of one sample, any; where two records differ here, the merged one is MIXED. */
	uint64_t first_size, first_interval;
	double first_value;
	uint32_t first_charge;
	uint32_t unused;
	uint64_t interval_max; /* these two are merged as the larger one */
	double ratio_max;
	/* By size: the size of every object under the key. 0: there may be several; so where merged
	 * records differ. */
	uint64_t one_size;
};

/* What figures made of sums assume, and the counters they are part of. */
enum bytepoll_assumption_flag {
	/* all that was allocated can be compared with the counters */
	BYTEPOLL_ASSUME_CALIBRATED = 1,
	BYTEPOLL_ASSUME_LOWER_BOUND = 2, /* samples were lost */
	BYTEPOLL_ASSUME_UPPER_BOUND = 4, /* frees were */
	BYTEPOLL_ASSUME_USABLE = 8	 /* bytes are usable ones */
};
struct bytepoll_assumptions {
	size_t struct_bytes;
	uint32_t flags;	   /* of enum bytepoll_assumption_flag */
	uint32_t charge;   /* trials of an object beyond its size */
	uint64_t interval; /* bounds what may be there without a sample */
	double ratio_max;  /* the most bytes one trial can stand for: 1, but of usable bytes */
	/* Allocated, by the counters: no figure is larger. High UINT64_MAX: not known. */
	struct bytepoll_count bytes, objects;
	struct bytepoll_count offered, offered_objects; /* of these, what could be sampled */
	/* The smallest size that can be among what is selected, and among all else: what the
	 * query states, what the kind of profile implies, what the filters leave. 0: nothing is
	 * assumed. */
	uint64_t size_min, size_min_beside;
};

/* The records of row `i`, at most `room` of them, into `ret_records` (which is of structs with
 * struct_bytes set). Returns how many there are, at most 17; 0: no such row, or a metric or
 * estimator whose figures are not made of sums alone (peak; calibrated, and those of other
 * tools). */
size_t bytepoll_table_row_sums(const struct bytepoll_table *table, uint32_t i,
	struct bytepoll_sums *ret_records, size_t room);
/* The same of all rows together; and of everything else that was allocated: what the filters left
 * out, and what does not count under the metric. */
size_t bytepoll_table_total_sums(
	const struct bytepoll_table *table, struct bytepoll_sums *ret_records, size_t room);
size_t bytepoll_table_outside_sums(
	const struct bytepoll_table *table, struct bytepoll_sums *ret_records, size_t room);
bool bytepoll_table_assumptions(
	const struct bytepoll_table *table, struct bytepoll_assumptions *ret_assumptions);

/* Adds `other` to `sums`, of the same size class. False: they are not, or are no sums (a number
 * that is not finite, or below zero). */
bool bytepoll_sums_merge(struct bytepoll_sums *sums, const struct bytepoll_sums *other);
bool bytepoll_assumptions_merge(
	struct bytepoll_assumptions *assumptions, const struct bytepoll_assumptions *other);

/* Makes the figures of a key: of `count` records (several of one class are merged). `others`: the
 * records of everything else that was allocated, where the assumptions are CALIBRATED (the key is
 * then a part of a counted total, which makes intervals narrower); or NULL. `confidence` as in a
 * query. For the sums of a single table these are its rows' figures. */
bool bytepoll_sums_estimate(const struct bytepoll_sums *records, size_t count,
	const struct bytepoll_sums *others, size_t other_count,
	const struct bytepoll_assumptions *assumptions, double confidence,
	struct bytepoll_figure *ret_bytes, struct bytepoll_figure *ret_objects,
	struct bytepoll_error *error);

/* --- Differences --- */

struct bytepoll_difference; /* what changed between two sides, and which changes are real */

enum bytepoll_comparison_flag { BYTEPOLL_BY_OBJECTS = 1 /* verdicts, q, order by objects */ };

struct bytepoll_comparison {
	size_t struct_bytes;
	uint32_t flags; /* of enum bytepoll_comparison_flag */
	uint32_t unused;
	const char *sort;	  /* change, ratio, q, base, new, name; NULL: change */
	double false_discoveries; /* among the verdicts, on average at most, in (0, 1); 0: 0.05 */
	/* What figures are multiplied by, first of the base runs, then of the new ones: to compare
	 * per unit of work. NULL: nothing. Each > 0. */
	const double *scales;
};

/* Compares the runs of two sides, each profile one run. With several on both sides the program's
 * own variation is covered too. The query says what of: `by` function, stack, module, thread, size,
 * type, kind or label; `estimator` and `sort` are not looked at. Metric peak: one run a side. Query
 * and comparison may be NULL. Rows are matched by names that survive a rebuild. */
struct bytepoll_difference *bytepoll_compare(struct bytepoll_profile *const *base,
	size_t base_count, struct bytepoll_profile *const *news, size_t new_count,
	const struct bytepoll_query *query, const struct bytepoll_comparison *comparison,
	struct bytepoll_error *error);

/* Compares what is live at two moments of one profile. `by` may be line or file too. */
struct bytepoll_difference *bytepoll_compare_moments(struct bytepoll_profile *profile,
	uint64_t base_ns, uint64_t new_ns, const struct bytepoll_query *query,
	const struct bytepoll_comparison *comparison, struct bytepoll_error *error);

/* NULL is fine. */
void bytepoll_difference_close(struct bytepoll_difference *difference);

struct bytepoll_difference_info {
	size_t struct_bytes;
	uint32_t rows, verdicts, tested, warnings; /* rows with a verdict come first */
	double confidence, false_discoveries;
};
bool bytepoll_difference_info(
	const struct bytepoll_difference *difference, struct bytepoll_difference_info *ret_info);
const char *bytepoll_difference_warning(const struct bytepoll_difference *difference, uint32_t i);

/* Bytes or objects of a row. Never grows. */
struct bytepoll_change {
	struct bytepoll_figure base, news; /* of several runs: their means */
	struct bytepoll_figure change;	   /* new - base */
	/* new / base; high may be INFINITY. UNKNOWN: no base. Between moments: no limits (NAN). */
	struct bytepoll_figure ratio;
	double p; /* of no change, two-sided */
	/* Between the runs of a side, beyond sampling; NAN with one run. */
	double base_deviation, new_deviation;
};

struct bytepoll_difference_row {
	size_t struct_bytes;
	const char *name; /* NULL by stack */
	/* By stack: frames of `profile`, innermost first, as last seen. */
	const struct bytepoll_profile *profile;
	const uint32_t *frames;
	uint32_t frame_count;
	bool tested; /* enough samples for a p-value that counts */
	uint8_t unused[3];
	uint64_t base_samples, new_samples;
	const char *verdict; /* grew, shrank, new, gone, unclear */
	double q;	     /* p, adjusted for how many were tested; NAN: not tested */
	struct bytepoll_change bytes, objects;
};
/* Row `i`: those with a verdict first. False: no more. */
bool bytepoll_difference_row(struct bytepoll_difference *difference, uint32_t i,
	struct bytepoll_difference_row *ret_row);
/* The sides as wholes. */
bool bytepoll_difference_total(
	struct bytepoll_difference *difference, struct bytepoll_difference_row *ret_row);
/* All but the first `shown` rows as one; false: there are none, or they overlap (cumulative). */
bool bytepoll_difference_rest(struct bytepoll_difference *difference, uint32_t shown,
	struct bytepoll_difference_row *ret_row);

/* --- Checks --- */

enum bytepoll_limit_flag {
	BYTEPOLL_LIMIT_OBJECTS = 1, /* `most` is a number of objects, not of bytes */
	BYTEPOLL_LIMIT_ONLY_SEEN =
		2 /* judge what was seen, though processes or names are missing */
};

struct bytepoll_limit {
	size_t struct_bytes;
	const char *metric; /* live, peak, allocated, temporary; NULL: live */
	const char *filter; /* KEY=GLOB; NULL: everything */
	double most;
	double false_alarm; /* of each outcome, in (0, 0.5); 0: 0.01. Divided over several limits */
	uint32_t flags;	    /* of enum bytepoll_limit_flag */
	uint32_t unused;
};

enum bytepoll_check_result_flag {
	BYTEPOLL_LOW_HOLDS = 1,	     /* of `figure`; else -INFINITY, since samples were lost, say */
	BYTEPOLL_HIGH_HOLDS = 2,     /* else INFINITY */
	BYTEPOLL_NOTHING_MATCHES = 4 /* no sample passes the filter */
};

struct bytepoll_check_result {
	size_t struct_bytes;
	/* "within", "exceeded": wrong with a probability of at most the false-alarm rate; or
	 * "undecided". */
	const char *outcome;
	/* Why it is undecided: not-seen, unprofiled, nothing-seen, processes-not-seen,
	 * samples-lost, frees-lost, sampling-off, names-missing, killed, too-near, samples. NULL:
	 * it is decided. */
	const char *reason;
	struct bytepoll_figure figure;
	uint32_t flags; /* of enum bytepoll_check_result_flag */
	uint32_t unused;
	uint64_t samples;
	uint64_t interval; /* the largest sampling interval in force */
	/* With reason "samples": what would decide. */
	double samples_needed;
	uint64_t interval_needed;
};

/* Holds a profile to a limit, as `bytepoll check`. Of the query, which may be NULL, the window,
 * moment, process, filters and kind of bytes are looked at. */
bool bytepoll_check(struct bytepoll_profile *profile, const struct bytepoll_query *query,
	const struct bytepoll_limit *limit, struct bytepoll_check_result *ret_result,
	struct bytepoll_error *error);

#pragma GCC diagnostic pop

#ifdef __cplusplus
}
#endif

#endif
