/* SPDX-License-Identifier: MIT */
/* In place of the importer of .nettrace files, where bytepoll is built without it. */
#include <string.h>

#include "import/import.h"

static bool sniff(const uint8_t *head, size_t bytes)
{
	static const char magic[] = "Nettrace";
	return bytes >= sizeof magic - 1 && memcmp(head, magic, sizeof magic - 1) == 0;
}

static bool refuse(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	(void)profile;
	return bp_error_set(error,
		"%s: is a .nettrace file, and this bytepoll was built without their importer: "
		"build it with meson's -Ddotnet=enabled",
		path);
}

const struct bp_importer bp_import_nettrace = {
	.name = ".NET trace", .sniff = sniff, .import = refuse
};
