/* SPDX-License-Identifier: MIT */
/* Which pages of a process's anonymous memory are present, from outside (resident/pages/pages.h).
 * The recorder's own memory is left out. Called by look.c. */
#ifndef BP_CLI_MAPPINGS_PAGES_LOOK_H
#define BP_CLI_MAPPINGS_PAGES_LOOK_H

#include "cli/mappings/page_reader.h"
#include "cli/mappings/smaps.h"
#include "resident/pages/pages.h"

/* False: there are too many runs, or no memory; nothing is filled. */
bool bp_pages_look(
	struct bp_page_reader *reader, const struct bp_smaps *smaps, struct bp_pages *ret_pages);

#endif
