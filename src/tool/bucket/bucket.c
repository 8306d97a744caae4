/* SPDX-License-Identifier: MIT */
/* See bucket.h. */
#include "bucket/bucket.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/system_call.h"

#define URL_BYTES 4096u
#define REQUEST_MS UINT64_C(600000)
#define PAUSE_FIRST_MS UINT64_C(200)
#define PAUSE_MAX_MS UINT64_C(20000)
#define SLICE_MS 100u /* of a pause: so soon a signal is noticed */
#define PAGE_BYTES_MAX (UINT64_C(16) << 20)
#define PAGES_MAX 100000u

static const char *environment(const char *name)
{
	const char *value = getenv(name);
	return value != NULL && *value != '\0' ? value : NULL;
}

static bool read_identity(struct bp_http_identity *identity, struct bp_error *error)
{
	identity->key_id = environment("AWS_ACCESS_KEY_ID");
	identity->secret = environment("AWS_SECRET_ACCESS_KEY");
	identity->token = environment("AWS_SESSION_TOKEN");
	identity->authorities = environment("AWS_CA_BUNDLE");
	identity->region = environment("AWS_REGION");
	if (identity->region == NULL)
		identity->region = environment("AWS_DEFAULT_REGION");
	if (identity->region == NULL)
		identity->region = "us-east-1";
	return (identity->key_id != NULL && identity->secret != NULL) ||
	       bp_error_set(error,
		       "s3:// needs a key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
		       "environment");
}

bool bp_bucket_open(const char *text, const char *endpoint, bool allow_http,
	struct bp_bucket *ret_bucket, struct bp_error *error)
{
	struct bp_bucket bucket = { .attempts = 0 };
	if (endpoint == NULL)
		endpoint = environment("AWS_ENDPOINT_URL");
	if (!read_identity(&bucket.identity, error) ||
		!bp_bucket_address_read(text, endpoint, bucket.identity.region, allow_http,
			&bucket.address, error) ||
		!bp_curl_open("s3://", BP_HTTP_CURL_LEAST, &bucket.curl, error))
		return false;
	*ret_bucket = bucket;
	return true;
}

void bp_bucket_close(struct bp_bucket *bucket)
{
	bp_curl_close(&bucket->curl);
}

static bool is_stopped(const struct bp_bucket *bucket)
{
	return bucket->stopped != NULL && *bucket->stopped != 0;
}

/* What is left until the deadline; 0: nothing. */
static uint64_t left_ms(const struct bp_bucket *bucket)
{
	struct timespec now;
	if (bucket->deadline_ns == 0)
		return REQUEST_MS;
	clock_gettime(CLOCK_MONOTONIC, &now);
	const uint64_t now_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	const uint64_t left = bucket->deadline_ns > now_ns ? bucket->deadline_ns - now_ns : 0;
	return left / 1000000 < REQUEST_MS ? left / 1000000 : REQUEST_MS;
}

static void pause_before(const struct bp_bucket *bucket, int attempt, uint64_t at_least_ms)
{
	uint64_t pause_ms = PAUSE_FIRST_MS << attempt;
	uint16_t draw = 0;
	if (pause_ms > PAUSE_MAX_MS)
		pause_ms = PAUSE_MAX_MS;
	bp_system_random(&draw, sizeof draw);
	pause_ms = pause_ms / 2 + pause_ms * draw / 65536;
	if (pause_ms < at_least_ms)
		pause_ms = at_least_ms;
	for (uint64_t past = 0; past < pause_ms && !is_stopped(bucket); past += SLICE_MS)
		poll(NULL, 0, pause_ms - past < SLICE_MS ? (int)(pause_ms - past) : (int)SLICE_MS);
}

static bool may_pass(const struct bp_http_answer *answer)
{
	switch (answer->status) {
	case 0:
		return answer->retry;
	case 408:
	case 409:
	case 429:
	case 500:
	case 502:
	case 503:
	case 504:
		return true;
	default:
		return false;
	}
}

/* Is what arrived what was put? Without a hash of whoever put it, nobody knows. */
static bool is_intact(const struct bp_http_request *request, const struct bp_http_answer *answer)
{
	struct bp_sha256 hash;
	char buffer[16384], text[BP_SHA256_TEXT_BYTES];
	size_t bytes;
	if (fflush(request->sink) != 0)
		return false;
	if (answer->sha256[0] == '\0')
		return true;
	rewind(request->sink);
	bp_sha256_begin(&hash);
	while ((bytes = fread(buffer, 1, sizeof buffer, request->sink)) > 0)
		bp_sha256_add(&hash, buffer, bytes);
	bp_sha256_end(&hash, text);
	return strcmp(text, answer->sha256) == 0;
}

static bool empty(FILE *sink)
{
	rewind(sink);
	return fflush(sink) == 0 && ftruncate(fileno(sink), 0) == 0;
}

/* Sends until there is an answer that another attempt would not change. */
static void send_often(
	struct bp_bucket *bucket, struct bp_http_request request, struct bp_http_answer *ret_answer)
{
	request.stopped = bucket->stopped;
	for (bucket->attempts = 0;;) {
		request.patience_ms = left_ms(bucket);
		if (request.patience_ms == 0 || is_stopped(bucket)) {
			*ret_answer = (struct bp_http_answer){ .date_s = -1, .modified_s = -1 };
			snprintf(ret_answer->problem, sizeof ret_answer->problem,
				is_stopped(bucket) ? "stopped" : "it takes too long");
			return;
		}
		if (request.sink != NULL && !empty(request.sink)) {
			*ret_answer = (struct bp_http_answer){ .date_s = -1, .modified_s = -1 };
			snprintf(ret_answer->problem, sizeof ret_answer->problem, "no space");
			return;
		}
		bp_http_send(&bucket->curl, &bucket->identity, &request, ret_answer);
		if (request.sink != NULL && ret_answer->status == 200 &&
			!is_intact(&request, ret_answer)) {
			ret_answer->status = 0;
			ret_answer->retry = true;
			snprintf(ret_answer->problem, sizeof ret_answer->problem,
				"what arrived is not what was put there");
		}
		if (++bucket->attempts == BP_BUCKET_ATTEMPTS || !may_pass(ret_answer))
			return;
		pause_before(bucket, bucket->attempts - 1, ret_answer->retry_after_ms);
	}
}

static const char *advice(const struct bp_http_answer *answer)
{
	if (answer->status == 403)
		return ": the key must be right, and may list, get and put there; so must the "
		       "region be (AWS_REGION), and the clock";
	if (strcmp(answer->code, "NoSuchBucket") == 0)
		return ": create the bucket first";
	return "";
}

static bool fail(struct bp_bucket *bucket, const char *what, const char *key,
	const struct bp_http_answer *answer, struct bp_error *error)
{
	char place[sizeof bucket->address.name + sizeof bucket->address.prefix + 8];
	bucket->failed = true;
	snprintf(place, sizeof place, "s3://%s/%s", bucket->address.name, bucket->address.prefix);
	if (answer->status == 0)
		return bp_error_set(
			error, "%s%s: cannot be %s: %s", place, key, what, answer->problem);
	if (answer->status >= 300 && answer->status < 400 && answer->status != 304)
		return bp_error_set(error,
			"%s%s: cannot be %s: the server sends us elsewhere (%ld), which is not "
			"followed: set AWS_REGION%s%s, or --endpoint",
			place, key, what, answer->status, answer->region[0] != '\0' ? "=" : "",
			answer->region);
	return bp_error_set(error, "%s%s: cannot be %s: %ld%s%s%s", place, key, what,
		answer->status, answer->code[0] != '\0' ? " " : "", answer->code, advice(answer));
}

static bool make_url(const struct bp_bucket *bucket, const char *key, char ret_url[URL_BYTES],
	struct bp_error *error)
{
	const int bytes = snprintf(
		ret_url, URL_BYTES, "%s%s%s", bucket->address.base, bucket->address.prefix, key);
	return (size_t)bytes < URL_BYTES || bp_error_set(error, "%.64s...: name too long", key);
}

bool bp_bucket_look(struct bp_bucket *bucket, const char *key, struct bp_bucket_object *ret_object,
	struct bp_error *error)
{
	char url[URL_BYTES];
	struct bp_http_answer answer;
	const struct bp_http_request request = { .method = BP_HTTP_HEAD, .url = url };
	if (!make_url(bucket, key, url, error))
		return false;
	send_often(bucket, request, &answer);
	if (answer.status != 200 && answer.status != 404)
		return fail(bucket, "looked at", key, &answer, error);
	*ret_object = (struct bp_bucket_object){ .there = answer.status == 200, .age_s = -1 };
	memcpy(ret_object->sha256, answer.sha256, sizeof answer.sha256);
	if (answer.date_s >= 0 && answer.modified_s >= 0)
		ret_object->age_s = answer.date_s - answer.modified_s;
	return true;
}

bool bp_bucket_put(struct bp_bucket *bucket, const char *key, FILE *body, uint64_t bytes,
	const char *sha256, bool only_if_absent, bool *ret_put, struct bp_error *error)
{
	char url[URL_BYTES];
	struct bp_http_answer answer;
	struct bp_http_request request = { .method = BP_HTTP_PUT,
		.url = url,
		.body = body,
		.bytes = bytes,
		.sha256 = sha256,
		.only_if_absent = only_if_absent };
	if (!make_url(bucket, key, url, error))
		return false;
	send_often(bucket, request, &answer);
	if (answer.status == 501 && only_if_absent) { /* it knows no conditional puts */
		request.only_if_absent = false;
		send_often(bucket, request, &answer);
	}
	if (answer.status != 200 && answer.status != 412)
		return fail(bucket, "put", key, &answer, error);
	*ret_put = answer.status == 200;
	return true;
}

bool bp_bucket_get(struct bp_bucket *bucket, const char *key, FILE *sink, uint64_t bytes_max,
	struct bp_error *error)
{
	char url[URL_BYTES];
	struct bp_http_answer answer;
	const struct bp_http_request request = {
		.method = BP_HTTP_GET, .url = url, .sink = sink, .bytes_max = bytes_max
	};
	if (!make_url(bucket, key, url, error))
		return false;
	send_often(bucket, request, &answer);
	return answer.status == 200 || fail(bucket, "fetched", key, &answer, error);
}

bool bp_bucket_remove(struct bp_bucket *bucket, const char *key, struct bp_error *error)
{
	char url[URL_BYTES];
	struct bp_http_answer answer;
	const struct bp_http_request request = { .method = BP_HTTP_DELETE, .url = url };
	if (!make_url(bucket, key, url, error))
		return false;
	send_often(bucket, request, &answer);
	return answer.status == 200 || answer.status == 204 || answer.status == 404 ||
	       fail(bucket, "removed", key, &answer, error);
}

/* What is no letter, digit, `-`, `.`, `_` or `~` as its hexadecimal digits: RFC 3986, as signatures
 * want it. */
static bool encode(const char *text, char *ret_text, size_t bytes)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
	size_t at = 0;
	for (; *text != '\0'; text++) {
		if (at + 4 > bytes)
			return false;
		if (strchr(plain, *text) != NULL)
			ret_text[at++] = *text;
		else
			at += (size_t)snprintf(ret_text + at, 4, "%%%02X", (unsigned char)*text);
	}
	ret_text[at] = '\0';
	return true;
}

/* Parameters in the order of their names, as signatures want them. */
static bool make_list_url(const struct bp_bucket *bucket, const char *prefix, const char *token,
	char *ret_url, size_t url_bytes, struct bp_error *error)
{
	char whole[BP_BUCKET_PREFIX_BYTES + 128], of_prefix[3 * sizeof whole];
	char of_token[3 * BP_LISTING_TEXT_BYTES];
	const int bytes = snprintf(whole, sizeof whole, "%s%s", bucket->address.prefix, prefix);
	if ((size_t)bytes >= sizeof whole || !encode(whole, of_prefix, sizeof of_prefix) ||
		!encode(token, of_token, sizeof of_token))
		return bp_error_set(error, "%.64s...: name too long", prefix);
	const int written =
		snprintf(ret_url, url_bytes, "%s?%s%s%sencoding-type=url&list-type=2&prefix=%s",
			bucket->address.base, *token != '\0' ? "continuation-token=" : "", of_token,
			*token != '\0' ? "&" : "", of_prefix);
	return (size_t)written < url_bytes ||
	       bp_error_set(error, "%.64s...: name too long", prefix);
}

/* Passes on what is below the store's prefix, without it. */
struct below {
	const char *prefix;
	bool (*take)(void *context, const struct bp_listed_object *object, struct bp_error *error);
	void *context;
};

static bool take_below(void *context, const struct bp_listed_object *object, struct bp_error *error)
{
	const struct below *below = context;
	const size_t bytes = strlen(below->prefix);
	struct bp_listed_object relative = *object;
	if (strncmp(object->key, below->prefix, bytes) != 0)
		return bp_error_set(error, "the server lists what it was not asked for");
	relative.key += bytes;
	return below->take(below->context, &relative, error);
}

static bool read_page(
	FILE *page, struct below *below, struct bp_listing *ret_listing, struct bp_error *error)
{
	const long bytes = fseek(page, 0, SEEK_END) == 0 ? ftell(page) : -1;
	char *text = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
	rewind(page);
	if (text == NULL || fread(text, 1, (size_t)bytes, page) != (size_t)bytes) {
		free(text);
		return bp_error_set(error, "out of memory");
	}
	const bool good =
		bp_listing_read(text, (size_t)bytes, take_below, below, ret_listing, error);
	free(text);
	return good;
}

bool bp_bucket_list(struct bp_bucket *bucket, const char *prefix,
	bool (*take)(void *context, const struct bp_listed_object *object, struct bp_error *error),
	void *context, struct bp_error *error)
{
	struct below below = { .prefix = bucket->address.prefix, .take = take, .context = context };
	struct bp_listing listing = { .more = true };
	struct bp_http_answer answer;
	char url[2 * URL_BYTES + 3 * BP_LISTING_TEXT_BYTES];
	const int descriptor = memfd_create("listing", MFD_CLOEXEC);
	FILE *page = descriptor < 0 ? NULL : fdopen(descriptor, "w+");
	if (page == NULL) {
		if (descriptor >= 0)
			close(descriptor);
		return bp_error_set(error, "out of memory");
	}
	bool good = true;
	for (unsigned pages = 0; good && listing.more; pages++) {
		const struct bp_http_request request = {
			.method = BP_HTTP_GET, .url = url, .sink = page, .bytes_max = PAGE_BYTES_MAX
		};
		good = (pages < PAGES_MAX ||
			       bp_error_set(error, "the server's list of objects does not end")) &&
		       make_list_url(bucket, prefix, listing.token, url, sizeof url, error);
		if (!good)
			break;
		send_often(bucket, request, &answer);
		good = (answer.status == 200 || fail(bucket, "listed", prefix, &answer, error)) &&
		       read_page(page, &below, &listing, error);
	}
	fclose(page);
	return good;
}
