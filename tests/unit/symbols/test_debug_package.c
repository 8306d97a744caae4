/* SPDX-License-Identifier: MIT */
/* The debug package of a file, by lists as dpkg keeps them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbols/files/debug_package.h"

static char folder[] = "/tmp/bytepoll-lists-XXXXXX";

static const struct {
	const char *list, *files;
} lists[] = {
	{ "libsqlite3-0:amd64.list", "/.\n/usr\n/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6\n" },
	{ "git.list", "/usr/bin/git\n/usr/bin/git-shell\n" },
	{ "zlib1g:amd64.list", "/lib/x86_64-linux-gnu/libz.so.1.2.13\n" },
	{ "libc6:amd64.list", "/lib/x86_64-linux-gnu/libc.so.6" },
	{ "python3.11-minimal.list", "/usr/bin/python3.11\n" },
	{ "libpython3.11:amd64.list", "/usr/lib/libpython3.11.so.1.0\n" },
	{ "git.md5sums", "/usr/bin/other\n" },
};

static int write_lists(void **state)
{
	char path[256];
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, lists[i].list);
		FILE *file = fopen(path, "w");
		if (file == NULL || fputs(lists[i].files, file) < 0 || fclose(file) != 0)
			return -1;
	}
	return 0;
}

static int remove_lists(void **state)
{
	char path[256];
	(void)state;
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, lists[i].list);
		unlink(path);
	}
	return rmdir(folder);
}

static void expect(const char *path, const char *package)
{
	char text[64] = "untouched";
	assert_true(bp_debug_package(folder, path, text, sizeof text) == (package != NULL));
	if (package != NULL)
		assert_string_equal(text, package);
}

static void packages_by_their_files(void **state)
{
	(void)state;
	expect("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6", "libsqlite3-0-dbgsym");
	expect("/usr/bin/git", "git-dbgsym");
	expect("/usr/bin/git-shell", "git-dbgsym");
	/* A list from before /lib was merged into /usr. */
	expect("/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "zlib1g-dbgsym");
	expect("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg");
	expect("/usr/bin/python3.11", "python3.11-dbg");
	expect("/usr/lib/libpython3.11.so.1.0", "python3.11-dbg");
}

static void other_files_have_none(void **state)
{
	char text[8];
	(void)state;
	expect("/usr/bin/gi", NULL);
	expect("/usr/bin/git-", NULL);
	expect("/bin/git", NULL);
	expect("/usr/bin/other", NULL);
	expect("git", NULL);
	expect("", NULL);
	assert_false(bp_debug_package(folder, "/usr/bin/git", text, sizeof text));
	assert_false(bp_debug_package("/nonexistent", "/usr/bin/git", text, sizeof text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packages_by_their_files),
		cmocka_unit_test(other_files_have_none),
	};
	return cmocka_run_group_tests(tests, write_lists, remove_lists);
}
