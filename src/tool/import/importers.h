/* SPDX-License-Identifier: MIT */
/*
 * The list of importers: a new one is a file of its own, with its `struct bp_importer`, and one
 * line here. X(NAME): bp_import_NAME; the first that recognises a file reads it.
 */
#ifndef BP_IMPORT_IMPORTERS_H
#define BP_IMPORT_IMPORTERS_H

/* clang-format off */
#define BP_IMPORTERS(X) \
	X(trace) \
	X(nettrace) \
	X(pprof) \
	X(go_text)
/* clang-format on */

#endif
