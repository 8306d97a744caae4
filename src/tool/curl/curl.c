/* SPDX-License-Identifier: MIT */
/* See curl.h. */
#include "curl/curl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

#define CONNECT_MS 15000L

/* The first fields of curl_version_info_data, which all versions have. */
struct version_info {
	int age;
	const char *version;
	unsigned number;
};

static bool find(void *library, const char *name, void *pointer_to_function)
{
	void *symbol = dlsym(library, name);
	memcpy(pointer_to_function, &symbol, sizeof symbol);
	return symbol != NULL;
}

static void *open_library(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	void *library = NULL;
	for (size_t i = 0; library == NULL && i < BP_COUNT(names); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

bool bp_curl_open(
	const char *who, unsigned version_least, struct bp_curl *ret_curl, struct bp_error *error)
{
	void *(*create)(void);
	const struct version_info *(*version)(int age);
	void *library = open_library();
	if (library == NULL)
		return bp_error_set(error,
			"%s needs libcurl, which is not there: install libcurl4, or the package of "
			"your system that has libcurl.so.4",
			who);
	if (!find(library, "curl_easy_init", &create) ||
		!find(library, "curl_version_info", &version) ||
		!find(library, "curl_easy_setopt", &ret_curl->set) ||
		!find(library, "curl_easy_getinfo", &ret_curl->get_info) ||
		!find(library, "curl_easy_perform", &ret_curl->perform) ||
		!find(library, "curl_easy_reset", &ret_curl->reset) ||
		!find(library, "curl_easy_cleanup", &ret_curl->clean_up) ||
		!find(library, "curl_easy_strerror", &ret_curl->describe) ||
		!find(library, "curl_slist_append", &ret_curl->append) ||
		!find(library, "curl_slist_free_all", &ret_curl->free_headers) ||
		!find(library, "curl_getdate", &ret_curl->date))
		return bp_error_set(error, "libcurl lacks a function that %s needs", who);
	const struct version_info *info = version(0);
	if (info->number < version_least)
		return bp_error_set(error, "%s needs libcurl %u.%u or newer; here is %.32s", who,
			version_least >> 16, version_least >> 8 & 0xff, info->version);
	ret_curl->handle = create();
	return ret_curl->handle != NULL || bp_error_set(error, "libcurl cannot be started");
}

void bp_curl_close(struct bp_curl *curl)
{
	if (curl->handle != NULL)
		curl->clean_up(curl->handle);
	memset(curl, 0, sizeof *curl);
}

bool bp_curl_add_header(const struct bp_curl *curl, struct bp_curl_headers **list, const char *name,
	const char *value)
{
	const size_t bytes = strlen(name) + strlen(value) + 3;
	char *line = malloc(bytes);
	if (line == NULL)
		return false;
	snprintf(line, bytes, "%s:%s%s", name, *value != '\0' ? " " : "", value);
	struct bp_curl_headers *longer = curl->append(*list, line);
	explicit_bzero(line, bytes);
	free(line);
	if (longer != NULL)
		*list = longer;
	return longer != NULL;
}

void bp_curl_begin(const struct bp_curl *curl, const struct bp_curl_request *request)
{
	void *const handle = curl->handle;
	curl->reset(handle);
	curl->set(handle, BP_CURL_URL, request->url);
	curl->set(handle, BP_CURL_PROTOCOLS, BP_CURL_HTTP_AND_HTTPS);
	curl->set(handle, BP_CURL_SSL_VERIFYPEER, 1L);
	curl->set(handle, BP_CURL_SSL_VERIFYHOST, 2L);
	curl->set(handle, BP_CURL_HTTPHEADER, request->headers);
	curl->set(handle, BP_CURL_NOSIGNAL, 1L);
	curl->set(handle, BP_CURL_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl->set(handle, BP_CURL_LOW_SPEED_LIMIT, 1L);
	curl->set(handle, BP_CURL_LOW_SPEED_TIME, request->silent_seconds);
	curl->set(handle, BP_CURL_ERRORBUFFER, request->problem);
	curl->set(handle, BP_CURL_WRITEFUNCTION, request->on_write);
	curl->set(handle, BP_CURL_WRITEDATA, request->context);
	curl->set(handle, BP_CURL_HEADERFUNCTION, request->on_header);
	curl->set(handle, BP_CURL_HEADERDATA, request->context);
	curl->set(handle, BP_CURL_NOPROGRESS, 0L);
	curl->set(handle, BP_CURL_XFERINFOFUNCTION, request->on_progress);
	curl->set(handle, BP_CURL_XFERINFODATA, request->context);
}

bool bp_curl_is_for_good(int code)
{
	/* A malformed address or one that is refused, the sink that is full, an option it does not
	 * know, and everything about certificates. */
	static const int for_good[] = { 1, 2, 3, 4, 23, 27, 42, 43, 48, 53, 54, 58, 59, 60, 66, 77,
		82, 83, 90, 91 };
	for (size_t i = 0; i < BP_COUNT(for_good); i++)
		if (for_good[i] == code)
			return true;
	return false;
}
