/* SPDX-License-Identifier: MIT */
/* Where a bucket is: what is taken, what is refused, and that nothing goes out unencrypted by mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "bucket/address.h"

#define STORE "s3://profiles/of/shop"

static void good_addresses(void **state)
{
	static const struct {
		const char *text, *endpoint, *base, *prefix;
	} cases[] = {
		{ "s3://profiles", NULL, "https://profiles.s3.eu-west-1.amazonaws.com/", "" },
		{ "s3://profiles/", NULL, "https://profiles.s3.eu-west-1.amazonaws.com/", "" },
		{ "s3://a.b.c/x", NULL, "https://s3.eu-west-1.amazonaws.com/a.b.c/", "x/" },
		{ STORE, "https://minio.lan:9000/", "https://minio.lan:9000/profiles/",
			"of/shop/" },
		{ STORE "/", "http://localhost", "http://localhost/profiles/", "of/shop/" },
		{ STORE, "http://127.8.9.1:1", "http://127.8.9.1:1/profiles/", "of/shop/" },
		{ STORE, "http://[::1]:9000", "http://[::1]:9000/profiles/", "of/shop/" },
	};
	struct bp_bucket_address address;
	struct bp_error error;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(bp_bucket_address_read(
			cases[i].text, cases[i].endpoint, "eu-west-1", false, &address, &error));
		assert_string_equal(address.base, cases[i].base);
		assert_string_equal(address.prefix, cases[i].prefix);
	}
}

static void refused(const char *text, const char *endpoint, bool allow_http)
{
	struct bp_bucket_address address;
	struct bp_error error;
	if (bp_bucket_address_read(text, endpoint, "eu-west-1", allow_http, &address, &error))
		fail_msg("%s at %s is taken", text, endpoint == NULL ? "Amazon's" : endpoint);
	assert_true(error.text[0] != '\0');
	assert_null(strstr(error.text, "secret"));
}

static void bad_addresses(void **state)
{
	static const char *const texts[] = { "s3://", "s3://ab", "s3://Profiles", "s3://pro_files",
		"s3://profiles//a", "s3://profiles/a//", "s3://profiles/..", "s3://profiles/./a",
		"s3://profiles/a?b", "s3://profiles/a%20b", "s3://profiles/a b", "s3://pro@files",
		"s3://profiles:80/a", "s3://profiles/\xc3\xa4" };
	static const char *const endpoints[] = { "", "minio.lan", "https://", "https:///",
		"https://a/b", "https://a:", "https://a:x", "https://a:123456", "https://a?b",
		"https://key:secret@host", "https://[::1", "https://[]x", "ftp://a", "file:///a",
		"https://a b", "https://a\n" };
	char text[700] = "s3://profiles/";
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		refused(texts[i], NULL, true);
	for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
		refused(STORE, endpoints[i], true);
	memset(text + strlen(text), 'a', 600);
	refused(text, NULL, true);
}

static void unencrypted_to_this_machine_only(void **state)
{
	static const char *const endpoints[] = { "http://minio.lan", "http://127.0.0.1.lan",
		"http://127.0.0.lan", "http://localhost.lan", "http://1127.0.0.1", "http://[::2]",
		"http://10.0.0.1:9000", "http://127.0.0" };
	struct bp_bucket_address address;
	struct bp_error error;
	(void)state;
	for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++) {
		refused(STORE, endpoints[i], false);
		assert_true(bp_bucket_address_read(
			STORE, endpoints[i], "eu-west-1", true, &address, &error));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_addresses),
		cmocka_unit_test(bad_addresses),
		cmocka_unit_test(unencrypted_to_this_machine_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
