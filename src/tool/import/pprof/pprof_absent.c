/* SPDX-License-Identifier: MIT */
/* In place of the importers of heap profiles in pprof form and in Go's text form, where bytepoll is
 * built without them. The first have no mark of their own but that of gzip. */
#include "import/import.h"

#include <string.h>

static bool sniff_pprof(const uint8_t *head, size_t bytes)
{
	return bytes >= 2 && head[0] == 0x1f && head[1] == 0x8b;
}

static bool sniff_text(const uint8_t *head, size_t bytes)
{
	static const char mark[] = "heap profile: ";
	return bytes >= sizeof mark - 1 && memcmp(head, mark, sizeof mark - 1) == 0;
}

static bool refuse_pprof(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	(void)profile;
	return bp_error_set(error,
		"%s: is packed by gzip, as heap profiles in pprof form are, and this bytepoll was "
		"built without their importer: build it with meson's -Dpprof=enabled",
		path);
}

static bool refuse_text(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	(void)profile;
	return bp_error_set(error,
		"%s: is a heap profile in text form, and this bytepoll was built without the "
		"importer of Go's: build it with meson's -Dpprof=enabled",
		path);
}

const struct bp_importer bp_import_pprof = {
	.name = "pprof heap profile", .sniff = sniff_pprof, .import = refuse_pprof
};

const struct bp_importer bp_import_go_text = {
	.name = "Go heap profile in text form", .sniff = sniff_text, .import = refuse_text
};
