/* SPDX-License-Identifier: MIT */
/*
 * The lines of a Go heap profile in its text form, as writeHeapInternal of Go's runtime/pprof
 * writes them. Called by go_text.c and go_mem_stats.c. Everything points into the bytes of the
 * file, which must outlive it; what is read never leaves them. Outputs are untouched on failure.
 * Pure, thread-safe.
 */
#ifndef BP_IMPORT_PPROF_GO_TEXT_LINES_H
#define BP_IMPORT_PPROF_GO_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the file: [at, end). */
struct bp_go_text {
	const char *at, *end;
};

/* What was sampled: counts of samples, and the sizes of their objects summed. Not scaled. */
struct bp_go_text_figures {
	int64_t live_objects, live_bytes, allocated_objects, allocated_bytes;
};

/* A frame of the stack of a record. */
struct bp_go_text_frame {
	uint64_t pc;		      /* of the call, not of where it returns to */
	uint64_t offset;	      /* of pc in the function that was called (not inlined) */
	struct bp_go_text name, file; /* empty: not known */
	uint32_t line;		      /* 0: not known */
};

bool bp_go_text_is_empty(struct bp_go_text text);
bool bp_go_text_begins(struct bp_go_text text, const char *with);

/* The next line from `*position` on, without its end (\n or \r\n). False: the rest of the file has
 * no end of a line, so that it is no whole line. */
bool bp_go_text_next_line(struct bp_go_text *position, struct bp_go_text *ret_line);

/* `173: 36028608 [698: 190418000] @`; moves `*line` behind it. */
bool bp_go_text_read_figures(struct bp_go_text *line, struct bp_go_text_figures *ret_figures);

/* `heap profile: `, figures, ` heap/1048576`. The interval is as it is written: twice Go's
 * MemProfileRate. */
bool bp_go_text_read_header(struct bp_go_text line, struct bp_go_text_figures *ret_figures,
	uint64_t *ret_twice_the_interval);

/* The next program counter of a record, ` 0x47d573`. False: there is none, or, with `*line` not
 * empty, something else. */
bool bp_go_text_next_pc(struct bp_go_text *line, uint64_t *ret_pc);

/* `#	0x4f8204	main.small+0x24		/src/truth.go:28`, or `#	0x4f8204` where the
 * name is not known. False: it is no line of a frame. */
bool bp_go_text_read_frame(struct bp_go_text line, struct bp_go_text_frame *ret_frame);

/* A number without a sign at the start of `*text`, decimal; moves `*text` behind it. */
bool bp_go_text_read_number(struct bp_go_text *text, uint64_t *ret_number);

/* Moves `*text` behind `words`, if it begins with them. */
bool bp_go_text_skip(struct bp_go_text *text, const char *words);

#endif
