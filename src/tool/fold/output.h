/* SPDX-License-Identifier: MIT */
/*
 * A trace made outside of the target, in memory: chunks of records (docs/trace-format.md, sections
 * 2, 3 and 5), sealed; private to fold/. Failures (no memory) are remembered in `failed` and asked
 * for once, at the end.
 */
#ifndef BP_FOLD_OUTPUT_H
#define BP_FOLD_OUTPUT_H

#include "fold/gather.h"

struct bp_fold_output {
	uint8_t *bytes; /* of the file; chunk 0 is the caller's to fill in */
	uint32_t capacity;
	uint32_t chunks;    /* chunk 0 included */
	uint32_t committed; /* of the last chunk */
	bool open;	    /* the last chunk can take more */
	bool failed;
	/* Decoding state at the end of the last chunk. */
	uint64_t time_ns, sequence, address, trials, objects, interval;
	uint32_t thread, law;
};

/* An empty file: chunk 0, zeros. */
void bp_fold_output_init(struct bp_fold_output *output);
void bp_fold_output_finish(struct bp_fold_output *output);

/* A whole record, tag and length included, as it stands. At most BP_PAYLOAD_BYTES. */
void bp_fold_put_raw(struct bp_fold_output *output, const uint8_t *data, size_t bytes);
/* A record made of a tag and a payload. */
void bp_fold_put_record(
	struct bp_fold_output *output, enum bp_tag tag, const uint8_t *payload, size_t bytes);
void bp_fold_put_sample(struct bp_fold_output *output, const struct bp_trace_sample *sample);
void bp_fold_put_free(struct bp_fold_output *output, const struct bp_trace_free *record);
/* Seals the last chunk. */
void bp_fold_output_seal(struct bp_fold_output *output);

#endif
