/* SPDX-License-Identifier: MIT */
/*
 * The page as a whole: the figures of functions, the cube made coarser until the file is small
 * enough, and then the template with everything in its places. How large a file becomes is only
 * known when it is compressed; what is surely too large is recognised quickly, by its number of
 * cells alone. See html.h.
 */
#include "page/html.h"

#include <stdlib.h>
#include <string.h>

#include "page/cube.h"
#include "page/html_bundle.h"
#include "page/html_data.h"

#define CELLS_MAX 600000u /* held while samples are read: 130 MB */
#define QUICK 1
#define SMALL 6				    /* 9 takes half of the whole command for 2 % less */
static const double quick_over_small = 1.3; /* quick compression gives at most so much more */

/* One of the data of a page, compressed. */
struct piece {
	const char *id;
	struct bp_page_bytes bytes;
};

static size_t size_of(const char *from, const char *end)
{
	return (size_t)(end - from);
}

static bool compress_wasm(struct bp_page_bytes *ret_bytes, struct bp_error *error)
{
	/* (Only read.) */
	const struct bp_page_bytes wasm = { (char *)(uintptr_t)bp_page_wasm,
		size_of(bp_page_wasm, bp_page_wasm_end) };
	return bp_page_compress(&wasm, SMALL, ret_bytes, error);
}

static size_t fixed_size(size_t wasm_bytes)
{
	return size_of(bp_page_template, bp_page_template_end) +
	       size_of(bp_page_style, bp_page_style_end) +
	       size_of(bp_page_script, bp_page_script_end) + bp_page_base64_size(wasm_bytes) +
	       256; /* the elements around the data */
}

/* The template up to a marker; returns what is behind it, or NULL. */
static const char *write_until(const char *from, const char *marker, FILE *out)
{
	const char *at = memmem(from, size_of(from, bp_page_template_end), marker, strlen(marker));
	if (at == NULL)
		return NULL;
	fwrite(from, 1, size_of(from, at), out);
	return at + strlen(marker);
}

static bool assemble(const struct bp_page_bytes *wasm, const struct piece *pieces, unsigned count,
	FILE *out, struct bp_error *error)
{
	const char *at = write_until(bp_page_template, "@STYLE@", out);
	if (at != NULL) {
		fwrite(bp_page_style, 1, size_of(bp_page_style, bp_page_style_end), out);
		at = write_until(at, "@WASM@", out);
	}
	if (at != NULL) {
		bp_page_write_base64(wasm, out);
		at = write_until(at, "@DATA@", out);
	}
	for (unsigned i = 0; at != NULL && i < count; i++) {
		fprintf(out, "%s<script type=\"text/plain\" id=\"%s\">", i > 0 ? "\n" : "",
			pieces[i].id);
		bp_page_write_base64(&pieces[i].bytes, out);
		fputs("</script>", out);
	}
	if (at != NULL)
		at = write_until(at, "@SCRIPT@", out);
	if (at == NULL)
		return bp_error_set(error, "this build has no whole page in it (web/index.html)");
	fwrite(bp_page_script, 1, size_of(bp_page_script, bp_page_script_end), out);
	fwrite(at, 1, size_of(at, bp_page_template_end), out);
	return true;
}

/* The figures of the first functions, by every metric; keeps the aggregation of metric live. */
static bool describe_functions(const struct bp_aggregation *shown, struct bp_aggregation *ret_live,
	bool *ret_has_live, FILE *out, struct bp_error *error)
{
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_ROWS);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		struct bp_query query = shown->query;
		struct bp_aggregation other;
		if (!shown->totals[metric].known)
			continue;
		if (metric == (int)shown->query.metric) {
			bp_page_write_functions(&json, shown);
			continue;
		}
		query.metric = (enum bp_metric)metric;
		if (!bp_aggregate(shown->profile, &query, &other, error))
			return false;
		bp_page_write_functions(&json, &other);
		if (metric == BP_METRIC_LIVE) {
			*ret_live = other;
			*ret_has_live = true;
		} else {
			bp_aggregation_finish(&other);
		}
	}
	bp_json_end(&json);
	return true;
}

static void describe_pruning(const struct bp_page_source *source, char *ret_text, size_t bytes)
{
	const struct bp_cube *cube = source->cube;
	const struct bp_cube_rung *rung = &cube->rung;
	size_t used = 0;
	ret_text[0] = '\0';
	if (cube->bins == cube->bins_wanted && cube->stacks_merged == 0 && rung->size_step == 1)
		return;
	used = (size_t)snprintf(ret_text, bytes, "To keep this page small");
	if (cube->bins < cube->bins_wanted)
		used += (size_t)snprintf(ret_text + used, bytes - used,
			", time is told in %u step%s instead of %u", cube->bins,
			cube->bins == 1 ? "" : "s", cube->bins_wanted);
	if (rung->size_step > 1)
		used += (size_t)snprintf(ret_text + used, bytes - used,
			", classes of sizes are %u times as wide", rung->size_step);
	if (rung->merged_threads)
		used += (size_t)snprintf(ret_text + used, bytes - used, ", threads are merged");
	if (cube->stacks_merged > 0) {
		used += (size_t)snprintf(
			ret_text + used, bytes - used, ", %u stacks", cube->stacks_merged);
		if (rung->stack_samples != UINT32_MAX)
			used += (size_t)snprintf(ret_text + used, bytes - used,
				" of fewer than %u samples each", rung->stack_samples);
		used += (size_t)snprintf(ret_text + used, bytes - used,
			" (%.2g %% of all samples) show only the function that allocated, not its "
			"callers",
			cube->samples > 0
				? 100.0 * (double)cube->samples_merged / (double)cube->samples
				: 0.0);
	}
	snprintf(ret_text + used, bytes - used,
		". What is shown is complete: figures of functions, lines, files and modules are "
		"not changed by it.");
}

/* The head and the cells of the cube as it is. `*ret_fits` false: they are larger than `room`
 * characters, and nothing is given. */
static bool make_data(struct bp_page_source *source, size_t room, struct piece pieces[2],
	bool *ret_fits, struct bp_error *error)
{
	struct bp_page_bytes head = { 0 }, cells = { 0 }, quick = { 0 };
	bool good = bp_page_numbers_init(&source->numbers, source->shown, source->cube, error) &&
		    bp_page_write_cells(source, &cells, error) &&
		    bp_page_compress(&cells, QUICK, &quick, error);
	*ret_fits = (double)bp_page_base64_size(quick.size) <= (double)room * quick_over_small;
	if (good && *ret_fits) {
		describe_pruning(source, source->pruned, sizeof source->pruned);
		FILE *out = bp_page_bytes_open(&head);
		good = out != NULL && bp_page_write_head(source, out, error);
		if (out == NULL || fclose(out) != 0)
			good = bp_error_set(error, "out of memory");
	}
	if (good && *ret_fits) {
		good = bp_page_compress(&head, SMALL, &pieces[0].bytes, error) &&
		       bp_page_compress(&cells, SMALL, &pieces[1].bytes, error);
		*ret_fits = bp_page_base64_size(pieces[0].bytes.size) +
				    bp_page_base64_size(pieces[1].bytes.size) <=
			    room;
	}
	if (!good || !*ret_fits) {
		bp_page_bytes_finish(&pieces[0].bytes);
		bp_page_bytes_finish(&pieces[1].bytes);
	}
	bp_page_bytes_finish(&head);
	bp_page_bytes_finish(&cells);
	bp_page_bytes_finish(&quick);
	bp_page_numbers_finish(&source->numbers);
	return good;
}

/* Down the rungs until it fits, or to the last one. */
static bool fit(struct bp_page_source *source, struct bp_cube *cube, size_t room,
	struct piece pieces[2], struct bp_error *error)
{
	bool fits = false, coarser = true;
	while (!fits) {
		const size_t allowed = coarser ? room : SIZE_MAX / 8;
		if (!bp_cube_pack(cube, error) || !make_data(source, allowed, pieces, &fits, error))
			return false;
		if (!fits && !bp_cube_coarsen(cube, &coarser, error))
			return false;
	}
	return true;
}

/* What a page says of one profile. Zeroed memory is empty. */
struct content {
	struct bp_page_bytes functions;
	struct bp_aggregation live;
	bool has_live;
	struct piece pieces[2]; /* the head, the cells */
	uint32_t cells;
	char pruned[sizeof((struct bp_page_summary *)0)->pruned];
};

static void finish_content(struct content *content)
{
	if (content->has_live)
		bp_aggregation_finish(&content->live);
	bp_page_bytes_finish(&content->functions);
	bp_page_bytes_finish(&content->pieces[0].bytes);
	bp_page_bytes_finish(&content->pieces[1].bytes);
}

static size_t size_of_content(const struct content *content)
{
	return bp_page_base64_size(content->pieces[0].bytes.size) +
	       bp_page_base64_size(content->pieces[1].bytes.size);
}

/* The two pieces, of `room` characters if they can be made so small. Their ids are set before. */
static bool make_content(const struct bp_aggregation *shown, const struct bp_page_options *options,
	size_t room, struct content *content, struct bp_error *error)
{
	struct bp_cube cube;
	FILE *text = bp_page_bytes_open(&content->functions);
	bool good = text != NULL &&
		    describe_functions(shown, &content->live, &content->has_live, text, error);
	if (text == NULL || fclose(text) != 0)
		good = bp_error_set(error, "out of memory");
	struct bp_page_source source = { .shown = shown,
		.live = content->has_live			? &content->live
			: shown->query.metric == BP_METRIC_LIVE ? shown
								: NULL,
		.options = options,
		.functions = &content->functions };
	if (!good || !bp_cube_init(shown, CELLS_MAX, &cube, error))
		return false;
	source.cube = &cube;
	good = fit(&source, &cube, room, content->pieces, error);
	content->cells = cube.cell_count;
	memcpy(content->pruned, source.pruned, sizeof content->pruned);
	bp_cube_finish(&cube);
	return good;
}

/* What was mapped is a few calls, and seldom needs its part of the room. */
#define ROOM_PARTS_OF_MAPPED 4

static bool make_contents(const struct bp_aggregation *shown, const struct bp_aggregation *mapped,
	const struct bp_page_options *options, size_t room, struct content contents[2],
	struct bp_error *error)
{
	/* (Resident memory is of the page of malloc.) */
	const struct bp_page_options of_mapped = { .embed_source = options->embed_source };
	size_t taken = 0;
	if (mapped != NULL) {
		if (!make_content(
			    mapped, &of_mapped, room / ROOM_PARTS_OF_MAPPED, &contents[1], error))
			return false;
		taken = size_of_content(&contents[1]);
	}
	return make_content(shown, options, room > taken ? room - taken : 0, &contents[0], error);
}

bool bp_page_write(const struct bp_aggregation *shown, const struct bp_aggregation *mapped,
	const struct bp_page_options *options, FILE *out, struct bp_page_summary *ret_summary,
	struct bp_error *error)
{
	struct bp_page_bytes wasm = { 0 };
	struct content contents[2] = { { .pieces = { { .id = "bytepoll-head" },
						 { .id = "bytepoll-cells" } } },
		{ .pieces = {
			  { .id = "bytepoll-mapped-head" }, { .id = "bytepoll-mapped-cells" } } } };
	bool good = compress_wasm(&wasm, error);
	const size_t fixed = fixed_size(wasm.size), wanted = options->bytes_max;
	good = good && make_contents(shown, mapped, options, wanted > fixed ? wanted - fixed : 0,
			       contents, error);
	const struct piece pieces[] = { contents[0].pieces[0], contents[0].pieces[1],
		contents[1].pieces[0], contents[1].pieces[1] };
	good = good && assemble(&wasm, pieces, mapped != NULL ? 4 : 2, out, error);
	if (good) {
		*ret_summary =
			(struct bp_page_summary){ .bytes = fixed + size_of_content(&contents[0]),
				.cells = contents[0].cells };
		if (mapped != NULL)
			ret_summary->bytes += size_of_content(&contents[1]);
		const bool first = contents[0].pruned[0] != '\0';
		memcpy(ret_summary->pruned, contents[!first].pruned, sizeof ret_summary->pruned);
	}
	finish_content(&contents[0]);
	finish_content(&contents[1]);
	bp_page_bytes_finish(&wasm);
	return good;
}

bool bp_page_write_diff(
	const struct bp_page_diff *diff, FILE *out, size_t *ret_bytes, struct bp_error *error)
{
	const struct bp_page_bytes rows = { (char *)(uintptr_t)diff->rows, diff->rows_bytes };
	const struct bp_page_bytes paths = { (char *)(uintptr_t)diff->paths, diff->paths_bytes };
	struct bp_page_bytes wasm = { 0 };
	struct piece pieces[2] = { { "bytepoll-diff", { 0 } }, { "bytepoll-paths", { 0 } } };
	const bool good = compress_wasm(&wasm, error) &&
			  bp_page_compress(&rows, SMALL, &pieces[0].bytes, error) &&
			  bp_page_compress(&paths, SMALL, &pieces[1].bytes, error) &&
			  assemble(&wasm, pieces, 2, out, error);
	if (good)
		*ret_bytes = fixed_size(wasm.size) + bp_page_base64_size(pieces[0].bytes.size) +
			     bp_page_base64_size(pieces[1].bytes.size);
	bp_page_bytes_finish(&pieces[0].bytes);
	bp_page_bytes_finish(&pieces[1].bytes);
	bp_page_bytes_finish(&wasm);
	return good;
}
