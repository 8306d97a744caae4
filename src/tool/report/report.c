/* SPDX-License-Identifier: MIT */
/* The array of reports; see report.h. */
#include "report/report.h"

#include <string.h>

const struct bp_report *const bp_reports[] = {
	&bp_report_table,
	&bp_report_tree,
	&bp_report_json,
	&bp_report_csv,
	&bp_report_timeline,
	&bp_report_summary,
	&bp_report_stats,
	NULL,
};

const struct bp_report *bp_report_find(const char *name)
{
	for (size_t i = 0; bp_reports[i] != NULL; i++)
		if (strcmp(bp_reports[i]->name, name) == 0)
			return bp_reports[i];
	return NULL;
}
