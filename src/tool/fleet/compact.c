/* SPDX-License-Identifier: MIT */
/*
 * See compact.h. The engine reads the tables of all folders and writes those of the sum; the order
 * of their rows is that of what they hold, so that equal folders make equal sums. Names of folders
 * reach the script quoted, as in store.c.
 */
#include "fleet/compact.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "fleet/duckdb.h"

#define ROW_AGE 'A'   /* number of the folder, runs, end since 1970 */
#define ROW_TWICE 'D' /* the id of a process that is there twice */
#define ROW_RUN 'R'   /* the id of a run */
#define ROW_COUNT 'C' /* processes, threads and samples: of the folders, and as written */

/* ---- ages ---- */

struct ages {
	struct bp_folder_age *ages;
	uint32_t count;
};

static bool take_age(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	const struct ages *ages = context;
	struct bp_parquet_value number, runs, end;
	if (row->fields[0][0] == ROW_TWICE)
		return bp_duckdb_text(row, 1, &number, error) &&
		       bp_error_set(error,
			       "process %.32s is in the store twice: remove one of the folders that "
			       "hold it",
			       number.text);
	if (!bp_duckdb_number(row, 1, &number, error) || !bp_duckdb_number(row, 2, &runs, error) ||
		!bp_duckdb_number(row, 3, &end, error))
		return false;
	if (number.number < 0 || number.number >= ages->count || end.null)
		return bp_error_set(error, "duckdb: its answer is not what was asked for");
	ages->ages[number.number] = (struct bp_folder_age){ (uint32_t)runs.number, end.number };
	return true;
}

bool bp_compact_ages(
	const struct bp_store *store, struct bp_folder_age *ret_ages, struct bp_error *error)
{
	struct ages ages = { ret_ages, store->count };
	FILE *script;
	memset(ret_ages, 0, store->count * sizeof *ret_ages);
	if (!bp_duckdb_script(&script, error))
		return false;
	fputs("CREATE TEMP TABLE every (folder BIGINT, process VARCHAR, run VARCHAR, end_ns "
	      "BIGINT);\n",
		script);
	for (uint32_t i = 0; i < store->count; i++) {
		struct bp_store one = { .folders = &store->folders[i], .count = 1 };
		fprintf(script,
			"INSERT INTO every SELECT %u, process, run, CASE WHEN start_unix_ns > 0 "
			"THEN start_unix_ns + greatest(0, end_clock_ns - start_clock_ns) END FROM ",
			i);
		bp_store_write_table(&one, BP_TABLE_PROCESS, script);
		fputs(";\n", script);
	}
	fprintf(script,
		"SELECT '%c',hex(process) FROM every GROUP BY process HAVING count(*) > 1;\n"
		"SELECT '%c',folder,count(*),max(end_ns) FROM (SELECT folder,coalesce(max(end_ns),"
		"%lld) AS end_ns FROM every GROUP BY folder,run) GROUP BY folder;\n",
		ROW_TWICE, ROW_AGE, (long long)INT64_MAX);
	return bp_duckdb_run(script, take_age, &ages, error);
}

/* ---- sums ---- */

/* How the rows of each table are made of those of the folders. */
static const struct {
	enum bp_table_number table;
	const char *before, *after;
} sums[] = {
	/* (Times are no part of the groups. What was freed at all keeps a time of its own, 0.) */
	{ BP_TABLE_SAMPLE,
		"SELECT process,thread,time_ns,freed_ns,live,temporary,size,usable,interval,charge,"
		"law,exact,kind,type,labels,stack,sum(samples)::BIGINT AS samples FROM (SELECT * "
		"REPLACE (0::BIGINT AS time_ns,CASE WHEN freed_ns IS NOT NULL THEN 0::BIGINT END "
		"AS freed_ns) FROM ",
		") GROUP BY ALL ORDER BY ALL" },
	{ BP_TABLE_STACK, "SELECT DISTINCT * FROM ", " ORDER BY ALL" },
	{ BP_TABLE_FRAME, "SELECT DISTINCT * FROM ", " ORDER BY ALL" },
	{ BP_TABLE_THREAD, "SELECT * FROM ", " ORDER BY ALL" },
	{ BP_TABLE_COUNTER, "SELECT * FROM ",
		" QUALIFY row_number() OVER (PARTITION BY process ORDER BY time_ns DESC,"
		"allocated_bytes DESC) = 1 ORDER BY process" },
	{ BP_TABLE_INTERVAL, "SELECT * FROM ", " ORDER BY ALL" },
	{ BP_TABLE_PAUSE, "SELECT * FROM ", " ORDER BY ALL" },
	{ BP_TABLE_PROCESS, "SELECT * FROM ", " ORDER BY process" },
};

/* The name of a file between quotes. COPY takes it as it is, without patterns. */
static void write_path(const char *folder, const char *table, FILE *script)
{
	fputs("'", script);
	for (const char *at = folder; *at != '\0'; at++)
		fputs(*at == '\'' ? "''" : (const char[]){ *at, '\0' }, script);
	fprintf(script, "/%s.parquet'", table);
}

static void write_copy(
	const struct bp_store *store, size_t number, const char *folder, FILE *script)
{
	fputs("COPY (", script);
	fputs(sums[number].before, script);
	bp_store_write_table(store, sums[number].table, script);
	fputs(sums[number].after, script);
	fputs(") TO ", script);
	write_path(folder, bp_table_of(sums[number].table)->name, script);
	fputs(" (FORMAT parquet, COMPRESSION zstd, KV_METADATA {bytepoll: '" BP_TABLES_VERSION
	      "'});\n",
		script);
}

/* No readings: a table without rows, which a sum has so that all folders have the same tables. */
static void write_no_readings(const char *folder, FILE *script)
{
	const struct bp_table *table = bp_table_of(BP_TABLE_READING);
	fputs("COPY (SELECT ", script);
	for (uint32_t i = 0; i < table->column_count; i++)
		fprintf(script, "%sNULL::%s AS \"%s\"", i > 0 ? "," : "",
			table->columns[i].type == BP_PARQUET_TEXT ? "VARCHAR" : "BIGINT",
			table->columns[i].name);
	fputs(" WHERE false) TO ", script);
	write_path(folder, table->name, script);
	fputs(" (FORMAT parquet, COMPRESSION zstd, KV_METADATA {bytepoll: '" BP_TABLES_VERSION
	      "'});\n",
		script);
}

static void write_counts(const struct bp_store *store, const struct bp_store *written, FILE *script)
{
	static const struct {
		const char *what;
		enum bp_table_number table;
	} counts[] = { { "count(DISTINCT process)", BP_TABLE_PROCESS },
		{ "count(*)", BP_TABLE_THREAD }, { "coalesce(sum(samples), 0)", BP_TABLE_SAMPLE } };
	const struct bp_store *both[] = { store, written };
	for (size_t i = 0; i < BP_COUNT(counts); i++) {
		fprintf(script, "SELECT '%c'", ROW_COUNT);
		for (size_t j = 0; j < 2; j++) {
			fprintf(script, ",(SELECT %s FROM ", counts[i].what);
			bp_store_write_table(both[j], counts[i].table, script);
			fputs(")", script);
		}
		fputs(";\n", script);
	}
}

struct sum {
	FILE *runs;
	uint32_t compared; /* counts that are as they should be */
};

static bool take_sum(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	struct sum *sum = context;
	struct bp_parquet_value before, after;
	if (row->fields[0][0] == ROW_RUN) {
		if (!bp_duckdb_text(row, 1, &before, error))
			return false;
		fprintf(sum->runs, "%s\n", before.text);
		return true;
	}
	if (!bp_duckdb_number(row, 1, &before, error) || !bp_duckdb_number(row, 2, &after, error))
		return false;
	sum->compared++;
	return before.number == after.number ||
	       bp_error_set(error, "duckdb wrote %lld rows or samples of %lld: nothing was changed",
		       (long long)after.number, (long long)before.number);
}

static bool sync_file(
	const char *folder, const char *name, const char *suffix, struct bp_error *error)
{
	char path[PATH_MAX];
	const int length = snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
	const int descriptor =
		(size_t)length < sizeof path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	const bool good = descriptor >= 0 && fsync(descriptor) == 0;
	if (!good)
		bp_error_set(
			error, "%.800s/%s cannot be written: %s", folder, name, strerror(errno));
	if (descriptor >= 0)
		close(descriptor);
	return good;
}

static bool sync_all(const char *folder, struct bp_error *error)
{
	for (int i = 0; i < BP_TABLE_COUNT; i++)
		if (!sync_file(
			    folder, bp_table_of((enum bp_table_number)i)->name, ".parquet", error))
			return false;
	return sync_file(folder, BP_SUM_RUNS, "", error);
}

static bool ask(
	const struct bp_store *store, const char *folder, struct sum *sum, struct bp_error *error)
{
	struct bp_store written = { .folders = &(char *){ strdup(folder) }, .count = 1 };
	FILE *script;
	bool good = (*written.folders != NULL || bp_error_set(error, "out of memory")) &&
		    bp_duckdb_script(&script, error);
	if (good) {
		for (size_t i = 0; i < BP_COUNT(sums); i++)
			write_copy(store, i, folder, script);
		write_no_readings(folder, script);
		write_counts(store, &written, script);
		fprintf(script, "SELECT DISTINCT '%c',hex(run) FROM ", ROW_RUN);
		bp_store_write_table(&written, BP_TABLE_PROCESS, script);
		fputs(" ORDER BY ALL;\n", script);
		good = bp_duckdb_run(script, take_sum, sum, error);
	}
	free(*written.folders);
	return good && (sum->compared == 3 ||
			       bp_error_set(error, "duckdb: its answer is not what was asked for"));
}

bool bp_compact_write(const struct bp_store *store, const char *folder, struct bp_error *error)
{
	char path[PATH_MAX];
	struct sum sum = { .compared = 0 };
	if ((size_t)snprintf(path, sizeof path, "%s/" BP_SUM_RUNS, folder) >= sizeof path)
		return bp_error_set(error, "%.64s...: path too long", folder);
	sum.runs = fopen(path, "wex");
	if (sum.runs == NULL)
		return bp_error_set(error, "%.800s cannot be created: %s", path, strerror(errno));
	bool good = ask(store, folder, &sum, error);
	if (fclose(sum.runs) != 0 && good)
		good = bp_error_set(error, "%.800s cannot be written: %s", path, strerror(errno));
	return good && sync_all(folder, error);
}
