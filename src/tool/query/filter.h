/* SPDX-License-Identifier: MIT */
/*
 * Filters: KEY=GLOB, where a key is one of `--by` and a glob has * ? and [...]; `KEY=A|B` passes
 * what matches A or B (a bar after a backslash or in brackets is a letter); sizes are ranges
 * (`size=64..4K`, either end may be missing, both ends included). What matches is what the rows of
 * `--by KEY` are called (row_name.h), "(no name)" and the like if the glob begins with a
 * parenthesis, and short forms of it. A stack passes `stack=` if any of its functions matches;
 * function, line, file and module look at the innermost frame outside the allocator, and with
 * `--cumulative` at every frame. File, module and process match by their whole path or by its last
 * part, threads by name or tid, processes by program or pid too. Where a line is not known, its row
 * bears the function's name, and `line` looks at that. `label:KEY=GLOB` looks at the value of one
 * label (empty where there is none), `label=GLOB` at every `key=value`. `time=FROM..TO` passes what
 * was allocated at FROM or later and before TO, since the start of the first process
 * (`time=1s..2.5s`, either end may be missing). It is not the window of a query, which for the peak
 * says which moments are looked at: both together give the peak of what was allocated in a window.
 *
 * `freed-by=GLOB` passes what was freed by a stack of which any function matches, at any time of
 * the recording: it is `stack=` of the stack that freed. What was never freed does not pass,
 * whatever the glob is, and what was freed by a stack that is not known is called
 * "(not known where)".
 */
#ifndef BP_QUERY_FILTER_H
#define BP_QUERY_FILTER_H

#include "base/error.h"
#include "query/query.h"

struct bp_suppressions; /* suppressions.h */

struct bp_filter {
	enum bp_key key;
	const char *text;	      /* as given, "KEY=GLOB", for reports */
	const char *glob;	      /* points into text */
	uint64_t size_low, size_high; /* key size, bytes */
	/* "time=FROM..TO": [from, to), since the start. The key is then size, of any size. */
	bool of_time;
	uint64_t from_ns, to_ns;
	/* "freed-by=GLOB": of the stack that freed. The key is then stack. */
	bool of_free;
	/* Key label, "label:KEY=GLOB": points into text. NULL, "label=GLOB": any `key=value`
	 * matches. */
	const char *label_key;
	size_t label_key_bytes;
	/* By module: is any function in it named? NULL: frames without a name do not match.
	 * Otherwise what may match does too: such a frame, for key stack only in a module without
	 * any names. */
	const bool *modules_named;
	/* Not NULL: key is stack, and it passes what these suppressions match nothing of; or, with
	 * `suppressed`, what they do. */
	const struct bp_suppressions *suppressions;
	bool suppressed;
};

/* The word of filters by the place that frees, which is no key of rows; and what stands there for a
 * place that is not known. */
#define BP_FREED_BY "freed-by"
#define BP_FREED_SOMEWHERE "(not known where)"

/* Reads one filter; the result points into `text`. */
bool bp_filter_parse(const char *text, struct bp_filter *ret_filter, struct bp_error *error);

/* Do the first `bytes` of a text begin with KEY=, where filters may be given without a key? The
 * keys are those that bp_filter_parse knows. A function's name that begins so is improbable.
 * Pure. */
bool bp_filter_has_key(const char *text, size_t bytes);

/* Does one of the filters of a query look at where objects were freed? Pure. */
bool bp_query_filters_frees(const struct bp_query *query);
/* Does what lives at the end pass none of them therefore? Metric live is absent then, but for a
 * moment of the query's own. */
static inline bool bp_without_what_lives(const struct bp_query *query)
{
	return !query->has_at && bp_query_filters_frees(query);
}

/* Does the name of a row match? What stands there for something that is not known, "(no name)", is
 * meant only by a glob or an alternative that begins with the parenthesis: *name* means names. */
bool bp_filter_matches_row(const struct bp_filter *filter, const char *row);

/* Does a function's name match, with its argument list or without? Pure. */
bool bp_filter_matches_function(const struct bp_filter *filter, const char *name);

/* Does a name pass? `or_last_part`: the part after the last slash may match instead. */
bool bp_filter_matches(const struct bp_filter *filter, const char *name, bool or_last_part);

#endif
