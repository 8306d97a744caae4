/* SPDX-License-Identifier: MIT */
/*
 * The list of export formats: a new one is a file of its own, with its `struct bp_export`, and one
 * line here. X(NAME): bp_export_NAME is chosen by --to NAME.
 */
#ifndef BP_EXPORT_EXPORTS_H
#define BP_EXPORT_EXPORTS_H

/* clang-format off */
#define BP_EXPORTS(X) \
	X(pprof) \
	X(otlp) \
	X(collapsed) \
	X(speedscope) \
	X(dhat) \
	X(firefox) \
	X(json) \
	X(csv) \
	X(suppressions) \
	X(parquet)
/* clang-format on */

#endif
