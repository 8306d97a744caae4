/* SPDX-License-Identifier: MIT */
/* Short sorted lists: a row that is worse than the last of a full list takes its place. */
#include "verify/verify_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double order_of(const struct bp_verify_row *row);

static double by_truth(const struct bp_verify_row *row)
{
	return (double)row->units[BP_VERIFY_BYTES].truth;
}

static double by_relative_error(const struct bp_verify_row *row)
{
	const struct bp_verify_figure *bytes = &row->units[BP_VERIFY_BYTES];
	if (bytes->truth == 0)
		return INFINITY;
	return fabs(bytes->shown.interval.estimate / (double)bytes->truth - 1);
}

static bool keep(struct bp_verify_list *list, const struct bp_verify_row *row, order_of *order)
{
	uint32_t at = list->count;
	list->seen++;
	while (at > 0 && order(&list->rows[at - 1]) < order(row))
		at--;
	if (at == BP_VERIFY_KEPT)
		return true;
	char *name = strdup(row->name);
	if (name == NULL)
		return false;
	if (list->count == BP_VERIFY_KEPT)
		free(list->rows[--list->count].name);
	memmove(&list->rows[at + 1], &list->rows[at], (list->count - at) * sizeof *list->rows);
	list->rows[at] = *row;
	list->rows[at].name = name;
	list->count++;
	return true;
}

bool bp_verify_list_offer(struct bp_verify_group *group, const struct bp_verify_row *row)
{
	const bool held = row->units[BP_VERIFY_BYTES].held && row->units[BP_VERIFY_OBJECTS].held;
	if (!held && !keep(&group->missed, row, by_truth))
		return false;
	return row->samples < BP_VERIFY_MANY_SAMPLES ||
	       row->units[BP_VERIFY_BYTES].shown.interval.unknown ||
	       keep(&group->errors, row, by_relative_error);
}

void bp_verify_list_finish(struct bp_verify_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		free(list->rows[i].name);
	list->count = 0;
}
