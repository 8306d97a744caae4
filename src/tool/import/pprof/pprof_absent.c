/* SPDX-License-Identifier: MIT */
/* In place of the importer of heap profiles in pprof form, where bytepoll is built without it. They
 * have no mark of their own but that of gzip. */
#include "import/import.h"

static bool sniff(const uint8_t *head, size_t bytes)
{
	return bytes >= 2 && head[0] == 0x1f && head[1] == 0x8b;
}

static bool refuse(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	(void)profile;
	return bp_error_set(error,
		"%s: is packed by gzip, as heap profiles in pprof form are, and this bytepoll was "
		"built without their importer: build it with meson's -Dpprof=enabled",
		path);
}

const struct bp_importer bp_import_pprof = {
	.name = "pprof heap profile", .sniff = sniff, .import = refuse
};
