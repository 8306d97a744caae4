/* SPDX-License-Identifier: MIT */
/*
 * The streaming reader of .nettrace files: the framing of versions 4 and 5 (what the .NET runtime
 * writes) and 6 (what collectors of whole machines write), down to events with their payload,
 * stacks and lost events. What events mean is none of its business (dotnet_events.h).
 *
 * The file may be cut anywhere and may be hostile. One block at a time is in memory (at most
 * BP_NETTRACE_BLOCK_MAX bytes of it); references point backwards, so one pass is enough. Events of
 * a block that is cut off are delivered as far as they are whole.
 *
 * Lost events. The writer numbers the events of each thread that captures them; a gap in the
 * numbers, or a sequence point that names a number not seen, are events the writer's buffers had no
 * room for. All kinds of events count: which ones were lost is not known.
 *
 * Life: bp_nettrace_open, bp_nettrace_read, then the counts; bp_nettrace_close (safe on zeroed
 * memory and after a failed open). Thread-safety: a reader belongs to its caller. Source: the
 * format documents of PerfView, NetTraceFormat_v5.md and NetTraceFormat.md.
 */
#ifndef BP_IMPORT_DOTNET_NETTRACE_READER_H
#define BP_IMPORT_DOTNET_NETTRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/index.h"

/* Larger blocks are refused: runtimes write some 100 KB. */
#define BP_NETTRACE_BLOCK_MAX ((uint32_t)64 << 20)
#define BP_NETTRACE_PROVIDER_BYTES 96u

/* A kind of event, as the file describes it. Runtime events come without name or fields. */
struct bp_nettrace_kind {
	uint64_t id;				   /* in the file */
	char provider[BP_NETTRACE_PROVIDER_BYTES]; /* UTF-8, terminated, cut to fit */
	uint32_t event, version;
	uint64_t count; /* events of it delivered */
};

struct bp_nettrace_event {
	const struct bp_nettrace_kind *kind; /* NULL: the file does not describe it */
	uint64_t thread;		     /* the operating system's id */
	uint32_t stack;			     /* id; unknown ids mean: no stack */
	uint64_t time;			     /* in ticks of the file's clock */
	struct bp_bytes payload;
};

/* A thread that captures events. Ids are used again by the system: all its lives together. */
struct bp_nettrace_thread {
	uint64_t key; /* capture thread id of versions 4 and 5, index of version 6 */
	uint64_t tid;
	uint64_t events, lost;
	uint32_t sequence; /* of its last event */
};

/* What the reader calls, in the order of the file. A callback that returns false ends the reading,
 * which then fails with the error that the callback has set. */
struct bp_nettrace_handler {
	void *context;
	bool (*on_event)(void *context, const struct bp_nettrace_event *event);
	/* `pcs`: `count` addresses of the trace's pointer size, innermost first; ids last until
	 * on_flush. */
	bool (*on_stack)(void *context, uint32_t id, const uint8_t *pcs, uint32_t count);
	bool (*on_flush)(void *context);
};

struct bp_nettrace_reader {
	int fd;
	bool opened;
	uint64_t at, file_bytes;
	uint8_t *block;
	uint32_t block_capacity;
	/* From the head of the trace; kept by every version. */
	uint32_t version; /* 4 (which includes 5) or 6 */
	uint32_t pointer_bytes, processors;
	uint64_t process_id;
	uint16_t start_utc[8]; /* year, month, day of week, day, hour, minute, second, ms */
	uint64_t start_ticks, ticks_per_second;
	/* Found on the way. */
	uint64_t events, blocks, bad_events, bad_blocks;
	uint64_t events_in_cut_block;
	bool cut;    /* the file ends without its end tag */
	bool headed; /* the head has been read */
	struct bp_nettrace_kind *kinds;
	uint32_t kind_count, kind_capacity;
	struct bp_index kinds_by_id;
	struct bp_nettrace_thread *threads;
	uint32_t thread_count, thread_capacity;
	struct bp_index threads_by_key;
};

/* Does a file that begins with these bytes look like one of this format? */
bool bp_nettrace_sniff(const uint8_t *head, size_t bytes);

bool bp_nettrace_open(struct bp_nettrace_reader *reader, const char *path, struct bp_error *error);

/* Reads all there is. False: no memory, the file cannot be read, it has no head, or a callback said
 * so. */
bool bp_nettrace_read(struct bp_nettrace_reader *reader, const struct bp_nettrace_handler *handler,
	struct bp_error *error);

void bp_nettrace_close(struct bp_nettrace_reader *reader);

#endif
