/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing of what runtimes write about the code that they made: the input is a map or a dump, both
 * are tried. What was read is looked up at every start and end, at times of its own: a name that is
 * found is whole, an address at the start of a name without a time has one, and epochs ascend.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit_dump.h"
#include "jit/jit_names.h"
#include "jit/jit_symbol.h"
#include "jit/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void look_up(const struct bp_jit_names *names, uint64_t address, uint64_t time_ns)
{
	char text[BP_JIT_FOUND_BYTES];
	struct bp_jit_symbol symbol;
	if (!bp_jit_names_find(names, address, time_ns, text))
		return;
	require(text[0] != '\0' && strlen(text) < sizeof text);
	bp_jit_symbol_read(text, &symbol);
	require(symbol.function_bytes > 0 && symbol.function_bytes <= strlen(text) + 16);
	require(symbol.file_bytes < strlen(text));
}

static void look_up_all(struct bp_jit_names *names)
{
	require(bp_jit_names_finish(names, NULL));
	for (uint32_t i = 0; i < names->count; i++) {
		const struct bp_jit_name *name = &names->items[i];
		const uint64_t end = name->start + name->bytes;
		look_up(names, name->start, name->time_ns);
		look_up(names, end - 1, UINT64_MAX);
		look_up(names, end, name->time_ns);
		require(bp_jit_names_epoch(names, name->time_ns) <= names->change_count);
	}
	for (uint32_t i = 0; i < names->change_count; i++) {
		require(bp_jit_names_epoch(names, names->changes[i]) == i + 1);
		require(bp_jit_names_epoch(names, bp_jit_names_epoch_end(names, i)) == i);
	}
	bp_jit_names_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	for (int kind = 0; kind < 2 && bytes > 0; kind++) {
		struct bp_jit_names names = { .items = NULL };
		FILE *in = fmemopen((void *)(uintptr_t)data, bytes, "r");
		require(in != NULL);
		require(kind == 0 ? bp_perf_map_read(in, &names, NULL)
				  : bp_jit_dump_read(in, 77, 0, &names, NULL));
		fclose(in);
		look_up_all(&names);
	}
	return 0;
}
