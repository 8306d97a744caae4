/* SPDX-License-Identifier: MIT */
/*
 * The state page of somebody else's trace, mapped so that it can be looked at and steered. Who may
 * write the file may also cut it off, and memory mapped beyond the end of a file faults when it is
 * touched: that must not end the reader. A page whose file was cut off reads as zeros from then on,
 * and says so. Used by traced.c alone. Not thread-safe.
 */
#ifndef BP_CLI_TRACED_STATE_PAGE_H
#define BP_CLI_TRACED_STATE_PAGE_H

#include <stdbool.h>

/* Maps the page of an open trace, for writing too if `steer`; NULL with errno set: it cannot be. */
void *bp_state_page_map(int descriptor, bool steer);
void bp_state_page_unmap(void *page);

/* Has the page been touched after its file had been cut off? */
bool bp_state_page_is_cut(const void *page);

#endif
