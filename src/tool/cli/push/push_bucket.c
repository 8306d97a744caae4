/* SPDX-License-Identifier: MIT */
/*
 * See push_bucket.h. Every table is put on the condition that none is there. Where one is, it is
 * compared by its hash. Equal recordings make equal tables, so a push that was cut short is
 * continued by the next one. Tables differ where two pushers found other names of functions, and
 * must not be mixed, since their ids of frames differ too. The first table decides: whoever put it
 * goes on, and the other one waits until it is TAKE_OVER_S old. By then nobody is at it any more,
 * since a pusher gives a run up DEADLINE_S after its beginning. Both times are differences by one
 * clock, the server's and the pusher's.
 */
#include "cli/push/push_bucket.h"

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
#include "fleet/compact.h"

#define SUFFIX ".parquet"
#define SPOOL "push"
#define DEADLINE_S UINT64_C(900)
#define TAKE_OVER_S INT64_C(1800)
#define SECOND_NS UINT64_C(1000000000)
#define KEY_BYTES 256u

bool bp_push_bucket_begin(struct bp_push_bucket *push, struct bp_error *error)
{
	if (!bp_cache_folder(SPOOL, push->spool, error))
		return false;
	bp_written_folder_sweep(push->spool, SUFFIX);
	if (push->known == NULL)
		push->known = calloc(BP_PUSH_KNOWN, sizeof *push->known);
	return push->known != NULL || bp_error_set(error, "out of memory");
}

void bp_push_bucket_finish(struct bp_push_bucket *push)
{
	free(push->known);
	push->known = NULL;
	bp_bucket_close(&push->bucket);
}

static char *place_of(const struct bp_push_bucket *push, const char *id)
{
	return push->known[bp_process_id_place(id, BP_PUSH_KNOWN)];
}

static bool name_key(
	const char *id, enum bp_table_number table, char ret_key[KEY_BYTES], struct bp_error *error)
{
	return (size_t)snprintf(ret_key, KEY_BYTES, "%s/%s" SUFFIX, id, bp_table_of(table)->name) <
		       KEY_BYTES ||
	       bp_error_set(error, "%.64s...: name too long", id);
}

bool bp_push_bucket_has(
	struct bp_push_bucket *push, const char *id, bool *ret_there, struct bp_error *error)
{
	char key[KEY_BYTES];
	struct bp_bucket_object object = { .there = true };
	char *place = place_of(push, id);
	push->bucket.deadline_ns = 0;
	if (strcmp(place, id) != 0 && (!name_key(id, BP_TABLE_PROCESS, key, error) ||
					      !bp_bucket_look(&push->bucket, key, &object, error)))
		return false;
	if (object.there)
		snprintf(place, BP_PROCESS_ID_BYTES, "%s", id);
	*ret_there = object.there;
	return true;
}

/* A table that is to be put. */
struct upload {
	FILE *file;
	uint64_t bytes;
	char sha256[BP_SHA256_TEXT_BYTES];
	char key[KEY_BYTES];
};

static bool open_upload(int folder, const char *id, enum bp_table_number table,
	struct upload *ret_upload, struct bp_error *error)
{
	char name[64], buffer[65536];
	struct bp_sha256 hash;
	size_t bytes;
	ret_upload->bytes = 0;
	snprintf(name, sizeof name, "%s" SUFFIX, bp_table_of(table)->name);
	const int descriptor = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ret_upload->file = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
	if (ret_upload->file == NULL)
		return bp_error_set(error, "%s cannot be read: %s", name, strerror(errno));
	bp_sha256_begin(&hash);
	while ((bytes = fread(buffer, 1, sizeof buffer, ret_upload->file)) > 0) {
		bp_sha256_add(&hash, buffer, bytes);
		ret_upload->bytes += bytes;
	}
	bp_sha256_end(&hash, ret_upload->sha256);
	return name_key(id, table, ret_upload->key, error);
}

/* There is such a table already. `*ret_same`: it is ours; otherwise `*ret_free` says whether it was
 * left there long ago. */
static bool compare(struct bp_push_bucket *push, const struct upload *upload, bool *ret_same,
	bool *ret_free, struct bp_error *error)
{
	struct bp_bucket_object object;
	if (!bp_bucket_look(&push->bucket, upload->key, &object, error))
		return false;
	*ret_same = object.there && strcmp(object.sha256, upload->sha256) == 0;
	*ret_free = !object.there || object.age_s >= TAKE_OVER_S;
	return true;
}

static bool put_table(struct bp_push_bucket *push, const struct upload *upload, bool last,
	bool *ret_new, struct bp_error *error)
{
	bool same = true, is_free = false, again = false;
	if (!bp_bucket_put(&push->bucket, upload->key, upload->file, upload->bytes, upload->sha256,
		    true, ret_new, error))
		return false;
	/* An attempt of ours may have arrived whose answer did not. */
	const int attempts = push->bucket.attempts;
	if (*ret_new)
		return true;
	if (!compare(push, upload, &same, &is_free, error))
		return false;
	if (same || last) {
		*ret_new = same && attempts > 1;
		return true;
	}
	if (!is_free)
		return bp_error_set(error,
			"s3://%s/%s%s: another push of this run, which found other names, goes on "
			"or was cut short less than half an hour ago: this one is left for later",
			push->bucket.address.name, push->bucket.address.prefix, upload->key);
	return bp_bucket_put(&push->bucket, upload->key, upload->file, upload->bytes,
		upload->sha256, false, &again, error);
}

static bool put_tables(struct bp_push_bucket *push, int folder, const char *id, bool *ret_new,
	struct bp_error *error)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	push->bucket.deadline_ns = ((uint64_t)now.tv_sec + DEADLINE_S) * SECOND_NS;
	/* (Processes are the last of the tables.) */
	for (int i = 0; i < BP_TABLE_COUNT; i++) {
		struct upload upload = { .file = NULL };
		const bool good =
			open_upload(folder, id, (enum bp_table_number)i, &upload, error) &&
			put_table(push, &upload, i == BP_TABLE_PROCESS, ret_new, error);
		if (upload.file != NULL)
			fclose(upload.file);
		if (!good)
			return false;
	}
	return true;
}

bool bp_push_bucket_put(struct bp_push_bucket *push, const struct bp_profile *profile,
	const struct bp_tags *tags, const char *id, uint64_t version_s, bool *ret_new,
	struct bp_error *error)
{
	char path[PATH_MAX], name[BP_STORE_VERSION_BYTES];
	struct bp_written_folder folder = {
		.path = path, .option = "XDG_CACHE_HOME", .suffix = SUFFIX
	};
	bp_store_version_name(id, version_s, name);
	if ((size_t)snprintf(path, sizeof path, "%s/%s", push->spool, name) >= sizeof path)
		return bp_error_set(error, "%.64s...: path too long", push->spool);
	if (!bp_written_folder_begin(&folder, error))
		return false;
	const bool good = bp_tables_write(profile, tags, folder.descriptor, error) &&
			  put_tables(push, folder.descriptor, name, ret_new, error);
	bp_written_folder_end(&folder, false, NULL);
	if (good && version_s == 0)
		snprintf(place_of(push, id), BP_PROCESS_ID_BYTES, "%s", id);
	return good;
}

/* ---- versions of a run that goes on ---- */

/* The objects of them, as they are listed. */
struct versions {
	struct version_object {
		char *key;
		uint64_t unix_s;
		bool last; /* the table that is put last */
	} * objects;
	uint32_t count, capacity;
};

static bool take_version(
	void *context, const struct bp_listed_object *listed, struct bp_error *error)
{
	struct versions *versions = context;
	const char *slash = strchr(listed->key, '/');
	char folder[BP_STORE_VERSION_BYTES], run[BP_STORE_RUN_BYTES], last[64];
	struct version_object object;
	if (slash == NULL || (size_t)(slash - listed->key) >= sizeof folder)
		return true;
	snprintf(folder, sizeof folder, "%.*s", (int)(slash - listed->key), listed->key);
	if (!bp_store_is_version(folder, run, &object.unix_s))
		return true;
	snprintf(last, sizeof last, "%s" SUFFIX, bp_table_of(BP_TABLE_PROCESS)->name);
	object.last = strcmp(slash + 1, last) == 0;
	object.key = strdup(listed->key);
	if (object.key == NULL || !bp_vec_reserve(&versions->objects, &versions->capacity,
					  versions->count + 1u, sizeof *versions->objects)) {
		free(object.key);
		return bp_error_set(error, "out of memory");
	}
	versions->objects[versions->count++] = object;
	return true;
}

static bool list_versions(struct bp_push_bucket *push, const char *id,
	struct versions *ret_versions, struct bp_error *error)
{
	char prefix[BP_STORE_VERSION_BYTES];
	*ret_versions = (struct versions){ .count = 0 };
	push->bucket.deadline_ns = 0;
	snprintf(prefix, sizeof prefix, "%.32s.", id);
	return bp_bucket_list(&push->bucket, prefix, take_version, ret_versions, error);
}

static void finish_versions(struct versions *versions)
{
	for (uint32_t i = 0; i < versions->count; i++)
		free(versions->objects[i].key);
	free(versions->objects);
}

bool bp_push_bucket_newest(
	struct bp_push_bucket *push, const char *id, uint64_t *ret_unix_s, struct bp_error *error)
{
	struct versions versions;
	const bool good = list_versions(push, id, &versions, error);
	*ret_unix_s = 0;
	for (uint32_t i = 0; i < versions.count; i++)
		if (versions.objects[i].last && versions.objects[i].unix_s > *ret_unix_s)
			*ret_unix_s = versions.objects[i].unix_s;
	finish_versions(&versions);
	return good;
}

bool bp_push_bucket_remove_versions(
	struct bp_push_bucket *push, const char *id, uint64_t before_s, struct bp_error *error)
{
	struct versions versions;
	bool good = list_versions(push, id, &versions, error);
	/* The table by which a version is known to be whole goes before the others. */
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; good && i < versions.count; i++)
			if (versions.objects[i].last == (pass == 0) &&
				versions.objects[i].unix_s < before_s)
				good = bp_bucket_remove(
					&push->bucket, versions.objects[i].key, error);
	finish_versions(&versions);
	return good;
}
