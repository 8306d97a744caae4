/* SPDX-License-Identifier: MIT */
/* What `bytepoll report --json` and `--csv` print, all rows of it, as a file. */
#include "export/export.h"
#include "report/report.h"

static bool write_rows(const struct bp_report *report, const struct bp_export_source *source,
	FILE *out, struct bp_error *error)
{
	const struct bp_report_options options = { .rows = BP_ROWS_ALL, .utf8 = true };
	return report->write(source->asked, &options, out, error);
}

static bool write_json(const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	return write_rows(&bp_report_json, source, out, error);
}

static bool write_csv(const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	return write_rows(&bp_report_csv, source, out, error);
}

const struct bp_export bp_export_json = {
	.name = "json", .by_rows = true, .mapped = true, .write = write_json
};

const struct bp_export bp_export_csv = {
	.name = "csv", .by_rows = true, .mapped = true, .write = write_csv
};
