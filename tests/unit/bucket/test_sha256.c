/* SPDX-License-Identifier: MIT */
/* SHA-256 against the examples of FIPS 180-4 and of NIST, whatever the pieces it is given in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "bucket/sha256.h"

static void hash_is(const char *text, size_t times, size_t piece, const char *expected)
{
	struct bp_sha256 hash;
	char found[BP_SHA256_TEXT_BYTES];
	const size_t bytes = strlen(text);
	bp_sha256_begin(&hash);
	for (size_t i = 0; i < times; i++)
		for (size_t at = 0; at < bytes; at += piece)
			bp_sha256_add(&hash, text + at, bytes - at < piece ? bytes - at : piece);
	bp_sha256_end(&hash, found);
	assert_string_equal(found, expected);
}

static void known_hashes(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 70; piece++) {
		hash_is("", 1, piece,
			"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
		hash_is("abc", 1, piece,
			"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
		hash_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, piece,
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
		hash_is("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopj"
			"klmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
			1, piece,
			"cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
	}
	hash_is("aaaaaaaaaa", 100000, 10,
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(known_hashes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
