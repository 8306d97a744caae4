/* SPDX-License-Identifier: MIT */
/* The rows of a group that are worth showing: those that missed, and those of many samples that are
 * furthest off. Private to verify.c. */
#ifndef BP_VERIFY_VERIFY_LIST_H
#define BP_VERIFY_VERIFY_LIST_H

#include "verify/verify.h"

/* Keeps a copy of `row` in the lists of `group` where it belongs. False: no memory. */
bool bp_verify_list_offer(struct bp_verify_group *group, const struct bp_verify_row *row);

void bp_verify_list_finish(struct bp_verify_list *list);

#endif
