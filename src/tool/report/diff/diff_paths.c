/* SPDX-License-Identifier: MIT */
/*
 * The call paths of a difference as JSON, for the graph of its page (docs/page-format.md, schema
 * bytepoll-diff-paths-1): a tree with a row of bytepoll-diff-1 for each node. Paths of the same
 * samples share one row. A path that is narrower than nobody sees is left out, with all that goes
 * on from it; how narrow that is rises until there are few enough. How many are left out, and how
 * many of these have a verdict, is said. Judged were all of them before any was left out.
 */
#include <stdlib.h>

#include "report/diff/diff_report.h"

#define NODES_MAX 10000u /* 2 MB of JSON, which pack into 300 kB */
#define SHARE_LEAST (1.0 / 4096)

/* What of the paths is shown. */
struct shown {
	const struct bp_diff *diff;
	struct bp_diff_path *paths; /* [0]: the whole */
	uint32_t *number;	    /* of the node, by path; 0: left out */
	uint32_t *name;		    /* number of its name; several paths may have one */
	uint32_t *row;		    /* number of its row; 0: the total */
	uint32_t count, nodes, names, rows;
	uint32_t left_out, left_out_verdicts;
	double share;
};

/* On either side, by bytes or by objects? */
static bool is_wide(const struct shown *shown, const struct bp_diff_path *path)
{
	const struct bp_diff_path *whole = &shown->paths[0];
	for (int side = 0; side < BP_SIDES; side++)
		if (path->bytes[side] > shown->share * whole->bytes[side] ||
			path->objects[side] > shown->share * whole->objects[side])
			return true;
	return false;
}

/* (Estimates of a path are no larger than its caller's: who is wide has a caller that is. It is
 * asked for all the same, for rounding.) */
static void choose(struct shown *shown)
{
	shown->nodes = shown->left_out = shown->left_out_verdicts = 0;
	for (uint32_t i = 1; i <= shown->count; i++) {
		const struct bp_diff_path *path = &shown->paths[i];
		const bool has_caller = path->caller == 0 || shown->number[path->caller] != 0;
		if (has_caller && is_wide(shown, path)) {
			shown->number[i] = ++shown->nodes;
			continue;
		}
		shown->number[i] = 0;
		shown->left_out++;
		shown->left_out_verdicts += path->verdict != BP_VERDICT_UNCLEAR;
	}
}

static bool init(struct shown *shown, const struct bp_diff *diff)
{
	const uint32_t count = bp_diff_path_count(diff);
	const size_t room = (size_t)count + 1;
	*shown = (struct shown){ .diff = diff,
		.paths = calloc(room, sizeof *shown->paths),
		.number = calloc(room, sizeof *shown->number),
		.name = calloc(room, sizeof *shown->name),
		.row = calloc(room, sizeof *shown->row),
		.count = count,
		.share = SHARE_LEAST };
	if (shown->paths == NULL || shown->number == NULL || shown->name == NULL ||
		shown->row == NULL)
		return false;
	for (uint32_t i = 1; i <= count; i++)
		bp_diff_path(diff, i, &shown->paths[i]);
	/* The whole, as the widths go: estimates of the outermost functions. */
	for (uint32_t i = 1; i <= count; i++)
		for (int side = 0; side < BP_SIDES && shown->paths[i].caller == 0; side++) {
			shown->paths[0].bytes[side] += shown->paths[i].bytes[side];
			shown->paths[0].objects[side] += shown->paths[i].objects[side];
		}
	for (choose(shown); shown->nodes > NODES_MAX; choose(shown))
		shown->share *= 2;
	return true;
}

static void finish(struct shown *shown)
{
	free(shown->paths);
	free(shown->number);
	free(shown->name);
	free(shown->row);
}

static int compare_names(const void *left, const void *right, void *context)
{
	const struct shown *shown = context;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const char *name_a = shown->paths[a].name, *name_b = shown->paths[b].name;
	/* Names of one text are one pointer. */
	return name_a < name_b ? -1 : name_a > name_b;
}

/* Names once each. */
static bool write_names(struct shown *shown, struct bp_json *json)
{
	uint32_t *order = calloc((size_t)shown->nodes + 1, sizeof *order), used = 0;
	if (order == NULL)
		return false;
	for (uint32_t i = 1; i <= shown->count; i++)
		if (shown->number[i] != 0)
			order[used++] = i;
	qsort_r(order, used, sizeof *order, compare_names, shown);
	bp_json_array(json, "names", BP_JSON_ROWS);
	for (uint32_t i = 0; i < used; i++) {
		const char *name = shown->paths[order[i]].name;
		if (i == 0 || name != shown->paths[order[i - 1]].name) {
			bp_json_text(json, NULL, name);
			shown->names++;
		}
		shown->name[order[i]] = shown->names - 1;
	}
	bp_json_end(json);
	free(order);
	return true;
}

/* Numbers of rows: a path has that of the one with the same samples, which comes after it. */
static void number_rows(struct shown *shown)
{
	for (uint32_t i = shown->count; i > 0; i--) {
		const uint32_t same = shown->paths[i].same;
		if (shown->number[i] == 0)
			continue;
		shown->row[i] =
			same != 0 && shown->number[same] != 0 ? shown->row[same] : ++shown->rows;
	}
}

/* A list of one number for each node. */
static void write_column(const struct shown *shown, const char *name,
	uint32_t (*value)(const struct shown *, uint32_t), struct bp_json *json)
{
	bp_json_array(json, name, BP_JSON_COMPACT);
	for (uint32_t i = 1; i <= shown->count; i++)
		if (shown->number[i] != 0)
			bp_json_whole(json, NULL, value(shown, i));
	bp_json_end(json);
}

static uint32_t caller_of(const struct shown *shown, uint32_t path)
{
	return shown->number[shown->paths[path].caller];
}

static uint32_t name_of(const struct shown *shown, uint32_t path)
{
	return shown->name[path];
}

static uint32_t row_of(const struct shown *shown, uint32_t path)
{
	return shown->row[path];
}

/* What a path is as wide as, of both sides. */
static void write_widths(const struct shown *shown, bool objects, struct bp_json *json)
{
	bp_json_object(json, objects ? "objects" : "bytes", BP_JSON_ROWS);
	for (int side = 0; side < BP_SIDES; side++) {
		bp_json_array(json, side == BP_BASE ? "base" : "new", BP_JSON_COMPACT);
		for (uint32_t i = 1; i <= shown->count; i++) {
			const struct bp_diff_path *path = &shown->paths[i];
			if (shown->number[i] != 0)
				bp_json_digits(json, NULL,
					objects ? path->objects[side] : path->bytes[side], 10);
		}
		bp_json_end(json);
	}
	bp_json_end(json);
}

static void write_rows(const struct shown *shown, struct bp_json *json)
{
	struct bp_diff_row row;
	uint32_t written = 0;
	bp_diff_total(shown->diff, &row);
	bp_json_array(json, "rows", BP_JSON_ROWS);
	bp_json_diff_row(json, NULL, shown->diff, &row);
	for (uint32_t i = shown->count; i > 0; i--) {
		if (shown->number[i] == 0 || shown->row[i] <= written)
			continue;
		bp_diff_path_row(shown->diff, i, &row);
		bp_json_diff_row(json, NULL, shown->diff, &row);
		written++;
	}
	bp_json_end(json);
}

static bool write_paths(struct shown *shown, struct bp_json *json)
{
	bp_json_object(json, NULL, BP_JSON_ROWS);
	bp_json_text(json, "schema", "bytepoll-diff-paths-1");
	bp_json_whole(json, "paths", shown->count);
	bp_json_whole(json, "tested", shown->diff->tested_count);
	bp_json_whole(json, "left_out", shown->left_out);
	bp_json_whole(json, "left_out_verdicts", shown->left_out_verdicts);
	bp_json_digits(json, "share", shown->share, 10);
	bp_json_verdicts(json, shown->diff, BP_JSON_COMPACT);
	number_rows(shown);
	if (!write_names(shown, json))
		return false;
	write_column(shown, "caller", caller_of, json);
	write_column(shown, "name", name_of, json);
	write_column(shown, "row", row_of, json);
	write_widths(shown, false, json);
	write_widths(shown, true, json);
	write_rows(shown, json);
	bp_json_end_document(json);
	return true;
}

bool bp_write_diff_paths(const struct bp_diff *diff, FILE *out)
{
	struct bp_json json = bp_json_begin(out);
	struct shown shown;
	const bool good = init(&shown, diff) && write_paths(&shown, &json);
	finish(&shown);
	return good;
}
