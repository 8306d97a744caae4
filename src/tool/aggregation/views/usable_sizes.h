/* SPDX-License-Identifier: MIT */
/*
 * What an allocator gives for a request, learned from pairs of a requested and a usable size, and
 * what could be asked for instead. Nothing is assumed of any allocator but that it gives no less
 * for a larger request: an object that has more than others of its size (a realloc that stayed in
 * its place, a remainder of a free block) or than a larger request got tells nothing of its
 * class.
 *
 * Called by rounding.c. Pure but for memory; reading a finished table is safe from several threads.
 */
#ifndef BP_AGGREGATION_VIEWS_USABLE_SIZES_H
#define BP_AGGREGATION_VIEWS_USABLE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

/* `allocator`: any number that is the same for what one allocator gave. Sizes in bytes. */
struct bp_usable_pair {
	uint32_t allocator;
	uint64_t size, usable;
};

/* Zeroed memory is empty. */
struct bp_usable_sizes {
	struct bp_usable_pair *pairs; /* once finished: a pair for each size, ascending */
	uint32_t count, capacity;
};

/* Adds what one request got: usable >= size. False: no memory. */
bool bp_usable_sizes_add(struct bp_usable_sizes *sizes, struct bp_usable_pair pair);
/* After the last one and before the first question. */
void bp_usable_sizes_learn(struct bp_usable_sizes *sizes);
void bp_usable_sizes_finish(struct bp_usable_sizes *sizes);

enum bp_size_advice_kind {
	BP_ADVICE_UNKNOWN, /* too little was seen of sizes near this one */
	BP_ADVICE_FITS,	   /* the allocator gives exactly that */
	BP_ADVICE_LESS,	   /* a few bytes less got a smaller piece of memory, and that was seen */
	/* as many bytes as a smaller piece has are a few less, but nobody asked for so many */
	BP_ADVICE_PERHAPS_LESS,
	BP_ADVICE_MORE /* no such step is known, and up to so many bytes got no more memory */
};

struct bp_size_advice {
	enum bp_size_advice_kind kind;
	uint64_t usable;  /* what a request of this size gets; 0: not known */
	uint64_t instead; /* what to ask for: of LESS, PERHAPS_LESS and MORE, else 0 */
	uint64_t saved;	  /* bytes of each object: of LESS and PERHAPS_LESS, else 0 */
};

/* Of a finished table. A few bytes are an eighth of the size at most, and no more than half of what
 * they save, which is a fiftieth of what is given at least. */
struct bp_size_advice bp_usable_sizes_advice(
	const struct bp_usable_sizes *sizes, uint32_t allocator, uint64_t size);

#endif
