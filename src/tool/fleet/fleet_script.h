/* SPDX-License-Identifier: MIT */
/* The question in SQL; see fleet_script.c. */
#ifndef BP_FLEET_FLEET_SCRIPT_H
#define BP_FLEET_FLEET_SCRIPT_H

#include "fleet/fleet.h"

/* What the first field of a row of the answer says it is of. */
#define BP_ROW_DUPLICATE 'D' /* a process that is there twice: id */
#define BP_ROW_SUMMED 'Z'    /* how many of the runs are sums of older ones, without times */
#define BP_ROW_GONE 'G'	     /* how many of the attempts to push these runs do not count any more */
#define BP_ROW_PROCESS 'P'   /* number, then the columns of table processes */
#define BP_ROW_LEFT_OUT 'L'  /* how many runs were not recorded at both moments */
#define BP_ROW_THREAD 'T'    /* number of the process, then the columns from `thread` on */
/* number of the process, thread, moment by the clock of the machine, least and most bytes and
 * objects that the thread had allocated by then, by its readings (none: they do not say) */
#define BP_ROW_READING 'R'
#define BP_ROW_INTERVAL 'I' /* the same from `interval` on */
#define BP_ROW_PAUSE 'U'    /* the same from `from_ns` on */
#define BP_ROW_FRAME 'F'    /* the columns of table frames */
#define BP_ROW_STACK 'K'    /* the columns of table stacks, by stack and position */
/* number of the process, thread, nanoseconds from the start of the process until it began and until
 * it ended (none: never), temporary, size, usable, interval, exact, bernoulli, kind,
 * type, labels, stack, samples */
#define BP_ROW_SAMPLE 'S'

/* `sums` are those folders of the store that are sums. */
void bp_fleet_write_question(const struct bp_store *store, const struct bp_store *sums,
	const struct bp_fleet_filter *filter, struct bp_fleet_detail detail, FILE *script);

#endif
