/* SPDX-License-Identifier: MIT */
/* Whose objects keep pages of the heap, for json.c: the member "pages", present where --pages asked
 * for it. */
#ifndef BP_REPORT_PAGES_JSON_H
#define BP_REPORT_PAGES_JSON_H

#include "report/report.h"
#include "text/json_writer.h"

void bp_json_pages(struct bp_json *json, const struct bp_report_options *options);

#endif
