/* SPDX-License-Identifier: MIT */
/* See address.h. */
#include "bucket/address.h"

#include <stdio.h>
#include <string.h>

#define SCHEME "s3://"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

bool bp_bucket_is_address(const char *text)
{
	return strncmp(text, SCHEME, sizeof SCHEME - 1) == 0;
}

static bool only(const char *text, size_t bytes, const char *characters)
{
	return strspn(text, characters) >= bytes;
}

/* Between slashes are names, and none of them is `.` or `..`, which URLs take away. */
static bool good_prefix(const char *prefix)
{
	if (!only(prefix, strlen(prefix), LOWER UPPER DIGITS "._-/"))
		return false;
	while (*prefix != '\0') {
		const size_t bytes = strcspn(prefix, "/");
		if (bytes == 0 || (bytes <= 2 && strspn(prefix, ".") >= bytes))
			return false;
		prefix += bytes + (prefix[bytes] == '/');
	}
	return true;
}

static bool read_name(const char *text, struct bp_bucket_address *address, struct bp_error *error)
{
	const char *name = text + sizeof SCHEME - 1;
	const size_t bytes = strcspn(name, "/");
	if (bytes < 3 || bytes >= sizeof address->name || !only(name, bytes, LOWER DIGITS ".-"))
		return bp_error_set(error,
			"%.800s: a bucket's name has 3 to 63 small letters, digits, dots and "
			"dashes: s3://BUCKET/PREFIX",
			text);
	memcpy(address->name, name, bytes);
	address->name[bytes] = '\0';
	const char *prefix = name + bytes + (name[bytes] == '/');
	const size_t of_prefix = strlen(prefix);
	if (of_prefix + 2 > sizeof address->prefix || !good_prefix(prefix))
		return bp_error_set(error,
			"%.800s: a prefix has letters, digits, dots, dashes and underscores "
			"between single slashes, and at most 511 of them",
			text);
	memcpy(address->prefix, prefix, of_prefix + 1);
	if (of_prefix > 0 && prefix[of_prefix - 1] != '/')
		strcat(address->prefix, "/");
	return true;
}

/* localhost, 127.x.y.z and [::1], by their names. */
static bool is_this_machine(const char *host, size_t bytes)
{
	int points = 0;
	if ((bytes == 9 && memcmp(host, "localhost", 9) == 0) ||
		(bytes == 5 && memcmp(host, "[::1]", 5) == 0))
		return true;
	for (size_t i = 0; i < bytes; i++)
		points += host[i] == '.';
	return bytes > 4 && memcmp(host, "127.", 4) == 0 && points == 3 &&
	       only(host, bytes, DIGITS ".");
}

static bool read_endpoint(const char *endpoint, bool allow_http, struct bp_bucket_address *address,
	struct bp_error *error)
{
	const bool secure = strncmp(endpoint, "https://", 8) == 0;
	const bool plain = strncmp(endpoint, "http://", 7) == 0;
	const char *host = secure ? endpoint + 8 : plain ? endpoint + 7 : "";
	size_t bytes = strlen(host);
	while (bytes > 0 && host[bytes - 1] == '/')
		bytes--;
	const char *bracket = bytes > 0 && *host == '[' ? memchr(host, ']', bytes) : NULL;
	const size_t of_host = bracket != NULL ? (size_t)(bracket + 1 - host) : strcspn(host, ":/");
	const char *port = host + of_host;
	const size_t of_port = of_host <= bytes ? bytes - of_host : 0;
	if (bytes == 0 || bytes > 255 || of_host == 0 || of_host > bytes ||
		!(bracket != NULL ? only(host + 1, of_host - 2, DIGITS "abcdefABCDEF:.")
				  : only(host, of_host, LOWER UPPER DIGITS ".-")) ||
		(of_port > 0 && (*port != ':' || of_port < 2 || of_port > 6 ||
					!only(port + 1, of_port - 1, DIGITS))))
		return bp_error_set(error,
			"the endpoint is none: write --endpoint https://HOST or https://HOST:PORT");
	if (plain && !allow_http && !is_this_machine(host, of_host))
		return bp_error_set(error,
			"--endpoint http://%.*s: everybody on the way could read and change what is "
			"sent: write https://, or add --allow-http where the network is trusted",
			(int)bytes, host);
	snprintf(address->base, sizeof address->base, "%s%.*s/%s/", secure ? "https://" : "http://",
		(int)bytes, host, address->name);
	return true;
}

bool bp_bucket_address_read(const char *text, const char *endpoint, const char *region,
	bool allow_http, struct bp_bucket_address *ret_address, struct bp_error *error)
{
	struct bp_bucket_address address;
	if (!read_name(text, &address, error))
		return false;
	if (*region == '\0' || strlen(region) > 63 ||
		!only(region, strlen(region), LOWER DIGITS "-"))
		return bp_error_set(error,
			"AWS_REGION: a region has small letters, digits and dashes: us-east-1");
	if (endpoint != NULL && !read_endpoint(endpoint, allow_http, &address, error))
		return false;
	/* (A point in the bucket's name does not match Amazon's certificate.) */
	if (endpoint == NULL && strchr(address.name, '.') == NULL)
		snprintf(address.base, sizeof address.base, "https://%s.s3.%s.amazonaws.com/",
			address.name, region);
	else if (endpoint == NULL)
		snprintf(address.base, sizeof address.base, "https://s3.%s.amazonaws.com/%s/",
			region, address.name);
	*ret_address = address;
	return true;
}
