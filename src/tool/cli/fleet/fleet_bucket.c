/* SPDX-License-Identifier: MIT */
/*
 * See fleet_bucket.h. A run is kept as CACHE/STORE/CONTENT, where both names are digits of hashes:
 * STORE of the address, CONTENT of the run's path, its tables, and their tags of the server. So no
 * name that comes from a server is a name of a file here, and tables that were replaced there are
 * fetched anew. A folder appears whole, by one rename. Folders that the store has no more are
 * removed an hour after they were made: a question of another process may still read them.
 */
#include "cli/fleet/fleet_bucket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "cli/files/cache_folder.h"
#include "cli/files/written_folder.h"
#include "cli/say.h"

#define SUFFIX ".parquet"
#define OBJECTS_MAX 2000000u
#define PATH_BYTES 512u
#define NAME_DIGITS 32u
#define KEPT_AT_LEAST_S 3600

/* A table in the bucket. */
struct object {
	char *path; /* of its run, below the store; by itself allocated */
	enum bp_table_number table;
	uint64_t bytes;
	char etag[80]; /* cut, perhaps: it only has to change with the contents */
};

struct objects {
	struct object *objects;
	uint32_t count, capacity;
};

/* A run: neighbours in the sorted list. */
struct run {
	const struct object *objects;
	uint32_t count;
	char name[NAME_DIGITS + 1];
};

static void finish_objects(struct objects *objects)
{
	for (uint32_t i = 0; i < objects->count; i++)
		free(objects->objects[i].path);
	free(objects->objects);
	*objects = (struct objects){ .count = 0 };
}

/* Letters, digits, dots, dashes and underscores between single slashes; no name begins with a dot:
 * such names stand unchanged in a URL. */
static bool is_good_path(const char *path, size_t bytes)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
	if (bytes == 0 || bytes >= PATH_BYTES || strspn(path, good) < bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if ((i == 0 || path[i - 1] == '/') && (path[i] == '/' || path[i] == '.'))
			return false;
	return true;
}

static bool table_of(const char *name, enum bp_table_number *ret_table)
{
	for (int i = 0; i < BP_TABLE_COUNT; i++) {
		const char *known = bp_table_of((enum bp_table_number)i)->name;
		const size_t bytes = strlen(known);
		if (strncmp(name, known, bytes) == 0 && strcmp(name + bytes, SUFFIX) == 0) {
			*ret_table = (enum bp_table_number)i;
			return true;
		}
	}
	return false;
}

static bool take_object(
	void *context, const struct bp_listed_object *listed, struct bp_error *error)
{
	struct objects *objects = context;
	struct object object = { .bytes = listed->bytes };
	const char *slash = strrchr(listed->key, '/');
	if (slash == NULL || !table_of(slash + 1, &object.table) ||
		!is_good_path(listed->key, (size_t)(slash - listed->key)))
		return true;
	if (objects->count == OBJECTS_MAX)
		return bp_error_set(error,
			"more than %u tables: ask about a part, by a longer prefix", OBJECTS_MAX);
	snprintf(object.etag, sizeof object.etag, "%s", listed->etag);
	object.path = strndup(listed->key, (size_t)(slash - listed->key));
	if (object.path == NULL || !bp_vec_reserve(&objects->objects, &objects->capacity,
					   objects->count + 1u, sizeof *objects->objects)) {
		free(object.path);
		return bp_error_set(error, "out of memory");
	}
	objects->objects[objects->count++] = object;
	return true;
}

static int compare_objects(const void *a, const void *b)
{
	const struct object *left = a, *right = b;
	const int by_path = strcmp(left->path, right->path);
	return by_path != 0 ? by_path : (int)left->table - (int)right->table;
}

static void add_text(struct bp_sha256 *hash, const char *text)
{
	bp_sha256_add(hash, text, strlen(text) + 1);
}

static void name_run(struct run *run)
{
	struct bp_sha256 hash;
	char text[BP_SHA256_TEXT_BYTES];
	bp_sha256_begin(&hash);
	add_text(&hash, run->objects->path);
	for (uint32_t i = 0; i < run->count; i++) {
		add_text(&hash, bp_table_of(run->objects[i].table)->name);
		add_text(&hash, run->objects[i].etag);
		bp_sha256_add(&hash, &run->objects[i].bytes, sizeof run->objects[i].bytes);
	}
	bp_sha256_end(&hash, text);
	snprintf(run->name, sizeof run->name, "%.*s", (int)NAME_DIGITS, text);
}

static bool is_whole(const struct run *run)
{
	return run->objects[run->count - 1].table == BP_TABLE_PROCESS;
}

/* The next run behind `*at`. */
static bool next_run(const struct objects *objects, uint32_t *at, struct run *ret_run)
{
	const uint32_t first = *at;
	if (first == objects->count)
		return false;
	while (*at < objects->count &&
		strcmp(objects->objects[*at].path, objects->objects[first].path) == 0)
		++*at;
	ret_run->objects = &objects->objects[first];
	ret_run->count = *at - first;
	name_run(ret_run);
	return true;
}

/* Leaves out versions of runs that are void (fleet/store.h): nobody asks about them. */
static bool leave_void(struct objects *objects, struct bp_error *error)
{
	struct bp_store paths = { .count = 0 };
	struct run run;
	uint32_t kept = 0;
	bool good = true;
	for (uint32_t at = 0; good && next_run(objects, &at, &run);)
		good = bp_store_append(&paths, run.objects->path, error);
	bp_store_sort(&paths);
	good = good && bp_store_leave_void(&paths, error);
	for (uint32_t i = 0; good && i < objects->count; i++)
		if (bp_store_has(&paths, objects->objects[i].path))
			objects->objects[kept++] = objects->objects[i];
		else
			free(objects->objects[i].path);
	if (good)
		objects->count = kept;
	bp_store_finish(&paths);
	return good;
}

/* Lists the store. A list of several pages is not one moment: a run that comes in meanwhile may be
 * listed without its first tables. So a run that has processes and not all other tables is listed
 * once more. */
static bool list(struct bp_bucket *bucket, struct objects *ret_objects, struct bp_error *error)
{
	struct objects found = { .count = 0 }, all = { .count = 0 };
	bool good = bp_bucket_list(bucket, "", take_object, &found, error);
	struct run run;
	if (found.count > 0)
		qsort(found.objects, found.count, sizeof *found.objects, compare_objects);
	for (uint32_t at = 0; good && next_run(&found, &at, &run);) {
		char prefix[PATH_BYTES + 1];
		if (!is_whole(&run))
			continue;
		snprintf(prefix, sizeof prefix, "%s/", run.objects->path);
		if (run.count < BP_TABLE_COUNT) {
			good = bp_bucket_list(bucket, prefix, take_object, &all, error);
			continue;
		}
		for (uint32_t i = 0; good && i < run.count; i++) {
			char key[PATH_BYTES + 64];
			const struct object *object = &run.objects[i];
			snprintf(key, sizeof key, "%s/%s" SUFFIX, object->path,
				bp_table_of(object->table)->name);
			const struct bp_listed_object listed = {
				.key = key, .etag = object->etag, .bytes = object->bytes
			};
			good = take_object(&all, &listed, error);
		}
	}
	finish_objects(&found);
	if (all.count > 0)
		qsort(all.objects, all.count, sizeof *all.objects, compare_objects);
	*ret_objects = all;
	return good && leave_void(ret_objects, error);
}

/* Are all its files there, as long as they are to be? (After a power cut they may be empty.) */
static bool is_kept(const char *folder, const struct run *run)
{
	char path[PATH_MAX];
	struct stat status;
	for (uint32_t i = 0; i < run->count; i++)
		if ((size_t)snprintf(path, sizeof path, "%s/%s/%s" SUFFIX, folder, run->name,
			    bp_table_of(run->objects[i].table)->name) >= sizeof path ||
			stat(path, &status) != 0 ||
			(uint64_t)status.st_size != run->objects[i].bytes)
			return false;
	return true;
}

static bool fetch_table(
	struct bp_bucket *bucket, const struct object *object, int folder, struct bp_error *error)
{
	char key[PATH_BYTES + 64], name[64];
	snprintf(name, sizeof name, "%s" SUFFIX, bp_table_of(object->table)->name);
	snprintf(key, sizeof key, "%s/%s", object->path, name);
	const int descriptor =
		openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *sink = descriptor < 0 ? NULL : fdopen(descriptor, "w+b");
	if (sink == NULL) {
		bp_error_set(error, "%s cannot be written: %s", name, strerror(errno));
		if (descriptor >= 0)
			close(descriptor);
		return false;
	}
	const bool good = bp_bucket_get(bucket, key, sink, object->bytes, error);
	return (fclose(sink) == 0 ||
		       bp_error_set(error, "%s cannot be written: %s", name, strerror(errno))) &&
	       good;
}

static bool fetch(
	struct bp_bucket *bucket, const char *folder, const struct run *run, struct bp_error *error)
{
	char path[PATH_MAX];
	struct bp_written_folder written = {
		.path = path, .option = "XDG_CACHE_HOME", .suffix = SUFFIX, .force = true
	};
	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, run->name) >= sizeof path)
		return bp_error_set(error, "%.64s...: path too long", folder);
	if (!bp_written_folder_begin(&written, error))
		return false;
	bool good = true;
	for (uint32_t i = 0; good && i < run->count; i++)
		good = fetch_table(bucket, &run->objects[i], written.descriptor, error);
	/* (Somebody else may have been faster: then theirs is replaced by the same.) */
	return bp_written_folder_end(&written, good, error);
}

/* What the store has no more. */
static void remove_rest(const char *folder, const struct bp_store *store)
{
	char path[PATH_MAX];
	struct stat status;
	struct dirent *entry, *file;
	DIR *kept = opendir(folder);
	while (kept != NULL && (entry = readdir(kept)) != NULL) {
		if (strlen(entry->d_name) != NAME_DIGITS ||
			strspn(entry->d_name, "0123456789abcdef") != NAME_DIGITS ||
			(size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >=
				sizeof path ||
			lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) ||
			time(NULL) - status.st_mtime < KEPT_AT_LEAST_S || bp_store_has(store, path))
			continue;
		DIR *run = opendir(path);
		while (run != NULL && (file = readdir(run)) != NULL)
			if (file->d_name[0] != '.')
				unlinkat(dirfd(run), file->d_name, 0);
		if (run != NULL)
			closedir(run);
		rmdir(path);
	}
	if (kept != NULL)
		closedir(kept);
}

static bool open_cache(
	const struct bp_bucket *bucket, char ret_folder[PATH_MAX], struct bp_error *error)
{
	struct bp_sha256 hash;
	char text[BP_SHA256_TEXT_BYTES], name[64];
	bp_sha256_begin(&hash);
	add_text(&hash, bucket->address.base);
	add_text(&hash, bucket->address.prefix);
	bp_sha256_end(&hash, text);
	snprintf(name, sizeof name, "fleet/%.16s", text);
	if (!bp_cache_folder(name, ret_folder, error))
		return false;
	bp_written_folder_sweep(ret_folder, SUFFIX);
	return true;
}

/* How many are to be fetched, and how much; false: more than is kept. */
static bool check_amount(const struct bp_bucket *bucket, const struct objects *objects,
	const char *folder, struct bp_error *error)
{
	char text[BP_QUANTITY_BYTES];
	uint64_t all = 0, new_bytes = 0, new_runs = 0;
	struct run run;
	for (uint32_t at = 0; next_run(objects, &at, &run);) {
		const bool is_new = !is_kept(folder, &run);
		new_runs += is_new;
		for (uint32_t i = 0; i < run.count; i++) {
			all += run.objects[i].bytes;
			new_bytes += is_new ? run.objects[i].bytes : 0;
			if (all > BP_FLEET_KEPT_BYTES)
				return bp_error_set(error,
					"s3://%s/%s has more than the %d GiB that are kept here: "
					"ask about a part, by a longer prefix",
					bucket->address.name, bucket->address.prefix,
					(int)(BP_FLEET_KEPT_BYTES >> 30));
		}
	}
	if (new_runs == 0)
		return true;
	bp_bytes_text(new_bytes, bp_quantity_style_of_locale(), text);
	bp_say(stderr, "fetching %llu runs of s3://%s/%s, %s, into %s",
		(unsigned long long)new_runs, bucket->address.name, bucket->address.prefix, text,
		folder);
	return true;
}

static bool add_runs(struct bp_bucket *bucket, const struct objects *objects, const char *folder,
	struct bp_store *store, struct bp_error *error)
{
	struct run run;
	for (uint32_t at = 0; next_run(objects, &at, &run);) {
		char path[PATH_MAX];
		if (!is_kept(folder, &run) && !fetch(bucket, folder, &run, error))
			return false;
		if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, run.name) >= sizeof path)
			return bp_error_set(error, "%.64s...: path too long", folder);
		if (!bp_store_append(store, path, error))
			return false;
	}
	bp_store_sort(store);
	return true;
}

bool bp_fleet_bucket_add(struct bp_bucket *bucket, struct bp_store *store, struct bp_error *error)
{
	char folder[PATH_MAX];
	struct objects objects = { .count = 0 };
	bool good = open_cache(bucket, folder, error) && list(bucket, &objects, error);
	if (good && objects.count == 0)
		good = bp_error_set(error,
			"s3://%s/%s: there are no tables in it: put some there with `bytepoll push "
			"FILE --to s3://%s/%s`",
			bucket->address.name, bucket->address.prefix, bucket->address.name,
			bucket->address.prefix);
	good = good && check_amount(bucket, &objects, folder, error) &&
	       add_runs(bucket, &objects, folder, store, error);
	finish_objects(&objects);
	if (good)
		remove_rest(folder, store);
	return good;
}
