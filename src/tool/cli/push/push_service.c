/* SPDX-License-Identifier: MIT */
/*
 * See push_service.h. A service of another kind is a line in `kinds` and a body of its own:
 *
 *	pyroscope  /push.v1.PusherService/Push: JSON with a pprof file in base64 (push.proto there)
 *	parca      /api/profiles/writeraw: nearly the same (profilestore.proto there)
 *	otlp       /v1development/profiles: what `export --to otlp` writes
 *
 * A receipt is a file named by the run's id, which holds something when the run was taken. It is
 * locked while the run is sent, so that pushers of one user do not send it at once. A pusher that
 * is killed between the service's answer and the receipt, and a request whose answer is lost, may
 * bring a run there twice: the identifier that goes with it is the same each time (Pyroscope's ID,
 * OTLP's profile_id).
 */
#include "cli/push/push_service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files/cache_folder.h"
#include "export/export.h"
#include "export/export_set.h"
#include "model/id_index.h"
#include "text/json_writer.h"

#define LABEL_BYTES 200u

enum kind { KIND_PYROSCOPE, KIND_PARCA, KIND_OTLP };

static const char *const kind_names[] = { "pyroscope", "parca", "otlp", NULL };

static const struct {
	const char *path, *content_type;
} kinds[] = {
	[KIND_PYROSCOPE] = { "/push.v1.PusherService/Push", "application/json" },
	[KIND_PARCA] = { "/api/profiles/writeraw", "application/json" },
	[KIND_OTLP] = { "/v1development/profiles", "application/x-protobuf" },
};

bool bp_push_service_is_address(const char *text)
{
	unsigned kind;
	return bp_service_is_address(text, kind_names, &kind);
}

bool bp_push_service_open(struct bp_push_service *push, const char *address,
	const volatile sig_atomic_t *stopped, struct bp_error *error)
{
	char name[64];
	(void)bp_service_is_address(address, kind_names, &push->kind);
	if (!bp_service_open(address, kinds[push->kind].path, kinds[push->kind].content_type,
		    stopped, &push->service, error))
		return false;
	const char *url = bp_service_url(push->service);
	snprintf(name, sizeof name, "pushed/%016llx",
		(unsigned long long)bp_hash_bytes(push->kind, url, strlen(url)));
	return bp_cache_folder(name, push->receipts, error);
}

void bp_push_service_close(struct bp_push_service *push)
{
	bp_service_close(push->service);
	push->service = NULL;
}

/* ---- bodies ---- */

static void put_base64(FILE *out, const unsigned char *data, size_t bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	fputc('"', out);
	for (size_t i = 0; i < bytes; i += 3) {
		const size_t rest = bytes - i;
		const uint32_t group = (uint32_t)data[i] << 16 |
				       (rest > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
				       (rest > 2 ? data[i + 2] : 0u);
		fputc(digits[group >> 18], out);
		fputc(digits[group >> 12 & 63], out);
		fputc(rest > 1 ? digits[group >> 6 & 63] : '=', out);
		fputc(rest > 2 ? digits[group & 63] : '=', out);
	}
	fputc('"', out);
}

static void put_label(struct bp_json *json, const char *name, const char *value)
{
	if (*value == '\0')
		return;
	bp_json_object(json, NULL, BP_JSON_COMPACT);
	bp_json_text(json, "name", name);
	bp_json_text(json, "value", value);
	bp_json_end(json);
}

static bool is_ours(const char *name)
{
	return strcmp(name, "__name__") == 0 || strcmp(name, "service_name") == 0 ||
	       strcmp(name, "release") == 0 || strcmp(name, "host") == 0;
}

/* A tag, `bytes` of `key=value`, as a label: names hold letters, digits and underscores. One that
 * has the name of a label of ours gets an underscore at its end. */
static void put_tag(struct bp_json *json, const char *tag, size_t bytes)
{
	char name[LABEL_BYTES + 2], *value = strndup(tag, bytes);
	if (value == NULL)
		return;
	const size_t key_bytes = strcspn(value, "=");
	size_t used = 0;
	if (*value >= '0' && *value <= '9')
		name[used++] = '_';
	for (size_t i = 0; i < key_bytes && used < LABEL_BYTES; i++) {
		const char c = value[i];
		const bool good =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		name[used++] = good ? c : '_';
	}
	name[used] = '\0';
	if (is_ours(name))
		strcat(name, "_");
	put_label(json, name, value + key_bytes + (value[key_bytes] == '='));
	free(value);
}

static void put_labels(
	struct bp_json *json, const struct bp_profile *profile, const struct bp_tags *tags)
{
	put_label(json, "__name__", "memory");
	put_label(json, "service_name",
		*tags->service != '\0'
			? tags->service
			: bp_process_name(profile, &profile->processes.data[profile->root.i]));
	put_label(json, "release", tags->release);
	put_label(json, "host", tags->host);
	for (const char *tag = tags->tags; *tag != '\0';) {
		const size_t bytes = strcspn(tag, "\n");
		put_tag(json, tag, bytes);
		tag += bytes + (tag[bytes] == '\n');
	}
}

/* An id as an UUID is written. */
static void write_uuid(const char *id, char ret_text[BP_PROCESS_ID_BYTES + 4])
{
	snprintf(ret_text, BP_PROCESS_ID_BYTES + 4, "%.8s-%.4s-%.4s-%.4s-%.12s", id, id + 8,
		id + 12, id + 16, id + 20);
}

/* The request of Pyroscope or Parca around a pprof file. */
static void put_request(FILE *out, enum kind kind, const struct bp_profile *profile,
	const struct bp_tags *tags, const char *id, const void *pprof, size_t bytes)
{
	struct bp_json json = bp_json_begin(out);
	char uuid[BP_PROCESS_ID_BYTES + 4];
	bp_json_object(&json, NULL, BP_JSON_COMPACT);
	bp_json_array(&json, "series", BP_JSON_COMPACT);
	bp_json_object(&json, NULL, BP_JSON_COMPACT);
	if (kind == KIND_PARCA)
		bp_json_object(&json, "labels", BP_JSON_COMPACT);
	bp_json_array(&json, "labels", BP_JSON_COMPACT);
	put_labels(&json, profile, tags);
	bp_json_end(&json);
	if (kind == KIND_PARCA)
		bp_json_end(&json);
	bp_json_array(&json, "samples", BP_JSON_COMPACT);
	bp_json_object(&json, NULL, BP_JSON_COMPACT);
	if (kind == KIND_PYROSCOPE) {
		write_uuid(id, uuid);
		bp_json_text(&json, "ID", uuid);
	}
	bp_json_raw(&json, "rawProfile", "", 0);
	put_base64(out, pprof, bytes);
	bp_json_end(&json);
	bp_json_end(&json);
	bp_json_end(&json);
	bp_json_end(&json);
	bp_json_end_document(&json);
}

/* The profile as `export` writes it; the caller frees it. NULL: an error. */
static char *write_format(const struct bp_export *format, const struct bp_profile *profile,
	const struct bp_tags *tags, size_t *ret_bytes, struct bp_error *error)
{
	struct bp_query query = { .by = BP_KEY_STACK };
	struct bp_export_set set;
	char *data = NULL;
	FILE *out = open_memstream(&data, ret_bytes);
	bool good = out != NULL || bp_error_set(error, "out of memory");
	good = good && bp_export_set_make(format, profile, &query, false, &set, error);
	if (good) {
		struct bp_export_source source = bp_export_set_source(&set);
		source.tags = tags;
		good = format->write(&source, out, error);
	}
	if (out != NULL)
		bp_export_set_finish(&set);
	if (out != NULL && fclose(out) != 0 && good)
		good = bp_error_set(error, "out of memory");
	if (good)
		return data;
	free(data);
	return NULL;
}

static char *write_body(enum kind kind, const struct bp_profile *profile,
	const struct bp_tags *tags, const char *id, size_t *ret_bytes, struct bp_error *error)
{
	size_t pprof_bytes;
	char *body = NULL;
	if (kind == KIND_OTLP)
		return write_format(&bp_export_otlp, profile, tags, ret_bytes, error);
	char *pprof = write_format(&bp_export_pprof, profile, tags, &pprof_bytes, error);
	if (pprof == NULL)
		return NULL;
	FILE *out = open_memstream(&body, ret_bytes);
	if (out != NULL)
		put_request(out, kind, profile, tags, id, pprof, pprof_bytes);
	free(pprof);
	if (out != NULL && fclose(out) == 0)
		return body;
	free(body);
	bp_error_set(error, "out of memory");
	return NULL;
}

/* ---- answers and receipts ---- */

/* How many profiles an ExportProfilesServiceResponse says were rejected: field 1 of its field 1,
 * which stands first. */
static unsigned long long count_rejected(const struct bp_service_answer *answer)
{
	unsigned long long rejected = 0;
	if (answer->count < 4 || answer->bytes[0] != 0x0a || answer->bytes[2] != 0x08)
		return 0;
	for (size_t i = 3; i < answer->count && i < 12; i++) {
		rejected |= (unsigned long long)(answer->bytes[i] & 0x7f) << 7 * (i - 3);
		if (answer->bytes[i] < 0x80)
			break;
	}
	return rejected;
}

static bool name_receipt(const struct bp_push_service *push, const char *id,
	char ret_path[PATH_MAX], struct bp_error *error)
{
	return (size_t)snprintf(ret_path, PATH_MAX, "%s/%s", push->receipts, id) < PATH_MAX ||
	       bp_error_set(error, "%.64s...: path too long", push->receipts);
}

bool bp_push_service_has(
	const struct bp_push_service *push, const char *id, bool *ret_there, struct bp_error *error)
{
	char path[PATH_MAX];
	struct stat status;
	if (!name_receipt(push, id, path, error))
		return false;
	*ret_there = stat(path, &status) == 0 && status.st_size > 0;
	return true;
}

/* Sends the run, and writes the receipt into `file`, which is locked. */
static bool send_run(struct bp_push_service *push, int file, const struct bp_profile *profile,
	const struct bp_tags *tags, const char *id, struct bp_error *error)
{
	static const char taken[] = "taken\n";
	struct bp_service_answer answer;
	size_t bytes;
	char *body = write_body((enum kind)push->kind, profile, tags, id, &bytes, error);
	if (body == NULL)
		return false;
	const bool sent = bp_service_send(push->service, body, bytes, &answer, error);
	push->failed = !sent && bp_service_is_down(push->service);
	free(body);
	if (!sent)
		return false;
	if (write(file, taken, sizeof taken - 1) != (ssize_t)sizeof taken - 1)
		return bp_error_set(error,
			"%.300s: the run was sent, but its receipt cannot be written (%s): the next "
			"push sends it again",
			push->receipts, strerror(errno));
	const unsigned long long rejected = push->kind == KIND_OTLP ? count_rejected(&answer) : 0;
	return rejected == 0 ||
	       bp_error_set(error,
		       "%.300s rejected %llu of the profiles of this run; it is not sent again",
		       bp_service_url(push->service), rejected);
}

bool bp_push_service_put(struct bp_push_service *push, const struct bp_profile *profile,
	const struct bp_tags *tags, const char *id, bool *ret_new, struct bp_error *error)
{
	char path[PATH_MAX];
	bool there = false;
	if (!name_receipt(push, id, path, error))
		return false;
	const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0 || flock(file, LOCK_EX) != 0) {
		bp_error_set(error, "%.800s: %s", path, strerror(errno));
		if (file >= 0)
			close(file);
		return false;
	}
	bool good = bp_push_service_has(push, id, &there, error);
	*ret_new = !there;
	good = good && (there || send_run(push, file, profile, tags, id, error));
	close(file);
	return good;
}
