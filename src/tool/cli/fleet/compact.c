/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll compact STORE --older-than TIME`: the older runs of a store become sums, one folder for
 * each month (UTC) in which they ended, or are removed (--remove). What a sum holds, and why the
 * figures of whole runs stay the same, is in fleet/compact.h.
 *
 * A sum is written beside the folders that it stands for, with a list of these; one rename makes it
 * valid and them void (fleet/store.h), and only when that is on the disk are they removed. Whatever
 * kills the command in between, questions count each run once, and the next one goes on removing.
 * Only folders that hold nothing but tables are touched. One command at a time works on a store: it
 * holds a lock of the folder.
 *
 * In a database of ClickHouse attempts to push are what folders are here (fleet/compact_server.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bucket/address.h"
#include "cli/command.h"
#include "cli/files/written_folder.h"
#include "cli/fleet/fleet_request.h"
#include "cli/options/options.h"
#include "cli/say.h"
#include "fleet/compact.h"
#include "fleet/compact_server.h"
#include "query/time_text.h"

#define EXIT_FAILED 1
#define SUFFIX ".parquet"
#define SECOND_NS INT64_C(1000000000)
#define DAY_NS (86400 * SECOND_NS)

struct compaction {
	char path[PATH_MAX]; /* of the store, without slashes at its end */
	int descriptor;	     /* of the same, locked */
	int64_t before_ns;   /* runs that ended before, since 1970 */
	bool remove, dry_run, quiet;
	struct bp_store store; /* its folders, or the attempts to push to its server */
	struct bp_folder_age *ages;
	bool began; /* other commands are kept away from the server */
	/* What was done: */
	uint32_t folders, runs, sums;
};

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* A date in UTC, or a time before now: "30d", "12h". */
static bool read_moment(const char *text, int64_t *ret_ns, struct bp_error *error)
{
	struct bp_error ignored;
	uint64_t ago_ns;
	char *end;
	errno = 0;
	const unsigned long days = strtoul(text, &end, 10);
	const bool in_days = *text >= '0' && *text <= '9' && strcmp(end, "d") == 0 && errno == 0 &&
			     days < 100000;
	if (bp_fleet_date_read(text, ret_ns))
		return true;
	if (in_days)
		*ret_ns = now_ns() - (int64_t)days * DAY_NS;
	else if (bp_time_read(text, &ago_ns, &ignored))
		*ret_ns = now_ns() - (int64_t)ago_ns;
	return in_days || bp_time_read(text, &ago_ns, &ignored) ||
	       bp_error_set(error,
		       "--older-than %s: write how long ago, 30d or 12h, or a date in UTC, "
		       "2026-01-31",
		       text);
}

static bool read_request(
	const struct bp_arguments *arguments, struct compaction *compaction, struct bp_error *error)
{
	const char *older = bp_option_value(arguments, "older-than");
	compaction->remove = bp_option_given(arguments, "remove");
	compaction->dry_run = bp_option_given(arguments, "dry-run");
	compaction->quiet = bp_option_given(arguments, "quiet");
	if (arguments->operand_count != 1)
		return bp_error_set(error, "which store? bytepoll compact STORE --older-than 30d");
	const char *path = arguments->operands[0];
	size_t bytes = strlen(path);
	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	if (bytes == 0 || bytes >= sizeof compaction->path)
		return bp_error_set(error, "which store? bytepoll compact STORE --older-than 30d");
	memcpy(compaction->path, path, bytes);
	if (older == NULL)
		return bp_error_set(error, "older than what? --older-than 30d, or a date");
	if (compaction->dry_run && compaction->quiet)
		return bp_error_set(error, "--dry-run and --quiet: then nothing would be said");
	return read_moment(older, &compaction->before_ns, error);
}

static bool open_folder(struct compaction *compaction, struct bp_error *error)
{
	compaction->descriptor = open(compaction->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (compaction->descriptor < 0)
		return bp_error_set(
			error, "%.800s cannot be opened: %s", compaction->path, strerror(errno));
	if (flock(compaction->descriptor, LOCK_EX | LOCK_NB) != 0)
		return bp_error_set(error,
			"%.800s is being compacted by another command, or its file system has no "
			"locks",
			compaction->path);
	return bp_store_add(&compaction->store, compaction->path, error);
}

/* ---- removing ---- */

static bool remove_folder(void *context, const char *folder, struct bp_error *error)
{
	(void)context;
	return bp_written_folder_remove(folder, SUFFIX, error);
}

/* Removes what a valid sum stands for, and then its list: from then on such names are free. */
static bool finish_sum(const struct compaction *compaction, const char *sum, struct bp_error *error)
{
	char list[PATH_MAX];
	if ((size_t)snprintf(list, sizeof list, "%s/" BP_SUM_REPLACES, sum) >= sizeof list)
		return bp_error_set(error, "%.64s...: path too long", sum);
	if (!bp_store_replaced(sum, remove_folder, NULL, error))
		return false;
	fsync(compaction->descriptor);
	return unlink(list) == 0 || errno == ENOENT ||
	       bp_error_set(error, "%.800s cannot be removed: %s", list, strerror(errno));
}

/* What an earlier command that was killed has left to do. */
static bool finish_earlier(const struct compaction *compaction, struct bp_error *error)
{
	bp_written_folder_sweep(compaction->path, SUFFIX);
	for (uint32_t i = 0; i < compaction->store.count; i++)
		if (bp_store_is_sum(compaction->store.folders[i]) &&
			!finish_sum(compaction, compaction->store.folders[i], error))
			return false;
	return true;
}

/* ---- sums ---- */

/* The month, as 202601. */
static int month_of(int64_t unix_ns)
{
	const time_t second = (time_t)(unix_ns / SECOND_NS);
	struct tm moment = { .tm_year = 0 };
	gmtime_r(&second, &moment);
	return (moment.tm_year + 1900) * 100 + moment.tm_mon + 1;
}

/* The folder's name in the list of a sum; NULL: it can have none there. */
static const char *name_of(const struct compaction *compaction, const char *folder)
{
	const size_t bytes = strlen(compaction->path);
	if (strncmp(folder, compaction->path, bytes) != 0 || folder[bytes] == '\0' ||
		strstr(folder + bytes, "..") != NULL)
		return NULL;
	return folder + bytes + (folder[bytes] == '/');
}

/* A run that went on when it was pushed may come again, longer: it is removed, not summed up. */
static bool may_grow(const struct compaction *compaction, const char *folder)
{
	char run[BP_STORE_RUN_BYTES];
	uint64_t unix_s;
	return compaction->store.server != NULL ? bp_compact_server_is_version(folder)
						: bp_store_is_version(folder, run, &unix_s);
}

static bool is_sum(const struct compaction *compaction, const char *folder)
{
	return compaction->store.server != NULL ? bp_compact_server_is_sum(folder)
						: bp_store_is_sum(folder);
}

static bool is_old(const struct compaction *compaction, uint32_t number)
{
	const char *folder = compaction->store.folders[number];
	return (compaction->remove || !may_grow(compaction, folder)) &&
	       compaction->ages[number].runs > 0 &&
	       compaction->ages[number].end_unix_ns < compaction->before_ns &&
	       (compaction->store.server != NULL ||
		       (name_of(compaction, folder) != NULL &&
			       bp_written_folder_is_plain(folder, SUFFIX)));
}

static bool write_list(const struct compaction *compaction, const struct bp_store *picked,
	const char *folder, struct bp_error *error)
{
	char path[PATH_MAX];
	const bool fits =
		(size_t)snprintf(path, sizeof path, "%s/" BP_SUM_REPLACES, folder) < sizeof path;
	FILE *list = fits ? fopen(path, "wex") : NULL;
	bool good = list != NULL;
	for (uint32_t i = 0; good && i < picked->count; i++)
		good = fprintf(list, "%s\n", name_of(compaction, picked->folders[i])) > 0;
	good = good && fflush(list) == 0 && fsync(fileno(list)) == 0;
	if (!good)
		bp_error_set(error, "%.800s cannot be written: %s", path, strerror(errno));
	if (list != NULL)
		fclose(list);
	return good;
}

static bool sum_up_folders(const struct compaction *compaction, const struct bp_store *picked,
	int month, struct bp_error *error)
{
	char path[PATH_MAX];
	struct bp_written_folder folder = { .path = path, .option = "store", .suffix = SUFFIX };
	if ((size_t)snprintf(path, sizeof path, "%s/sum-%d-%02d-%llx", compaction->path,
		    month / 100, month % 100, (unsigned long long)now_ns()) >= sizeof path)
		return bp_error_set(error, "%.64s...: path too long", compaction->path);
	if (!bp_written_folder_begin(&folder, error))
		return false;
	const bool good = bp_compact_write(picked, folder.temporary, error) &&
			  write_list(compaction, picked, folder.temporary, error);
	if (!bp_written_folder_end(&folder, good, error))
		return false;
	/* The new name must be on the disk before the old ones go. */
	if (fsync(compaction->descriptor) != 0)
		return bp_error_set(
			error, "%.800s cannot be written: %s", compaction->path, strerror(errno));
	return finish_sum(compaction, path, error);
}

static bool sum_up(const struct compaction *compaction, const struct bp_store *picked, int month,
	struct bp_error *error)
{
	if (compaction->store.server == NULL)
		return sum_up_folders(compaction, picked, month, error);
	return bp_compact_server_sum(&compaction->store, picked, error) &&
	       bp_compact_server_sweep(&compaction->store, error);
}

/* The folders of one month: a sum of them, unless there is nothing but a sum. */
static bool compact_month(struct compaction *compaction, int month, struct bp_error *error)
{
	struct bp_store picked = { .folders = calloc(compaction->store.count, sizeof(char *)) };
	uint32_t runs = 0;
	if (picked.folders == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < compaction->store.count; i++)
		if (is_old(compaction, i) && month_of(compaction->ages[i].end_unix_ns) == month) {
			picked.folders[picked.count++] = compaction->store.folders[i];
			runs += compaction->ages[i].runs;
		}
	const bool needed =
		picked.count > 1 || (picked.count == 1 && !is_sum(compaction, picked.folders[0]));
	const bool good =
		!needed || compaction->dry_run || sum_up(compaction, &picked, month, error);
	if (needed && good) {
		compaction->folders += picked.count;
		compaction->runs += runs;
		compaction->sums++;
	}
	free(picked.folders);
	return good;
}

static bool compact_all(struct compaction *compaction, struct bp_error *error)
{
	int last = INT_MIN;
	for (;;) {
		int month = INT_MAX;
		for (uint32_t i = 0; i < compaction->store.count; i++) {
			const int of = month_of(compaction->ages[i].end_unix_ns);
			if (is_old(compaction, i) && of > last && of < month)
				month = of;
		}
		if (month == INT_MAX)
			return true;
		if (!compact_month(compaction, month, error))
			return false;
		last = month;
	}
}

static bool remove_folders(const struct bp_store *picked, struct bp_error *error)
{
	for (uint32_t i = 0; i < picked->count; i++)
		if (!remove_folder(NULL, picked->folders[i], error))
			return false;
	return true;
}

static bool remove_all(struct compaction *compaction, struct bp_error *error)
{
	const struct bp_store *store = &compaction->store;
	struct bp_store picked = { .folders = calloc(store->count + 1u, sizeof(char *)) };
	bool good = picked.folders != NULL || bp_error_set(error, "out of memory");
	for (uint32_t i = 0; good && i < store->count; i++) {
		if (!is_old(compaction, i))
			continue;
		picked.folders[picked.count++] = store->folders[i];
		compaction->runs += compaction->ages[i].runs;
	}
	compaction->folders = picked.count;
	if (good && !compaction->dry_run && picked.count > 0)
		good = store->server == NULL ? remove_folders(&picked, error)
					     : bp_compact_server_leave(store, &picked, error) &&
						       bp_compact_server_sweep(store, error);
	free(picked.folders);
	return good;
}

/* ---- the command ---- */

static bool open_server(struct compaction *compaction, struct bp_error *error)
{
	struct bp_store *store = &compaction->store;
	if (!bp_store_add(store, compaction->path, error))
		return false;
	if (!compaction->dry_run) {
		compaction->began = bp_compact_server_begin(store, error);
		if (!compaction->began || !bp_compact_server_sweep(store, error))
			return false;
	}
	return bp_compact_server_list(store, &compaction->ages, error);
}

static bool open_folders(struct compaction *compaction, struct bp_error *error)
{
	if (!open_folder(compaction, error) ||
		(!compaction->dry_run && !finish_earlier(compaction, error)))
		return false;
	compaction->ages = calloc(compaction->store.count, sizeof *compaction->ages);
	if (compaction->ages == NULL)
		return bp_error_set(error, "out of memory");
	return bp_compact_ages(&compaction->store, compaction->ages, error);
}

static bool work(struct compaction *compaction, struct bp_error *error)
{
	if (bp_bucket_is_address(compaction->path))
		return bp_error_set(error,
			"the objects of a bucket are removed by its own rules (lifecycle); `bytepoll "
			"compact` works on folders and on databases of ClickHouse");
	return (bp_clickhouse_is_address(compaction->path) ? open_server : open_folders)(
		       compaction, error) &&
	       (compaction->remove ? remove_all : compact_all)(compaction, error);
}

static void say_result(const struct compaction *compaction)
{
	const char *would = compaction->dry_run ? "would be " : "";
	const bool one = compaction->folders == 1;
	const char *what = compaction->store.server != NULL ? one ? "push" : "pushes"
			   : one			    ? "folder"
							    : "folders";
	const char *runs = compaction->runs == 1 ? "run" : "runs";
	if (compaction->quiet)
		return;
	if (compaction->remove)
		bp_say(stdout, "%u %s in %u %s %sremoved", compaction->runs, runs,
			compaction->folders, what, would);
	else
		bp_say(stdout, "%u %s in %u %s %ssummed up in %u", compaction->runs, runs,
			compaction->folders, what, would, compaction->sums);
}

static int compact(const struct bp_arguments *arguments)
{
	struct compaction compaction = { .descriptor = -1 };
	struct bp_error error = { 0 };
	if (!read_request(arguments, &compaction, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	const bool good = work(&compaction, &error);
	if (good)
		say_result(&compaction);
	if (compaction.began)
		bp_compact_server_end(&compaction.store);
	free(compaction.ages);
	bp_store_finish(&compaction.store);
	if (compaction.descriptor >= 0)
		close(compaction.descriptor);
	return good ? 0 : bp_command_fail(EXIT_FAILED, &error);
}

static const struct bp_option options[] = {
	{ .name = "older-than",
		.argument = "TIME",
		.summary = "runs that ended so long ago, 30d or 12h, or before a date in UTC" },
	{ .name = "remove", .summary = "remove them instead of summing them up" },
	{ .name = "dry-run", .summary = "say what would be done, and change nothing" },
	{ .name = "quiet", .letter = 'q', .summary = "print errors only" },
	{ 0 },
};

const struct bp_command bp_command_compact = {
	.name = "compact",
	.summary = "sum up or remove the older runs of a store",
	.usage = "[options] STORE --older-than TIME",
	.details =
		"Makes one folder of sums of all older runs of a month, so that a store stays small\n"
		"and questions fast. Figures of whole runs (`bytepoll fleet top`, `tree`, `diff`,\n"
		"`check`, `html`) stay the same; times within them are lost, and questions about these\n"
		"are refused. With --remove older runs are removed wholly. STORE is a folder, or a\n"
		"database of ClickHouse: clickhouse://HOST:8123/DATABASE.\n"
		"\n"
		"Killed at any moment, every run is counted once, and the next command goes on. For a\n"
		"folder DuckDB's command-line program must be on PATH (`pip install duckdb-cli`).",
	.options = options,
	.examples = "bytepoll compact /srv/fleet --older-than 30d\n"
		    "    for a daily timer\n"
		    "bytepoll compact /srv/fleet --older-than 2026-01-01 --remove\n"
		    "    what ended before this year goes\n"
		    "bytepoll compact clickhouse://db.lan:8123/bytepoll --older-than 30d\n"
		    "    the same in a database (CLICKHOUSE_USER, CLICKHOUSE_PASSWORD)\n",
	.exit_statuses = "0  done\n1  failed: duckdb is not there, say\n2  wrong usage\n",
	.usage_status = 2,
	.run = compact,
};
