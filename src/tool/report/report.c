/* SPDX-License-Identifier: MIT */
/* The array of reports; see reports.h. */
#include "report/report.h"

#define ENTRY(name, summary) &bp_report_##name,

const struct bp_report *const bp_reports[] = { BP_REPORTS_TO_READ(ENTRY) BP_REPORTS_AS_DATA(ENTRY)
		NULL };
