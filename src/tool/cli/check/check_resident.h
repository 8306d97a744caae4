/* SPDX-License-Identifier: MIT */
/* What `bytepoll check` says of the whole process beside its limits on malloc. */
#ifndef BP_CLI_CHECK_CHECK_RESIDENT_H
#define BP_CLI_CHECK_CHECK_RESIDENT_H

#include "check/check.h"
#include "text/quantity.h"

/* Tells `warner` where malloc explains little of the process at all, first, and which limits on
 * malloc the process itself is beyond. Error: memory. */
bool bp_check_warn_of_process(const struct bp_profile *profile, const struct bp_resident *resident,
	const struct bp_query *query, const struct bp_limit *limits, uint32_t count,
	struct bp_quantity_style style, struct bp_warner *warner, struct bp_error *error);

#endif
