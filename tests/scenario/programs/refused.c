/* SPDX-License-Identifier: MIT */
/*
 * Requests that fail, by alignments and by sizes, between others that succeed. None of them is of
 * the kind that docs/recorder.md says stays counted. Prints how many failed.
 */
#include <errno.h>
#include <malloc.h>

#include "check.h"

static int failed;

static void note(void *object)
{
	failed += object == NULL;
	KEEP(object);
	free(object);
}

int main(void)
{
	volatile size_t far_apart = (size_t)1 << 46, much = (size_t)1 << 52, most = PTRDIFF_MAX;
	volatile size_t odd = 24, half = SIZE_MAX / 2 + 2, more_than_half = SIZE_MAX / 2 + 3;
	for (int i = 0; i < 5000; i++) {
		void *object = NULL;
		note(malloc(100));
		failed += posix_memalign(&object, far_apart, 100) == ENOMEM;
		failed += posix_memalign(&object, odd, 100) == EINVAL;
		CHECK(object == NULL);
		note(memalign(far_apart, 100));
		note(memalign(more_than_half, 100));
		note(aligned_alloc(far_apart, 1000));
		note(malloc(much));
		note(calloc(half, 2));
		note(calloc(1, most));
		note(realloc(NULL, much));
		note(valloc(most));
		note(pvalloc(much));
	}
	CHECK(failed == 5000 * 11);
	printf("%d failed\n", failed);
	return 0;
}
