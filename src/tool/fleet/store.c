/* SPDX-License-Identifier: MIT */
/* See store.h. A folder of tables is known by the file of its processes, which is written last. */
#include "fleet/store.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"

#define DEPTH_MAX 16
#define MARK "processes.parquet"

/* DuckDB takes names as patterns: what is special there stands alone in brackets. */
static void write_name(FILE *script, const char *name)
{
	for (; *name != '\0'; name++)
		if (*name == '\'')
			fputs("''", script);
		else if (strchr("*?[", *name) != NULL)
			fprintf(script, "[%c]", *name);
		else
			fputc(*name, script);
}

bool bp_store_append(struct bp_store *store, const char *path, struct bp_error *error)
{
	for (const char *at = path; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f || *at == '\\')
			return bp_error_set(error,
				"a folder whose name has control characters or backslashes cannot be "
				"asked about: rename it");
	char *copy = strdup(path);
	if (copy == NULL || !bp_vec_reserve(&store->folders, &store->capacity, store->count + 1u,
				    sizeof *store->folders)) {
		free(copy);
		return bp_error_set(error, "out of memory");
	}
	store->folders[store->count++] = copy;
	return true;
}

static bool is_folder(const char *path)
{
	struct stat status;
	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool search(struct bp_store *store, const char *path, int depth, struct bp_error *error)
{
	char name[PATH_MAX];
	struct stat status;
	struct dirent *entry;
	bool good = true;
	if ((size_t)snprintf(name, sizeof name, "%s/" MARK, path) < sizeof name &&
		stat(name, &status) == 0)
		return bp_store_append(store, path, error);
	DIR *folder = depth == 0 ? NULL : opendir(path);
	if (folder == NULL)
		return depth == 0 ||
		       bp_error_set(error, "%s cannot be read: %s", path, strerror(errno));
	while (good && (entry = readdir(folder)) != NULL) {
		const int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.' && (size_t)length < sizeof name && is_folder(name))
			good = search(store, name, depth - 1, error);
	}
	closedir(folder);
	return good;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool bp_store_add(struct bp_store *store, const char *path, struct bp_error *error)
{
	const uint32_t before = store->count;
	if (store->server != NULL || (bp_clickhouse_is_address(path) && before > 0))
		return bp_error_set(
			error, "a database of ClickHouse is asked alone: name nothing else");
	if (bp_clickhouse_is_address(path))
		return bp_clickhouse_open(path, NULL, &store->server, error);
	if (!search(store, path, DEPTH_MAX, error))
		return false;
	if (store->count == before)
		return bp_error_set(error,
			"%s: there are no tables in it: put some there with `bytepoll push FILE --to "
			"%s`",
			path, path);
	bp_store_sort(store);
	return bp_store_leave_void(store, error) && bp_store_leave_replaced(store, error);
}

void bp_store_sort(struct bp_store *store)
{
	if (store->count > 0)
		qsort(store->folders, store->count, sizeof *store->folders, compare);
}

bool bp_store_has(const struct bp_store *store, const char *path)
{
	return store->count > 0 && bsearch(&path, store->folders, store->count,
					   sizeof *store->folders, compare) != NULL;
}

void bp_store_finish(struct bp_store *store)
{
	for (uint32_t i = 0; i < store->count; i++)
		free(store->folders[i]);
	free(store->folders);
	bp_clickhouse_close(store->server);
	memset(store, 0, sizeof *store);
}

/* The columns by their names, since `push` would make equal rows of several runs different. Of the
 * attempts to push a run one counts (sql/clickhouse.sql). */
static void write_server_table(enum bp_table_number number, FILE *script)
{
	const struct bp_table *table = bp_table_of(number);
	fputs("(SELECT ", script);
	for (uint32_t i = 0; i < table->column_count; i++)
		fprintf(script, "%s\"%s\"", i > 0 ? "," : "", table->columns[i].name);
	fprintf(script, "%s FROM %s WHERE push IN (SELECT push FROM %s))",
		number == BP_TABLE_PROCESS ? ",push" : "", table->name,
		number == BP_TABLE_PROCESS ? "bytepoll_pushes"
					   : "every WHERE run IN (SELECT run FROM runs)");
}

void bp_store_write_table(const struct bp_store *store, enum bp_table_number table, FILE *script)
{
	if (store->server != NULL) {
		write_server_table(table, script);
		return;
	}
	fputs("read_parquet([", script);
	for (uint32_t i = 0; i < store->count; i++) {
		fprintf(script, "%s'", i > 0 ? "," : "");
		write_name(script, store->folders[i]);
		fprintf(script, "/%s.parquet'", bp_table_of(table)->name);
	}
	fputs("],union_by_name=true)", script);
}

bool bp_store_has_table(
	const struct bp_store *store, enum bp_table_number table, struct bp_error *error)
{
	char name[PATH_MAX];
	struct stat status;
	for (uint32_t i = 0; i < store->count; i++) {
		const int length = snprintf(name, sizeof name, "%s/%s.parquet", store->folders[i],
			bp_table_of(table)->name);
		if ((size_t)length >= sizeof name || stat(name, &status) != 0)
			return bp_error_set(error,
				"%.800s has no table of %s, without which totals of a window are not "
				"known: it was exported by an older version; export it again",
				store->folders[i], bp_table_of(table)->name);
	}
	return true;
}
