/* SPDX-License-Identifier: MIT */
/*
 * The files of one run: FILE and FILE.d, as docs/trace-format.md section 4 names them. `run` looks
 * them through when the first process has ended: which processes still write, how long each file
 * really is, and what can be tidied away. Reads headers and state pages; what the samples say
 * is the importer's business.
 */
#ifndef BP_CLI_FILES_TREE_H
#define BP_CLI_FILES_TREE_H

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/place.h"
#include "trace/format.h"
#include "trace/reader.h"

#define BP_TREE_INDEX "index"
#define BP_TREE_INDEX_TEMPORARY "index.new"

/* One file of the tree. */
struct bp_tree_file {
	char *path;
	const char *name; /* base name, within path */
	char *program;	  /* of the header, cut at 511 bytes */
	struct bp_trace_header header;
	struct bp_trace_state state;
	uint64_t bytes;	     /* length of the file */
	uint64_t disk_bytes; /* that it takes, its folded part included */
	uint64_t device, inode;
	bool first;		/* FILE itself, not in FILE.d */
	bool running;		/* its process still lives and may write */
	bool went_on;		/* it ended in an exec after which its process has no file */
	bool packed;		/* it stands in FILE.d/packed; `path` is where it stood before */
	uint64_t packed_number; /* there, from 0 */
	/* Known once bp_tree_read_rest was called: */
	bool keeps_notes; /* losses or execs that the index cannot tell of */
	uint64_t trials_low, trials_high, objects_low, objects_high;
	struct bp_trace_limits off_bytes, off_objects; /* of these: while sampling was off */
	uint64_t interval_max;			       /* largest T in force, bytes */
};

struct bp_tree {
	char file[PATH_MAX];
	char directory[PATH_MAX]; /* FILE.d */
	bool has_directory;	  /* something of that name is there */
	/* FILE.d, open; NULL: it is missing, or no folder (a link is none) */
	DIR *folder;
	struct bp_tree_file *files;
	size_t count, capacity;
	/* processes of the tree that run and have no file yet; set by the caller (running.h) */
	size_t untold;
	size_t unreadable; /* *.bpt files that are no traces, or torn before their header */
	/* Disk of FILE.d/packed and of the index, and how many entries the first has. */
	uint64_t packed_bytes, index_bytes, packed_entries;
};

/* What is left of a tree, summed. */
struct bp_tree_sums {
	uint64_t samples, bytes, lost[BP_LOSS_MAX];
	uint64_t trials_low, trials_high, objects_low, objects_high; /* after bp_tree_read_rest */
	size_t images, running;
	size_t unprofiled;		/* images that stayed unprofiled */
	uint32_t unprofiled_reason;	/* of the first of them, 0: none */
	const char *unprofiled_program; /* within the tree */
};

/* Reads the files of FILE at `file`, and what was packed. A missing FILE is no error: `count` is
 * then 0. */
bool bp_tree_read(const char *file, struct bp_tree *ret_tree, struct bp_error *error);
/* The same without what was packed. */
bool bp_tree_read_files(const char *file, struct bp_tree *ret_tree, struct bp_error *error);
void bp_tree_finish(struct bp_tree *tree);
void bp_tree_sum(const struct bp_tree *tree, struct bp_tree_sums *ret_sums);

/* Where a file lies: valid as long as the tree. */
struct bp_place bp_tree_place(const struct bp_tree *tree, const struct bp_tree_file *file);
/* Opens the file that was read, and no other one that has its name by now; -1: it is gone. */
int bp_tree_open(const struct bp_tree *tree, const struct bp_tree_file *file, int flags);

/* Is FILE.d a folder of the effective user that nobody else can write to? Only there is anything
 * changed. */
bool bp_tree_owns_folder(const struct bp_tree *tree);

/* Has the process of the file ended, and does nobody else hold it open or mapped? Then it does not
 * change any more. */
bool bp_tree_is_over(const struct bp_tree *tree, const struct bp_tree_file *file);

/* Was sampling off at the start, or anything changed since? Then T is not that of the header. */
bool bp_tree_has_control(const struct bp_tree_file *file);

/* Reads what headers and state pages do not say, into the last fields of every file: the totals of
 * processes that did not end in order, and notes that only the file itself holds. */
void bp_tree_read_rest(struct bp_tree *tree);

/* Cuts the unused tail of every file whose process has ended. Failure to cut is harmless and
 * silent: readers ignore the tail. */
void bp_tree_cut_tails(struct bp_tree *tree);

/* A process that is seen to have ended at `time_ns` (the machine's clock, base/clock.h) and did not
 * say so itself: its last image lived until then, and by which signal it ended (0: none), which its
 * trace will tell. Without effect where nothing is known of it. */
void bp_tree_note_end(struct bp_tree *tree, pid_t pid, uint64_t time_ns, int end_signal);

/* Once nothing runs any more: writes FILE.d/index, removes the files in FILE.d that hold neither a
 * sample nor exact sums, and FILE.d itself if nothing was ever in it. Does nothing while a process
 * of the tree runs. An error where FILE.d is not ours. */
bool bp_tree_write_index(struct bp_tree *tree, struct bp_error *error);

/* Is that the name of a trace? */
bool bp_tree_is_trace(const char *name);
/* Is a file called `name` in FILE.d one of the run's own? */
bool bp_tree_keeps(const char *name);

/* Removes FILE, and FILE.d with the traces and the index in it (--force); other files in FILE.d are
 * not touched, and then the directory stays and is an error. Nothing at all is removed where FILE.d
 * is not ours. */
bool bp_tree_remove(const char *file, struct bp_error *error);

#endif
