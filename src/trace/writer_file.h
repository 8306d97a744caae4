/* SPDX-License-Identifier: MIT */
/* The file under the writer: what writer.c (records) asks of writer_file.c (mappings). Private to
 * trace/. Both calls: the lane is locked by the caller; false: counted as lost, nothing to write to. */
#ifndef BP_TRACE_WRITER_FILE_H
#define BP_TRACE_WRITER_FILE_H

#include "trace/writer.h"

/* Closes the lane's chunk, if any, and gives it a fresh one of `kind`, its header page present and
 * its magic not yet stored. */
bool bp_writer_new_chunk(struct bp_writer *writer, struct bp_lane *lane);

/* Makes the first `bytes` bytes of the lane's chunk safe to store to. */
bool bp_writer_make_ready(struct bp_writer *writer, struct bp_lane *lane, uint32_t bytes);

#endif
