/* SPDX-License-Identifier: MIT */
/*
 * The question in SQL, for both engines: what they write differently is in engine.c and store.c.
 * ClickHouse takes a name for that of a column of the answer before it looks into tables, so a
 * name that is both stands with its table here. Values reach the script as hexadecimal digits
 * only, and names of folders quoted (store.c), so that nothing in them is ever read as SQL. Rows
 * are ordered by all that they hold: the same store gives the same sums to the last bit, however
 * many threads the engine has.
 */
#include "fleet/fleet_script.h"

#include <string.h>

#include "base/attributes.h"
#include "fleet/compact_server.h"
#include "fleet/engine.h"
#include "fleet/process_fields.h"

/* A column of the answer: texts hexadecimal, flags 0 or 1. */
static void write_column(FILE *script, const char *table, const struct bp_parquet_column *column)
{
	static const char *const forms[] = { [BP_PARQUET_NUMBER] = ",%s.\"%s\"",
		[BP_PARQUET_FLAG] = ",%s.\"%s\"::INT",
		[BP_PARQUET_TEXT] = ",hex(%s.\"%s\")" };
	const char *form = forms[column->type];
	for (; *form != '\0'; form++) {
		if (*form != '%') {
			fputc(*form, script);
			continue;
		}
		form++;
		fputs(table, script);
		table = column->name;
	}
}

static void write_columns(
	FILE *script, const char *name, enum bp_table_number number, uint32_t from)
{
	const struct bp_table *table = bp_table_of(number);
	for (uint32_t i = from; i < table->column_count; i++)
		write_column(script, name, &table->columns[i]);
}

static void write_any(const struct bp_store *store, FILE *script, const char *column,
	const char *const *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		fprintf(script, "%s", i == 0 ? " AND " : ",");
		if (i == 0)
			fprintf(script, "%s IN (", column);
		bp_engine_write_text(store, values[i], script);
	}
	fputs(count > 0 ? ")" : "", script);
}

/* The first processes of the runs that are meant, as table `runs`; the processes of these, as table
 * `p`, each with a number from 1 on. */
static void write_selection(
	const struct bp_store *store, const struct bp_fleet_filter *filter, FILE *script)
{
	fputs("CREATE TEMPORARY TABLE every AS SELECT * FROM ", script);
	bp_store_write_table(store, BP_TABLE_PROCESS, script);
	fputs(";\nCREATE TEMPORARY TABLE runs AS SELECT DISTINCT run, start_unix_ns FROM every WHERE "
	      "process = run",
		script);
	write_any(store, script, "service", filter->services, filter->service_count);
	write_any(store, script, "release", filter->releases, filter->release_count);
	write_any(store, script, "host", filter->hosts, filter->host_count);
	for (uint32_t i = 0; i < filter->tag_count; i++) {
		fputs(" AND ", script);
		bp_engine_write_has_line(store, "tags", filter->tags[i], script);
	}
	if (filter->since_ns != INT64_MIN)
		fprintf(script, " AND start_unix_ns >= %lld", (long long)filter->since_ns);
	if (filter->until_ns != INT64_MAX)
		fprintf(script, " AND start_unix_ns < %lld", (long long)filter->until_ns);
	fputs(";\n", script);
}

/* Of the runs only those that were recorded at both moments. Table `lives` has when processes
 * began and were last heard of, table `spans` the two moments, all by the clock of the machine. A
 * run ends with the last program of its first process (query/view.h). */
static void write_moments(
	const struct bp_store *store, const struct bp_fleet_moments *moments, FILE *script)
{
	const char *origin =
		moments->of_day ? "f.start_clock_ns - f.start_unix_ns" : "f.start_clock_ns";
	fputs("CREATE TEMPORARY TABLE lives AS SELECT e.process AS process, e.start_clock_ns AS start_ns, "
	      "greatest(e.start_clock_ns, e.end_clock_ns, e.start_clock_ns + coalesce(l.last_ns, 0)) AS end_ns "
	      "FROM every e LEFT JOIN (SELECT process, max(greatest(time_ns, coalesce(freed_ns, 0))) AS last_ns "
	      "FROM ",
		script);
	bp_store_write_table(store, BP_TABLE_SAMPLE, script);
	fprintf(script,
		" GROUP BY process) l ON l.process = e.process WHERE e.run IN (SELECT run FROM "
		"runs);\n"
		"CREATE TEMPORARY TABLE spans AS SELECT f.run AS run, %s + %lld AS from_ns, %s + %lld AS "
		"until_ns FROM every f JOIN every e ON e.run = f.run AND e.pid = f.pid JOIN lives l "
		"ON l.process = e.process WHERE f.process = f.run GROUP BY f.run, f.start_clock_ns, "
		"f.start_unix_ns HAVING f.start_clock_ns <= from_ns AND max(l.end_ns) >= "
		"until_ns;\n"
		"SELECT '%c', (SELECT count(*) FROM runs) - (SELECT count(*) FROM spans);\n",
		origin, (long long)moments->from_ns, origin, (long long)moments->until_ns,
		BP_ROW_LEFT_OUT);
}

/* How many of the runs are sums, where times are asked about. */
static void write_summed(const struct bp_store *store, const struct bp_store *sums,
	const struct bp_fleet_filter *filter, FILE *script)
{
	if ((store->server == NULL && sums->count == 0) ||
		(filter->moments == NULL && filter->times.cut_count == 0 && !filter->times.window &&
			!filter->times.has_at))
		return;
	fprintf(script, "SELECT '%c',count(*) FROM runs WHERE run IN (SELECT run FROM ",
		BP_ROW_SUMMED);
	if (store->server != NULL)
		bp_compact_server_write_sums(script);
	else
		bp_store_write_table(sums, BP_TABLE_PROCESS, script);
	fputs(");\n", script);
}

/* Of a database: what was selected at the beginning must be there still. A sum may have taken its
 * place (compact_server.h), or somebody removed runs. */
static void write_gone(FILE *script)
{
	fprintf(script,
		"SELECT '%c',count(*) FROM (SELECT DISTINCT push FROM every WHERE run IN (SELECT run "
		"FROM runs)) WHERE push NOT IN (SELECT push FROM processes GROUP BY push HAVING "
		"count(*) = max(push_rows));\n",
		BP_ROW_GONE);
}

/* Where the clocks of runs begin, as table `bases`: base_ns in the profile, zero_ns by the clock of
 * the machine. Times of a day are counted from 1970 on in both. */
static void write_bases(bool of_day, FILE *script)
{
	fprintf(script,
		"CREATE TEMPORARY TABLE bases AS SELECT DISTINCT run, %s AS base_ns, %s AS zero_ns FROM "
		"every WHERE process = run;\n",
		of_day ? "0" : "start_clock_ns",
		of_day ? "start_clock_ns - start_unix_ns" : "start_clock_ns");
}

/* When a process begins and ends in the profile, and how much younger it is there. */
struct shift {
	const char *start, *end, *moved;
};

/* With moments of a day a process begins at the first one. */
static const struct shift no_shift = { "e.start_clock_ns", "e.end_clock_ns", "0" },
			  to_first_moment = { "greatest(e.start_clock_ns, s.from_ns)",
				  "greatest(e.start_clock_ns, s.from_ns, e.end_clock_ns)",
				  "greatest(0, s.from_ns - e.start_clock_ns)" };
/* For times of a day the first one of a run begins with 1970 (`of_day` of struct bp_profile). */
static const struct shift to_day = {
	"CASE WHEN e.process = e.run THEN b.base_ns ELSE b.base_ns + e.start_clock_ns - b.zero_ns END",
	"b.base_ns + greatest(e.start_clock_ns, e.end_clock_ns) - b.zero_ns",
	"CASE WHEN e.process = e.run THEN b.zero_ns - e.start_clock_ns ELSE 0 END"
};

/* The columns of a process, each under its own name: where several tables are joined, ClickHouse
 * calls those of `e.*` by other ones. */
static void write_process_columns(const struct shift *shift, FILE *script)
{
	const struct bp_table *table = bp_table_of(BP_TABLE_PROCESS);
	for (uint32_t i = 0; i < table->column_count; i++) {
		const char *name = table->columns[i].name;
		if (strcmp(name, "start_clock_ns") == 0)
			fprintf(script, ",%s", shift->start);
		else if (strcmp(name, "end_clock_ns") == 0)
			fprintf(script, ",%s", shift->end);
		else
			fprintf(script, ",e.\"%s\"", name);
		fprintf(script, " AS \"%s\"", name);
	}
}

/* The processes of the runs, as table `p`, each with a number from 1 on; clock_ns is when it began
 * by the clock of the machine, of which it is moved_ns younger in the profile. */
static void write_processes(const struct bp_fleet_filter *filter, FILE *script)
{
	const struct bp_fleet_moments *moments = filter->moments;
	const struct shift *shift = moments != NULL && moments->of_day	      ? &to_first_moment
				    : moments == NULL && filter->times.of_day ? &to_day
									      : &no_shift;
	fprintf(script,
		"CREATE TEMPORARY TABLE p AS SELECT row_number() OVER (ORDER BY r.start_unix_ns, "
		"e.run, e.start_clock_ns, e.process) AS number,%s AS moved_ns,e.start_clock_ns AS "
		"clock_ns",
		shift->moved);
	write_process_columns(shift, script);
	fprintf(script,
		" FROM every e JOIN runs r ON e.run = r.run JOIN bases b ON b.run = e.run%s;\nSELECT "
		"'%c',p.number",
		moments != NULL ? " JOIN spans s ON s.run = e.run" : "", BP_ROW_PROCESS);
	write_columns(script, "p", BP_TABLE_PROCESS, 0);
	fputs(" FROM p ORDER BY number;\n", script);
}

/* When samples begin and end, of those that lived at one of the moments. */
static const char lived_at_ends[] = "0 AS begins,CASE WHEN s.live THEN NULL ELSE 0 END AS ends";
static const char lived_at_moments[] =
	"CASE WHEN l.start_ns + s.time_ns > m.from_ns THEN m.until_ns ELSE m.from_ns END - "
	"p.start_clock_ns AS begins,CASE WHEN l.start_ns + s.freed_ns <= m.until_ns OR l.end_ns < "
	"m.until_ns THEN m.until_ns - p.start_clock_ns END AS ends";
/* The same where a query has times: of a moment is kept the last cut before it. */
static void write_cut(const struct bp_fleet_times *times, const char *moment, FILE *script)
{
	fputs("greatest(0", script);
	for (uint32_t i = 0; i < times->cut_count; i++)
		fprintf(script,
			",CASE WHEN p.clock_ns + %s >= b.zero_ns + %llu THEN b.base_ns + %llu - "
			"p.start_clock_ns ELSE 0 END",
			moment, (unsigned long long)times->cuts_ns[i],
			(unsigned long long)times->cuts_ns[i]);
	fputs(")", script);
}

static void write_life_in_cuts(const struct bp_fleet_times *times, FILE *script)
{
	write_cut(times, "s.time_ns", script);
	fputs(" AS begins,", script);
	if (times->has_at) {
		fputs("CASE WHEN s.freed_ns IS NULL THEN NULL ELSE ", script);
		write_cut(times, "s.freed_ns", script);
		fputs(" END AS ends", script);
	} else {
		fputs("CASE WHEN s.live THEN NULL ELSE begins END AS ends", script);
	}
}

static const char of_moments[] =
	" JOIN lives l ON l.process = p.process JOIN spans m ON m.run = p.run WHERE l.end_ns >= "
	"m.from_ns AND l.start_ns + s.time_ns <= m.until_ns AND (s.freed_ns IS NULL OR l.start_ns + "
	"s.freed_ns > m.from_ns) AND (begins <= m.from_ns - p.start_clock_ns OR ends IS NULL)";

/* Samples that are alike, as table `g`. */
static void write_samples(const struct bp_store *store, const struct bp_fleet_filter *filter,
	struct bp_fleet_detail detail, FILE *script)
{
	fprintf(script, "CREATE TEMPORARY TABLE g AS SELECT p.number,%s AS thread,",
		detail.threads ? "s.thread" : "0");
	if (filter->moments == NULL && filter->times.cut_count > 0)
		write_life_in_cuts(&filter->times, script);
	else
		fputs(filter->moments != NULL ? lived_at_moments : lived_at_ends, script);
	fprintf(script,
		",s.temporary::INT AS temporary,s.size,s.usable,s.interval,s.exact::INT AS exact,"
		"(s.law = '" BP_LAW_BERNOULLI "')::INT AS bernoulli,%s AS kind,%s AS type,"
		"%s AS labels,s.stack,sum(s.samples) AS samples FROM ",
		detail.types ? "s.kind" : "''", detail.types ? "s.type" : "''",
		detail.labels ? "s.labels" : "''");
	bp_store_write_table(store, BP_TABLE_SAMPLE, script);
	fprintf(script,
		" s JOIN p ON s.process = p.process JOIN bases b ON b.run = p.run%s GROUP BY "
		"ALL;\n",
		filter->moments != NULL ? of_moments : "");
}

static const char *const counted[] = { "allocated_bytes", "allocated_objects" };

/* A table whose rows belong to processes, without its first column, which says which. */
static void write_of_process(
	const struct bp_store *store, enum bp_table_number table, char row, FILE *script)
{
	fprintf(script, "SELECT '%c',p.number", row);
	write_columns(script, "t", table, 1);
	fputs(" FROM ", script);
	bp_store_write_table(store, table, script);
	fputs(" t JOIN p ON t.process = p.process ORDER BY ALL;\n", script);
}

/* What the readings of threads say of the edges of the window. */
static void write_readings(
	const struct bp_store *store, const struct bp_fleet_times *times, FILE *script)
{
	const uint64_t last_ns = UINT64_C(1) << 62; /* behind all readings */
	const uint64_t edges[] = { times->from_ns, times->to_ns };
	for (size_t i = 0; i < BP_COUNT(edges); i++) {
		char edge[64] = "", clock[64] = "";
		if (edges[i] < last_ns) {
			snprintf(edge, sizeof edge, "b.base_ns + %llu",
				(unsigned long long)edges[i]);
			snprintf(clock, sizeof clock, "b.zero_ns + %llu",
				(unsigned long long)edges[i]);
		} else {
			snprintf(edge, sizeof edge, "%llu", (unsigned long long)last_ns);
			snprintf(clock, sizeof clock, "%s", edge);
		}
		fprintf(script, "SELECT '%c',p.number,r.thread,%s AS edge", BP_ROW_READING, edge);
		for (size_t j = 0; j < 2; j++)
			fprintf(script,
				",max(r.%s) FILTER (WHERE p.clock_ns + r.time_ns < %s AND r.bound <> "
				"%d),min(CASE WHEN %s <= p.clock_ns THEN 0 ELSE r.%s END) FILTER (WHERE "
				"p.clock_ns + r.time_ns >= %s AND r.bound <> %d)",
				counted[j], clock, BP_READING_AT_MOST, clock, counted[j], clock,
				BP_READING_AT_LEAST);
		fputs(" FROM ", script);
		bp_store_write_table(store, BP_TABLE_READING, script);
		fputs(" r JOIN p ON r.process = p.process JOIN bases b ON b.run = p.run GROUP BY "
		      "p.number,r.thread,edge ORDER BY ALL;\n",
			script);
	}
}

static void write_pauses(const struct bp_store *store, FILE *script)
{
	fprintf(script,
		"SELECT '%c',p.number,t.from_ns - p.moved_ns,t.to_ns - p.moved_ns,t.outage::INT FROM ",
		BP_ROW_PAUSE);
	bp_store_write_table(store, BP_TABLE_PAUSE, script);
	fputs(" t JOIN p ON t.process = p.process ORDER BY ALL;\n", script);
}

void bp_fleet_write_question(const struct bp_store *store, const struct bp_store *sums,
	const struct bp_fleet_filter *filter, struct bp_fleet_detail detail, FILE *script)
{
	write_selection(store, filter, script);
	write_summed(store, sums, filter, script);
	fprintf(script,
		"SELECT '%c',hex(process) FROM every WHERE run IN (SELECT run FROM runs) GROUP BY "
		"process HAVING count(*) > 1;\n",
		BP_ROW_DUPLICATE);
	if (filter->moments != NULL)
		write_moments(store, filter->moments, script);
	write_bases(filter->moments == NULL && filter->times.of_day, script);
	write_processes(filter, script);
	if (detail.threads || filter->times.window)
		write_of_process(store, BP_TABLE_THREAD, BP_ROW_THREAD, script);
	if (filter->times.window)
		write_readings(store, &filter->times, script);
	write_of_process(store, BP_TABLE_INTERVAL, BP_ROW_INTERVAL, script);
	write_pauses(store, script);
	write_samples(store, filter, detail, script);
	fputs("CREATE TEMPORARY TABLE k AS SELECT DISTINCT * FROM ", script);
	bp_store_write_table(store, BP_TABLE_STACK, script);
	fprintf(script,
		" WHERE stack IN (SELECT stack FROM g);\nCREATE TEMPORARY TABLE f AS SELECT DISTINCT ON "
		"(frame) * FROM ");
	bp_store_write_table(store, BP_TABLE_FRAME, script);
	fprintf(script, " WHERE frame IN (SELECT frame FROM k) ORDER BY ALL;\nSELECT '%c'",
		BP_ROW_FRAME);
	write_columns(script, "f", BP_TABLE_FRAME, 0);
	fprintf(script, " FROM f ORDER BY frame;\nSELECT '%c'", BP_ROW_STACK);
	write_columns(script, "k", BP_TABLE_STACK, 0);
	fprintf(script,
		" FROM k ORDER BY stack,position;\nSELECT '%c',number,thread,begins,ends,temporary,"
		"size,usable,interval,exact,bernoulli,hex(kind),hex(type),hex(labels),stack,"
		"samples FROM g ORDER BY ALL;\n",
		BP_ROW_SAMPLE);
	if (store->server != NULL)
		write_gone(script);
}
