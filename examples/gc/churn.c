/* SPDX-License-Identifier: MIT */
/*
 * Allocates and keeps nothing: what is counted to see what sampling adds to the collector. It is
 * linked with either allocation context, and is otherwise the same program.
 *
 *	gc-churn COUNT [CONTEXT_BYTES]
 *
 * COUNT times five objects of 24 to 144 bytes. With sampling in, T is BYTEPOLL_INTERVAL (0, off, if
 * it is not set); nobody is told of the samples.
 */
#include <stdio.h>
#include <stdlib.h>

#include "churn.h"
#include "gc.h"

static const struct gc_type types[] = {
	{ .name = "Object24", .bytes = 24 },
	{ .name = "Object32", .bytes = 32 },
	{ .name = "Object48", .bytes = 48 },
	{ .name = "Object80", .bytes = 80 },
	{ .name = "Object144", .bytes = 144 },
};

int main(int argc, char **argv)
{
	const unsigned long long count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	const size_t context_bytes = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : 0;
	struct gc_thread thread;
	if (count == 0 || argc > 3) {
		fprintf(stderr, "usage: gc-churn COUNT [CONTEXT_BYTES]\n");
		return 2;
	}
	struct gc_heap *heap = gc_create(
		&(struct gc_options){ .context_bytes = context_bytes, .samples = churn_samples() });
	gc_thread_begin(heap, &thread, "main");
	for (unsigned long long i = 0; i < count; i++)
		for (unsigned j = 0; j < sizeof types / sizeof *types; j++)
			(void)gc_new(&thread, &types[j]);
	gc_thread_end(&thread);
	const struct gc_totals totals = gc_totals(heap);
	printf("%llu refills, %llu collections, %llu samples\n", (unsigned long long)totals.refills,
		(unsigned long long)totals.collections, churn_sample_count());
	gc_destroy(heap);
	return 0;
}
