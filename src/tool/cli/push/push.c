/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll push FILE|FOLDER... --to STORE`: every run that has ended becomes a folder of tables in
 * the store, named by its id. It appears there by one rename when it is whole, and never a second
 * time, whoever pushes it how often: a run whose id is there is passed by. So nothing has to be
 * remembered. The recordings are the spool, and what was cut short by whatever killed the command
 * is done by the next one. A run that goes on comes as it is at the moment, where that is asked
 * for: push_versions.c. A store in a bucket or on a server has no renames: push_bucket.c,
 * push_clickhouse.c. A service that takes profiles is no store: push_service.c.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/files/replacing.h"
#include "cli/files/tree.h"
#include "cli/files/written_folder.h"
#include "cli/input.h"
#include "cli/options/bucket_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/query_options.h"
#include "cli/options/tag_options.h"
#include "cli/push/push_bucket.h"
#include "cli/push/push_clickhouse.h"
#include "cli/push/push_service.h"
#include "cli/push/push_versions.h"
#include "cli/say.h"
#include "fleet/compact.h"
#include "fleet/content_id.h"
#include "fleet/tables_write.h"

#define SETTLED_S 60
#define EXIT_FAILED 1
#define SUFFIX ".parquet"
#define EVERY_NS UINT64_C(10000000000)
#define PATIENCE_NS UINT64_C(300000000000) /* between two tries, at most */
#define SECOND_NS UINT64_C(1000000000)

struct push {
	const struct bp_arguments *arguments;
	struct bp_tag_options tags;
	const char *store;
	bool in_bucket; /* the store is s3://BUCKET/PREFIX */
	struct bp_push_bucket bucket;
	struct bp_clickhouse *server;	/* the store is a database; NULL: it is none */
	struct bp_push_service service; /* a service takes the runs; zeroed: it is none */
	struct bp_push_versions versions;
	bool quiet, watch;
	uint64_t every_ns;
	/* Of one look at everything: */
	uint64_t pushed, known, running, failed;
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

/* `version_s` is 0 for a run that has ended. */
static bool name_in_store(const struct push *push, const char *id, uint64_t version_s,
	char ret_path[PATH_MAX], struct bp_error *error)
{
	char name[BP_STORE_VERSION_BYTES];
	bp_store_version_name(id, version_s, name);
	return (size_t)snprintf(ret_path, PATH_MAX, "%s/%s", push->store, name) < PATH_MAX ||
	       bp_error_set(error, "%.64s...: path too long", push->store);
}

static bool is_there(const char *path)
{
	struct stat status;
	return lstat(path, &status) == 0;
}

static bool is_in_store(struct push *push, const char *id, bool *ret_there, struct bp_error *error)
{
	char path[PATH_MAX];
	if (push->in_bucket)
		return bp_push_bucket_has(&push->bucket, id, ret_there, error);
	if (push->server != NULL)
		return bp_push_clickhouse_has(push->server, id, ret_there, error);
	if (push->service.service != NULL)
		return bp_push_service_has(&push->service, id, ret_there, error);
	if (!name_in_store(push, id, 0, path, error))
		return false;
	*ret_there = is_there(path) || bp_store_sum_has_run(push->store, id);
	return true;
}

/* The newest version that the store has, as seconds since 1970; 0: none. */
static bool find_newest(
	struct push *push, const char *id, uint64_t *ret_unix_s, struct bp_error *error)
{
	if (push->in_bucket)
		return bp_push_bucket_newest(&push->bucket, id, ret_unix_s, error);
	if (push->server != NULL)
		return bp_push_clickhouse_newest(push->server, id, ret_unix_s, error);
	*ret_unix_s = bp_push_version_newest(push->store, id);
	return true;
}

/* Of a run that goes on: the moment of the version that is to be put; 0: none is due. */
static bool find_version(
	struct push *push, const char *id, uint64_t *ret_version_s, struct bp_error *error)
{
	const uint64_t now_s = bp_push_version_now();
	uint64_t due_s, newest_s;
	bool known;
	*ret_version_s = 0;
	if (push->versions.every_s == 0)
		return true;
	if (!bp_push_version_due(&push->versions, id, &known, &due_s, error))
		return false;
	if (!known) {
		if (!find_newest(push, id, &newest_s, error))
			return false;
		bp_push_version_set(&push->versions, id, newest_s);
		bp_push_version_due(&push->versions, id, &known, &due_s, error);
	}
	*ret_version_s = now_s >= due_s ? now_s : 0;
	return true;
}

/* Without reading the samples of a recording of ours: does it still go on, and is it there? */
enum state { STATE_NEW, STATE_KNOWN, STATE_RUNNING };

/* `*ret_version_s`: of a run that goes on, and is to be put as it is. */
static bool look(struct push *push, const char *file, enum state *ret_state,
	uint64_t *ret_version_s, struct bp_error *error)
{
	struct bp_tree tree = { .count = 0 };
	struct bp_tree_sums sums;
	char id[BP_PROCESS_ID_BYTES];
	*ret_state = STATE_NEW;
	*ret_version_s = 0;
	if (bp_recording_kind_of(file) != BP_RECORDING_TRACE)
		return true;
	if (!bp_tree_read(file, &tree, error))
		return false;
	bp_tree_sum(&tree, &sums);
	bool good = true;
	/* (A server is not asked about a run that still goes on, each time anew.) */
	const bool asks = (!push->in_bucket && push->server == NULL) || sums.running == 0;
	*id = '\0';
	for (size_t i = 0; good && i < tree.count; i++) {
		bool there = false;
		if (!tree.files[i].first)
			continue;
		bp_trace_id_text(tree.files[i].header.trace_id, id);
		good = !asks || is_in_store(push, id, &there, error);
		if (good && there)
			*ret_state = STATE_KNOWN;
	}
	if (*ret_state == STATE_NEW && sums.running > 0)
		*ret_state = STATE_RUNNING;
	if (good && *ret_state == STATE_RUNNING)
		good = find_version(push, id, ret_version_s, error);
	bp_tree_finish(&tree);
	return good;
}

/* What is void in a bucket goes, but for the version before a new one, of which a question may be
 * fetching tables. A key that may not remove anything is no failure: what stays does no harm. */
static void remove_void(struct push *push, const char *id, uint64_t version_s)
{
	struct bp_error error;
	bool known;
	uint64_t due_s;
	if (push->versions.every_s == 0 ||
		!bp_push_version_due(&push->versions, id, &known, &due_s, &error))
		return;
	uint64_t before_s = version_s == 0 ? UINT64_MAX : 0;
	if (version_s > 0 && known && due_s > push->versions.every_s)
		before_s = due_s - push->versions.every_s;
	if (bp_push_bucket_remove_versions(&push->bucket, id, before_s, &error))
		return;
	push->bucket.bucket.failed = false;
	if (!push->versions.told)
		bp_say(stderr, "bytepoll: earlier versions stay there: %s", error.text);
	push->versions.told = true;
}

static bool put_in_bucket(struct push *push, const struct bp_profile *profile, const char *id,
	uint64_t version_s, bool *ret_new, struct bp_error *error)
{
	if (!bp_push_bucket_put(
		    &push->bucket, profile, &push->tags.tags, id, version_s, ret_new, error))
		return false;
	remove_void(push, id, version_s);
	return true;
}

/* `*ret_new` is false where the run is there already. `version_s`: not 0 of one that goes on. */
static bool write_run(struct push *push, const struct bp_profile *profile, const char *id,
	uint64_t version_s, bool *ret_new, struct bp_error *error)
{
	char path[PATH_MAX];
	struct bp_written_folder folder = { .path = path, .option = "--to", .suffix = SUFFIX };
	struct bp_error reason;
	bool there = false;
	if (!is_in_store(push, id, &there, error))
		return false;
	*ret_new = !there;
	if (there)
		return true;
	if (push->in_bucket)
		return put_in_bucket(push, profile, id, version_s, ret_new, error);
	if (push->server != NULL)
		return bp_push_clickhouse_put(push->server, &stopped, profile, &push->tags.tags, id,
			version_s, ret_new, error);
	if (push->service.service != NULL)
		return bp_push_service_put(
			&push->service, profile, &push->tags.tags, id, ret_new, error);
	if (!name_in_store(push, id, version_s, path, error))
		return false;
	const bool good =
		bp_written_folder_begin(&folder, &reason) &&
		bp_written_folder_end(&folder,
			bp_tables_write(profile, &push->tags.tags, folder.descriptor, &reason),
			&reason);
	/* Somebody else may have been faster. */
	*ret_new = good;
	return good || is_there(path) || bp_error_set(error, "%.800s", reason.text);
}

/* A file that ends too early may be one that is still copied to here. Pushed as it is it would keep
 * the whole one out: so it waits until nobody has written to it for a while. */
static bool is_settled(const char *file, const struct bp_profile *profile, struct bp_error *error)
{
	struct stat status;
	bool cut = false;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		cut |= profile->processes.data[i].cut_off;
	if (!cut || stat(file, &status) != 0)
		return true;
	/* (A time that is still to come is that of another clock.) */
	const int64_t age_s = (int64_t)time(NULL) - status.st_mtime;
	if (age_s < 0 || age_s > SETTLED_S)
		return true;
	return bp_error_set(error,
		"%s ends too early: if it is still being copied, push it when it is whole; %d s after "
		"its last change it is pushed as it is",
		file, SETTLED_S);
}

static bool push_run(struct push *push, const char *file, struct bp_error *error)
{
	struct bp_query_options none = { .by_given = false };
	struct bp_input_options input = bp_input_options_of(push->arguments, &none);
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	enum state state;
	uint64_t version_s;
	char id[BP_PROCESS_ID_BYTES], *path = strdup(file);
	bool is_new = false;
	bool good = path != NULL || bp_error_set(error, "out of memory");
	input.keep_readings = true;
	good = good && look(push, file, &state, &version_s, error);
	if (good && (state == STATE_NEW || version_s > 0)) {
		good = bp_input_read(&path, 1, input, &profile, &symbols, error);
		if (good) {
			bp_process_content_id(&profile, profile.root.i, id);
			good = is_settled(file, &profile, error) &&
			       write_run(push, &profile, id, version_s, &is_new, error);
			if (good && version_s > 0)
				bp_push_version_set(&push->versions, id, version_s);
			bp_profile_finish(&profile);
		}
	}
	free(path);
	if (!good)
		return false;
	push->running += state == STATE_RUNNING;
	push->pushed += is_new;
	push->known += state != STATE_RUNNING && !is_new;
	if (is_new && !push->quiet)
		bp_say(stdout, version_s > 0 ? "pushed %s as it is now" : "pushed %s", file);
	return true;
}

static void push_file(struct push *push, const char *file)
{
	struct bp_error error;
	if (push_run(push, file, &error))
		return;
	if (stopped)
		return;
	push->failed++;
	bp_say(stderr, "bytepoll: %s", error.text);
}

/* A signal, or a server that has failed six times: the next recordings would fare no better. */
static bool is_over(const struct push *push)
{
	return stopped || push->bucket.bucket.failed || push->service.failed;
}

/* A file, or the recordings in a folder. */
static void push_operand(struct push *push, const char *operand)
{
	char name[PATH_MAX];
	struct stat status;
	struct dirent *entry;
	DIR *folder =
		stat(operand, &status) == 0 && S_ISDIR(status.st_mode) ? opendir(operand) : NULL;
	if (folder == NULL) {
		push_file(push, operand);
		return;
	}
	while (!is_over(push) && (entry = readdir(folder)) != NULL)
		if (bp_tree_is_trace(entry->d_name) &&
			(size_t)snprintf(name, sizeof name, "%s/%s", operand, entry->d_name) <
				sizeof name)
			push_file(push, name);
	closedir(folder);
}

static bool open_store(struct push *push, struct bp_error *error)
{
	struct stat status;
	if (push->in_bucket)
		return bp_push_bucket_begin(&push->bucket, error);
	if (push->server != NULL || push->service.service != NULL)
		return true;
	if (mkdir(push->store, 0777) != 0 && errno != EEXIST)
		return bp_error_set(
			error, "%.800s cannot be created: %s", push->store, strerror(errno));
	if (stat(push->store, &status) != 0 || !S_ISDIR(status.st_mode))
		return bp_error_set(error, "%.800s is no folder", push->store);
	bp_written_folder_sweep(push->store, SUFFIX);
	bp_push_versions_sweep(push->store);
	return true;
}

static void push_all(struct push *push)
{
	struct bp_error error;
	push->pushed = push->known = push->running = push->failed = 0;
	push->bucket.bucket.failed = push->service.failed = false;
	if (!open_store(push, &error)) {
		push->failed = 1;
		bp_say(stderr, "bytepoll: %s", error.text);
		return;
	}
	for (int i = 0; !is_over(push) && i < push->arguments->operand_count; i++)
		push_operand(push, push->arguments->operands[i]);
}

/* Until the time has passed, or it is to end. */
static void rest(uint64_t time_ns)
{
	const struct timespec time = { (time_t)(time_ns / SECOND_NS), (long)(time_ns % SECOND_NS) };
	sigset_t stops, before;
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigprocmask(SIG_BLOCK, &stops, &before);
	if (!stopped)
		ppoll(NULL, 0, &time, &before); /* a signal ends it, also one that waits already */
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A signal that whoever started us has ignored (nohup, a shell's `&`) stays ignored. */
static void stop_on(int number)
{
	struct sigaction action;
	if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
		return;
	action = (struct sigaction){ .sa_handler = stop };
	sigaction(number, &action, NULL);
}

/* Looks again and again, less often as long as something fails. */
static void watch(struct push *push)
{
	uint64_t wait_ns = push->every_ns;
	push->bucket.bucket.stopped = &stopped;
	stop_on(SIGINT);
	stop_on(SIGTERM);
	while (!stopped) {
		push_all(push);
		fflush(stdout);
		wait_ns = push->failed == 0 ? push->every_ns : 2 * wait_ns;
		if (wait_ns > PATIENCE_NS && wait_ns > push->every_ns)
			wait_ns = PATIENCE_NS > push->every_ns ? PATIENCE_NS : push->every_ns;
		rest(wait_ns);
	}
}

static void say_result(const struct push *push)
{
	char text[128];
	if (push->quiet)
		return;
	snprintf(text, sizeof text, "%llu pushed, %llu there already, %llu still running",
		(unsigned long long)push->pushed, (unsigned long long)push->known,
		(unsigned long long)push->running);
	bp_say(stdout, "%s", text);
}

/* --running, which needs a store where later versions of a run take the place of earlier ones. */
static bool read_running(struct push *push, struct bp_error *error)
{
	bool given = false;
	uint64_t every_ns = 0;
	if (!bp_option_time(push->arguments, "running", &given, &every_ns, error))
		return false;
	if (given && bp_push_service_is_address(push->store))
		return bp_error_set(error,
			"--running is for a store, where later versions take the place of earlier "
			"ones: to a service a run goes once, when it has ended");
	if (given && every_ns < SECOND_NS)
		return bp_error_set(error, "--running: at least 1");
	push->versions.every_s = every_ns / SECOND_NS;
	return true;
}

static bool read_request(
	const struct bp_arguments *arguments, struct push *push, struct bp_error *error)
{
	bool given = false;
	push->arguments = arguments;
	push->store = bp_option_value(arguments, "to");
	push->quiet = bp_option_given(arguments, "quiet");
	push->watch = bp_option_given(arguments, "watch");
	push->every_ns = EVERY_NS;
	if (arguments->operand_count == 0)
		return bp_input_missing("bytepoll push FILE --to STORE", error);
	if (push->store == NULL || *push->store == '\0')
		return bp_error_set(error,
			"where to? --to FOLDER, --to s3://BUCKET/PREFIX, --to "
			"clickhouse://HOST:PORT/DATABASE, or --to pyroscope+https://HOST");
	push->in_bucket = bp_bucket_is_address(push->store);
	if (!push->in_bucket && !bp_bucket_options_refuse(arguments, error))
		return false;
	if (!bp_option_time(arguments, "every", &given, &push->every_ns, error))
		return false;
	if (given && !push->watch)
		return bp_error_set(error, "--every is for --watch");
	if (given && push->every_ns < SECOND_NS / 10)
		return bp_error_set(error, "--every: at least 0.1");
	return read_running(push, error) && bp_tag_options_read(arguments, &push->tags, error) &&
	       (!push->in_bucket || bp_bucket_options_open(
					    arguments, push->store, &push->bucket.bucket, error)) &&
	       (!bp_clickhouse_is_address(push->store) ||
		       bp_clickhouse_open(push->store, &stopped, &push->server, error)) &&
	       (!bp_push_service_is_address(push->store) ||
		       bp_push_service_open(&push->service, push->store, &stopped, error));
}

static void finish(struct push *push)
{
	bp_tag_options_finish(&push->tags);
	bp_push_bucket_finish(&push->bucket);
	bp_clickhouse_close(push->server);
	bp_push_service_close(&push->service);
	bp_push_versions_finish(&push->versions);
}

static int push(const struct bp_arguments *arguments)
{
	struct push push = { .store = NULL };
	struct bp_error error = { 0 };
	if (!read_request(arguments, &push, &error)) {
		finish(&push);
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	}
	if (push.watch) {
		watch(&push);
	} else {
		push_all(&push);
		say_result(&push);
	}
	finish(&push);
	return push.watch || push.failed == 0 ? 0 : EXIT_FAILED;
}

static const struct bp_option options[] = {
	{ .summary = "Where to, and whose it is" },
	{ .name = "to",
		.argument = "STORE",
		.file = true,
		.summary = "a folder, s3://BUCKET/PREFIX, clickhouse://HOST:PORT/DATABASE, or a "
			   "service: pyroscope+https://HOST, parca+..., otlp+..." },
	BP_OPTION_BUCKET,
	BP_OPTION_TAGS,
	{ .summary = "When" },
	{ .name = "watch", .summary = "look again and again, until INT or TERM" },
	{ .name = "every", .argument = "TIME", .summary = "how often --watch looks (10 s)" },
	{ .name = "running",
		.argument = "TIME",
		.summary = "also runs that go on, as they are, and again after TIME, as 1h" },
	{ .name = "quiet", .letter = 'q', .summary = "print errors only" },
	{ .summary = "Where names come from" },
	BP_OPTION_FRAMES,
	BP_OPTION_DEBUG_DIRECTORY,
	{ 0 },
};

const struct bp_command bp_command_push = {
	.name = "push",
	.summary = "put recordings into a store, once each",
	.usage = "[options] FILE|FOLDER... --to STORE",
	.details =
		"Writes every run that has ended as tables into the store, for `bytepoll fleet`:\n"
		"FILE, or each *.bpt in a folder. A run appears there whole, by its id, and once,\n"
		"however often it is pushed; whatever kills the command, the next one goes on.\n"
		"Recordings stay where they are. Those that still run are left for later, or,\n"
		"with --running 1h, put as they are, each hour anew; the newest version counts.\n"
		"\n"
		"s3://BUCKET/PREFIX is a place in an object store (Amazon S3, MinIO, Ceph, Garage).\n"
		"libcurl signs the requests; AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION\n"
		"and AWS_ENDPOINT_URL of the environment say who asks, and where.\n"
		"\n"
		"clickhouse://HOST:PORT/DATABASE is a database of a ClickHouse server, by HTTP\n"
		"(clickhouses:// by HTTPS), whose tables share/bytepoll/sql/clickhouse.sql makes.\n"
		"CLICKHOUSE_USER and CLICKHOUSE_PASSWORD of the environment say who asks.\n"
		"\n"
		"pyroscope+https://HOST, parca+https://HOST and otlp+https://HOST are services\n"
		"that take profiles (docs/exports.md): a run is sent to them as export writes\n"
		"it, and a receipt in the user's cache keeps it from being sent again. Who asks\n"
		"is in BYTEPOLL_PUSH_TOKEN, or BYTEPOLL_PUSH_USER and BYTEPOLL_PUSH_PASSWORD.",
	.options = options,
	.examples = "bytepoll push app.bpt --to /srv/fleet --service shop --release 1.4\n"
		    "    one run\n"
		    "bytepoll push /var/lib/shop --to /srv/fleet --service shop --watch\n"
		    "    every run of a service, as it ends\n"
		    "bytepoll push /var/lib/shop --to /srv/fleet --watch --running 1h\n"
		    "    and each hour those that go on\n"
		    "bytepoll push app.bpt --to s3://profiles/shop --endpoint https://minio:9000\n"
		    "    into a bucket\n",
	.exit_statuses = "0  done\n1  failed: a file cannot be read, say\n2  wrong usage\n",
	.usage_status = 2,
	.run = push,
};
