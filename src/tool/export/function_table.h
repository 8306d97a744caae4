/* SPDX-License-Identifier: MIT */
/*
 * The functions that the frames of some entries are in, numbered in the order in which they are
 * met: what formats with a table of functions write. A function is known by its name, its name in
 * the symbol table and its source file, or its module where no file is known. Called by the
 * exporters.
 */
#ifndef BP_EXPORT_FUNCTION_TABLE_H
#define BP_EXPORT_FUNCTION_TABLE_H

#include "aggregation/views/entries.h"

struct bp_function {
	struct bp_string_id name, system_name;
	struct bp_string_id file; /* 0 if not known: then the module's path, if that is */
	struct bp_module_id module;
	bool named, has_file; /* a real name; `file` is a source file */
};

struct bp_function_table {
	struct bp_function *items;
	uint32_t count, capacity;
	uint32_t *of_frame; /* number of the function of each frame used, by frame id */
};

/* On failure too, bp_function_table_finish is safe. */
bool bp_function_table_init(struct bp_function_table *ret_table,
	const struct bp_aggregation *aggregation, const struct bp_entries *entries,
	struct bp_error *error);
void bp_function_table_finish(struct bp_function_table *table);

#endif
