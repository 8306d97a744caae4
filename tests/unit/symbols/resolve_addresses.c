/* SPDX-License-Identifier: MIT */
/*
 * resolve_addresses FILE [--return] [--build-id HEX] [--debug-directory DIRECTORY] [--summary]
 * [--mangled] [--cache] [--debuginfod URLS]
 *
 * Reads hexadecimal addresses in FILE, one on a line, and prints their frames as llvm-symbolizer
 * does: function, then file:line, innermost first, and an empty line behind each address. For
 * comparing with other symbolisers and for timing.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "question.h"

static uint64_t *read_addresses(uint32_t *ret_count)
{
	uint64_t *addresses = NULL, address = 0;
	uint32_t count = 0, capacity = 0;
	while (scanf("%" SCNx64, &address) == 1) {
		if (count == capacity) {
			uint64_t *grown = NULL;
			capacity = capacity == 0 ? 1024 : capacity * 2;
			grown = realloc(addresses, capacity * sizeof *grown);
			if (grown == NULL) {
				free(addresses);
				return NULL;
			}
			addresses = grown;
		}
		addresses[count++] = address;
	}
	*ret_count = count;
	return addresses;
}

static void print_frames(const struct answer *answer, uint32_t index, bool mangled)
{
	for (uint32_t i = 0; i < answer_depth(answer, index); i++) {
		const struct bp_frame *frame = answer_frame(answer, index, i);
		const char *name = answer_text(answer, frame->function);
		if (mangled && frame->system_name.i != 0)
			name = answer_text(answer, frame->system_name);
		printf("%s\n%s:%" PRIu32 "\n", name, answer_text(answer, frame->source_file),
			frame->line);
	}
	printf("\n");
}

static void print_summary(const struct bp_symbol_summary *summary)
{
	fprintf(stderr,
		"locations %" PRIu32 " named %" PRIu32 " missing %" PRIu32 " replaced %" PRIu32
		" unverified %" PRIu32 " stripped %" PRIu32 " compressed %" PRIu32
		" failed %" PRIu32 "\n",
		summary->locations, summary->named, summary->modules_missing,
		summary->modules_replaced, summary->modules_unverified, summary->modules_stripped,
		summary->modules_compressed, summary->modules_failed);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "return", no_argument, NULL, 'r' },
		{ "build-id", required_argument, NULL, 'b' },
		{ "debug-directory", required_argument, NULL, 'd' },
		{ "summary", no_argument, NULL, 's' },
		{ "mangled", no_argument, NULL, 'm' },
		{ "cache", no_argument, NULL, 'c' },
		{ "debuginfod", required_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	struct question question = { .exact = true };
	struct answer answer;
	struct bp_error error = { "" };
	uint64_t *addresses = NULL;
	uint32_t count = 0;
	bool summary = false, mangled = false;
	int option = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			question.exact = false;
		else if (option == 'b')
			question.build_id = optarg;
		else if (option == 'd')
			question.debug_directory = optarg;
		else if (option == 'c')
			question.cache = true;
		else if (option == 'u')
			question.debuginfod_urls = optarg;
		else if (option == 's')
			summary = true;
		else if (option == 'm')
			mangled = true;
		else
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: resolve_addresses [options] FILE <ADDRESSES\n");
		return 2;
	}
	question.path = argv[optind];
	addresses = read_addresses(&count);
	if (!ask(&question, addresses, count, &answer, &error)) {
		fprintf(stderr, "resolve_addresses: %s\n", error.text);
		return 1;
	}
	for (uint32_t i = 0; i < count; i++)
		print_frames(&answer, i, mangled);
	if (summary)
		print_summary(&answer.summary);
	answer_finish(&answer);
	free(addresses);
	return 0;
}
