/* SPDX-License-Identifier: MIT */
/*
 * The columns of table `processes`: who recorded it (tags), and every field of struct bp_process
 * that figures and warnings depend on, as data, so that writing and reading cannot disagree.
 */
#ifndef BP_FLEET_PROCESS_FIELDS_H
#define BP_FLEET_PROCESS_FIELDS_H

#include "base/error.h"
#include "model/profile.h"
#include "parquet/parquet_file.h"

#define BP_PROCESS_FIELDS_MAX 96u
#define BP_PROCESS_ID_BYTES 33u /* 32 hexadecimal digits and a NUL */

/* What a recording is called by whoever keeps it; texts are not NULL. */
struct bp_tags {
	const char *service, *release, *host;
	const char *tags; /* `key=value`, a line each, sorted by bytes */
};

/* The columns that come first, in this order; those of struct bp_process follow. */
enum bp_process_head {
	BP_PROCESS_process, /* the id of the process */
	BP_PROCESS_run,	    /* the id of the first process of its tree */
	BP_PROCESS_parent,
	BP_PROCESS_service,
	BP_PROCESS_release,
	BP_PROCESS_host,
	BP_PROCESS_tags,
	BP_PROCESS_lost,
	BP_PROCESS_unread_files,
	BP_PROCESS_HEAD_COUNT
};

extern const uint32_t bp_process_field_count;
struct bp_parquet_column bp_process_column(uint32_t number);

/* The field `number` >= BP_PROCESS_HEAD_COUNT of a process. A text is that of the profile, and may
 * be no valid UTF-8. */
struct bp_parquet_value bp_process_value(
	const struct bp_profile *profile, const struct bp_process *process, uint32_t number);

/* The other way round. Errors: memory. */
bool bp_process_set(struct bp_profile *profile, struct bp_process *process, uint32_t number,
	const struct bp_parquet_value *value, struct bp_error *error);

#endif
