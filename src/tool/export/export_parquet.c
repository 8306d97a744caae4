/* SPDX-License-Identifier: MIT */
/*
 * The profile as tables of Parquet files (docs/parquet-format.md): facts, from which `bytepoll
 * fleet` and other engines make figures. It is the only format that is a folder, and that holds
 * everything: no metric is chosen and nothing is filtered.
 */
#include "export/export.h"
#include "fleet/tables_write.h"

static bool write_parquet(const struct bp_profile *profile, const struct bp_tags *tags, int folder,
	struct bp_error *error)
{
	return bp_tables_write(profile, tags, folder, error);
}

const struct bp_export bp_export_parquet = {
	.name = "parquet", .tagged = true, .write_folder = write_parquet
};
