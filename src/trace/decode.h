/* SPDX-License-Identifier: MIT */
/*
 * Decoding of single records (docs/trace-format.md, section 3); private to the reader. The caller
 * sets the decoder to the start of a chunk's payload and asks until nothing is left.
 */
#ifndef BP_TRACE_DECODE_H
#define BP_TRACE_DECODE_H

#include "trace/reader.h"

enum bp_trace_decoded {
	BP_TRACE_DECODED,   /* *ret_record holds a record */
	BP_TRACE_SKIPPED,   /* a tag not known here; its number is in ret_record->tag */
	BP_TRACE_FATAL,	    /* a tag not known here that must be; its number likewise */
	BP_TRACE_MALFORMED, /* does not fit: the rest of the chunk has no meaning */
	BP_TRACE_NO_MEMORY
};

/* So many bytes behind the payload must be the caller's memory, too; what they are does not
 * matter. */
#define BP_TRACE_SLACK 256u

/* Decodes one record; there must be bytes left. */
enum bp_trace_decoded bp_trace_decode(
	struct bp_trace_decoder *decoder, struct bp_trace_record *ret_record);

/* The same of as many samples and frees as come next without a hitch, at most `most`; 0:
 * bp_trace_decode says what comes. */
uint32_t bp_trace_decode_numbers(
	struct bp_trace_decoder *decoder, struct bp_trace_record *ret_records, uint32_t most);

#endif
