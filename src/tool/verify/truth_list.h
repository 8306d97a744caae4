/* SPDX-License-Identifier: MIT */
/* The rows of a group that are worth showing: those that missed, and those of many samples that are
 * furthest off. Private to truth.c. */
#ifndef BP_VERIFY_TRUTH_LIST_H
#define BP_VERIFY_TRUTH_LIST_H

#include "verify/truth.h"

/* Keeps a copy of `row` in the lists of `group` where it belongs. False: no memory. */
bool bp_truth_list_offer(struct bp_truth_group *group, const struct bp_truth_row *row);

void bp_truth_list_finish(struct bp_truth_list *list);

#endif
