/* SPDX-License-Identifier: MIT */
/*
 * The two pieces of data of a page, made from a cube: the head (JSON) and the cells (binary);
 * docs/page-format.md is their contract. Numbers of names, frames, threads and types in both are a
 * page's own. Private to the html files.
 */
#ifndef BP_PAGE_HTML_DATA_H
#define BP_PAGE_HTML_DATA_H

#include "page/cube.h"
#include "page/html.h"
#include "page/html_encode.h"
#include "text/json_values.h"

struct bp_page_sampled {
	uint64_t samples;
	double bytes;
};

/* Numbers of the page, by those of the profile: 0 is "not known", or not in the page. */
struct bp_page_numbers {
	uint32_t *names;       /* by string of the profile */
	uint32_t *name_of;     /* string by name; [0] is "" */
	uint32_t name_count;   /* with "" */
	uint32_t callers_name; /* of the frame that stands for callers */
	uint32_t *frames;      /* by frame of the profile */
	uint32_t *frame_of;    /* frame by number */
	uint32_t frame_count;  /* with the two first: no frame known, and "callers" */
	uint32_t *threads, *thread_of, thread_count;
	uint32_t *processes, *process_of, process_count;
	struct bp_page_sampled *thread_sums, *process_sums; /* by those of the profile */
};

#define BP_PAGE_CALLERS 1u	   /* frame number of BP_CUBE_CALLERS */
#define BP_PAGE_ENTRIES_MAX 65535u /* threads, and types: their numbers have 16 bits */

/* What the head is made from. */
struct bp_page_source {
	const struct bp_aggregation *shown;
	const struct bp_aggregation *live; /* of metric live; NULL: the profile does not tell it */
	const struct bp_page_options *options;
	const struct bp_page_bytes *functions; /* a JSON object, by metric */
	const struct bp_cube *cube;	       /* packed */
	struct bp_page_numbers numbers;
	char pruned[512];
};

/* html_names.c */
bool bp_page_numbers_init(struct bp_page_numbers *numbers, const struct bp_aggregation *shown,
	const struct bp_cube *cube, struct bp_error *error);
void bp_page_numbers_finish(struct bp_page_numbers *numbers);
void bp_page_write_names(const struct bp_page_source *source, struct bp_json *json);
/* Text, cut where nobody reads on. */
void bp_page_write_text(struct bp_json *json, const char *key, const char *text);
/* html_stacks.c: the tree of stacks. False: no memory. */
bool bp_page_write_stacks(const struct bp_page_source *source, struct bp_json *json);
/* html_source.c: {file: {line: text}}, or null. */
bool bp_page_write_source(const struct bp_page_source *source, struct bp_json *json);

/* html_resident.c: the fields of resident memory. */
void bp_page_write_resident(const struct bp_page_options *options, struct bp_json *json);

/* html_head.c: the first functions of one metric; the head, which has them of all. */
void bp_page_write_functions(struct bp_json *json, const struct bp_aggregation *aggregation);
bool bp_page_write_head(const struct bp_page_source *source, FILE *out, struct bp_error *error);
/* html_cells.c */
bool bp_page_write_cells(const struct bp_page_source *source, struct bp_page_bytes *ret_bytes,
	struct bp_error *error);

#endif
