/* SPDX-License-Identifier: MIT */
/*
 * What the engine answers, row by row, as profiles: one of all that was asked for, or one for each
 * machine. Machines are told apart while the rows come, so that a question about a thousand of them
 * is one question. Frames and stacks come once for all; a machine's profile gets those that its
 * samples are on.
 *
 * Private to fleet/: fleet.c asks. One thread.
 */
#ifndef BP_FLEET_ANSWER_H
#define BP_FLEET_ANSWER_H

#include "base/index.h"
#include "fleet/duckdb.h"
#include "fleet/process_fields.h"
#include "model/profile.h"

/* Numbers by an id of 64 bits; 0: there is none. */
struct bp_answer_numbers {
	uint64_t *ids;
	uint32_t *numbers, count, capacity, number_capacity;
	struct bp_index index;
};

/* One of the profiles. */
struct bp_answer_part {
	struct bp_profile profile;
	struct bp_string_id host;	  /* in `names`; 0 where there is one profile of all */
	struct bp_answer_numbers threads; /* by process and the number it has there */
	struct bp_answer_numbers locations, stacks; /* by those of `names`, where parts are apart */
	uint64_t sequence;
	char run[BP_PROCESS_ID_BYTES]; /* of the process before */
};

/* The process of a row. */
struct bp_answer_process {
	uint32_t part;
	struct bp_process_id id; /* in its profile */
};

struct bp_answer {
	bool apart;	    /* a profile for each machine */
	bool keep_readings; /* as of struct bp_profile */
	const char *origin; /* as of struct bp_fleet_detail */
	struct bp_answer_part *parts;
	uint32_t count, capacity, left_out;
	struct bp_answer_process *processes; /* by the number in the answer, from 1 on */
	uint32_t process_count, process_capacity;
	uint32_t *part_of_host; /* the number of a part and 1, by the machine's name in `names` */
	uint32_t host_capacity;
	struct bp_profile names; /* where parts are apart: all frames and stacks, and machines */
	struct bp_answer_numbers locations, stacks; /* by their ids in the store */
	/* The stack whose frames come now: */
	bool open;
	uint64_t stack;
	uint8_t flags;
	struct bp_location_id *places;
	uint32_t depth, place_capacity;
};

/* Zeroes and prepares; finish it whether or not it succeeds. Errors: memory. */
bool bp_answer_init(struct bp_answer *answer, bool apart, bool keep_readings, const char *origin,
	struct bp_error *error);
/* Takes a row; `answer` is a struct bp_answer. Errors: values that no table of ours has, a run that
 * is in the store twice, sums that have no times; memory. */
bool bp_answer_take(void *answer, struct bp_duckdb_row *row, struct bp_error *error);
/* After the last row: the profiles are finished, in the order of their machines' names. Errors:
 * memory. */
bool bp_answer_end(struct bp_answer *answer, struct bp_error *error);
/* Whoever keeps a profile takes it out, and leaves a zeroed one, which may be finished too. */
void bp_answer_finish(struct bp_answer *answer);

/* The name of a part's machine. */
const char *bp_answer_host(const struct bp_answer *answer, const struct bp_answer_part *part);

#endif
