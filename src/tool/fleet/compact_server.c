/* SPDX-License-Identifier: MIT */
/*
 * See compact_server.h. Of two sums of a run the newer one counts (push_id.h). It has all runs of
 * those that it stands for, since it is made of whole attempts.
 */
#include "fleet/compact_server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "base/vec.h"
#include "fleet/engine.h"
#include "fleet/push_id.h"

#define HOLDER_BYTES 320u
#define IDS_IN_STATEMENT 500u
/* The marked: a number of rows that no attempt has. */
#define MARK "-1"

#define ROW_AGE 'A'   /* attempt, runs, end since 1970 */
#define ROW_TWICE 'D' /* the id of a process that is there twice */
#define ROW_COUNT 'C' /* of the attempts, and as written */
#define ROW_VOID 'V'  /* how many rows belong to nothing */
#define ROW_HOLDER 'H'

#define WHOLE "SELECT push FROM bytepoll_pushes"
#define IS_SUM "startsWith(push, '" BP_PUSH_SUM "')"
#define WAITING " SETTINGS mutations_sync = 2"

bool bp_compact_server_is_sum(const char *push)
{
	return *push == BP_PUSH_SUM[0];
}

bool bp_compact_server_is_version(const char *push)
{
	return *push == BP_PUSH_VERSION[0];
}

void bp_compact_server_write_sums(FILE *script)
{
	fputs("every WHERE " IS_SUM, script);
}

/* Of a statement that answers nothing. */
static bool take_nothing(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	(void)context;
	(void)row;
	return bp_error_set(error, "the server: its answer is not what was asked for");
}

/* ---- one command at a time ---- */

/* Host, namespace of process numbers, and number of this process, without anything that SQL reads:
 * containers may share the name of a host and not its numbers. */
static void write_holder(char ret_holder[HOLDER_BYTES])
{
	char host[256] = "";
	struct stat space = { .st_ino = 0 };
	gethostname(host, sizeof host - 1);
	(void)stat("/proc/self/ns/pid", &space);
	for (char *at = host; *at != '\0'; at++)
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-",
			    *at) == NULL)
			*at = '_';
	snprintf(ret_holder, HOLDER_BYTES, "%s %llu %ld", host, (unsigned long long)space.st_ino,
		(long)getpid());
}

static bool take_holder(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	struct bp_parquet_value text;
	if (row->fields[0][0] != ROW_HOLDER || !bp_duckdb_text(row, 1, &text, error))
		return bp_error_set(error, "the server: its answer is not what was asked for");
	snprintf(context, HOLDER_BYTES, "%s", text.text);
	return true;
}

/* Did a process of this host make the table, that is not there any more? */
static bool has_ended(const char *holder)
{
	char own[HOLDER_BYTES];
	write_holder(own);
	const size_t before = (size_t)(strrchr(own, ' ') + 1 - own);
	if (strncmp(own, holder, before) != 0)
		return false;
	const long pid = strtol(holder + before, NULL, 10);
	return pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static bool run_one(const struct bp_store *store, const char *sql,
	bool (*take)(void *context, struct bp_duckdb_row *row, struct bp_error *error),
	void *context, struct bp_error *error)
{
	FILE *script;
	if (!bp_duckdb_script(&script, error))
		return false;
	fprintf(script, "%s;\n", sql);
	return bp_engine_run(store, script, take, context, error);
}

static bool make_table(const struct bp_store *store, struct bp_error *error)
{
	char holder[HOLDER_BYTES], sql[HOLDER_BYTES + 128];
	write_holder(holder);
	snprintf(sql, sizeof sql,
		"CREATE TABLE compacting (nothing Int64) ENGINE = Memory COMMENT '%s'", holder);
	return run_one(store, sql, take_nothing, NULL, error);
}

bool bp_compact_server_begin(const struct bp_store *store, struct bp_error *error)
{
	struct bp_error failure = { .text = "" };
	char holder[HOLDER_BYTES] = "";
	if (make_table(store, &failure))
		return true;
	if (!run_one(store,
		    "SELECT 'H',hex(comment) FROM system.tables WHERE database = currentDatabase() "
		    "AND name = 'compacting'",
		    take_holder, holder, error))
		return false;
	if (holder[0] == '\0')
		return bp_error_set(error, "%s", failure.text);
	if (has_ended(holder)) {
		bp_compact_server_end(store);
		return make_table(store, error);
	}
	return bp_error_set(error,
		"the database is being compacted by another command (its host, namespace and process: %.100s); if "
		"that was killed, remove its table: DROP TABLE compacting",
		holder);
}

void bp_compact_server_end(const struct bp_store *store)
{
	struct bp_error ignored;
	(void)run_one(store, "DROP TABLE IF EXISTS compacting SYNC", take_nothing, NULL, &ignored);
}

/* ---- ages ---- */

struct list {
	struct bp_store *store;
	struct bp_folder_age *ages;
	uint32_t capacity;
};

static bool take_age(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	struct list *list = context;
	struct bp_store *store = list->store;
	struct bp_parquet_value id, runs, end;
	if (!bp_duckdb_text(row, 1, &id, error))
		return false;
	if (row->fields[0][0] == ROW_TWICE)
		return bp_error_set(error, "process %.32s is in the store twice", id.text);
	if (!bp_duckdb_number(row, 2, &runs, error) || !bp_duckdb_number(row, 3, &end, error))
		return false;
	if (!bp_vec_reserve(
		    &store->folders, &store->capacity, store->count + 1u, sizeof *store->folders) ||
		!bp_vec_reserve(
			&list->ages, &list->capacity, store->count + 1u, sizeof *list->ages))
		return bp_error_set(error, "out of memory");
	store->folders[store->count] = strdup(id.text);
	if (store->folders[store->count] == NULL)
		return bp_error_set(error, "out of memory");
	list->ages[store->count++] = (struct bp_folder_age){ (uint32_t)runs.number, end.number };
	return true;
}

bool bp_compact_server_list(
	struct bp_store *store, struct bp_folder_age **ret_ages, struct bp_error *error)
{
	struct list list = { .store = store };
	FILE *script;
	bool good = bp_duckdb_script(&script, error);
	if (good) {
		fprintf(script,
			"SELECT '%c',hex(process) FROM processes WHERE push IN (" WHOLE
			") GROUP BY process HAVING count() > 1;\n"
			"SELECT '%c',hex(push),count(),max(end_ns) FROM (SELECT push,"
			"coalesce(max(if(start_unix_ns > 0, start_unix_ns + greatest(0, end_clock_ns - "
			"start_clock_ns), NULL)), %lld) AS end_ns FROM processes WHERE push IN (" WHOLE
			") GROUP BY push, run) GROUP BY push ORDER BY push;\n",
			ROW_TWICE, ROW_AGE, (long long)INT64_MAX);
		good = bp_engine_run(store, script, take_age, &list, error);
	}
	if (good && list.ages == NULL)
		list.ages = calloc(1, sizeof *list.ages);
	*ret_ages = list.ages;
	return good && (list.ages != NULL || bp_error_set(error, "out of memory"));
}

/* ---- sums ---- */

/* `count` ids from number `from` on, as a list of expressions. */
static void write_ids(const struct bp_store *store, const struct bp_store *picked, uint32_t from,
	uint32_t count, const char *form, FILE *script)
{
	for (uint32_t i = from; i < from + count; i++) {
		fprintf(script, "%s%s", i > from ? "," : "", *form != '\0' ? "(" : "");
		bp_engine_write_text(store, picked->folders[i], script);
		fputs(form, script);
	}
}

static uint32_t next_ids(const struct bp_store *picked, uint32_t from)
{
	const uint32_t left = picked->count - from;
	return left < IDS_IN_STATEMENT ? left : IDS_IN_STATEMENT;
}

#define OF_CHOSEN " WHERE push IN (SELECT push FROM chosen)"

/* How a sum has the columns of samples: without times; what was freed at all keeps one, 0. */
static const char *column_of_sum(const char *name)
{
	return strcmp(name, "time_ns") == 0    ? "0"
	       : strcmp(name, "freed_ns") == 0 ? "if(isNull(s.freed_ns), NULL, 0)"
	       : strcmp(name, "samples") == 0  ? "sum(s.samples)"
					       : NULL;
}

static void write_columns(const struct bp_table *table, const char *form, FILE *script)
{
	for (uint32_t i = 0; i < table->column_count; i++)
		fprintf(script, form, i > 0 ? "," : "", table->columns[i].name);
}

static void write_samples(const struct bp_table *table, const char *id, FILE *script)
{
	for (uint32_t i = 0; i < table->column_count; i++) {
		const char *name = table->columns[i].name, *as = column_of_sum(name);
		fprintf(script, as != NULL ? "%s%s" : "%ss.\"%s\"", i > 0 ? "," : "",
			as != NULL ? as : name);
	}
	fprintf(script, ",'%s' FROM samples AS s" OF_CHOSEN " GROUP BY isNull(s.freed_ns)", id);
	for (uint32_t i = 0; i < table->column_count; i++)
		if (column_of_sum(table->columns[i].name) == NULL)
			fprintf(script, ",s.\"%s\"", table->columns[i].name);
}

static void write_insert(enum bp_table_number number, const char *id, FILE *script)
{
	const struct bp_table *table = bp_table_of(number);
	fprintf(script, "INSERT INTO %s (", table->name);
	write_columns(table, "%s\"%s\"", script);
	fprintf(script, ",push%s) SELECT ", number == BP_TABLE_PROCESS ? ",push_rows" : "");
	if (number == BP_TABLE_SAMPLE) {
		write_samples(table, id, script);
		fputs(";\n", script);
		return;
	}
	if (number == BP_TABLE_STACK || number == BP_TABLE_FRAME)
		fputs("DISTINCT ", script);
	write_columns(table, "%s\"%s\"", script);
	fprintf(script, ",'%s'", id);
	if (number == BP_TABLE_PROCESS)
		fputs(",(SELECT count() FROM processes" OF_CHOSEN ")", script);
	fprintf(script, " FROM %s" OF_CHOSEN, table->name);
	if (number == BP_TABLE_COUNTER)
		fputs(" ORDER BY time_ns DESC, allocated_bytes DESC LIMIT 1 BY process", script);
	fputs(";\n", script);
}

static bool take_counts(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	struct bp_parquet_value before, after;
	(void)context;
	if (row->fields[0][0] != ROW_COUNT || !bp_duckdb_number(row, 1, &before, error) ||
		!bp_duckdb_number(row, 2, &after, error))
		return bp_error_set(error, "the server: its answer is not what was asked for");
	return before.number == after.number ||
	       bp_error_set(error,
		       "the server wrote %lld rows or samples of %lld: nothing was changed",
		       (long long)after.number, (long long)before.number);
}

static void write_counts(const char *id, FILE *script)
{
	static const char *const counts[] = { "count() FROM threads",
		"coalesce(sum(samples), 0) FROM samples", "uniqExact(stack) FROM stacks",
		"uniqExact(frame) FROM frames" };
	for (size_t i = 0; i < BP_COUNT(counts); i++)
		fprintf(script,
			"SELECT '%c',(SELECT %s" OF_CHOSEN "),(SELECT %s WHERE push = '%s');\n",
			ROW_COUNT, counts[i], counts[i], id);
	fprintf(script,
		"SELECT '%c',(SELECT count() FROM processes" OF_CHOSEN
		"),(SELECT uniqExact(process) FROM processes" OF_CHOSEN ");\n",
		ROW_COUNT);
}

/* Now, but later than every sum that this one is to stand for: another machine's clock may be ahead
 * of ours, and a sum that is not the newest would count beside them. */
static uint64_t moment_of(const struct bp_store *picked)
{
	uint64_t unix_s = (uint64_t)time(NULL);
	for (uint32_t i = 0; i < picked->count; i++) {
		const char *push = picked->folders[i];
		if (bp_compact_server_is_sum(push) && bp_push_id_unix_s(push) >= unix_s)
			unix_s = bp_push_id_unix_s(push) + 1;
	}
	return unix_s;
}

bool bp_compact_server_sum(
	const struct bp_store *store, const struct bp_store *picked, struct bp_error *error)
{
	char id[BP_PUSH_ID_BYTES];
	FILE *script;
	uint32_t count;
	if (!bp_duckdb_script(&script, error))
		return false;
	bp_push_id_draw(BP_PUSH_SUM, moment_of(picked), id);
	fputs("CREATE TEMPORARY TABLE chosen (push String);\n", script);
	for (uint32_t i = 0; i < picked->count; i += count) {
		count = next_ids(picked, i);
		fputs("INSERT INTO chosen VALUES ", script);
		write_ids(store, picked, i, count, ")", script);
		fputs(";\n", script);
	}
	/* (A sum has no readings, and rows of processes come last.) */
	for (int i = 0; i < BP_TABLE_COUNT; i++)
		if (i != BP_TABLE_READING && i != BP_TABLE_PROCESS)
			write_insert((enum bp_table_number)i, id, script);
	write_counts(id, script);
	write_insert(BP_TABLE_PROCESS, id, script);
	return bp_engine_run(store, script, take_counts, NULL, error);
}

/* ---- removing ---- */

bool bp_compact_server_leave(
	const struct bp_store *store, const struct bp_store *picked, struct bp_error *error)
{
	FILE *script;
	uint32_t count;
	if (!bp_duckdb_script(&script, error))
		return false;
	for (uint32_t i = 0; i < picked->count; i += count) {
		count = next_ids(picked, i);
		fputs("ALTER TABLE processes UPDATE push_rows = " MARK
		      " WHERE run IN (SELECT run FROM processes WHERE push IN (",
			script);
		write_ids(store, picked, i, count, "", script);
		fputs("))" WAITING ";\n", script);
	}
	return bp_engine_run(store, script, take_nothing, NULL, error);
}

static bool take_amount(void *context, struct bp_duckdb_row *row, struct bp_error *error)
{
	struct bp_parquet_value amount;
	if (row->fields[0][0] != ROW_VOID || !bp_duckdb_number(row, 1, &amount, error))
		return bp_error_set(error, "the server: its answer is not what was asked for");
	*(bool *)context |= amount.number > 0;
	return true;
}

/* Attempts of table processes that a sum stands for, or sums that were cut short. */
#define VOID                                   \
	"push NOT IN (" WHOLE ") AND (" IS_SUM \
	" OR run IN (SELECT run FROM processes WHERE " IS_SUM " AND push IN (" WHOLE ")))"
/* Rows of the other tables. */
#define VOID_ROWS                                                                     \
	"push IN (SELECT push FROM processes WHERE push_rows = " MARK ") OR (" IS_SUM \
	" AND push NOT IN (" WHOLE "))"

bool bp_compact_server_sweep(const struct bp_store *store, struct bp_error *error)
{
	FILE *script;
	bool any = false;
	if (!bp_duckdb_script(&script, error))
		return false;
	for (int i = 0; i < BP_TABLE_COUNT; i++)
		fprintf(script, "SELECT '%c',count() FROM %s WHERE %s;\n", ROW_VOID,
			bp_table_of((enum bp_table_number)i)->name,
			i == BP_TABLE_PROCESS ? "push_rows = " MARK " OR (" VOID ")" : VOID_ROWS);
	if (!bp_engine_run(store, script, take_amount, &any, error))
		return false;
	if (!any)
		return true;
	if (!bp_duckdb_script(&script, error))
		return false;
	fputs("ALTER TABLE processes UPDATE push_rows = " MARK " WHERE " VOID WAITING ";\n",
		script);
	for (int i = 0; i < BP_TABLE_COUNT; i++)
		if (i != BP_TABLE_PROCESS)
			fprintf(script, "ALTER TABLE %s DELETE WHERE " VOID_ROWS WAITING ";\n",
				bp_table_of((enum bp_table_number)i)->name);
	fputs("ALTER TABLE processes DELETE WHERE push_rows = " MARK WAITING ";\n", script);
	return bp_engine_run(store, script, take_nothing, NULL, error);
}
