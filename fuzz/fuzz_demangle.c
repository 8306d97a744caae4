/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing of the demanglers that are ours (Rust's, both kinds): the input is the name itself, up to
 * its first zero byte. A text that comes back is whole and within its bound, and a name that was
 * cut by one byte must do no harm either. C++ is left out: that is libstdc++'s code.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle/demangle.h"
#include "symbols/demangle/rust_v0.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void try_name(const char *name)
{
	char *shown = bp_demangle_rust_v0(name, strlen(name));
	if (shown != NULL) {
		require(shown[0] != '\0');
		require(strlen(shown) <= BP_RUST_TEXT_BYTES_MAX);
	}
	free(shown);
	if (!bp_is_rust_legacy_name(name))
		return;
	shown = bp_demangle(name);
	require(shown != NULL && strlen(shown) <= 2 * strlen(name));
	free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *name = strndup((const char *)data, bytes);
	require(name != NULL);
	try_name(name);
	if (name[0] != '\0')
		name[strlen(name) - 1] = '\0';
	try_name(name);
	free(name);
	return 0;
}
