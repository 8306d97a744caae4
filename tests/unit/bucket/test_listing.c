/* SPDX-License-Identifier: MIT */
/* Lists of objects as servers write them, and what no list has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "bucket/listing.h"

#define HEAD                                           \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" \
	"<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
#define OBJECT(key) \
	"<Contents><Key>" key "</Key><ETag>&quot;ab&#34;</ETag><Size>7</Size></Contents>"
#define TAIL "</ListBucketResult>"

static bool take(void *context, const struct bp_listed_object *object, struct bp_error *error)
{
	char *found = context;
	(void)error;
	sprintf(found + strlen(found), "%s %s %llu;", object->key, object->etag,
		(unsigned long long)object->bytes);
	return true;
}

static bool take_none(void *context, const struct bp_listed_object *object, struct bp_error *error)
{
	(void)context, (void)object;
	return bp_error_set(error, "no more");
}

static void good_lists(void **state)
{
	static const struct {
		const char *xml, *found;
		bool more;
	} cases[] = {
		{ HEAD TAIL, "", false },
		{ "<ListBucketResult/>", "", false },
		{ HEAD "<Name>x</Name>\n <IsTruncated>false</IsTruncated>" OBJECT("a/b") "\n" TAIL
											 "\n",
			"a/b \"ab\" 7;", false },
		{ HEAD OBJECT("a%2Fb%20c") OBJECT("d+e") TAIL, "a/b c \"ab\" 7;d+e \"ab\" 7;",
			false },
		{ HEAD "<Contents><Size>0</Size><Owner><ID>1</ID><Key>no</Key></Owner><Key>k</Key>"
		       "<StorageClass a='>' /></Contents><CommonPrefixes><Key>x</Key></CommonPrefixes>" TAIL,
			"k  0;", false },
		{ HEAD "<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b&lt;&#x2B;"
		       "</NextContinuationToken>" TAIL,
			"", true },
	};
	struct bp_error error;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_listing listing;
		char found[256] = "";
		assert_true(bp_listing_read(
			cases[i].xml, strlen(cases[i].xml), take, found, &listing, &error));
		assert_string_equal(found, cases[i].found);
		assert_int_equal(listing.more, cases[i].more);
		assert_string_equal(listing.token, cases[i].more ? "a&b<+" : "");
	}
}

static void bad_lists(void **state)
{
	static const char *const cases[] = { "", " ", "x", "<html></html>", "<ListBucketResult>",
		HEAD OBJECT("a"), HEAD OBJECT("a") "</Contents>", HEAD OBJECT("a") TAIL TAIL,
		HEAD TAIL "x", HEAD TAIL "<ListBucketResult/>", HEAD "<!-- no -->" TAIL,
		"<!DOCTYPE a [<!ENTITY b 'c'>]>" HEAD TAIL, HEAD "<a>&b;</a>" TAIL,
		HEAD "<![CDATA[a]]>" TAIL, HEAD "<a>&#0;</a>" TAIL, HEAD "<a>&#233;</a>" TAIL,
		HEAD "<a>&#</a>" TAIL, HEAD "<a>&#x;</a>" TAIL, HEAD "<a b=\"></a>" TAIL,
		HEAD "<a <b></a>" TAIL, HEAD "<Contents><Key>a</Key></Contents>" TAIL,
		HEAD "<Contents><Size>1</Size></Contents>" TAIL, HEAD OBJECT("a%") TAIL,
		HEAD OBJECT("a%0") TAIL, HEAD OBJECT("a%00") TAIL, HEAD OBJECT("a%g0") TAIL,
		HEAD "<Contents><Key>a</Key><Size>-1</Size></Contents>" TAIL,
		HEAD "<Contents><Key>a</Key><Size>1234567890123456789</Size></Contents>" TAIL,
		HEAD "<IsTruncated>true</IsTruncated>" TAIL,
		HEAD "<a><b><c><d><e><f><g><h></h></g></f></e></d></c></b></a>" TAIL };
	struct bp_listing listing;
	struct bp_error error;
	char found[256] = "";
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (bp_listing_read(cases[i], strlen(cases[i]), take, found, &listing, &error))
			fail_msg("taken: %s", cases[i]);
	const char *one = HEAD OBJECT("a") TAIL;
	assert_false(bp_listing_read(one, strlen(one), take_none, NULL, &listing, &error));
	assert_string_equal(error.text, "no more");
	/* Cut anywhere it is no list. */
	for (size_t bytes = 0; bytes < strlen(one); bytes++)
		assert_false(bp_listing_read(one, bytes, take, found, &listing, &error));
}

static void long_texts(void **state)
{
	static char xml[3 * BP_LISTING_TEXT_BYTES], key[BP_LISTING_TEXT_BYTES + 1];
	struct bp_listing listing;
	struct bp_error error;
	static char found[2 * BP_LISTING_TEXT_BYTES];
	(void)state;
	memset(key, 'k', BP_LISTING_TEXT_BYTES);
	for (size_t bytes = BP_LISTING_TEXT_BYTES - 3; bytes <= BP_LISTING_TEXT_BYTES; bytes++) {
		found[0] = '\0';
		snprintf(xml, sizeof xml,
			HEAD "<Contents><Key>%.*s</Key><Size>1</Size></Contents>" TAIL, (int)bytes,
			key);
		assert_int_equal(bp_listing_read(xml, strlen(xml), take, found, &listing, &error),
			bytes < BP_LISTING_TEXT_BYTES);
	}
}

static void error_codes(void **state)
{
	static const struct {
		const char *xml, *code;
	} cases[] = { { "", "" }, { "<Error><Code>NoSuchKey</Code></Error>", "NoSuchKey" },
		{ "<Code>", "" }, { "<Code>No such", "No" }, { "<Code>\033[2J</Code>", "" },
		{ "<Code>abcdefghijklmnopq</Code>", "abcdefghijklmno" } };
	char code[16];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bp_listing_error_code(cases[i].xml, strlen(cases[i].xml), code, sizeof code);
		assert_string_equal(code, cases[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lists),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(error_codes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
