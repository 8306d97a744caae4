/* SPDX-License-Identifier: MIT */
/*
 * See push_clickhouse.h. An insert whose answer did not come may have happened, or may happen
 * later, so the same insert is never sent again: every attempt to push a run has an id of its own,
 * which all its rows carry. Rows of table processes come last, and say how many they are.
 * Questions look for whole attempts, and of several of a run take one. Rows of an attempt that was
 * cut short belong to nothing, and stay (docs/fleet.md says how they are removed).
 *
 * What the ids say is in fleet/push_id.h.
 */
#include "cli/push/push_clickhouse.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "fleet/push_id.h"

#define FIRST_PAUSE_NS UINT64_C(200000000)
#define SECOND_NS UINT64_C(1000000000)

static bool take_count(void *context, char *line, struct bp_error *error)
{
	char *end;
	const unsigned long long count = strtoull(line, &end, 10);
	*(uint64_t *)context = count;
	return (end != line && *end == '\0') ||
	       bp_error_set(error, "the server: its answer is not what was asked for");
}

bool bp_push_clickhouse_has(
	struct bp_clickhouse *server, const char *id, bool *ret_there, struct bp_error *error)
{
	char sql[512];
	uint64_t count = 0;
	/* (An attempt may have other runs, too: a sum of `bytepoll compact` has.) */
	const int bytes = snprintf(sql, sizeof sql,
		"SELECT count() FROM processes WHERE run = '%.64s' AND push < '" BP_PUSH_VERSION
		"' AND push IN (SELECT push FROM processes WHERE push IN (SELECT push FROM processes "
		"WHERE run = '%.64s') GROUP BY push HAVING count() = max(push_rows))",
		id, id);
	if (!bp_clickhouse_ask(server, sql, (size_t)bytes, take_count, &count, error))
		return false;
	*ret_there = count > 0;
	return true;
}

bool bp_push_clickhouse_newest(
	struct bp_clickhouse *server, const char *id, uint64_t *ret_unix_s, struct bp_error *error)
{
	char sql[512];
	uint64_t left_s = 0;
	const int bytes = snprintf(sql, sizeof sql,
		"SELECT toUInt64OrZero(substring(min(push), 2, 10)) FROM (SELECT push FROM processes "
		"WHERE run = '%.64s' AND push >= '" BP_PUSH_VERSION
		"' GROUP BY push HAVING count() = "
		"max(push_rows))",
		id);
	if (!bp_clickhouse_ask(server, sql, (size_t)bytes, take_count, &left_s, error))
		return false;
	*ret_unix_s =
		left_s == 0 || left_s > BP_PUSH_SECONDS_END ? 0 : BP_PUSH_SECONDS_END - left_s;
	return true;
}

/* The statement that reads one table from Parquet, and adds what identifies the attempt. */
static char *write_statement(const struct bp_table *table, const char *push, uint64_t push_rows)
{
	static const char *const types[] = { [BP_PARQUET_NUMBER] = "Int64",
		[BP_PARQUET_FLAG] = "Bool",
		[BP_PARQUET_TEXT] = "String" };
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (out == NULL)
		return NULL;
	fprintf(out, "INSERT INTO %s (", table->name);
	for (uint32_t i = 0; i < table->column_count; i++)
		fprintf(out, "%s,", table->columns[i].name);
	fprintf(out, push_rows > 0 ? "push,push_rows) SELECT *,'%s',%llu" : "push) SELECT *,'%s'",
		push, (unsigned long long)push_rows);
	fputs(" FROM input('", out);
	for (uint32_t i = 0; i < table->column_count; i++)
		fprintf(out, table->columns[i].optional ? "%s%s Nullable(%s)" : "%s%s %s",
			i > 0 ? "," : "", table->columns[i].name, types[table->columns[i].type]);
	fputs("') FORMAT Parquet", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static bool insert(struct bp_clickhouse *server, enum bp_table_number number, FILE *file,
	const char *push, uint64_t processes, struct bp_error *error)
{
	char *sql = write_statement(
		bp_table_of(number), push, number == BP_TABLE_PROCESS ? processes : 0);
	const off_t bytes = fseeko(file, 0, SEEK_END) == 0 ? ftello(file) : -1;
	const bool good = sql != NULL && bytes >= 0
				  ? bp_clickhouse_insert(server, sql, file, (uint64_t)bytes, error)
				  : bp_error_set(error, "out of memory");
	free(sql);
	return good;
}

static bool insert_all(struct bp_clickhouse *server, FILE *const files[BP_TABLE_COUNT],
	uint64_t processes, uint64_t version_s, struct bp_error *error)
{
	char push[BP_PUSH_ID_BYTES];
	bp_push_id_draw(version_s == 0 ? "" : BP_PUSH_VERSION, version_s, push);
	for (uint32_t i = 0; i < BP_TABLE_COUNT; i++)
		if (i != BP_TABLE_PROCESS &&
			!insert(server, (enum bp_table_number)i, files[i], push, processes, error))
			return false;
	return insert(server, BP_TABLE_PROCESS, files[BP_TABLE_PROCESS], push, processes, error);
}

/* Between a half and one and a half of `mean_ns`, so that many pushers do not come together. */
static void pause_for(uint64_t mean_ns)
{
	uint32_t random;
	bp_system_random(&random, sizeof random);
	const uint64_t time_ns = mean_ns / 2 + mean_ns * (random >> 16) / 65536;
	nanosleep(&(struct timespec){ (time_t)(time_ns / SECOND_NS), (long)(time_ns % SECOND_NS) },
		NULL);
}

bool bp_push_clickhouse_put(struct bp_clickhouse *server, const volatile sig_atomic_t *stopped,
	const struct bp_profile *profile, const struct bp_tags *tags, const char *id,
	uint64_t version_s, bool *ret_new, struct bp_error *error)
{
	FILE *files[BP_TABLE_COUNT];
	bool good = false, hopeless = false;
	bp_error_set(error, "stopped");
	if (!bp_tables_write_unnamed(profile, tags, files, error))
		return false;
	for (int i = 0; !good && !hopeless && i < BP_PUSH_ATTEMPTS && !*stopped; i++) {
		if (i > 0)
			pause_for(FIRST_PAUSE_NS << (i - 1));
		/* What failed before may have arrived all the same. */
		const bool asked = i == 0 || bp_push_clickhouse_has(server, id, &good, error);
		if (asked && !good)
			good = insert_all(
				server, files, profile->processes.count - 1, version_s, error);
		hopeless = !good && !bp_clickhouse_may_pass(server);
	}
	for (uint32_t i = 0; i < BP_TABLE_COUNT; i++)
		fclose(files[i]);
	*ret_new = good;
	return good;
}
