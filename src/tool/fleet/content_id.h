/* SPDX-License-Identifier: MIT */
/*
 * Ids that are made of what they stand for, so that the tables of many hosts can be put together
 * without translating any: equal frames and stacks have equal ids everywhere, and a process has its
 * trace id. Ids of frames and stacks have 64 bits: of 10^7 stacks two share one with a probability
 * of 3e-6, and then one of them is shown in place of the other. Pure.
 */
#ifndef BP_FLEET_CONTENT_ID_H
#define BP_FLEET_CONTENT_ID_H

#include "fleet/process_fields.h"
#include "model/profile.h"

/* A trace id as hexadecimal digits. */
void bp_trace_id_text(const uint8_t id[16], char ret_text[BP_PROCESS_ID_BYTES]);

/* The hexadecimal trace id of a process; where its file has none, one that is made of its program,
 * pid, times and totals. */
void bp_process_content_id(
	const struct bp_profile *profile, uint32_t process, char ret_id[BP_PROCESS_ID_BYTES]);

/* Where a process goes in a table of `places` that is indexed by such ids. */
uint32_t bp_process_id_place(const char *id, uint32_t places);

/* Of a frame at a location; never 0. */
uint64_t bp_frame_content_id(const struct bp_profile *profile, const struct bp_location *location,
	const struct bp_frame *frame);

/* Of a stack, from its flags and the ids of its frames, innermost first; 0 for the stack that is
 * not known, which has no frames and no flags. */
uint64_t bp_stack_content_id(uint8_t flags, const uint64_t *frames, uint32_t count);

#endif
