/* SPDX-License-Identifier: MIT */
/*
 * The mean of a sample of hosts as JSON, schema bytepoll-hosts-1 (docs/schema/hosts-1.json):
 *
 *	hosts		the machines, by name, with their samples
 *	all_hosts	how many hosts there are, and figures are of all of them; null: figures are
 *			of one host, on average
 *	metric, by, cumulative, bytes, confidence, filters	what was asked
 *	total, rows	"samples"; "seen_hosts": on how many hosts there are any; "bytes" and
 *			"objects": figures as in bytepoll-report-1, with "deviation": the standard
 *			deviation between single hosts beyond the noise of sampling
 *	rows_left_out	by --rows
 *	warnings
 */
#include "report/diff/means_report.h"
#include "text/json_values.h"

static void write_mean(struct bp_json *json, const char *key, const struct bp_mean *mean)
{
	bp_json_object(json, key, BP_JSON_SPACED);
	bp_json_interval_members(json, &mean->figure.interval, 1);
	if (mean->figure.interval.exact)
		bp_json_bool(json, "exact", true);
	if (mean->figure.lower_bound)
		bp_json_bool(json, "lower_bound", true);
	if (mean->figure.upper_bound)
		bp_json_bool(json, "upper_bound", true);
	bp_json_number(json, "deviation", mean->deviation);
	bp_json_end(json);
}

/* `key` "total", or NULL for a row, which has a name. */
static void write_row(struct bp_json *json, const char *key, const struct bp_means_row *row)
{
	bp_json_object(json, key, BP_JSON_SPACED);
	if (key == NULL && row->name != NULL)
		bp_json_text(json, "name", row->name);
	else if (key == NULL)
		bp_json_frames(json, "stack", row->profile, row->frames, row->frame_count);
	bp_json_whole(json, "samples", row->samples);
	bp_json_whole(json, "seen_hosts", row->seen_hosts);
	write_mean(json, "bytes", &row->bytes);
	write_mean(json, "objects", &row->objects);
	bp_json_end(json);
}

static void write_hosts(struct bp_json *json, const struct bp_means *means)
{
	bp_json_array(json, "hosts", BP_JSON_LINES);
	for (uint32_t i = 0; i < means->host_count; i++) {
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_text(json, "name", means->hosts[i].file);
		bp_json_whole(json, "runs", means->hosts[i].compared->profile->stored_runs);
		bp_json_whole(json, "samples", means->hosts[i].compared->samples);
		bp_json_end(json);
	}
	bp_json_end(json);
}

void bp_write_means_json(
	const struct bp_means *means, const struct bp_means_options *options, FILE *out)
{
	const struct bp_query *query = &means->hosts[0].compared->query;
	const uint32_t rows = means->row_count, limit = options->report.rows;
	const uint32_t shown = rows < limit ? rows : limit;
	struct bp_json json = bp_json_begin(out);
	struct bp_means_row row;
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-hosts-1");
	write_hosts(&json, means);
	if (options->all_hosts > 0)
		bp_json_whole(&json, "all_hosts", options->all_hosts);
	else
		bp_json_null(&json, "all_hosts");
	bp_json_text(&json, "metric", bp_metric_names[query->metric]);
	bp_json_text(&json, "by", bp_query_by(query));
	bp_json_bool(&json, "cumulative", query->cumulative);
	bp_json_text(&json, "bytes", query->usable ? "usable" : "requested");
	bp_json_digits(&json, "confidence", query->confidence, 12);
	bp_json_filters(&json, query);
	bp_means_total(means, &row);
	write_row(&json, "total", &row);
	bp_json_array(&json, "rows", BP_JSON_LINES);
	for (uint32_t i = 0; i < shown; i++) {
		bp_means_row(means, i, &row);
		write_row(&json, NULL, &row);
	}
	bp_json_end(&json);
	bp_json_whole(&json, "rows_left_out", rows - shown);
	bp_json_texts(&json, "warnings", means->warnings);
	bp_json_end_document(&json);
}
